//! Draws of launches, for the tests that simulate.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// A stream of draws that is the same on every machine.
pub struct Draw(ChaCha8Rng);

impl Draw {
    pub fn seeded(seed: u64) -> Draw {
        Draw(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in (0, 1].
    pub fn uniform(&mut self) -> f64 {
        1.0 - self.0.random::<f64>()
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Launches of a sleeping mechanism: a floor, and delays above it. Median 100 + 6 ln 2.
    pub fn skewed(&mut self) -> f64 {
        100.0 - 6.0 * self.uniform().ln()
    }

    /// Launches in two modes, 70 % around 100 and 30 % around 450, each of 2 % spread.
    pub fn bimodal(&mut self) -> f64 {
        let center = if self.uniform() <= 0.3 { 450.0 } else { 100.0 };
        center * (0.02 * self.normal()).exp()
    }
}
