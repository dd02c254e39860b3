//! Is the quiet that the program finds long enough? Launches across CPUs after that quiet, and after four
//! times as long, in alternation: if what forks disturb were still to be felt, the ratio would show it.
//!
//! `cargo bench --bench settle [-- --quick] [MECHANISM…]`. Exit code 1 when a whole interval lies beyond 5 %
//! on either side of 1.

mod common;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use model::launch::{SampleCount, Warmup};
use run::launch::{Interrupt, Launcher, Spec, Stage};
use stats::{compare_paired, median};

use common::{Machine, PROGRAM, SEED, quick, ratio};

const MECHANISMS: [&str; 5] = ["pipe", "unix-stream", "eventfd", "tcp", "futex"];
/// How many times as long the other launches are left alone.
const LONGER: u32 = 4;
/// Rounds, and those of a quick look.
const ROUNDS: [usize; 2] = [80, 12];
/// How long a launch is timed, as the program does across CPUs.
const LASTING_NS: u64 = 35_000_000;
/// Beyond this a value has shifted.
const GATE: f64 = 1.05;

fn main() -> ExitCode {
    let machine = Machine::look();
    let interrupt = Interrupt::install().expect("signal handlers");
    let (_, cpus) = match machine.across {
        Ok(across) => across,
        Err(why) => {
            println!("Nothing to settle on one CPU: {why}.");
            return ExitCode::SUCCESS;
        }
    };
    let quiet = common::find_settle(&machine, &interrupt, cpus).expect("launches of a pipe");
    println!("The program leaves launches alone for {} ms here.\n", quiet.as_millis());
    let names = common::names();
    let asked = |it: &&str| names.is_empty() || names.iter().any(|name| name == it);
    let cases: Vec<&str> = MECHANISMS.into_iter().filter(asked).collect();
    let bench = Bench { machine, interrupt, cpus, launcher: Launcher::new(PROGRAM.into()) };
    match bench.compare(&cases, quiet) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

struct Bench {
    machine: Machine,
    interrupt: Interrupt,
    cpus: (u32, u32),
    launcher: Launcher,
}

impl Bench {
    /// Prints the ratios; whether no value has shifted.
    fn compare(&self, cases: &[&str], quiet: Duration) -> io::Result<bool> {
        let rounds = ROUNDS[usize::from(quick())];
        let mut found = vec![[Vec::new(), Vec::new()]; cases.len()];
        let mut rng = ChaCha8Rng::seed_from_u64(SEED);
        for _ in 0..rounds {
            let mut sides = [0, 1];
            sides.shuffle(&mut rng);
            for side in sides {
                let quiet = if side == 0 { quiet } else { LONGER * quiet };
                let medians = self.round(cases, quiet, &mut rng)?;
                medians.into_iter().for_each(|(case, ns)| found[case][side].push(ns));
            }
        }
        let head = ("mechanism", "median ns", "settled / left alone longer");
        println!("{:<11} {:>9}  {} ({rounds} rounds)", head.0, head.1, head.2);
        let mut good = true;
        for (name, [settled, longer]) in cases.iter().zip(found) {
            let compared = compare_paired(&settled, &longer, 0.05);
            let shifted =
                |it: &stats::Comparison| it.ratio.low > GATE || it.ratio.high < 1.0 / GATE;
            good &= !compared.as_ref().is_some_and(shifted);
            let mut sorted = settled;
            sorted.sort_unstable_by(f64::total_cmp);
            println!("{name:<11} {:>9.0}  {}", median(&sorted), ratio(&compared));
        }
        Ok(good)
    }

    /// A launch of each case, in a random order, set up together and left alone.
    fn round(
        &self,
        cases: &[&str],
        quiet: Duration,
        rng: &mut ChaCha8Rng,
    ) -> io::Result<Vec<(usize, f64)>> {
        let mut order: Vec<usize> = (0..cases.len()).collect();
        order.shuffle(rng);
        let clock = &self.machine.clock;
        let mut launches = Vec::new();
        for case in order {
            let spec = common::launch_spec(clock, cases[case], self.cpus, Warmup::default(), 1);
            let spec = Spec { samples: SampleCount::Lasting(LASTING_NS), ..spec };
            let mut launch = self.launcher.start(&spec, 16 * rng.random_range(0..256))?;
            launch.reach(Stage::Ready, &self.interrupt).map_err(common::interrupted)?;
            launches.push((case, launch));
        }
        self.interrupt.sleep(quiet);
        for (_, launch) in &mut launches {
            launch.go();
            launch.reach(Stage::Timed, &self.interrupt).map_err(common::interrupted)?;
        }
        launches.iter_mut().for_each(|(_, launch)| launch.end());
        let median_ns = |mut ticks: Vec<u64>| {
            ticks.sort_unstable();
            stats::mid_quantile(&ticks, 0.5) * clock.ns_per_tick
        };
        let ended = launches.into_iter().map(|(case, launch)| {
            Ok((case, median_ns(common::samples(launch.collect(&self.interrupt))?)))
        });
        ended.collect()
    }
}
