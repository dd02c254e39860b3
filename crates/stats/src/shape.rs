//! Whether one curve is another one rescaled: one test for all of it, and what it says point by
//! point.
//!
//! In each round and at each level the log ratio of the two curves, less the round's mean over the
//! levels, is what a constant factor leaves over. If only such a factor parts the curves, the left
//! and the right of a round may change places, and all its deviations change their signs together:
//! so whole rounds are flipped, and the largest studentized deviation is compared with what flips
//! make of it. That is exact, whatever the distribution and however levels of a round depend on
//! each other, as long as the noise of both curves is exchangeable. Looking may change the noise
//! itself: then the deviations need not lie symmetrically, and p is approximate. (Westfall and
//! Young, "Resampling-Based Multiple Testing", 2.3.)

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::peak::Rounds;
use super::quantile::median;
use super::signed_rank::signed_rank;

/// Up to so many rounds every pattern of signs is tried.
const EXACT_UP_TO: usize = 14;
/// Patterns that are drawn where there are too many to try them all.
const DRAWS: usize = 9_999;
/// Sums of the same values in another order are the same.
const ROUNDING: f64 = 1e-12;

/// What flipping signs says of two curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Rescaled {
    /// Two-sided p of "the curves differ by a constant factor only".
    pub p: f64,
    /// The p of each level, corrected over all levels by the same maximum.
    pub p_of_levels: Vec<f64>,
}

/// Tests whether `first` is `second` but for a constant factor; both share rounds and levels, and
/// their values are above 0.
///
/// Up to 14 rounds all sign patterns are tried; above, 9,999 drawn from a fixed seed, so that the
/// same data give the same p. `None` with fewer than two levels or six rounds, or where a value is
/// not finite and above 0.
pub fn rescaled(first: &Rounds, second: &Rounds) -> Option<Rescaled> {
    let deviations = deviations(first, second)?;
    let rounds = deviations.len();
    let levels = deviations[0].len();
    if rounds < 6 {
        return None;
    }
    let scales: Vec<f64> = (0..levels)
        .map(|level| {
            deviations.iter().map(|deviation| deviation[level].powi(2)).sum::<f64>().sqrt()
        })
        .collect();
    let of = |signs: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let sum = |level: usize| {
            let flipped =
                deviations.iter().enumerate().map(|(nth, deviation)| signs(nth) * deviation[level]);
            flipped.sum::<f64>().abs()
        };
        let studentized = |(level, scale): (usize, &f64)| {
            if *scale > ROUNDING { sum(level) / scale } else { 0.0 }
        };
        scales.iter().enumerate().map(studentized).collect()
    };
    let seen = of(&|_| 1.0);
    let mut reached = vec![0usize; levels];
    let mut count = |signs: &dyn Fn(usize) -> f64| {
        let most = of(signs).into_iter().fold(0.0, f64::max) * (1.0 + ROUNDING);
        reached.iter_mut().zip(&seen).for_each(|(reached, seen)| {
            *reached += usize::from(most >= *seen);
        });
    };
    let tried = if rounds <= EXACT_UP_TO {
        // A pattern and its opposite give the same: half of them are enough.
        let patterns = 1usize << (rounds - 1);
        (0..patterns).for_each(|bits| count(&|nth| sign(bits >> nth & 1 == 1)));
        patterns
    } else {
        let mut rng = ChaCha8Rng::seed_from_u64(0x51_6E5);
        for _ in 0..DRAWS {
            let flips: Vec<bool> = (0..rounds).map(|_| rng.random()).collect();
            count(&|nth| sign(flips[nth]));
        }
        // What was seen is a pattern, too.
        reached.iter_mut().for_each(|number| *number += 1);
        DRAWS + 1
    };
    let p_of_levels: Vec<f64> =
        reached.iter().map(|number| *number as f64 / tried as f64).collect();
    let farthest = (0..levels).max_by(|a, b| seen[*a].total_cmp(&seen[*b]))?;
    Some(Rescaled { p: p_of_levels[farthest], p_of_levels })
}

fn sign(flipped: bool) -> f64 {
    if flipped { -1.0 } else { 1.0 }
}

/// By round and level: the log ratio less its mean over the round's levels.
fn deviations(first: &Rounds, second: &Rounds) -> Option<Vec<Vec<f64>>> {
    let levels = first.first()?.len();
    let fits = |values: &Vec<f64>| {
        values.len() == levels && values.iter().all(|x| x.is_finite() && *x > 0.0)
    };
    if levels < 2 || first.len() != second.len() || !first.iter().chain(second).all(fits) {
        return None;
    }
    let of_round = |(a, b): (&Vec<f64>, &Vec<f64>)| {
        let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
        let mean = logs.iter().sum::<f64>() / levels as f64;
        logs.into_iter().map(|log| log - mean).collect()
    };
    Some(first.iter().zip(second).map(of_round).collect())
}

/// The p of each level as a report on probe effects computed them: each curve divided by its own
/// mean over all levels (here of its medians), then a paired signed-rank test at each level,
/// uncorrected.
///
/// The mean is that of the largest values, one factor stands for all rounds and is taken for known,
/// and many levels make many chances; the last alone is mended by Holm's correction. [`rescaled`] is
/// the test without any of them. `None` where the
/// curves don't share rounds and levels, or a value is not finite.
pub fn pointwise(first: &Rounds, second: &Rounds) -> Option<Vec<f64>> {
    let levels = first.first()?.len();
    let fits = |values: &Vec<f64>| values.len() == levels && values.iter().all(|x| x.is_finite());
    if levels == 0 || first.len() != second.len() || !first.iter().chain(second).all(fits) {
        return None;
    }
    let (of_first, of_second) = (mean_of_medians(first), mean_of_medians(second));
    let p = |level: usize| {
        let normalised =
            |(a, b): (&Vec<f64>, &Vec<f64>)| a[level] / of_first - b[level] / of_second;
        signed_rank(&first.iter().zip(second).map(normalised).collect::<Vec<f64>>()).p
    };
    (of_first != 0.0 && of_second != 0.0).then(|| (0..levels).map(p).collect())
}

fn mean_of_medians(rounds: &Rounds) -> f64 {
    let levels = rounds[0].len();
    let of_level = |level: usize| {
        let mut values: Vec<f64> = rounds.iter().map(|round| round[level]).collect();
        values.sort_by(f64::total_cmp);
        median(&values)
    };
    (0..levels).map(of_level).sum::<f64>() / levels as f64
}

/// The median of the slopes between all pairs of points (x, y) (Theil and Sen); `None` where no two
/// differ in x.
pub fn theil_sen(points: &[(f64, f64)]) -> Option<f64> {
    let mut all = Vec::new();
    for (nth, a) in points.iter().enumerate() {
        let later = points[nth + 1..].iter().filter(|b| b.0 != a.0);
        all.extend(later.map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    all.sort_by(f64::total_cmp);
    (!all.is_empty()).then(|| super::median(&all))
}

#[cfg(test)]
mod tests {
    use super::super::compare::holm;
    use super::super::draw::Draw;
    use super::*;

    const LEVELS: usize = 9;

    /// Two curves measured in the same rounds; the second takes `factor` at every level and
    /// `extra` more at the first. What disturbs a round disturbs all of it.
    fn pair(draw: &mut Draw, rounds: usize, factor: f64, extra: f64) -> [Vec<Vec<f64>>; 2] {
        let mut curves = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let disturbance = (0.1 * draw.normal()).exp();
            for (curve, (factor, extra)) in curves.iter_mut().zip([(1.0, 1.0), (factor, extra)]) {
                let value = |draw: &mut Draw, level: usize| {
                    let own = if level == 0 { extra } else { 1.0 };
                    100.0 * 2f64.powi(level as i32) * factor * own * (0.03 * draw.normal()).exp()
                };
                curve.push((0..LEVELS).map(|at| value(draw, at) * disturbance).collect());
            }
        }
        curves
    }

    #[test]
    fn a_constant_factor_leaves_nothing() {
        let mut draw = Draw::seeded(71);
        let [a, _] = pair(&mut draw, 12, 1.0, 1.0);
        let twice: Vec<Vec<f64>> =
            a.iter().map(|round| round.iter().map(|value| value * 2.0).collect()).collect();
        assert_eq!(rescaled(&a, &twice).unwrap().p, 1.0);
        assert!(pointwise(&a, &a).unwrap().iter().all(|p| *p == 1.0));
    }

    #[test]
    fn another_shape_is_found_where_it_is() {
        let mut draw = Draw::seeded(72);
        for rounds in [12, 30] {
            let [a, b] = pair(&mut draw, rounds, 1.3, 1.2);
            let found = rescaled(&b, &a).unwrap();
            assert!(found.p < 0.01 && found.p_of_levels[0] == found.p, "{found:?}");
            assert_eq!(found.p, rescaled(&b, &a).unwrap().p, "the same data, the same p");
        }
    }

    #[test]
    fn what_is_no_pair_of_curves_has_no_test() {
        let [a, b] = pair(&mut Draw::seeded(73), 12, 1.0, 1.0);
        assert_eq!(rescaled(&a[..5], &b[..5]), None);
        assert_eq!(rescaled(&a, &b[..11]), None);
        assert_eq!(rescaled(&[], &[]), None);
        let mut zero = b.clone();
        zero[3][3] = 0.0;
        assert_eq!(rescaled(&a, &zero), None);
        assert_eq!(pointwise(&a, &b[..11]), None);
    }

    /// Of curves that are only rescaled, the global test refuses 5 % (± 3 standard errors). Point by
    /// point, as published, far more of them have a point that looks different; and Holm's
    /// correction alone doesn't mend that, because the factor was estimated from the same launches.
    #[test]
    fn only_the_global_test_keeps_its_promise() {
        let mut draw = Draw::seeded(74);
        let draws = 600;
        let (mut global, mut bare, mut corrected) = (0, 0, 0);
        for _ in 0..draws {
            let [a, b] = pair(&mut draw, 10, 1.5, 1.0);
            global += usize::from(rescaled(&b, &a).unwrap().p <= 0.05);
            let p = pointwise(&b, &a).unwrap();
            bare += usize::from(p.iter().any(|p| *p <= 0.05));
            corrected += usize::from(holm(&p).iter().any(|p| *p <= 0.05));
        }
        let share = |count: usize| count as f64 / f64::from(draws);
        let slack = 3.0 * (0.05f64 * 0.95 / f64::from(draws)).sqrt();
        assert!((share(global) - 0.05).abs() <= slack, "global: {}", share(global));
        assert!(share(bare) > 0.2, "uncorrected: {}", share(bare));
        assert!(share(corrected) > 0.05 + slack, "Holm alone: {}", share(corrected));
    }

    #[test]
    fn one_point_that_is_off_does_not_bend_the_slope() {
        let line = |x: f64| (x, 100.0 + 0.5 * x);
        let points = [line(1.0), line(100.0), line(1000.0), (5000.0, 9e6), line(8000.0)];
        assert_eq!(super::theil_sen(&points), Some(0.5));
        assert_eq!(super::theil_sen(&points[..1]), None);
    }
}
