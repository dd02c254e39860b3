//! Distribution-free intervals for a median.
//!
//! The interval runs between two order statistics. How many of n values fall below the true
//! median is a fair coin tossed n times, whatever the distribution, so the coverage is a
//! binomial sum and is known exactly. It comes in steps; what is reported is the step that
//! was reached and not the one that was asked for.

use std::sync::LazyLock;

use super::quantile::median;

/// Launches that a group gets whatever they take, unless the user set a time limit.
pub const LEAST_LAUNCHES: usize = 12;

/// An estimate with its two-sided interval, all in the units of the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    pub estimate: f64,
    /// Lower end, included.
    pub low: f64,
    /// Upper end, included.
    pub high: f64,
    /// The coverage the interval really has, 0..=1; at least what was asked for.
    pub coverage: f64,
}

impl Interval {
    /// Of a logarithm, as one of a ratio.
    pub fn exp(self) -> Interval {
        let Interval { estimate, low, high, coverage } = self;
        Interval { estimate: estimate.exp(), low: low.exp(), high: high.exp(), coverage }
    }
}

/// The ranks (counted from 1) of the narrowest symmetric order-statistic interval for the
/// median of `n` values that covers with at least `1 - alpha`, and the coverage it has:
/// `(l, n + 1 - l, coverage)`.
///
/// `None` when even the smallest and the largest value cover too little (`n` < 6 at 5 %).
/// Exact to rounding also where 2⁻ⁿ is below the range of an f64. Conover, "Practical Nonparametric Statistics", 3.2; David and Nagaraja, 7.1.
pub fn median_ranks(n: usize, alpha: f64) -> Option<(usize, usize, f64)> {
    let mut tail = FairTail::new(n);
    let mut error = None;
    let mut low = 0;
    while 2 * low < n {
        let wider = 2.0 * tail.next();
        if wider > alpha {
            break;
        }
        low += 1;
        error = Some(wider);
    }
    error.map(|error| (low, n + 1 - low, 1.0 - error))
}

/// Of the numbers of values from `least` to `most` the one whose interval for the median is the narrowest at 5 %, which need
/// not be the largest: 13 have a wider one than 12. Where none has one, or they are hundreds, the largest.
pub fn narrowest(least: usize, most: usize) -> usize {
    const HUNDREDS: usize = 300;
    // How deep the lower rank lies, by Blom's scores: the deeper, the narrower is the interval.
    static DEPTHS: LazyLock<Vec<f64>> = LazyLock::new(|| {
        let rank = |n| median_ranks(n, 0.05).map_or(0.0, |median_ranks| median_ranks.0 as f64);
        (0..=HUNDREDS).map(|n| (rank(n) - 0.375) / (n as f64 + 0.25)).collect()
    });
    let known = (least..=most).filter(|_| most <= HUNDREDS);
    known.max_by(|a, b| DEPTHS[*a].total_cmp(&DEPTHS[*b]).then(b.cmp(a))).unwrap_or(most.max(least))
}

/// How many launches have an interval of the median that is at most ± `asked` of it, where the logarithms of launches
/// scatter like these: of a normal distribution a median's standard error is 1.2533 times that of the mean. So few values
/// tell the scatter within a factor, so that half as much again and more is counted: four of five such plans reach it.
/// `None` of fewer than three values.
pub fn launches_needed(logs: &[f64], asked: f64) -> Option<f64> {
    // The standard deviation over that of the fifth smallest in a hundred of as many values: chi-squared, 3 degrees of freedom.
    const ASSURED: f64 = 1.728;
    let n = logs.len() as f64;
    if logs.len() < 3 || logs.iter().any(|log| !log.is_finite()) {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    Some((1.96 * 1.2533 * ASSURED / asked).powi(2) * variance)
}

/// P(B ≤ `k`) for B binomial with `n` fair tosses.
fn fair_tail(n: usize, k: usize) -> f64 {
    let mut tail = FairTail::new(n);
    (0..=k).fold(0.0, |_, _| tail.next())
}

/// Whether more than half of all launches do what `yes` of `n` did, with an error of `alpha` at most: the sign
/// test of one side. Where the median of values is asked it is the same as whether the order statistic that bounds it with
/// that error keeps to one side. Six of six are enough for 2.5 %, ten of twelve, sixteen of twenty-two.
pub fn surely_most(yes: usize, n: usize, alpha: f64) -> bool {
    n > 0 && yes <= n && fair_tail(n, n - yes) <= alpha
}

/// The exact two-sided sign test of "the median of the differences is zero". It agrees with [`median_interval`]: p is at
/// most `alpha` where, and only where, the interval at `1 - alpha` excludes zero. So differences of zero stand against
/// either side.
///
/// No differences, or only zeros, give p = 1. Panics on NaN.
pub fn sign_test(differences: &[f64]) -> f64 {
    assert!(!differences.iter().any(|difference| difference.is_nan()), "sign test of NaN");
    let of = |with: fn(&&f64) -> bool| differences.iter().filter(with).count();
    let most = of(|value| **value > 0.0).max(of(|value| **value < 0.0));
    (2.0 * fair_tail(differences.len(), differences.len() - most)).min(1.0)
}

/// P(B ≤ 0), P(B ≤ 1), … for B binomial with `n` fair tosses.
struct FairTail {
    n: usize,
    k: usize,
    /// P(B = k) and P(B < k), both times 2^`scale`; 2⁻ⁿ itself may be below the range of f64.
    term: f64,
    sum: f64,
    scale: i32,
}

impl FairTail {
    const STEP: i32 = 512;

    fn new(n: usize) -> Self {
        let n_bits = i32::try_from(n).expect("fewer than 2^31 values");
        FairTail { n, k: 0, term: 1.0, sum: 0.0, scale: n_bits }
    }

    fn next(&mut self) -> f64 {
        self.sum += self.term;
        self.term *= (self.n - self.k) as f64 / (self.k + 1) as f64;
        self.k += 1;
        let step = 2f64.powi(Self::STEP);
        while self.term > step && self.scale >= Self::STEP {
            self.term /= step;
            self.sum /= step;
            self.scale -= Self::STEP;
        }
        // In two halves, as 2^-scale may be below the range; beyond 2000 the product is 0 anyway.
        let scale = self.scale.min(2000);
        self.sum * 2f64.powi(-(scale / 2)) * 2f64.powi(-(scale - scale / 2))
    }
}

/// The median of `values` (in any order) with its order-statistic interval at `1 - alpha`.
///
/// `None` when there are too few values for that coverage, or one is NaN.
pub fn median_interval(values: &[f64], alpha: f64) -> Option<Interval> {
    let (low, high, coverage) = median_ranks(values.len(), alpha)?;
    between_ranks(values, low, high, coverage)
}

/// The interval between two ranks, counted from 1, around the median of `values`.
pub(super) fn between_ranks(
    values: &[f64],
    low: usize,
    high: usize,
    coverage: f64,
) -> Option<Interval> {
    if values.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    Some(Interval {
        estimate: median(&sorted),
        low: sorted[low - 1],
        high: sorted[high - 1],
        coverage,
    })
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    #[test]
    fn twelve_values_take_ranks_three_and_ten() {
        let (low, high, coverage) = median_ranks(12, 0.05).unwrap();
        assert_eq!((low, high), (3, 10));
        assert_eq!(coverage, 1.0 - 2.0 * 79.0 / 4096.0);
    }

    #[test]
    fn eleven_values_are_needlessly_wide() {
        let (low, high, coverage) = median_ranks(11, 0.05).unwrap();
        assert_eq!((low, high), (2, 10));
        assert!((coverage - 0.98828125).abs() < 1e-15);
    }

    #[test]
    fn fewer_than_six_values_have_no_interval() {
        for n in 0..6 {
            assert_eq!(median_ranks(n, 0.05), None, "n = {n}");
        }
        assert_eq!(median_ranks(6, 0.05), Some((1, 6, 0.96875)));
        assert_eq!(median_ranks(6, 0.03125), Some((1, 6, 0.96875)));
        assert_eq!(median_ranks(6, 0.03), None);
    }

    #[test]
    fn of_the_numbers_that_fit_the_narrowest_is_taken() {
        let found: Vec<usize> =
            [12, 13, 14, 15, 16, 17, 22, 30].map(|most| narrowest(12, most)).into();
        assert_eq!(found, [12, 12, 12, 15, 15, 17, 20, 30]);
        assert_eq!((narrowest(0, 5), narrowest(40, 30)), (5, 40));
    }

    #[test]
    fn launches_needed_grow_with_the_variance_and_the_square_of_the_precision() {
        let logs = [0.1, -0.1, 0.1, -0.1];
        let needed = launches_needed(&logs, 0.05).unwrap();
        assert!((95.0..97.0).contains(&needed), "{needed}");
        assert!((launches_needed(&logs, 0.025).unwrap() / needed - 4.0).abs() < 1e-9);
        assert_eq!(launches_needed(&logs[..2], 0.05), None);
    }

    #[test]
    fn most_are_sure_from_six_of_six_on() {
        let sure = |yes, n| surely_most(yes, n, 0.025);
        assert!(sure(6, 6) && !sure(5, 5) && !sure(5, 6) && !sure(0, 0));
        assert!(sure(10, 12) && !sure(9, 12));
        for n in 6..60 {
            // The order statistic that bounds the median from above has the rank of the two-sided interval.
            let (_, high, _) = median_ranks(n, 0.05).unwrap();
            assert!(sure(high, n) && !sure(high - 1, n), "{n}");
        }
    }

    #[test]
    fn the_sign_test_and_the_interval_agree() {
        let mut draw = Draw::seeded(8);
        let mut found = 0;
        for _ in 0..2_000 {
            let n = 5 + (40.0 * draw.uniform()) as usize;
            // Coarse, so that some are zero.
            let values = draw.many(n, |draw| (2.0 * draw.normal() + 1.6).round());
            let excludes = median_interval(&values, 0.05).is_some_and(|median_interval| {
                median_interval.low > 0.0 || median_interval.high < 0.0
            });
            assert_eq!(sign_test(&values) <= 0.05, excludes, "{values:?}");
            found += usize::from(excludes);
        }
        assert!((500..1_800).contains(&found), "{found}");
        assert_eq!([sign_test(&[]), sign_test(&[0.0, -0.0]), sign_test(&[-1.0])], [1.0; 3]);
        assert_eq!(sign_test(&[3.0; 12]), 2.0 / 4096.0);
    }

    #[test]
    fn ranks_never_cross() {
        for n in 1..50 {
            let (low, high, coverage) = median_ranks(n, 1.0).unwrap();
            assert!(low <= high && coverage >= 0.0, "n = {n}: {low}, {high}, {coverage}");
        }
    }

    #[test]
    fn median_interval_takes_any_order() {
        let values = [12., 1., 11., 2., 10., 3., 9., 4., 8., 5., 7., 6.];
        let interval = median_interval(&values, 0.05).unwrap();
        assert_eq!((interval.estimate, interval.low, interval.high), (6.5, 3.0, 10.0));
    }

    #[test]
    fn nan_has_no_interval_and_ties_have_a_point() {
        let mut values = [7.0; 12];
        let interval = median_interval(&values, 0.05).unwrap();
        assert_eq!((interval.estimate, interval.low, interval.high), (7.0, 7.0, 7.0));
        values[5] = f64::NAN;
        assert_eq!(median_interval(&values, 0.05), None);
    }
}
