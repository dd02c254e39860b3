//! Sentences on where the time of a message goes: the largest part, the others, and whether they add up.

use super::ns;
use crate::Unit;
use crate::compose::labels as common;
use crate::units::{self, duration};
use analysis::explain::{Cost, CostPart, Difference, Explained};
use analysis::{OverRounds, Site};

pub fn cost(cost: Cost) -> &'static str {
    match cost {
        Cost::Calls => "entering and leaving calls",
        Cost::Copying => "copying",
        Cost::Transport => "the mechanism's work in the kernel",
        Cost::Waking => "waking",
        Cost::Interrupts => "interrupts to the other CPU",
        Cost::Waiting => "waiting to run",
        Cost::Switching => "switching",
        Cost::Program => "the program",
        Cost::Elsewhere => "in the kernel, both workers asleep",
    }
}

/// A quantity with its interval, where it has one.
pub fn value(ns: &OverRounds) -> String {
    Unit::Nanoseconds.with_ends(ns.median, ns.interval.ends())
}

/// `6.10 of 8.00 µs`, or both with their units.
fn of_whole(part: f64, whole: f64) -> String {
    let (part, whole) = (duration(part), duration(whole));
    match (part.rsplit_once(' '), whole.rsplit_once(' ')) {
        (Some((number, a)), Some((_, b))) if a == b => format!("{number} of {whole}"),
        _ => format!("{part} of {whole}"),
    }
}

/// The part of wake-ups, and each other cost, the largest first.
fn heads(case: &Explained) -> Vec<(String, f64)> {
    let wakes = |part: &&CostPart| part.cost.wakes();
    let woken: f64 = case.parts.iter().filter(wakes).map(|part| part.ns.median).sum();
    let mut heads: Vec<(String, f64)> = case
        .parts
        .iter()
        .filter(|part| !part.cost.wakes())
        .map(|part| (named(part.cost, case), part.ns.median))
        .collect();
    heads.push(("waking the partner and waiting to run".into(), woken));
    heads.retain(|(_, ns)| *ns >= 0.005 * case.whole_ns.median);
    heads.sort_by(|a, b| b.1.total_cmp(&a.1));
    heads
}

fn named(of: Cost, case: &Explained) -> String {
    match of {
        Cost::Calls => format!("entering and leaving {:.1} system calls", case.calls),
        Cost::Program if case.spins => "spinning, and the program".to_string(),
        other => cost(other).to_string(),
    }
}

/// Where and what: `pipe, 64 B, one CPU`.
fn place(case: &Explained) -> String {
    let place = common::place_of(&Site::of(case));
    match case.message_bytes {
        Some(bytes) => format!("{}, {}, {place}", case.variant, units::size(bytes)),
        None => format!("{}, {place}", case.variant),
    }
}

/// What most of the time goes to, in a sentence.
pub fn short(case: &Explained) -> String {
    if !case.is_result {
        let whole = duration(case.whole_ns.median);
        return format!(
            "{}: {whole}, of which the parts don't add up: noise, no result.",
            place(case)
        );
    }
    let (whole, left) = (case.whole_ns.median, case.residual_ns.median);
    let left = match case.adds_up {
        true => String::new(),
        false => format!(", and {} ({} %) are in no part", duration(left), percent(left / whole)),
    };
    match heads(case).first() {
        Some((head, ns)) => {
            format!("{}: {} go to {head}{left}.", place(case), of_whole(*ns, whole))
        }
        None => format!("{}: no part could be measured.", place(case)),
    }
}

/// Where the rest goes, in a sentence or two.
pub fn rest(case: &Explained) -> String {
    if !case.is_result {
        return String::new();
    }
    let heads = heads(case);
    let rest: Vec<String> =
        heads.iter().skip(1).map(|(head, ns)| format!("{head} {}", duration(*ns))).collect();
    let mut said = String::new();
    if !rest.is_empty() {
        said.push_str(&format!("The rest: {}.", common::list(&rest)));
    }
    let woken: Vec<String> = case
        .parts
        .iter()
        .filter(|part| part.cost.wakes() && part.ns.median >= 0.005 * case.whole_ns.median)
        .map(|part| format!("{} {}", cost(part.cost), duration(part.ns.median)))
        .collect();
    if woken.len() > 1 {
        said.push_str(&format!(" Of the wake-ups: {}.", common::list(&woken)));
    }
    if case.copying_unknown.is_none() {
        let copied = ns(&case.parts, Cost::Copying);
        said.push_str(&format!(
            " Copying is {:.0} %.",
            (100.0 * copied / case.whole_ns.median).max(0.0)
        ));
    }
    said
}

/// Whether the parts add up to the whole, and what is left.
pub fn sum(case: &Explained) -> String {
    let left = value(&case.residual_ns);
    let share = percent(case.residual_ns.median / case.whole_ns.median);
    let launches = case.whole_ns.by_round.iter().flatten().count();
    let launches = units::counted(launches as u64, "launch");
    if case.adds_up {
        format!(
            "The parts add up to {} but for {left} ({share} %); {launches}.",
            value(&case.whole_ns)
        )
    } else {
        let therefore = match case.is_result {
            true => {
                "Tracing once may cost less than what a second trace adds, or nothing saw it: each part may be longer \
                     by its share of it."
            }
            false => "A quieter machine or more --launches may bring them nearer.",
        };
        format!(
            "The parts do not add up: {left} ({share} %) of {} remain unexplained; {launches}. {therefore}",
            value(&case.whole_ns)
        )
    }
}

/// A share in whole per cent, with a real minus; what rounds to nothing has no sign.
fn percent(share: f64) -> String {
    match (100.0 * share).round() {
        0.0 => "0".into(),
        it => format!("{it:.0}").replace('-', "−"),
    }
}

/// The shares of a difference, the largest first: `transport 1.2 µs (60 %)`.
pub fn shares(of: &Difference) -> String {
    let whole_ns = of.whole_ns.median;
    let parts = of.parts.iter().map(|part| (cost(part.cost), &part.ns));
    let left =
        (of.residual_ns.median.abs() >= 0.1 * whole_ns).then_some(("no part", &of.residual_ns));
    let named: Vec<String> = parts
        .filter(|(_, ns)| ns.median.abs() >= 0.03 * whole_ns)
        .chain(left)
        .map(|(name, ns)| format!("{name} {} ({} %)", value(ns), percent(ns.median / whole_ns)))
        .collect();
    if named.is_empty() {
        "No single part of it can be named.".into()
    } else {
        format!("Of that: {}.", common::list(&named))
    }
}
