//! Ratios and differences of medians, where two cases may differ in shape: the one guard of every comparison.
//!
//! The signed-rank test asks whether paired differences are symmetric about zero. Where two cases differ in
//! shape (one is skewed, or has two modes) they aren't, although the medians be equal, and it
//! rejects far too often. So a difference is claimed only where the medians differ too: by the interval of
//! the difference of two medians that their own order-statistic intervals give (Donner and Zou 2012, "Closed-form
//! confidence intervals for functions of the normal mean and standard deviation"; the method of variance
//! estimates recovery needs no shape), narrower where rounds surely move both alike. Where either case has two
//! modes its median may jump from one to the other, and only intervals that don't overlap count; but modes that both
//! have in the same rounds are the machine's, and are taken out of both first.

use std::cmp::Ordering;

use super::interval::{Interval, median_interval};
use super::modes::{Modes, two_modes};
use super::series::centered_ranks;
use super::signed_rank::{hodges_lehmann, signed_rank};

/// The level of the test of medians. It is not corrected over a family: it guards against shapes, and the
/// signed-rank test beside it is corrected.
const MEDIANS_ALPHA: f64 = 0.05;

/// What the medians of two cases allow to be said of a shift between them: the guard of every comparison, be it
/// paired or not, of ratios or of differences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medians(Interval);

impl Medians {
    /// The difference of the medians of the logarithms of positive values that are paired by index, at 95 %. `None`
    /// where there are too few for an interval of either.
    pub fn ratio(a: &[f64], b: &[f64]) -> Option<Medians> {
        let (a, b) = without_common_modes(a, b);
        Medians::of(&a, &b, f64::ln, correlation(&a, &b))
    }

    /// The same of values that share no rounds.
    pub fn ratio_unpaired(a: &[f64], b: &[f64]) -> Option<Medians> {
        Medians::of(a, b, f64::ln, 0.0)
    }

    /// As [`Medians::ratio`], of the values themselves.
    pub fn difference(a: &[f64], b: &[f64]) -> Option<Medians> {
        Medians::of(a, b, |x| x, correlation(a, b))
    }

    fn of(a: &[f64], b: &[f64], scale: fn(f64) -> f64, correlation: f64) -> Option<Medians> {
        let interval = |values: &[f64]| {
            let scaled: Vec<f64> = values.iter().map(|x| scale(*x)).collect();
            median_interval(&scaled, MEDIANS_ALPHA)
        };
        let (of_a, of_b) = (interval(a)?, interval(b)?);
        let estimate = of_a.estimate - of_b.estimate;
        let jumps = two_modes(a).is_some() || two_modes(b).is_some();
        let arm = |x: f64, y: f64| {
            if jumps { x + y } else { (x * x + y * y - 2.0 * correlation * x * y).max(0.0).sqrt() }
        };
        Some(Medians(Interval {
            estimate,
            low: estimate - arm(of_a.estimate - of_a.low, of_b.high - of_b.estimate),
            high: estimate + arm(of_a.high - of_a.estimate, of_b.estimate - of_b.low),
            coverage: 1.0 - MEDIANS_ALPHA,
        }))
    }

    /// The interval of the shift, never narrower than the medians allow: what it excludes neither test allows. The
    /// estimate is that of the shift where it lies in the interval of the medians, else the medians' own.
    pub fn widen(&self, shift: Interval) -> Interval {
        let agree = self.0.low <= shift.estimate && shift.estimate <= self.0.high;
        Interval {
            estimate: if agree { shift.estimate } else { self.0.estimate },
            low: shift.low.min(self.0.low),
            high: shift.high.max(self.0.high),
            coverage: shift.coverage,
        }
    }

    /// The p of a test of the shift that lies in `direction`; 1 where the medians don't differ that way.
    pub fn allow(&self, p: f64, direction: Ordering) -> f64 {
        let differ = match direction {
            Ordering::Less => self.0.high < 0.0,
            Ordering::Equal => false,
            Ordering::Greater => self.0.low > 0.0,
        };
        if differ { p } else { 1.0 }
    }
}

/// Two cases whose modes fall into the same rounds by chance are taken for cases of one machine with two speeds no
/// more often than this.
const SAME_ROUNDS_ALPHA: f64 = 0.05;
/// Least agreement beyond chance (Cohen's kappa) of what is called the same rounds: cases of which one is slow in most
/// rounds and the other in few have modes of their own.
const LEAST_AGREEMENT: f64 = 0.5;

/// Two cases without what a machine of two speeds did to both: where each has two modes, and the same rounds are slow
/// ones of both, those rounds are divided by the ratio of the modes, which is that of the two cases together. Ratios
/// within rounds stay as they are.
fn without_common_modes(a: &[f64], b: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let same = || (a.to_vec(), b.to_vec());
    let (Some(of_a), Some(of_b)) = (two_modes(a), two_modes(b)) else { return same() };
    if a.len() != b.len() {
        return same();
    }
    let is_slow = |modes: &Modes, x: f64| x > (modes.low.center * modes.high.center).sqrt();
    let slow: Vec<(bool, bool)> =
        a.iter().zip(b).map(|(a, b)| (is_slow(&of_a, *a), is_slow(&of_b, *b))).collect();
    if !agree(&slow) {
        return same();
    }
    let speed = |modes: &Modes| modes.high.center / modes.low.center;
    let common = (speed(&of_a) * speed(&of_b)).sqrt();
    let apart = |values: &[f64]| -> Vec<f64> {
        let each = values.iter().zip(&slow);
        each.map(|(x, (a, b))| if *a && *b { x / common } else { *x }).collect()
    };
    (apart(a), apart(b))
}

/// Whether two labels of each round agree, beyond chance and beyond a part of them.
fn agree(rounds: &[(bool, bool)]) -> bool {
    let count = |of: fn(&(bool, bool)) -> bool| rounds.iter().filter(|it| of(it)).count();
    let (n, in_a, in_b) = (rounds.len(), count(|it| it.0), count(|it| it.1));
    let share = |part: usize| part as f64 / n as f64;
    let agreed = share(count(|it| it.0 == it.1));
    let by_chance = share(in_a) * share(in_b) + share(n - in_a) * share(n - in_b);
    let kappa = (agreed - by_chance) / (1.0 - by_chance);
    let chance = chance_of_as_many_common(n, in_a, in_b, count(|it| it.0 && it.1));
    kappa >= LEAST_AGREEMENT && chance <= SAME_ROUNDS_ALPHA
}

/// The probability that of `n` rounds `in_a` and `in_b`, drawn independently, have at least `both` in common: Fisher's
/// exact test of association, one-sided.
fn chance_of_as_many_common(n: usize, in_a: usize, in_b: usize, both: usize) -> f64 {
    let ln_choose = |n: usize, k: usize| -> f64 {
        (0..k).map(|it| ((n - it) as f64).ln() - ((it + 1) as f64).ln()).sum()
    };
    let of = |common: usize| {
        let ways = ln_choose(in_a, common) + ln_choose(n - in_a, in_b - common);
        (ways - ln_choose(n, in_b)).exp()
    };
    let possible = |common: &usize| in_b - common <= n - in_a;
    (both..=in_a.min(in_b)).filter(possible).map(of).sum()
}

/// One-sided 1 % of the normal distribution.
const SURE: f64 = 2.326;

/// How the medians of two samples vary together that are paired by index: by their rank correlation, as of two normal
/// scales (2/π·asin ρ, with ρ = 2·sin(π/6·Spearman's)). 0 where that may be chance: what disturbs whole rounds shows in
/// most of them.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    use std::f64::consts::PI;
    let measured = a.iter().chain(b).all(|x| !x.is_nan());
    if a.len() != b.len() || a.len() < 2 || !measured {
        return 0.0;
    }
    let (a, b) = (centered_ranks(a), centered_ranks(b));
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let spread = (product(&a, &a) * product(&b, &b)).sqrt();
    let spearman = if spread > 0.0 { (product(&a, &b) / spread).min(1.0) } else { 0.0 };
    if spearman * ((a.len() - 1) as f64).sqrt() <= SURE {
        return 0.0;
    }
    let normal = 2.0 * (PI / 6.0 * spearman).sin();
    2.0 / PI * normal.min(1.0).asin()
}

/// The log ratio of two cases over their common rounds, at `1 - alpha` where their shapes are alike, and never
/// narrower than the medians allow ([`Medians::widen`]); the shift is Hodges and Lehmann's.
///
/// `None` when the lengths differ, there are too few pairs, or a value is not positive and finite.
pub fn paired_log_ratio(a: &[f64], b: &[f64], alpha: f64) -> Option<Interval> {
    let shift = hodges_lehmann(&paired_logs(a, b)?, alpha)?;
    Some(Medians::ratio(a, b)?.widen(shift))
}

/// The exact signed-rank p of "no difference" of two cases over their common rounds, before any correction; 1 where
/// their medians don't differ ([`Medians::allow`]). `None` as of [`paired_log_ratio`].
pub fn paired_p(a: &[f64], b: &[f64]) -> Option<f64> {
    let test = signed_rank(&paired_logs(a, b)?);
    Some(Medians::ratio(a, b)?.allow(test.p, test.direction))
}

fn paired_logs(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    let measured = |x: &f64| x.is_finite() && *x > 0.0;
    let fit = a.len() == b.len() && a.iter().chain(b).all(measured);
    fit.then(|| a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect())
}

/// How each case compares with the best of its group, with one error for all that is said of the group.
#[derive(Clone, Debug, PartialEq)]
pub struct AgainstBest {
    /// Whether no other case is shown to beat it.
    pub may_be_best: bool,
    /// By how much it is slower than the best at most: 0.08 is 8 %. `None` where it has too few rounds in common
    /// with what may be the best.
    pub slower_at_most: Option<f64>,
    /// By how much at least: 0 of what may be the best. As above.
    pub slower_at_least: Option<f64>,
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
/// shape of the distributions. By how much a case is slower at least holds for all cases at once with the same
/// probability, by itself: half of the error goes to each side.
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
    let bounds = bounds(&columns, 2.0 * alpha / rivals as f64);
    // A least distance is one from the best: both that it is in the set and that its bound holds must be right.
    let wide = self::bounds(&columns, alpha / rivals as f64);
    let (best, perhaps_best) = (unbeaten(&bounds, &measured), unbeaten(&wide, &measured));
    let end = |bounds: &Bounds, best: &[bool], at: usize, low: bool| {
        let rivals = (0..columns.len()).filter(|other| *other != at && best[*other]);
        let ends = rivals.map(|other| {
            bounds[at][other].map(|it| if low { it.low.max(0.0) } else { it.high.max(0.0) })
        });
        let ends: Vec<f64> = ends.collect::<Option<_>>()?;
        let end = if low { f64::min } else { f64::max };
        measured[at].then(|| ends.into_iter().reduce(end).unwrap_or(0.0).exp_m1())
    };
    let of = |at: usize| AgainstBest {
        may_be_best: best[at],
        slower_at_most: end(&bounds, &best, at, false),
        slower_at_least: if perhaps_best[at] {
            Some(0.0)
        } else {
            end(&wide, &perhaps_best, at, true)
        },
    };
    (0..columns.len()).map(of).collect()
}

/// Of each pair, the interval of the log of the first over the second; None where too few rounds tell.
type Bounds = Vec<Vec<Option<Interval>>>;

fn bounds(columns: &[Vec<Option<f64>>], alpha: f64) -> Bounds {
    let mut found: Bounds = vec![vec![None; columns.len()]; columns.len()];
    for (at, a) in columns.iter().enumerate() {
        for (other, b) in columns.iter().enumerate().skip(at + 1) {
            let pairs = a.iter().zip(b).filter_map(|(a, b)| (*a).zip(*b));
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.unzip();
            let it = paired_log_ratio(&a, &b, alpha);
            found[at][other] = it;
            found[other][at] = it.map(|it| Interval {
                estimate: -it.estimate,
                low: -it.high,
                high: -it.low,
                coverage: it.coverage,
            });
        }
    }
    found
}

/// Those that were measured and that no other one is shown to beat.
fn unbeaten(bounds: &Bounds, measured: &[bool]) -> Vec<bool> {
    let beaten = |row: &Vec<Option<Interval>>| row.iter().flatten().any(|it| it.low > 0.0);
    bounds.iter().zip(measured).map(|(row, measured)| *measured && !beaten(row)).collect()
}

/// How one case compares with another that was named beforehand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgainstReference {
    /// First over second, at `1 - alpha` by itself.
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
    let log = paired_log_ratio(a, b, alpha)?;
    let narrow = paired_log_ratio(a, b, 2.0 * each)?;
    let margin = f64::ln_1p(margin);
    Some(AgainstReference {
        ratio: log.exp(),
        p: paired_p(a, b)?,
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
        let (fast, slow) = (column(100.0, 0.001), column(150.0, 0.001));
        // Its rounds in another order: no pair of them is the same.
        let near: Vec<_> = column(100.1, 0.001).into_iter().rev().collect();
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
        // A case that is alone is the best.
        assert_eq!(against_best(&[&fast], 0.05)[0].slower_at_most, Some(0.0));
        assert!(against_best(&[], 0.05).is_empty());
    }

    #[test]
    fn of_two_modes_only_intervals_apart_differ() {
        // Seven of twelve in the lower mode: another launch, and the median is elsewhere.
        let modes: Vec<f64> =
            (0..12).map(|nth| if nth < 7 { 100.0 } else { 300.0 } + f64::from(nth)).collect();
        let other: Vec<f64> = (0..12).map(|nth| 110.0 + f64::from(nth)).collect();
        let Medians(found) = Medians::ratio(&modes, &other).unwrap();
        assert!(found.low < 0.0 && found.high > 1.0, "{found:?}");
    }

    #[test]
    fn two_speeds_of_the_machine_hide_no_ratio() {
        // Microseconds of a round trip by round, of a run whose host had two speeds.
        let udp = [
            7.47, 6.2, 7.48, 4.87, 7.35, 4.87, 7.62, 4.84, 7.28, 6.24, 4.89, 4.88, 7.88, 4.89,
            4.91, 4.87, 4.83, 5.03, 7.65, 4.86, 4.7, 4.86, 5.07, 4.85,
        ];
        let tcp = [
            9.6, 6.23, 9.08, 6.26, 9.54, 6.34, 10.06, 6.26, 6.3, 8.49, 6.64, 6.31, 10.23, 6.33,
            9.38, 6.281, 6.25, 9.47, 9.56, 6.23, 6.24, 6.27, 6.25, 6.3,
        ];
        let found = paired_log_ratio(&tcp, &udp, 0.05).unwrap();
        assert!(found.low.exp() > 1.1 && found.high.exp() < 1.5, "{found:?}");
        assert!(paired_p(&tcp, &udp).unwrap() < 0.001);
        // The same times in rounds of their own.
        let mut elsewhere = udp;
        elsewhere.rotate_left(1);
        let found = paired_log_ratio(&tcp, &elsewhere, 0.05).unwrap();
        assert!(found.low < 0.0, "{found:?}");
    }

    #[test]
    fn the_same_rounds_are_the_same_beyond_chance() {
        // scipy.stats.fisher_exact([[7, 3], [3, 8]], "greater"), and [[6, 0], [8, 6]].
        assert!((chance_of_as_many_common(21, 10, 10, 7) - 0.063467).abs() < 1e-6);
        assert!((chance_of_as_many_common(20, 6, 14, 6) - 0.077477).abs() < 1e-6);
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
