//! How far a comparison may be trusted: two moments, the noise inside each run, the harness.

use super::change;
use crate::compose::labels;
use crate::{Block, Section, Text};
use analysis::compare::{CaseChange, Difference, RunComparison};

pub(super) fn section(found: &RunComparison) -> Section {
    let mut points = vec![Text::from(match found.paired {
        true => {
            "Launches of both arms took turns in every round, so that what the machine did meanwhile is in \
             both and in no ratio. What an arm's command does to a process beside what it is for, is \
             in every one."
        }
        false => {
            "Two runs are two moments of a machine. Drift between them (neighbours, heat, memory) looks \
             like a change of the cases and is in no interval: run both again, in the other order, \
             before believing a small change; or measure both in one run, by arms."
        }
    })];
    points.extend(machines(found));
    points.extend(found.plugins.iter().map(other_file));
    points.extend(noise(found));
    points.extend(harness(found));
    Section::new("trust", "How far to trust it").with(Block::List(points))
}

/// A plug-in whose file was another one.
fn other_file(plugin: &Difference) -> Text {
    let Difference { field, a, b } = plugin;
    Text::new().code(field).plain(format!(" was another file: in A {a}; in B {b}."))
}

fn machines(found: &RunComparison) -> Option<Text> {
    let (a, b) = (found.a.hostname.as_ref()?, found.b.hostname.as_ref()?);
    (a != b).then(|| format!("The hosts have two names, {a} and {b}.").into())
}

/// What an A/A pair inside each run shows, the widest of them.
fn noise(found: &RunComparison) -> Option<Text> {
    let widest = |side: &str| {
        let here = found.noise.iter().filter(|noise| noise.side == side);
        here.max_by(|a, b| (a.high / a.low).total_cmp(&(b.high / b.low)))
    };
    let parts: Vec<String> = [("a", "A"), ("b", "B")]
        .into_iter()
        .filter_map(|(side, name)| {
            let it = widest(side)?;
            let size = labels::size_after(" ", it.message_bytes);
            let place = labels::placement(it.placement);
            let change = change(it.ratio, it.low, it.high);
            Some(format!("{change} in {name} ({}{size}, {place})", it.variant))
        })
        .collect();
    if parts.is_empty() {
        // A search for a capacity has none.
        let side = if found.paired { "arm" } else { "run" };
        let none = format!("Neither {side} has an A/A pair, which would show the noise inside it.");
        return found.capacities.is_empty().then(|| none.into());
    }
    Some(Text::from(format!(
        "Noise inside a run, by one case measured under two names (the widest): {}.",
        parts.join("; ")
    )))
}

/// The controls: if the harness itself has changed, so may have everything.
fn harness(found: &RunComparison) -> Option<Text> {
    let parts: Vec<String> = found
        .cases
        .iter()
        .filter(|case| case.control)
        .filter_map(|case: &CaseChange| {
            let change = change(case.ratio?, case.low?, case.high?);
            Some(format!("{change} ({}, {})", case.variant, labels::placement(case.placement)))
        })
        .collect();
    let head = "The harness itself, which no mechanism is part of: ";
    (!parts.is_empty()).then(|| Text::from(format!("{head}{}.", parts.join("; "))))
}
