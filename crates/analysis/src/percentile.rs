//! Percentiles of a case, and the curve that is drawn of them.
//!
//! The percentile of a case is the median over launches of the launches' percentiles; it needs so many
//! samples in the median launch. The curve pools all
//! launches: it is drawn, not inferred from, and ends where even the pool has too few.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Ranked, interval_of};

/// The percentiles that are stated: name and probability.
pub const PERCENTILES: [(&str, f64); 5] =
    [("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999), ("p99.999", 0.99999)];

/// A percentile over launches, in the unit of its estimate.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct OverLaunches {
    /// Median over launches.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Ranks of the ends among the launches' percentiles, counted from 1.
    pub ranks: [usize; 2],
    /// The coverage that the interval really has.
    pub coverage: f64,
    /// The share of the samples of all launches that took longer: the middle launch hides what others met.
    pub later_share: f64,
}

/// What one launch says of each of [`PERCENTILES`], in ns, and how many samples it has.
#[derive(Clone, Copy)]
pub struct OfLaunch {
    /// In the order of [`PERCENTILES`].
    pub ns: [f64; PERCENTILES.len()],
    /// Its samples.
    pub samples: u64,
}

/// Percentiles of one launch.
pub fn of_launch(sorted: &[u64], scale: f64) -> OfLaunch {
    let ns = PERCENTILES.map(|(_, p)| stats::mid_quantile(sorted, p) * scale);
    OfLaunch { ns, samples: sorted.len() as u64 }
}

/// Percentiles of a case, None where its launches are too short; and for those, how many more
/// samples each launch needs. `later` says which share of all samples took more ns.
pub fn over_launches(
    launches: &[OfLaunch],
    later: impl Fn(f64) -> f64,
) -> (BTreeMap<String, Option<OverLaunches>>, BTreeMap<String, u64>) {
    let (mut found, mut missing) = (BTreeMap::new(), BTreeMap::new());
    for (at, (name, p)) in PERCENTILES.into_iter().enumerate() {
        let needed = stats::samples_needed(p);
        let typical =
            stats::median_of(launches.iter().map(|launch| launch.samples as f64)).unwrap_or(0.0);
        let values: Vec<f64> = launches.iter().map(|launch| launch.ns[at]).collect();
        let interval = if typical >= needed as f64 { interval_of(&values) } else { None };
        if typical < needed as f64 {
            missing.insert(name.to_string(), (needed as f64 - typical).ceil() as u64);
        }
        let over = interval.map(|Ranked { interval, ranks }| OverLaunches {
            value: interval.estimate,
            low: interval.low,
            high: interval.high,
            ranks,
            coverage: interval.coverage,
            later_share: later(interval.estimate),
        });
        found.insert(name.to_string(), over);
    }
    (found, missing)
}

/// Points of the pooled distribution: probability and ns.
pub type Curve = Vec<(f64, f64)>;

/// The pooled percentile curve of a case, to the deepest tail that the pool supports.
pub fn curve(pooled: &mut [u64], scale: f64) -> Curve {
    if pooled.is_empty() {
        return Curve::new();
    }
    pooled.sort_unstable();
    let supported = pooled.len() as u64;
    let at = |tenths: i32| 1.0 - 10f64.powf(f64::from(tenths) / -12.0);
    let tail = (0..=60).map(at).filter(|p| *p >= 0.01);
    let body = [0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.4];
    let mut points: Vec<f64> = body.into_iter().chain(tail).collect();
    points.sort_by(f64::total_cmp);
    points
        .into_iter()
        // The lowest percentiles need as many samples as the highest.
        .filter(|p| stats::samples_needed(*p) <= supported)
        .map(|p| (p, stats::mid_quantile(pooled, p) * scale))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_that_the_samples_cannot_support_says_what_is_missing() {
        let sorted: Vec<u64> = (1000..1400).collect();
        let launch = of_launch(&sorted, 1.0);
        let (found, missing) = over_launches(&[launch; 12], |_| 0.1);
        assert!(found["p90"].is_some());
        assert!(found["p99.9"].is_none());
        assert_eq!(missing["p99.9"], 3688 - 400);
    }

    #[test]
    fn few_samples_leave_the_middle_of_a_curve() {
        let mut pooled: Vec<u64> = (0..100).collect();
        let curve = curve(&mut pooled, 1.0);
        assert!(curve.len() > 5, "{curve:?}");
        assert!(curve.iter().all(|(p, _)| (0.01..0.99).contains(p)), "{curve:?}");
    }

    #[test]
    fn the_curve_rises_and_stops_in_time() {
        let mut pooled: Vec<u64> = (0..5_000).collect();
        let curve = curve(&mut pooled, 2.0);
        assert!(curve.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        let deepest = curve.last().unwrap().0;
        assert!((0.999..0.9995).contains(&deepest), "{deepest}");
    }
}
