//! What tracing costs by how often it is done: a straight line through levels (how often it is done), round by round.
//!
//! The line is fitted to the levels alone (once, twice, four times over), never to the measured
//! "none": where it meets level none is then a prediction that the measurement can refute. If it
//! meets, the price is linear and may be subtracted; if not, the first level costs more, or less,
//! than those that follow.

use super::interval::{Interval, median_interval, sign_test};

/// A line through levels, with intervals over rounds; in the units of the values.
#[derive(Clone, Debug, PartialEq)]
pub struct OverheadLine {
    /// What one level more costs.
    pub slope: Interval,
    /// Where the line meets level none.
    pub at_none: Interval,
    /// By how much it misses there what was measured without any, as a share of that: 0.1 ends a
    /// tenth above it. A difference, because a steep line may end below zero.
    pub miss: Interval,
    /// The same at twice the error probability: inside a margin, it meets.
    pub miss_narrow: Interval,
    /// Exact p of the sign test of "it meets".
    pub p: f64,
}

/// The line through the levels, by least squares in each round, over all rounds their
/// median. `rounds[r]` holds a value for each of `levels`, `none[r]` the one without any.
///
/// `None` with fewer than two different levels, too few rounds for an interval at `1 - alpha`, or
/// where lengths differ, a value is not finite, or one of `none` is not above 0.
pub fn overhead_line(
    levels: &[f64],
    rounds: &[Vec<f64>],
    none: &[f64],
    alpha: f64,
) -> Option<OverheadLine> {
    let fits = |values: &Vec<f64>| values.len() == levels.len();
    let finite = |values: &Vec<f64>| values.iter().all(|x| x.is_finite());
    if rounds.len() != none.len()
        || !rounds.iter().all(finite)
        || !rounds.iter().all(fits)
        || none.iter().any(|value| *value <= 0.0)
    {
        return None;
    }
    let middle = levels.iter().sum::<f64>() / levels.len() as f64;
    let spread: f64 = levels.iter().map(|level| (level - middle).powi(2)).sum();
    if levels.is_empty() || !spread.is_finite() || spread <= 0.0 {
        return None;
    }
    let slope_of = |values: &Vec<f64>| {
        let weighed = levels.iter().zip(values).map(|(level, value)| (level - middle) * value);
        weighed.sum::<f64>() / spread
    };
    let slopes: Vec<f64> = rounds.iter().map(slope_of).collect();
    let mean = |values: &Vec<f64>| values.iter().sum::<f64>() / levels.len() as f64;
    let at_none: Vec<f64> =
        rounds.iter().zip(&slopes).map(|(values, slope)| mean(values) - slope * middle).collect();
    let misses: Vec<f64> = at_none.iter().zip(none).map(|(end, none)| end / none - 1.0).collect();
    Some(OverheadLine {
        slope: median_interval(&slopes, alpha)?,
        at_none: median_interval(&at_none, alpha)?,
        miss: median_interval(&misses, alpha)?,
        miss_narrow: median_interval(&misses, 2.0 * alpha)?,
        p: sign_test(&misses),
    })
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
    use super::super::draw::Draw;
    use super::*;

    const LEVELS: [f64; 3] = [1.0, 2.0, 4.0];

    /// Rounds whose price is `first` for the first level and `more` for each further one.
    fn measured(draw: &mut Draw, n: usize, first: f64, more: f64) -> (Vec<Vec<f64>>, Vec<f64>) {
        let value = |draw: &mut Draw, level: f64| {
            let price = if level > 0.0 { first + more * (level - 1.0) } else { 0.0 };
            (4000.0 + price) * (0.01 * draw.normal()).exp()
        };
        let mut one = || {
            let none = value(draw, 0.0);
            (LEVELS.iter().map(|level| value(draw, *level)).collect(), none)
        };
        (0..n).map(|_| one()).unzip()
    }

    #[test]
    fn a_line_without_noise_is_read_off() {
        let rounds = vec![vec![110.0, 120.0, 140.0]; 12];
        let line = overhead_line(&LEVELS, &rounds, &[100.0; 12], 0.05).unwrap();
        assert!((line.slope.estimate - 10.0).abs() < 1e-12);
        assert!((line.at_none.estimate - 100.0).abs() < 1e-12);
        assert!(line.miss.estimate.abs() < 1e-12);
    }

    #[test]
    fn what_is_no_line_has_none() {
        let rounds = vec![vec![110.0, 120.0, 140.0]; 12];
        let none = [100.0; 12];
        assert_eq!(overhead_line(&[], &[vec![]], &[1.0], 0.05), None);
        assert_eq!(overhead_line(&[2.0, 2.0, 2.0], &rounds, &none, 0.05), None);
        assert_eq!(overhead_line(&LEVELS, &rounds[..5], &none[..5], 0.05), None);
        assert_eq!(overhead_line(&LEVELS, &rounds, &none[..5], 0.05), None);
        let below =
            overhead_line(&LEVELS, &vec![vec![1.0, 120.0, 340.0]; 12], &none, 0.05).unwrap();
        assert!(below.at_none.estimate < 0.0 && below.miss.high < -1.0, "{below:?}");
        assert_eq!(overhead_line(&LEVELS, &rounds, &[0.0; 12], 0.05), None);
    }

    /// Where the price is linear, the check of 12 rounds refuses it in 3.86 % of the cases, but for three standard
    /// errors; where the first level costs 400 more than the others, it is found.
    #[test]
    fn the_check_holds_for_a_linear_price_and_finds_another() {
        let mut draw = Draw::seeded(61);
        let draws = 2000;
        let refused = |draw: &mut Draw, first: f64| {
            let (rounds, none) = measured(draw, 12, first, 500.0);
            let line = overhead_line(&LEVELS, &rounds, &none, 0.05).unwrap();
            line.miss.low > 0.0 || line.miss.high < 0.0
        };
        let alarms = (0..draws).filter(|_| refused(&mut draw, 500.0)).count();
        let share = alarms as f64 / f64::from(draws);
        let error = 2.0 * 79.0 / 4096.0;
        let slack = 3.0 * (error * (1.0 - error) / f64::from(draws)).sqrt();
        assert!((share - error).abs() <= slack, "{share} of the linear prices are refused");
        let found = (0..100).filter(|_| refused(&mut draw, 900.0)).count();
        assert!(found >= 95, "{found} of 100 found what isn't linear");
    }

    #[test]
    fn one_point_that_is_off_does_not_bend_the_slope() {
        let line = |x: f64| (x, 100.0 + 0.5 * x);
        let points = [line(1.0), line(100.0), line(1000.0), (5000.0, 9e6), line(8000.0)];
        assert_eq!(super::theil_sen(&points), Some(0.5));
        assert_eq!(super::theil_sen(&points[..1]), None);
    }
}
