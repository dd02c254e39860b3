//! The time series of a case: its samples over time, launch after launch, few enough to be drawn.
//!
//! A launch is cut into slices of as many samples each; of a slice the smallest, the median
//! and the p99 stay. This is drawn, not inferred from: what a launch's steadiness is judged by
//! is `stats::steady_from`, whose finding is kept with the slices.

/// Most slices of a launch: more than can be seen beside eleven others.
const MOST: u64 = 40;
/// Cases that a page draws, the first ones; the others have their slices summed up.
pub const DRAWN: usize = 8;
/// Most slices of what is drawn, so that a page stays small; what is beyond thins all launches.
const MOST_DRAWN: u64 = 500;

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeSeries {
    /// Its round, from 1.
    pub round: u64,
    /// In the order of time.
    pub slices: Vec<Slice>,
    /// The slice with which its last level begins; 0 where it has one level.
    pub level_from: usize,
    /// Whether that level is at least half of the launch; None where it is too short to tell.
    pub steady: Option<bool>,
}

/// A slice, in ns per operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// The fastest sample.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The 99th percentile; with fewer than a hundred samples about the slowest.
    pub p99: f64,
}

/// Slices of each launch, where so many launches are drawn.
pub fn slices_each(launches: u64) -> usize {
    (MOST_DRAWN / launches.max(1)).clamp(1, MOST) as usize
}

impl TimeSeries {
    /// The time series of a launch in at most `slices`. `samples` in ticks, in the order they were
    /// taken; `scale` gives ns per operation.
    pub fn of(
        round: u64,
        samples: &[u64],
        scale: f64,
        slices: usize,
        steady: Option<stats::Steady>,
    ) -> TimeSeries {
        let slices = slices.min(samples.len());
        let start = |nth: usize| nth * samples.len() / slices;
        let from = steady.map_or(0, |it| it.from);
        let mut slice = Vec::new();
        TimeSeries {
            round,
            level_from: (0..slices).find(|nth| start(*nth) >= from).unwrap_or(0),
            steady: steady.map(|it| it.steady),
            slices: (0..slices)
                .map(|nth| {
                    slice.clear();
                    slice.extend(&samples[start(nth)..start(nth + 1)]);
                    slice.sort_unstable();
                    Slice {
                        min: slice[0] as f64 * scale,
                        median: stats::mid_quantile(&slice, 0.5) * scale,
                        p99: stats::mid_quantile(&slice, 0.99) * scale,
                    }
                })
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_keep_the_order_and_share_the_samples() {
        let samples: Vec<u64> = (0..1_000).map(|nth| 100 + nth / 10).collect();
        let series = TimeSeries::of(3, &samples, 2.0, 100, None);
        assert_eq!((series.round, series.slices.len(), series.steady), (3, 100, None));
        assert!(series.slices.windows(2).all(|pair| pair[0].median < pair[1].median));
        assert_eq!(series.slices[0].min, 200.0);
        assert!(series.slices.iter().all(|it| it.min <= it.median && it.median <= it.p99));
    }

    #[test]
    fn few_samples_are_a_slice_each_and_none_are_no_slices() {
        assert_eq!(TimeSeries::of(1, &[5, 9, 7], 1.0, 100, None).slices.len(), 3);
        assert!(TimeSeries::of(1, &[], 1.0, 100, None).slices.is_empty());
    }

    #[test]
    fn the_last_level_is_found_again_in_slices() {
        let mut samples = vec![1_500; 1_000];
        samples.extend(vec![1_000; 4_000]);
        let series = TimeSeries::of(1, &samples, 1.0, 50, Some(stats::steady_from(&samples)));
        assert_eq!((series.level_from, series.steady), (10, Some(true)));
    }

    #[test]
    fn many_launches_have_fewer_slices_each() {
        assert_eq!(slices_each(0), 40);
        assert_eq!(slices_each(100), 5);
        assert_eq!(slices_each(1_000_000), 1);
    }
}
