//! Exactly which losses a code survives: every erasure pattern of a block is looked at, and
//! weighed for independent losses.
//!
//! Patterns are sets of lost datagrams, kept as one bit each. A set is beyond repair where a
//! codeword is zero outside of it: then what arrived can't tell that codeword from nothing. So
//! these sets are the codewords' own positions and whatever holds such a set; of RaptorQ, whose
//! codewords are too many, the largest sets that can be repaired are found, and all sets in them
//! can be, too (the sets of lost datagrams form a matroid).

use codes::{Coder, Scheme};

/// How many patterns of lost datagrams a block survives, by how many are lost.
pub struct Oracle {
    /// Patterns of 0, 1, 2 … lost datagrams.
    patterns: Vec<u128>,
    /// Of these, the ones from which the whole block comes back.
    survived: Vec<u128>,
}

impl Oracle {
    /// Of a scheme's blocks. Takes a moment for those of 24 datagrams: all 2²⁴ patterns.
    pub fn of(scheme: Scheme) -> Oracle {
        let total = scheme.total_shards();
        match scheme {
            // Any K of K + M suffice: that is what Reed–Solomon means.
            Scheme::ReedSolomon { repair, .. } => Oracle::up_to(total, repair),
            Scheme::RaptorQ => Oracle::counted(total, &survived_by_bytes(&parity(scheme))),
            _ => Oracle::counted(total, &survived_by_bits(&parity(scheme))),
        }
    }

    /// Of so many datagrams without a code: each is needed.
    pub fn uncoded(datagrams: usize) -> Oracle {
        Oracle::up_to(datagrams, 0)
    }

    fn up_to(total: usize, lost: usize) -> Oracle {
        let patterns = binomials(total);
        let survives = |(nth, all): (usize, &u128)| if nth <= lost { *all } else { 0 };
        let survived = patterns.iter().enumerate().map(survives).collect();
        Oracle { patterns, survived }
    }

    fn counted(total: usize, sets: &[u64]) -> Oracle {
        let mut survived = vec![0; total + 1];
        for (high, word) in sets.iter().enumerate() {
            for (low, of_weight) in of_weights().into_iter().enumerate() {
                let lost = low + high.count_ones() as usize;
                // A code of fewer than 64 patterns would leave the rest of its word empty.
                if let Some(count) = survived.get_mut(lost) {
                    *count += u128::from((word & of_weight).count_ones());
                }
            }
        }
        Oracle { patterns: binomials(total), survived }
    }

    /// All patterns of so many lost datagrams.
    pub fn patterns(&self, lost: usize) -> u128 {
        self.patterns[lost]
    }

    /// Those of them from which the whole block comes back.
    pub fn survived(&self, lost: usize) -> u128 {
        self.survived[lost]
    }

    /// How many datagrams can be lost in whatever pattern.
    pub fn surely(&self) -> usize {
        let all = self.survived.iter().zip(&self.patterns);
        all.take_while(|(survived, patterns)| survived == patterns).count() - 1
    }

    /// Probability that a block doesn't come back whole, where each datagram is lost with
    /// probability `p` by itself.
    pub fn block_loss(&self, p: f64) -> f64 {
        let total = self.patterns.len() - 1;
        let weigh = |lost: usize| {
            let beyond = (self.patterns[lost] - self.survived[lost]) as f64;
            beyond * p.powi(lost as i32) * (1.0 - p).powi((total - lost) as i32)
        };
        (0..=total).map(weigh).sum()
    }
}

/// How many sets of 0, 1, 2 … of `n` there are.
fn binomials(n: usize) -> Vec<u128> {
    let mut row = vec![1];
    for _ in 0..n {
        row = (0..=row.len())
            .map(|at| {
                let left = if at > 0 { row[at - 1] } else { 0 };
                left + row.get(at).copied().unwrap_or(0)
            })
            .collect();
    }
    row
}

// ---- sets of sets --------------------------------------------------------------------------

/// Of the 64 sets of a word, those without element 0, 1, … 5.
const WITHOUT: [u64; 6] = [
    0x5555_5555_5555_5555,
    0x3333_3333_3333_3333,
    0x0f0f_0f0f_0f0f_0f0f,
    0x00ff_00ff_00ff_00ff,
    0x0000_ffff_0000_ffff,
    0x0000_0000_ffff_ffff,
];

/// Of the 64 sets of a word, those of 0, 1, … 6 elements.
fn of_weights() -> [u64; 7] {
    let mut of_weight = [0; 7];
    for set in 0..64_u32 {
        of_weight[set.count_ones() as usize] |= 1 << set;
    }
    of_weight
}

fn put(sets: &mut [u64], set: usize) {
    sets[set / 64] |= 1 << (set % 64);
}

fn no_sets(total: usize) -> Vec<u64> {
    assert!((6..=24).contains(&total), "whole words, and two megabytes at most");
    vec![0; 1 << (total - 6)]
}

/// Adds every set that holds one of `sets`.
fn add_larger(sets: &mut [u64]) {
    for (element, without) in WITHOUT.iter().enumerate() {
        sets.iter_mut().for_each(|word| *word |= (*word & without) << (1 << element));
    }
    let mut step = 1;
    while step < sets.len() {
        for with in (0..sets.len()).filter(|at| at & step != 0) {
            sets[with] |= sets[with ^ step];
        }
        step *= 2;
    }
}

/// Adds every set that is held by one of `sets`.
fn add_smaller(sets: &mut [u64]) {
    for (element, without) in WITHOUT.iter().enumerate() {
        sets.iter_mut().for_each(|word| *word |= *word >> (1 << element) & without);
    }
    let mut step = 1;
    while step < sets.len() {
        for without in (0..sets.len()).filter(|at| at & step == 0) {
            sets[without] |= sets[without | step];
        }
        step *= 2;
    }
}

// ---- codes ---------------------------------------------------------------------------------

/// In row r and column d the factor by which data datagram d enters repair datagram r: what the code makes of
/// single bytes.
fn parity(scheme: Scheme) -> Vec<Vec<u8>> {
    let (data, total) = (scheme.data_shards(), scheme.total_shards());
    let mut coder = Coder::new(scheme);
    let mut factors = vec![vec![0; data]; total - data];
    for nth in 0..data {
        let mut block = vec![0; data];
        block[nth] = 1;
        let mut datagrams = vec![Vec::new(); total];
        coder.encode(&block, &mut datagrams);
        for (row, datagram) in factors.iter_mut().zip(&datagrams[data..]) {
            row[nth] = datagram[0];
        }
    }
    factors
}

/// The sets of lost datagrams that a binary code survives.
fn survived_by_bits(parity: &[Vec<u8>]) -> Vec<u64> {
    let data = parity[0].len();
    let mut sets = no_sets(data + parity.len());
    for word in 1_usize..1 << data {
        let bit = |row: &Vec<u8>| {
            let ones = row.iter().enumerate().filter(|(at, one)| **one == 1 && word >> at & 1 == 1);
            ones.count() & 1
        };
        let repair = parity.iter().enumerate().map(|(nth, row)| bit(row) << (data + nth));
        put(&mut sets, repair.fold(word, |all, bit| all | bit));
    }
    add_larger(&mut sets);
    sets.iter_mut().for_each(|word| *word = !*word);
    sets
}

/// The same of a systematic code over bytes with as much repair as data.
///
/// Where as many datagrams are lost as there are repair datagrams, those of them that arrived are
/// just enough equations for the lost data: the block comes back where their determinant isn't
/// zero. All determinants are found, the larger from the smaller.
fn survived_by_bytes(parity: &[Vec<u8>]) -> Vec<u64> {
    let data = parity.len();
    let mut sets = no_sets(2 * data);
    let everything = (1 << data) - 1;
    let nonzero = |rows: usize, columns: usize| columns | (everything ^ rows) << data;
    let mut determinants = vec![0_u8; 1 << (2 * data)];
    determinants[0] = 1;
    put(&mut sets, nonzero(0, 0));
    let field = Field::new();
    let mut by_weight = vec![Vec::new(); data + 1];
    for mask in 0..1_usize << data {
        by_weight[mask.count_ones() as usize].push(mask);
    }
    for masks in &by_weight[1..] {
        for (rows, columns) in masks.iter().flat_map(|r| masks.iter().map(move |c| (*r, *c))) {
            // By Laplace along the first row; there are no signs where 1 + 1 = 0.
            let (row, below) = (rows.trailing_zeros() as usize, rows & (rows - 1));
            let (mut left, mut determinant) = (columns, 0);
            while left != 0 {
                let column = left.trailing_zeros() as usize;
                left &= left - 1;
                let minor = determinants[below << data | columns ^ 1 << column];
                determinant ^= field.product(parity[row][column], minor);
            }
            determinants[rows << data | columns] = determinant;
            if determinant != 0 {
                put(&mut sets, nonzero(rows, columns));
            }
        }
    }
    add_smaller(&mut sets);
    sets
}

/// The field of RFC 6330 (5.7): bytes, modulo x⁸ + x⁴ + x³ + x² + 1.
struct Field {
    logarithm: [u8; 256],
    power: [u8; 510],
}

impl Field {
    fn new() -> Field {
        let mut field = Field { logarithm: [0; 256], power: [0; 510] };
        let mut value = 1_u16;
        for exponent in 0..255 {
            field.logarithm[usize::from(value)] = exponent as u8;
            field.power[exponent] = value as u8;
            field.power[exponent + 255] = value as u8;
            value <<= 1;
            if value > 255 {
                value ^= 0x11d;
            }
        }
        field
    }

    fn product(&self, a: u8, b: u8) -> u8 {
        if a == 0 || b == 0 {
            return 0;
        }
        let log = |byte: u8| usize::from(self.logarithm[usize::from(byte)]);
        self.power[log(a) + log(b)]
    }
}

/// Calls `with` with every mask of `n` bits that has `ones` ones.
pub fn each_choice(n: usize, ones: u32, mut with: impl FnMut(u32)) {
    let mut mask: u64 = (1 << ones) - 1;
    while mask < 1 << n {
        with(mask as u32);
        if mask == 0 {
            break;
        }
        // The next larger number with as many ones (HAKMEM, item 175).
        let lowest = mask & mask.wrapping_neg();
        let carried = mask + lowest;
        mask = carried | ((mask ^ carried) / lowest) >> 2;
    }
}

fn oracle(name: &str) -> Oracle {
    Oracle::of(Scheme::parse(name).unwrap())
}

fn counts(oracle: &Oracle, lost: usize) -> (u128, u128) {
    (oracle.survived(lost), oracle.patterns(lost))
}

#[test]
fn hamming_survives_two_and_most_of_three() {
    let seven = oracle("hamming-7-4");
    assert_eq!((counts(&seven, 2), counts(&seven, 3)), ((21, 21), (28, 35)));
    assert_eq!((counts(&seven, 4), seven.surely()), ((0, 35), 2));
    let eight = oracle("hamming-8-4");
    assert_eq!((counts(&eight, 3), counts(&eight, 4)), ((56, 56), (56, 70)));
    assert_eq!((counts(&eight, 5), eight.surely()), ((0, 56), 3));
}

#[test]
fn golay_survives_seven_and_nearly_all_of_eight() {
    let golay = oracle("golay-24-12");
    assert_eq!(golay.surely(), 7);
    assert_eq!(counts(&golay, 7), (346_104, 346_104));
    assert_eq!(counts(&golay, 8), (735_471 - 759, 735_471)); // 99.9 %
    // Sets of nine that hold an octad hold one: 759 · 16. With ten they still do: 759 · 120.
    assert_eq!(counts(&golay, 9), (1_307_504 - 12_144, 1_307_504));
    assert_eq!(counts(&golay, 10), (1_961_256 - 91_080, 1_961_256));
    assert_eq!(counts(&golay, 13).0, 0);
}

#[test]
fn reed_solomon_survives_as_many_as_it_repairs() {
    let four = oracle("reed-solomon-4-3");
    assert_eq!((counts(&four, 3), counts(&four, 4)), ((35, 35), (0, 35)));
    assert_eq!(oracle("reed-solomon-100-28").surely(), 28);
}

#[test]
fn exact_block_losses() {
    let close = |found: f64, published: f64, digits: f64| {
        assert!((found / published - 1.0).abs() < digits, "{found} is not {published}");
    };
    close(Oracle::uncoded(4).block_loss(0.05), 0.185_493_75, 1e-12);
    close(oracle("hamming-7-4").block_loss(0.05), 9.1e-4, 0.006);
    close(oracle("reed-solomon-4-3").block_loss(0.05), 1.9e-4, 0.03);
    close(oracle("golay-24-12").block_loss(0.2), 1.7e-3, 0.03);
    // By hand: seven patterns of three, and all of four to seven.
    let (p, q): (f64, f64) = (0.05, 0.95);
    let more = |from: f64| {
        from * p.powi(4) * q.powi(3)
            + 21.0 * p.powi(5) * q.powi(2)
            + 7.0 * p.powi(6) * q
            + p.powi(7)
    };
    let seven = 7.0 * p.powi(3) * q.powi(4) + more(35.0);
    close(oracle("hamming-7-4").block_loss(p), seven, 1e-12);
    close(oracle("reed-solomon-4-3").block_loss(p), more(35.0), 1e-12);
}

#[test]
fn no_loss_loses_nothing_and_all_lose_all() {
    for name in ["hamming-8-4", "golay-24-12", "reed-solomon-7-1", "raptorq"] {
        let oracle = oracle(name);
        assert_eq!((oracle.block_loss(0.0), oracle.block_loss(1.0)), (0.0, 1.0), "{name}");
    }
}

#[test]
#[ignore = "long form"]
fn raptorq_refuses_just_the_patterns_that_the_oracle_does() {
    let sets = survived_by_bytes(&parity(Scheme::RaptorQ));
    let survives = |set: u32| sets[set as usize / 64] >> (set % 64) & 1 == 1;
    let mut coder = Coder::new(Scheme::RaptorQ);
    let block: Vec<u8> = (0..12).map(|byte| byte * 21 + 1).collect();
    let mut datagrams = vec![Vec::new(); 24];
    coder.encode(&block, &mut datagrams);
    let mut rebuilt = [0; 12];
    let mut decodes = |set: u32| {
        let kept =
            |(nth, datagram): (usize, &Vec<u8>)| (set >> nth & 1 == 0).then_some(datagram.clone());
        let kept: Vec<_> = datagrams.iter().enumerate().map(kept).collect();
        let received: Vec<_> = kept.iter().map(|datagram| datagram.as_deref()).collect();
        coder.decode(&received, &mut rebuilt).is_ok()
    };
    let oracle = oracle("raptorq");
    for lost in [11, 12] {
        let (mut refused, mut nth) = (0, 0);
        each_choice(24, lost, |set| {
            nth += 1;
            // All that are beyond repair, and each 997th of the others.
            if !survives(set) || nth % 997 == 0 {
                assert_eq!(decodes(set), survives(set), "{set:024b}");
                refused += u128::from(!survives(set));
            }
        });
        let (survived, patterns) = counts(&oracle, lost as usize);
        assert_eq!(refused, patterns - survived);
        assert!(refused > 0, "or nothing was tried");
    }
}

#[test]
fn both_ways_of_counting_agree() {
    // The Golay code taken for one over bytes: the same sets, by determinants.
    let golay = parity(Scheme::Golay2412);
    assert!(survived_by_bytes(&golay) == survived_by_bits(&golay));
}
