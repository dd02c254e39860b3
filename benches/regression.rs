//! A real delay, planted and looked for: does `ipcmark compare` find it, and nothing without it?
//!
//! Three runs of the same cases, one after the other: as they are, with `--verify` (each side
//! checks every byte of every message inside the timed part: a delay that grows with the size,
//! from little to much), and as they are again. The first and the second are compared by
//! --force, since the tool itself would refuse them; the first and the third as they stand.
//!
//! `cargo bench --bench regression [-- --quick]`. It prints; exit code 1 when the largest
//! message's delay isn't found, or the gate fires where nothing was planted.

mod common;

use std::process::{ExitCode, Stdio};

use common::runs::run;
use common::{Machine, SEED, ended, quick};

const CASES: &str = "run pipe unix-stream -w latency -s 64,1K,16K -p same-cpu";
/// Launches a case, and of a quick look.
const LAUNCHES: [usize; 2] = [30, 12];

fn main() -> ExitCode {
    Machine::look();
    ended(found())
}

fn found() -> Result<bool, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let store = folder.path().join("runs.sqlite");
    let launches = LAUNCHES[usize::from(quick())];
    let measure = |label: &str, seed: u64, more: &str| {
        let line = format!(
            "{CASES} --launches {launches} --samples 1000 --seed {seed} --label {label} {more} -q"
        );
        run(&store, &line, Stdio::null())
    };
    measure("before", SEED, "")?;
    measure("delayed", SEED + 1, "--verify")?;
    measure("again", SEED + 2, "")?;
    println!("A delay planted in every message (--verify):");
    let planted = run(
        &store,
        "compare before delayed --force --gate 5% --gate-on absolute",
        Stdio::inherit(),
    )?;
    println!("\nNothing planted:");
    let nothing = run(&store, "compare before again --gate 5%", Stdio::inherit())?;
    let verdict = |code: i32| match code {
        0 => "within the gate",
        3 => "regression",
        4 => "can't tell",
        _ => "failed",
    };
    println!("\nplanted: {} (3 expected: {planted})", verdict(planted));
    println!("nothing: {} (0 or 4 expected: {nothing})", verdict(nothing));
    Ok(planted == 3 && [0, 4].contains(&nothing))
}
