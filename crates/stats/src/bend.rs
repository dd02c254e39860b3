//! Where a curve over message size bends: beyond what the intervals of its points allow.
//!
//! On two logarithmic axes a power law is a straight line. Three neighbouring sizes show a bend
//! when no straight line passes through their three intervals; otherwise the data can't tell,
//! and nothing is said.

/// A bend smaller than this, in units of the slope, is none that anybody would look for.
pub const LEAST_BEND: f64 = 0.2;

/// A value at a place of the curve, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// What was varied, above 0.
    pub x: f64,
    /// The value, above 0.
    pub y: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Where a curve bends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    /// Index of the point.
    pub at: usize,
    /// Slope of log(y) against log(x) from the point before.
    pub before: f64,
    /// Slope to the point after.
    pub after: f64,
}

/// The bends of a curve whose points are in the order of x.
///
/// A point is one if no straight line (in logarithms) passes through its interval and those of
/// its two neighbours, and the least change of slope that the intervals leave is
/// [`LEAST_BEND`]. Of bends that follow each other in the same direction the sharpest stays: a
/// round corner is one bend. If every interval covers with 95 %, a straight stretch is called
/// a bend with at most 15 %, far less in practice. Points that are not finite and above 0, or
/// not in order, tell nothing.
pub fn bends(points: &[CurvePoint]) -> Vec<Bend> {
    let mut found: Vec<(Bend, f64)> = Vec::new();
    for (nth, three) in points.windows(3).enumerate() {
        let Some((bend, least)) = bend_of(nth + 1, three) else { continue };
        let same_corner = |last: &(Bend, f64)| last.0.at == nth && last.1 * least > 0.0;
        match found.last_mut() {
            Some(last) if same_corner(last) && last.1.abs() >= least.abs() => {
                // The corner goes on, and is named by its sharpest point.
            }
            Some(last) if same_corner(last) => *last = (bend, least),
            _ => found.push((bend, least)),
        }
    }
    found.into_iter().map(|(bend, _)| bend).collect()
}

/// The bend in the middle of three points, and the least change that the intervals leave.
fn bend_of(at: usize, three: &[CurvePoint]) -> Option<(Bend, f64)> {
    let usable = |it: &CurvePoint| {
        [it.x, it.y, it.low, it.high].iter().all(|v| v.is_finite() && *v > 0.0) && it.low <= it.high
    };
    if !three.iter().all(usable) || !three.is_sorted_by(|a, b| a.x < b.x) {
        return None;
    }
    let [left, right] = [1, 2].map(|nth| (three[nth].x / three[nth - 1].x).ln());
    let change = |first: f64, middle: f64, last: f64| {
        (last / middle).ln() / right - (middle / first).ln() / left
    };
    let [a, b, c] = [three[0], three[1], three[2]];
    // The change grows with the outer values and falls with the middle one.
    let (least, most) = (change(a.low, b.high, c.low), change(a.high, b.low, c.high));
    let sure = match (least > 0.0, most < 0.0) {
        (true, _) => least,
        (_, true) => most,
        _ => return None,
    };
    let bend = Bend { at, before: (b.y / a.y).ln() / left, after: (c.y / b.y).ln() / right };
    (sure.abs() >= LEAST_BEND).then_some((bend, sure))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points at 64, 256, 1 KiB …, each with an interval of ± `half`.
    fn curve(values: &[f64], half: f64) -> Vec<CurvePoint> {
        let point = |(nth, y): (usize, &f64)| CurvePoint {
            x: 64.0 * 4f64.powi(nth as i32),
            y: *y,
            low: y * (1.0 - half),
            high: y * (1.0 + half),
        };
        values.iter().enumerate().map(point).collect()
    }

    fn places(points: &[CurvePoint]) -> Vec<usize> {
        bends(points).iter().map(|bend| bend.at).collect()
    }

    #[test]
    fn a_power_law_is_straight() {
        for slope in [0.0, 0.5, 1.0] {
            let values: Vec<f64> =
                (0..6).map(|nth| 100.0 * 4f64.powf(slope * f64::from(nth))).collect();
            assert!(bends(&curve(&values, 0.0)).is_empty(), "slope {slope}");
        }
    }

    #[test]
    fn a_corner_is_found_with_its_slopes() {
        let found = bends(&curve(&[5.0, 5.0, 5.0, 20.0, 80.0], 0.02));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].at, 2);
        assert!(found[0].before.abs() < 1e-9 && (found[0].after - 1.0).abs() < 1e-9);
    }

    #[test]
    fn wide_intervals_hide_it() {
        assert!(places(&curve(&[5.0, 5.0, 5.0, 20.0, 80.0], 0.6)).is_empty());
    }

    #[test]
    fn a_round_corner_is_one_bend_and_two_directions_are_two() {
        assert_eq!(places(&curve(&[5.0, 5.0, 6.5, 15.0, 60.0, 240.0], 0.01)), [2]);
        assert_eq!(places(&curve(&[5.0, 5.0, 20.0, 20.0, 20.0], 0.01)), [1, 2]);
    }

    #[test]
    fn a_slight_curvature_is_no_bend_however_sure() {
        assert!(places(&curve(&[5.0, 5.0, 5.5], 0.0001)).is_empty());
    }

    #[test]
    fn what_is_no_curve_has_no_bends() {
        assert!(places(&[]).is_empty());
        assert!(places(&curve(&[5.0, 80.0], 0.0)).is_empty());
        assert!(places(&curve(&[5.0, f64::NAN, 80.0], 0.0)).is_empty());
        assert!(places(&curve(&[5.0, 0.0, 80.0], 0.0)).is_empty());
        let mut turned = curve(&[5.0, 5.0, 80.0], 0.0);
        turned.reverse();
        assert!(places(&turned).is_empty());
    }
}
