//! The owner's hold on the floor process: start it, read what it finds, end it in time.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::{NOT_YET, Order, WireOrder};
use crate::launch::Interrupt;
use crate::launch::wire::{FrameKind, Missing, Reader, write_frame};
use model::floors::{FloorDetail, Floors, Part};
use model::json::Json;

/// This program, whatever became of its file since.
pub(super) const PROGRAM: &str = "/proc/self/exe";
/// When the process is taken for hung: many times what it takes on a quiet machine.
const QUICK_WITHIN: Duration = Duration::from_secs(10);
const FULL_WITHIN: Duration = Duration::from_secs(30);

/// Measures floors in a fresh process. Whatever happens to it becomes the reason of the parts
/// that it hadn't reported yet; so does a signal to this process.
pub fn measure(order: &Order, interrupt: &Interrupt) -> Floors {
    measure_by(Path::new(PROGRAM), order, interrupt)
}

/// As [`measure`], by a build of ipcmark that isn't this program: for benches.
pub fn measure_by(program: &Path, order: &Order, interrupt: &Interrupt) -> Floors {
    let within = match order.extent {
        FloorDetail::Quick => QUICK_WITHIN,
        FloorDetail::Full => FULL_WITHIN,
    };
    measure_within(program, order, within, interrupt)
}

fn measure_within(
    program: &Path,
    order: &Order,
    within: Duration,
    interrupt: &Interrupt,
) -> Floors {
    let deadline = Instant::now() + within;
    let mut process = match Process::start(program, order, false) {
        Ok(process) => process,
        Err(error) => {
            let reason = format!("start the floor process: {error}");
            return Floors::unavailable(order.extent, &reason);
        }
    };
    let mut found = None;
    let reason = loop {
        match process.stdout.next(Some(deadline), Some(interrupt.fd())) {
            Ok((FrameKind::Record, text)) => match Floors::from_json(&text) {
                Ok(floors) => found = Some(floors),
                Err(error) => break format!("the floor process said what is no record: {error}"),
            },
            Ok((FrameKind::Done, _)) => break String::new(),
            Ok((kind, _)) => break format!("the floor process said {kind:?} out of turn"),
            Err(Missing::Interrupted) => break "interrupted before it was measured".into(),
            Err(Missing::Late) => {
                break format!("the floor process took more than {} s", within.as_secs_f64());
            }
            Err(Missing::Closed) => break process.death(),
            Err(Missing::Broken(error)) => break format!("the floor process's stream: {error}"),
        }
    };
    match found {
        Some(floors) if reason.is_empty() => floors,
        Some(floors) => cut_short(floors, &reason),
        None if reason.is_empty() => {
            Floors::unavailable(order.extent, "the floor process reported nothing")
        }
        None => Floors::unavailable(order.extent, &reason),
    }
}

/// The floor process, owned: killed and reaped when dropped.
pub(super) struct Process {
    child: Child,
    pub(super) stdin: ChildStdin,
    pub(super) stdout: Reader<ChildStdout>,
}

impl Process {
    /// Starts it; with `rounds` it stays, and measures what it is asked for.
    pub(super) fn start(program: &Path, order: &Order, rounds: bool) -> io::Result<Process> {
        let mut child = Command::new(program)
            .arg0("ipcmark")
            .arg("floor-worker")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let stdin = child.stdin.take().expect("piped");
        let stdout = child.stdout.take().expect("piped");
        let order = WireOrder { owner: std::process::id(), order: order.clone(), rounds };
        let text = serde_json::to_vec(&order).expect("an order is always JSON");
        // If the child died already, the end of its output says so.
        let _ = write_frame(&stdin, FrameKind::Spec, &text);
        Ok(Process { child, stdin, stdout: Reader::new(stdout) })
    }

    /// How the process ended, once its output has.
    pub(super) fn death(&mut self) -> String {
        let how = |status: ExitStatus| match (status.signal(), status.code()) {
            (Some(signal), _) => format!("was killed by signal {signal}"),
            (None, code) => format!("exited with code {}", code.unwrap_or_default()),
        };
        let until = Instant::now() + Duration::from_secs(5);
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return format!("the floor process {}", how(status)),
                Ok(None) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                _ => return "the floor process closed its output".into(),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both are harmless once it has been reaped.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The same floors, with the reason at every part that hadn't been measured.
fn cut_short(mut floors: Floors, reason: &str) -> Floors {
    fn set<T>(part: &mut Part<T>, reason: &str) {
        if part.get().is_err_and(|why| why.reason == NOT_YET) {
            *part = Part::absent(reason);
        }
    }
    set(&mut floors.clocks, reason);
    set(&mut floors.calls, reason);
    set(&mut floors.line, reason);
    set(&mut floors.wake_up, reason);
    set(&mut floors.copy, reason);
    floors
}
