//! What a launch costs beside warm-up and timing, what keeping it costs, and how soon the
//! program is up.
//!
//! Launches are of a pipe on one CPU with one warm-up round trip and one sample, set up in
//! batches of ten, timed one after the other and ended together, as a round does it. The
//! coordinator's wall time less what is timed (the first message with the quiet before it, and the
//! samples) and the warm-up is what each costs.
//!
//! Batches are in turns of the program as it is installed, which is a copy, and as the linker left it:
//! a file written through a mapping lies in the page cache in single pages, and faults cost more.
//!
//! `cargo bench --bench launch_cost [-- --quick]`. Exit code 1 when a gate is missed.

mod common;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use mechanisms::Variant;
use model::launch::{Outcome, Warmup};
use model::placement::ResolvedPlacement;
use model::request::Request;
use model::workload::Workload;
use run::campaign::now_utc;
use run::launch::{Interrupt, Launch, LaunchResult, Launcher, SETTLED, Stage};
use run::plan::{Case, WithMechanism};
use store::{NewCase, NewLaunch, NewRun, Store};

use common::{Machine, PROGRAM, SEED, quartiles};

const LAUNCHES: usize = 200;
const QUICK_LAUNCHES: usize = 50;
const BATCH: usize = 10;
const STARTS: usize = 100;
const WARMUP: Warmup = Warmup { operations: 1, ns: 1_000_000 };
const GATE_LAUNCH_MS: f64 = 2.0;
const GATE_START_MS: f64 = 10.0;

/// Batches of launches of each of `programs`, in turns: wall time per launch of a batch, less what it
/// timed and its warm-up, in ms, for each program; and what all launches found.
fn launches<const N: usize>(
    machine: &Machine,
    programs: [&Path; N],
    count: usize,
) -> Result<([Vec<f64>; N], Vec<LaunchResult>), String> {
    let interrupt = Interrupt::install().map_err(|error| error.to_string())?;
    let launchers = programs.map(|program| Launcher::new(program.into()));
    let spec = common::launch_spec(&machine.clock, "pipe", machine.one_cpu, WARMUP, 1);
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let (mut costs, mut kept) = ([const { Vec::new() }; N], Vec::new());
    for turn in 0..N * count / BATCH {
        let launcher = &launchers[turn % N];
        let paddings: Vec<usize> = (0..BATCH).map(|_| 16 * rng.random_range(0..256)).collect();
        let began = Instant::now();
        let mut batch = Vec::with_capacity(BATCH);
        for padding in paddings {
            batch.push(launcher.start(&spec, padding).map_err(|error| error.to_string())?);
        }
        let route = |launch: &mut Launch, stage| {
            launch.reach(stage, &interrupt).map_err(|_| "interrupted".to_string())
        };
        for launch in &mut batch {
            route(launch, Stage::Ready)?;
        }
        for launch in &mut batch {
            launch.go();
            route(launch, Stage::Timed)?;
        }
        batch.iter_mut().for_each(Launch::end);
        let endings: Vec<LaunchResult> =
            batch.into_iter().map(|launch| launch.collect(&interrupt)).collect();
        let wall = began.elapsed();
        if let Some(bad) = endings.iter().find(|ending| ending.record.outcome != Outcome::Ok) {
            return Err(format!("a launch: {:?}", bad.record.outcome));
        }
        let beside: f64 = endings.iter().map(|ending| beside_ns(ending, machine)).sum();
        costs[turn % N].push((wall.as_secs_f64() * 1e3 - beside / 1e6) / BATCH as f64);
        kept.extend(endings);
    }
    Ok((costs, kept))
}

/// What a launch has timed, and its warm-up, in ns.
fn beside_ns(ending: &LaunchResult, machine: &Machine) -> f64 {
    let report = &ending.record.initiator;
    let ticks: u64 = ending.samples.iter().sum();
    let first = report.first_ns.map_or(0.0, |ns| SETTLED.as_nanos() as f64 + ns);
    first + report.untimed_ns + ticks as f64 * machine.clock.ns_per_tick
}

/// What storing a launch takes in ms, in batches as they come.
fn appends(machine: &Machine, endings: Vec<LaunchResult>) -> Result<Vec<f64>, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let failed = |error: store::StoreError| error.to_string();
    let mut store = Store::open(&folder.path().join("runs.sqlite")).map_err(failed)?;
    let (request, case) = asked(machine);
    let run = NewRun {
        started: now_utc(),
        tool: model::tool::name(),
        argv: &[],
        request: &request,
        host: &machine::host::read(Path::new("/")),
        clock: &machine.clock,
        peer: None,
        labs: &[],
        catalogue: &workload::catalogue(&request.mechanisms),
        fleet: None,
    };
    let run = store.begin_run(&run).map_err(failed)?;
    let case =
        NewCase { group: 0, nth: 0, case: case.kept(), absence: None, ends: None, fixed: None };
    let case = store.add_cases(run, [case]).map_err(failed)?[0];

    let mut rows: Vec<NewLaunch> = Vec::new();
    for (round, LaunchResult { record, samples }) in (1..).zip(endings) {
        let (swapped, padding, offset) = (false, 0, 0);
        rows.push(NewLaunch {
            case,
            round,
            position: 0,
            swapped,
            padding,
            offset,
            record,
            samples,
        });
    }
    let mut costs = Vec::new();
    for batch in rows.chunks(BATCH) {
        let began = Instant::now();
        store.add_launches(batch).map_err(failed)?;
        costs.push(began.elapsed().as_secs_f64() * 1e3 / batch.len() as f64);
    }
    Ok(costs)
}

fn asked(machine: &Machine) -> (Request, Case) {
    let request = Request {
        mechanisms: vec!["pipe".into()],
        workloads: vec![(Workload::Latency, vec![64])],
        warmup: WARMUP,
        samples: Some(1),
        seed: SEED,
        ..Request::default()
    };
    let case = Case {
        place: ResolvedPlacement { cpus: Some(machine.one_cpu), ..ResolvedPlacement::FREE },
        ..Case::usual(Variant::parse("pipe").expect("a mechanism of the table"), Workload::Latency)
    };
    (request, case)
}

/// From spawn to exit in ms, in turns: of `ipcmark --version`, and of `true`, which tells how fast this
/// machine starts anything at all just now.
fn starts() -> Result<[Vec<f64>; 2], String> {
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..STARTS {
        for (program, times) in [PROGRAM, "true"].into_iter().zip(&mut times) {
            let mut command = Command::new(program);
            command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null());
            let began = Instant::now();
            let status = command.status().map_err(|error| format!("{program}: {error}"))?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
            if !status.success() {
                return Err(format!("{program} --version: {status}"));
            }
        }
    }
    Ok(times)
}

/// Prints a line; whether the median is within the gate.
fn row(what: &str, mut values: Vec<f64>, gate_ms: Option<f64>) -> bool {
    let [low, median, high] = quartiles(&mut values);
    let holds = gate_ms.is_none_or(|gate| median <= gate);
    let word = match gate_ms {
        Some(gate) => format!("{} {gate} ms", if holds { "ok  " } else { "OVER" }),
        None => "shown".into(),
    };
    println!("{what:<36} {median:>8.3} {low:>8.3} {high:>8.3}   {:>3}  {word}", values.len());
    holds
}

fn measure() -> Result<bool, String> {
    let machine = Machine::look();
    let count = if common::quick() { QUICK_LAUNCHES } else { LAUNCHES };
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let installed = folder.path().join("ipcmark");
    std::fs::copy(PROGRAM, &installed).map_err(|error| format!("copy the program: {error}"))?;
    let programs = [&installed, Path::new(PROGRAM)];
    let ([launched, as_linked], endings) = launches(&machine, programs, count)?;
    let setups = endings.iter().map(|ending| ending.record.setup_ns as f64 / 1e6).collect();
    let stored = appends(&machine, endings)?;
    let [started, nothing] = starts()?;

    println!("{:<36} {:>8} {:>8} {:>8}   {:>3}  gate", "ms", "median", "lower q", "upper q", "n");
    let mut holds = row("a launch, beside warm-up and timing", launched, Some(GATE_LAUNCH_MS));
    row("  the same, as the linker left it", as_linked, None);
    row("  of it, supervisor until ready", setups, None);
    row("storing a launch", stored, None);
    holds &= row("ipcmark --version, until its exit", started, Some(GATE_START_MS));
    row("true --version, the same", nothing, None);
    println!(
        "\n{count} launches each of a pipe on one CPU; n of a launch and of storing: batches of ten."
    );
    Ok(holds)
}

fn main() -> ExitCode {
    match measure() {
        Ok(holds) => ExitCode::from(u8::from(!holds)),
        Err(error) => {
            println!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}
