//! Systematic codes over bits, of at most 24: which data bits each parity bit adds up, what a
//! pattern of lost bits costs to rebuild, and which flipped bits a syndrome stands for.
//!
//! Bit i of a mask is bit i of a codeword: data bits first. Nothing here touches a datagram.

#[derive(Debug)]
pub struct BinaryCode {
    /// Data bits of a codeword.
    pub data: usize,
    /// For each parity bit, the data bits whose sum it is.
    pub parity: &'static [u32],
    /// How many flipped bits of a codeword it surely corrects.
    pub corrects: u32,
}

/// Hamming's code: any two lost bits come back, and 28 of the 35 patterns of three.
pub static HAMMING_7_4: BinaryCode =
    BinaryCode { data: 4, parity: &[0b1011, 0b1101, 0b1110], corrects: 1 };

/// The same with a parity of all bits: any three lost bits come back.
pub static HAMMING_8_4: BinaryCode =
    BinaryCode { data: 4, parity: &[0b1011, 0b1101, 0b1110, 0b0111], corrects: 1 };

/// The extended Golay code: any seven lost bits come back. Each row is the one before, rotated in
/// its first eleven bits, and the last adds up these. That it is the Golay code its weights prove
/// (in the tests): there is only one of that length, size and distance.
pub static GOLAY_24_12: BinaryCode = BinaryCode {
    data: 12,
    parity: &[
        0b110111000101,
        0b101110001011,
        0b011100010111,
        0b111000101101,
        0b110001011011,
        0b100010110111,
        0b000101101111,
        0b001011011101,
        0b010110111001,
        0b101101110001,
        0b011011100011,
        0b111111111110,
    ],
    corrects: 3,
};

/// A lost data bit, and the arrived bits whose sum it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    pub bit: usize,
    /// Mask of arrived bits.
    pub sources: u32,
}

/// The positions of the ones of `mask`.
pub fn bits(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lowest < 32).then_some(lowest)
    })
}

fn parity(mask: u32) -> u32 {
    mask.count_ones() & 1
}

impl BinaryCode {
    /// Bits of a codeword.
    pub fn total(&self) -> usize {
        self.data + self.parity.len()
    }

    pub fn data_mask(&self) -> u32 {
        (1 << self.data) - 1
    }

    /// The parity bits of `word`'s data bits, from bit 0 on.
    fn parities(&self, word: u32) -> u32 {
        let bits = self.parity.iter().enumerate();
        bits.fold(0, |sum, (nth, mask)| sum | parity(word & mask) << nth)
    }

    /// The codeword of some data bits.
    #[cfg(test)]
    pub fn codeword(&self, data: u32) -> u32 {
        data | self.parities(data) << self.data
    }

    /// Which parities don't hold in `word`; zero for a codeword.
    pub fn syndrome(&self, word: u32) -> u32 {
        self.parities(word) ^ word >> self.data
    }

    /// How to rebuild each lost data bit from the arrived ones, by Gauss and Jordan; None where
    /// they don't determine it. All codewords of a block lose the same bits, so this is asked once
    /// a block.
    pub fn repairs(&self, arrived: u32) -> Option<Vec<Repair>> {
        let lost = self.data_mask() & !arrived;
        let known = self.data_mask() & arrived;
        // Each arrived parity: the lost bits in it, and what else is in it.
        let arrived_parity =
            self.parity.iter().zip(self.data..).filter(|(_, at)| arrived >> at & 1 == 1);
        let mut rows: Vec<(u32, u32)> =
            arrived_parity.map(|(mask, at)| (mask & lost, mask & known | 1 << at)).collect();
        for (solved, bit) in bits(lost).enumerate() {
            let found =
                rows[solved.min(rows.len())..].iter().position(|row| row.0 >> bit & 1 == 1)?;
            rows.swap(solved, solved + found);
            let pivot = rows[solved];
            for (at, row) in rows.iter_mut().enumerate() {
                if at != solved && row.0 >> bit & 1 == 1 {
                    *row = (row.0 ^ pivot.0, row.1 ^ pivot.1);
                }
            }
        }
        Some(bits(lost).zip(rows).map(|(bit, (_, sources))| Repair { bit, sources }).collect())
    }

    /// For each syndrome the flipped bits that it stands for, if there are at most as many as
    /// surely can be corrected.
    pub fn corrections(&self) -> Vec<Option<u32>> {
        let mut found = vec![None; 1 << self.parity.len()];
        for flips in 0..=self.corrects {
            each_choice(self.total(), flips, |flipped| {
                found[self.syndrome(flipped) as usize] = Some(flipped);
            });
        }
        found
    }
}

/// Calls `with` with every mask of `n` bits that has `ones` ones.
pub fn each_choice(n: usize, ones: u32, mut with: impl FnMut(u32)) {
    if ones == 0 {
        return with(0);
    }
    let mut mask: u64 = (1 << ones) - 1;
    while mask < 1 << n {
        with(mask as u32);
        // The next larger number with as many ones (HAKMEM, item 175).
        let lowest = mask & mask.wrapping_neg();
        let carried = mask + lowest;
        mask = carried | ((mask ^ carried) / lowest) >> 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&BinaryCode; 3] = [&HAMMING_7_4, &HAMMING_8_4, &GOLAY_24_12];

    /// How many codewords have 0, 1, 2 … ones.
    fn weights(code: &BinaryCode) -> Vec<u32> {
        let mut counts = vec![0; code.total() + 1];
        for data in 0..1 << code.data {
            counts[code.codeword(data).count_ones() as usize] += 1;
        }
        counts
    }

    #[test]
    fn the_weights_are_those_of_the_named_codes() {
        assert_eq!(weights(&HAMMING_7_4), [1, 0, 0, 7, 7, 0, 0, 1]);
        assert_eq!(weights(&HAMMING_8_4), [1, 0, 0, 0, 14, 0, 0, 0, 1]);
        let golay = weights(&GOLAY_24_12);
        let weights: Vec<_> = golay.iter().enumerate().filter(|(_, count)| **count > 0).collect();
        assert_eq!(weights, [(0, &1), (8, &759), (12, &2576), (16, &759), (24, &1)]);
    }

    #[test]
    fn repairs_use_only_what_arrived_and_are_right_for_every_codeword() {
        for code in ALL {
            for lost in 1..=4 {
                each_choice(code.total(), lost, |lost| {
                    let arrived = !lost & ((1 << code.total()) - 1);
                    let Some(repairs) = code.repairs(arrived) else { return };
                    assert_eq!(repairs.len() as u32, (lost & code.data_mask()).count_ones());
                    for Repair { bit, sources } in repairs {
                        assert_eq!(sources & lost, 0);
                        // Sums of codewords are codewords: those of single bits prove all.
                        for data in 0..code.data {
                            let word = code.codeword(1 << data);
                            assert_eq!(parity(word & sources), word >> bit & 1);
                        }
                    }
                });
            }
        }
    }

    #[test]
    fn syndromes_tell_all_they_can() {
        let filled = |code: &BinaryCode| code.corrections().iter().flatten().count();
        assert_eq!(filled(&HAMMING_7_4), 1 + 7); // perfect: every syndrome is a correction
        assert_eq!(filled(&HAMMING_8_4), 1 + 8); // the other 7 are two flips
        assert_eq!(filled(&GOLAY_24_12), 1 + 24 + 276 + 2024); // no two share a syndrome
    }

    #[test]
    fn choices_are_all_there_once() {
        let count = |n, ones| {
            let mut seen = std::collections::BTreeSet::new();
            each_choice(n, ones, |mask| assert!(mask.count_ones() == ones && seen.insert(mask)));
            seen.len()
        };
        assert_eq!((count(7, 3), count(24, 0), count(24, 1), count(8, 8)), (35, 1, 24, 1));
        assert_eq!(count(24, 4), 10_626);
    }
}
