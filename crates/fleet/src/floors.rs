//! The bounds of nodes: `ipcmark floor --quick` behind the launcher's command, on several at once.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

use super::nodes;
use model::floors::{FloorDetail, Floors};
use run::launch::Interrupt;
use store::FleetRequest;

/// How long it may take, with its step's set-up.
const WITHIN: Duration = Duration::from_secs(60);

/// Measures the bounds of these nodes at the same time; of each its floors, or why there are none.
pub fn measure(
    asked: &FleetRequest,
    wave: &[usize],
    interrupt: &Interrupt,
) -> Vec<(usize, Floors)> {
    let deadline = Instant::now() + WITHIN;
    let started: Vec<_> = wave.iter().map(|nth| (*nth, start(asked, *nth))).collect();
    let ended = started.into_iter().map(|(nth, started)| {
        let found = started.and_then(|(child, output)| outcome(child, output, deadline, interrupt));
        (nth, found.unwrap_or_else(|why| Floors::unavailable(FloorDetail::Quick, &why)))
    });
    ended.collect()
}

/// What `ipcmark floor --format json` tells, as far as it is read here.
#[derive(serde::Deserialize)]
struct Said {
    floors: Floors,
}

fn start(asked: &FleetRequest, nth: usize) -> Result<(Child, File), String> {
    let words = nodes::command(&asked.launcher, &asked.nodes[nth]);
    let (first, rest) = words.split_first().ok_or("the launcher has no words")?;
    let output = memfd_create("floors", MemfdFlags::CLOEXEC).map(File::from);
    let output = output.map_err(|error| format!("memfd_create: {error}"))?;
    let theirs = output.try_clone().map_err(|error| format!("dup: {error}"))?;
    let child = Command::new(first)
        .args(rest)
        .args([asked.program.as_str(), "floor", "--quick", "--quiet", "--format", "json"])
        .stdin(Stdio::null())
        .stdout(theirs)
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("start `{first}`: {error}"))?;
    Ok((child, output))
}

fn outcome(
    mut child: Child,
    mut output: File,
    deadline: Instant,
    interrupt: &Interrupt,
) -> Result<Floors, String> {
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline && interrupt.signal().is_none() => {
                interrupt.sleep(Duration::from_millis(20));
            }
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "`ipcmark floor` didn't end there within {} s",
                    WITHIN.as_secs()
                ));
            }
        }
    };
    let mut text = String::new();
    let read = output.rewind().and_then(|()| output.read_to_string(&mut text));
    read.map_err(|error| format!("read its report: {error}"))?;
    match serde_json::from_slice::<Said>(text.as_bytes()) {
        Ok(said) => Ok(said.floors),
        Err(error) if error.is_data() => Err(format!("its floors: {error}")),
        Err(_) => Err(format!("`ipcmark floor` reported nothing there, and ended with {status}")),
    }
}
