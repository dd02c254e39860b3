//! Fidelity: does the tool report what the mechanism takes?
//!
//! First its timed loop: mean round trip, every sample stored as in a launch, over that of a bare
//! loop (the system calls one after the other, the clock read twice in all). Both alternate on the
//! same endpoints, CPUs and worker processes; the bare loop against itself shows what such a
//! ratio can resolve. Then the whole path: launches of the real program over bare ones. A bare
//! launch is a pair of forked workers that is left alone, warmed up and timed as a launch is; a
//! round holds one of each for every mechanism, in one random order.
//!
//! Whatever sleeps across CPUs is timed after the quiet that the program's own pilot finds.
//!
//! A gate holds (`ok`) where the ratio's whole 95 % interval lies at it or below, and is missed
//! (`OVER`) where all of it lies above. Where the gate lies inside, these pairs can't tell: `open`.
//!
//! `cargo bench --bench fidelity [-- --quick] [MECHANISM…]`. Exit code 1 when a gate is missed or
//! something failed, 4 when one stays open.

mod common;

use std::any::Any;
use std::io;
use std::process::ExitCode;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use mechanisms::fd::{OneFd, TwoFds};
use mechanisms::workload::payload::Untouched;
use mechanisms::workload::{Buffers, latency};
use mechanisms::{Deadline, Endpoint, OpenSpec, Opened, Options, Visitor, eventfd, futex, open};
use model::clock::ClockKind;
use model::launch::Warmup;
use model::placement::Placement;
use run::campaign::lasting_ns;
use run::launch::{Interrupt, Launch, Launcher, Page, Stage};
use stats::{Comparison, compare_paired, two_modes};

use common::bare::Bare;
use common::contest::{Blocks, Contest, Setting, Side, Task};
use common::workers::Loop;
use common::{Machine, SEED, ratio};

const MECHANISMS: [&str; 5] = ["pipe", "unix-stream", "eventfd", "tcp", "futex"];
const MESSAGE_BYTES: usize = 64;
/// The most that the tool may add: pinned to one CPU, and across.
const GATE_ONE_CPU: f64 = 1.03;
const GATE_ACROSS: f64 = 1.05;
/// Pairs of halves of each case, and rounds of the whole path; quickly, and else.
const QUICK: (usize, usize) = (20, 24);
const WHOLE: (usize, usize) = (60, 200);
/// Fresh pairs of workers per configuration, half of them with the CPUs swapped: what a launch
/// happens to be given (pages, lines) is drawn anew, and no one draw decides.
const WORKER_PAIRS: usize = 4;
/// Rounds of the whole path that are set up together.
const TOGETHER: usize = 3;

/// One worker's side: the tool's loop, and the bare one, on the same end and buffers.
struct Fidelity<E> {
    end: E,
    buffers: Buffers,
    samples: Page,
    /// Samples that there is room for.
    room: usize,
    scratch: Page,
    batch: u64,
    shortest_ns: f64,
    clock: ClockKind,
}

impl<E: Bare> Fidelity<E> {
    /// One with room for a half that lasts `lasting_ns`, and for a warm-up.
    fn new(end: E, lasting_ns: f64, shortest_ns: f64, clock: ClockKind) -> io::Result<Self> {
        let buffers = Buffers::new(MESSAGE_BYTES, 0).expect("memory");
        let most = (lasting_ns / shortest_ns) as usize + 1;
        let room = most.max(Warmup::default().operations as usize);
        let samples = Page::new(room)?;
        Ok(Fidelity {
            end,
            buffers,
            samples,
            room,
            scratch: Page::new(1)?,
            batch: 1,
            shortest_ns,
            clock,
        })
    }
}

impl<E: Bare> Side for Fidelity<E> {
    fn start(&mut self) -> io::Result<()> {
        self.samples.populate(self.room)?;
        self.scratch.populate(1)?;
        self.end.start(&Deadline::default())
    }

    fn batch(&mut self, operation_ns: f64) -> u64 {
        self.batch = (self.shortest_ns / operation_ns).ceil().max(1.0) as u64;
        self.batch
    }

    fn time(&mut self, which: Loop, lead: u64, count: u64) -> io::Result<u64> {
        let Fidelity { end, buffers, samples, scratch, batch, clock, .. } = self;
        if which == Loop::Bare {
            end.initiate(*clock, buffers, lead)?;
            return end.initiate(*clock, buffers, count);
        }
        let payload = &mut Untouched;
        latency::initiate(end, payload, buffers, *clock, scratch.samples(1), lead)?;
        let samples = samples.samples((count / *batch) as usize);
        latency::initiate(end, payload, buffers, *clock, samples, *batch)?;
        Ok(samples.iter().map(|ticks| ticks.load(Relaxed)).sum())
    }

    fn respond(&mut self, which: Loop, count: u64) -> io::Result<()> {
        match which {
            Loop::Tool => latency::respond(&mut self.end, &mut Untouched, &mut self.buffers, count),
            Loop::Bare => self.end.answer(&mut self.buffers, count),
        }
    }
}

/// Forks the workers of a contest over whichever endpoints were opened.
struct ContestSpec {
    clock: ClockKind,
    lasting_ns: f64,
    shortest_ns: f64,
    setting: Setting,
}

impl ContestSpec {
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
        let side = |end| Fidelity::new(end, self.lasting_ns, self.shortest_ns, self.clock);
        Contest::spawn(side(opened.initiator)?, side(opened.responder)?, self.setting)
    }
}

impl Visitor for &ContestSpec {
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
        let opened = match opened.downcast::<Opened<eventfd::EventfdEnd>>() {
            Ok(opened) => return self.with(*opened),
            Err(other) => other,
        };
        match opened.downcast::<Opened<futex::FutexEnd>>() {
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

    /// What a launch lasts here, in ns.
    fn lasting_ns(&self) -> f64 {
        lasting_ns(self.one_cpu())
    }

    /// How long its workers are left alone: workers that share a CPU aren't, as in a run.
    fn quiet(&self, found: Duration) -> Duration {
        if self.one_cpu() { Duration::ZERO } else { found }
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

    /// The CPUs of initiator and responder.
    fn cpus(&self, swapped: bool) -> (u32, u32) {
        let (first, second) = self.cpus;
        if swapped { (second, first) } else { (first, second) }
    }

    /// Workers of a contest, or of a bare launch, that are ready.
    fn start(
        &self,
        machine: &Machine,
        swapped: bool,
        seed: u64,
        task: Task,
    ) -> io::Result<Contest> {
        let clock = &machine.clock;
        let (cpus, warmup) = (self.cpus(swapped), Warmup::default());
        let spec = ContestSpec {
            clock: clock.kind,
            lasting_ns: self.lasting_ns(),
            shortest_ns: clock.shortest_ns(),
            setting: Setting { task, cpus, warmup, ns_per_tick: clock.ns_per_tick, seed },
        };
        spec.over(self.mechanism)
    }

    /// The tool's loop against the bare one, within worker processes.
    fn loops(&self, machine: &Machine, quiet: Duration, pairs: usize) -> io::Result<Blocks> {
        let mut blocks = Blocks::default();
        for pair in 0..WORKER_PAIRS {
            let task = Task::Pairs { pairs: pairs / WORKER_PAIRS, lasting_ns: self.lasting_ns() };
            let seed = self.seed + pair as u64;
            let mut contest = self.start(machine, pair % 2 == 1, seed, task)?;
            std::thread::sleep(self.quiet(quiet));
            contest.run()?;
            blocks.extend(contest.blocks());
        }
        Ok(blocks)
    }

    fn name(&self) -> String {
        format!("{:<11} {:<9}", self.mechanism, self.placement.to_string())
    }

    fn note_modes(&self, bare: &[f64]) -> Option<String> {
        let modes = two_modes(bare)?;
        Some(format!(
            "{} {}: the bare loop has two modes, {:.0} ns ({:.0} %) and {:.0} ns",
            self.mechanism,
            self.placement,
            modes.low.center,
            100.0 * modes.low.share,
            modes.high.center
        ))
    }
}

/// What one case of the whole path does, and what came of it.
struct Path<'a> {
    config: &'a Config,
    /// Round trips of a launch.
    count: u64,
    /// Mean round trips in ns, paired by round.
    tool: Vec<f64>,
    bare: Vec<f64>,
}

impl Path<'_> {
    fn of((config, bare_ns): &(Config, f64)) -> Path<'_> {
        let count = (config.lasting_ns() / bare_ns).ceil() as u64;
        Path { config, count, tool: Vec::new(), bare: Vec::new() }
    }
}

/// One that takes part in a round.
enum Entrant {
    /// A launch of the program.
    Tool(Launch),
    /// A bare one.
    Bare(Contest),
}

impl Entrant {
    /// Lets it warm up and time, and waits for it.
    fn run(&mut self, interrupt: &Interrupt) -> io::Result<()> {
        match self {
            Entrant::Bare(contest) => contest.run(),
            Entrant::Tool(launch) => {
                launch.go();
                launch.reach(Stage::Timed, interrupt).map_err(common::interrupted)
            }
        }
    }
}

/// Launches of the real program and bare ones, of cases that share a placement.
struct WholePath<'a> {
    machine: &'a Machine,
    interrupt: &'a Interrupt,
    launcher: Launcher,
    quiet: Duration,
    rng: ChaCha8Rng,
}

impl WholePath<'_> {
    /// Adds `rounds` of each of `paths`.
    fn measure(&mut self, paths: &mut [Path], rounds: usize) -> io::Result<()> {
        let mut swapped = false;
        for first in (0..rounds).step_by(TOGETHER) {
            let mut entrants = Vec::new();
            for _ in first..rounds.min(first + TOGETHER) {
                let cases = 0..paths.len();
                let mut order: Vec<(usize, Loop)> =
                    cases.flat_map(|case| [(case, Loop::Tool), (case, Loop::Bare)]).collect();
                order.shuffle(&mut self.rng);
                for (case, which) in order {
                    entrants.push((case, self.set_up(&paths[case], which, swapped)?));
                }
                swapped = !swapped;
            }
            self.time_together(entrants, paths)?;
        }
        Ok(())
    }

    /// Starts what is to be timed later, and waits until it is ready.
    fn set_up(&mut self, path: &Path, which: Loop, swapped: bool) -> io::Result<Entrant> {
        let config = path.config;
        if which == Loop::Bare {
            let task = Task::Bare(path.count);
            return config.start(self.machine, swapped, 0, task).map(Entrant::Bare);
        }
        let (clock, cpus) = (&self.machine.clock, config.cpus(swapped));
        let warmup = Warmup::default();
        let spec = common::launch_spec(clock, config.mechanism, cpus, warmup, path.count);
        let mut launch = self.launcher.start(&spec, 16 * self.rng.random_range(0..256))?;
        launch.reach(Stage::Ready, self.interrupt).map_err(common::interrupted)?;
        Ok(Entrant::Tool(launch))
    }

    /// Leaves all alone, times one after the other, and ends them together.
    fn time_together(
        &self,
        mut entrants: Vec<(usize, Entrant)>,
        paths: &mut [Path],
    ) -> io::Result<()> {
        let config = paths[entrants[0].0].config;
        self.interrupt.sleep(config.quiet(self.quiet));
        for (_, entrant) in &mut entrants {
            entrant.run(self.interrupt)?;
        }
        for (_, entrant) in &mut entrants {
            if let Entrant::Tool(launch) = entrant {
                launch.end();
            }
        }
        for (case, entrant) in entrants {
            let path = &mut paths[case];
            match entrant {
                Entrant::Bare(contest) => path.bare.push(contest.mean()),
                Entrant::Tool(launch) => {
                    let ticks =
                        common::samples(launch.collect(self.interrupt))?.iter().sum::<u64>() as f64;
                    path.tool.push(ticks * self.machine.clock.ns_per_tick / path.count as f64);
                }
            }
        }
        Ok(())
    }
}

/// How the gates stand.
#[derive(Default)]
struct Gates {
    missed: bool,
    open: bool,
}

impl Gates {
    /// `ok`, `OVER` or `open`; `shown` where there is no gate.
    fn judge(&mut self, gate: Option<f64>, found: &Option<Comparison>) -> String {
        let Some(gate) = gate else { return "shown".into() };
        let word = match found {
            Some(found) if found.ratio.high <= gate => "ok  ",
            Some(found) if found.ratio.low > gate => {
                self.missed = true;
                "OVER"
            }
            _ => {
                self.open = true;
                "open"
            }
        };
        format!("{word} {gate}")
    }

    /// Prints why there is no result, which misses every gate.
    fn failed(&mut self, what: &str, error: &io::Error) {
        println!("{what} failed: {error}");
        self.missed = true;
    }

    fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Gates { missed: true, .. } => 1,
            Gates { open: true, .. } => 4,
            _ => 0,
        })
    }
}

/// The first table; gives the cases that were measured, with their bare round trips in ns.
fn compare_loops(
    machine: &Machine,
    interrupt: &Interrupt,
    quiet: Duration,
    pairs: usize,
    gates: &mut Gates,
) -> Vec<(Config, f64)> {
    println!(
        "The timed loop: mean round trip, {MESSAGE_BYTES} bytes (eventfd and futex: a wake-up), {pairs} pairs"
    );
    println!("of halves each; ratios with 95 % intervals; the gate is the last column.\n");
    let head = ("mechanism", "placement", "bare ns", "tool / bare", "bare / bare");
    println!("{:<11} {:<9} {:>8}  {:<19}  {:<19} gate", head.0, head.1, head.2, head.3, head.4);
    let (mut measured, mut notes) = (Vec::new(), Vec::new());
    for config in configs(machine) {
        if interrupt.signal().is_some() {
            break;
        }
        let blocks = match config.loops(machine, quiet, pairs) {
            Ok(blocks) => blocks,
            Err(error) => {
                gates.failed(&config.name(), &error);
                continue;
            }
        };
        let found = compare_paired(&blocks.tool, &blocks.bare, 0.05);
        let noise = compare_paired(&blocks.left, &blocks.right, 0.05);
        let word = gates.judge(config.gate(), &found);
        let bare_ns = common::mean(&blocks.bare);
        println!("{} {bare_ns:>8.0}  {}  {} {word}", config.name(), ratio(&found), ratio(&noise));
        notes.extend(config.note_modes(&blocks.bare));
        measured.push((config, bare_ns));
    }
    notes.iter().for_each(|note| println!("{note}"));
    measured
}

/// Every mechanism that was asked for, at every placement, one CPU first.
fn configs(machine: &Machine) -> Vec<Config> {
    let names = common::names();
    let mut configs = Vec::new();
    for (placement, cpus) in machine.placements() {
        let asked = |it: &&str| names.is_empty() || names.iter().any(|name| name == it);
        for mechanism in MECHANISMS.into_iter().filter(asked) {
            let seed = SEED + 100 * configs.len() as u64;
            configs.push(Config { mechanism, placement, cpus, seed });
        }
    }
    configs
}

/// The second table.
fn compare_launches(
    measured: &[(Config, f64)],
    rounds: usize,
    mut whole: WholePath,
    gates: &mut Gates,
) {
    println!("\nThe whole path: a launch of the program over a bare launch, {rounds} rounds.\n");
    let head = ("mechanism", "placement", "bare ns", "launch / bare");
    println!("{:<11} {:<9} {:>8}  {:<19}  gate", head.0, head.1, head.2, head.3);
    let mut notes = Vec::new();
    for cases in measured.chunk_by(|(one, _), (other, _)| one.placement == other.placement) {
        let mut paths: Vec<Path> = cases.iter().map(Path::of).collect();
        if let Err(error) = whole.measure(&mut paths, rounds) {
            return gates.failed("The whole path", &error);
        }
        for Path { config, tool, bare, .. } in paths {
            let found = compare_paired(&tool, &bare, 0.05);
            let word = gates.judge(config.gate(), &found);
            println!("{} {:>8.0}  {}  {word}", config.name(), common::mean(&bare), ratio(&found));
            notes.extend(config.note_modes(&bare));
        }
    }
    notes.iter().for_each(|note| println!("{note}"));
}

fn main() -> ExitCode {
    let machine = Machine::look();
    let interrupt = Interrupt::install().expect("signal handlers");
    let (pairs, rounds) = if common::quick() { QUICK } else { WHOLE };
    let quiet = match machine.across {
        Ok((_, cpus)) => {
            common::find_settle(&machine, &interrupt, cpus).expect("launches of a pipe")
        }
        Err(_) => Duration::ZERO,
    };
    println!("Forked workers are left alone for {} ms.\n", quiet.as_millis());
    let mut gates = Gates::default();
    let measured = compare_loops(&machine, &interrupt, quiet, pairs, &mut gates);
    if interrupt.signal().is_none() {
        let launcher = Launcher::new(common::PROGRAM.into());
        let rng = ChaCha8Rng::seed_from_u64(SEED);
        let (machine, interrupt) = (&machine, &interrupt);
        let whole = WholePath { machine, interrupt, launcher, quiet, rng };
        compare_launches(&measured, rounds, whole, &mut gates);
    }
    if interrupt.signal().is_some() {
        return ExitCode::from(130);
    }
    gates.exit_code()
}
