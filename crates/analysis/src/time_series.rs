//! The time series of a case: its samples over time, launch after launch, few enough to be drawn.
//!
//! A launch is cut into slices of as many samples each; of a slice the smallest, the median
//! and the p99 stay. This is drawn, not inferred from.

/// Most slices of a launch: more than can be seen beside eleven others.
const MOST: u64 = 40;
/// Cases that a page draws, the first ones; the others have their slices summed up.
pub const DRAWN: usize = 8;
/// Most slices of what is drawn, so that a page stays small; what is beyond thins all launches.
const MOST_DRAWN: u64 = 500;

#[derive(Clone, Debug, PartialEq)]
pub struct TimeSeries {
    /// Its round, from 1.
    pub round: u64,
    /// In the order of time.
    pub slices: Vec<Slice>,
}

/// A slice, in ns per operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slice {
    /// The fastest sample.
    pub min: f64,
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
    pub fn of(round: u64, samples: &[u64], scale: f64, slices: usize) -> TimeSeries {
        let slices = slices.min(samples.len());
        let start = |nth: usize| nth * samples.len() / slices;
        let mut slice = Vec::new();
        TimeSeries {
            round,
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
        let series = TimeSeries::of(3, &samples, 2.0, 100);
        assert_eq!((series.round, series.slices.len()), (3, 100));
        assert!(series.slices.windows(2).all(|pair| pair[0].median < pair[1].median));
        assert_eq!(series.slices[0].min, 200.0);
        assert!(
            series
                .slices
                .iter()
                .all(|slice| slice.min <= slice.median && slice.median <= slice.p99)
        );
    }

    #[test]
    fn few_samples_are_a_slice_each_and_none_are_no_slices() {
        assert_eq!(TimeSeries::of(1, &[5, 9, 7], 1.0, 100).slices.len(), 3);
        assert!(TimeSeries::of(1, &[], 1.0, 100).slices.is_empty());
    }

    #[test]
    fn many_launches_have_fewer_slices_each() {
        assert_eq!(slices_each(0), 40);
        assert_eq!(slices_each(100), 5);
        assert_eq!(slices_each(1_000_000), 1);
    }
}
