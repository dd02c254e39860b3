//! A share of counts that come in clusters: messages lost, of those that were due, launch by launch.
//!
//! The estimate is the share of all counts together; a median of the launches' shares would call rare
//! events none. Its interval is Wilson's (1927), for as many independent counts as vary alike: fewer than
//! were counted, by the design effect (Kish 1965), where launches differ more than chance makes a
//! binomial share differ, as losses in bursts make them. The quantile is Student's, since the effect is
//! itself estimated from so few clusters (Korn and Graubard 1998 do the same to Clopper and Pearson's), and an
//! effect that is surely there counts twice: a few bursts of very different length show half of it.
//!
//! Where nothing was seen nothing tells how long a burst would be. It may take a whole launch, so the launches
//! are what was counted: none of twelve had any, and at most one in four can be such (Clopper and Pearson).

use schemars::JsonSchema;
use serde::Serialize;

use super::interval::Interval;
use super::quantile::median;

/// 97.5 % of a normal distribution lie below it.
const Z: f64 = 1.959_963_984_540_054;
/// 95 % of it lie below this.
const ONE_IN_TWENTY: f64 = 1.644_853_626_951_472_2;
/// Fewer clusters don't tell how much they differ.
pub const LEAST_CLUSTERS: usize = 6;

/// A share and the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Share {
    /// The share.
    pub share: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The share `part` of `all`, of which each is so or not by itself; None of nothing.
pub fn binomial_share(part: u64, all: u64) -> Option<Share> {
    (all > 0).then(|| wilson(part as f64 / all as f64, all as f64, Z))
}

/// The share of clusters of `(part, all)` together; None of nothing, and where they are fewer than
/// [`LEAST_CLUSTERS`].
pub fn clustered_share(clusters: &[(u64, u64)]) -> Option<Share> {
    let filled: Vec<(f64, f64)> = clusters
        .iter()
        .filter(|cluster| cluster.1 > 0)
        .map(|cluster| (cluster.0 as f64, cluster.1 as f64))
        .collect();
    if filled.len() < LEAST_CLUSTERS {
        return None;
    }
    let count = filled.len() as f64;
    let (part, all) = filled.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let share = part / all;
    let squares: f64 = filled.iter().map(|pair| (pair.0 - share * pair.1).powi(2)).sum();
    let between = count / (count - 1.0) * squares / (all * all);
    let binomial = share * (1.0 - share) / all;
    if binomial == 0.0 {
        return Some(without_any(share, count));
    }
    let effect = between / binomial;
    // Were each count by itself, the effect would be beyond this once in twenty times.
    let by_chance = 1.0 + ONE_IN_TWENTY * (2.0 / (count - 1.0)).sqrt();
    let effect = if effect > by_chance { 2.0 * effect } else { effect.max(1.0) };
    Some(wilson(share, all / effect, student(count - 1.0)))
}

/// The interval of none, or all, of so many clusters, each of which may be wholly so or not.
fn without_any(share: f64, clusters: f64) -> Share {
    let far = 1.0 - 0.025f64.powf(1.0 / clusters);
    if share == 0.0 {
        Share { share, low: 0.0, high: far }
    } else {
        Share { share, low: 1.0 - far, high: 1.0 }
    }
}

fn wilson(share: f64, n: f64, z: f64) -> Share {
    let center = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let variance = share * (1.0 - share) / n + z * z / (4.0 * n * n);
    let half = z / (1.0 + z * z / n) * variance.sqrt();
    // Of none the lower end is none, whatever rounding says; and of all the upper is all.
    let low = if share == 0.0 { 0.0 } else { (center - half).max(0.0) };
    let high = if share == 1.0 { 1.0 } else { (center + half).min(1.0) };
    Share { share, low, high }
}

/// The same of Student's distribution with 1 to 4 degrees of freedom.
const STUDENT: [f64; 4] = [12.706_205, 4.302_653, 3.182_446, 2.776_445];

/// 97.5 % of Student's distribution lie below it, to 0.0003 (from 5 degrees of freedom on by Cornish and
/// Fisher's expansion; Abramowitz and Stegun 26.7.5).
pub(super) fn student(freedom: f64) -> f64 {
    if freedom < 5.0 {
        return STUDENT[(freedom as usize).clamp(1, STUDENT.len()) - 1];
    }
    let power = |n: i32| Z.powi(n);
    Z + (power(3) + Z) / (4.0 * freedom)
        + (5.0 * power(5) + 16.0 * power(3) + 3.0 * Z) / (96.0 * freedom.powi(2))
        + (3.0 * power(7) + 19.0 * power(5) + 17.0 * power(3) - 15.0 * Z)
            / (384.0 * freedom.powi(3))
        + (79.0 * power(9) + 776.0 * power(7) + 1482.0 * power(5) - 1920.0 * power(3) - 945.0 * Z)
            / (92_160.0 * freedom.powi(4))
}

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

    /// `scipy.stats.t.ppf(0.975, df)` of SciPy 1.17.1.
    #[test]
    fn quantiles_are_students() {
        for (freedom, expected) in KNOWN {
            let found = student(freedom);
            assert!((found - expected).abs() < 0.000_3, "{freedom}: {found}");
        }
    }

    /// `scipy.stats.binomtest(part, all).proportion_ci(method="wilson")` of SciPy 1.17.1.
    #[test]
    fn shares_are_wilsons() {
        for (part, all, low, high) in WILSON {
            let share = binomial_share(part, all).unwrap();
            assert!(
                (share.low - low).abs() < 1e-9 && (share.high - high).abs() < 1e-9,
                "{share:?}"
            );
        }
        assert_eq!(binomial_share(0, 0), None);
        assert_eq!(binomial_share(7, 7).unwrap().high, 1.0);
        assert_eq!(binomial_share(0, 7).unwrap().low, 0.0);
    }

    #[test]
    fn clusters_that_differ_tell_less() {
        let alike = clustered_share(&[(10, 100); 12]).unwrap();
        let apart: Vec<(u64, u64)> =
            (0..12).map(|nth| (if nth < 2 { 60 } else { 0 }, 100)).collect();
        let apart = clustered_share(&apart).unwrap();
        assert_eq!((alike.share, apart.share), (0.1, 0.1));
        assert!(apart.high - apart.low > 3.0 * (alike.high - alike.low), "{apart:?} {alike:?}");
        // Never narrower than if each count were by itself.
        let each = binomial_share(120, 1200).unwrap();
        assert!(alike.low < each.low && alike.high > each.high);
        // One in a thousand is no median, and neither is it none.
        let mut rare = [(0, 120); 12];
        rare[4].0 = 2;
        let rare = clustered_share(&rare).unwrap();
        assert!(rare.share > 0.001 && rare.low < 0.001 && rare.high < 0.03, "{rare:?}");
        // None seen in twelve launches bounds launches, not messages; so does all.
        let none = clustered_share(&[(0, 120); 12]).unwrap();
        assert!((none.high - 0.264_648).abs() < 1e-6, "{none:?}");
        assert!((clustered_share(&[(120, 120); 12]).unwrap().low - 0.735_352).abs() < 1e-6);
        assert_eq!(clustered_share(&[(1, 100); 5]), None);
        assert_eq!(clustered_share(&[(0, 0); 12]), None);
    }

    const KNOWN: [(f64, f64); 5] = [
        (5.0, 2.570581835636),
        (8.0, 2.306004135204),
        (11.0, 2.200985160092),
        (19.0, 2.093024054408),
        (29.0, 2.045229642133),
    ];
    const WILSON: [(u64, u64, f64, f64); 5] = [
        (81, 263, 0.255288519878, 0.366209576983),
        (15, 148, 0.062386399531, 0.160487241723),
        (0, 20, 0.000000000000, 0.161125158053),
        (1, 29, 0.006113214293, 0.171755218793),
        (20, 20, 0.838874841947, 1.000000000000),
    ];

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
