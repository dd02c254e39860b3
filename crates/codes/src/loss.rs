//! Which datagrams are lost: a seeded trace, so that every scheme meets the same losses.
//!
//! Independent losses (Bernoulli), or bursts by the chain of Gilbert and Elliott with two states:
//! all is lost in the one, nothing in the other. The n-th datagram sent meets the n-th draw.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// How losses come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossModel {
    /// Each datagram is lost with this probability, whatever happened to the others. Bursts of
    /// such losses are 1 / (1 − p) long in the mean.
    Bernoulli(f64),
    /// Losses come in bursts, of geometric length.
    GilbertElliott {
        /// Share of datagrams lost in the long run.
        mean: f64,
        /// Mean number of datagrams lost in a row.
        burst: f64,
    },
}

impl LossModel {
    /// Losses of that share and mean burst length; 1 stands for independent ones.
    ///
    /// # Errors
    /// Where there are no such losses; says what there is.
    pub fn new(mean: f64, burst: f64) -> Result<LossModel, String> {
        if !(0.0..=1.0).contains(&mean) {
            return Err(format!("a loss of {mean} is no share: choose one from 0 to 1"));
        }
        if burst == 1.0 {
            return Ok(LossModel::Bernoulli(mean));
        }
        // Shorter bursts than those of independent losses would be losses that avoid each other.
        let independent = 1.0 / (1.0 - mean);
        if burst.is_finite() && burst >= 1.0 && (burst >= independent || mean == 1.0) {
            return Ok(LossModel::GilbertElliott { mean, burst });
        }
        let above = if mean == 1.0 { 1.0 } else { independent };
        Err(format!(
            "bursts of {burst} at a loss of {mean}: choose at least {above:.4}, which independent \
             losses have, or 1 for these"
        ))
    }

    /// Probability that a datagram is lost, after one that was lost or arrived.
    fn after(self, lost: bool) -> f64 {
        match self {
            LossModel::Bernoulli(p) => p,
            LossModel::GilbertElliott { mean: 1.0, .. } => 1.0,
            LossModel::GilbertElliott { burst, .. } if lost => 1.0 - 1.0 / burst,
            LossModel::GilbertElliott { mean, burst } => mean / ((1.0 - mean) * burst),
        }
    }
}

/// An endless row of losses: true for each datagram that is lost.
#[derive(Debug)]
pub struct LossTrace {
    model: LossModel,
    draws: ChaCha8Rng,
    last: Option<bool>,
}

impl LossTrace {
    /// The trace of a model and a seed: the same on every machine. One draw a datagram, so that of
    /// independent losses the higher rate loses whatever the lower one does.
    pub fn new(model: LossModel, seed: u64) -> LossTrace {
        LossTrace { model, draws: ChaCha8Rng::seed_from_u64(seed), last: None }
    }
}

impl Iterator for LossTrace {
    type Item = bool;

    fn next(&mut self) -> Option<bool> {
        let p = match (self.last, self.model) {
            (Some(last), model) => model.after(last),
            // The first is drawn from the long run, so that a short trace loses no less.
            (None, LossModel::Bernoulli(mean) | LossModel::GilbertElliott { mean, .. }) => mean,
        };
        let lost = self.draws.random::<f64>() < p;
        self.last = Some(lost);
        Some(lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(mean: f64, burst: f64, seed: u64) -> LossTrace {
        LossTrace::new(LossModel::new(mean, burst).unwrap(), seed)
    }

    #[test]
    fn a_trace_is_its_seed() {
        let row = |seed| trace(0.1, 8.0, seed).take(1000).collect::<Vec<_>>();
        assert_eq!(row(1), row(1));
        assert_ne!(row(1), row(2));
    }

    #[test]
    fn nothing_and_everything_can_be_lost() {
        for burst in [1.0, 8.0] {
            assert!(trace(0.0, burst, 3).take(10_000).all(|lost| !lost));
            assert!(trace(1.0, burst, 3).take(10_000).all(|lost| lost));
        }
    }

    #[test]
    fn what_a_low_rate_loses_a_higher_one_loses_too() {
        let (low, high) = (trace(0.01, 1.0, 4), trace(0.05, 1.0, 4));
        assert!(low.zip(high).take(20_000).all(|(low, high)| !low || high));
    }

    #[test]
    fn losses_that_cannot_be_are_refused_with_the_remedy() {
        let error = |mean, burst| LossModel::new(mean, burst).unwrap_err();
        assert!(error(-0.1, 1.0).contains("from 0 to 1"));
        assert!(error(5.0, 1.0).contains("from 0 to 1"));
        assert!(error(f64::NAN, 1.0).contains("from 0 to 1"));
        assert!(error(0.2, 1.1).contains("at least 1.2500"));
        for burst in [0.0, 0.5, -1.0, f64::NAN, f64::INFINITY] {
            assert!(error(0.1, burst).contains("or 1 for these"), "{burst}");
            assert!(error(1.0, burst).contains("at least 1.0000"), "{burst}");
        }
        assert!(LossModel::new(0.2, 1.25).is_ok());
    }
}
