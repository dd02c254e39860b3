//! Seeded draws for the simulations in the tests of this module.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// A named distribution.
pub type Shape = (&'static str, fn(&mut Draw) -> f64);

/// A stream of draws that is the same on every machine.
pub struct Draw(ChaCha8Rng);

impl Draw {
    pub fn seeded(seed: u64) -> Self {
        Draw(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Uniform in (0, 1].
    pub fn uniform(&mut self) -> f64 {
        1.0 - self.0.random::<f64>()
    }

    /// Standard normal, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Around 450 with probability `share`, else around 100; `spread` is relative.
    pub fn bimodal(&mut self, share: f64, spread: f64) -> f64 {
        let center = if self.uniform() <= share { 450.0 } else { 100.0 };
        center * (spread * self.normal()).exp()
    }

    /// `n` draws of one kind.
    pub fn many<T>(&mut self, n: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..n).map(|_| one(self)).collect()
    }
}
