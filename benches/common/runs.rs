//! Whole runs of the program, one after the other, and a stranger that disturbs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

use super::{Machine, PROGRAM, SEED, pin};

/// How long the stranger is still, and how long it spins, in ms.
const STILL: std::ops::Range<u64> = 200..2000;
const SPINS: std::ops::Range<u64> = 100..1000;

/// Does `work` while a stranger spins on one of the CPUs at random times.
pub fn beside_a_stranger<T>(machine: &Machine, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| stranger(machine, &over));
        let done = work();
        over.store(true, Relaxed);
        done
    })
}

fn stranger(machine: &Machine, over: &AtomicBool) {
    let (a, b) = machine.across.as_ref().map_or(machine.one_cpu, |pair| pair.1);
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    while !over.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(rng.random_range(STILL)));
        let _ = pin(if rng.random() { a } else { b });
        let until = Instant::now() + Duration::from_millis(rng.random_range(SPINS));
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    }
}

/// Measures a run of `words`, the one of that number in `folder`; gives the file with it.
pub fn measure(folder: &Path, words: &str, nth: u64) -> Result<PathBuf, String> {
    let store = folder.join("runs.sqlite");
    let file = folder.join(format!("{nth}.json"));
    let seed = SEED + nth;
    run(&store, &format!("{words} --no-wait -q --seed {seed} --label run-{nth}"), Stdio::null())?;
    run(&store, &format!("export run-{nth} -q -o {}", file.display()), Stdio::null())?;
    Ok(file)
}

/// What such a file holds.
pub fn read(file: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

/// Runs the program with the words of a command line, its output going there; gives its exit code.
pub fn run(store: &Path, line: &str, out: Stdio) -> Result<i32, String> {
    let status = Command::new(PROGRAM)
        .args(line.split_whitespace())
        .env("IPCMARK_STORE", store)
        .stdin(Stdio::null())
        .stdout(out)
        .status()
        .map_err(|error| format!("start {PROGRAM}: {error}"))?;
    match status.code() {
        Some(code @ (0 | 3 | 4)) => Ok(code),
        _ => Err(format!("ipcmark {line}: {status}")),
    }
}
