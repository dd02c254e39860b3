//! Quantiles of sorted values, quantiles of clock ticks with ties, and the number of
//! samples below which a quantile may not be printed at all.
//!
//! Two kinds, because there are two kinds of data. Values that hardly ever tie (the medians
//! of launches) get the usual interpolated quantile. Raw samples from a coarse clock tie by
//! the thousand, and the usual quantile then jumps a whole tick when one sample moves; the
//! mid-distribution quantile moves smoothly.

/// The median: the middle value, or the average of the two middle ones.
///
/// `sorted` is ascending. Panics when it is empty or has a NaN.
pub fn median(sorted: &[f64]) -> f64 {
    quantile(sorted, 0.5)
}

/// The median of `values` in any order; None of none. Panics where one is NaN.
pub fn median_of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| median(&sorted))
}

/// The sum of clock ticks: here, since whoever adds up a launch isn't optimised (Cargo.toml).
pub fn sum(ticks: &[u64]) -> u64 {
    ticks.iter().sum()
}

/// The `p`-quantile, linearly interpolated between order statistics: type 7 of Hyndman and
/// Fan (1996), "Sample quantiles in statistical packages", which is the default of NumPy, R
/// and Julia.
///
/// `sorted` is ascending, `p` within 0..=1. Panics when `sorted` is empty, when it has a NaN
/// at either end (where sorting puts them) or `p` is outside.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    assert!((0.0..=1.0).contains(&p), "quantile of p = {p}, outside 0..=1");
    let last = sorted.len().checked_sub(1).expect("quantile of no values");
    assert!(!sorted[0].is_nan() && !sorted[last].is_nan(), "quantile of NaN");
    debug_assert!(sorted.is_sorted(), "quantile of unsorted values");

    let position = p * last as f64;
    let below = (position as usize).min(last);
    let above = (below + 1).min(last);
    let fraction = position - below as f64;
    // The weighted form would turn two equal infinities into a NaN.
    if fraction == 0.0 || sorted[below] == sorted[above] {
        return sorted[below];
    }
    sorted[below] + fraction * (sorted[above] - sorted[below])
}

/// The mid-distribution `p`-quantile of tied integers, in ticks.
///
/// Each distinct value sits at the middle of its step of the empirical distribution, and
/// the quantile is linear between those points and constant outside: Ma, Genton and Parzen
/// (2011), "Asymptotic properties of sample quantiles of discrete distributions". It is
/// continuous and monotone in `p`; without ties it is Hazen's quantile (type 5 of Hyndman and
/// Fan), with one distinct value it is that value.
///
/// `sorted_ticks` is ascending, `p` within 0..=1; the work is logarithmic in the number of
/// samples. Panics when there are none or `p` is outside.
pub fn mid_quantile(sorted_ticks: &[u64], p: f64) -> f64 {
    assert!((0.0..=1.0).contains(&p), "quantile of p = {p}, outside 0..=1");
    assert!(!sorted_ticks.is_empty(), "quantile of no samples");
    debug_assert!(sorted_ticks.is_sorted(), "quantile of unsorted samples");

    let n = sorted_ticks.len();
    // Positions count in samples: a run of equal values from `start` to `end` has its
    // middle at (start + end) / 2.
    let position = p * n as f64;
    let run = run_around(sorted_ticks, (position as usize).min(n - 1));
    let other = if position < run.middle {
        run.start.checked_sub(1)
    } else {
        Some(run.end).filter(|&end| end < n)
    };
    let Some(other) = other.map(|index| run_around(sorted_ticks, index)) else {
        return run.value as f64;
    };
    let (low, high) = if other.value < run.value { (other, run) } else { (run, other) };
    let fraction = (position - low.middle) / (high.middle - low.middle);
    low.value as f64 + fraction * (high.value - low.value) as f64
}

/// Samples equal to each other, `start..end`.
struct Run {
    value: u64,
    start: usize,
    end: usize,
    middle: f64,
}

fn run_around(sorted: &[u64], index: usize) -> Run {
    let value = sorted[index];
    let start = sorted[..index].partition_point(|&x| x < value);
    let end = index + sorted[index..].partition_point(|&x| x == value);
    Run { value, start, end, middle: (start + end) as f64 / 2.0 }
}

/// The smallest number of independent samples from which the `p`-quantile may be stated:
/// from here on a distribution-free two-sided 95 % interval between order statistics exists.
///
/// The widest such interval runs from the smallest sample to the largest. It leaves 2.5 % to
/// either side, so the largest of `n` must be above the quantile with probability 97.5 %:
/// pⁿ ≤ 0.025, hence n = ⌈ln 0.025 / ln p⌉, with 1 − p in the place of p below the median.
/// (David and Nagaraja, "Order Statistics", 7.1.) That is 368 for p99, 3,688 for p99.9,
/// 36,887 for p99.99 and 368,887 for p99.999.
///
/// Panics unless `p` is strictly between 0 and 1.
pub fn samples_needed(p: f64) -> u64 {
    assert!(p > 0.0 && p < 1.0, "samples for p = {p}, not strictly between 0 and 1");
    (0.025f64.ln() / p.max(1.0 - p).ln()).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_averages_the_two_middle_values() {
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[3.0, 4.0]), 3.5);
        assert_eq!(median(&[1.0, 3.0, 100.0]), 3.0);
    }

    #[test]
    fn quantile_reaches_both_ends_and_keeps_infinity() {
        let values = [1.0, 2.0, 4.0, f64::INFINITY];
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&values, 1.0), f64::INFINITY);
        assert_eq!(quantile(&values, 0.5), 3.0);
        assert_eq!(median(&[f64::INFINITY, f64::INFINITY]), f64::INFINITY);
    }

    #[test]
    #[should_panic(expected = "no values")]
    fn quantile_of_nothing_panics() {
        quantile(&[], 0.5);
    }

    #[test]
    #[should_panic(expected = "NaN")]
    fn quantile_of_nan_panics() {
        quantile(&[f64::NAN], 0.5);
    }

    #[test]
    fn mid_quantile_of_equal_ticks_is_the_tick() {
        for p in [0.0, 0.01, 0.5, 1.0] {
            assert_eq!(mid_quantile(&[41], p), 41.0);
            assert_eq!(mid_quantile(&[41; 1000], p), 41.0);
        }
    }

    #[test]
    fn mid_quantile_shares_a_median_between_two_ticks() {
        // 60 at 41 (middle 30), 40 at 42 (middle 80): the median is 2/5 of the way.
        let mut ticks = vec![41; 60];
        ticks.extend([42; 40]);
        assert_eq!(mid_quantile(&ticks, 0.5), 41.4);
        assert_eq!(mid_quantile(&ticks, 0.3), 41.0);
        assert_eq!(mid_quantile(&ticks, 0.8), 42.0);
    }

    #[test]
    fn mid_quantile_is_continuous_and_monotone() {
        let ticks = [0, 0, 0, 1, 1, 5, 9, 9, 9, 9, 20, u64::MAX / 1024];
        let steps = 100_000;
        let curve: Vec<f64> =
            (0..=steps).map(|i| mid_quantile(&ticks[..11], i as f64 / steps as f64)).collect();
        assert!(curve.is_sorted());
        // The steepest piece, 9 to 20, climbs 11 ticks over 2.5 of 11 samples.
        let steepest = curve.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
        assert!(steepest <= 1.01 * 11.0 / (2.5 / 11.0) / steps as f64, "a step of {steepest}");
        assert_eq!(mid_quantile(&ticks, 1.0), (u64::MAX / 1024) as f64);
    }

    #[test]
    fn samples_needed_for_the_usual_tails() {
        assert_eq!(samples_needed(0.5), 6);
        assert_eq!(samples_needed(0.9), 36);
        assert_eq!(samples_needed(0.99), 368);
        assert_eq!(samples_needed(0.999), 3_688);
        assert_eq!(samples_needed(0.9999), 36_887);
        assert_eq!(samples_needed(0.99999), 368_887);
        assert_eq!(samples_needed(0.01), 368);
    }
}
