//! Capacities of two runs: higher or lower where the two intervals don't overlap.
//!
//! An end of an interval errs in 2.5 % (`crate::capacity`), and a verdict rests on one end of each run.

use schemars::JsonSchema;
use serde::Serialize;

use super::fields::{self, Difference};
use super::measured::{Measured, MeasuredCapacity, Subject};
use super::{Gate, Terms};
use crate::Status;
use crate::capacity::Found;
use model::workload::Arrivals;

/// Between which rates a capacity is in one of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Side {
    /// Its ends.
    #[serde(flatten)]
    pub found: Found,
    /// The lowest rate that was tried.
    pub lowest_per_sec: Option<u64>,
    /// Whether others disturbed every round that decides: then neither end is sure.
    pub every_round_disturbed: bool,
}

/// The verdict on one capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapacityVerdict {
    /// The whole interval of the second run is above that of the first.
    Higher,
    /// It is below.
    Lower,
    /// They overlap, or an end is missing.
    NotSeparated,
    /// It was not measured in both runs in the same way.
    Incomparable,
}

/// One capacity of both runs.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CapacityChange {
    /// What it is of.
    #[serde(flatten)]
    pub subject: Subject,
    /// The verdict on it.
    pub verdict: CapacityVerdict,
    /// In the first run; null where it was not measured.
    pub a: Option<Side>,
    /// In the second.
    pub b: Option<Side>,
    /// Fields in which it was measured otherwise.
    pub differences: Vec<Difference>,
    /// Why there is nothing to compare.
    pub reason: Option<String>,
    /// What the gate says of it: beyond, where all of the second interval is that much below all of the first; null without
    /// one.
    pub gate: Option<Gate>,
}

/// Whether both runs sought capacities: then these are compared, and not what became of each rate that was tried.
pub(super) fn sought(a: &Measured, b: &Measured) -> bool {
    !a.capacity.is_empty() && !b.capacity.is_empty()
}

/// Every capacity of either run, the first run's first.
pub(super) fn compare(
    a: &Measured,
    b: &Measured,
    comparable: bool,
    terms: Terms,
) -> Vec<CapacityChange> {
    let of = |run: &Measured, subject: &Subject| {
        run.capacity.iter().find(|capacity| capacity.subject == *subject).cloned()
    };
    let added = b.capacity.iter().filter(|capacity| of(a, &capacity.subject).is_none());
    let all = a.capacity.iter().chain(added).map(|capacity| &capacity.subject);
    let change = |subject: &Subject| {
        let (in_a, in_b) = (of(a, subject), of(b, subject));
        let reason = absence("A", &in_a).or_else(|| absence("B", &in_b));
        let mut change = CapacityChange {
            subject: subject.clone(),
            verdict: CapacityVerdict::Incomparable,
            a: in_a.as_ref().and_then(MeasuredCapacity::side),
            b: in_b.as_ref().and_then(MeasuredCapacity::side),
            differences: Vec::new(),
            reason,
            // What the first run didn't have can't have become smaller.
            gate: terms
                .gate
                .filter(|_| in_a.as_ref().is_some_and(MeasuredCapacity::is_ok))
                .map(|_| Gate::Open),
        };
        if let (Some(side_a), Some(side_b)) = (change.a, change.b) {
            change.differences = differences((a, in_a.as_ref()), (b, in_b.as_ref()));
            if comparable && (change.differences.is_empty() || terms.force) {
                change.verdict = verdict(&side_a.found, &side_b.found);
                let disturbed = side_a.every_round_disturbed || side_b.every_round_disturbed;
                if let Some(share) = terms.gate.filter(|_| !disturbed) {
                    change.gate = Some(held(&side_a.found, &side_b.found, share));
                }
            }
        }
        change
    };
    all.map(change).filter(|change| change.a.is_some() || change.b.is_some()).collect()
}

impl MeasuredCapacity {
    fn is_ok(&self) -> bool {
        self.status == Status::Ok
    }

    fn side(&self) -> Option<Side> {
        let lowest_per_sec = self.rates.first().map(|rate| rate.per_sec);
        let every_round_disturbed = self.every_round_disturbed;
        let side = Side { found: self.found, lowest_per_sec, every_round_disturbed };
        self.is_ok().then_some(side)
    }
}

fn absence(name: &str, it: &Option<MeasuredCapacity>) -> Option<String> {
    match it {
        None => Some(format!("no capacity of {name}")),
        Some(it) if it.is_ok() => None,
        Some(it) => {
            let why = it.reason.as_deref().unwrap_or("no reason was given");
            Some(format!("not measured in {name}: {why}"))
        }
    }
}

/// How a rate of each was measured, the lowest: all of a run were alike.
fn differences(
    (a, in_a): (&Measured, Option<&MeasuredCapacity>),
    (b, in_b): (&Measured, Option<&MeasuredCapacity>),
) -> Vec<Difference> {
    let first = |run: &'_ Measured, capacity: Option<&MeasuredCapacity>| {
        Some(run.results.get(capacity?.rates.first()?.result)?.clone())
    };
    let (Some(of_a), Some(of_b)) = (first(a, in_a), first(b, in_b)) else { return Vec::new() };
    let mut found = fields::of_the_case((a, &of_a), (b, &of_b));
    let arrivals = |case: &super::MeasuredCase| {
        case.rate.map_or(Arrivals::default(), |rate| rate.arrivals).to_string()
    };
    let (a, b) = (arrivals(&of_a), arrivals(&of_b));
    if a != b {
        found.push(Difference { field: "--arrivals".into(), a, b });
    }
    found
}

fn verdict(a: &Found, b: &Found) -> CapacityVerdict {
    let above = |low: &Found, high: &Found| {
        low.below_per_sec
            .zip(high.at_least_per_sec)
            .is_some_and(|(below, at_least)| below <= at_least)
    };
    if above(a, b) {
        CapacityVerdict::Higher
    } else if above(b, a) {
        CapacityVerdict::Lower
    } else {
        CapacityVerdict::NotSeparated
    }
}

/// What a gate says of a capacity that was in the interval `a` and is in `b`.
fn held(a: &Found, b: &Found, share: f64) -> Gate {
    let kept = |low: Option<u64>, high: Option<u64>| {
        low.zip(high).is_some_and(|(low, high)| low as f64 * (1.0 + share) >= high as f64)
    };
    let lost = b.below_per_sec.zip(a.at_least_per_sec);
    if lost.is_some_and(|(below, at_least)| below as f64 * (1.0 + share) <= at_least as f64) {
        Gate::Beyond
    } else if kept(b.at_least_per_sec, a.below_per_sec) {
        Gate::Within
    } else {
        Gate::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of((at_least_per_sec, below_per_sec): (Option<u64>, Option<u64>)) -> Found {
        Found { at_least_per_sec, below_per_sec, ..Found::default() }
    }

    #[test]
    fn a_gate_holds_the_whole_interval_of_a_capacity() {
        for (a, b, expected) in [
            ((Some(10_000), Some(11_000)), (Some(10_000), Some(11_000)), Gate::Within),
            ((Some(10_000), Some(11_000)), (Some(20_000), None), Gate::Within),
            ((Some(10_000), Some(11_000)), (Some(7_000), Some(8_000)), Gate::Beyond),
            ((Some(10_000), None), (None, Some(5_000)), Gate::Beyond),
            ((Some(10_000), Some(20_000)), (Some(10_000), Some(20_000)), Gate::Open),
            ((Some(10_000), None), (Some(10_000), None), Gate::Open),
            ((None, None), (None, Some(5_000)), Gate::Open),
        ] {
            assert_eq!(held(&of(a), &of(b), 0.2), expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn intervals_are_separated_where_they_do_not_overlap() {
        use CapacityVerdict::{Higher, Lower, NotSeparated};
        for (a, b, expected) in [
            ((Some(1_000), Some(4_000)), (Some(4_000), Some(16_000)), Higher),
            ((Some(1_000), Some(4_000)), (Some(8_000), None), Higher),
            ((None, Some(1_000)), (Some(1_000), None), Higher),
            ((Some(8_000), None), (Some(1_000), Some(4_000)), Lower),
            ((Some(1_000), Some(4_000)), (Some(2_000), Some(8_000)), NotSeparated),
            ((Some(1_000), None), (Some(4_000), None), NotSeparated),
            ((None, None), (Some(4_000), Some(8_000)), NotSeparated),
        ] {
            assert_eq!(verdict(&of(a), &of(b)), expected, "{a:?} {b:?}");
        }
    }
}
