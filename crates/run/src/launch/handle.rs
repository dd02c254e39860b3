//! The coordinator's hold on one launch: start it, let it go, collect what it found.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::launches::{Launches, Node};
use super::peer::Peer;
use super::spec::{Spec, not_started};
use super::state::{Stage, Wanted};
use machine::interrupt::{Interrupt, Interrupted};
use model::arm::{Arm, LAUNCH};
use model::launch::{Outcome, Record};
use model::plugin::Kind;

/// How a launch is started.
#[derive(Clone)]
pub struct Launcher {
    program: PathBuf,
    /// The program that loads plug-ins, where there are any.
    host: Option<PathBuf>,
    /// The words before it; where the last one is `launch`, the whole command.
    arm: Arm,
}

/// Between which hosts a launch is.
#[derive(Clone)]
pub struct PeerRoute {
    pub peer: Peer,
    /// The network of its initiator; None where that is this process's own.
    pub near: Option<Arc<File>>,
}

/// The result of a launch: its record, and its samples in ticks.
#[derive(Debug)]
pub struct LaunchResult {
    pub record: Record,
    /// Every sample, in ticks, in the order they were taken. Empty unless the outcome is `Ok`.
    pub samples: Vec<u64>,
}

impl LaunchResult {
    /// The result of a launch that was never begun.
    pub fn of(outcome: Outcome) -> LaunchResult {
        LaunchResult { record: Record::without_samples(outcome), samples: Vec::new() }
    }
}

impl Launcher {
    /// A launcher that starts `program`, which must be this program.
    pub fn new(program: PathBuf) -> Launcher {
        Launcher { program, host: None, arm: Arm::default() }
    }

    /// The same, with the program that launches of plug-ins are made by.
    pub fn with_host(self, host: Option<PathBuf>) -> Launcher {
        Launcher { host, ..self }
    }

    /// The same under an arm of the command line.
    pub(crate) fn under(&self, arm: &Arm) -> Launcher {
        Launcher { arm: arm.clone(), ..self.clone() }
    }

    /// The command that does `word`, in place of a launch where that is another one.
    pub(crate) fn command(&self, word: &str) -> Command {
        self.command_of(&self.program, word)
    }

    fn command_of(&self, program: &Path, word: &str) -> Command {
        let Some((first, rest)) = self.arm.prefix.split_first() else {
            let mut command = Command::new(program);
            command.arg0("ipcmark").arg(word);
            return command;
        };
        let mut command = Command::new(first);
        if self.arm.is_whole() {
            command.args(&rest[..rest.len().saturating_sub(1)]).arg(word);
        } else {
            command.args(rest).arg(seen_by_others(program)).arg(word);
        }
        command
    }

    /// That of a launch, by the program that can load its mechanism.
    ///
    /// # Errors
    /// It is a plug-in, of another host's command line.
    pub(super) fn launch(&self, spec: &Spec) -> io::Result<Command> {
        let program = match (&spec.plugin, &self.host) {
            (None, _) => &self.program,
            (Some(plugin), Some(_)) if plugin.kind == Kind::Program => Path::new(&plugin.path),
            (Some(_), Some(host)) => host,
            (Some(_), None) => return Err(io::Error::other("plug-ins are of this host alone")),
        };
        Ok(self.command_of(program, LAUNCH))
    }

    /// Starts a launch on this host. `padding` bytes are added to its environment, which moves its
    /// stack: a set-up detail that must not be the same in every launch.
    pub fn start(&self, spec: &Spec, padding: usize) -> io::Result<Launch> {
        let mut launches = Launches::of(vec![Node::here(self, None)]);
        let wanted = Wanted { near: 0, far: None, spec: spec.clone(), padding, slot: 0 };
        let (number, started) = launches.begin(wanted);
        started.map(|()| Launch { launches, number: [number] })
    }
}

/// A program as another process finds it: what stands before it has an executable of its own, which /proc/self would be.
fn seen_by_others(program: &Path) -> PathBuf {
    match program.strip_prefix("/proc/self") {
        Ok(rest) => PathBuf::from(format!("/proc/{}", std::process::id())).join(rest),
        Err(_) => program.to_path_buf(),
    }
}

/// A running launch on this host, step by step.
pub struct Launch {
    launches: Launches,
    number: [u32; 1],
}

impl Launch {
    /// The process id of its supervisor; 0 where there is none any more.
    pub fn pid(&self) -> u32 {
        self.launches.pid()
    }

    /// Waits until the launch is at `stage`, or over. Err when interrupted.
    pub fn reach(&mut self, stage: Stage, interrupt: &Interrupt) -> Result<(), Interrupted> {
        self.launches.reach(&self.number, stage, interrupt)
    }

    /// Whether the launch has ended before its time.
    pub fn is_over(&self) -> bool {
        self.launches.has_failed(self.number[0])
    }

    /// Lets the workers start.
    pub fn go(&mut self) {
        self.launches.go(&self.number);
    }

    /// Lets the initiator of a launch that takes turns have the next one.
    pub fn turn(&mut self) {
        self.launches.turn(self.number[0]);
    }

    /// Lets the workers exit; the record follows.
    pub fn end(&mut self) {
        self.launches.end(&self.number);
    }

    /// Reads the record and the samples, and reaps the supervisor. A signal shortens the
    /// patience with one that doesn't answer.
    pub fn collect(mut self, interrupt: &Interrupt) -> LaunchResult {
        self.launches.collect(&self.number, interrupt).remove(0)
    }
}

/// The outcome of a launch whose process couldn't be started.
pub(crate) fn unstarted(error: &io::Error) -> Outcome {
    not_started("start the launch", error)
}
