//! Where the level changes within a launch, and from which sample on it is steady.
//!
//! Warm-up is not a fixed number of messages: caches, clock speed and the scheduler's mind
//! settle when they do. A launch is cut into batches, and the optimal segmentation of the
//! batch medians says where the level changed. Nothing is discarded here: a launch without
//! a steady tail is marked, not repaired.

use super::quantile::{median, mid_quantile};

/// Batches per launch; fewer where there are fewer samples.
const BATCHES: usize = 50;

/// Shortest segment, in batches.
const SHORTEST: usize = 3;

/// Cost of a change, in units of the variance of the scores. With 50 batches 1 % of the
/// stationary launches need more than 10.7 to be found steady, whatever their distribution
/// (the scores depend on ranks only), and fewer batches need less.
const PENALTY: f64 = 11.0;

/// Levels closer than this, relative, are the same level.
const SAME_LEVEL: f64 = 0.02;

/// The optimal segmentation of `values` by the sum of squared deviations from the segment
/// means plus `penalty` per change: the index at which each new segment starts, ascending,
/// without 0 and without the end. Segments have at least `min_segment` values.
///
/// PELT: Killick, Fearnhead and Eckley (2012), "Optimal detection of changepoints with a
/// linear computational cost". The outcome is that of `Pelt(model="l2", jump=1)` of the
/// Python package ruptures. `penalty` is in squared units of the values.
///
/// Empty when there are fewer than two segments' worth of values. Panics on NaN and when
/// `min_segment` is 0.
pub fn pelt(values: &[f64], penalty: f64, min_segment: usize) -> Vec<usize> {
    assert!(min_segment > 0, "a segment of no values");
    assert!(!values.iter().any(|x| x.is_nan()), "change points of NaN");
    let n = values.len();
    if n < 2 * min_segment {
        return Vec::new();
    }
    let cost = SquaredError::of(values);
    // best[end]: cheapest segmentation of ..end, and where its last segment starts.
    let mut best = vec![(f64::INFINITY, 0); n + 1];
    best[0].0 = -penalty;
    // Starts that may still be optimal, each with the end at which it no longer is.
    let mut starts: Vec<(usize, usize)> = Vec::new();
    for end in min_segment..=n {
        starts.push((end - min_segment, usize::MAX));
        starts.retain(|&(_, retired)| end < retired);
        let until = |start: usize| best[start].0 + cost.between(start, end);
        let (least, from) = starts
            .iter()
            .map(|&(start, _)| (until(start), start))
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .expect("one start was just added");
        // A start that is worse than a change here is so for every end that a change here
        // can have, the first of which is min_segment away.
        for (start, retired) in &mut starts {
            if until(*start) > least + penalty {
                *retired = (*retired).min(end + min_segment);
            }
        }
        best[end] = (least + penalty, from);
    }

    let mut changes = Vec::new();
    let mut end = best[n].1;
    while end > 0 {
        changes.push(end);
        end = best[end].1;
    }
    changes.reverse();
    changes
}

/// Sums of squared deviations from the mean of any stretch, in constant time.
struct SquaredError {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl SquaredError {
    fn of(values: &[f64]) -> Self {
        // About the overall mean, so that little is lost in the difference of squares.
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let mut sums = vec![0.0];
        let mut squares = vec![0.0];
        for (i, x) in values.iter().map(|x| x - mean).enumerate() {
            sums.push(sums[i] + x);
            squares.push(squares[i] + x * x);
        }
        SquaredError { sums, squares }
    }

    fn between(&self, start: usize, end: usize) -> f64 {
        let sum = self.sums[end] - self.sums[start];
        self.squares[end] - self.squares[start] - sum * sum / (end - start) as f64
    }
}

/// The medians of `batches` consecutive batches whose sizes differ by at most one, in ticks.
///
/// Mid-distribution medians, so that a coarse clock doesn't turn noise into steps. With fewer
/// samples than `batches` each sample is a batch.
pub fn batch_medians(samples: &[u64], batches: usize) -> Vec<f64> {
    let batches = batches.min(samples.len());
    let mut batch = Vec::new();
    (0..batches)
        .map(|i| {
            batch.clear();
            batch.extend(
                &samples[batch_start(i, batches, samples)..batch_start(i + 1, batches, samples)],
            );
            batch.sort_unstable();
            mid_quantile(&batch, 0.5)
        })
        .collect()
}

fn batch_start(batch: usize, batches: usize, samples: &[u64]) -> usize {
    (batch as u128 * samples.len() as u128 / batches as u128) as usize
}

/// Whether a launch has a steady tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steady {
    /// The tail from `from` on is at least half of the launch.
    pub steady: bool,
    /// Index of the first sample of the tail on one level.
    pub from: usize,
}

/// From which sample on the launch stays on one level.
///
/// The medians of 50 batches are replaced by normal scores of their ranks (van der Waerden),
/// so that neither skew nor a single stall passes as a change, and a stationary launch is
/// called unsteady at a known rate (below 1 %) whatever its distribution; then segmented by
/// [`pelt`]. The tail goes back from the end over all segments whose level, the median of
/// their batch medians, is within 2 % of the last one. The tail is then ranked and segmented
/// again by itself, until it is one piece: a drift has no last step.
///
/// Fewer than 6 samples can't show anything: not steady, `from` is their number.
pub fn steady_from(samples: &[u64]) -> Steady {
    let medians = batch_medians(samples, BATCHES);
    if medians.len() < 2 * SHORTEST {
        return Steady { steady: false, from: samples.len() };
    }
    let mut from = 0;
    loop {
        let later = last_level_from(&medians[from..]);
        if later == 0 {
            break;
        }
        from += later;
    }
    let from = batch_start(from, medians.len(), samples);
    Steady { steady: 2 * (samples.len() - from) >= samples.len(), from }
}

/// The first of the trailing values that are on the level of the last segment.
fn last_level_from(medians: &[f64]) -> usize {
    let mut ends = pelt(&normal_scores(medians), PENALTY, SHORTEST);
    ends.push(medians.len());
    let level = |start: usize, end: usize| {
        let mut segment = medians[start..end].to_vec();
        segment.sort_unstable_by(f64::total_cmp);
        median(&segment)
    };
    let mut from = ends.iter().rev().nth(1).copied().unwrap_or(0);
    let last = level(from, medians.len());
    while from > 0 {
        let start = ends.iter().rev().copied().find(|&end| end < from).unwrap_or(0);
        let here = level(start, from);
        if here != last && (here - last).abs() >= SAME_LEVEL * last {
            break;
        }
        from = start;
    }
    from
}

/// Each value's rank (mean rank where tied) as a quantile of the standard normal.
fn normal_scores(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut scores = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|&i, &j| values[i] == values[j]) {
        let middle = before as f64 + tied.len() as f64 / 2.0;
        before += tied.len();
        tied.iter().for_each(|&i| scores[i] = normal_quantile(middle / values.len() as f64));
    }
    scores
}

/// Abramowitz and Stegun 26.2.23; the error of up to 4.5e-4 is nothing to a score.
fn normal_quantile(p: f64) -> f64 {
    let t = (-2.0 * p.min(1.0 - p).ln()).sqrt();
    let upper = t
        - (2.515517 + t * (0.802853 + t * 0.010328))
            / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
    if p < 0.5 { -upper } else { upper }
}

#[cfg(test)]
mod tests {
    use super::super::draw::{Draw, Shape};
    use super::*;

    const TICKS: f64 = 1000.0;

    #[test]
    fn nothing_to_segment() {
        for values in [&[][..], &[1.0], &[1.0, 9.0, 1.0]] {
            assert!(pelt(values, 0.1, 2).is_empty());
        }
        assert!(pelt(&[4.0; 40], 1.0, 3).is_empty());
    }

    #[test]
    fn steps_are_found_where_they_are() {
        let values: Vec<f64> =
            (0..60).map(|i| f64::from(i / 20 % 2) * 5.0 + f64::from(i * 7 % 5) / 5.0).collect();
        assert_eq!(pelt(&values, 3.0, 3), [20, 40]);
        assert!(pelt(&values, 1000.0, 3).is_empty());
    }

    #[test]
    #[should_panic(expected = "NaN")]
    fn nan_is_refused() {
        pelt(&[f64::NAN; 10], 1.0, 2);
    }

    #[test]
    fn pruning_loses_no_optimum() {
        let mut draw = Draw::seeded(8);
        for _ in 0..60 {
            let values = draw.many(40, |d| d.normal() + if d.uniform() < 0.3 { 2.0 } else { 0.0 });
            for (penalty, min) in [(0.5, 1), (1.0, 3), (2.0, 5)] {
                let cost = |changes: &[usize]| {
                    let error = SquaredError::of(&values);
                    let mut ends = changes.to_vec();
                    ends.push(values.len());
                    let starts = std::iter::once(0).chain(changes.iter().copied());
                    let errors: f64 = starts.zip(&ends).map(|(a, &b)| error.between(a, b)).sum();
                    errors + penalty * changes.len() as f64
                };
                let found = cost(&pelt(&values, penalty, min));
                let least = cost(&unpruned(&values, penalty, min));
                assert!(found <= least + 1e-9, "{found} > {least} at {penalty}, {min}");
            }
        }
    }

    /// The same recursion over every start.
    fn unpruned(values: &[f64], penalty: f64, min: usize) -> Vec<usize> {
        let error = SquaredError::of(values);
        let mut best: Vec<(f64, Vec<usize>)> = vec![(f64::INFINITY, vec![]); values.len() + 1];
        best[0].0 = -penalty;
        for end in min..=values.len() {
            for start in 0..=end - min {
                let total = best[start].0 + error.between(start, end) + penalty;
                if total < best[end].0 {
                    let mut changes = best[start].1.clone();
                    changes.extend(Some(start).filter(|&start| start > 0));
                    best[end] = (total, changes);
                }
            }
        }
        best.pop().unwrap().1
    }

    #[test]
    fn batches_share_the_samples() {
        assert!(batch_medians(&[], 50).is_empty());
        assert_eq!(batch_medians(&[3, 4], 50), [3.0, 4.0]);
        assert_eq!(batch_medians(&[1, 2, 3, 4, 5, 6, 7], 2), [2.0, 5.5]);
    }

    #[test]
    fn stationary_noise_is_steady() {
        let shapes: [Shape; 3] = [
            ("exponential", |d| TICKS * d.exponential()),
            ("log-normal", |d| TICKS * (1.2 * d.normal()).exp()),
            ("two modes", |d| d.bimodal(0.3, 0.1)),
        ];
        for (name, one) in shapes {
            for samples in [50, 200] {
                const RUNS: usize = 1000;
                let mut draw = Draw::seeded(9);
                let alarms = (0..RUNS)
                    .filter(|_| steady_from(&draw.many(samples, |d| one(d) as u64)).from > 0)
                    .count();
                // 1 % and three standard errors.
                assert!(alarms <= 19, "{name}, {samples} samples: {alarms} of {RUNS}");
            }
        }
    }

    /// 5000 samples, `slow` of them at the start slower by `factor`.
    fn warming_up(slow: usize, factor: f64) -> Vec<u64> {
        let mut draw = Draw::seeded(10);
        let mut samples = draw.many(5000, |d| TICKS * (1.0 + 0.05 * d.exponential()));
        samples[..slow].iter_mut().for_each(|x| *x *= factor);
        samples.into_iter().map(|x| x as u64).collect()
    }

    #[test]
    fn warm_up_is_found_and_the_rest_is_steady() {
        assert_eq!(steady_from(&warming_up(0, 1.0)), Steady { steady: true, from: 0 });
        assert_eq!(steady_from(&warming_up(300, 1.5)), Steady { steady: true, from: 300 });
        assert_eq!(steady_from(&warming_up(2000, 1.1)), Steady { steady: true, from: 2000 });
    }

    #[test]
    fn a_late_change_leaves_no_steady_tail() {
        assert_eq!(steady_from(&warming_up(3500, 0.8)), Steady { steady: false, from: 3500 });
    }

    #[test]
    fn one_percent_is_the_same_level_and_a_slow_drift_is_not() {
        assert_eq!(steady_from(&warming_up(2500, 1.01)), Steady { steady: true, from: 0 });
        let drift: Vec<u64> = (0..5000).map(|i| 100_000 + 4 * i).collect();
        assert!(!steady_from(&drift).steady);
    }

    #[test]
    fn few_or_equal_samples() {
        assert_eq!(steady_from(&[]), Steady { steady: false, from: 0 });
        assert_eq!(steady_from(&[7; 5]), Steady { steady: false, from: 5 });
        assert_eq!(steady_from(&[7; 6]), Steady { steady: true, from: 0 });
        assert_eq!(steady_from(&[0; 500]), Steady { steady: true, from: 0 });
    }

    #[test]
    fn normal_scores_share_ties() {
        let scores = normal_scores(&[5.0, 1.0, 5.0, 9.0]);
        assert_eq!(scores[0], scores[2]);
        assert!(scores[0].abs() < 1e-3 && (scores[1] + scores[3]).abs() < 1e-9);
        assert!((scores[3] - 1.150349).abs() < 5e-4);
    }
}
