//! From a stored run to results and verdicts: what the numbers say, and how sure they are.
//!
//! Everything here is made again from the store whenever it is asked for; nothing is measured.
//! Pilots (round 0) are kept in the store and left out here.

#[cfg(not(feature = "schema"))]
extern crate schemaless as schemars;

pub mod beside;
mod blank;
pub mod capacity;
mod case;
pub mod choose;
mod claims;
mod clients;
pub mod compare;
mod conditions;
mod connections;
mod counted;
mod cpu;
mod datagrams;
mod delivery;
mod derived;
mod earlier;
mod energy;
mod estimate;
pub mod explain;
mod export;
pub mod failures;
pub mod fleet;
pub(crate) mod floor;
pub mod floor_rows;
mod group;
pub mod hypothesis;
mod inflection;
mod judged;
mod observed;
mod over_rounds;
mod paired;
mod per_launch;
mod percentile;
mod pool;
pub mod quantity;
mod rate;
mod rounds;
mod screening;
mod sessions;
mod site;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time_series;
mod unmeasured;

pub use claims::{Claim, JudgedStudy};
pub use model::mechanism::{Carries, Class};
pub use model::noise::Traffic;
pub use model::route::Route;
pub use model::total::Total;
use stats::Interval;

pub use beside::Accompanied;
pub use capacity::Capacity;
pub use case::{CaseResult, NULL_NS};
pub use choose::Choice;
pub use clients::{ClientsSeen, OverClients, OverLaunches};
pub use conditions::{NoiseSeen, ObservedPlacement, PeerNoise};
pub use counted::Counted;
pub use cpu::CpuCost;
pub use datagrams::{DatagramsSeen, LaunchDatagrams};
pub use delivery::DeliveryCounters;
pub use derived::Derived;
pub use earlier::Earlier;
pub use energy::ENERGY;
pub use estimate::{Estimate, MedianInterval, Status};
pub use export::{Export, SCHEMA_VERSION};
pub use floor::{Bound, BoundKind};
pub use group::{GroupVerdict, Standing, TwinCheck};
pub use inflection::{Candidate, Change, Inflection, Sweep, sweeps};
pub use judged::Judged;
pub use observed::{
    Beyond, CallStats, CallSummary, CountFigure, EventCount, InterruptSummary, Observed, Returned,
    SocketSummary, TraceSummary, Wait, WakeUps, Worker,
};
pub use over_rounds::OverRounds;
pub use paired::CaseRatio;
pub use per_launch::{FIRST_MESSAGE, Secondary};
pub use percentile::{Curve, OverLaunches as Percentile, PERCENTILES};
pub use rate::RateSeen;
pub use rounds::{JudgedRound, RoundCounts, RoundState, Stratified};
pub use screening::LeftOut;
pub use sessions::SessionsSeen;
pub use site::Site;
pub use stats::Share;
pub use time_series::{DRAWN as TIME_SERIES_DRAWN, Slice, TimeSeries};

/// Error probability of every family of claims.
pub const ALPHA: f64 = 0.05;
/// Ratios within this distance of 1 are called equivalent.
pub const EQUIVALENT_WITHIN: f64 = 0.02;
/// A share by which a case may be slower than the best and still be called as good: two programs that make the same
/// calls differ by as much (`cargo bench --bench fidelity`).
pub const NEGLIGIBLE: f64 = 0.01;

/// The median of one value per launch, with its interval and the ranks of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The ends, and what they cover.
    pub interval: Interval,
    /// Ranks of the ends among the sorted values, counted from 1.
    pub ranks: [usize; 2],
}

impl From<(Interval, [usize; 2])> for Ranked {
    fn from((interval, ranks): (Interval, [usize; 2])) -> Ranked {
        Ranked { interval, ranks }
    }
}

/// The interval of `values`, of which each launch gave one; None where there are too few.
pub fn interval_of(values: &[f64]) -> Option<Ranked> {
    let (low, high, _) = stats::median_ranks(values.len(), ALPHA)?;
    Some(Ranked { interval: stats::median_interval(values, ALPHA)?, ranks: [low, high] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_the_ranks_and_the_coverage_of_so_many_launches() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let of = |n: usize| {
            let found = interval_of(&values[..n]).unwrap();
            let [low, high] = found.ranks;
            assert_eq!((found.interval.low, found.interval.high), (low as f64, high as f64));
            (found.ranks, (found.interval.coverage * 1e4).round())
        };
        assert_eq!(of(12), ([3, 10], 9614.0));
        assert_eq!(of(22), ([6, 17], 9831.0));
        assert_eq!(of(100), ([40, 61], 9648.0));
        assert_eq!(interval_of(&values[..4]), None, "four can't support 95 %");
    }
}
