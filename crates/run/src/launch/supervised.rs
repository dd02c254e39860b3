//! A supervisor on this host, as who started it sees it: frames to it and back, and its end.
//!
//! One that is dropped early is told so by the closing of its standard input; it kills its workers and exits.
//! One that doesn't is killed.

use std::os::fd::BorrowedFd;
use std::process::{Child, ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use super::spec::Spec;
use super::wire::{FrameKind, Reader, write_frame};

/// How long a supervisor may take to end once it is told, before it is killed.
const ENDS_WITHIN: Duration = Duration::from_millis(500);
/// A supervisor on this host, and what it supervises.
pub struct Supervised {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Reader<ChildStdout>,
    /// When it was told to end.
    hung_up: Option<Instant>,
}

impl Supervised {
    /// A supervisor that was just started, with pipes, and is told what to launch.
    pub(super) fn of(mut child: Child, spec: &Spec) -> Supervised {
        let stdin = child.stdin.take().expect("piped");
        let stdout = child.stdout.take().expect("piped");
        let text = serde_json::to_vec(spec).expect("a spec is always JSON");
        // If the child died already, the record says so when it is read.
        let _ = write_frame(&stdin, FrameKind::Spec, &text);
        Supervised { child, stdin: Some(stdin), stdout: Reader::new(stdout), hung_up: None }
    }

    /// The supervisor's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its frames.
    pub(super) fn frames(&mut self) -> &mut Reader<ChildStdout> {
        &mut self.stdout
    }

    /// Where its frames come from.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }

    pub(super) fn tell(&mut self, kind: FrameKind) {
        if let Some(stdin) = &self.stdin {
            // A closed pipe shows as a missing frame at the next read.
            let _ = write_frame(stdin, kind, &[]);
        }
    }

    /// Tells it to end, by the closing of its standard input.
    pub(super) fn hang_up(&mut self) {
        self.stdin = None;
        self.hung_up.get_or_insert_with(Instant::now);
    }

    /// Reaps the supervisor, killing it if it has to be; whether it exited by itself.
    fn exits(&mut self) -> bool {
        // Of those that were told together, each has had the time that others were waited for.
        let until = self.hung_up.unwrap_or_else(Instant::now) + ENDS_WITHIN;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Ok(None) => break,
                Ok(Some(status)) => return status.code().is_some(),
                Err(_) => return false,
            }
        }
        // Its workers die with it: they asked the kernel for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
        false
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
