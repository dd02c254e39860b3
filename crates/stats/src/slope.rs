//! What a step along a number adds: the slope of a line through points, of which some may be off.

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
    #[test]
    fn one_point_that_is_off_does_not_bend_the_slope() {
        let line = |x: f64| (x, 100.0 + 0.5 * x);
        let points = [line(1.0), line(100.0), line(1000.0), (5000.0, 9e6), line(8000.0)];
        assert_eq!(super::theil_sen(&points), Some(0.5));
        assert_eq!(super::theil_sen(&points[..1]), None);
    }
}
