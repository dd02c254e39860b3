//! Along a sweep over message sizes: where the cost of a byte changes, and which sizes that the
//! kernel, the machine or the mechanism is known by lie there.
//!
//! Made of what the run stored and nothing else: rounds, what was granted, the record of the
//! machine. That a size lies within an interval is no proof that it is the cause.

mod known;

use schemars::JsonSchema;
use serde::Serialize;

use super::group::alike;
use super::site::{Site, is_a_case};
use super::{ALPHA, Carries};
use super::{CaseResult, Status};
use model::case::Case;
use model::catalogue::Catalogue;
use model::host::Host;
use model::metric::Metric;
use stats::TooFew;
use store::Concurrent;

/// A sweep over message sizes of one mechanism at one place.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Sweep {
    /// What was asked of the smallest of its messages.
    #[serde(flatten)]
    pub case: Case,
    /// What it yields.
    #[serde(skip)]
    pub metric: Metric,
    /// As of its cases.
    #[serde(skip)]
    pub site: Site,
    /// The node that it was measured on, or the two between which it was; empty unless the run is a fleet's.
    pub nodes: Vec<String>,
    /// How many pairs of a fleet were measured at a time; null of what is no pair.
    pub concurrent: Option<Concurrent>,
    /// The sizes that were measured, in bytes, ascending.
    pub sizes_bytes: Vec<u64>,
    /// Rounds in which all of them were.
    pub rounds: usize,
    /// Why nothing can be said; null where it can.
    pub reason: Option<String>,
    /// In the order of size; none of a straight line.
    pub inflections: Vec<Inflection>,
}

is_a_case!(Sweep);

/// A place where the cost of a byte changes, or a step is taken.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Inflection {
    /// Lower end of the interval of its place at 95 %: a measured size before it.
    pub from_bytes: u64,
    /// Upper end: a measured size after it.
    pub to_bytes: u64,
    /// Neighbouring measured sizes between which it most likely is.
    pub best_bytes: [u64; 2],
    /// What a further byte costs on either side, in ns.
    pub ns_per_byte: Change,
    /// By how much the line after it lies above the one before, in ns, in the middle (by ratio)
    /// between the two most likely sizes.
    pub step_ns: f64,
    /// What is known to lie within the interval, by size; empty where nothing is.
    pub candidates: Vec<Candidate>,
}

/// A quantity on both sides.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Change {
    /// On the side of smaller sizes.
    pub before: f64,
    /// On the side of larger ones.
    pub after: f64,
}

/// A size that is known to matter.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Candidate {
    /// What it is.
    pub name: String,
    /// Where it lies.
    pub bytes: u64,
    /// How that is known: what was granted, the record of the machine, a man page, the kernel.
    pub source: String,
}

/// Every sweep of a run over at least two sizes, in the order of the results; each was measured on its `host`.
pub fn sweeps<'a>(
    results: &'a [CaseResult],
    catalogue: &Catalogue,
    host: impl Fn(&CaseResult) -> &'a Host,
) -> Vec<Sweep> {
    let sweepable = (0..results.len()).filter(|at| sweepable(&results[*at]));
    let curves = alike(sweepable, |at| {
        let it = &results[at];
        it.identity().without(&["message_bytes", "cpus"])
    });
    let mut found = Vec::new();
    for members in curves {
        let mut curve: Vec<&CaseResult> = members.iter().map(|at| &results[*at]).collect();
        curve.sort_by_key(|curve| curve.message_bytes);
        curve.dedup_by_key(|case| case.message_bytes);
        if curve.len() > 1 {
            found.push(sweep(&curve, catalogue, host(curve[0])));
        }
    }
    found
}

fn sweepable(case: &CaseResult) -> bool {
    let moves_bytes = case.carries == Carries::Bytes && case.message_bytes.is_some();
    let timed = case.metric.is_round_trip() || case.metric.is_transfer();
    moves_bytes && timed && case.status == Status::Ok && !case.twin
}

fn sweep(curve: &[&CaseResult], catalogue: &Catalogue, host: &Host) -> Sweep {
    let sizes_bytes: Vec<u64> = curve.iter().filter_map(|case| case.message_bytes).collect();
    let sizes: Vec<f64> = sizes_bytes.iter().map(|byte| *byte as f64).collect();
    let rounds = rounds(curve);
    let found = stats::inflections(&sizes, &rounds, ALPHA);
    let bends = catalogue.variant(&curve[0].variant).map_or(&[][..], |variant| &variant.bends);
    let known = known::candidates(curve, bends, host);
    let inflection = |inflection: stats::Inflection| {
        let best_bytes = [sizes_bytes[inflection.at - 1], sizes_bytes[inflection.at]];
        let (from_bytes, to_bytes) =
            (sizes_bytes[inflection.low - 1], sizes_bytes[inflection.high]);
        let middle = (sizes[inflection.at - 1] * sizes[inflection.at]).sqrt();
        let within = |candidate: &&Candidate| (from_bytes..=to_bytes).contains(&candidate.bytes);
        Inflection {
            from_bytes,
            to_bytes,
            best_bytes,
            ns_per_byte: Change {
                before: inflection.before.per_unit,
                after: inflection.after.per_unit,
            },
            step_ns: inflection.after.at(middle) - inflection.before.at(middle),
            candidates: known.iter().filter(within).cloned().collect(),
        }
    };
    let (inflections, reason) = match found {
        Ok(found) => (found.into_iter().map(inflection).collect(), None),
        Err(reason) => (Vec::new(), Some(TooFew::to_string(&reason))),
    };
    let of = curve[0];
    Sweep {
        case: of.case.clone(),
        metric: of.metric.clone(),
        site: of.site.clone(),
        nodes: of.nodes.clone(),
        concurrent: of.concurrent,
        rounds: rounds.len(),
        sizes_bytes,
        reason,
        inflections,
    }
}

/// ns per operation at each size, of the rounds in which every size was measured.
fn rounds(curve: &[&CaseResult]) -> Vec<Vec<f64>> {
    let most = curve.iter().map(|case| case.by_round.len()).max().unwrap_or(0);
    let row = |round: usize| {
        curve.iter().map(|case| case.by_round.get(round).copied().flatten()).collect()
    };
    (0..most).filter_map(row).collect()
}

#[cfg(test)]
mod tests;
