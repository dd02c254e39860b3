//! Which bits flip: a seeded trace, every bit by itself with one probability.

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// An endless row of bits, of which some flip.
#[derive(Debug)]
pub struct FlipTrace {
    /// Logarithm of the probability that a bit stays.
    stays: f64,
    draws: ChaCha8Rng,
    /// Bits until the next that flips.
    gap: u64,
}

impl FlipTrace {
    /// The trace of a probability and a seed: the same on every machine.
    ///
    /// # Errors
    /// A probability that is none; says what there is.
    pub fn new(share: f64, seed: u64) -> Result<FlipTrace, String> {
        if !(0.0..=0.5).contains(&share) {
            return Err(format!("a share of {share} flipped bits: choose one from 0 to 0.5"));
        }
        let draws = ChaCha8Rng::seed_from_u64(seed);
        let mut trace = FlipTrace { stays: (-share).ln_1p(), draws, gap: 0 };
        trace.gap = trace.draw();
        Ok(trace)
    }

    /// Bits that stay before one flips: one draw for each flip, not for each bit.
    fn draw(&mut self) -> u64 {
        // From (0, 1]: the logarithm of zero is none.
        let drawn = 1.0 - self.draws.random::<f64>();
        let gap = drawn.ln() / self.stays;
        if gap.is_finite() { gap as u64 } else { u64::MAX }
    }

    /// Flips the bits of `bytes` that are to; gives how many.
    pub fn flip(&mut self, bytes: &mut [u8]) -> u64 {
        let (bits, mut flipped) = (8 * bytes.len() as u64, 0);
        while self.gap < bits {
            bytes[self.gap as usize / 8] ^= 1 << (self.gap % 8);
            flipped += 1;
            self.gap = self.gap.saturating_add(1).saturating_add(self.draw());
        }
        self.gap -= if self.gap == u64::MAX { 0 } else { bits };
        flipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_flip_as_were_asked_for_and_always_the_same() {
        let run = |share, seed| {
            let mut bytes = vec![0_u8; 1_000_000];
            let mut trace = FlipTrace::new(share, seed).unwrap();
            let flipped: u64 = bytes.chunks_mut(997).map(|bytes| trace.flip(bytes)).sum();
            assert_eq!(flipped, bytes.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>());
            (flipped, bytes)
        };
        // 8,000 expected, with a standard deviation of 89.
        let (flipped, bytes) = run(1e-3, 1);
        assert!((7_700..8_300).contains(&flipped), "{flipped}");
        assert_eq!(run(1e-3, 1).1, bytes);
        assert_ne!(run(1e-3, 2).1, bytes);
        assert_eq!(run(0.0, 1).0, 0);
        assert!((3_990_000..4_010_000).contains(&run(0.5, 1).0));
    }

    #[test]
    fn how_the_row_is_cut_changes_nothing() {
        let run = |cut| {
            let mut bytes = vec![0_u8; 10_000];
            let mut trace = FlipTrace::new(1e-2, 7).unwrap();
            bytes.chunks_mut(cut).for_each(|bytes| _ = trace.flip(bytes));
            bytes
        };
        assert_eq!(run(1), run(10_000));
        assert_eq!(run(3), run(777));
    }

    #[test]
    fn a_share_that_is_none_is_refused() {
        for share in [-0.1, 0.6, f64::NAN] {
            assert!(FlipTrace::new(share, 1).unwrap_err().contains("from 0 to 0.5"));
        }
    }
}
