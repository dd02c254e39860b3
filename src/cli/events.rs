//! `run --format ndjson`: events as they happen, beside the progress for a person.
//!
//! Written only while nothing is timed. A reader that is slow holds up the next round, never
//! a launch; one that is gone ends the run as a signal would: all that was measured is stored.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::PIPE_BUF;

use super::Failure;
use super::output::{self, Output, Unwritten};
use super::progress::StderrProgress;
use ::report::export::ndjson;
use ::run::campaign::{Launched, Progress, Status};
use ::run::launch::Interrupt;
use analysis::Judged;
use store::{RunStatus, StoredCase, StoredGroup, StoredRun};

/// How long a reader may block the output once a signal has come.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// Progress for a person, and events for a program where they were asked for.
pub struct Live<'a> {
    person: StderrProgress,
    events: Option<Events<'a>>,
}

impl<'a> Live<'a> {
    pub fn new(person: StderrProgress, events: Option<Events<'a>>) -> Live<'a> {
        Live { person, events }
    }

    /// Writes the results and the end, where events were asked for; `resume` says what goes on with the run.
    ///
    /// # Errors
    /// Where this event or any before it couldn't be written.
    pub fn conclude(mut self, judged: &Judged, resume: &str) -> Result<(), Failure> {
        let Some(mut events) = self.events.take() else { return Ok(()) };
        events.write(&ndjson::conclusion(judged));
        let run = judged.run.id;
        let kept = match judged.run.status {
            RunStatus::Complete => output::again(&format!("export {run} --format ndjson -o FILE")),
            _ => format!("run {run} ended early: {resume}"),
        };
        events.finish().map_err(|why| match (&why, judged.run.status) {
            // All is measured: whoever reads the beginning alone has what they want.
            (Unwritten::Closed, RunStatus::Complete) => why.into(),
            _ => why.but(&kept),
        })
    }
}

impl Progress for Live<'_> {
    fn began(&mut self, run: &StoredRun) {
        if let Some(events) = &mut self.events {
            events.began(run);
        }
    }

    fn stage(&mut self, text: &str) {
        self.person.stage(text);
    }

    fn round(&mut self, status: &Status) {
        self.person.round(status);
    }

    fn launched(&mut self, launches: &[Launched]) {
        if let Some(events) = &mut self.events {
            events.launched(launches);
        }
    }

    fn wanted(&self) -> bool {
        self.events.as_ref().is_none_or(|events| events.failed.is_none())
    }

    fn warning(&mut self, text: &str) {
        self.person.warning(text);
        if let Some(events) = &mut self.events {
            events.write(&ndjson::warning(events.run, text));
        }
    }

    fn done(&mut self) {
        self.person.done();
    }
}

/// Where events go. A regular file has them when the run has ended, as it was before until then: one
/// that is cut off by a full disk or a kill is no stream that anybody could use, and the store has every
/// launch. To have them while they happen, read a pipe or a FIFO.
enum Out {
    Standard(io::Stdout),
    File(Output),
}

impl AsFd for Out {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Out::Standard(stdout) => stdout.as_fd(),
            Out::File(output) => output.file().as_fd(),
        }
    }
}

pub struct Events<'a> {
    out: Out,
    interrupt: &'a Interrupt,
    failed: Option<io::Error>,
    run: i64,
    /// By id: the place among the planned cases, the case, and its nodes.
    cases: HashMap<i64, (usize, StoredCase, Vec<String>)>,
}

impl<'a> Events<'a> {
    /// Events to a file, or to standard output.
    ///
    /// # Errors
    /// Where the file can't be made.
    pub fn to(path: Option<&Path>, interrupt: &'a Interrupt) -> Result<Events<'a>, Failure> {
        let out = match path {
            Some(path) => Output::open(path)
                .map(Out::File)
                .map_err(|why| why.refused("name another file with -o"))?,
            None => Out::Standard(output::standard()?),
        };
        Ok(Events { out, interrupt, failed: None, run: 0, cases: HashMap::new() })
    }

    /// The last event is written.
    fn finish(self) -> Result<(), Unwritten> {
        match (self.out, self.failed) {
            (Out::Standard(_), None) => Ok(()),
            (Out::Standard(_), Some(error)) => Err(Unwritten::to_standard_output(&error)),
            (Out::File(output), None) => output.finish(),
            (Out::File(output), Some(error)) => Err(output.unwritten(&error)),
        }
    }

    fn began(&mut self, run: &StoredRun) {
        self.run = run.id;
        let cases = run.results().enumerate();
        let known = |(nth, (_, case)): (usize, (&StoredGroup, &StoredCase))| {
            let nodes = run.nodes_of(case).into_iter().map(String::from).collect();
            (case.id, (nth, case.clone(), nodes))
        };
        self.cases = cases.map(known).collect();
        self.write(&ndjson::start(run));
    }

    fn launched(&mut self, launches: &[Launched]) {
        let mut text = String::new();
        for launch in launches {
            let Some((nth, case, nodes)) = self.cases.get(&launch.case) else { continue };
            let launch = ndjson::Launch {
                round: launch.round,
                swapped: launch.swapped,
                status: launch.status,
                reason: launch.reason.as_deref(),
                median_ns: launch.median_ns,
                samples: launch.samples,
            };
            let nodes = nodes.iter().map(String::as_str).collect();
            text.push_str(&ndjson::launch(self.run, (*nth, case), nodes, &launch));
        }
        self.write(&text);
    }

    fn write(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.write_all(text.as_bytes()).err();
        }
    }

    fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.wait_for_room()?;
            // A pipe that is ready takes so many bytes without blocking: pipe(7).
            match rustix::io::write(&self.out, &bytes[..bytes.len().min(PIPE_BUF)]) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Waits for the reader; once a signal has come, not for long.
    fn wait_for_room(&self) -> io::Result<()> {
        let out = PollFd::new(&self.out, PollFlags::OUT);
        let mut both = [out.clone(), PollFd::from_borrowed_fd(self.interrupt.fd(), PollFlags::IN)];
        while matches!(poll(&mut both, None), Err(Errno::INTR)) {}
        if !both[0].revents().is_empty() {
            return Ok(());
        }
        match poll(&mut [out], Some(&PATIENCE)) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::TimedOut, "its reader stopped reading")),
            _ => Ok(()),
        }
    }
}
