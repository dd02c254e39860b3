//! A connection to the agent of a node: frames to it and back. The agent is a process behind the
//! launcher's command or, in simulations, an object in this process; both use the same wire format.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::simulated_agent::SimulatedAgent;
use crate::launch::peer::process::Process;
use crate::launch::wire::{Kind, Missing};

/// A frame.
pub type Frame = (Kind, Vec<u8>);

/// How long an agent that has closed its output may take to say how it ended.
const ENDS_WITHIN: Duration = Duration::from_millis(300);

/// The coordinator's end of a connection to one agent.
pub enum AgentConnection {
    /// An agent behind a command.
    Process(Box<Process>),
    /// A simulated agent in this process.
    Simulated(Box<SimulatedAgent>),
}

impl AgentConnection {
    /// Starts `words`, followed by the agent's own.
    ///
    /// # Errors
    /// Why it couldn't be started.
    pub fn start(words: &[String], program: &str) -> Result<AgentConnection, String> {
        // In a group of its own: a signal from a terminal is the coordinator's to handle first.
        Process::start(words, program, true).map(|it| AgentConnection::Process(Box::new(it)))
    }

    /// Says something. What can't be said shows at the next read.
    pub fn say(&mut self, kind: Kind, payload: &[u8]) {
        match self {
            AgentConnection::Process(it) => it.say(kind, payload),
            AgentConnection::Simulated(it) => it.hear(kind, payload),
        }
    }

    /// The next frame that is here already.
    ///
    /// # Errors
    /// Where the stream is broken.
    pub fn held(&mut self) -> Result<Option<Frame>, Missing> {
        match self {
            AgentConnection::Process(it) => it.stdout.held(),
            AgentConnection::Simulated(it) => it.said(),
        }
    }

    /// Takes in what has come, after poll(2) said that something has.
    ///
    /// # Errors
    /// Where nothing will come any more.
    pub fn fill(&mut self) -> Result<(), Missing> {
        match self {
            AgentConnection::Process(it) => it.stdout.fill(),
            AgentConnection::Simulated(_) => Ok(()),
        }
    }

    /// The descriptor that becomes readable when the agent sends; None of a simulated one, which answers
    /// at once.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            AgentConnection::Process(it) => Some(it.stdout.as_fd()),
            AgentConnection::Simulated(_) => None,
        }
    }

    /// How it came to its end, in words; nothing is said to it any more.
    pub fn how_it_ended(&mut self, missing: &Missing) -> String {
        let AgentConnection::Process(it) = self else { return "the stub broke".into() };
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

/// Ends the agents of `connections` by closing their standard input, all of them before it waits for any.
/// Kills those that don't end `within` this time.
pub fn end_all(mut connections: Vec<AgentConnection>, within: Duration) {
    for connection in &mut connections {
        if let AgentConnection::Process(process) = connection {
            process.let_go();
        }
    }
    let until = Instant::now() + within;
    for connection in &mut connections {
        if let AgentConnection::Process(process) = connection {
            process.end(until);
        }
    }
}
