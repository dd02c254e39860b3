//! Where a curve has its peak, and how sure that is; whether two curves have one shape.
//!
//! A curve is measured level by level in the same rounds, so whole rounds are drawn again
//! (bootstrap): what disturbs a round moves all its levels together.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use super::interval::{Interval, median_interval};
use super::quantile::median;

const DRAWS: usize = 2000;

/// The place of a peak among the levels of a curve, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Where the median curve has it.
    pub at: usize,
    /// The first level at which it may be.
    pub low: usize,
    /// The last level at which it may be.
    pub high: usize,
}

/// Rounds of a curve: `rounds[r][level]`, of a quantity of which more is better.
pub type Rounds = [Vec<f64>];

/// The peak of the median curve, with the interval of its position at `1 - alpha` (percentile
/// bootstrap over rounds, from a fixed seed, so that the same data give the same interval).
/// None with fewer than six rounds, or no levels.
pub fn peak(rounds: &Rounds, alpha: f64) -> Option<Peak> {
    let levels = rounds.first()?.len();
    if rounds.len() < 6 || levels == 0 || rounds.iter().any(|round| round.len() != levels) {
        return None;
    }
    let at = highest(rounds, (0..rounds.len()).collect::<Vec<_>>().as_slice());
    let mut places = positions(rounds, DRAWS);
    places.sort_unstable();
    let rank = |share: f64| places[((share * DRAWS as f64) as usize).min(DRAWS - 1)];
    let (low, high) = (rank(alpha / 2.0), rank(1.0 - alpha / 2.0));
    Some(Peak { at, low: low.min(at), high: high.max(at) })
}

/// How often, over the bootstrap, the first curve's peak lies before the second's, and how
/// often after it; both curves share their rounds.
pub fn earlier(first: &Rounds, second: &Rounds) -> Option<(f64, f64)> {
    if first.len() != second.len() || first.len() < 6 {
        return None;
    }
    let (a, b) = (positions(first, DRAWS), positions(second, DRAWS));
    let share = |count: usize| count as f64 / DRAWS as f64;
    let before = a.iter().zip(&b).filter(|(a, b)| a < b).count();
    let after = a.iter().zip(&b).filter(|(a, b)| a > b).count();
    Some((share(before), share(after)))
}

/// Where two curves of the same rounds have their peaks, and how far they lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The first curve's.
    pub from: Peak,
    /// The second curve's.
    pub to: Peak,
    /// The least that the second may lie after the first, in levels.
    pub low: isize,
    /// The most.
    pub high: isize,
}

/// Whether the second curve's peak lies elsewhere than the first's: the interval of the distance
/// at `1 - alpha`, over the same drawn rounds. None as of [`peak`], or where the curves don't
/// share rounds and levels.
pub fn moved(first: &Rounds, second: &Rounds, alpha: f64) -> Option<Moved> {
    if first.len() != second.len() || first.first()?.len() != second.first()?.len() {
        return None;
    }
    let (from, to) = (peak(first, alpha)?, peak(second, alpha)?);
    let pairs = positions(second, DRAWS).into_iter().zip(positions(first, DRAWS));
    let mut distances: Vec<isize> = pairs.map(|(to, from)| to as isize - from as isize).collect();
    distances.sort_unstable();
    let rank = |share: f64| distances[((share * DRAWS as f64) as usize).min(DRAWS - 1)];
    let seen = to.at as isize - from.at as isize;
    let (low, high) = (rank(alpha / 2.0).min(seen), rank(1.0 - alpha / 2.0).max(seen));
    Some(Moved { from, to, low, high })
}

/// The peak of each drawn curve. The same seed draws the same rounds for every curve.
fn positions(rounds: &Rounds, draws: usize) -> Vec<usize> {
    let mut rng = ChaCha8Rng::seed_from_u64(0x70EA);
    let mut chosen = vec![0; rounds.len()];
    let mut one = || {
        chosen.iter_mut().for_each(|number| *number = rng.random_range(0..rounds.len()));
        highest(rounds, &chosen)
    };
    (0..draws).map(|_| one()).collect()
}

/// The level with the highest median over the chosen rounds.
fn highest(rounds: &Rounds, chosen: &[usize]) -> usize {
    let level_median = |level: usize| {
        let mut values: Vec<f64> = chosen.iter().map(|round| rounds[*round][level]).collect();
        values.sort_by(f64::total_cmp);
        median(&values)
    };
    let medians: Vec<f64> = (0..rounds[0].len()).map(level_median).collect();
    (0..medians.len()).max_by(|a, b| medians[*a].total_cmp(&medians[*b])).unwrap_or(0)
}

/// How two curves differ beyond a constant factor: for each level, the paired log ratio less
/// the round's mean over all levels, with its interval at `1 - alpha` over all levels together
/// (Bonferroni). Both curves share rounds and levels.
pub fn shape_differences(first: &Rounds, second: &Rounds, alpha: f64) -> Option<Vec<Interval>> {
    let levels = first.first()?.len();
    if first.len() != second.len() || levels < 2 {
        return None;
    }
    let deviations: Vec<Vec<f64>> = first
        .iter()
        .zip(second)
        .map(|(a, b)| {
            let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
            let mean = logs.iter().sum::<f64>() / levels as f64;
            logs.into_iter().map(|log| log - mean).collect()
        })
        .collect();
    let of_level = |level: usize| {
        let values: Vec<f64> = deviations.iter().map(|round| round[level]).collect();
        median_interval(&values, alpha / levels as f64)
    };
    (0..levels).map(of_level).collect()
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    /// A hill over nine levels whose top is at `top`, measured with a relative spread.
    fn hill(draw: &mut Draw, rounds: usize, top: f64, spread: f64) -> Vec<Vec<f64>> {
        let level = |draw: &mut Draw, at: usize| {
            let height = 100.0 * (-0.02 * (at as f64 - top).powi(2)).exp();
            height * (spread * draw.normal()).exp()
        };
        let mut round = || {
            let disturbance = (0.1 * draw.normal()).exp();
            (0..9).map(|at| level(draw, at) * disturbance).collect()
        };
        (0..rounds).map(|_| round()).collect()
    }

    #[test]
    fn a_clear_peak_is_found_where_it_is() {
        let rounds = hill(&mut Draw::seeded(1), 30, 4.0, 0.002);
        assert_eq!(peak(&rounds, 0.05), Some(Peak { at: 4, low: 4, high: 4 }));
        assert_eq!(peak(&rounds[..5], 0.05), None, "five rounds are too few");
    }

    /// 100 hills so noisy that the highest level is the true top in little more than half of them: the
    /// interval holds it at least as often as it says, less three standard errors of the count.
    #[test]
    fn the_interval_of_the_position_covers() {
        let mut draw = Draw::seeded(2);
        let hills = 100;
        let covers = |draw: &mut Draw| {
            let rounds = hill(draw, 30, 4.0, 0.1);
            peak(&rounds, 0.05).is_some_and(|peak| peak.low <= 4 && 4 <= peak.high)
        };
        let coverage = (0..hills).filter(|_| covers(&mut draw)).count() as f64 / f64::from(hills);
        let error = (0.95f64 * 0.05 / f64::from(hills)).sqrt();
        assert!(coverage >= 0.95 - 3.0 * error, "{coverage}");
    }

    #[test]
    fn an_earlier_peak_is_separated_from_a_later_one() {
        let mut draw = Draw::seeded(3);
        let (a, b) = (hill(&mut draw, 20, 2.0, 0.01), hill(&mut draw, 20, 6.0, 0.01));
        assert_eq!(earlier(&a, &b), Some((1.0, 0.0)));
        assert_eq!(earlier(&b, &a), Some((0.0, 1.0)));
        let (before, after) = earlier(&a, &a).unwrap();
        assert_eq!((before, after), (0.0, 0.0));
    }

    #[test]
    fn a_peak_that_moved_is_separated_from_one_that_stayed() {
        let mut draw = Draw::seeded(5);
        let (a, b) = (hill(&mut draw, 20, 2.0, 0.002), hill(&mut draw, 20, 4.0, 0.002));
        let found = moved(&a, &b, 0.05).unwrap();
        assert_eq!((found.from.at, found.to.at, found.low, found.high), (2, 4, 2, 2));
        let stayed = moved(&a, &hill(&mut draw, 20, 2.0, 0.002), 0.05).unwrap();
        assert_eq!((stayed.low, stayed.high), (0, 0));
        // Flat tops are not separated.
        let flat = moved(&hill(&mut draw, 20, 4.0, 0.1), &hill(&mut draw, 20, 4.0, 0.1), 0.05);
        assert!(flat.is_some_and(|change| change.low < 0 && change.high > 0), "{flat:?}");
        assert_eq!(moved(&a, &b[..19], 0.05), None);
    }

    #[test]
    fn a_constant_factor_is_no_difference_of_shape() {
        let mut draw = Draw::seeded(4);
        let a = hill(&mut draw, 20, 4.0, 0.01);
        let twice: Vec<Vec<f64>> =
            a.iter().map(|round| round.iter().map(|value| value * 2.0).collect()).collect();
        let same = shape_differences(&a, &twice, 0.05).unwrap();
        assert!(
            same.iter().all(|interval| interval.low.abs() < 1e-9 && interval.high.abs() < 1e-9),
            "{same:?}"
        );
        let other = shape_differences(&a, &hill(&mut draw, 20, 6.0, 0.01), 0.05).unwrap();
        assert!(
            other.iter().any(|interval| interval.low > 0.05 || interval.high < -0.05),
            "{other:?}"
        );
    }
}
