//! How an open loop went: what was asked, what was served, and how late messages were begun.

use serde::Serialize;

use model::load::Load;
use model::workload::Arrivals;
use store::{StoredCase, StoredLaunch};

/// A mechanism that serves a smaller share of what is due falls behind for good: what is due waits in
/// a queue that grows, and its response times tell how long the launch was.
const SERVED: f64 = 0.99;
/// The share of the delay from which on it is the sender's own.
const OWN: f64 = 0.5;

/// The schedule of a case, and how it was kept: medians over launches, null where nothing was
/// measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateSeen {
    /// Messages due per second, in the mean.
    pub asked_per_sec: u64,
    /// Messages that might be under way at once.
    pub depth: u32,
    /// The most that were under way at once.
    pub deepest: Option<f64>,
    /// How they were spread over time.
    pub arrivals: Arrivals,
    /// Messages answered per second, from when the first was due to when the last was begun: all others
    /// were answered by then.
    pub served_per_sec: Option<f64>,
    /// The same over what was due per second in the same launch.
    pub served_share: Option<f64>,
    /// Share of the messages that were begun more than 1 µs after they were due.
    pub late_share: Option<f64>,
    /// Median of how late messages were begun, in ns.
    pub lateness_median_ns: Option<f64>,
    /// Largest of it over all launches, in ns.
    pub lateness_max_ns: Option<f64>,
    /// Whether it could not serve the rate: then it is no candidate for anything.
    pub overloaded: bool,
    /// Whether it could not be offered the rate: the sender itself was late, by more than half of what
    /// was missing.
    pub void: bool,
}

impl RateSeen {
    /// What is known before any launch; None of other workloads.
    pub(super) fn asked(case: &StoredCase) -> Option<RateSeen> {
        let load = case.case.load?;
        Some(RateSeen {
            asked_per_sec: load.per_second,
            depth: load.depth,
            deepest: None,
            arrivals: Arrivals::default(),
            served_per_sec: None,
            served_share: None,
            late_share: None,
            lateness_median_ns: None,
            lateness_max_ns: None,
            overloaded: false,
            void: false,
        })
    }

    /// The same with what `launches` came to.
    pub(super) fn with(self, launches: &[&StoredLaunch]) -> RateSeen {
        let reports = || launches.iter().map(|it| &it.record.initiator);
        let kept = || reports().filter_map(|it| Some((it.samples, it.punctuality?)));
        let served_share =
            stats::median_of(kept().map(|it| it.1.served_per_sec / it.1.due_per_sec));
        let short = served_share.is_some_and(|it| it < SERVED);
        let own = stats::median_of(kept().map(|it| it.1.own_ns / it.1.behind_ns.max(1.0)));
        let void = short && own.is_some_and(|it| it >= OWN);
        RateSeen {
            served_per_sec: stats::median_of(kept().map(|it| it.1.served_per_sec)),
            served_share,
            late_share: stats::median_of(
                kept().map(|(all, it)| it.late as f64 / all.max(1) as f64),
            ),
            deepest: stats::median_of(kept().map(|it| f64::from(it.1.deepest))),
            lateness_median_ns: stats::median_of(kept().map(|it| it.1.median_ns)),
            lateness_max_ns: kept().map(|it| it.1.max_ns).reduce(f64::max),
            overloaded: short && !void,
            void,
            ..self
        }
    }

    /// What was asked of it.
    pub fn load(self) -> Load {
        Load { per_second: self.asked_per_sec, depth: self.depth }
    }

    /// Whether its response times are those of the rate that was asked: it was offered, and served.
    pub fn is_kept(&self) -> bool {
        !self.overloaded && !self.void
    }

    /// Why they are not: `overloaded at 50000/s`; None where they are.
    pub fn shortfall(&self) -> Option<String> {
        let what = if self.void { "void, since the sender was late," } else { "overloaded" };
        (!self.is_kept()).then(|| format!("{what} at {}/s", self.asked_per_sec))
    }
}
