//! Capacities of two runs side by side, with a verdict where their intervals don't overlap.

use super::differing;
use crate::compose::{capacity, labels};
use crate::{Block, Emphasis, Table, Text, Verdict, VerdictKind, units};
use analysis::Site;
use analysis::compare::{CapacityChange, CapacityVerdict, RunComparison, Side};
use model::distinct::distinct;

const MEANING: &str = "A and B: from the largest rate at which more than half of all launches keep the bound to the \
     smallest at which more than half exceed it. Higher, lower: the two intervals do not overlap; each such verdict by itself errs in 5 % \
     of comparisons at most.";

pub(super) fn verdict(found: &RunComparison) -> Verdict {
    let many = |of| found.capacities.iter().filter(|capacity| capacity.verdict == of).count();
    let parts: Vec<String> = [
        (CapacityVerdict::Lower, "lower"),
        (CapacityVerdict::Higher, "higher"),
        (CapacityVerdict::NotSeparated, "not separated"),
        (CapacityVerdict::Incomparable, "incomparable"),
    ]
    .into_iter()
    .filter(|pair| many(pair.0) > 0)
    .map(|(of, word)| format!("{} {word}", many(of)))
    .collect();
    let all = units::counted(found.capacities.len() as u64, "capacity");
    let kind = if many(CapacityVerdict::Lower) > 0 {
        VerdictKind::Bad
    } else if many(CapacityVerdict::Higher) > 0 {
        VerdictKind::Good
    } else {
        VerdictKind::Unknown
    };
    let disturbed = |change: &&CapacityChange| {
        [change.a, change.b].into_iter().flatten().any(|side| side.every_round_disturbed)
    };
    let compared =
        found.capacities.iter().filter(|capacity| capacity.a.is_some() && capacity.b.is_some());
    if compared.clone().next().is_some() && compared.clone().all(|change| disturbed(&change)) {
        let head = "Undecided: others disturbed every round of one of the runs, or of both.";
        return Verdict::new(VerdictKind::Unknown, Text::new().strong(head), super::QUIETER);
    }
    let headline = Text::new().strong(format!("Of {all}: {}.", labels::list(&parts)));
    Verdict::new(
        kind,
        headline,
        "Of each the largest rate at which the bound holds, in B beside A.",
    )
}

/// A table for each question.
pub(super) fn blocks(found: &RunComparison) -> Vec<Block> {
    let questions = distinct(found.capacities.iter().map(question));
    let table = |asked: &String| {
        let here: Vec<&CapacityChange> =
            found.capacities.iter().filter(|capacity| question(capacity) == *asked).collect();
        Block::from(table(asked, &here))
    };
    questions.iter().map(table).collect()
}

fn question(change: &CapacityChange) -> String {
    let of = &change.subject;
    let (percentile, most) = (of.bound.percentile(), units::duration(of.bound.ns as f64));
    let asked = capacity::question_of(of, &Site::of(of));
    format!("{asked}: the largest rate with {percentile} ≤ {most}")
}

fn table(title: &str, here: &[&CapacityChange]) -> Table {
    let side = |side: Option<Side>| {
        side.map(|side| capacity::interval_of(&side.found, side.lowest_per_sec))
    };
    let why_not = |it: &&CapacityChange| {
        let clients = units::counted(it.subject.connections().into(), "client");
        let text = format!(" with {clients}: {}.", why_not(it)?);
        Some(Text::new().code(&it.subject.variant).plain(text))
    };
    Table::of_each(title, here)
        .words("mechanism", 0, |change| Text::new().code(&change.subject.variant))
        .numbers("clients", 0, |change| units::count(change.subject.connections().into()))
        .numbers("A", 0, |change| side(change.a))
        .numbers("B", 0, |change| side(change.b))
        .words("verdict", 0, |change| match change.verdict {
            CapacityVerdict::Higher => Text::new().strong("higher"),
            CapacityVerdict::Lower => Text::new().strong("lower"),
            CapacityVerdict::NotSeparated => "not separated".into(),
            CapacityVerdict::Incomparable => Text::new().muted("incomparable"),
        })
        .emphasis(|change| match change.verdict {
            CapacityVerdict::Higher => Emphasis::Best,
            CapacityVerdict::Lower => Emphasis::Worse,
            CapacityVerdict::NotSeparated => Emphasis::Normal,
            CapacityVerdict::Incomparable => Emphasis::Muted,
        })
        .table()
        .notes(here.iter().filter_map(why_not))
        .note(MEANING)
}

fn why_not(change: &CapacityChange) -> Option<String> {
    let incomparable = change.verdict == CapacityVerdict::Incomparable;
    let differing = || differing(&change.differences).filter(|_| incomparable);
    change.reason.clone().or_else(differing)
}
