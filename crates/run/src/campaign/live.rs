//! The groups and cases of a run while they are measured.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use crate::launch::state::is_given_up;
use crate::plan::Case;
use model::total::Total;
use model::words::counted;
use store::{Closed, Ends};

pub struct LiveCase {
    pub id: i64,
    /// Of a fleet it is that of many pairs of nodes.
    pub case: Rc<Case>,
    /// Its node, or the two that it is between; None outside a fleet.
    pub ends: Option<Ends>,
    pub batch: u64,
    pub samples: u64,
    pub operation_ns: f64,
    /// Medians of its launches by round, in ns per operation; None where one failed.
    pub medians: Vec<Option<f64>>,
    /// Launches of rounds that worked, and those that failed.
    pub worked: usize,
    pub failed: usize,
    /// Set when it failed so often that further launches would only cost time.
    pub given_up: bool,
}

#[derive(Default)]
pub struct LiveGroup {
    pub nth: usize,
    pub cases: Vec<LiveCase>,
    pub wants_quiet: bool,
    pub rounds: u64,
    /// Those of them that nobody disturbed.
    pub unmarked: u64,
    pub unknown: u64,
    /// So many launches of each case are enough for the precision that was asked; None until it is known.
    pub needed: Option<usize>,
    /// Its first rounds, which chose the cases that go on; 0 where they chose none.
    pub screened: u64,
    pub closed: Option<Closed>,
    /// How long a round of it takes: what its pilot lets expect, then the mean.
    pub took: Duration,
}

impl LiveCase {
    /// A case of which no launch is known, with what its pilot fixed: operations per sample, samples per
    /// launch, ns per operation.
    pub fn new(
        id: i64,
        case: Rc<Case>,
        ends: Option<Ends>,
        (batch, samples, operation_ns): (Option<u64>, Option<u64>, Option<f64>),
    ) -> LiveCase {
        LiveCase {
            id,
            case,
            ends,
            batch: batch.unwrap_or(0),
            samples: samples.unwrap_or(0),
            operation_ns: operation_ns.unwrap_or(0.0),
            medians: Vec::new(),
            worked: 0,
            failed: 0,
            given_up: false,
        }
    }

    /// Whether instrumentation is active: then it is no result.
    pub(super) fn is_observed(&self) -> bool {
        self.case.observe.is_some()
    }

    /// Whether something runs beside its launches: then it is no result either.
    pub(super) fn is_accompanied(&self) -> bool {
        self.case.beside.is_some()
    }

    /// Takes in the median of a launch, in ns per operation; None of one that failed.
    pub(super) fn count(&mut self, median_ns: Option<f64>) {
        match median_ns {
            Some(_) => self.worked += 1,
            None => self.failed += 1,
        }
        self.medians.push(median_ns);
        // Further launches would only cost time.
        self.given_up |= is_given_up(self.failed, self.worked);
    }
}

impl LiveGroup {
    /// A group of which no round is measured.
    pub fn new(nth: usize, cases: Vec<LiveCase>, wants_quiet: bool) -> LiveGroup {
        LiveGroup { nth, cases, wants_quiet, ..LiveGroup::default() }
    }

    /// Whether the scheduler places the workers of all its cases, on this host.
    pub(super) fn is_free(&self) -> bool {
        let free = |live: &LiveCase| live.case.place.cpus.is_none() && live.case.route.is_local();
        self.cases.iter().all(free)
    }

    /// Rounds that its results rest on.
    pub(super) fn judged(&self) -> u64 {
        self.rounds - self.screened
    }

    /// The cases at which nothing looks.
    pub(super) fn results(&self) -> impl Iterator<Item = &LiveCase> {
        self.cases.iter().filter(|live| !live.is_observed())
    }

    pub(super) fn rates(&self) -> usize {
        let rates = self.results().filter_map(|live| live.case.load);
        rates.map(|rate| rate.per_second).collect::<BTreeSet<_>>().len()
    }

    /// Takes into account how long its last round took: what its pilot let expect counts as one.
    pub(super) fn took_round(&mut self, took: Duration) {
        let before = self.rounds as u32;
        self.took =
            if self.took.is_zero() { took } else { (self.took * before + took) / (before + 1) };
    }

    pub(super) fn title(&self) -> String {
        let case = &self.cases[0].case;
        let size = match case.message_bytes {
            Some(bytes) => format!(" {}", model::size::spell(bytes)),
            None => String::new(),
        };
        let total = match case.total {
            Some(total) if total != Total::Long => format!(" of {total}"),
            _ => String::new(),
        };
        // Of a capacity the rates differ.
        let one = self.cases.iter().all(|live_case| live_case.case.load == case.load);
        let load = match case.load.filter(|_| one) {
            None => String::new(),
            Some(load) if load.has_rate() => format!(" at {load}"),
            Some(load) => format!(", {}", counted(load.connections.into(), "connection")),
        };
        format!(
            "{}{size}{total}{load}, {}, {}",
            case.workload.name(),
            case.placement,
            case.workers.name()
        )
    }
}
