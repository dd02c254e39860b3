//! The way to the other host, and what has come over it of each launch.

use model::peer::Asked;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use super::deploy::Copy;
use super::process::Process;
use super::{Build, FarHost, NoPeer};
use crate::launch::spec::BUILD;
use crate::launch::wire::{Kind, Missing};
use machine::interrupt::Interrupt;

/// How long the other host may take to answer: a password may have to be typed.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How long a peer may take to end once its standard input is closed.
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// How long an agent that is asked whether it is there may take to say so.
const PONG_WITHIN: Duration = Duration::from_secs(3);

/// A frame of a launch.
pub(super) type Frame = (Kind, Vec<u8>);

/// The agent over there, and what has come of each launch.
pub(super) struct Link {
    agent: Process,
    pub(super) heard: HashMap<u32, VecDeque<Frame>>,
    pub(super) next: u32,
    /// Whether it has said that it is there, since it was asked.
    answered: bool,
    pub(super) lost: Option<String>,
}

impl Link {
    pub(super) fn start(asked: &Asked, interrupt: &Interrupt) -> Result<Link, NoPeer> {
        let failed = |why| {
            NoPeer(format!(
                "--peer: {why}; give a command that runs its arguments elsewhere, as in 'ssh host'"
            ))
        };
        let of = |agent| Link { agent, heard: HashMap::new(), next: 0, answered: true, lost: None };
        if !asked.deployed {
            return Process::start(&asked.command, &asked.program, false).map(of).map_err(failed);
        }
        let mut copy = Copy::of_this_program().map_err(|why| NoPeer(format!("--deploy: {why}")))?;
        let mut link = of(Process::start_copy(&asked.command, &copy).map_err(failed)?);
        match link.agent.bring(&mut copy, interrupt) {
            Ok(()) => Ok(link),
            Err(missing) => Err(link.not_brought(&missing)),
        }
    }

    fn not_brought(&mut self, missing: &Missing) -> NoPeer {
        let what = match missing {
            Missing::Interrupted => {
                return NoPeer("--deploy: interrupted before the copy was there".into());
            }
            Missing::Late => "the copy wasn't there in time".into(),
            Missing::Closed => self.agent.how_it_ended(ENDS_WITHIN),
            Missing::Broken(error) => error.to_string(),
        };
        NoPeer(format!(
            "--deploy: `{0}`: {what}{1}; does `{0}` give a shell where $TMPDIR or /tmp can be written \
             and executed?",
            self.agent.command,
            self.agent.complaint()
        ))
    }

    /// Each side says who it is; gives who the other one is.
    pub(super) fn greet(&mut self, interrupt: &Interrupt) -> Result<FarHost, NoPeer> {
        let hello = serde_json::to_vec(&Build { build: BUILD.into() }).expect("always JSON");
        self.say(Kind::Hello, &hello);
        let deadline = Some(Instant::now() + ANSWERS_WITHIN);
        let text = match self.agent.stdout.next(deadline, Some(interrupt.fd())) {
            Ok((Kind::Hello, text)) => text,
            Ok((kind, _)) => return Err(self.no_peer(&format!("it said {kind:?} first"))),
            Err(missing) => return Err(self.no_answer(&missing)),
        };
        match serde_json::from_slice::<Build>(&text) {
            Ok(it) if it.build == BUILD => {}
            Ok(it) => {
                return Err(NoPeer(format!(
                    "--peer: `{}` has build {}, and this is build {BUILD}: install the same there, \
                     or let --deploy copy this one",
                    self.agent.command, it.build
                )));
            }
            Err(error) => return Err(self.no_peer(&format!("its hello: {error}"))),
        }
        let far = serde_json::from_slice(&text);
        far.map_err(|error| self.no_peer(&format!("its hello: {error}")))
    }

    fn no_answer(&mut self, missing: &Missing) -> NoPeer {
        match missing {
            Missing::Interrupted => NoPeer("--peer: interrupted before it answered".into()),
            Missing::Late => {
                let text = format!("it didn't answer in {} s", ANSWERS_WITHIN.as_secs());
                self.no_peer(&text)
            }
            Missing::Closed => {
                let how = self.agent.how_it_ended(ENDS_WITHIN);
                self.no_peer(&how)
            }
            Missing::Broken(error) => {
                let said = self.agent.printed();
                self.no_peer(&format!("it printed `{said}` where only ipcmark speaks ({error})"))
            }
        }
    }

    fn no_peer(&self, what: &str) -> NoPeer {
        NoPeer(format!(
            "--peer: `{}`: {what}{}; is ipcmark there? name it with --peer-program, or copy it with \
             --deploy",
            self.agent.command,
            self.agent.complaint()
        ))
    }

    pub(super) fn say(&mut self, kind: Kind, payload: &[u8]) {
        self.agent.say(kind, payload);
    }

    /// Says something of one launch.
    pub(super) fn relay(&mut self, number: u32, kind: Kind) {
        let mut payload = number.to_le_bytes().to_vec();
        payload.push(kind as u8);
        self.say(Kind::Relay, &payload);
    }

    /// Forgets a launch, and has the agent end what is left of it.
    pub(super) fn over(&mut self, number: u32) {
        self.heard.remove(&number);
        self.say(Kind::Over, &number.to_le_bytes());
    }

    /// The next frame of a launch, if it has come.
    fn take(&mut self, number: u32) -> Option<Frame> {
        self.heard.get_mut(&number)?.pop_front()
    }

    /// Waits for a frame of a launch until `deadline`, or until one of `wanted` is readable.
    pub(super) fn next(
        &mut self,
        number: u32,
        deadline: Instant,
        wanted: &[BorrowedFd<'_>],
    ) -> Result<Frame, Missing> {
        loop {
            if let Some(frame) = self.take(number) {
                return Ok(frame);
            }
            if self.lost.is_some() {
                return Err(Missing::Closed);
            }
            match self.agent.stdout.next(Some(deadline), wanted.iter().copied()) {
                Ok(frame) => {
                    self.sort(frame);
                    self.sort_held();
                }
                Err(missing @ (Missing::Interrupted | Missing::Late)) => return Err(missing),
                Err(missing) => self.lose(&missing),
            }
        }
    }

    /// Asks whether the agent is still there; one that doesn't even say so is lost.
    pub(super) fn roll_call(&mut self, interrupt: BorrowedFd<'_>) {
        self.answered = false;
        self.say(Kind::Hello, &[]);
        let deadline = Instant::now() + PONG_WITHIN;
        while !self.answered && self.lost.is_none() {
            match self.agent.stdout.next(Some(deadline), [interrupt]) {
                Ok(frame) => {
                    self.sort(frame);
                    self.sort_held();
                }
                Err(Missing::Interrupted) => return,
                Err(missing) => self.lose(&missing),
            }
        }
    }

    /// Takes in what has come, without waiting for more.
    pub(super) fn take_in(&mut self) {
        let filled = self.agent.stdout.fill();
        self.sort_held();
        if let Err(missing) = filled {
            self.lose(&missing);
        }
    }

    /// Every whole frame that has been read: no poll(2) tells of those.
    fn sort_held(&mut self) {
        loop {
            match self.agent.stdout.held() {
                Ok(Some(frame)) => self.sort(frame),
                Ok(None) => return,
                Err(missing) => return self.lose(&missing),
            }
        }
    }

    fn sort(&mut self, (kind, payload): Frame) {
        let number = payload.first_chunk::<4>().map(|it| u32::from_le_bytes(*it));
        match (kind, number) {
            (Kind::Relay, Some(number)) if payload.len() > 4 => {
                let inner = Kind::from_byte(payload[4]);
                // Of a launch that nobody asks for any more nothing is kept.
                if let (Some(inner), Some(heard)) = (inner, self.heard.get_mut(&number)) {
                    heard.push_back((inner, payload[5..].to_vec()));
                }
            }
            (Kind::Over, Some(number)) => {
                if let Some(heard) = self.heard.get_mut(&number) {
                    heard.push_back((Kind::Over, Vec::new()));
                }
            }
            (Kind::Hello, None) => self.answered = true,
            (kind, _) => {
                let error = io::Error::other(format!("{kind:?} out of turn"));
                self.lose(&Missing::Broken(error));
            }
        }
    }

    fn lose(&mut self, missing: &Missing) {
        if self.lost.is_none() {
            let how = match missing {
                Missing::Broken(error) => format!("its stream broke: {error}"),
                Missing::Late => "it says nothing any more".into(),
                _ => self.agent.how_it_ended(ENDS_WITHIN),
            };
            let why = format!(
                "the peer is gone: `{}`: {how}{}",
                self.agent.command,
                self.agent.complaint()
            );
            self.lost = Some(why);
        }
        self.agent.hang_up();
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.agent.stdout.as_fd()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Its launches end with it.
        self.agent.end(Instant::now() + ENDS_WITHIN);
    }
}
