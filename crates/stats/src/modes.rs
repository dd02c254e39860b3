//! Do the launches of a case fall into two modes?
//!
//! Spinning across CPUs, a launch settles at 80–130 or at 400–500 ns, by which caches it was
//! given; a median over such launches describes none of them. The values are split in two
//! where that explains most of their variance (on the log scale), and the share that is left
//! within the two groups is compared with what splitting leaves of one-mode shapes.

use super::quantile::median;

/// Fewer values than this are not tested.
const FEWEST: usize = 8;

/// A mode needs this many launches: one launch apart is an outlier.
const FEWEST_IN_MODE: usize = 2;

/// Modes whose medians are closer than this ratio are not worth two headlines; it also keeps
/// the steps of a coarse clock from passing as modes.
const SMALLEST_RATIO: f64 = 1.05;

/// The levels of the columns of [`CRITICAL`].
const LEVELS: [f64; 3] = [0.01, 0.001, 0.0001];

/// For each number of values: the share of variance within the best two groups below which
/// there are two modes, at each level.
///
/// Simulated by tests/oracle/mode_critical_values.py: the lowest quantile over a uniform, a
/// gamma (shape 1/2), a log-normal (σ 1) and a t distribution (3 degrees of freedom), *of the
/// logarithms*; normal, exponential (either way up), Gumbel and Laplace shapes alarm less
/// often than these.
const CRITICAL: [(usize, [f64; LEVELS.len()]); 11] = [
    (FEWEST, [0.0202, 0.0053, 0.0016]),
    (10, [0.0303, 0.0099, 0.0036]),
    (12, [0.0401, 0.0162, 0.0065]),
    (15, [0.0540, 0.0247, 0.0120]),
    (20, [0.0751, 0.0391, 0.0199]),
    (25, [0.0927, 0.0494, 0.0260]),
    (30, [0.1053, 0.0585, 0.0325]),
    (40, [0.1253, 0.0723, 0.0408]),
    (50, [0.1415, 0.0861, 0.0501]),
    (70, [0.1671, 0.1073, 0.0615]),
    (100, [0.1857, 0.1329, 0.0828]),
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Median of the mode's values, in their unit.
    pub center: f64,
    /// Share of all values, 0..=1.
    pub share: f64,
    /// Values in the mode; at least 2.
    pub count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    pub low: Mode,
    pub high: Mode,
    /// Share of the variance of the logarithms that is left within the modes, 0..=1.
    pub within: f64,
    /// Upper bound for p of "one mode": 0.01, 0.001 or 0.0001, the smallest that is reached.
    pub p: f64,
}

/// Tests positive values (in any order) for two modes at 1 %; `None` when there is no
/// evidence for two.
///
/// The statistic is that of the likelihood-ratio test for two normal groups against one
/// (Engelman and Hartigan 1969, "Percentage points of a test for clusters"), with splits
/// restricted to at least two values on either side; its critical values are those of the
/// least favourable of several one-mode shapes, most of them skewed or heavy-tailed. Between
/// tabulated numbers of values the stricter row is used.
///
/// `None` also for fewer than 8 values, a value that is not positive and finite, or modes
/// whose medians differ by less than 5 %.
pub fn two_modes(values: &[f64]) -> Option<Modes> {
    if values.len() < FEWEST || values.iter().any(|x| !x.is_finite() || *x <= 0.0) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let (split, within) = best_split(&sorted)?;
    let p = smallest_level(sorted.len(), within)?;

    let (low, high) = sorted.split_at(split);
    let mode = |part: &[f64]| Mode {
        center: median(part),
        share: part.len() as f64 / sorted.len() as f64,
        count: part.len(),
    };
    let modes = Modes { low: mode(low), high: mode(high), within, p };
    (modes.high.center / modes.low.center >= SMALLEST_RATIO).then_some(modes)
}

/// Where to split sorted values so that the least variance of their logarithms is left within
/// the parts, and the share that is left; `None` when all values are equal.
fn best_split(sorted: &[f64]) -> Option<(usize, f64)> {
    let n = sorted.len();
    let logs: Vec<f64> = sorted.iter().map(|x| x.ln()).collect();
    let mean = logs.iter().sum::<f64>() / n as f64;
    let total: f64 = logs.iter().map(|x| (x - mean).powi(2)).sum();
    if sorted[0] == sorted[n - 1] || total == 0.0 {
        return None;
    }
    let mut best = (0, 0.0);
    let mut sum = 0.0;
    for (low, x) in (1..=n - FEWEST_IN_MODE).zip(&logs) {
        sum += x - mean;
        // The deviations of both parts sum to zero.
        let between = sum * sum * (1.0 / low as f64 + 1.0 / (n - low) as f64);
        if low >= FEWEST_IN_MODE && between > best.1 {
            best = (low, between);
        }
    }
    Some((best.0, (1.0 - best.1 / total).max(0.0)))
}

fn smallest_level(n: usize, within: f64) -> Option<f64> {
    let (_, critical) = CRITICAL.iter().rev().find(|(count, _)| *count <= n)?;
    let reached = critical.iter().zip(LEVELS).rev().find(|(bound, _)| within < **bound);
    reached.map(|(_, level)| level)
}

#[cfg(test)]
mod tests {
    use super::super::draw::{Draw, Shape};
    use super::*;

    /// How often are two modes found among `n` such launches?
    fn found(n: usize, seed: u64, runs: usize, mut one: impl FnMut(&mut Draw) -> f64) -> f64 {
        let mut draw = Draw::seeded(seed);
        let hits = (0..runs).filter(|_| two_modes(&draw.many(n, &mut one)).is_some()).count();
        hits as f64 / runs as f64
    }

    #[test]
    fn one_mode_is_hardly_ever_called_two() {
        let shapes: [Shape; 7] = [
            ("normal", |d| 100.0 + 15.0 * d.normal()),
            ("log-normal", |d| (0.7 * d.normal()).exp()),
            ("exponential", |d| d.exponential()),
            ("shifted exponential", |d| 100.0 + 20.0 * d.exponential()),
            ("gamma of shape 2", |d| d.exponential() + d.exponential()),
            ("shifted log-normal", |d| 100.0 + 10.0 * d.normal().exp()),
            ("uniform", |d| 100.0 + 100.0 * d.uniform()),
        ];
        for (name, one) in shapes {
            for n in [12, 20, 30, 50, 100] {
                const RUNS: usize = 1000;
                // 1 % and three standard errors.
                let limit = 0.01 + 3.0 * (0.01f64 * 0.99 / RUNS as f64).sqrt();
                let rate = found(n, n as u64, RUNS, one);
                assert!(rate <= limit, "{name}, {n} launches: {rate}");
            }
        }
    }

    #[test]
    fn a_third_of_slow_launches_is_found() {
        // At 12 launches 8.5 % of the runs have fewer than two in the smaller mode.
        for (spread, n, rate) in
            [(0.05, 12, 0.90), (0.1, 12, 0.85), (0.05, 20, 0.98), (0.1, 20, 0.98)]
        {
            let found = found(n, 6, 1000, |draw| draw.bimodal(0.3, spread));
            assert!(found >= rate, "spread {spread}, {n} launches: {found}");
        }
    }

    #[test]
    fn a_few_slow_launches_are_found_among_many() {
        for (n, rate) in [(30, 0.9), (50, 0.98), (100, 0.99)] {
            let found = found(n, 7, 1000, |draw| draw.bimodal(0.15, 0.1));
            assert!(found >= rate, "{n} launches: {found}");
        }
    }

    #[test]
    fn modes_are_described() {
        let values = [100., 104., 450., 102., 98., 96., 440., 101., 99., 460., 103., 97.];
        let modes = two_modes(&values).unwrap();
        assert_eq!(modes.low, Mode { center: 100.0, share: 0.75, count: 9 });
        assert_eq!(modes.high, Mode { center: 450.0, share: 0.25, count: 3 });
        assert_eq!(modes.p, 0.0001);
    }

    #[test]
    fn one_launch_apart_is_not_a_mode() {
        let mut values = [100., 104., 106., 102., 98., 96., 94., 101., 99., 105., 103., 1e6];
        assert_eq!(two_modes(&values), None);
        values[0] = 1e-3;
        assert_eq!(two_modes(&values), None);
    }

    #[test]
    fn clock_steps_and_equal_values_are_not_modes() {
        assert_eq!(two_modes(&[5.0; 20]), None);
        let steps: Vec<f64> = (0..20).map(|i| f64::from(41 + i % 2)).collect();
        assert_eq!(two_modes(&steps), None);
        let two: Vec<f64> = (0..20).map(|i| f64::from(41 * (1 + i % 2))).collect();
        assert!(two_modes(&two).unwrap().within < 1e-12);
    }

    #[test]
    fn too_few_or_unfit_values_are_not_tested() {
        let values = [1., 1.01, 1.02, 1.03, 5., 5.01, 5.02, 5.03];
        assert!(two_modes(&values).is_some());
        assert_eq!(two_modes(&values[..7]), None);
        assert_eq!(two_modes(&[]), None);
        for unfit in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut values = values;
            values[2] = unfit;
            assert_eq!(two_modes(&values), None);
        }
    }
}
