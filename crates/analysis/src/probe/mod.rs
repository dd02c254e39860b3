//! Tracing overhead in a run, judged from its store as often as is asked.
//!
//! Every launch that a probe observed is compared with unobserved ones of the same case, in the same
//! rounds. From these pairs come the overhead of each probe (per operation and per firing), whether
//! twice the tracing costs twice as much, whether a curve over sizes is only rescaled, and
//! whether anything that the run says of two mechanisms turns round.

mod curve;
mod linearity;
mod order;
mod overhead;
#[cfg(test)]
mod tests;

pub use curve::CurveUnder;
pub use linearity::{Linear, Linearity};
pub use order::{Kept, Order};
pub use overhead::ProbeOverhead;

use super::site::is_a_case;
use super::{CaseResult, Observed, Status};
use model::case::Case;
use model::distinct::distinct;
use model::metric::Metric;
use model::probe::Probe;

/// Tracing overhead in a run.
#[derive(Clone, Debug)]
pub struct ProbeEffect {
    /// One per mechanism, workload, total, placement and kind of workers.
    pub strands: Vec<Strand>,
    /// Probes that couldn't be tried, each with its reason.
    pub untested: Vec<Untested>,
    /// What each probe does to the order of mechanisms.
    pub orders: Vec<Order>,
}

/// A probe that couldn't be tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Untested {
    pub probe: Probe,
    /// Why, with the remedy where there is one.
    pub reason: String,
}

/// Cases that differ in size and probe only.
#[derive(Clone, Debug)]
pub struct Strand {
    pub of: Common,
    pub overheads: Vec<ProbeOverhead>,
    /// Where a probe was attached once, twice, four times over.
    pub linearity: Vec<Linearity>,
    /// Curves over size, probe by probe; empty with fewer than two sizes.
    pub curves: Vec<CurveUnder>,
}

/// What the cases of a strand have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Common {
    /// What was asked, at no size of its own.
    pub case: Case,
    pub metric: Metric,
}

is_a_case!(Common);

impl Common {
    fn of(case: &CaseResult) -> Common {
        let of = Case { message_bytes: None, ..case.case.clone() };
        Common { case: of, metric: case.metric.clone() }
    }
}

/// An observed case with the one that it is compared with; both were measured.
#[derive(Clone, Copy)]
struct Pair<'a> {
    probe: Probe,
    seen: &'a Observed,
    plain: &'a CaseResult,
}

impl Pair<'_> {
    fn bytes(&self) -> Option<u64> {
        self.plain.message_bytes
    }

    /// Time per operation in the rounds that have both: observed, and not.
    fn times(&self) -> (Vec<f64>, Vec<f64>) {
        let rounds = self.seen.case.by_round.iter().zip(&self.plain.by_round);
        rounds.filter_map(|(a, b)| (*a).zip(*b)).unzip()
    }
}

impl ProbeEffect {
    /// Judges what was observed beside `results`. None where no instrumentation was asked for.
    pub fn of(results: &[CaseResult], observed: &[Observed]) -> Option<ProbeEffect> {
        if observed.is_empty() {
            return None;
        }
        let pair = |seen: &'_ Observed| -> Option<usize> {
            seen.beside.filter(|at| seen.status == Status::Ok && results[*at].status == Status::Ok)
        };
        let pairs: Vec<Pair> = observed
            .iter()
            .filter_map(|seen| Some(Pair { probe: seen.probe, seen, plain: &results[pair(seen)?] }))
            .collect();
        let commons = distinct(pairs.iter().map(|pair| Common::of(pair.plain)));
        let strand = |of: Common| {
            let mut here: Vec<Pair> =
                pairs.iter().filter(|pair| Common::of(pair.plain) == of).copied().collect();
            here.sort_by_key(|pair| (pair.bytes(), pair.probe));
            Strand {
                overheads: overhead::overheads(&here),
                linearity: linearity::linearities(&here),
                curves: curve::curves(&here),
                of,
            }
        };
        let untested = untested(observed);
        Some(ProbeEffect {
            strands: commons.into_iter().map(strand).collect(),
            orders: order::orders(&pairs),
            untested,
        })
    }
}

/// Probes of which no case was observed, in their order, each with the first reason.
fn untested(observed: &[Observed]) -> Vec<Untested> {
    let mut found: Vec<Untested> = Vec::new();
    for seen in observed {
        let tried = observed
            .iter()
            .any(|observed| observed.probe == seen.probe && observed.status == Status::Ok);
        if tried || found.iter().any(|untested| untested.probe == seen.probe) {
            continue;
        }
        let reason = seen.reason.clone().unwrap_or_else(|| "it was not launched".into());
        found.push(Untested { probe: seen.probe, reason });
    }
    found.sort_by_key(|untested| untested.probe);
    found
}
