//! Fidelity: does the tool's timed loop report what the mechanism takes?
//!
//! Its mean round trip, every sample stored as in a launch, over that of a bare loop: the
//! system calls one after the other, the clock read twice in all. Both alternate on the same
//! endpoints, CPUs and worker processes; the bare loop against itself shows what such a ratio
//! can resolve. Then the whole path: launches of the real program against bare ones.
//!
//! `cargo bench --bench fidelity [-- --quick] [MECHANISM…]`. Exit code 1 when a gate is missed.

mod common;

use std::any::Any;
use std::io;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::io::{read, write};
use rustix::thread::futex as call;

use ipcmark::clock::Kind;
use ipcmark::launch::{Interrupt, Launcher, Outcome, Page, Placement, Stage, Warmup};
use ipcmark::mechanism::fd::{OneFd, TwoFds};
use ipcmark::mechanism::{Endpoint, OpenSpec, Opened, Options, Visitor, eventfd, futex, open};
use ipcmark::stats::{Comparison, compare_paired, two_modes};
use ipcmark::workload::payload::Untouched;
use ipcmark::workload::{Buffers, latency};

use common::contest::{Blocks, Contest, SETTLE, Setting, Side, Task};
use common::crew::Way;
use common::{Machine, SEED, ratio};

const MECHANISMS: [&str; 5] = ["pipe", "unix-stream", "eventfd", "tcp", "futex"];
const MESSAGE_BYTES: usize = 64;
/// The most that the tool may add: pinned to one CPU, and across.
const GATE_ONE_CPU: f64 = 1.03;
const GATE_ACROSS: f64 = 1.05;
/// What a half lasts, as a launch does, in ns.
const LASTING_ONE_CPU: f64 = 10e6;
const LASTING_ACROSS: f64 = 25e6;
/// Fresh pairs of workers per configuration, half of them with the CPUs swapped: what a launch
/// happens to be given (pages, lines) is drawn anew, and no one draw decides.
const CREWS: usize = 4;
/// Launches and bare crews that are set up together.
const BATCH: usize = 10;
/// A sample must last so many clock reads, and so many clock steps (as in campaign/pilot.rs).
const READS: f64 = 20.0;
const STEPS: f64 = 50.0;
/// Warm-up of a launch; that of a bare crew is as long.
const WARMUP: Warmup = Warmup { operations: u64::MAX, ns: 5_000_000 };

/// A round trip as one would write it by hand for this one endpoint: no retries, no traits, an
/// error or a short count ends it.
trait Bare: Endpoint + 'static {
    fn initiate(&mut self, clock: Kind, buffers: &mut Buffers, count: u64) -> io::Result<u64>;
    fn answer(&mut self, buffers: &mut Buffers, count: u64) -> io::Result<()>;
}

#[cold]
fn short() -> io::Error {
    io::Error::other("a short read or write")
}

#[inline(never)]
fn write_read(
    clock: Kind,
    to: impl AsFd,
    from: impl AsFd,
    out: &[u8],
    into: &mut [u8],
    count: u64,
) -> io::Result<u64> {
    let (to, from) = (to.as_fd(), from.as_fd());
    let opened = clock.now();
    for _ in 0..count {
        if write(to, out)? != out.len() || read(from, &mut *into)? != into.len() {
            return Err(short());
        }
    }
    Ok(clock.now() - opened)
}

#[inline(never)]
fn read_write(
    to: impl AsFd,
    from: impl AsFd,
    out: &[u8],
    into: &mut [u8],
    count: u64,
) -> io::Result<()> {
    let (to, from) = (to.as_fd(), from.as_fd());
    for _ in 0..count {
        if read(from, &mut *into)? != into.len() || write(to, out)? != out.len() {
            return Err(short());
        }
    }
    Ok(())
}

impl Bare for TwoFds {
    fn initiate(&mut self, clock: Kind, buffers: &mut Buffers, count: u64) -> io::Result<u64> {
        let (out, into) = buffers.split();
        write_read(clock, &self.to, &self.from, out, into, count)
    }

    fn answer(&mut self, buffers: &mut Buffers, count: u64) -> io::Result<()> {
        let (out, into) = buffers.split();
        read_write(&self.to, &self.from, out, into, count)
    }
}

impl Bare for OneFd {
    fn initiate(&mut self, clock: Kind, buffers: &mut Buffers, count: u64) -> io::Result<u64> {
        let (out, into) = buffers.split();
        write_read(clock, &self.0, &self.0, out, into, count)
    }

    fn answer(&mut self, buffers: &mut Buffers, count: u64) -> io::Result<()> {
        let (out, into) = buffers.split();
        read_write(&self.0, &self.0, out, into, count)
    }
}

impl Bare for eventfd::End {
    fn initiate(&mut self, clock: Kind, _: &mut Buffers, count: u64) -> io::Result<u64> {
        let fds = self.fds();
        write_read(clock, &fds.to, &fds.from, &1u64.to_ne_bytes(), &mut [0; 8], count)
    }

    fn answer(&mut self, _: &mut Buffers, count: u64) -> io::Result<()> {
        let fds = self.fds();
        read_write(&fds.to, &fds.from, &1u64.to_ne_bytes(), &mut [0; 8], count)
    }
}

#[inline(always)]
fn post(tokens: &AtomicU32, parked: &AtomicU32) {
    tokens.fetch_add(1, SeqCst);
    if parked.load(SeqCst) == 1 && parked.swap(0, SeqCst) == 1 {
        let _ = call::wake(parked, call::Flags::empty(), 1);
    }
}

#[inline(always)]
fn wait(tokens: &AtomicU32, parked: &AtomicU32) {
    while tokens.load(SeqCst) == 0 {
        parked.store(1, SeqCst);
        if tokens.load(SeqCst) != 0 {
            parked.store(0, SeqCst);
            break;
        }
        let _ = call::wait(parked, call::Flags::empty(), 1, None);
    }
    tokens.fetch_sub(1, SeqCst);
}

impl Bare for futex::End {
    fn initiate(&mut self, clock: Kind, _: &mut Buffers, count: u64) -> io::Result<u64> {
        let (there, back) = self.bells();
        let opened = clock.now();
        for _ in 0..count {
            post(&there.tokens, &there.parked);
            wait(&back.tokens, &back.parked);
        }
        Ok(clock.now() - opened)
    }

    fn answer(&mut self, _: &mut Buffers, count: u64) -> io::Result<()> {
        let (back, there) = self.bells();
        for _ in 0..count {
            wait(&there.tokens, &there.parked);
            post(&back.tokens, &back.parked);
        }
        Ok(())
    }
}

/// One worker's side: the tool's loop, and the bare one, on the same end and buffers.
struct Fidelity<E> {
    end: E,
    buffers: Buffers,
    samples: Page,
    scratch: Page,
    batch: u64,
    shortest_ns: f64,
    clock: Kind,
}

impl<E: Bare> Fidelity<E> {
    fn new(end: E, shortest_ns: f64, clock: Kind) -> io::Result<Self> {
        let buffers = Buffers::new(MESSAGE_BYTES, 0);
        let (samples, scratch) = (Page::new(1)?, Page::new(1)?);
        Ok(Fidelity { end, buffers, samples, scratch, batch: 1, shortest_ns, clock })
    }
}

impl<E: Bare> Side for Fidelity<E> {
    fn start(&mut self) -> io::Result<()> {
        self.end.start()
    }

    fn batch(&mut self, operation_ns: f64) -> u64 {
        self.batch = (self.shortest_ns / operation_ns).ceil().max(1.0) as u64;
        self.batch
    }

    /// A fresh sample page, as every launch has.
    fn prepare(&mut self, count: u64) -> io::Result<()> {
        let samples = (count / self.batch) as usize;
        self.samples = Page::new(samples)?;
        self.samples.populate(samples)
    }

    fn time(&mut self, way: Way, lead: u64, count: u64) -> io::Result<u64> {
        let Fidelity { end, buffers, samples, scratch, batch, clock, .. } = self;
        if way == Way::Bare {
            end.initiate(*clock, buffers, lead)?;
            return end.initiate(*clock, buffers, count);
        }
        let payload = &mut Untouched;
        latency::initiate(end, payload, buffers, *clock, scratch.samples(1), lead)?;
        let samples = samples.samples((count / *batch) as usize);
        latency::initiate(end, payload, buffers, *clock, samples, *batch)?;
        Ok(samples.iter().map(|ticks| ticks.load(Relaxed)).sum())
    }

    fn respond(&mut self, way: Way, count: u64) -> io::Result<()> {
        match way {
            Way::Tool => latency::respond(&mut self.end, &mut Untouched, &mut self.buffers, count),
            Way::Bare => self.end.answer(&mut self.buffers, count),
        }
    }
}

/// Forks the workers of a contest over whichever endpoints were opened.
struct Muster {
    clock: Kind,
    shortest_ns: f64,
    setting: Setting,
}

impl Muster {
    fn over(&self, mechanism: &str) -> io::Result<Contest> {
        let spec = OpenSpec {
            options: Options::default(),
            message_bytes: MESSAGE_BYTES,
            same_process: false,
            seed: 0,
        };
        open(mechanism, &spec, self).map_err(|error| io::Error::other(error.to_string()))?
    }

    fn with<E: Bare>(&self, opened: Opened<E>) -> io::Result<Contest> {
        let side = |end| Fidelity::new(end, self.shortest_ns, self.clock);
        Contest::muster(side(opened.initiator)?, side(opened.responder)?, self.setting)
    }
}

impl Visitor for &Muster {
    type Output = io::Result<Contest>;

    /// The bare loops must know what they write to: back from "some endpoint" to its type.
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Self::Output {
        let opened: Box<dyn Any> = Box::new(opened);
        let opened = match opened.downcast::<Opened<TwoFds>>() {
            Ok(opened) => return self.with(*opened),
            Err(other) => other,
        };
        let opened = match opened.downcast::<Opened<OneFd>>() {
            Ok(opened) => return self.with(*opened),
            Err(other) => other,
        };
        let opened = match opened.downcast::<Opened<eventfd::End>>() {
            Ok(opened) => return self.with(*opened),
            Err(other) => other,
        };
        match opened.downcast::<Opened<futex::End>>() {
            Ok(opened) => self.with(*opened),
            Err(_) => Err(io::Error::other("no bare loop is written for this endpoint")),
        }
    }
}

/// One line of the tables.
struct Config {
    mechanism: &'static str,
    placement: Placement,
    cpus: (u32, u32),
    seed: u64,
}

impl Config {
    fn one_cpu(&self) -> bool {
        self.cpus.0 == self.cpus.1
    }

    fn lasting_ns(&self) -> f64 {
        if self.one_cpu() { LASTING_ONE_CPU } else { LASTING_ACROSS }
    }

    /// The most that a ratio may be; None where a mechanism changes its mode from one launch
    /// to the next, so that a ratio compares modes.
    fn gate(&self) -> Option<f64> {
        match (self.mechanism, self.one_cpu()) {
            (_, true) => Some(GATE_ONE_CPU),
            ("futex", false) => None,
            _ => Some(GATE_ACROSS),
        }
    }

    fn muster(&self, machine: &Machine, swapped: bool, seed: u64, task: Task) -> Muster {
        let (first, second) = self.cpus;
        let cpus = if swapped { (second, first) } else { (first, second) };
        let clock = &machine.clock;
        Muster {
            clock: clock.kind,
            shortest_ns: (READS * clock.cost_ns).max(STEPS * clock.step_ns),
            setting: Setting { task, cpus, ns_per_tick: clock.ns_per_tick, seed },
        }
    }

    /// The tool's loop against the bare one, within worker processes.
    fn loops(&self, machine: &Machine, pairs: usize) -> io::Result<Blocks> {
        let mut blocks = Blocks::default();
        for crew in 0..CREWS {
            let task = Task::Pairs { pairs: pairs / CREWS, lasting_ns: self.lasting_ns() };
            let seed = self.seed + crew as u64;
            let mut contest =
                self.muster(machine, crew % 2 == 1, seed, task).over(self.mechanism)?;
            std::thread::sleep(SETTLE);
            contest.run()?;
            blocks.extend(contest.blocks());
        }
        Ok(blocks)
    }

    /// Launches of the real program against bare crews of our own, timed alternately.
    fn whole_path(
        &self,
        machine: &Machine,
        interrupt: &Interrupt,
        pairs: usize,
        bare_ns: f64,
    ) -> io::Result<Option<Comparison>> {
        let count = (self.lasting_ns() / bare_ns).ceil() as u64;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let launcher = Launcher::new(common::PROGRAM.into());
        let interrupted = |_| io::Error::from(io::ErrorKind::Interrupted);
        let (mut tool, mut bare) = (Vec::new(), Vec::new());
        while tool.len() < pairs {
            let mut set_up = Vec::new();
            for nth in 0..BATCH {
                let muster = self.muster(machine, nth % 2 == 1, 0, Task::Bare(count));
                let cpus = muster.setting.cpus;
                let spec = common::launch_spec(&machine.clock, self.mechanism, cpus, WARMUP, count);
                let mut launch = launcher.start(&spec, 16 * rng.random_range(0..256))?;
                launch.reach(Stage::Ready, interrupt).map_err(interrupted)?;
                set_up.push((launch, muster.over(self.mechanism)?));
            }
            std::thread::sleep(SETTLE);
            for (launch, contest) in &mut set_up {
                let launch_first: bool = rng.random();
                for launch_now in [launch_first, !launch_first] {
                    if launch_now {
                        launch.go();
                        launch.reach(Stage::Timed, interrupt).map_err(interrupted)?;
                    } else {
                        contest.run()?;
                    }
                }
            }
            for (launch, contest) in &mut set_up {
                launch.end();
                bare.push(contest.mean());
            }
            for (launch, _contest) in set_up {
                let ending = launch.collect(interrupt);
                if ending.record.outcome != Outcome::Ok {
                    return Err(io::Error::other(format!("{:?}", ending.record.outcome)));
                }
                let ticks: u64 = ending.samples.iter().sum();
                tool.push(ticks as f64 * machine.clock.ns_per_tick / count as f64);
            }
        }
        Ok(compare_paired(&tool, &bare, 0.05))
    }

    fn name(&self) -> String {
        format!("{:<11} {:<9}", self.mechanism, self.placement.to_string())
    }

    /// Prints the line of the first table; whether the gate is missed.
    fn report(&self, blocks: &Blocks) -> bool {
        let found = compare_paired(&blocks.tool, &blocks.bare, 0.05);
        let noise = compare_paired(&blocks.left, &blocks.right, 0.05);
        let (word, missed) = judge(self.gate(), &found);
        let bare_ns = common::mean(&blocks.bare);
        println!("{} {bare_ns:>8.0}  {}  {} {word}", self.name(), ratio(&found), ratio(&noise));
        missed
    }

    /// Prints why there is no result, which misses every gate.
    fn failed(&self, error: &io::Error) -> bool {
        println!("{} failed: {error}", self.name());
        true
    }

    fn note_modes(&self, blocks: &Blocks) -> Option<String> {
        let modes = two_modes(&blocks.bare)?;
        Some(format!(
            "{} {}: bare halves of two modes, {:.0} ns ({:.0} %) and {:.0} ns",
            self.mechanism,
            self.placement,
            modes.low.center,
            100.0 * modes.low.share,
            modes.high.center
        ))
    }
}

/// `ok`, `OVER`, or `shown` where there is no gate; and whether the gate is missed.
fn judge(gate: Option<f64>, comparison: &Option<Comparison>) -> (String, bool) {
    match (gate, comparison) {
        (None, _) => ("shown".into(), false),
        (Some(gate), Some(found)) if found.ratio.estimate <= gate => {
            (format!("ok   {gate}"), false)
        }
        (Some(gate), _) => (format!("OVER {gate}"), true),
    }
}

fn main() -> ExitCode {
    let machine = Machine::look();
    let interrupt = Interrupt::install().expect("signal handlers");
    let pairs = if common::quick() { 20 } else { 60 };
    println!(
        "Mean round trip, {MESSAGE_BYTES} bytes (eventfd and futex: a wake-up), {pairs} pairs"
    );
    println!("of halves each; ratios with 95 % intervals; the gate is the last column.\n");
    let head = ("mechanism", "placement", "bare ns", "tool / bare", "bare / bare");
    println!("{:<11} {:<9} {:>8}  {:<19}  {:<19} gate", head.0, head.1, head.2, head.3, head.4);

    let names = common::names();
    let mut configs = Vec::new();
    for (placement, cpus) in machine.placements() {
        let asked = |it: &&str| names.is_empty() || names.iter().any(|name| name == it);
        for mechanism in MECHANISMS.into_iter().filter(asked) {
            let seed = SEED + 100 * configs.len() as u64;
            configs.push(Config { mechanism, placement, cpus, seed });
        }
    }
    let (mut missed, mut measured, mut notes) = (false, Vec::new(), Vec::new());
    for config in configs {
        match config.loops(&machine, pairs) {
            Ok(blocks) => {
                missed |= config.report(&blocks);
                notes.extend(config.note_modes(&blocks));
                measured.push((config, common::mean(&blocks.bare)));
            }
            Err(error) => missed |= config.failed(&error),
        }
        if interrupt.signal().is_some() {
            return ExitCode::from(130);
        }
    }
    notes.iter().for_each(|note| println!("{note}"));

    println!("\nThe whole path: a launch of the program over a bare launch. Each is a pair of");
    println!("processes of its own, so that their luck is in it; not gated.\n");
    println!("{:<11} {:<9}  {:<19}  pairs", "mechanism", "placement", "launch / bare");
    for (config, bare_ns) in measured {
        match config.whole_path(&machine, &interrupt, pairs, bare_ns) {
            Ok(found) => println!("{}  {}  {pairs}", config.name(), ratio(&found)),
            Err(error) => missed |= config.failed(&error),
        }
        if interrupt.signal().is_some() {
            return ExitCode::from(130);
        }
    }
    ExitCode::from(u8::from(missed))
}
