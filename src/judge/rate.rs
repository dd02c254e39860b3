//! How an open loop went: what was asked, what was served, and how late messages were begun.

use serde::Serialize;

use crate::stats;
use crate::store::{StoredCase, StoredLaunch};

/// A mechanism that serves less of the rate than this falls behind for good: what is due waits in
/// a queue that grows, and its response times tell how long the launch was.
const SERVED: f64 = 0.95;

/// The schedule of a case, and how it was kept: medians over launches, null where nothing was
/// measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateSeen {
    /// Messages due per second.
    pub asked_per_sec: u64,
    /// Messages answered per second, from when the first was due to the last answer, or to when one
    /// more was due if that is later.
    pub served_per_sec: Option<f64>,
    /// Share of the messages that were begun more than 1 µs after they were due.
    pub late_share: Option<f64>,
    /// Median of how late messages were begun, in ns.
    pub lateness_median_ns: Option<f64>,
    /// Largest of it over all launches, in ns.
    pub lateness_max_ns: Option<f64>,
    /// Whether it could not serve the rate.
    pub overloaded: bool,
}

impl RateSeen {
    /// What is known before any launch; None of other workloads.
    pub(super) fn asked(case: &StoredCase) -> Option<RateSeen> {
        Some(RateSeen {
            asked_per_sec: case.rate?,
            served_per_sec: None,
            late_share: None,
            lateness_median_ns: None,
            lateness_max_ns: None,
            overloaded: false,
        })
    }

    /// The same with what `launches` came to.
    pub(super) fn with(self, launches: &[&StoredLaunch]) -> RateSeen {
        let reports = || launches.iter().map(|it| &it.record.initiator);
        let told = || reports().filter_map(|it| Some((it.samples, it.punctuality?)));
        let served_per_sec = median(told().map(|it| it.1.served_per_sec));
        RateSeen {
            served_per_sec,
            late_share: median(told().map(|(all, it)| it.late as f64 / all.max(1) as f64)),
            lateness_median_ns: median(told().map(|it| it.1.median_ns)),
            lateness_max_ns: told().map(|it| it.1.max_ns).reduce(f64::max),
            overloaded: served_per_sec.is_some_and(|it| it < SERVED * self.asked_per_sec as f64),
            ..self
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    (!values.is_empty()).then(|| stats::median(&values))
}
