//! The ring: is it a good one?
//!
//! Round trips of `shm-ring:wait=spin` across two CPUs against a plain ping-pong on pages of
//! the same kind: a flag in a line of its own per direction, the payload in the next line,
//! each side spinning with the pause instruction on the partner's flag. That is how it is
//! commonly written, and costs two line transfers where the ring's first line takes one. Both
//! alternate within the same worker processes; modes are separated, and compared like with
//! like. And the same ring one way, in `one_way`.
//!
//! The gate needs the ping-pong's two lines to cross one after the other. Where a CPU fetches both at once, as two cores
//! beside each other of an EPYC of 2022 do, the ring's one line saves next to nothing, and the gate is missed.
//!
//! `cargo bench --bench ring [-- --quick]`. Exit code 1 when the gate is missed.

mod common;
#[path = "ring/one_way.rs"]
mod one_way;

use clock::Now;
use std::hint::{black_box, spin_loop};
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use mechanisms::workload::payload::Untouched;
use mechanisms::workload::{Buffers, latency};
use mechanisms::{Deadline, Endpoint, OpenSpec, Opened, Variant, Visitor, open};
use model::clock::ClockKind;
use model::launch::Warmup;
use run::launch::Page;
use stats::{compare_paired, two_modes};
use sys::shared::{LINE, Mapping};

use common::contest::{Blocks, Contest, SETTLE, Setting, Side, Task};
use common::workers::Loop;
use common::{Machine, SEED, median, ratio};

const VARIANT: &str = "shm-ring:wait=spin";
const SIZES: [usize; 2] = [8, 64];
/// The most that the ring may take of the ping-pong's time.
const GATE: f64 = 0.9;
/// What a half lasts, in ns: some thousand round trips, and shorter than a time slice, so that
/// another process on one of the CPUs disturbs few halves instead of a part of every one.
const LASTING_NS: f64 = 2e5;
/// How long each loop is warmed up.
const WARMUP: Warmup = Warmup { operations: u64::MAX, ns: 5_000_000 };
/// Worker pairs, and halves in each: the mode is drawn once per worker pair, or nearly.
const WORKER_PAIRS: usize = 12;
const HALVES: usize = 20;
const QUICK: (usize, usize) = (4, 10);
/// Places of the ping-pong's lines: as many as the ring has slots.
const PLACES: usize = 64;
/// Fewer pairs in a mode decide nothing.
const FEWEST: usize = 12;

/// One side of the ping-pong. Each direction has a line for its flag and, after it, the
/// payload's.
///
/// What a line costs to cross depends on where it lies in memory (which part of the last level
/// keeps track of it): one pair of lines took 330 ns, another 590, again and again. The ring goes
/// through all of its slots, so the ping-pong moves to its next place with every half.
struct PingPong {
    mapping: Arc<Mapping>,
    place: usize,
    place_bytes: usize,
    out: usize,
    into: usize,
    words: usize,
    message: Vec<u64>,
    exchanged: u64,
}

impl PingPong {
    fn pair(bytes: usize) -> io::Result<(PingPong, PingPong)> {
        let direction = LINE + bytes.next_multiple_of(LINE);
        let mapping = Arc::new(Mapping::with_wide_words(PLACES * 2 * direction, 0)?);
        let side = |out, into| PingPong {
            mapping: mapping.clone(),
            place: 0,
            place_bytes: 2 * direction,
            out,
            into,
            words: bytes / 8,
            message: vec![0xA5; bytes / 8],
            exchanged: 0,
        };
        Ok((side(0, direction), side(direction, 0)))
    }

    /// Flag, and payload, of the direction that starts at byte `at`.
    fn direction(&self, at: usize) -> (&AtomicU64, &[AtomicU64]) {
        let at = self.place * self.place_bytes + at;
        (&self.mapping.words(at)[0], &self.mapping.words(at + LINE)[..self.words])
    }

    /// Goes to the next place; both sides do so before every half.
    fn move_on(&mut self) {
        self.place = (self.place + 1) % PLACES;
    }

    #[inline(never)]
    fn initiate(&mut self, clock: ClockKind, count: u64) -> u64 {
        let mut message = std::mem::take(&mut self.message);
        let ((flag_out, out), (flag_in, into)) =
            (self.direction(self.out), self.direction(self.into));
        let opened = clock.now();
        for nth in self.exchanged + 1..=self.exchanged + count {
            put(out, &message);
            flag_out.store(nth, Release);
            await_flag(flag_in, nth);
            get(into, &mut message);
        }
        let ticks = clock.now() - opened;
        self.message = message;
        self.exchanged += count;
        ticks
    }

    #[inline(never)]
    fn respond(&mut self, count: u64) {
        let mut message = std::mem::take(&mut self.message);
        let ((flag_out, out), (flag_in, into)) =
            (self.direction(self.out), self.direction(self.into));
        for nth in self.exchanged + 1..=self.exchanged + count {
            await_flag(flag_in, nth);
            get(into, &mut message);
            put(out, &message);
            flag_out.store(nth, Release);
        }
        self.message = message;
        self.exchanged += count;
    }
}

#[inline(always)]
fn await_flag(flag: &AtomicU64, value: u64) {
    while flag.load(Acquire) != value {
        spin_loop();
    }
}

#[inline(always)]
fn put(place: &[AtomicU64], message: &[u64]) {
    place.iter().zip(message).for_each(|(place, word)| place.store(*word, Relaxed));
}

#[inline(always)]
fn get(place: &[AtomicU64], message: &mut [u64]) {
    message.iter_mut().zip(place).for_each(|(word, place)| *word = place.load(Relaxed));
    black_box(message);
}

/// One worker's side: its end of the ring, and of the ping-pong.
struct Both<E> {
    end: E,
    buffers: Buffers,
    ping_pong: PingPong,
    sample: Page,
    clock: ClockKind,
}

impl<E: Endpoint> Side for Both<E> {
    fn start(&mut self) -> io::Result<()> {
        self.end.start(&Deadline::default())?;
        self.sample.populate(1)?;
        let mapping = &self.ping_pong.mapping;
        mapping.populate(mapping.bytes())
    }

    fn time(&mut self, which: Loop, lead: u64, count: u64) -> io::Result<u64> {
        if which == Loop::Bare {
            self.ping_pong.move_on();
            self.ping_pong.initiate(self.clock, lead);
            return Ok(self.ping_pong.initiate(self.clock, count));
        }
        let (end, buffers) = (&mut self.end, &mut self.buffers);
        let sample = self.sample.samples(1);
        for batch in [lead, count] {
            latency::initiate(end, &mut Untouched, buffers, self.clock, sample, batch)?;
        }
        Ok(sample[0].load(Relaxed))
    }

    fn respond(&mut self, which: Loop, count: u64) -> io::Result<()> {
        match which {
            Loop::Tool => latency::respond(&mut self.end, &mut Untouched, &mut self.buffers, count),
            Loop::Bare => {
                self.ping_pong.move_on();
                self.ping_pong.respond(count);
                Ok(())
            }
        }
    }
}

struct ContestSpec {
    clock: ClockKind,
    bytes: usize,
    setting: Setting,
}

impl ContestSpec {
    fn by<E: Endpoint + 'static>(&self, opened: Opened<E>) -> io::Result<Contest> {
        let (left, right) = PingPong::pair(self.bytes)?;
        let side = |end, ping_pong| -> io::Result<Both<E>> {
            let (buffers, sample) = (Buffers::new(self.bytes, 0), Page::new(1)?);
            Ok(Both { end, buffers, ping_pong, sample, clock: self.clock })
        };
        let (initiator, responder) =
            (side(opened.initiator, left)?, side(opened.responder, right)?);
        Contest::spawn(initiator, responder, self.setting)
    }
}

impl Visitor for ContestSpec {
    type Output = io::Result<Contest>;
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Self::Output {
        self.by(opened)
    }
}

fn contest(machine: &Machine, bytes: usize, cpus: (u32, u32)) -> io::Result<Blocks> {
    let variant = Variant::parse(VARIANT).expect("a variant of the table");
    let (worker_pairs, pairs) = if common::quick() { QUICK } else { (WORKER_PAIRS, HALVES) };
    let mut blocks = Blocks::default();
    for pair in 0..worker_pairs {
        let (clock, ns_per_tick) = (machine.clock.kind, machine.clock.ns_per_tick);
        let seed = SEED + (bytes * WORKER_PAIRS + pair) as u64;
        let task = Task::Pairs { pairs, lasting_ns: LASTING_NS };
        let cpus = if pair % 2 == 1 { (cpus.1, cpus.0) } else { cpus };
        let setting = Setting { task, cpus, warmup: WARMUP, ns_per_tick, seed };
        let contest = ContestSpec { clock, bytes, setting };
        let options = variant.options.clone();
        let spec = OpenSpec { options, message_bytes: bytes, same_process: false, seed: 0 };
        let mut contest = open(variant.entry.name, &spec, contest)
            .map_err(|error| io::Error::other(error.to_string()))??;
        std::thread::sleep(SETTLE);
        contest.run()?;
        blocks.extend(contest.blocks());
    }
    Ok(blocks)
}

/// Whether each value belongs to the upper of two modes; None where there is only one mode.
fn upper(values: &[f64]) -> Option<Vec<bool>> {
    let modes = two_modes(values)?;
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let first_above = sorted[modes.low.count];
    Some(values.iter().map(|value| *value >= first_above).collect())
}

/// Pairs whose halves are both in the lower, or both in the upper mode. Where only one side
/// has modes, the other goes with either.
fn alike(blocks: &Blocks) -> Vec<(&'static str, Vec<usize>)> {
    let all = 0..blocks.tool.len();
    let (ring, ping_pong) = match (upper(&blocks.tool), upper(&blocks.bare)) {
        (None, None) => return vec![("only one", all.collect())],
        (Some(ring), Some(ping_pong)) => (ring, ping_pong),
        (Some(one), None) | (None, Some(one)) => (one.clone(), one),
    };
    let both = |mode| {
        let alike = |at: &usize| ring[*at] == mode && ping_pong[*at] == mode;
        all.clone().filter(alike).collect()
    };
    vec![("lower", both(false)), ("upper", both(true))]
}

/// Prints the lines of one size; whether the gate is held in every mode that can be judged,
/// and there is one.
fn report(bytes: usize, blocks: &Blocks) -> bool {
    let (mut met, mut judged, mut counted) = (true, false, 0);
    for (mode, pairs) in alike(blocks) {
        let pick = |values: &[f64]| pairs.iter().map(|at| values[*at]).collect::<Vec<f64>>();
        let (ring, ping_pong) = (pick(&blocks.tool), pick(&blocks.bare));
        counted += pairs.len();
        let share = 100.0 * pairs.len() as f64 / blocks.tool.len() as f64;
        let found = compare_paired(&ring, &ping_pong, 0.05);
        let word = match &found {
            Some(found) if pairs.len() >= FEWEST => {
                judged = true;
                let holds = found.ratio.estimate <= GATE;
                met &= holds;
                if holds { format!("ok   {GATE}") } else { format!("OVER {GATE}") }
            }
            _ => "few pairs".into(),
        };
        println!(
            "{bytes:>4} B  {mode:<8} {share:>4.0} %  {:>8.1}  {:>9.1}  {}  {word}",
            median(&ring),
            median(&ping_pong),
            ratio(&found)
        );
    }
    let noise = compare_paired(&blocks.left, &blocks.right, 0.05);
    println!("        the ping-pong against itself         {}", ratio(&noise));
    let mixed = blocks.tool.len() - counted;
    if mixed > 0 {
        println!("        {mixed} pairs had their halves in different modes: not compared");
    }
    if !judged {
        println!("        no mode has {FEWEST} pairs: the gate is not shown to hold");
    }
    met && judged
}

fn main() -> ExitCode {
    let machine = Machine::look();
    let cpus = match &machine.across {
        Ok((placement, cpus)) => {
            println!("{VARIANT} against a plain ping-pong, {placement}; medians of halves in ns;");
            println!("ratios of pairs with 95 % intervals, alike with alike.\n");
            *cpus
        }
        Err(why) => {
            println!("The ring is not compared: spinning workers need two CPUs. {why}.");
            return ExitCode::SUCCESS;
        }
    };
    println!(
        "{:>6}  {:<8} {:>6}  {:>8}  {:>9}  {:<19}  gate",
        "size", "mode", "pairs", "ring", "ping-pong", "ring / ping-pong"
    );
    let mut met = true;
    for bytes in SIZES {
        match contest(&machine, bytes, cpus) {
            Ok(blocks) => met &= report(bytes, &blocks),
            Err(error) => {
                println!("{bytes:>4} B  failed: {error}");
                met = false;
            }
        }
    }
    match one_way::report(cpus) {
        Ok(held) => met &= held,
        Err(error) => {
            println!("one way: failed: {error}");
            met = false;
        }
    }
    ExitCode::from(u8::from(!met))
}
