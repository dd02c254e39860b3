//! What a command of somebody else's answers when it is tried: within a time, and without anything of it staying.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use serde::Serialize;

use super::Interrupt;
use model::visible::one_line;
use sys::process::{end_group, has_ended};

/// How long a command may take.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// How often it is looked whether it has ended.
const LOOKED_AT: Duration = Duration::from_millis(2);
/// Bytes of its output that are read.
const MOST_OUTPUT: u64 = 1 << 20;
/// Letters of a line that are quoted.
const QUOTED: usize = 160;

/// What came of a command.
pub struct Answer {
    /// How it ended; None of what had to be ended, with all that it started.
    pub status: Option<ExitStatus>,
    pub output: String,
    /// The last line of its standard error.
    pub complaint: Option<String>,
}

/// Answers in JSON who started this process, or says why not on standard error; gives the exit code.
pub fn say(found: Result<impl Serialize, String>) -> i32 {
    let said = found
        .and_then(|answer| serde_json::to_string(&answer).map_err(|error| error.to_string()))
        .and_then(|text| writeln!(io::stdout(), "{text}").map_err(|error| error.to_string()));
    match said {
        Ok(()) => 0,
        Err(why) => {
            let _ = writeln!(io::stderr(), "{why}");
            1
        }
    }
}

/// Runs a command, without input.
///
/// # Errors
/// It can't be started.
pub fn answer(mut command: Command, interrupt: &Interrupt) -> io::Result<Answer> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let (mut out, mut err) = (Taken::of(child.stdout.take()), Taken::of(child.stderr.take()));
    let until = Instant::now() + ANSWERS_WITHIN;
    let is_over = loop {
        let is_over = has_ended(&child)?;
        // A pipe that is full would hold it up.
        out.take();
        err.take();
        if is_over || Instant::now() >= until || interrupt.signal().is_some() {
            break is_over;
        }
        interrupt.sleep(LOOKED_AT);
    };
    let status = end_group(&mut child)?;
    let complaint = err.text();
    let complaint = complaint.lines().rev().find(|line| !line.trim().is_empty()).map(quoted);
    let status = is_over.then_some(status);
    Ok(Answer { status, output: out.text(), complaint })
}

/// A line of somebody else's, fit to be shown.
pub fn quoted(line: &str) -> String {
    one_line(line).chars().take(QUOTED).collect()
}

/// A stream as far as it has come: what a process has left may hold its other end open for ever.
struct Taken<R> {
    from: Option<R>,
    bytes: Vec<u8>,
}

impl<R: Read + AsFd> Taken<R> {
    fn of(from: Option<R>) -> Taken<R> {
        let from = from.filter(|from| {
            let flags = fcntl_getfl(from);
            flags.and_then(|flags| fcntl_setfl(from, flags | OFlags::NONBLOCK)).is_ok()
        });
        Taken { from, bytes: Vec::new() }
    }

    fn take(&mut self) {
        let room = MOST_OUTPUT.saturating_sub(self.bytes.len() as u64);
        if let Some(from) = &mut self.from {
            // Where nothing more is there, what was read stays.
            let _ = from.take(room).read_to_end(&mut self.bytes);
        }
    }

    fn text(self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
