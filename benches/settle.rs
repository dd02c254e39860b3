//! Is the quiet that the program finds long enough, and do turns leave levels as they are? Launches across CPUs after that
//! quiet, after four times as long, and timed in turns with each other, in alternation: if what forks disturb were still to
//! be felt, or slices too short, the ratio would show it. On one CPU turns against whole launches alone.
//!
//! `cargo bench --bench settle [-- --quick] [MECHANISM…]`. Exit code 1 when a whole interval lies beyond 5 % on either side
//! of 1 after a longer quiet, or beyond 2 % on one CPU and 3 % across in turns.

mod common;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use model::cycles::CYCLES;
use model::launch::{SampleCount, Warmup};
use run::launch::{Interrupt, Launch, Launcher, Spec, Stage};
use stats::{compare_paired, median};

use common::{Machine, PROGRAM, SEED, quick, ratio};

const MECHANISMS: [&str; 5] = ["pipe", "unix-stream", "eventfd", "tcp", "futex"];
/// How many times as long the other launches are left alone.
const LONGER: u32 = 4;
/// Rounds, and those of a quick look.
const ROUNDS: [usize; 2] = [80, 12];
/// How long a launch is timed, as the program does on one CPU and across.
const LASTING_NS: [u64; 2] = [20_000_000, 35_000_000];
/// Beyond this a value has shifted: left alone longer, in turns on one CPU, in turns across.
const LONGER_GATE: f64 = 1.05;
const TURNS_GATE: [f64; 2] = [1.02, 1.03];

/// How the launches of a round are made.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    /// After the quiet, one after the other.
    Settled,
    /// The same after a longer one.
    Longer,
    /// After the quiet, in turns.
    Turns,
}

fn main() -> ExitCode {
    let machine = Machine::look();
    let interrupt = Interrupt::install().expect("signal handlers");
    let names = common::names();
    let asked = |text: &&str| names.is_empty() || names.iter().any(|name| name == text);
    let cases: Vec<&str> = MECHANISMS.into_iter().filter(asked).collect();
    let one = (machine.one_cpu.0, machine.one_cpu.0);
    let across = machine.across.as_ref().map(|pair| pair.1).map_err(Clone::clone);
    let bench = Bench { machine, interrupt, launcher: Launcher::new(PROGRAM.into()) };
    let mut good = bench.compare(&cases, one, Duration::ZERO, &[Side::Settled, Side::Turns]);
    match across {
        Ok(cpus) => {
            let quiet = common::find_settle(&bench.machine, &bench.interrupt, cpus);
            let quiet = quiet.expect("launches of a pipe");
            println!("\nThe program leaves launches alone for {} ms here.", quiet.as_millis());
            let sides = [Side::Settled, Side::Longer, Side::Turns];
            let across = bench.compare(&cases, cpus, quiet, &sides);
            good = good.and_then(|good| Ok(across? && good));
        }
        Err(why) => println!("\nNothing to settle on one CPU: {why}."),
    }
    common::ended(good)
}

struct Bench {
    machine: Machine,
    interrupt: Interrupt,
    launcher: Launcher,
}

impl Bench {
    /// Prints the ratios of each side to the first; whether no value has shifted.
    fn compare(
        &self,
        cases: &[&str],
        cpus: (u32, u32),
        quiet: Duration,
        sides: &[Side],
    ) -> io::Result<bool> {
        let across = usize::from(cpus.0 != cpus.1);
        let rounds = ROUNDS[usize::from(quick())];
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        // So many samples as last so long: turns want to know them beforehand.
        let lasting = SampleCount::Lasting(LASTING_NS[across]);
        let mut specs: Vec<Spec> =
            cases.iter().map(|case| self.spec(case, cpus, lasting)).collect();
        for (nth, samples) in self.round(&specs, quiet, Side::Settled, &mut rng)? {
            specs[nth].samples = SampleCount::Exactly(samples.len() as u64);
        }
        let mut found = vec![vec![Vec::new(); sides.len()]; cases.len()];
        for _ in 0..rounds {
            let mut order: Vec<usize> = (0..sides.len()).collect();
            order.shuffle(&mut rng);
            for side in order {
                for (case, mut ticks) in self.round(&specs, quiet, sides[side], &mut rng)? {
                    ticks.sort_unstable();
                    let ns = stats::mid_quantile(&ticks, 0.5) * self.machine.clock.ns_per_tick;
                    found[case][side].push(ns);
                }
            }
        }
        let place = ["one CPU", "two CPUs"][across];
        println!("\n{place}, {rounds} rounds");
        let mut good = true;
        for (name, found) in cases.iter().zip(found) {
            let mut line = String::new();
            for (side, values) in sides.iter().zip(&found).skip(1) {
                let (what, gate) = match side {
                    Side::Turns => ("in turns", TURNS_GATE[across]),
                    _ => ("left alone longer", LONGER_GATE),
                };
                let compared = compare_paired(values, &found[0], 0.05);
                let shifted = |comparison: &stats::Comparison| {
                    comparison.ratio.low > gate || comparison.ratio.high < 1.0 / gate
                };
                good &= !compared.as_ref().is_some_and(shifted);
                line += &format!("  {what} / whole {}", ratio(&compared));
            }
            let mut sorted = found[0].clone();
            sorted.sort_unstable_by(f64::total_cmp);
            println!("{name:<11} {:>9.0} ns{line}", median(&sorted));
        }
        Ok(good)
    }

    fn spec(&self, name: &str, cpus: (u32, u32), samples: SampleCount) -> Spec {
        let spec = common::launch_spec(&self.machine.clock, name, cpus, Warmup::default(), 1);
        Spec { samples, ..spec }
    }

    /// A launch of each, in a random order, set up together and left alone; gives the samples of each.
    fn round(
        &self,
        specs: &[Spec],
        quiet: Duration,
        side: Side,
        rng: &mut ChaCha8Rng,
    ) -> io::Result<Vec<(usize, Vec<u64>)>> {
        let mut order: Vec<usize> = (0..specs.len()).collect();
        order.shuffle(rng);
        let cycles = if side == Side::Turns { CYCLES } else { 0 };
        let mut launches = Vec::new();
        for case in order {
            let spec = Spec { cycles, ..specs[case].clone() };
            let mut launch = self.launcher.start(&spec, 16 * rng.random_range(0..256))?;
            self.reach(&mut launch, Stage::Ready)?;
            launches.push((case, launch));
        }
        self.interrupt.sleep(if side == Side::Longer { LONGER * quiet } else { quiet });
        let stage = if side == Side::Turns { Stage::Paused(1) } else { Stage::Timed };
        for (_, launch) in &mut launches {
            launch.go();
            self.reach(launch, stage)?;
        }
        for cycle in 1..=cycles {
            launches.shuffle(rng);
            for (_, launch) in &mut launches {
                launch.turn();
                self.reach(launch, Stage::Paused(cycle + 1))?;
            }
        }
        for (_, launch) in launches.iter_mut().filter(|_| side == Side::Turns) {
            launch.turn();
            self.reach(launch, Stage::Timed)?;
        }
        launches.iter_mut().for_each(|(_, launch)| launch.end());
        let ended = launches
            .into_iter()
            .map(|(case, launch)| Ok((case, common::samples(launch.collect(&self.interrupt))?)));
        ended.collect()
    }

    fn reach(&self, launch: &mut Launch, stage: Stage) -> io::Result<()> {
        launch.reach(stage, &self.interrupt).map_err(common::interrupted)
    }
}
