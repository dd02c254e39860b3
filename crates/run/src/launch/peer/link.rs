//! The way to the other host, and what has come over it of each launch.

use model::peer::Asked;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::deploy::Copy;
use super::process::Process;
use super::{Build, FarHost, NoPeer};
use crate::launch::spec::BUILD;
use crate::launch::state::Outgoing;
use crate::launch::wire::{Kind, Missing};
use machine::interrupt::Interrupt;

/// How long the other host may take to answer: a password may have to be typed.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How long a peer may take to end once its standard input is closed.
const ENDS_WITHIN: Duration = Duration::from_secs(1);
/// How long an agent that is asked whether it is there may take to say so.
const PONG_WITHIN: Duration = Duration::from_secs(3);

/// A frame of a launch.
pub(in crate::launch) type Frame = (Kind, Vec<u8>);

/// The agent over there, and what has come of each launch.
pub(in crate::launch) struct Link {
    agent: Process,
    heard: HashMap<u32, VecDeque<Frame>>,
    next: u32,
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

    /// Asks whether the agent is still there; one that doesn't even say so is lost.
    pub(in crate::launch) fn roll_call(&mut self, interrupt: BorrowedFd<'_>) {
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
    pub(in crate::launch) fn take_in(&mut self) {
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

    pub(in crate::launch) fn fd(&self) -> BorrowedFd<'_> {
        self.agent.stdout.as_fd()
    }
}

/// The way to the far half of one launch.
pub(in crate::launch) struct Line {
    pub(in crate::launch) link: Rc<RefCell<Link>>,
    pub(in crate::launch) number: u32,
}

impl Line {
    /// A line of a number of its own.
    pub(super) fn over(link: Rc<RefCell<Link>>) -> Line {
        let number = {
            let mut link = link.borrow_mut();
            link.next += 1;
            let number = link.next;
            link.heard.insert(number, VecDeque::new());
            number
        };
        Line { link, number }
    }

    pub(in crate::launch) fn say(&self, outgoing: &Outgoing) {
        let (kind, payload) = outgoing.frame();
        self.link.borrow_mut().say(kind, &payload);
    }

    /// The next frame that has come.
    pub(in crate::launch) fn take(&self) -> Option<Frame> {
        self.link.borrow_mut().heard.get_mut(&self.number)?.pop_front()
    }

    pub(in crate::launch) fn is_lost(&self) -> bool {
        self.link.borrow().lost.is_some()
    }
}

impl Drop for Line {
    /// Forgets the launch, and has the agent end what is left of it.
    fn drop(&mut self) {
        let mut link = self.link.borrow_mut();
        link.heard.remove(&self.number);
        link.say(Kind::Over, &self.number.to_le_bytes());
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Its launches end with it.
        self.agent.end(Instant::now() + ENDS_WITHIN);
    }
}
