//! Whether launches that follow each other are alike: then an interval of independent ones covers less than it says.

/// The correlation of each value with the one before it, of their logarithms (lag 1, about the common mean, with the
/// usual divisor n). `None` for fewer than three values, where all are equal, or one has no logarithm.
pub fn serial_correlation(values: &[f64]) -> Option<f64> {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let alike = logs.windows(2).all(|window| window[0] == window[1]);
    if logs.len() < 3 || alike || !logs.iter().all(|log| log.is_finite()) {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    let together: f64 = logs.windows(2).map(|window| (window[0] - mean) * (window[1] - mean)).sum();
    Some(together / variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_correlates_and_what_alternates_does_the_contrary() {
        assert_eq!(serial_correlation(&[1.0, 2.0]), None);
        assert_eq!(serial_correlation(&[3.0; 12]), None);
        assert_eq!(serial_correlation(&[3.0, 0.0, 3.0]), None);
        let (e, one) = (std::f64::consts::E, 1.0);
        let near = |values: &[f64], expected: f64| {
            let found = serial_correlation(values).unwrap();
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        };
        near(&[e, one, e, one], -0.75);
        near(&[e, e, one, one], 0.25);
    }
}
