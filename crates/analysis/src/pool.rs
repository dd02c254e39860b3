//! The samples of a case: launch by launch for its statistics, and pooled for its curve.

use super::percentile::{self, OfLaunch};
use model::cycles::Cycles;
use store::StoredLaunch;

pub(super) struct LaunchValue {
    pub(super) ns: f64,
    pub(super) cycles: Option<Cycles>,
    pub(super) mean_ns: f64,
    pub(super) least_ns: f64,
    /// Mean of the middle half of the samples: near the median, and means of parts add up to it.
    pub(super) middle_ns: f64,
    /// Its upper quartile, its largest sample, and its further percentiles, where its samples are single
    /// operations.
    pub(super) p75_ns: Option<f64>,
    pub(super) largest_ns: Option<f64>,
    pub(super) percentiles: Option<OfLaunch>,
    pub(super) samples: u64,
}

/// The samples of a case, pooled, and the time they took.
pub(super) struct Pool {
    pub(super) ticks: Vec<u64>,
    pub(super) timed_ns: f64,
    ns_per_tick: f64,
}

impl Pool {
    /// A pool in ticks of one clock: launches between two nodes are stamped by either's.
    pub(super) fn in_ticks_of(ns_per_tick: f64) -> Pool {
        Pool { ticks: Vec::new(), timed_ns: 0.0, ns_per_tick }
    }

    /// The smallest, the quartiles and the largest of all samples, in ns; None without any. Sorts them.
    pub(super) fn five(&mut self) -> Option<[f64; 5]> {
        self.ticks.sort_unstable();
        let (least, most) = (*self.ticks.first()?, *self.ticks.last()?);
        let quartile = |share: f64| stats::mid_quantile(&self.ticks, share);
        let five = [least as f64, quartile(0.25), quartile(0.5), quartile(0.75), most as f64];
        Some(five.map(|value| value * self.ns_per_tick))
    }

    /// The share of all samples that took more than `ns`; of what [`Pool::five`] has sorted.
    pub(super) fn share_later(&self, ns: f64) -> f64 {
        let within = self.ticks.partition_point(|tick| *tick as f64 * self.ns_per_tick <= ns);
        (self.ticks.len() - within) as f64 / self.ticks.len().max(1) as f64
    }

    /// Takes one launch's samples in, and says what they come to. `single`: each of them is
    /// one operation, fit for percentiles.
    pub(super) fn take(
        &mut self,
        samples: Vec<u64>,
        launch: &StoredLaunch,
        ns_per_tick: f64,
        single: bool,
    ) -> LaunchValue {
        let batch = launch.record.initiator.batch.max(1);
        let scale = ns_per_tick / batch as f64;
        self.timed_ns += ns_per_tick * stats::sum(&samples) as f64;
        let count = samples.len();
        let turns = launch.record.initiator.turns.as_ref();
        let cycles = turns.map(|turns| Cycles::of(&samples, turns, scale));
        // From here on order doesn't matter: one buffer serves to sort and to pool.
        let mut sorted = samples;
        sorted.sort_unstable();
        let value = LaunchValue {
            cycles,
            mean_ns: scale * mean(&sorted),
            least_ns: scale * sorted.first().copied().unwrap_or(0) as f64,
            largest_ns: sorted.last().filter(|_| single).map(|number| scale * *number as f64),
            middle_ns: scale * mean(&sorted[count / 4..count - count / 4]),
            ns: stats::mid_quantile(&sorted, 0.5) * scale,
            p75_ns: single.then(|| stats::mid_quantile(&sorted, 0.75) * scale),
            percentiles: single.then(|| percentile::of_launch(&sorted, scale)),
            samples: count as u64,
        };
        if ns_per_tick != self.ns_per_tick {
            let scale = ns_per_tick / self.ns_per_tick;
            sorted.iter_mut().for_each(|number| *number = (*number as f64 * scale).round() as u64);
        }
        // Transfers of one message too: a batch hides what its messages took.
        if batch == 1 && self.ticks.is_empty() {
            self.ticks = sorted;
        } else if batch == 1 {
            self.ticks.extend(sorted);
        }
        value
    }
}

fn mean(ticks: &[u64]) -> f64 {
    stats::sum(ticks) as f64 / ticks.len().max(1) as f64
}
