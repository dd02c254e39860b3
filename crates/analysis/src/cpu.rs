//! What an operation costs in CPU time, both workers together.
//!
//! Each launch holds getrusage(2) of both workers over the timed part. Their sum is the
//! scheduler's own account, to the microsecond; how it divides into user and system is
//! sampled by the kernel's timer tick (unless it was built to account each crossing), so the
//! division is pooled over all launches and has no interval. The responder's account also
//! holds its up to 16 untimed operations before the first sample. Not in it: what an idle CPU does
//! while it is being woken, which the kernel charges to nobody.

use schemars::JsonSchema;
use serde::Serialize;

use super::{MedianInterval, interval_of};
use store::StoredLaunch;

/// CPU time per round trip, or per message of a transfer, in ns.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct CpuCost {
    /// In user space: `total` times the share of it over all launches.
    pub user: f64,
    /// In the kernel: the rest of `total`.
    pub system: f64,
    /// Median over launches of both workers' time per operation.
    pub total: f64,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
}

impl CpuCost {
    /// Over the launches that were measured; None where none tells.
    pub(super) fn of(launches: &[&StoredLaunch]) -> Option<CpuCost> {
        let each: Vec<[f64; 2]> =
            launches.iter().filter_map(|launch| per_operation(launch)).collect();
        over_launches(&each)
    }
}

/// User and system time of both workers over the operations of the timed part.
fn per_operation(launch: &StoredLaunch) -> Option<[f64; 2]> {
    let (initiator, responder) = (&launch.record.initiator, &launch.record.responder);
    let operations = initiator.samples * initiator.batch;
    let sum = |a: u64, b: u64| (a + b) as f64 / operations as f64;
    (operations > 0).then(|| {
        [
            sum(initiator.usage.user_ns, responder.usage.user_ns),
            sum(initiator.usage.system_ns, responder.usage.system_ns),
        ]
    })
}

fn over_launches(each: &[[f64; 2]]) -> Option<CpuCost> {
    let mut totals: Vec<f64> = each.iter().map(|[user, system]| user + system).collect();
    let found = interval_of(&totals);
    totals.sort_by(f64::total_cmp);
    let total = if totals.is_empty() { 0.0 } else { stats::median(&totals) };
    let all: f64 = totals.iter().sum();
    let in_user: f64 = each.iter().map(|[user, _]| user).sum();
    // No time at all is no finding: the account is in whole microseconds.
    (total > 0.0).then(|| {
        // Rounding must not make all of it a little more than it is.
        let user = (total * in_user / all).min(total);
        CpuCost { user, system: total - user, total, interval: found.into() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_division_is_pooled_and_adds_up_to_the_total() {
        // The tick saw user time in one launch of three only.
        let each = [[0.0, 4_000.0], [3_000.0, 1_000.0], [0.0, 5_000.0]];
        let cost = over_launches(&each).unwrap();
        assert_eq!(cost.total, 4_000.0);
        assert!((cost.user - 4_000.0 * 3.0 / 13.0).abs() < 1e-9);
        assert_eq!(cost.user + cost.system, cost.total);
        assert_eq!(
            (cost.interval.low, cost.interval.high),
            (None, None),
            "three launches have no interval"
        );
    }

    #[test]
    fn twelve_launches_have_an_interval_of_the_total() {
        let each: Vec<[f64; 2]> = (1..=12).map(|nth| [f64::from(nth), 10.0]).collect();
        let cost = over_launches(&each).unwrap();
        assert_eq!((cost.interval.low, cost.interval.high), (Some(13.0), Some(20.0)));
        assert_eq!(cost.total, 16.5);
    }

    #[test]
    fn a_case_that_is_all_user_has_no_negative_rest() {
        let cost = over_launches(&[[0.2, 0.0], [0.4, 0.0], [0.9, 0.0]]).unwrap();
        assert_eq!((cost.user, cost.system), (0.4, 0.0));
    }

    #[test]
    fn no_time_and_no_launches_are_no_cost() {
        assert_eq!(over_launches(&[]), None);
        assert_eq!(over_launches(&[[0.0, 0.0], [0.0, 0.0], [9.0, 0.0]]), None);
    }
}
