//! What the benches share: their arguments, the machine in one line, where to run, and a
//! contest between two loops of doing the same thing.
#![allow(dead_code)] // each bench is a program of its own and uses its part

pub mod contest;
pub mod runs;
pub mod workers;

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use machine::{Topology, noise};
use model::alignment::Alignment;
use model::host::Host;
use model::launch::{Outcome, SampleCount, Warmup};
use model::placement::Placement;
use run::campaign::find_quiet;
use run::launch::{Interrupt, LaunchResult, Launcher, Spec, Stage};
use stats::{Comparison, Interval};

/// Seed of every order drawn here.
pub const SEED: u64 = 20_260_711;

/// Whether `--quick` was given. Other words are cargo's, or somebody's: not our business.
pub fn quick() -> bool {
    std::env::args().any(|word| word == "--quick")
}

/// The names given on the command line, to which a bench confines itself; all when empty.
pub fn names() -> Vec<String> {
    std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect()
}

/// How a bench ends: well if its gate is held, and what failed is printed.
pub fn ended(held: Result<bool, impl Display>) -> ExitCode {
    match held {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The median; not a number of no values.
pub fn median(values: &[f64]) -> f64 {
    if values.is_empty() { f64::NAN } else { quartiles(&mut values.to_vec())[1] }
}

/// Confines this thread to one CPU.
pub fn pin(cpu: u32) -> io::Result<()> {
    let mut set = CpuSet::new();
    set.set(cpu as usize);
    Ok(sched_setaffinity(None, &set)?)
}

/// Has each of `all` measure so many times, every time in a new random order, the CPUs in turn the other way round;
/// what each found.
pub fn in_turn<const N: usize>(
    turns: usize,
    cpus: (u32, u32),
    all: [&dyn Fn((u32, u32)) -> io::Result<f64>; N],
) -> io::Result<[Vec<f64>; N]> {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let mut found = std::array::from_fn(|_| Vec::new());
    for nth in 0..turns {
        let mut order: [usize; N] = std::array::from_fn(|at| at);
        order.shuffle(&mut rng);
        let cpus = if nth % 2 == 1 { (cpus.1, cpus.0) } else { cpus };
        for at in order {
            found[at].push(all[at](cpus)?);
        }
    }
    Ok(found)
}

/// Runs `write` on one CPU and `read` on the other, each with the number of every message; ns per message, as the
/// reader sees them.
pub fn carry(
    cpus: (u32, u32),
    messages: u64,
    mut write: impl FnMut(u64) -> io::Result<()> + Send,
    mut read: impl FnMut(u64) -> io::Result<()> + Send,
) -> io::Result<f64> {
    let together = Barrier::new(2);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            pin(cpus.0)?;
            together.wait();
            (0..messages).try_for_each(&mut write)
        });
        let reader = scope.spawn(|| {
            pin(cpus.1)?;
            together.wait();
            read(0)?;
            let opened = Instant::now();
            (1..messages).try_for_each(&mut read)?;
            Ok(opened.elapsed().as_nanos() as f64 / (messages - 1) as f64)
        });
        writer.join().expect("no panic")?;
        reader.join().expect("no panic")
    })
}

/// Where and by what clock to measure.
pub struct Machine {
    /// The clock, calibrated.
    pub clock: model::clock::Record,
    /// Both workers on one CPU.
    pub one_cpu: (u32, u32),
    /// Two CPUs and how they stand to each other, or why there are none.
    pub across: Result<(Placement, (u32, u32)), String>,
}

impl Machine {
    /// Looks at this machine, and prints it in a line.
    pub fn look() -> Machine {
        let root = Path::new("/");
        let (kind, why_not) = sys::clock::choose(root);
        let (_, clock) = sys::clock::measure(kind, why_not);
        print_facts(&machine::host::read(root), &clock);

        let topology = Topology::read(root).expect("/sys/devices/system/cpu");
        let set = sched_getaffinity(None).expect("sched_getaffinity of this process");
        let allowed: Vec<u32> =
            topology.online().into_iter().filter(|cpu| set.is_set(*cpu as usize)).collect();
        let place = |placement: Placement| {
            run::launch::placement::resolve(placement, &topology, &allowed)
                .map(|place| (placement, place.cpus.expect("pinned")))
        };
        let one_cpu = place(Placement::SameCpu).expect("at least one CPU").1;
        let across =
            Placement::PINNED[1..].iter().map(|placement| place(*placement)).find(Result::is_ok);
        let across = across.unwrap_or_else(|| place(Placement::SameLlc));
        Machine { clock, one_cpu, across }
    }

    /// The placements, one CPU first; says so where there is only one.
    pub fn placements(&self) -> Vec<(Placement, (u32, u32))> {
        let mut all = vec![(Placement::SameCpu, self.one_cpu)];
        match &self.across {
            Ok(across) => all.push(*across),
            Err(why) => println!("Across CPUs: not measured. {why}."),
        }
        all
    }
}

fn print_facts(host: &Host, clock: &model::clock::Record) {
    let name = host.processor.name.clone().unwrap_or_else(|| "unknown CPU".into());
    let name = name.replace("(R)", "").replace("(TM)", "").replace(" CPU", "");
    let line = format!(
        "Linux {}; {} {}; {} {:.2} GHz, {:.0} ns a read",
        host.kernel.release.as_deref().unwrap_or("?"),
        host.cpus_online.as_ref().map_or(0, Vec::len),
        name.replace(" Processor", ""),
        clock.kind,
        1.0 / clock.ns_per_tick,
        clock.cost_ns,
    );
    println!("{}", line.chars().take(80).collect::<String>());
    if let Some(load) = noise::load(Path::new("/")).filter(|load| load.one_minute > 0.7) {
        println!("The machine is busy (load {:.1}): these are not its figures.", load.one_minute);
    }
    println!();
}

/// `1.005 [1.003 1.008]`, 19 columns.
pub fn ratio(comparison: &Option<Comparison>) -> String {
    match comparison {
        Some(Comparison { ratio: Interval { estimate, low, high, .. }, .. }) => {
            format!("{estimate:.3} [{low:.3} {high:.3}]")
        }
        None => format!("{:<19}", "too few pairs"),
    }
}

/// Mean of what isn't empty.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sorted values' quartiles: lower, median, upper.
pub fn quartiles(values: &mut [f64]) -> [f64; 3] {
    values.sort_unstable_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|p| stats::quantile(values, p))
}

/// A latency launch of 64-byte messages between processes; each sample one round trip.
pub fn launch_spec(
    clock: &model::clock::Record,
    mechanism: &str,
    cpus: (u32, u32),
    warmup: Warmup,
    samples: u64,
) -> Spec {
    Spec {
        message_bytes: 64,
        initiator_cpu: Some(cpus.0),
        responder_cpu: Some(cpus.1),
        warmup,
        samples: SampleCount::Exactly(samples),
        clock: clock.kind,
        ns_per_tick: clock.ns_per_tick,
        deadline_ms: 20_000,
        buffer_offset: Alignment::default().offset(0),
        seed: SEED,
        ..Spec::new(mechanism)
    }
}

/// The program that serves launches: the one built beside this bench.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_ipcmark");

/// A signal came meanwhile.
pub fn interrupted<T>(_: T) -> io::Error {
    io::ErrorKind::Interrupted.into()
}

/// The samples of a launch that worked.
pub fn samples(ending: LaunchResult) -> io::Result<Vec<u64>> {
    match ending.record.outcome {
        Outcome::Ok => Ok(ending.samples),
        other => Err(io::Error::other(format!("{other:?}"))),
    }
}

/// How long what was forked must be left alone, as the program finds it.
pub fn find_settle(
    machine: &Machine,
    interrupt: &Interrupt,
    cpus: (u32, u32),
) -> io::Result<Duration> {
    let launcher = Launcher::new(PROGRAM.into());
    let mut failed = None;
    let launch = |lasting, quiet| {
        let spec = launch_spec(&machine.clock, "pipe", cpus, Warmup::default(), 1);
        let spec = Spec { samples: SampleCount::Lasting(lasting), ..spec };
        let timed = launcher.start(&spec, 0).and_then(|mut launch| {
            launch.reach(Stage::Ready, interrupt).map_err(interrupted)?;
            interrupt.sleep(quiet);
            launch.go();
            launch.reach(Stage::Timed, interrupt).map_err(interrupted)?;
            launch.end();
            samples(launch.collect(interrupt))
        });
        timed.map_err(|error| failed = Some(error)).ok()
    };
    let found = find_quiet(machine.clock.ns_per_tick, launch);
    match (found, failed) {
        (Some(settle), _) => Ok(Duration::from_nanos(settle.quiet_ns)),
        (None, error) => Err(error.unwrap_or_else(|| interrupted(()))),
    }
}
