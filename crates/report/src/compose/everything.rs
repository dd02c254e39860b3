//! Every result of a run in one list: what a reader sorts and filters.

use super::absences::absent;
use super::{labels, ratios, setup, signs};
use crate::document::{Listing, Value};
use crate::{Block, Section, Text, Unit};
use analysis::{Carries, CaseResult, Judged};

const MEANING: &str = "× reference: time per operation over that of the reference of the same group, \
     paired by round; an interval of a median holds by itself, and a median without one has too few launches. \
     The median of a time is its p50; a p99 is \
     the median over launches of each launch's own, where a launch has the independent samples that it \
     needs; max is the largest sample of all launches. CPU: time of both workers per round trip, or per \
     message. best: among the best of its group.";

/// All results, the first messages after a set-up, and what is missing.
pub fn section(judged: &Judged) -> Section {
    let mut section = Section::new("tables", "Every number");
    let listing = listing(judged);
    if !listing.rows.is_empty() {
        section = section.with(Block::Listing(listing));
    }
    section.blocks.extend(setup::first_messages(judged));
    let absent = absent(judged);
    if !absent.rows.is_empty() {
        section = section.with(absent);
    }
    section
}

fn listing(judged: &Judged) -> Listing {
    let measured = judged.results.iter().filter(|it| it.value.is_some() && !it.twin);
    let columns = [
        "mechanism",
        "workload",
        "size",
        "placement",
        "median [interval]",
        "p99",
        "max",
        "CPU",
        "× reference [interval]",
        "copies",
        "class",
        "best",
        "launches",
    ];
    Listing {
        caption: format!("All results{}", ratios::AT_ONCE),
        columns: columns.map(str::to_string).to_vec(),
        rows: measured.map(|case| row(judged, case)).collect(),
        notes: vec![Text::from(MEANING)],
    }
}

fn row(judged: &Judged, case: &CaseResult) -> Vec<Value> {
    let ns = |value| Value::number(Unit::Nanoseconds, value);
    let words = |words: &str| Value::Words(words.into());
    let p99 = case.value.as_ref().and_then(|it| it.percentiles.get("p99").copied().flatten());
    let best = if signs::is_best(judged, case) { "best" } else { "" };
    vec![
        words(&case.variant),
        words(&workload(case)),
        Value::number(Unit::Bytes, case.message_bytes.map(|it| it as f64)),
        Value::Words(labels::place_of((&case.workers, &case.site))),
        median(case),
        ns(p99.filter(|_| case.is_kept()).map(|it| it.value)),
        ns(case.largest_ns.filter(|_| case.is_kept())),
        ns(case.cpu_ns_per_operation.map(|it| it.total)),
        ratio(judged, case),
        Value::number(Unit::Count, case.copies.map(f64::from)),
        words(class(case)),
        words(best),
        Value::number(Unit::Count, Some(case.launches as f64)),
    ]
}

/// `rate, 1,000 a second`: a rate's schedule tells one from another.
fn workload(case: &CaseResult) -> String {
    let name = case.workload.name();
    case.rate.map_or(name.into(), |it| format!("{name} {}", crate::units::count(it.asked_per_sec)))
}

fn median(case: &CaseResult) -> Value {
    if let Some(why) = labels::not_kept(case) {
        return Value::Words(why);
    }
    case.value.as_ref().map_or(Value::None, |it| Value::Number {
        unit: labels::unit(case),
        value: it.median,
        low: it.interval.low,
        high: it.interval.high,
    })
}

fn ratio(judged: &Judged, case: &CaseResult) -> Value {
    let Some((group, it)) = ratios::standing(judged, case) else { return Value::None };
    let own = (group.reference == Some(it.result)).then_some(1.0);
    it.ratio.or(own).map_or(Value::None, |value| Value::Number {
        unit: Unit::Ratio,
        value,
        low: it.low,
        high: it.high,
    })
}

/// What a mechanism pays for: a CPU that waits, or the bytes of a message; a control moves nothing.
fn class(case: &CaseResult) -> &'static str {
    match (case.spins, case.carries) {
        (true, _) => "busy-waits",
        (false, it) if it.is_control() => "control",
        (false, Carries::Signal) => "notifies",
        (false, _) => "blocking",
    }
}
