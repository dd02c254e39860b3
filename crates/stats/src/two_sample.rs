//! Two samples that are not paired: the launches of two runs, which share no rounds.
//!
//! The Mann–Whitney test asks whether one sample tends to be larger; its interval is that of
//! the shift between them (the median of all differences, after Hodges and Lehmann). On the
//! log scale a shift is a ratio. Both hold whatever the two distributions are, as long as
//! under "no difference" they are the same one and the launches are independent: what drifts
//! between the two moments is not in the interval, and no formula can put it there.
//! Where the two differ in shape that is neither the difference of medians nor free of error: the test then finds more
//! than 5 % of equal medians different.

use std::cmp::Ordering;

use super::compare::{Verdict, decide};
use super::interval::Interval;
use super::quantile::median;
use super::signed_rank::two_sided_normal;

/// Above this many values in both samples together the normal approximation takes over.
const EXACT_UP_TO: usize = 100;

/// The outcome of a Mann–Whitney test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MannWhitney {
    /// Pairs of one value each in which the first sample's is larger; ties count half.
    pub statistic: f64,
    /// Which way the first sample lies: `Less` when it tends to be smaller.
    pub direction: Ordering,
    /// Two-sided p.
    pub p: f64,
}

/// The ratio of two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// First over second: the Hodges–Lehmann shift of the logarithms, back from the log scale.
    pub ratio: Interval,
    /// Two-sided Mann–Whitney p of "no difference", before any correction.
    pub p: f64,
}

/// The Mann–Whitney (Wilcoxon rank-sum) test of "both samples are of one distribution".
///
/// Ties share their mean rank. Up to 100 values in all p is exact, given the ties at hand:
/// twice the share of all divisions into samples of these sizes that lie as far out on the
/// side of the one seen. Above that it is the normal approximation with tie and continuity
/// correction. Mann and Whitney (1947), "On a test of whether one of two random variables is
/// stochastically larger than the other"; Hollander, Wolfe and Chicken, "Nonparametric
/// Statistical Methods", 4.1.
///
/// An empty sample gives p = 1. Panics on NaN.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> MannWhitney {
    assert!(!a.iter().chain(b).any(|x| x.is_nan()), "Mann-Whitney test of NaN");
    let (ranks, of_a) = doubled_ranks(a, b);
    let least = a.len() * (a.len() + 1);
    // Twice the statistic, so that it is a whole number also under ties.
    let above = of_a - least as u64;
    let middle = (a.len() * b.len()) as u64;
    let p = match above.cmp(&middle) {
        Ordering::Equal => 1.0,
        _ if a.len() + b.len() <= EXACT_UP_TO => 2.0 * as_far_out(&ranks, a.len(), above),
        _ => normal(&ranks, a.len(), above.abs_diff(middle)),
    };
    MannWhitney { statistic: above as f64 / 2.0, direction: above.cmp(&middle), p: p.min(1.0) }
}

/// Twice the rank of every value of both samples, rising, and the sum of those of `a`.
fn doubled_ranks(a: &[f64], b: &[f64]) -> (Vec<u64>, u64) {
    let mut sorted: Vec<(f64, bool)> = a.iter().map(|x| (*x, true)).collect();
    sorted.extend(b.iter().map(|x| (*x, false)));
    // Adding zero makes -0 and 0 one value.
    sorted.iter_mut().for_each(|(x, _)| *x += 0.0);
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut ranks, mut of_a) = (Vec::with_capacity(sorted.len()), 0);
    for tied in sorted.chunk_by(|a, b| a.0 == b.0) {
        // Ranks before+1 ..= before+len; twice their mean is the sum of the ends.
        let doubled = (2 * ranks.len() + tied.len() + 1) as u64;
        of_a += doubled * tied.iter().filter(|(_, is_a)| *is_a).count() as u64;
        ranks.resize(ranks.len() + tied.len(), doubled);
    }
    (ranks, of_a)
}

/// The share of choices of `chosen` ranks whose statistic is as far from its middle as
/// `above` (doubled), on the same side.
fn as_far_out(ranks: &[u64], chosen: usize, above: u64) -> f64 {
    let middle = (chosen * (ranks.len() - chosen)) as u64;
    if above < middle {
        return up_to(ranks, chosen, above);
    }
    // From the other end: the same ranks, counted downwards.
    let top = 2 * (ranks.len() as u64 + 1);
    let turned: Vec<u64> = ranks.iter().rev().map(|rank| top - rank).collect();
    up_to(&turned, chosen, 2 * middle - above)
}

/// P(statistic ≤ `most`), all choices of `chosen` of the rising, doubled `ranks` alike.
fn up_to(ranks: &[u64], chosen: usize, most: u64) -> f64 {
    choices(ranks, chosen, most).iter().sum()
}

/// The probability of each doubled statistic 0 ..= `most`.
///
/// Values are taken in one after the other: of those that are left, each is as likely to be
/// chosen. A sum counts from the smallest that so many ranks can have, so that it only grows.
fn choices(ranks: &[u64], chosen: usize, most: u64) -> Vec<f64> {
    // Without ties every doubled rank is even: half the columns do.
    let step = if ranks.iter().all(|rank| rank % 2 == 0) { 2 } else { 1 };
    // Ties raise the smallest sum above that of the ranks 1, 2, 3 …
    let base = ranks[..chosen].iter().sum::<u64>() - (chosen * (chosen + 1)) as u64;
    let mut spread = vec![0.0; most as usize + 1];
    let Some(room) = most.checked_sub(base) else { return spread };
    let columns = (room / step) as usize + 1;
    let mut table = vec![vec![0.0; columns]; chosen + 1];
    table[0][0] = 1.0;
    let sums: Vec<u64> = std::iter::once(0)
        .chain(ranks.iter().scan(0, |sum, rank| {
            *sum += rank;
            Some(*sum)
        }))
        .collect();
    for (nth, rank) in ranks.iter().enumerate() {
        let left = ranks.len() - nth;
        // With fewer taken, those that are left would be too few.
        for taken in (chosen.saturating_sub(left)..=chosen.min(nth)).rev() {
            let farthest = (sums[nth] - sums[nth - taken] - sums[taken]) / step;
            let reach = columns.min(farthest as usize + 1);
            let take = (chosen - taken) as f64 / left as f64;
            if take > 0.0 {
                let further = ((rank - ranks[taken]) / step) as usize;
                let (here, next) = table.split_at_mut(taken + 1);
                let next = next[0].iter_mut().skip(further);
                next.zip(&here[taken][..reach]).for_each(|(next, here)| *next += here * take);
            }
            table[taken][..reach].iter_mut().for_each(|here| *here *= 1.0 - take);
        }
    }
    for (at, p) in table[chosen].iter().enumerate() {
        spread[(base + at as u64 * step) as usize] = *p;
    }
    spread
}

/// The two-sided p by the normal approximation, `distance` doubled.
fn normal(ranks: &[u64], chosen: usize, distance: u64) -> f64 {
    let (m, all) = (chosen as f64, ranks.len() as f64);
    let n = all - m;
    let ties: f64 = ranks
        .chunk_by(|a, b| a == b)
        .map(|tied| tied.len() as f64)
        .map(|tied| tied * tied * tied - tied)
        .sum();
    let spread = (m * n / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)))).sqrt();
    two_sided_normal((distance as f64 / 2.0 - 0.5).max(0.0), spread)
}

/// The shift of `a` over `b`: the median of all differences of one value each, with the
/// interval that inverts the Mann–Whitney test at `1 - alpha`.
///
/// Hodges and Lehmann (1963), "Estimates of location based on rank tests"; Hollander, Wolfe
/// and Chicken, 4.2 and 4.3. The coverage is exact up to 100 values in all without ties (ties
/// only raise it), approximate above. Memory and work grow with the product of the sizes.
///
/// `None` when there are too few values for that coverage (fewer than 4 and 4 at 5 %), or one
/// is not finite.
pub fn hodges_lehmann_shift(a: &[f64], b: &[f64], alpha: f64) -> Option<Interval> {
    if !a.iter().chain(b).all(|x| x.is_finite()) {
        return None;
    }
    let (rank, coverage) = difference_rank(a.len(), b.len(), alpha)?;
    let mut differences: Vec<f64> = a.iter().flat_map(|a| b.iter().map(move |b| a - b)).collect();
    differences.sort_unstable_by(f64::total_cmp);
    Some(Interval {
        estimate: median(&differences),
        low: differences[rank - 1],
        high: differences[differences.len() - rank],
        coverage,
    })
}

/// The rank, counted from 1 at either end of the sorted differences, of the narrowest interval
/// with coverage at least `1 - alpha`, and the coverage it has.
fn difference_rank(m: usize, n: usize, alpha: f64) -> Option<(usize, f64)> {
    if m == 0 || n == 0 {
        return None;
    }
    // The middle itself is on both sides; an interval of no length is none.
    let most = (m * n).div_ceil(2) - 1;
    let mut found = None;
    if m + n <= EXACT_UP_TO {
        let ranks: Vec<u64> = (1..=(m + n) as u64).map(|rank| 2 * rank).collect();
        let mut error = 0.0;
        for (at, p) in choices(&ranks, m.min(n), 2 * most as u64).into_iter().step_by(2).enumerate()
        {
            error += 2.0 * p;
            if error > alpha {
                break;
            }
            found = Some((at + 1, 1.0 - error));
        }
    } else {
        let middle = (m * n) as f64 / 2.0;
        let spread = ((m * n * (m + n + 1)) as f64 / 12.0).sqrt();
        let error = |at: usize| two_sided_normal((middle - at as f64 - 0.5).max(0.0), spread);
        // Errors rise with the statistic: the last that is small enough.
        let fit = (0..=most).collect::<Vec<_>>().partition_point(|at| error(*at) <= alpha);
        found = fit.checked_sub(1).map(|at| (at + 1, 1.0 - error(at)));
    }
    found
}

/// Compares two unpaired samples of positive values: the ratio `a / b` with its interval at
/// `1 - alpha`.
///
/// `None` when there are too few values for an interval, or one is not positive and finite.
pub fn compare_unpaired(a: &[f64], b: &[f64], alpha: f64) -> Option<Shift> {
    Shift::of_logarithms(&logarithms(a)?, &logarithms(b)?, alpha).map(Shift::exp)
}

impl Shift {
    /// The same of logarithms, still in them, by ranks alone.
    pub(super) fn of_logarithms(a: &[f64], b: &[f64], alpha: f64) -> Option<Shift> {
        Some(Shift { ratio: hodges_lehmann_shift(a, b, alpha)?, p: mann_whitney(a, b).p })
    }

    /// Back from the log scale.
    pub(super) fn exp(self) -> Shift {
        Shift { ratio: self.ratio.exp(), p: self.p }
    }
}

/// The verdict on two unpaired samples of a quantity of which less is better: what the first
/// is beside the second.
///
/// `p` is that of [`compare_unpaired`] after the correction for its family ([`super::holm`]); `delta`
/// the smallest relative difference that matters, stated before. Equivalence is two one-sided
/// tests at `alpha` each, which is the `1 - 2 alpha` interval lying inside the margin.
pub fn verdict_unpaired(a: &[f64], b: &[f64], p: f64, delta: f64, alpha: f64) -> Verdict {
    let log = |alpha| hodges_lehmann_shift(&logarithms(a)?, &logarithms(b)?, alpha);
    decide(log(alpha), log(2.0 * alpha), p, delta, alpha)
}

fn logarithms(values: &[f64]) -> Option<Vec<f64>> {
    let measured = |x: &f64| x.is_finite() && *x > 0.0;
    values.iter().all(measured).then(|| values.iter().map(|x| x.ln()).collect())
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    #[test]
    fn nothing_is_no_evidence() {
        assert_eq!(mann_whitney(&[], &[1.0, 2.0]).p, 1.0);
        assert_eq!(mann_whitney(&[1.0], &[1.0]).p, 1.0);
        assert_eq!(mann_whitney(&[0.0], &[-0.0]).direction, Ordering::Equal);
        assert_eq!(hodges_lehmann_shift(&[], &[1.0], 0.05), None);
        assert_eq!(hodges_lehmann_shift(&[1.0; 3], &[2.0; 3], 0.05), None);
    }

    #[test]
    fn samples_apart_have_the_smallest_p() {
        let low: Vec<f64> = (1..=12).map(f64::from).collect();
        let high: Vec<f64> = low.iter().map(|x| x + 100.0).collect();
        let test = mann_whitney(&low, &high);
        assert_eq!((test.statistic, test.direction), (0.0, Ordering::Less));
        // Two of the 24-choose-12 divisions are as far out.
        assert!((test.p * 2_704_156.0 / 2.0 - 1.0).abs() < 1e-12, "{}", test.p);
        let back = mann_whitney(&high, &low);
        assert_eq!((back.p, back.direction, back.statistic), (test.p, Ordering::Greater, 144.0));
    }

    #[test]
    fn the_sizes_may_differ_and_the_sides_be_changed() {
        let mut draw = Draw::seeded(6);
        for (m, n) in [(1, 9), (4, 7), (12, 30), (90, 5)] {
            let round = |draw: &mut Draw| (4.0 * draw.normal()).round();
            let (a, b) = (draw.many(m, round), draw.many(n, round));
            let (there, back) = (mann_whitney(&a, &b), mann_whitney(&b, &a));
            assert!((there.p - back.p).abs() < 1e-12, "{m} {n}: {} {}", there.p, back.p);
            assert_eq!(there.statistic + back.statistic, (m * n) as f64);
        }
    }

    #[test]
    fn every_probability_is_counted_once() {
        for (m, n) in [(1, 1), (3, 5), (12, 12), (20, 7)] {
            let ranks: Vec<u64> = (1..=(m + n) as u64).map(|rank| 2 * rank).collect();
            let all: f64 = choices(&ranks, m, 2 * (m * n) as u64).iter().sum();
            assert!((all - 1.0).abs() < 1e-12, "{m} {n}: {all}");
        }
    }

    #[test]
    fn exact_and_normal_agree_where_they_meet() {
        let mut draw = Draw::seeded(7);
        let a = draw.many(50, Draw::normal);
        let b = draw.many(50, |draw| draw.normal() + 0.4);
        let (ranks, of_a) = doubled_ranks(&a, &b);
        let above = of_a - 50 * 51;
        let rough = normal(&ranks, 50, above.abs_diff(2500));
        let exact = mann_whitney(&a, &b).p;
        assert!((exact / rough - 1.0).abs() < 0.05, "{exact} {rough}");
        let (below, coverage) = difference_rank(50, 50, 0.05).unwrap();
        let (beyond, approximate) = difference_rank(50, 51, 0.05).unwrap();
        assert!(beyond > below && beyond < below + 50, "{below} {beyond}");
        assert!((coverage - approximate).abs() < 2e-3);
    }

    #[test]
    fn the_interval_and_the_test_agree() {
        let mut draw = Draw::seeded(8);
        for _ in 0..300 {
            let a = draw.many(12, Draw::normal);
            let b = draw.many(15, |draw| draw.normal() + 0.8);
            let interval = hodges_lehmann_shift(&a, &b, 0.05).unwrap();
            let found = interval.low > 0.0 || interval.high < 0.0;
            assert_eq!(found, mann_whitney(&a, &b).p <= 0.05, "{interval:?}");
        }
    }

    #[test]
    fn the_interval_covers_as_often_as_it_says() {
        let mut draw = Draw::seeded(9);
        let missed = (0..4000)
            .filter(|_| {
                let (a, b) = (draw.many(12, Draw::exponential), draw.many(12, Draw::exponential));
                let interval = hodges_lehmann_shift(&a, &b, 0.05).unwrap();
                interval.low > 0.0 || interval.high < 0.0
            })
            .count();
        let error = 1.0 - difference_rank(12, 12, 0.05).unwrap().1;
        let slack = 3.5 * (error * (1.0 - error) / 4000.0).sqrt();
        assert!((missed as f64 / 4000.0 - error).abs() < slack, "{missed} of 4000, {error}");
    }

    #[test]
    fn a_ratio_is_first_over_second() {
        let b: Vec<f64> = (100..112).map(f64::from).collect();
        let a: Vec<f64> = b.iter().map(|x| 2.0 * x).collect();
        let shift = compare_unpaired(&a, &b, 0.05).unwrap();
        assert!((shift.ratio.estimate - 2.0).abs() < 0.01 && shift.ratio.low > 1.8);
        assert_eq!(verdict_unpaired(&a, &b, shift.p, 0.02, 0.05), Verdict::Slower);
        assert_eq!(verdict_unpaired(&b, &a, shift.p, 0.02, 0.05), Verdict::Faster);
        for x in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut bad = a.clone();
            bad[3] = x;
            assert_eq!(compare_unpaired(&bad, &b, 0.05), None);
            let verdict = verdict_unpaired(&bad, &b, 0.0, 0.02, 0.05);
            assert_eq!(verdict, Verdict::Inconclusive { smallest_effect: f64::INFINITY });
        }
    }

    #[test]
    fn little_noise_is_equivalent_and_much_is_inconclusive() {
        let mut draw = Draw::seeded(10);
        let mut sample = |spread: f64| draw.many(30, |draw| (spread * draw.normal()).exp());
        let (a, b) = (sample(0.01), sample(0.01));
        assert_eq!(verdict_unpaired(&a, &b, 1.0, 0.02, 0.05), Verdict::Equivalent);
        let (a, b) = (sample(0.2), sample(0.2));
        let Verdict::Inconclusive { smallest_effect } = verdict_unpaired(&a, &b, 1.0, 0.02, 0.05)
        else {
            panic!("twenty percent of noise decided something");
        };
        assert!((0.05..0.4).contains(&smallest_effect), "{smallest_effect}");
    }

    #[test]
    fn the_smallest_effect_is_found_four_times_in_five() {
        let mut draw = Draw::seeded(11);
        let mut pair = |shift: f64| {
            let mut sample = |shift: f64| draw.many(20, |draw| (shift + 0.1 * draw.normal()).exp());
            (sample(shift), sample(0.0))
        };
        let told: Vec<f64> = (0..101)
            .filter_map(|_| {
                let (a, b) = pair(0.0);
                match verdict_unpaired(&a, &b, 1.0, 0.001, 0.05) {
                    Verdict::Inconclusive { smallest_effect } => Some(smallest_effect),
                    _ => None,
                }
            })
            .collect();
        let told = super::super::median_of(told).unwrap().ln_1p();
        let found = (0..400).filter(|_| {
            let (a, b) = pair(told);
            mann_whitney(&a, &b).p < 0.05
        });
        let found = found.count() as f64 / 400.0;
        assert!(found > 0.75, "{told}: {found}");
    }
}
