//! The ring: is it a good one?
//!
//! Round trips of `shm-ring:wait=spin` across two CPUs against a plain ping-pong on pages of
//! the same kind: a flag in a line of its own per direction, the payload in the next line,
//! each side spinning with the pause instruction on the partner's flag. That is how it is
//! commonly written, and costs two line transfers where the ring's first line takes one. Both
//! alternate within the same worker processes; modes are separated, and compared like with
//! like. And the same ring one way, in `one_way`.
//!
//! A bare exchange with the number beside the payload, in the fewest lines that carry it, runs against the ping-pong as
//! well. Where that takes more than the gate, the gate is out of every ring's reach and isn't judged: a CPU may fetch
//! both lines of the ping-pong at once, and 64 bytes beside a number take two lines, too.
//!
//! `cargo bench --bench ring [-- --quick]`. Exit code 1 when the gate is missed.

mod common;
#[path = "ring/one_way.rs"]
mod one_way;

use std::hint::{black_box, spin_loop};
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use sys::clock::Now;

use mechanisms::{Deadline, Endpoint, OpenSpec, Opened, Variant, Visitor, open};
use model::alignment::Alignment;
use model::clock::ClockKind;
use model::launch::Warmup;
use run::launch::Page;
use stats::{compare_paired, two_modes};
use sys::shared::{LINE, Mapping};
use workload::payload::Untouched;
use workload::{Buffers, latency};

use common::contest::{Blocks, Contest, SETTLE, Setting, Side};
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

/// Where the payload of a ping-pong lies.
#[derive(Clone, Copy, PartialEq)]
enum Payload {
    /// In the lines after the flag's.
    Apart,
    /// Behind the flag: the fewest lines that can carry it.
    Beside,
}

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
    /// From the flag to the payload.
    gap: usize,
    words: usize,
    message: Vec<u64>,
    exchanged: u64,
}

impl PingPong {
    fn pair(bytes: usize, payload: Payload) -> io::Result<(PingPong, PingPong)> {
        let direction = LINE + bytes.next_multiple_of(LINE);
        let gap = match payload {
            Payload::Apart => LINE,
            Payload::Beside => 8,
        };
        let mapping = Arc::new(Mapping::with_wide_words(PLACES * 2 * direction, 0)?);
        let side = |out, into| PingPong {
            mapping: mapping.clone(),
            place: 0,
            place_bytes: 2 * direction,
            out,
            into,
            gap,
            words: bytes / 8,
            message: vec![0xA5; bytes / 8],
            exchanged: 0,
        };
        Ok((side(0, direction), side(direction, 0)))
    }

    /// Flag, and payload, of the direction that starts at byte `at`.
    fn direction(&self, at: usize) -> (&AtomicU64, &[AtomicU64]) {
        let at = self.place * self.place_bytes + at;
        (&self.mapping.words(at)[0], &self.mapping.words(at + self.gap)[..self.words])
    }

    /// Faults its memory in.
    fn populate(&self) -> io::Result<()> {
        self.mapping.populate(self.mapping.bytes())
    }

    /// Goes to the next place; both sides do so before every half.
    fn move_on(&mut self) {
        self.place = (self.place + 1) % PLACES;
    }

    /// The initiator's half: the ticks of `count` round trips after `lead`.
    fn time(&mut self, clock: ClockKind, lead: u64, count: u64) -> u64 {
        self.move_on();
        self.initiate(clock, lead);
        self.initiate(clock, count)
    }

    /// The responder's half.
    fn answer(&mut self, count: u64) {
        self.move_on();
        self.respond(count);
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

/// From the last word to the first, so that a flag's line, which the partner polls, is written last.
#[inline(always)]
fn put(place: &[AtomicU64], message: &[u64]) {
    place.iter().zip(message).rev().for_each(|(place, word)| place.store(*word, Relaxed));
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
        self.ping_pong.populate()
    }

    fn time(&mut self, which: Loop, lead: u64, count: u64) -> io::Result<u64> {
        if which == Loop::Bare {
            return Ok(self.ping_pong.time(self.clock, lead, count));
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
                self.ping_pong.answer(count);
                Ok(())
            }
        }
    }
}

/// One worker's side of the fewest lines against the ping-pong.
struct Least {
    fewest: PingPong,
    ping_pong: PingPong,
    clock: ClockKind,
}

impl Least {
    fn of(&mut self, which: Loop) -> &mut PingPong {
        match which {
            Loop::Tool => &mut self.fewest,
            Loop::Bare => &mut self.ping_pong,
        }
    }
}

impl Side for Least {
    fn start(&mut self) -> io::Result<()> {
        self.fewest.populate()?;
        self.ping_pong.populate()
    }

    fn time(&mut self, which: Loop, lead: u64, count: u64) -> io::Result<u64> {
        let clock = self.clock;
        Ok(self.of(which).time(clock, lead, count))
    }

    fn respond(&mut self, which: Loop, count: u64) -> io::Result<()> {
        self.of(which).answer(count);
        Ok(())
    }
}

struct ContestSpec {
    clock: ClockKind,
    bytes: usize,
    setting: Setting,
}

impl ContestSpec {
    fn by<E: Endpoint + 'static>(&self, opened: Opened<E>) -> io::Result<Contest> {
        let (left, right) = PingPong::pair(self.bytes, Payload::Apart)?;
        let side = |end, ping_pong| -> io::Result<Both<E>> {
            let buffers = Buffers::new(self.bytes, Alignment::default().offset(0))?;
            let sample = Page::new(1)?;
            Ok(Both { end, buffers, ping_pong, sample, clock: self.clock })
        };
        let (initiator, responder) =
            (side(opened.initiator, left)?, side(opened.responder, right)?);
        Contest::spawn(initiator, responder, self.setting)
    }

    fn ring(self) -> io::Result<Contest> {
        let options = Variant::parse(VARIANT).expect("a variant of the table").options;
        let spec = OpenSpec { options, message_bytes: self.bytes, same_process: false, seed: 0 };
        open("shm-ring", &spec, self).map_err(|error| io::Error::other(error.to_string()))?
    }

    fn least(self) -> io::Result<Contest> {
        let fewest = PingPong::pair(self.bytes, Payload::Beside)?;
        let ping_pong = PingPong::pair(self.bytes, Payload::Apart)?;
        let side = |fewest, ping_pong| Least { fewest, ping_pong, clock: self.clock };
        let (initiator, responder) = (side(fewest.0, ping_pong.0), side(fewest.1, ping_pong.1));
        Contest::spawn(initiator, responder, self.setting)
    }
}

impl Visitor for ContestSpec {
    type Output = io::Result<Contest>;
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Self::Output {
        self.by(opened)
    }
}

/// The halves of `contest` with the ping-pong, worker pair after worker pair.
fn halves(
    machine: &Machine,
    bytes: usize,
    cpus: (u32, u32),
    contest: impl Fn(ContestSpec) -> io::Result<Contest>,
) -> io::Result<Blocks> {
    let (worker_pairs, pairs) = if common::quick() { QUICK } else { (WORKER_PAIRS, HALVES) };
    let mut blocks = Blocks::default();
    for pair in 0..worker_pairs {
        let (clock, ns_per_tick) = (machine.clock.kind, machine.clock.ns_per_tick);
        let seed = SEED + (bytes * WORKER_PAIRS + pair) as u64;
        let cpus = if pair % 2 == 1 { (cpus.1, cpus.0) } else { cpus };
        let lasting_ns = LASTING_NS;
        let setting = Setting { pairs, lasting_ns, cpus, warmup: WARMUP, ns_per_tick, seed };
        let mut contest = contest(ContestSpec { clock, bytes, setting })?;
        std::thread::sleep(SETTLE);
        contest.run()?;
        blocks.extend(contest.blocks());
    }
    Ok(blocks)
}

/// Whether any ring could hold the gate: a bare exchange of the fewest lines does. Prints what that takes of the
/// ping-pong's time.
fn reachable(bytes: usize, least: &Blocks) -> bool {
    let found = compare_paired(&least.tool, &least.bare, 0.05);
    let above = |compared: &stats::Comparison| compared.ratio.low > GATE;
    let reachable = !found.as_ref().is_some_and(above);
    println!(
        "{bytes:>4} B  {:<8} {:>6}  {:>8.1}  {:>9.1}  {}  {}",
        "bare",
        "",
        median(&least.tool),
        median(&least.bare),
        ratio(&found),
        if reachable { "" } else { "no ring can" }
    );
    reachable
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
/// and there is one, or no ring can hold it.
fn report(bytes: usize, blocks: &Blocks, least: &Blocks) -> bool {
    let reachable = reachable(bytes, least);
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
    !reachable || met && judged
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
        let both = halves(&machine, bytes, cpus, ContestSpec::ring)
            .and_then(|ring| Ok((ring, halves(&machine, bytes, cpus, ContestSpec::least)?)));
        match both {
            Ok((ring, least)) => met &= report(bytes, &ring, &least),
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
