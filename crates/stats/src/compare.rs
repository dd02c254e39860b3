//! Comparisons of cases that were measured in the same rounds: ratios with intervals,
//! verdicts, and families of claims.
//!
//! A comparison is made of one number for each round, the log ratio of the two, because what disturbs a round
//! multiplies all its launches alike. Estimate, interval, p and equivalence are all of the median of these numbers, by
//! order statistics. "Not different" is never "the same": equivalence is a
//! claim of its own, with a margin that was stated before.

use std::cmp::Ordering;

use super::interval::{Interval, median_interval, median_ranks, sign_test};

/// Times the longer arm of a ratio's interval: a difference of one arm is missed every other time, one of 1.4 in one of
/// five (2.8 standard errors over 1.96).
const SEEN: f64 = 1.4;

/// What a comparison says about a quantity of which less is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The first case takes less.
    Faster,
    /// The first case takes more.
    Slower,
    /// The ratio is within the stated margin of 1.
    Equivalent,
    /// Neither could be shown.
    Inconclusive {
        /// The smallest relative difference that so many pairs show four times in five (0.08 is 8 %). Infinite with too
        /// few pairs for an interval.
        smallest_effect: f64,
    },
}

/// The ratio of two cases over their common rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// First over second: the median over rounds, between order statistics.
    pub ratio: Interval,
    /// The ranks of its ends among the ratios sorted, counted from 1.
    pub ranks: (usize, usize),
    /// Exact p of "the median ratio is 1" by the sign test, before any correction. It is at most `alpha` where the
    /// interval excludes 1, and nowhere else.
    pub p: f64,
    /// Rounds compared.
    pub pairs: usize,
}

/// The log of `a` over `b`; None unless both are positive and finite.
pub fn log_ratio(a: f64, b: f64) -> Option<f64> {
    let measured = |x: f64| x.is_finite() && x > 0.0;
    (measured(a) && measured(b)).then(|| (a / b).ln())
}

/// What the log ratios of two cases, one for each round, say of their ratio, with its interval at `1 - alpha`.
///
/// What is estimated is the middle of the ratios within rounds. Whatever their shape it is covered exactly as often as
/// the interval says. Where two cases differ in shape it is not the ratio of their medians.
///
/// `None` where there are too few rounds for an interval (fewer than 6 at 5 %), or a value is not finite.
pub fn compare(log_ratios: &[f64], alpha: f64) -> Option<Comparison> {
    let log = interval(log_ratios, alpha)?;
    let (low, high, _) = median_ranks(log_ratios.len(), alpha)?;
    Some(Comparison {
        ratio: log.exp(),
        ranks: (low, high),
        p: sign_test(log_ratios),
        pairs: log_ratios.len(),
    })
}

/// As [`compare`], of times that are paired by index: `a / b`. `None` too where the lengths differ, or a value is not
/// positive and finite.
pub fn compare_paired(a: &[f64], b: &[f64], alpha: f64) -> Option<Comparison> {
    let log_ratios: Option<Vec<f64>> = a.iter().zip(b).map(|(a, b)| log_ratio(*a, *b)).collect();
    compare(&log_ratios.filter(|_| a.len() == b.len())?, alpha)
}

fn interval(log_ratios: &[f64], alpha: f64) -> Option<Interval> {
    let finite = log_ratios.iter().all(|log_ratio| log_ratio.is_finite());
    finite.then(|| median_interval(log_ratios, alpha))?
}

/// Whether the ratio is shown to be within `1 / (1 + delta)` .. `1 + delta`: two one-sided
/// tests at `alpha` each, which is the `1 - 2 alpha` interval lying inside (Schuirmann 1987;
/// with ranks, Wellek, "Testing Statistical Hypotheses of Equivalence and Noninferiority",
/// 5.4).
///
/// `delta` is a relative difference (0.02 is 2 %). False where there is no interval.
pub fn equivalent(log_ratios: &[f64], delta: f64, alpha: f64) -> bool {
    interval(log_ratios, 2.0 * alpha).is_some_and(|interval| is_within(&interval, delta))
}

/// The verdict on two cases by their log ratios, of a quantity of which less is better.
///
/// `p` is that of [`compare`] after the correction for its family ([`holm`]); `delta` the
/// smallest relative difference that matters, stated before. A difference that is real but
/// inside the margin is `Equivalent`.
pub fn verdict(log_ratios: &[f64], p: f64, delta: f64, alpha: f64) -> Verdict {
    let log = |alpha| interval(log_ratios, alpha);
    decide(log(alpha), log(2.0 * alpha), p, delta, alpha)
}

/// The verdict by two intervals of a log ratio: the `narrow` one, at `1 - 2 alpha`, decides on
/// equivalence, the `wide` one, at `1 - alpha`, tells what could have been seen.
pub(super) fn decide(
    wide: Option<Interval>,
    narrow: Option<Interval>,
    p: f64,
    delta: f64,
    alpha: f64,
) -> Verdict {
    if narrow.is_some_and(|interval| is_within(&interval, delta)) {
        return Verdict::Equivalent;
    }
    let Some(log) = wide else {
        return Verdict::Inconclusive { smallest_effect: f64::INFINITY };
    };
    let longer_arm = (log.high - log.estimate).max(log.estimate - log.low);
    match log.estimate.total_cmp(&0.0) {
        Ordering::Less if p < alpha => Verdict::Faster,
        Ordering::Greater if p < alpha => Verdict::Slower,
        _ => Verdict::Inconclusive { smallest_effect: (SEEN * longer_arm).exp_m1() },
    }
}

/// Whether an interval of a log ratio lies inside the margin.
fn is_within(log: &Interval, delta: f64) -> bool {
    let margin = delta.ln_1p();
    -margin < log.low && log.high < margin
}

/// Holm's adjusted p of each claim of a family, in the order given: all claims whose
/// adjusted p is below alpha hold together with probability at least 1 − alpha, however they
/// depend on each other. Holm (1979), "A simple sequentially rejective multiple test
/// procedure".
///
/// Panics on NaN.
pub fn holm(p: &[f64]) -> Vec<f64> {
    assert!(!p.iter().any(|p| p.is_nan()), "Holm's correction of NaN");
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut adjusted = vec![0.0; p.len()];
    let mut largest: f64 = 0.0;
    for (done, i) in order.into_iter().enumerate() {
        largest = largest.max((p.len() - done) as f64 * p[i]).min(1.0);
        adjusted[i] = largest;
    }
    adjusted
}

/// The smallest number of pairs with which a family of `family` sign tests can find
/// anything: the smallest two-sided p of n pairs, 2¹⁻ⁿ, times the family, is below `alpha`.
/// (12 pairs, p 0.00049, are enough for 102 tests at 5 %, not for 103.)
///
/// Panics unless `alpha` is positive.
pub fn smallest_holm_n(family: usize, alpha: f64) -> usize {
    assert!(alpha > 0.0, "alpha = {alpha}");
    let mut n = 1;
    let mut smallest = family as f64;
    while smallest >= alpha {
        n += 1;
        smallest /= 2.0;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `n` log ratios around `ln(center)`, alternating by `spread`, all different.
    fn around(center: f64, spread: f64, n: u32) -> Vec<f64> {
        let offset = |i: u32| f64::from(2 * i + 1) / f64::from(n) - 1.0;
        (0..n).map(|i| center.ln() + spread * offset(i)).collect()
    }

    #[test]
    fn holm_is_monotone_in_the_given_order() {
        assert!(holm(&[]).is_empty());
        assert_eq!(holm(&[0.04]), [0.04]);
        assert_eq!(holm(&[0.5, 0.01, 0.03, 0.02]), [0.5, 0.04, 0.06, 0.06]);
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn families_and_pairs() {
        assert_eq!(smallest_holm_n(0, 0.05), 1);
        assert_eq!(smallest_holm_n(1, 0.05), 6);
        assert_eq!(smallest_holm_n(102, 0.05), 12);
        assert_eq!(smallest_holm_n(103, 0.05), 13);
    }

    #[test]
    fn a_ratio_is_first_over_second() {
        let b: Vec<f64> = (1..=12).map(f64::from).collect();
        let a: Vec<f64> = b.iter().map(|x| 2.0 * x).collect();
        let comparison = compare_paired(&a, &b, 0.05).unwrap();
        assert!((comparison.ratio.estimate - 2.0).abs() < 1e-12);
        assert_eq!((comparison.p, comparison.pairs), (2.0 / 4096.0, 12));
        let ranks = comparison.ranks;
        assert_eq!((ranks, comparison.ratio.coverage), ((3, 10), 1.0 - 2.0 * 79.0 / 4096.0));
    }

    #[test]
    fn a_ratio_wants_pairs_of_positive_values() {
        let good = [1.0; 12];
        let mut bad = good;
        assert_eq!(compare_paired(&good, &good[..11], 0.05), None);
        assert_eq!(compare_paired(&good[..5], &good[..5], 0.05), None);
        for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            bad[3] = x;
            assert_eq!(compare_paired(&good, &bad, 0.05), None);
        }
        assert_eq!(compare_paired(&good, &good, 0.05).unwrap().p, 1.0);
    }

    #[test]
    fn verdicts() {
        let of = |logs: &[f64]| verdict(logs, sign_test(logs), 0.02, 0.05);
        assert_eq!(of(&around(0.9, 0.05, 12)), Verdict::Faster);
        assert_eq!(of(&around(1.1, 0.05, 12)), Verdict::Slower);
        assert_eq!(of(&around(1.0, 0.015, 12)), Verdict::Equivalent);
        // Real, and too small to matter.
        assert_eq!(of(&around(1.01, 0.005, 12)), Verdict::Equivalent);
        let Verdict::Inconclusive { smallest_effect } = of(&around(1.0, 0.2, 12)) else {
            panic!("twenty percent of noise decided something");
        };
        assert!((0.05..0.2).contains(&smallest_effect), "{smallest_effect}");
        assert_eq!(of(&[0.0; 4]), Verdict::Inconclusive { smallest_effect: f64::INFINITY });
    }

    #[test]
    fn a_family_can_take_a_verdict_back() {
        let logs = around(0.9, 0.05, 12);
        assert!(matches!(verdict(&logs, 0.2, 0.02, 0.05), Verdict::Inconclusive { .. }));
    }

    #[test]
    fn equivalence_margin_is_symmetric_on_the_log_scale() {
        let edge = |center: f64| equivalent(&[f64::ln(center); 12], 0.02, 0.05);
        assert!(edge(1.0199) && edge(1.0 / 1.0199));
        assert!(!edge(1.0201) && !edge(1.0 / 1.0201));
        assert!(!equivalent(&[f64::NAN; 12], 0.02, 0.05));
    }

    #[test]
    fn equivalence_is_two_tests_of_one_side_each() {
        // A margin between the ends of the 90 % and the 95 % interval.
        let logs = around(1.0, 0.05, 30);
        let end = |alpha| interval(&logs, alpha).unwrap().high.exp_m1();
        assert!(end(0.1) < end(0.05));
        let margin = (end(0.1) + end(0.05)) / 2.0;
        let tested = |alpha| equivalent(&logs, margin, alpha);
        assert!(tested(0.05) && !tested(0.025));
    }
}
