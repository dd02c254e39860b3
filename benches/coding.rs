//! Coding and decoding: what they cost beside copying.
//!
//! Each scheme makes the datagrams of a block, and rebuilds the block after as many lost data
//! datagrams as surely come back; beside it the same block is copied. Both alternate in one
//! process, in an order that is drawn; a ratio is time of coding over time of copying, the median
//! of all pairs with its 95 % interval. The block and what is made of it are in the caches, each at
//! the beginning of a page: copying 1 KiB takes 1.4 times as long between unlucky addresses.
//! Copying against itself shows what such a comparison can resolve.
//!
//! `cargo bench --bench coding [-- --quick] [SCHEME…]`. It has no gate.

mod common;

use std::hint::black_box;
use std::ops::{Deref, DerefMut, Range};
use std::process::ExitCode;
use std::time::Instant;

use codes::{Coder, Scheme};
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use stats::median_interval;

use common::{Machine, SEED};

const SCHEMES: [&str; 6] = [
    "hamming-7-4",
    "hamming-8-4",
    "golay-24-12",
    "reed-solomon-4-3",
    "reed-solomon-12-12",
    "raptorq",
];
const SIZES: [usize; 3] = [1 << 10, 16 << 10, 64 << 10];
/// Pairs of halves, and what each half lasts, in ns.
const FULL: (usize, f64) = (200, 2e5);
const QUICK: (usize, f64) = (20, 2e4);

const PAGE_BYTES: usize = 4096;

/// Bytes that begin where a page does.
struct Block {
    room: Vec<u8>,
    bytes: Range<usize>,
}

impl Block {
    fn zeroed(bytes: usize) -> Block {
        let room = vec![0; bytes + PAGE_BYTES];
        let at = room.as_ptr().align_offset(PAGE_BYTES);
        Block { room, bytes: at..at + bytes }
    }

    fn drawn(bytes: usize, draws: &mut ChaCha8Rng) -> Block {
        let mut block = Block::zeroed(bytes);
        draws.fill(&mut block[..]);
        block
    }
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.room[self.bytes.clone()]
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.bytes.clone()]
    }
}

/// One thing that is done over and over.
type Work<'a> = &'a mut dyn FnMut();

/// Mean ns of one of `count` times.
fn time(work: Work, count: u64) -> f64 {
    let opened = Instant::now();
    (0..count).for_each(|_| work());
    opened.elapsed().as_nanos() as f64 / count as f64
}

/// How often to do it to fill a half.
fn fill(work: Work, lasting_ns: f64) -> u64 {
    let mut count = 1;
    loop {
        let each = time(work, count).max(1.0);
        if each * count as f64 >= lasting_ns / 4.0 {
            return (lasting_ns / each).ceil() as u64;
        }
        count *= 2;
    }
}

/// Ratios of `one` to `other`, alternating; and the medians of both, in ns.
struct Ratios {
    ratios: Vec<f64>,
    ones: Vec<f64>,
}

fn alternate(one: Work, other: Work, draws: &mut ChaCha8Rng) -> Ratios {
    let (pairs, lasting_ns) = if common::quick() { QUICK } else { FULL };
    let (count_one, count_other) = (fill(one, lasting_ns), fill(other, lasting_ns));
    let mut found = Ratios { ratios: Vec::new(), ones: Vec::new() };
    for _ in 0..pairs {
        let (taken, copied);
        if draws.random() {
            taken = time(one, count_one);
            copied = time(other, count_other);
        } else {
            copied = time(other, count_other);
            taken = time(one, count_one);
        }
        found.ratios.push(taken / copied);
        found.ones.push(taken);
    }
    found
}

fn report(what: &str, bytes: usize, found: &Ratios) {
    let interval = median_interval(&found.ratios, 0.05).expect("at least six pairs");
    let ns = common::quartiles(&mut found.ones.clone())[1];
    println!(
        "{bytes:>6}  {what:<34} {ns:>10.0}  {:>8.2} [{:.2} {:.2}]",
        interval.estimate, interval.low, interval.high
    );
}

/// Measures one scheme at one size; false where a block came back wrong.
fn measure(scheme: Scheme, bytes: usize, draws: &mut ChaCha8Rng) -> bool {
    let block = Block::drawn(bytes, draws);
    let mut copy = Block::zeroed(bytes);
    let mut copying = || black_box(&mut copy).copy_from_slice(black_box(&block));

    let mut coder = Coder::new(scheme);
    let mut datagrams = vec![Vec::new(); scheme.total_shards()];
    let mut encoding = || coder.encode(black_box(&block), black_box(&mut datagrams));
    let found = alternate(&mut encoding, &mut copying, draws);
    report(&format!("{scheme}: encode"), bytes, &found);

    let mut received: Vec<_> = datagrams.iter().map(|datagram| Some(datagram.as_slice())).collect();
    // As many as come back whichever they are.
    let lost = match scheme {
        Scheme::Hamming74 => 2,
        Scheme::Hamming84 => 3,
        Scheme::Golay2412 => 7,
        Scheme::RaptorQ => 10,
        Scheme::ReedSolomon { data, repair } => data.min(repair),
    };
    let mut rebuilt = Block::zeroed(bytes);
    for lost in [0, lost] {
        received[..lost].fill(None);
        let mut decoding = || {
            coder.decode(black_box(&received), black_box(&mut rebuilt)).expect("enough arrived");
        };
        let found = alternate(&mut decoding, &mut copying, draws);
        report(&format!("{scheme}: decode, {lost} lost"), bytes, &found);
    }
    *rebuilt == *block
}

fn main() -> ExitCode {
    Machine::look();
    println!("Time over that of copying the block; medians of pairs with 95 % intervals.\n");
    println!("{:>6}  {:<34} {:>10}  {:>8}", "bytes", "", "ns", "ratio");
    let names = common::names();
    let names = if names.is_empty() { SCHEMES.map(str::to_string).to_vec() } else { names };
    let mut draws = ChaCha8Rng::seed_from_u64(SEED);
    let mut right = true;
    for bytes in SIZES {
        let block = Block::drawn(bytes, &mut draws);
        let (mut left, mut right_copy) = (Block::zeroed(bytes), Block::zeroed(bytes));
        let mut one = || black_box(&mut left).copy_from_slice(black_box(&block));
        let mut other = || black_box(&mut right_copy).copy_from_slice(black_box(&block));
        report("copying against itself", bytes, &alternate(&mut one, &mut other, &mut draws));
        for name in &names {
            match Scheme::parse(name) {
                Ok(scheme) => right &= measure(scheme, bytes, &mut draws),
                Err(error) => {
                    eprintln!("error: {error}");
                    return ExitCode::from(2);
                }
            }
        }
    }
    ExitCode::from(u8::from(!right))
}
