//! A connection to an agent, of a peer or of a fleet's node: frames to it and back, and what became of it. The
//! agent is a process behind a command or, in simulations, an object in this process; both use the same wire
//! format.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::deploy::Copy;
use super::process::Process;
use super::{Build, FarHost};
use crate::launch::spec::BUILD;
use crate::launch::wire::{FrameKind, Missing};
use machine::interrupt::Interrupt;
use model::json::Json;

pub type Frame = (FrameKind, Vec<u8>);

/// The same, borrowed.
pub type Said<'a> = (FrameKind, &'a [u8]);

/// How long an agent may take to answer: a password may have to be typed, or a step of a scheduler set up.
pub const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How long one that is asked whether it is there may take to say so.
pub const PONG_WITHIN: Duration = Duration::from_secs(3);
/// How long an agent that has closed its output may take to say how it ended: its keeper hears all its complaints before.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// An agent that is an object of this process.
pub trait AgentHere {
    /// Takes in a frame, as bytes.
    fn hear(&mut self, kind: FrameKind, payload: &[u8]);

    /// The next frame back.
    ///
    /// # Errors
    /// Where the bytes are no frame.
    fn said(&mut self) -> Result<Option<Frame>, Missing>;
}

/// The coordinator's end of a connection to one agent.
pub enum Connection {
    /// An agent behind a command.
    Process(Box<Process>),
    Here(Box<dyn AgentHere>),
}

/// Why what came is no hello of an agent of this build.
pub enum HelloError {
    /// Another build speaks there: in words.
    OtherBuild(String),
    /// It is none: why.
    Nonsense(String),
}

/// The words that start the agent of the program `program`.
pub fn agent_of(program: &str) -> [String; 2] {
    [program.into(), "peer".into()]
}

/// What a coordinator says first.
pub fn hello() -> Vec<u8> {
    serde_json::to_vec(&Build { build: BUILD.into() }).expect("always JSON")
}

/// Who an agent is, by its hello.
///
/// # Errors
/// What it is instead.
pub fn read_hello(hello: &[u8]) -> Result<FarHost, HelloError> {
    let nonsense = |error: serde_json::Error| HelloError::Nonsense(format!("its hello: {error}"));
    let Build { build } = serde_json::from_slice(hello).map_err(nonsense)?;
    if build == BUILD {
        return FarHost::from_json(hello).map_err(nonsense);
    }
    let text = format!("it has build {build}, and this is build {BUILD}: install the same there");
    Err(HelloError::OtherBuild(text))
}

/// What an agent says of a launch: its number, and the word of its supervisor where that is one; None of frames
/// that are of no launch.
pub fn of_launch((kind, payload): &Frame) -> Option<(u32, Option<Said<'_>>)> {
    let (number, rest) = payload.split_first_chunk::<4>()?;
    let said = match kind {
        FrameKind::Relay => {
            let (inner, rest) = rest.split_first()?;
            FrameKind::from_byte(*inner).map(|inner| (inner, rest))
        }
        FrameKind::Over => Some((FrameKind::Over, &[][..])),
        _ => return None,
    };
    Some((u32::from_le_bytes(*number), said))
}

impl Connection {
    /// Starts `words`, followed by those of the `agent`; in a process group of its own where a signal from a
    /// terminal is the coordinator's to handle first.
    ///
    /// # Errors
    /// Why it couldn't be started.
    pub fn start(
        words: &[String],
        agent: &[String],
        own_group: bool,
    ) -> Result<Connection, String> {
        let process = Process::start(words, agent, own_group)?;
        Ok(Connection::Process(Box::new(process)))
    }

    /// Brings the copy along, and waits until it is there.
    ///
    /// # Errors
    /// Why not; a signal too.
    pub fn bring(&mut self, copy: &mut Copy, interrupt: &Interrupt) -> Result<(), Missing> {
        match self {
            Connection::Process(it) => it.bring(copy, interrupt),
            Connection::Here(_) => Ok(()),
        }
    }

    /// Says something. What can't be said shows at the next read.
    pub fn say(&mut self, kind: FrameKind, payload: &[u8]) {
        match self {
            Connection::Process(it) => it.say(kind, payload),
            Connection::Here(it) => it.hear(kind, payload),
        }
    }

    /// The next frame that is here already.
    ///
    /// # Errors
    /// Where the stream is broken.
    pub fn buffered(&mut self) -> Result<Option<Frame>, Missing> {
        match self {
            Connection::Process(it) => it.stdout.buffered(),
            Connection::Here(it) => it.said(),
        }
    }

    /// Takes in what has come, after poll(2) said that something has.
    ///
    /// # Errors
    /// Where nothing will come any more.
    pub fn fill(&mut self) -> Result<(), Missing> {
        match self {
            Connection::Process(it) => it.stdout.fill(),
            Connection::Here(_) => Ok(()),
        }
    }

    /// The next frame; gives up at `deadline`, or as soon as `wanted` is readable.
    ///
    /// # Errors
    /// Why there is none.
    pub fn next(&mut self, deadline: Instant, wanted: BorrowedFd<'_>) -> Result<Frame, Missing> {
        match self {
            Connection::Process(it) => it.stdout.next(Some(deadline), [wanted]),
            Connection::Here(it) => it.said()?.ok_or(Missing::Late),
        }
    }

    /// The descriptor that becomes readable when the agent sends; None of one in this process, which answers
    /// at once.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Connection::Process(it) => Some(it.stdout.as_fd()),
            Connection::Here(_) => None,
        }
    }

    /// The command behind which it is, as it is shown.
    pub fn command(&self) -> &str {
        match self {
            Connection::Process(it) => &it.command,
            Connection::Here(_) => "ipcmark",
        }
    }

    /// The error message about it: the command, `what`, and the last lines of its standard error.
    pub fn error_line(&self, what: &str) -> String {
        let complaint = match self {
            Connection::Process(it) => it.complaint(),
            Connection::Here(_) => String::new(),
        };
        format!("`{}`: {what}{complaint}", self.command())
    }

    /// How it ended, in words; nothing is sent to it any more.
    pub fn how_it_ended(&mut self, missing: &Missing) -> String {
        let how = match (&mut *self, missing) {
            (_, Missing::Late) => "it says nothing any more".into(),
            (Connection::Process(it), Missing::Broken(error)) => match it.printed() {
                said if said.is_empty() => format!("its stream broke: {error}"),
                said => format!("it printed `{said}` where only ipcmark speaks ({error})"),
            },
            (Connection::Process(it), _) => it.how_it_ended(ENDS_WITHIN),
            (Connection::Here(_), _) => "it broke".into(),
        };
        self.hang_up();
        self.error_line(&how)
    }

    /// Says nothing more: the agent ends with its standard input.
    pub fn hang_up(&mut self) {
        if let Connection::Process(it) = self {
            it.hang_up();
        }
    }
}

/// Ends the agents of `connections` by closing their standard input, all of them before it waits for any.
/// Kills those that don't end `within` this time.
pub fn end_all<'a>(connections: impl IntoIterator<Item = &'a mut Connection>, within: Duration) {
    let mut processes = Vec::new();
    for connection in connections {
        if let Connection::Process(process) = connection {
            process.let_go();
            processes.push(process);
        }
    }
    let until = Instant::now() + within;
    processes.into_iter().for_each(|process| process.end(until));
}
