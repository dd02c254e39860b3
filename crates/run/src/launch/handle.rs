//! The coordinator's hold on one launch: start it, let it go, collect what it found.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::launcher::Launcher;
use super::launches::{Launches, Node};
use super::peer::Peer;
use super::spec::Spec;
use super::state::{LaunchResult, Stage, Wanted};
use machine::interrupt::{Interrupt, Interrupted};

/// Between which hosts a launch is.
#[derive(Clone)]
pub struct PeerRoute {
    pub peer: Peer,
    /// The network of its initiator; None where that is this process's own.
    pub near: Option<Arc<File>>,
}

impl Launcher {
    /// Starts a launch on this host. `padding` bytes are added to its environment, which moves its
    /// stack: a set-up detail that must not be the same in every launch.
    pub fn start(&self, spec: &Spec, padding: usize) -> io::Result<Launch> {
        let mut launches = Launches::of(vec![Node::here(self, None)]);
        let wanted = Wanted { near: 0, far: None, spec: spec.clone(), padding, slot: 0 };
        let (number, started) = launches.begin(wanted);
        started.map(|()| Launch { launches, number: [number] })
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
