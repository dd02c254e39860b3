//! The supervisors on this host, as who started them sees them: frames to them and back, and their end.
//!
//! One that is dropped early notices the closing of its standard input; it kills its workers and exits.
//! One that doesn't is killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::launcher::Launcher;
use super::spec::Spec;
use super::wire::{FrameKind, Missing, Reader, write_frame};
use model::json::Json;
use model::launch::{Outcome, Record};
use sys::process::{end_group, has_ended, in_a_thread};

/// How long a supervisor may take to end once it is asked to, before it is killed.
const ENDS_WITHIN: Duration = Duration::from_millis(500);

/// Supervisors on this host, or in one of its networks, by the numbers of their launches.
pub struct Supervisors {
    launcher: Launcher,
    /// None for this process's own network.
    network: Option<Arc<File>>,
    running: BTreeMap<u32, Supervised>,
    /// The launch whose record says why its stream broke.
    broken: Option<u32>,
}

impl Supervisors {
    pub(super) fn new(launcher: Launcher, network: Option<Arc<File>>) -> Supervisors {
        Supervisors { launcher, network, running: BTreeMap::new(), broken: None }
    }

    /// Starts one, with so many bytes added to its environment.
    pub(super) fn begin(&mut self, number: u32, spec: &Spec, padding: usize) -> io::Result<()> {
        let mut command = self.launcher.launch(spec)?;
        command
            .env("IPCMARK_PADDING", "x".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        let child = match &self.network {
            None => command.spawn()?,
            // A network is a thread's: one of its own leaves this thread where it is.
            Some(network) => in_a_thread(|| {
                move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
                command.spawn()
            })?,
        };
        mechanisms::note_launch(child.id());
        self.running.insert(number, Supervised::of(child, spec));
        Ok(())
    }

    pub(super) fn tell(&mut self, number: u32, kind: FrameKind) {
        if let Some(supervised) = self.running.get_mut(&number) {
            supervised.tell(kind);
        }
    }

    pub(super) fn end(&mut self, number: u32) {
        self.running.remove(&number);
    }

    /// Tells all of them to end, and doesn't wait for that.
    pub(super) fn hang_up(&mut self) {
        self.running.values_mut().for_each(Supervised::hang_up);
    }

    /// The process ids of those that run.
    pub(super) fn pids(&self) -> impl Iterator<Item = u32> {
        self.running.values().map(Supervised::pid)
    }

    /// How long the longest of their launches lasts.
    pub(super) fn longest(&self) -> Duration {
        self.running.values().map(|supervised| supervised.lasts).max().unwrap_or_default()
    }

    /// Where their frames come from.
    pub(super) fn fds(&self) -> impl Iterator<Item = (u32, BorrowedFd<'_>)> {
        self.running.iter().map(|(number, supervised)| (*number, supervised.stdout.as_fd()))
    }

    /// Takes in what one has said, after poll(2) said that something has come.
    pub(super) fn fill(&mut self, number: u32) {
        if let Some(supervised) = self.running.get_mut(&number) {
            supervised.missing = supervised.stdout.fill().err();
        }
    }

    /// The next frame that has come. Behind all others of a supervisor stands that it is over; why its stream
    /// broke, where that did, is its record.
    pub(super) fn next(&mut self) -> Option<(u32, FrameKind, Vec<u8>)> {
        if let Some(number) = self.broken.take() {
            return Some((number, FrameKind::Over, Vec::new()));
        }
        for (number, supervised) in &mut self.running {
            let ended = match supervised.stdout.buffered() {
                Ok(Some((kind, payload))) => return Some((*number, kind, payload)),
                Ok(None) => supervised.missing.take(),
                Err(missing) => Some(missing),
            };
            if let Some(missing) = ended {
                let number = *number;
                self.running.remove(&number);
                let Missing::Broken(error) = missing else {
                    return Some((number, FrameKind::Over, Vec::new()));
                };
                self.broken = Some(number);
                let reason = format!("the supervisor's stream broke: {error}");
                let record = Record::without_samples(Outcome::Failed { reason });
                return Some((number, FrameKind::Record, record.to_json().into_bytes()));
            }
        }
        None
    }
}

/// A supervisor on this host, and what it supervises.
struct Supervised {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Reader<ChildStdout>,
    /// Why nothing comes any more.
    missing: Option<Missing>,
    lasts: Duration,
    /// When it was asked to end.
    hung_up: Option<Instant>,
}

impl Supervised {
    /// A supervisor that was just started, with pipes, and gets what it is to launch.
    fn of(mut child: Child, spec: &Spec) -> Supervised {
        let stdin = child.stdin.take().expect("piped");
        let stdout = child.stdout.take().expect("piped");
        let text = serde_json::to_vec(spec).expect("a spec is always JSON");
        // If the child died already, the record says so when it is read.
        let _ = write_frame(&stdin, FrameKind::Spec, &text);
        let (stdin, stdout) = (Some(stdin), Reader::new(stdout));
        let lasts = Duration::from_millis(spec.deadline_ms);
        Supervised { child, stdin, stdout, missing: None, lasts, hung_up: None }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn tell(&mut self, kind: FrameKind) {
        if let Some(stdin) = &self.stdin {
            // A closed pipe shows as a missing frame at the next read.
            let _ = write_frame(stdin, kind, &[]);
        }
    }

    /// Tells it to end, by the closing of its standard input.
    fn hang_up(&mut self) {
        self.stdin = None;
        self.hung_up.get_or_insert_with(Instant::now);
    }

    /// Reaps the supervisor, killing it if it has to be; whether it exited by itself. Its workers die with it, since they asked
    /// the kernel for that; one that was stopped before it could is in its group.
    fn exits(&mut self) -> bool {
        // Of those that were asked together, each has had the time that others were waited for.
        let until = self.hung_up.unwrap_or_else(Instant::now) + ENDS_WITHIN;
        loop {
            match has_ended(&self.child) {
                Ok(false) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Ok(_) => break,
                // Somebody has reaped it: its number may be another's by now.
                Err(_) => return false,
            }
        }
        end_group(&mut self.child).is_ok_and(|status| status.code().is_some())
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.hang_up();
        // A supervisor removes what it made, unless it was killed: then its objects name it.
        if !self.exits() {
            mechanisms::clean_up_after_process(self.pid());
        }
    }
}
