//! The way to a node: frames to its agent and back. The agent is a process behind the launcher's
//! command, or a stub in this one for simulations; both speak the same bytes.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::stub::Stub;
use crate::launch::peer::process::Process;
use crate::launch::wire::{Kind, Missing};

/// A frame.
pub type Frame = (Kind, Vec<u8>);

/// How long an agent that has closed its output may take to say how it ended.
const ENDS_WITHIN: Duration = Duration::from_millis(300);

/// The way to a node.
pub enum Line {
    /// An agent behind a command.
    Process(Box<Process>),
    /// A node that only answers.
    Stub(Box<Stub>),
}

impl Line {
    /// Starts `words` with the agent's behind them.
    ///
    /// # Errors
    /// Why it couldn't be started.
    pub fn start(words: &[String], program: &str) -> Result<Line, String> {
        // In a group of its own: a signal from a terminal is the coordinator's to handle first.
        Process::start(words, program, true).map(|it| Line::Process(Box::new(it)))
    }

    /// Says something. What can't be said shows at the next read.
    pub fn say(&mut self, kind: Kind, payload: &[u8]) {
        match self {
            Line::Process(it) => it.say(kind, payload),
            Line::Stub(it) => it.hear(kind, payload),
        }
    }

    /// The next frame that is here already.
    ///
    /// # Errors
    /// Where the stream is broken.
    pub fn held(&mut self) -> Result<Option<Frame>, Missing> {
        match self {
            Line::Process(it) => it.stdout.held(),
            Line::Stub(it) => it.said(),
        }
    }

    /// Takes in what has come, after poll(2) said that something has.
    ///
    /// # Errors
    /// Where nothing will come any more.
    pub fn fill(&mut self) -> Result<(), Missing> {
        match self {
            Line::Process(it) => it.stdout.fill(),
            Line::Stub(_) => Ok(()),
        }
    }

    /// What becomes readable when the node says something; None of a stub, which answers at once.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Line::Process(it) => Some(it.stdout.as_fd()),
            Line::Stub(_) => None,
        }
    }

    /// How it came to its end, in words; nothing is said to it any more.
    pub fn how_it_ended(&mut self, missing: &Missing) -> String {
        let Line::Process(it) = self else { return "the stub broke".into() };
        let how = match missing {
            Missing::Broken(error) => {
                it.hang_up();
                match it.printed() {
                    said if said.is_empty() => format!("its stream broke: {error}"),
                    said => format!("it printed `{said}` where only ipcmark speaks ({error})"),
                }
            }
            _ => it.how_it_ended(ENDS_WITHIN),
        };
        format!("`{}`: {how}{}", it.command, it.complaint())
    }
}

/// Ends the agents of `lines`: each ends with its standard input. All are told before any is
/// waited for; one that doesn't end `within` that time is killed.
pub fn end_all(mut lines: Vec<Line>, within: Duration) {
    for line in &mut lines {
        if let Line::Process(process) = line {
            process.let_go();
        }
    }
    let until = Instant::now() + within;
    for line in &mut lines {
        if let Line::Process(process) = line {
            process.end(until);
        }
    }
}
