//! The codes against their oracle: every loss pattern that it says can be survived brings every
//! byte back, every other is refused, and measured block losses lie where the oracle puts them.
//! Traces hold the loss and the bursts that were asked for. All with fixed seeds; no speed.

use crate::common::binomial::range_99;
use crate::oracle::{Oracle, each_choice};
use codes::{Coder, LARGEST_BLOCK, LossModel, LossTrace, Scheme};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

const SEED: u64 = 20_261_121;

/// A block of drawn bytes, its datagrams, and who made them.
struct Sent {
    coder: Coder,
    block: Vec<u8>,
    datagrams: Vec<Vec<u8>>,
    rebuilt: Vec<u8>,
}

impl Sent {
    fn new(scheme: &str, block_bytes: usize) -> Sent {
        let scheme = Scheme::parse(scheme).expect("a scheme");
        let mut draws = ChaCha8Rng::seed_from_u64(SEED);
        let block: Vec<u8> = (0..block_bytes).map(|_| draws.random()).collect();
        let mut datagrams = vec![Vec::new(); scheme.total_shards()];
        let mut coder = Coder::new(scheme);
        coder.encode(&block, &mut datagrams);
        Sent { coder, block, datagrams, rebuilt: vec![0; block_bytes] }
    }

    /// Whether the block comes back without the datagrams that are lost; then it is whole.
    fn survives(&mut self, lost: impl Fn(usize) -> bool) -> bool {
        let mut received = [None; LARGEST_BLOCK];
        let received = &mut received[..self.datagrams.len()];
        for (nth, datagram) in self.datagrams.iter().enumerate() {
            received[nth] = (!lost(nth)).then_some(datagram.as_slice());
        }
        self.rebuilt.fill(0x5a);
        match self.coder.decode(received, &mut self.rebuilt) {
            Ok(()) => assert!(self.rebuilt == self.block, "{}: wrong", self.coder.scheme()),
            Err(refused) => {
                let arrived = received.iter().flatten().count();
                assert_eq!((refused.arrived, refused.total), (arrived, received.len()));
                return false;
            }
        }
        true
    }

    /// The same for a mask of lost datagrams.
    fn survives_all_but(&mut self, lost: u32) -> bool {
        self.survives(|nth| lost >> nth & 1 == 1)
    }

    /// How many patterns of so many lost datagrams it survives.
    fn survived(&mut self, lost: u32) -> u128 {
        let mut survived = 0;
        each_choice(self.datagrams.len(), lost, |mask| {
            survived += u128::from(self.survives_all_but(mask));
        });
        survived
    }
}

// ---- patterns ------------------------------------------------------------------------------

#[test]
fn every_pattern_of_a_short_code_is_survived_or_refused_as_the_oracle_says() {
    for name in ["hamming-7-4", "hamming-8-4", "reed-solomon-4-3", "reed-solomon-1-2"] {
        let mut sent = Sent::new(name, 101);
        let scheme = sent.coder.scheme();
        let oracle = Oracle::of(scheme);
        for lost in 0..=scheme.total_shards() {
            assert_eq!(sent.survived(lost as u32), oracle.survived(lost), "{name}, {lost} lost");
        }
    }
}

#[test]
fn hamming_survives_all_losses_of_two_and_28_of_35_of_three() {
    let mut sent = Sent::new("hamming-7-4", 64);
    assert_eq!([sent.survived(2), sent.survived(3), sent.survived(4)], [21, 28, 0]);
}

#[test]
fn golay_survives_all_losses_of_eight_but_its_759_octads() {
    // And with them all of seven: each is a part of a pattern of eight that comes back whole.
    assert_eq!(Sent::new("golay-24-12", 12).survived(8), 735_471 - 759);
}

#[test]
fn reed_solomon_survives_any_losses_up_to_its_repair_datagrams() {
    let mut draws = ChaCha8Rng::seed_from_u64(SEED);
    for (data, repair) in [(4, 3), (3, 4), (12, 12), (1, 1), (10, 1), (1, 9), (100, 28)] {
        let mut sent = Sent::new(&format!("reed-solomon-{data}-{repair}"), 1000);
        for lost in [repair, repair + 1] {
            for _ in 0..20 {
                let lost = drawn(&mut draws, data + repair, lost);
                let survives = sent.survives(|nth| lost.contains(&nth));
                // Not even the repair datagrams are needed where only they are lost.
                let expected = lost.len() <= repair;
                assert_eq!(survives, expected, "{data} and {repair}, lost {lost:?}");
            }
        }
    }
}

/// `count` of `n` datagrams, drawn.
fn drawn(draws: &mut ChaCha8Rng, n: usize, count: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..n).collect();
    (0..count).map(|_| left.swap_remove(draws.random_range(0..left.len()))).collect()
}

#[test]
fn codes_of_24_survive_any_losses_that_the_oracle_is_sure_of() {
    // Which patterns of more RaptorQ survives is checked one by one in `oracle`.
    for (name, surely) in [("golay-24-12", 7), ("raptorq", 10)] {
        let mut sent = Sent::new(name, 24);
        assert_eq!(Oracle::of(sent.coder.scheme()).surely(), surely);
        let mut draws = ChaCha8Rng::seed_from_u64(SEED);
        for _ in 0..1000 {
            let lost = drawn(&mut draws, 24, surely);
            assert!(sent.survives(|nth| lost.contains(&nth)), "{name}: {lost:?}");
            let lost = drawn(&mut draws, 24, 13);
            assert!(!sent.survives(|nth| lost.contains(&nth)), "{name}: {lost:?}");
        }
    }
}

// ---- blocks --------------------------------------------------------------------------------

const SCHEMES: [&str; 5] =
    ["hamming-7-4", "hamming-8-4", "golay-24-12", "reed-solomon-4-3", "raptorq"];

#[test]
fn blocks_of_any_length_come_back() {
    for name in SCHEMES {
        let surely = Oracle::of(Scheme::parse(name).unwrap()).surely().min(3);
        for bytes in [0, 1, 2, 3, 4, 5, 11, 12, 13, 47, 48, 49, 1000, 5601] {
            let mut sent = Sent::new(name, bytes);
            let scheme = sent.coder.scheme();
            let each = scheme.datagram_bytes(bytes);
            assert!(
                sent.datagrams.iter().all(|datagram| datagram.len() == each),
                "{name}, {bytes}"
            );
            // The first datagrams are the block itself.
            let data = sent.datagrams[..scheme.data_shards()].concat();
            assert_eq!(data[..bytes], sent.block, "{name}, {bytes}");
            assert!(data[bytes..].iter().all(|byte| *byte == 0), "{name}, {bytes}");
            assert!(sent.survives(|_| false), "{name}, {bytes}");
            assert!(sent.survives(|nth| nth < surely), "{name}, {bytes}");
            assert!(sent.survives(|nth| nth >= scheme.data_shards()), "{name}, {bytes}");
        }
    }
}

#[test]
fn bit_i_of_every_codeword_travels_in_datagram_i() {
    let sent = Sent::new("hamming-7-4", 40);
    let bit = |datagram: usize, codeword: usize| {
        sent.datagrams[datagram][codeword / 8] >> (codeword % 8) & 1
    };
    for codeword in 0..80 {
        let [a, b, c, d, p, q, r] = std::array::from_fn(|nth| bit(nth, codeword));
        assert_eq!([p, q, r], [a ^ b ^ d, a ^ c ^ d, b ^ c ^ d], "codeword {codeword}");
    }
}

#[test]
fn a_coder_is_used_again_for_blocks_of_other_lengths() {
    for name in SCHEMES {
        let mut coder = Coder::new(Scheme::parse(name).unwrap());
        let mut datagrams = vec![vec![0xff; 3]; coder.scheme().total_shards()];
        for bytes in [1000, 10, 0, 3000, 10] {
            let block: Vec<u8> = (0..bytes).map(|at| at as u8 ^ bytes as u8).collect();
            coder.encode(&block, &mut datagrams);
            let mut received: Vec<_> =
                datagrams.iter().map(|datagram| Some(datagram.as_slice())).collect();
            let mut rebuilt = vec![1; bytes];
            // First too few, which must leave nothing behind.
            let few: Vec<_> = received.iter().map(|bytes| bytes.filter(|_| false)).collect();
            let refused = coder.decode(&few, &mut rebuilt);
            assert_eq!(refused.is_err(), bytes > 0, "{name}, {bytes}");
            received[1] = None;
            coder.decode(&received, &mut rebuilt).unwrap();
            assert_eq!(rebuilt, block, "{name}, {bytes}");
        }
    }
}

#[test]
fn a_datagram_of_another_length_counts_as_lost() {
    for name in SCHEMES {
        let mut sent = Sent::new(name, 480);
        let short = sent.datagrams[0][1..].to_vec();
        let long = [sent.datagrams[1].as_slice(), &[0]].concat();
        let mut received: Vec<_> =
            sent.datagrams.iter().map(|datagram| Some(datagram.as_slice())).collect();
        (received[0], received[1]) = (Some(short.as_slice()), Some(long.as_slice()));
        sent.coder.decode(&received, &mut sent.rebuilt).unwrap();
        assert_eq!(sent.rebuilt, sent.block, "{name}");
        received[2..].fill(Some(&short));
        let refused = sent.coder.decode(&received, &mut sent.rebuilt).unwrap_err();
        assert_eq!(refused.arrived, 0);
        assert!(refused.to_string().starts_with("0 of "), "{refused}");
    }
}

// ---- rates ---------------------------------------------------------------------------------

/// Sends blocks over a trace of independent losses until the oracle expects 130 failures; the
/// measured ones must lie in the 99 % range.
fn block_losses_are_as_the_oracle_says(name: &str, loss: f64, seed: u64) {
    let mut sent = Sent::new(name, 12);
    let expected = Oracle::of(sent.coder.scheme()).block_loss(loss);
    let blocks = (130.0 / expected).ceil() as u64;
    let mut trace = LossTrace::new(LossModel::new(loss, 1.0).unwrap(), seed);
    let mut failures = 0;
    for _ in 0..blocks {
        let lost: Vec<bool> = trace.by_ref().take(sent.datagrams.len()).collect();
        failures += u64::from(!sent.survives(|nth| lost[nth]));
    }
    let range = range_99(blocks, expected);
    assert!(range.contains(&failures), "{name} at {loss}: {failures} of {blocks}, not {range:?}");
}

#[test]
fn hamming_loses_as_many_blocks_as_the_oracle_says() {
    block_losses_are_as_the_oracle_says("hamming-7-4", 0.05, 1);
    block_losses_are_as_the_oracle_says("hamming-8-4", 0.1, 2);
}

#[test]
fn golay_loses_as_many_blocks_as_the_oracle_says() {
    block_losses_are_as_the_oracle_says("golay-24-12", 0.2, 3);
}

#[test]
#[ignore = "long form"]
fn reed_solomon_loses_as_many_blocks_as_the_oracle_says() {
    block_losses_are_as_the_oracle_says("reed-solomon-4-3", 0.2, 4);
}

#[test]
fn raptorq_loses_as_many_blocks_as_the_oracle_says() {
    block_losses_are_as_the_oracle_says("raptorq", 0.4, 5);
}

// ---- traces --------------------------------------------------------------------------------

const DATAGRAMS: usize = 400_000;

#[test]
fn independent_losses_have_the_rate_that_was_asked_for() {
    for (loss, seed) in [(0.001, 6), (0.01, 7), (0.05, 8), (0.2, 9)] {
        let trace = LossTrace::new(LossModel::new(loss, 1.0).unwrap(), seed);
        let lost: Vec<bool> = trace.take(DATAGRAMS).collect();
        let count = lost.iter().filter(|lost| **lost).count() as u64;
        let range = range_99(DATAGRAMS as u64, loss);
        assert!(range.contains(&count), "{loss}: {count}, not {range:?}");
        // What follows a loss is lost as often as anything.
        let again = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as u64;
        let range = range_99(count, loss);
        assert!(range.contains(&again), "{loss}: {again} in a row, not {range:?}");
    }
}

#[test]
fn bursts_have_the_length_and_the_rate_that_were_asked_for() {
    for (loss, burst, seed) in [(0.01, 8.0, 10), (0.05, 8.0, 11), (0.05, 32.0, 12), (0.2, 2.0, 13)]
    {
        let trace = LossTrace::new(LossModel::new(loss, burst).unwrap(), seed);
        let lost: Vec<bool> = trace.take(DATAGRAMS).collect();
        let of_pairs =
            |is: [bool; 2]| lost.windows(2).filter(|window| **window == is).count() as u64;
        // Each loss is the last of its burst with probability 1 / burst, and each arrival the
        // last of its run with that at which both balance: two binomial counts.
        let (ends, losses) = (of_pairs([true, false]), of_pairs([true, true]));
        let range = range_99(ends + losses, 1.0 / burst);
        assert!(range.contains(&ends), "{loss}, {burst}: {ends} ends, not {range:?}");
        let (begins, arrivals) = (of_pairs([false, true]), of_pairs([false, false]));
        let range = range_99(begins + arrivals, loss / (1.0 - loss) / burst);
        assert!(range.contains(&begins), "{loss}, {burst}: {begins} begin, not {range:?}");
        // And so the share: over this many datagrams its standard error is that of as many
        // independent draws, times the root of (2 burst − 1) (1 − loss) at most.
        let share = lost.iter().filter(|lost| **lost).count() as f64 / DATAGRAMS as f64;
        let error = (loss * 2.0 * burst / DATAGRAMS as f64).sqrt();
        assert!((share - loss).abs() < 2.576 * error, "{loss}, {burst}: {share}");
    }
}
