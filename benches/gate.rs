//! Does the gate blame identical code, and does it find a slowdown, while a stranger spins beside it?
//!
//! Twenty pairs of runs of the same cases, one after the other, on one CPU; the stranger spins on that or on
//! another one at random times all the while. Each pair is compared as it is (exit code 3 is a false
//! alarm), and with the second run's launches of one mechanism made 5 % longer (3 is a find): a slowdown
//! multiplies times, and so the noise is that of the pair.
//!
//! `cargo bench --bench gate [-- --quick]`. Exit code 1 when more than one pair in twenty is a false alarm,
//! or fewer than nine in ten slowdowns are found.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use serde_json::Value;

use common::runs::{beside_a_stranger, measure, read, run};
use common::{Machine, ended, quick};

const CASES: &str = "run pipe fifo sysv-queue posix-queue eventfd tcp -w latency -s 64 -p same-cpu \
                     --budget 8s --unmarked 20";
const GATE: &str = "--gate 2%";
/// Pairs of runs, and of a quick look.
const PAIRS: [u64; 2] = [20, 4];
/// What is slowed down, and by how much.
const PLANTED_IN: &str = "tcp";
const PLANTED: f64 = 1.05;

fn main() -> ExitCode {
    let machine = Machine::look();
    ended(beside_a_stranger(&machine, pairs))
}

fn pairs() -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let pairs = PAIRS[usize::from(quick())];
    let (mut alarms, mut finds) = (0, 0);
    println!("pair  rounds left undisturbed  the same code  {PLANTED_IN} 5 % slower");
    for nth in 0..pairs {
        let [a, b] = [0, 1].map(|side| measure(folder.path(), CASES, 2 * nth + side));
        let (a, b) = (a?, b?);
        let slower = planted(&b)?;
        let (same, found) = (gate(&a, &b)?, gate(&a, &slower)?);
        alarms += u64::from(same == 3);
        finds += u64::from(found == 3);
        println!(
            "{:>4}  {:<23}  {:<13}  {}",
            nth + 1,
            left(&a, &b)?,
            verdict(same),
            verdict(found)
        );
    }
    println!("\nfalse alarms: {alarms} of {pairs} (1 in 20 at most)");
    println!("slowdowns found: {finds} of {pairs} (9 in 10 at least)");
    Ok(alarms * 20 <= pairs.max(20) && finds * 10 >= pairs * 9)
}

fn verdict(code: i32) -> &'static str {
    match code {
        0 => "passed",
        3 => "regression",
        _ => "can't tell",
    }
}

/// The exit code of the gate.
fn gate(a: &Path, b: &Path) -> Result<i32, String> {
    let line = format!("compare {} {} {GATE}", a.display(), b.display());
    run(&a.with_file_name("runs.sqlite"), &line, Stdio::null())
}

/// The same run, one mechanism slower.
fn planted(run: &Path) -> Result<PathBuf, String> {
    let mut whole = read(run)?;
    for case in whole["results"].as_array_mut().into_iter().flatten() {
        let slower = case["variant"] == PLANTED_IN;
        if slower {
            longer(&mut case["launch_medians"]);
            for launch in case["launch_cycles"].as_array_mut().into_iter().flatten() {
                longer(&mut launch["ns"]);
            }
        }
    }
    let file = run.with_extension("slower.json");
    std::fs::write(&file, whole.to_string()).map_err(|error| error.to_string())?;
    Ok(file)
}

fn longer(times: &mut Value) {
    for value in times.as_array_mut().into_iter().flatten() {
        if let Some(ns) = value.as_f64() {
            *value = (ns * PLANTED).into();
        }
    }
}

/// `14/31 12/20 · 13/40 12/18`: of each group, in both runs.
fn left(a: &Path, b: &Path) -> Result<String, String> {
    let of = |file: &Path| -> Result<String, String> {
        let whole = read(file)?;
        let rounds: Vec<&Value> = whole["rounds"].as_array().into_iter().flatten().collect();
        let groups: BTreeSet<u64> =
            rounds.iter().filter_map(|round| round["group"].as_u64()).collect();
        let each = groups.iter().map(|group| {
            let here = rounds.iter().filter(|round| round["group"] == *group);
            let quiet = here.clone().filter(|value| value["marked"].is_null()).count();
            format!("{quiet}/{}", here.count())
        });
        Ok(each.collect::<Vec<_>>().join(" "))
    };
    Ok(format!("{} · {}", of(a)?, of(b)?))
}
