//! Ratios of medians, where two cases may differ in shape.
//!
//! The signed-rank test asks whether paired differences are symmetric about zero. Where two cases differ in
//! shape (one is skewed, or has two modes) they aren't, although the medians be equal, and it
//! rejects far too often. So a difference is claimed only where the medians differ too: by the interval of
//! the difference of two medians that their own order-statistic intervals give (Donner and Zou 2012, "Closed-form
//! confidence intervals for functions of the normal mean and standard deviation"; the method of variance
//! estimates recovery needs no shape). Where either case has two modes its median may jump from one to the
//! other, and only intervals that don't overlap count.

use std::cmp::Ordering;

use super::interval::{Interval, median_interval};
use super::modes::two_modes;
use super::signed_rank::{hodges_lehmann, signed_rank};

/// The level of the test of medians. It is not corrected over a family: it guards against shapes, and the
/// signed-rank test beside it is corrected.
const MEDIANS_ALPHA: f64 = 0.05;

/// The difference of the medians of the logarithms of positive values, at 95 %. `None` where there are too few
/// for an interval of either.
pub fn median_ratio(a: &[f64], b: &[f64]) -> Option<Interval> {
    let logs = |values: &[f64]| -> Vec<f64> { values.iter().map(|x| x.ln()).collect() };
    let (x, y) = (logs(a), logs(b));
    let (of_x, of_y) = (median_interval(&x, MEDIANS_ALPHA)?, median_interval(&y, MEDIANS_ALPHA)?);
    let estimate = of_x.estimate - of_y.estimate;
    let jumps = two_modes(a).is_some() || two_modes(b).is_some();
    let arm = |x: f64, y: f64| if jumps { x + y } else { x.hypot(y) };
    Some(Interval {
        estimate,
        low: estimate - arm(of_x.estimate - of_x.low, of_y.high - of_y.estimate),
        high: estimate + arm(of_x.high - of_x.estimate, of_y.estimate - of_y.low),
        coverage: 1.0 - MEDIANS_ALPHA,
    })
}

/// The log ratio of two cases over their common rounds, at `1 - alpha` where their shapes are alike, and never
/// narrower than the medians allow: what it excludes neither test allows. The estimate is Hodges and Lehmann's
/// where it lies in the interval of the medians, else the medians' own.
///
/// `None` when the lengths differ, there are too few pairs, or a value is not positive and finite.
pub fn paired_log_ratio(a: &[f64], b: &[f64], alpha: f64) -> Option<Interval> {
    let measured = |x: &f64| x.is_finite() && *x > 0.0;
    if a.len() != b.len() || !a.iter().chain(b).all(measured) {
        return None;
    }
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    let (shift, medians) = (hodges_lehmann(&logs, alpha)?, median_ratio(a, b)?);
    let agree = medians.low <= shift.estimate && shift.estimate <= medians.high;
    Some(Interval {
        estimate: if agree { shift.estimate } else { medians.estimate },
        low: shift.low.min(medians.low),
        high: shift.high.max(medians.high),
        coverage: shift.coverage,
    })
}

/// How each case stands to the best of its group, with one error for all that is said of the group.
#[derive(Clone, Debug, PartialEq)]
pub struct AgainstBest {
    /// Whether no other case is shown to beat it.
    pub may_be_best: bool,
    /// By how much it is slower than the best at most: 0.08 is 8 %. `None` where it has too few rounds in common
    /// with what may be the best.
    pub slower_at_most: Option<f64>,
}

/// Hsu's multiple comparisons with the best (less is better), on log ratios paired by index (round).
///
/// For each pair there is an upper bound of "how much slower is this than that" at `alpha` over the number of
/// rivals, one-sided ([`paired_log_ratio`]). A case may be the best unless such a bound shows another one
/// to beat it; and it is slower than the best by no more than its largest bound over all that may be.
///
/// Guarantee: with probability at least `1 - alpha` *both* hold for *all* cases at once. If each case's bound
/// against the truly best one holds (as many as there are rivals, Bonferroni), no case is shown to beat the
/// best one, so that it is in the set; and the largest bound over the set is at least the one against it. Hsu
/// (1984), "Constrained simultaneous confidence intervals for multiple comparisons with the best"; the argument needs no
/// shape of the distributions.
///
/// `columns` holds one case each; what is `None`, or not positive and finite, is missing and drops its round from that
/// case's pairs. A case with no value at all is never the best.
pub fn against_best(columns: &[&[Option<f64>]], alpha: f64) -> Vec<AgainstBest> {
    let values = |column: &[Option<f64>]| -> Vec<Option<f64>> {
        column.iter().map(|x| x.filter(|x| x.is_finite() && *x > 0.0)).collect()
    };
    let columns: Vec<Vec<Option<f64>>> = columns.iter().map(|column| values(column)).collect();
    let measured: Vec<bool> = columns.iter().map(|it| it.iter().any(Option::is_some)).collect();
    let rivals = measured.iter().filter(|it| **it).count().saturating_sub(1).max(1);
    // Two-sided intervals at twice the error of one side.
    let two_sided = 2.0 * alpha / rivals as f64;
    let bounds: Vec<Vec<Option<Interval>>> = columns
        .iter()
        .map(|a| {
            let against = |b: &Vec<Option<f64>>| {
                let pairs = a.iter().zip(b).filter_map(|(a, b)| (*a).zip(*b));
                let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
                paired_log_ratio(&a, &b, two_sided)
            };
            columns.iter().map(against).collect()
        })
        .collect();
    let beaten = |at: usize| {
        let mut others = bounds[at].iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, bound)| bound.is_some_and(|it| it.low > 0.0))
    };
    let may_be_best: Vec<bool> = (0..columns.len()).map(|at| measured[at] && !beaten(at)).collect();
    let slower = |at: usize| {
        let rivals = (0..columns.len()).filter(|other| *other != at && may_be_best[*other]);
        let mut largest = rivals.map(|other| bounds[at][other].map(|it| it.high));
        let largest = largest.try_fold(0.0, |largest: f64, it| it.map(|it| largest.max(it)));
        largest.filter(|_| measured[at]).map(f64::exp_m1)
    };
    let of = |at| AgainstBest { may_be_best: may_be_best[at], slower_at_most: slower(at) };
    (0..columns.len()).map(of).collect()
}

/// How one case stands to another that was named beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgainstReference {
    /// First over second, at `1 - alpha` for all of the family together.
    pub ratio: Interval,
    /// Two-sided signed-rank p, before any correction; 1 where the medians don't differ.
    pub p: f64,
    /// Whether it is shown to be within the margin: two one-sided tests at `alpha` over the family.
    pub equivalent: bool,
}

/// One of `family` comparisons with a reference. `None` as of [`paired_log_ratio`].
pub fn against_reference(
    a: &[f64],
    b: &[f64],
    (family, margin, alpha): (usize, f64, f64),
) -> Option<AgainstReference> {
    let each = alpha / family.max(1) as f64;
    let log = paired_log_ratio(a, b, each)?;
    let narrow = paired_log_ratio(a, b, 2.0 * each)?;
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    let (test, medians) = (signed_rank(&logs), median_ratio(a, b)?);
    let differ = match test.direction {
        Ordering::Less => medians.high < 0.0,
        Ordering::Equal => false,
        Ordering::Greater => medians.low > 0.0,
    };
    let margin = f64::ln_1p(margin);
    Some(AgainstReference {
        ratio: Interval {
            estimate: log.estimate.exp(),
            low: log.low.exp(),
            high: log.high.exp(),
            coverage: 1.0 - alpha,
        },
        p: if differ { test.p } else { 1.0 },
        equivalent: -margin < narrow.low && narrow.high < margin,
    })
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    fn column(center: f64, spread: f64) -> Vec<Option<f64>> {
        (0..12).map(|nth| Some(center * (1.0 + spread * f64::from(nth * 7 % 12 - 6)))).collect()
    }

    #[test]
    fn what_is_beaten_leaves_the_set_and_is_slower_by_a_bounded_share() {
        let (fast, near, slow) = (column(100.0, 0.001), column(100.1, 0.001), column(150.0, 0.001));
        let absent = vec![None; 12];
        let found = against_best(&[&slow, &fast, &near, &absent], 0.05);
        let best: Vec<bool> = found.iter().map(|it| it.may_be_best).collect();
        assert_eq!(best, [false, true, true, false]);
        let bound = found[0].slower_at_most.unwrap();
        assert!((0.5..0.53).contains(&bound), "{bound}");
        assert!(found[1].slower_at_most.unwrap() < 0.02, "{found:?}");
        assert_eq!(found[3].slower_at_most, None);
        // Four common rounds exclude nothing, and bound nothing.
        let mut rare = slow.clone();
        rare[4..].fill(None);
        let found = against_best(&[&fast, &rare], 0.05);
        assert!(found.iter().all(|it| it.may_be_best && it.slower_at_most.is_none()), "{found:?}");
        // Whoever is alone is the best.
        assert_eq!(against_best(&[&fast], 0.05)[0].slower_at_most, Some(0.0));
        assert!(against_best(&[], 0.05).is_empty());
    }

    #[test]
    fn of_two_modes_only_intervals_apart_differ() {
        // Seven of twelve in the lower mode: another launch, and the median is elsewhere.
        let modes: Vec<f64> =
            (0..12).map(|nth| if nth < 7 { 100.0 } else { 300.0 } + f64::from(nth)).collect();
        let other: Vec<f64> = (0..12).map(|nth| 110.0 + f64::from(nth)).collect();
        let found = median_ratio(&modes, &other).unwrap();
        assert!(found.low < 0.0 && found.high > 1.0, "{found:?}");
    }

    #[test]
    fn the_estimate_lies_in_the_interval() {
        let mut draw = Draw::seeded(9);
        for _ in 0..200 {
            let a = draw.many(12, |draw| draw.bimodal(0.4, 0.02));
            let b = draw.many(12, |draw| 100.0 + draw.exponential());
            let found = paired_log_ratio(&a, &b, 0.005).unwrap();
            assert!(found.low <= found.estimate && found.estimate <= found.high, "{found:?}");
        }
        assert_eq!(paired_log_ratio(&[1.0; 12], &[1.0; 11], 0.05), None);
        assert_eq!(paired_log_ratio(&[0.0; 12], &[1.0; 12], 0.05), None);
        assert_eq!(paired_log_ratio(&[1.0; 5], &[1.0; 5], 0.05), None);
    }
}
