//! Comparisons of cases that were measured in the same rounds: ratios with intervals,
//! verdicts, families of claims, and the set of cases that may still be the best.
//!
//! Ratios are compared on the log scale, paired by round, because what disturbs a round
//! multiplies all its launches alike. "Not different" is never "the same": equivalence is a
//! claim of its own, with a margin that was stated before.

use std::cmp::Ordering;

use super::interval::Interval;
use super::medians::{Medians, against_best, paired_log_ratio, paired_p};
use super::signed_rank::{hodges_lehmann, sign_test, signed_rank};

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
    /// First over second: [`paired_log_ratio`], back from the log scale.
    pub ratio: Interval,
    /// Two-sided exact signed-rank p of "no difference", before any correction; 1 where the medians don't
    /// differ.
    pub p: f64,
    /// Two-sided exact sign-test p, which needs no symmetry.
    pub p_sign: f64,
    /// Pairs compared.
    pub pairs: usize,
}

/// Compares two cases paired by index (round): the ratio `a / b` with its interval at
/// `1 - alpha`.
///
/// `None` when the lengths differ, there are too few pairs for an interval (fewer than 6 at
/// 5 %), or a value is not positive and finite.
pub fn compare_paired(a: &[f64], b: &[f64], alpha: f64) -> Option<Comparison> {
    let log = paired_log_ratio(a, b, alpha)?;
    let log_ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    Some(Comparison {
        ratio: log.exp(),
        p: paired_p(a, b)?,
        p_sign: sign_test(&log_ratios),
        pairs: log_ratios.len(),
    })
}

/// The difference of two cases over their common rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// First less second, in the units of the values: the Hodges–Lehmann estimate of the paired
    /// differences, and its interval as far as the medians allow it.
    pub shift: Interval,
    /// Two-sided exact signed-rank p of "no difference", before any correction; 1 where the medians don't
    /// differ.
    pub p: f64,
    /// Pairs compared.
    pub pairs: usize,
}

/// As [`compare_paired`], of the difference `a - b`: what is added, where that is asked, as of a
/// price that is paid once for each operation, however long it takes.
///
/// `None` when the lengths differ, there are too few pairs for an interval, or a value is not
/// finite.
pub fn shift_paired(a: &[f64], b: &[f64], alpha: f64) -> Option<Difference> {
    if a.len() != b.len() {
        return None;
    }
    let differences: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - b).collect();
    let shift = hodges_lehmann(&differences, alpha)?;
    let test = signed_rank(&differences);
    let medians = Medians::difference(a, b)?;
    Some(Difference {
        shift: medians.widen(shift),
        p: medians.allow(test.p, test.direction),
        pairs: differences.len(),
    })
}

/// Whether the ratio is shown to be within `1 / (1 + delta)` .. `1 + delta`: two one-sided
/// tests at `alpha` each, which is the `1 - 2 alpha` interval lying inside (Schuirmann 1987;
/// with ranks, Wellek, "Testing Statistical Hypotheses of Equivalence and Noninferiority",
/// 5.4).
///
/// `a` and `b` are paired by index; `delta` is a relative difference (0.02 is 2 %). False when they are too few,
/// or one is not positive and finite.
pub fn equivalent((a, b): (&[f64], &[f64]), delta: f64, alpha: f64) -> bool {
    paired_log_ratio(a, b, 2.0 * alpha).is_some_and(|it| is_within(&it, delta))
}

/// The verdict on two cases paired by index, of a quantity of which less is better.
///
/// `p` is that of [`paired_p`] after the correction for its family ([`holm`]); `delta` the
/// smallest relative difference that matters, stated before. A difference that is real but
/// inside the margin is `Equivalent`.
pub fn verdict((a, b): (&[f64], &[f64]), p: f64, delta: f64, alpha: f64) -> Verdict {
    let log = |alpha| paired_log_ratio(a, b, alpha);
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
    if narrow.is_some_and(|it| is_within(&it, delta)) {
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

/// The cases that may still be the best (less is better), by [`against_best`].
pub fn best_set(columns: &[&[Option<f64>]], alpha: f64) -> Vec<bool> {
    against_best(columns, alpha).iter().map(|it| it.may_be_best).collect()
}

/// The smallest number of pairs with which a family of `family` signed-rank tests can find
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
    use super::super::draw::Draw;
    use super::*;

    /// `n` log ratios around `ln(center)`, alternating by `spread`, all different.
    fn around(center: f64, spread: f64, n: u32) -> Vec<f64> {
        let offset = |i: u32| f64::from(2 * i + 1) / f64::from(n) - 1.0;
        (0..n).map(|i| center.ln() + spread * offset(i)).collect()
    }

    /// Two sides that have these log ratios.
    fn sides(log_ratios: &[f64]) -> (Vec<f64>, Vec<f64>) {
        (log_ratios.iter().map(|it| it.exp()).collect(), vec![1.0; log_ratios.len()])
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
        assert_eq!((comparison.p, comparison.p_sign), (2.0 / 4096.0, 2.0 / 4096.0));
        assert_eq!(comparison.pairs, 12);
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
    fn a_difference_is_first_less_second() {
        let b: Vec<f64> = (1..=12).map(f64::from).collect();
        let a: Vec<f64> = b.iter().map(|x| x + 7.0).collect();
        let found = shift_paired(&a, &b, 0.05).unwrap();
        assert_eq!((found.shift.estimate, found.p, found.pairs), (7.0, 2.0 / 4096.0, 12));
        assert_eq!(shift_paired(&a, &b[..11], 0.05), None);
        assert_eq!(shift_paired(&a[..5], &b[..5], 0.05), None);
        assert_eq!(shift_paired(&[f64::NAN; 12], &b, 0.05), None);
    }

    #[test]
    fn verdicts() {
        let of = |ratios: &[f64]| {
            let (a, b) = sides(ratios);
            verdict((&a, &b), paired_p(&a, &b).unwrap_or(1.0), 0.02, 0.05)
        };
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
        let (a, b) = sides(&around(0.9, 0.05, 12));
        assert!(matches!(verdict((&a, &b), 0.2, 0.02, 0.05), Verdict::Inconclusive { .. }));
    }

    #[test]
    fn equivalence_margin_is_symmetric_on_the_log_scale() {
        let edge = |center: f64| equivalent((&[center; 12], &[1.0; 12]), 0.02, 0.05);
        assert!(edge(1.0199) && edge(1.0 / 1.0199));
        assert!(!edge(1.0201) && !edge(1.0 / 1.0201));
        assert!(!equivalent((&[f64::NAN; 12], &[1.0; 12]), 0.02, 0.05));
    }

    #[test]
    fn equivalence_is_two_tests_of_one_side_each() {
        // A margin between the ends of the 90 % and the 95 % interval.
        let (a, b) = sides(&around(1.0, 0.05, 12));
        // An interval that the medians don't widen: at an error below theirs.
        let end = |alpha| paired_log_ratio(&a, &b, alpha).unwrap().high.exp_m1();
        let (narrow, wide) = (0.004, 0.001);
        assert!(end(narrow) < end(wide));
        let margin = (end(narrow) + end(wide)) / 2.0;
        let tested = |alpha| equivalent((&a, &b), margin, alpha);
        assert!(tested(narrow / 2.0) && !tested(wide / 2.0));
    }

    #[test]
    fn the_best_set_drops_only_what_is_beaten() {
        let rounds = 0..12;
        let base: Vec<_> = rounds.clone().map(|i| Some(100.0 + f64::from(i))).collect();
        let near: Vec<_> =
            rounds.clone().map(|i| Some(100.0 + f64::from(i) + f64::from(i % 2) - 0.5)).collect();
        let slow: Vec<_> = rounds.map(|i| Some(150.0 + f64::from(i))).collect();
        let absent = vec![None; 12];
        let best = best_set(&[&slow, &base, &near, &absent], 0.05);
        assert_eq!(best, [false, true, true, false]);

        // Four common rounds can't exclude anything.
        let mut rare = slow.clone();
        rare[4..].fill(None);
        assert_eq!(best_set(&[&base, &rare], 0.05), [true, true]);
        assert_eq!(best_set(&[&base], 0.05), [true]);
        assert!(best_set(&[], 0.05).is_empty());
    }

    #[test]
    fn the_true_best_stays_as_often_as_promised_and_others_go() {
        let mut draw = Draw::seeded(5);
        let (draws, mut kept, mut alone) = (200, 0, 0);
        for _ in 0..draws {
            // Fifteen equal cases: whichever is called the best has to stay.
            let equal: Vec<Vec<_>> =
                (0..15).map(|_| draw.many(20, |d| Some((0.1 * d.normal()).exp()))).collect();
            let columns: Vec<&[_]> = equal.iter().map(Vec::as_slice).collect();
            kept += i32::from(best_set(&columns, 0.05)[0]);

            // One of 25 that is 5 % better, seen in 12 rounds with a spread of 1 %.
            let one = |nth: usize, draw: &mut Draw| {
                let center = if nth == 7 { 1.0 } else { 1.05 };
                draw.many(12, |d| Some(center * (0.01 * d.normal()).exp()))
            };
            let other: Vec<Vec<_>> = (0..25).map(|nth| one(nth, &mut draw)).collect();
            let columns: Vec<&[_]> = other.iter().map(Vec::as_slice).collect();
            let best = best_set(&columns, 0.05);
            alone += i32::from(best[7] && best.iter().filter(|it| **it).count() == 1);
        }
        // 190 of 200 are promised; three standard deviations below are 181.
        assert!(kept >= 181, "{kept} of {draws} kept the best");
        assert!(alone >= 190, "{alone} of {draws} found the one that is better");
    }
}
