//! Multiple comparisons with the best, on the paired log ratios of all pairs of cases.

use super::interval::{Interval, median_interval};

/// How each case compares with the best of its group, with one error for all that is said of the group.
#[derive(Clone, Debug, PartialEq)]
pub struct AgainstBest {
    /// Whether no other case is shown to beat it by more than what is negligible.
    pub may_be_best: bool,
    /// By how much it is slower than the best at most: 0.08 is 8 %. `None` where it has too few rounds in common
    /// with what may be the best.
    pub slower_at_most: Option<f64>,
    /// By how much at least: 0 of what may be the best. As above.
    pub slower_at_least: Option<f64>,
}

/// Hsu's multiple comparisons with the best (less is better), of so many `cases`; `log_ratios(a, b)` gives the log of
/// case a over case b in each round that both have. A case that is `negligible` slower (0.01 is 1 %) isn't beaten.
///
/// The best is the case whose ratio to no other has a median above 1. For each pair there is an upper bound of "how
/// much slower is this than that" at `alpha` over the number of rivals, one-sided: an order statistic of their log
/// ratios. A case may be the best unless such a bound shows another one to beat it by more than what is negligible; and it is slower than the best
/// by no more than its largest bound over all that may be.
///
/// Guarantee: with probability at least `1 - alpha` *both* hold for *all* cases at once. If each case's bound
/// against the truly best one holds (as many as there are rivals, Bonferroni), no case is shown to beat the
/// best one, so that it is in the set; and the largest bound over the set is at least the one against it. Hsu
/// (1984), "Constrained simultaneous confidence intervals for multiple comparisons with the best". Each bound is exact
/// whatever the shapes, because how many ratios lie below their median is a fair coin tossed for each round. By how much
/// a case is slower at least holds for all cases at once with the same probability, by itself: half of the error goes to
/// each side.
///
/// Medians of ratios may go in a circle, a quicker than b, b than c, and c than a: then there is no best. Where each
/// case is shown to be beaten, each may be the best.
pub fn against_best(
    cases: usize,
    log_ratios: &dyn Fn(usize, usize) -> Vec<f64>,
    alpha: f64,
    negligible: f64,
) -> Vec<AgainstBest> {
    let above = |at: usize| (at + 1..cases).map(|other| log_ratios(at, other)).collect();
    let pairs: Vec<Vec<Vec<f64>>> = (0..cases).map(above).collect();
    let rivals = cases.saturating_sub(1).max(1);
    // Two-sided intervals at twice the error of one side.
    let bounds = bounds(&pairs, 2.0 * alpha / rivals as f64);
    // A least distance is one from the best: both that it is in the set and that its bound holds must be right.
    let wide = self::bounds(&pairs, alpha / rivals as f64);
    let (best, perhaps_best) = (unbeaten(&bounds, negligible), unbeaten(&wide, negligible));
    let end = |bounds: &Bounds, best: &[bool], at: usize, low: bool| {
        let rivals = (0..cases).filter(|other| *other != at && best[*other]);
        let ends = rivals.map(|other| {
            bounds[at][other]
                .map(|bound| if low { bound.low.max(0.0) } else { bound.high.max(0.0) })
        });
        let ends: Vec<f64> = ends.collect::<Option<_>>()?;
        let end = if low { f64::min } else { f64::max };
        // Which of two zeros is the larger is for the compiler: 0, never -0.
        Some(ends.into_iter().reduce(end).unwrap_or(0.0).exp_m1() + 0.0)
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
    (0..cases).map(of).collect()
}

/// Of each pair, the interval of the log of the first over the second; None where too few rounds tell.
type Bounds = Vec<Vec<Option<Interval>>>;

/// `pairs` holds, of each case, the log ratios to each that follows it.
fn bounds(pairs: &[Vec<Vec<f64>>], alpha: f64) -> Bounds {
    let mut found: Bounds = vec![vec![None; pairs.len()]; pairs.len()];
    for (at, to_others) in pairs.iter().enumerate() {
        for (other, log_ratios) in (at + 1..).zip(to_others) {
            let it = median_interval(log_ratios, alpha);
            found[at][other] = it;
            let turned = |Interval { estimate, low, high, coverage }: Interval| Interval {
                estimate: -estimate,
                low: -high,
                high: -low,
                coverage,
            };
            found[other][at] = it.map(turned);
        }
    }
    found
}

/// Those that no other one is shown to beat by more than what is `negligible`; all, where that is nobody.
fn unbeaten(bounds: &Bounds, negligible: f64) -> Vec<bool> {
    let least = negligible.ln_1p();
    let beaten =
        |row: &Vec<Option<Interval>>| row.iter().flatten().any(|interval| interval.low > least);
    let unbeaten: Vec<bool> = bounds.iter().map(|row| !beaten(row)).collect();
    if unbeaten.contains(&true) { unbeaten } else { vec![true; bounds.len()] }
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    /// Times of cases by round; what is NaN is missing.
    fn judged(cases: &[Vec<f64>]) -> Vec<AgainstBest> {
        let log_ratios = |a: usize, b: usize| -> Vec<f64> {
            let logs = cases[a].iter().zip(&cases[b]).map(|(a, b)| (a / b).ln());
            logs.filter(|log| !log.is_nan()).collect()
        };
        against_best(cases.len(), &log_ratios, 0.05, 0.01)
    }

    fn best(cases: &[Vec<f64>]) -> Vec<bool> {
        judged(cases).iter().map(|difference| difference.may_be_best).collect()
    }

    fn around(center: f64, spread: f64) -> Vec<f64> {
        (0..12).map(|nth| center * (1.0 + spread * f64::from(nth * 7 % 12 - 6))).collect()
    }

    #[test]
    fn what_is_beaten_leaves_the_set_and_is_slower_by_a_bounded_share() {
        let (fast, slow) = (around(100.0, 0.001), around(150.0, 0.001));
        // Its rounds in another order: no pair of them is the same.
        let near: Vec<f64> = around(100.8, 0.0001).into_iter().rev().collect();
        let cases = [slow.clone(), fast.clone(), near];
        assert_eq!(best(&cases), [false, true, true]);
        let found = judged(&cases);
        let bound = found[0].slower_at_most.unwrap();
        assert!((0.5..0.53).contains(&bound), "{bound}");
        assert!((0.48..0.5).contains(&found[0].slower_at_least.unwrap()), "{found:?}");
        assert!(found[1].slower_at_most.unwrap() < 0.02, "{found:?}");
        // Four common rounds exclude nothing, and bound nothing.
        let mut rare = slow;
        rare[4..].fill(f64::NAN);
        let found = judged(&[fast.clone(), rare]);
        assert!(
            found
                .iter()
                .all(|difference| difference.may_be_best && difference.slower_at_most.is_none()),
            "{found:?}"
        );
        // A case that is alone is the best.
        assert_eq!(judged(&[fast])[0].slower_at_most, Some(0.0));
        assert!(judged(&[]).is_empty());
    }

    #[test]
    fn a_circle_has_no_best_and_beats_nobody() {
        // In each round one is last that was first before: each beats the next in two of three.
        let case = |nth: usize| (0..60).map(|round| ((round + nth) % 3) as f64 + 1.0).collect();
        let circle: Vec<Vec<f64>> = (0..3).map(case).collect();
        assert!(
            judged(&circle)
                .iter()
                .all(|difference| difference.may_be_best && difference.slower_at_most.is_some())
        );
    }

    #[test]
    fn the_true_best_stays_as_often_as_promised_and_others_go() {
        let mut draw = Draw::seeded(5);
        let (draws, mut kept, mut alone) = (200, 0, 0);
        for _ in 0..draws {
            // Fifteen equal cases: whichever is called the best has to stay.
            let equal: Vec<Vec<f64>> =
                (0..15).map(|_| draw.many(20, |d| (0.1 * d.normal()).exp())).collect();
            kept += i32::from(best(&equal)[0]);

            // One of 25 that is 7 % better, seen in 12 rounds with a spread of 1 %.
            let one = |nth: usize, draw: &mut Draw| {
                let center = if nth == 7 { 1.0 } else { 1.07 };
                draw.many(12, |d| center * (0.01 * d.normal()).exp())
            };
            let other: Vec<Vec<f64>> = (0..25).map(|nth| one(nth, &mut draw)).collect();
            let best = best(&other);
            alone += i32::from(best[7] && best.iter().filter(|flag| **flag).count() == 1);
        }
        // 190 of 200 are promised; three standard deviations below are 181.
        assert!(kept >= 181, "{kept} of {draws} kept the best");
        assert!(alone >= 190, "{alone} of {draws} found the one that is better");
    }
}
