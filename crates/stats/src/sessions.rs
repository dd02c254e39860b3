//! The median of a quantity over sessions that differ among themselves.

use super::interval::Interval;
use super::quantile::median;
use super::share::student;

/// What the interval covers where logarithms of session medians are normal.
const COVERAGE: f64 = 0.95;

/// The median of `medians`, one a session, with Student's interval of the mean of their logarithms: so few
/// have no order-statistic interval. It holds what varies within sessions and between them, for each median
/// has both. `None` for fewer than two, or where one is not positive and finite.
pub fn over_sessions(medians: &[f64]) -> Option<Interval> {
    let n = medians.len() as f64;
    if medians.len() < 2 || medians.iter().any(|median| !median.is_finite() || *median <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = medians.iter().map(|median| median.ln()).collect();
    let mean = logs.iter().sum::<f64>() / n;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = student(n - 1.0) * (variance / n).sqrt();
    let mut sorted = medians.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    // Rounding alone could leave the median of equal values outside.
    let estimate = median(&sorted);
    let (low, high) = ((mean - half).exp().min(estimate), (mean + half).exp().max(estimate));
    Some(Interval { estimate, low, high, coverage: COVERAGE })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_sessions_have_students_interval_of_their_logarithms() {
        let found = over_sessions(&[36.0, 41.0, 52.0]).unwrap();
        // scipy.stats.t.interval(0.95, 2, numpy.mean(l), scipy.stats.sem(l)), exponentiated.
        let (low, high) = (26.741892, 67.535845);
        assert!((found.low / low - 1.0).abs() < 1e-5, "{found:?}");
        assert!((found.high / high - 1.0).abs() < 1e-5, "{found:?}");
        assert_eq!(found.estimate, 41.0);
        assert_eq!(over_sessions(&[1.0]), None);
        assert_eq!(over_sessions(&[1.0, 0.0]), None);
        let equal = over_sessions(&[0.3; 3]).unwrap();
        assert!((equal.low..=equal.high).contains(&0.3));
    }
}
