//! Does `explain` tell the truth? Work is planted into every message, and looked for in the
//! difference that `explain` finds between launches with it and without.
//!
//! Per experiment: 12 rounds of launches, planted and not, each unobserved, traced, and traced
//! twice over, in a random order; judged from a store as any run is. At least 80 % of the added
//! time must go to the parts that the planted work can't do without, and less than 20 % to any
//! other one. The least call is tried when asked for, in 60 rounds.
//!
//! `cargo bench --bench explain --features plant [-- --quick] [call|copy|migration|least]`. Exit
//! code 1 when one is missed.

mod common;

use std::path::Path;
use std::process::ExitCode;

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;

use analysis::Judged;
use analysis::explain::{Cost, Difference, explain};
use mechanisms::Variant;
use model::alignment::Alignment;
use model::launch::Warmup;
use model::placement::ResolvedPlacement;
use model::probe::Probe;
use model::request::Request;
use model::workload::Workload;
use run::campaign::now_utc;
use run::floor::{self, Order};
use run::launch::plant::Plant;
use run::launch::{Interrupt, LaunchResult, Launcher, Spec, Stage};
use run::plan::{Case, WithMechanism};
use store::{Closed, NewCase, NewLaunch, NewRun, RunStatus, Store};

use common::{Machine, PROGRAM, SEED, launch_spec, names, quick};

/// Rounds of an experiment; the least system call is a tenth of what it is planted into, and takes
/// more to be separated from noise than a system call as large.
const ROUNDS: u64 = 12;
const ROUNDS_OF_THE_LEAST: u64 = 60;
const EXPERIMENTS: u64 = 10;
const SAMPLES: u64 = 2000;
const WARMUP: Warmup = Warmup { operations: 500, ns: 5_000_000 };
/// Share of the added time that must go where it belongs, and that may go to one other part.
const BELONGS: f64 = 0.8;
const ASTRAY: f64 = 0.2;
/// The two variants of a pipe are the same thing: 64 KiB is what the kernel gives.
const NAMES: [&str; 2] = ["pipe", "pipe:capacity=64K"];

fn main() -> ExitCode {
    let machine = Machine::look();
    let interrupt = Interrupt::install().expect("install signal handlers");
    let bench = Bench { machine, launcher: Launcher::new(PROGRAM.into()), interrupt };
    let experiments = if quick() { 2 } else { EXPERIMENTS };
    let (a, b) = bench.machine.one_cpu;
    let mut plants = vec![
        ("a system call", Plant::Call, CALL),
        ("a copy of 64 KiB", Plant::Copy, &[Cost::Program][..]),
    ];
    if let Ok((_, cpus)) = &bench.machine.across {
        plants.push(("a migration", Plant::Migration([cpus.0, cpus.1]), MIGRATION));
    }
    println!("{:<18} {:>9} {:>9}  the largest other part", "planted", "added", "there");
    let mut missed = 0;
    let asked = names();
    if asked.iter().any(|word| word == "least") {
        plants = vec![("the least call", Plant::LeastCall, CALL)];
    }
    plants.retain(|plant| {
        asked.is_empty() || asked.iter().any(|word| plant.0.contains(word.as_str()))
    });
    for (name, plant, belongs) in plants {
        for nth in 0..experiments {
            match bench.experiment(plant, (a, b), SEED + nth) {
                Ok(difference) => missed += u32::from(!is_explained(name, &difference, belongs)),
                Err(reason) => {
                    println!("{name}: {reason}");
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    println!("missed: {missed}");
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What a call does is its own, or is taken for what carries the message.
const CALL: &[Cost] = &[Cost::Calls, Cost::Transport];

/// A migration is a call that sleeps, is woken elsewhere, and waits to run there.
const MIGRATION: &[Cost] = &[
    Cost::Calls,
    Cost::Transport,
    Cost::Waking,
    Cost::Interrupts,
    Cost::Waiting,
    Cost::Switching,
    Cost::Elsewhere,
];

/// Prints where the added time went; whether that is where it belongs.
fn is_explained(name: &str, difference: &Difference, belongs: &[Cost]) -> bool {
    let added = difference.whole_ns.median;
    let share = |ns: f64| ns / added;
    let parts = || difference.parts.iter();
    let there: f64 =
        parts().filter(|part| belongs.contains(&part.cost)).map(|part| share(part.ns.median)).sum();
    let astray = parts().find(|part| !belongs.contains(&part.cost));
    let (other, most) = astray
        .map_or(("none".into(), 0.0), |part| (format!("{:?}", part.cost), share(part.ns.median)));
    let good = added > 0.0 && there >= BELONGS && most.abs() < ASTRAY;
    if std::env::var_os("PARTS").is_some() {
        for part in &difference.parts {
            println!("    {:?} {:.0}", part.cost, part.ns.median);
        }
    }
    println!(
        "{name:<18} {added:>6.0} ns {:>8.1}%  {other} {:.1} %{}",
        100.0 * there,
        100.0 * most,
        if good { "" } else { "  MISSED" }
    );
    good
}

struct Bench {
    machine: Machine,
    launcher: Launcher,
    interrupt: Interrupt,
}

/// One of the cases of an experiment.
struct Arm {
    case: Case,
    spec: Spec,
    rows: Vec<(u64, LaunchResult)>,
}

impl Bench {
    fn experiment(&self, plant: Plant, cpus: (u32, u32), seed: u64) -> Result<Difference, String> {
        let mut arms = self.arms(plant, cpus);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rounds = if plant == Plant::LeastCall { ROUNDS_OF_THE_LEAST } else { ROUNDS };
        for round in 1..=rounds {
            let mut order: Vec<usize> = (0..arms.len()).collect();
            order.shuffle(&mut rng);
            for nth in order {
                let ending = self.launch(&arms[nth].spec)?;
                arms[nth].rows.push((round, ending));
            }
        }
        self.judged(arms)
    }

    fn arms(&self, plant: Plant, cpus: (u32, u32)) -> Vec<Arm> {
        let probe = |text: &str| text.parse::<Probe>().expect("a probe");
        let looks = [None, Some(probe("trace")), Some(probe("trace:times=2"))];
        let arm = |(name, plant): (&str, Option<Plant>), observe: Option<Probe>| Arm {
            case: Case {
                place: ResolvedPlacement { cpus: Some(cpus), ..ResolvedPlacement::FREE },
                observe,
                ..Case::usual(Variant::parse(name).expect("a variant"), Workload::Latency)
            },
            spec: Spec {
                plant,
                observe,
                ..launch_spec(&self.machine.clock, "pipe", cpus, WARMUP, SAMPLES)
            },
            rows: Vec::new(),
        };
        let sides = [(NAMES[0], None), (NAMES[1], Some(plant))];
        sides.iter().flat_map(|side| looks.map(|look| arm(*side, look))).collect()
    }

    fn launch(&self, spec: &Spec) -> Result<LaunchResult, String> {
        let mut launch = self.launcher.start(spec, 0).map_err(|error| error.to_string())?;
        let stopped = |_| "interrupted".to_string();
        launch.reach(Stage::Ready, &self.interrupt).map_err(stopped)?;
        launch.go();
        launch.reach(Stage::Timed, &self.interrupt).map_err(stopped)?;
        launch.end();
        let ending = launch.collect(&self.interrupt);
        match &ending.record.outcome {
            model::launch::Outcome::Ok => Ok(ending),
            other => Err(format!("a launch failed: {other:?}")),
        }
    }

    /// Stores the launches as a run, and judges it as any other.
    fn judged(&self, arms: Vec<Arm>) -> Result<Difference, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let failed = |error: store::StoreError| error.to_string();
        let mut store = Store::open(&folder.path().join("runs.sqlite")).map_err(failed)?;
        let clock = &self.machine.clock;
        let (request, host) = (Request::default(), machine::host::read(Path::new("/")));
        let run = NewRun {
            started: now_utc(),
            tool: model::tool::name(),
            argv: &[],
            request: &request,
            host: &host,
            clock,
            peer: None,
            labs: &[],
            catalogue: &workload::catalogue(&request.mechanisms),
            fleet: None,
        };
        let run = store.begin_run(&run).map_err(failed)?;
        let order = Order::quick(Alignment::default());
        store
            .set_floors(run, &floor::measure_by(Path::new(PROGRAM), &order, &self.interrupt))
            .map_err(failed)?;
        for (nth, arm) in arms.into_iter().enumerate() {
            let case = NewCase {
                group: 0,
                nth,
                case: arm.case.kept(),
                absence: None,
                ends: None,
                fixed: None,
            };
            let id = store.add_cases(run, [case]).map_err(failed)?[0];
            store.set_pilot(id, 1, SAMPLES, 1.0).map_err(failed)?;
            let row = |(round, ending): (u64, LaunchResult)| NewLaunch {
                case: id,
                round,
                position: 0,
                swapped: false,
                padding: 0,
                offset: 0,
                record: ending.record,
                samples: ending.samples,
            };
            let rows: Vec<NewLaunch> = arm.rows.into_iter().map(row).collect();
            store.add_launches(&rows).map_err(failed)?;
        }
        store.set_group(run, 0, Some(Closed::Launches)).map_err(failed)?;
        store.end_run(run, RunStatus::Complete, &now_utc(), clock, 1).map_err(failed)?;
        let judged = Judged::of(&store, run).map_err(failed)?;
        let found = explain(&judged);
        if let Some(missing) = found.missing.first() {
            return Err(missing.reason.clone());
        }
        found.differences.into_iter().next().ok_or_else(|| "no difference was found".into())
    }
}
