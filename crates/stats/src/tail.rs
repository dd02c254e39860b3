//! On how many independent samples does a tail quantile rest?
//!
//! Slow messages come in bursts: one stolen time slice makes a hundred of them. A launch of
//! 10,000 samples may have seen the tail three times, and its p99 is then worth no more than
//! that of three hundred independent samples. What counts is the correlation between
//! exceedances of the quantile, not that between the samples themselves.

/// Largest lag at which correlation is summed. With 10 million samples a lag costs 156,250
/// words, so that the whole takes well under a second in a release build.
const MAX_LAG: usize = 1024;

/// Batches of the estimate that takes over where correlation outlasts [`MAX_LAG`].
const BATCHES: usize = 20;

/// The number of independent samples that tell as much about the `p`-quantile as these.
///
/// That is n over the integrated autocorrelation time of the indicator "above the
/// `p`-quantile", by the initial positive sequence of Geyer (1992), "Practical Markov chain
/// Monte Carlo": pairs of neighbouring lags are summed until a pair is not positive. Where
/// that hasn't happened by lag 1024, the variance between 20 batches is used if it says more
/// (Schmeiser 1982, "Batch size effects in the analysis of simulation output"): a disturbance
/// that lasts for a tenth of a launch is a few events, not thousands.
///
/// `samples` are in the order they were taken. At least 1, at most n; 0 for no samples, n
/// when all are equal. Panics unless `p` is strictly between 0 and 1.
pub fn effective_samples(samples: &[u64], p: f64) -> f64 {
    assert!(p > 0.0 && p < 1.0, "effective samples for p = {p}, not between 0 and 1");
    let n = samples.len();
    if n < 2 {
        return n as f64;
    }
    let above = Exceedances::of(samples, p);
    if above.variance() == 0.0 {
        return n as f64;
    }
    (n as f64 / above.correlation_time()).clamp(1.0, n as f64)
}

/// Which samples exceed a threshold, one bit each.
struct Exceedances {
    words: Vec<u64>,
    n: usize,
    share: f64,
}

impl Exceedances {
    fn of(samples: &[u64], p: f64) -> Self {
        let n = samples.len();
        let rank = ((p * n as f64).ceil() as usize).clamp(1, n);
        let mut scratch = samples.to_vec();
        let (_, &mut threshold, larger) = scratch.select_nth_unstable(rank - 1);
        // Ties may leave nothing above the quantile; then the quantile itself is the tail.
        let tied_to_the_top = larger.iter().all(|&x| x == threshold);
        let exceeds = |&x: &u64| u64::from(x > threshold || (tied_to_the_top && x == threshold));

        let word = |chunk: &[u64]| chunk.iter().rev().fold(0, |bits, x| bits << 1 | exceeds(x));
        let words: Vec<u64> = samples.chunks(64).map(word).collect();
        let count: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        Exceedances { words, n, share: count as f64 / n as f64 }
    }

    fn variance(&self) -> f64 {
        self.share * (1.0 - self.share)
    }

    /// Samples per independent sample.
    fn correlation_time(&self) -> f64 {
        let last = MAX_LAG.min(self.n - 1);
        let mut time = -1.0;
        for lag in (0..last).step_by(2) {
            let pair = self.correlation(lag) + self.correlation(lag + 1);
            if pair <= 0.0 {
                return time;
            }
            time += 2.0 * pair;
        }
        time.max(self.batch_correlation_time())
    }

    /// Autocorrelation at a lag, with the usual divisor n.
    fn correlation(&self, lag: usize) -> f64 {
        // Σ (xᵢ − m)(xᵢ₊ₗ − m) = both − m · (those counted from either side) + (n − lag) m².
        let both = self.both(lag) as f64;
        let counted = 2.0 * self.share * self.n as f64 - self.among_ends(lag) as f64;
        let sum = both - self.share * counted + (self.n - lag) as f64 * self.share.powi(2);
        sum / self.n as f64 / self.variance()
    }

    /// Samples that exceed together with the one `lag` later.
    fn both(&self, lag: usize) -> u64 {
        let (skip, shift) = (lag / 64, lag % 64);
        let later = &self.words[skip..];
        let pairs = |(i, &word): (usize, &u64)| {
            let low = later[i] >> shift;
            let high =
                later.get(i + 1).map_or(0, |next| next.checked_shl(64 - shift as u32).unwrap_or(0));
            u64::from((word & (low | high)).count_ones())
        };
        self.words[..later.len()].iter().enumerate().map(pairs).sum()
    }

    /// Exceedances among the first `lag` samples plus those among the last `lag`.
    fn among_ends(&self, lag: usize) -> u64 {
        let at = |i: usize| self.words[i / 64] >> (i % 64) & 1;
        (0..lag).map(|i| at(i) + at(self.n - 1 - i)).sum()
    }

    /// The variance of batch means against that of independent samples.
    fn batch_correlation_time(&self) -> f64 {
        let words = self.words.len() / BATCHES;
        if words == 0 {
            return 0.0;
        }
        let size = (64 * words) as f64;
        let share = |batch: &[u64]| {
            batch.iter().map(|word| u64::from(word.count_ones())).sum::<u64>() as f64 / size
        };
        let squares: f64 = self.words[..words * BATCHES]
            .chunks(words)
            .map(|batch| (share(batch) - self.share).powi(2))
            .sum();
        size * squares / (BATCHES - 1) as f64 / self.variance()
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    #[test]
    fn few_and_equal_samples() {
        assert_eq!(effective_samples(&[], 0.99), 0.0);
        assert_eq!(effective_samples(&[5], 0.99), 1.0);
        assert_eq!(effective_samples(&[5, 9], 0.99), 2.0);
        assert_eq!(effective_samples(&[5; 1000], 0.99), 1000.0);
    }

    #[test]
    fn independent_samples_count_in_full() {
        let mut draw = Draw::seeded(11);
        for p in [0.5, 0.9, 0.99] {
            let samples = draw.many(20_000, |d| (1e6 * d.exponential()) as u64);
            let effective = effective_samples(&samples, p);
            assert!((18_000.0..=20_000.0).contains(&effective), "p = {p}: {effective}");
        }
    }

    #[test]
    fn a_burst_counts_about_once() {
        // Each value ten times over: an autocorrelation time of 10.
        let mut draw = Draw::seeded(12);
        let values = draw.many(5_000, |d| (1e6 * d.exponential()) as u64);
        let samples: Vec<u64> = values.iter().flat_map(|&x| [x; 10]).collect();
        for p in [0.5, 0.99] {
            let effective = effective_samples(&samples, p);
            assert!((4_000.0..6_500.0).contains(&effective), "p = {p}: {effective}");
        }
    }

    #[test]
    fn one_long_disturbance_is_a_few_events() {
        let mut draw = Draw::seeded(13);
        let mut samples = draw.many(200_000, |d| (1000.0 * (1.0 + 0.1 * d.exponential())) as u64);
        samples[60_000..80_000].iter_mut().for_each(|x| *x *= 2);
        let effective = effective_samples(&samples, 0.95);
        assert!(effective < 50.0, "{effective}");
    }

    #[test]
    fn alternation_is_not_worth_more_than_the_samples() {
        let samples: Vec<u64> = (0..1000).map(|i| i % 2).collect();
        assert_eq!(effective_samples(&samples, 0.4), 1000.0);
    }

    #[test]
    fn ties_at_the_top_are_the_tail() {
        // A tenth of the samples tie at the maximum, so that nothing is above p95.
        let samples: Vec<u64> = (0..1000).map(|i| u64::from(i % 100 < 10)).collect();
        let effective = effective_samples(&samples, 0.95);
        assert!((50.0..200.0).contains(&effective), "{effective}");
    }

    #[test]
    fn correlation_by_bits_is_correlation_by_the_book() {
        let mut draw = Draw::seeded(14);
        let samples = draw.many(331, |d| (10.0 * d.exponential()) as u64);
        let above = Exceedances::of(&samples, 0.7);
        let bits: Vec<f64> =
            (0..331).map(|i| (above.words[i / 64] >> (i % 64) & 1) as f64).collect();
        let mean = bits.iter().sum::<f64>() / 331.0;
        let covariance = |lag: usize| -> f64 {
            bits.iter().zip(&bits[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum()
        };
        for lag in [0, 1, 2, 63, 64, 65, 127, 128, 300, 330] {
            let expected = covariance(lag) / covariance(0);
            assert!((above.correlation(lag) - expected).abs() < 1e-12, "lag {lag}");
        }
    }
}
