//! The way to the other host, and what has come over it of each launch.

use model::peer::PeerRequest;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::connection::{
    ANSWERS_WITHIN, Connection, Frame, NotMet, PONG_WITHIN, end_all, hello, met,
};
use super::deploy::Copy;
use super::{FarHost, NoPeer};
use crate::launch::state::Outgoing;
use crate::launch::wire::{Kind, Missing};
use machine::interrupt::Interrupt;

/// How long a peer may take to end once its standard input is closed.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// The agent over there, and what has come of each launch.
pub(in crate::launch) struct Link {
    agent: Connection,
    heard: HashMap<u32, VecDeque<Frame>>,
    next: u32,
    /// Whether it has said that it is there, since it was asked.
    answered: bool,
    pub(super) lost: Option<String>,
}

impl Link {
    pub(super) fn start(asked: &PeerRequest, interrupt: &Interrupt) -> Result<Link, NoPeer> {
        let failed = |why| {
            NoPeer(format!(
                "--peer: {why}; give a command that runs its arguments elsewhere, as in 'ssh host'"
            ))
        };
        let of = |agent| Link { agent, heard: HashMap::new(), next: 0, answered: true, lost: None };
        if !asked.deployed {
            let agent = Connection::start(&asked.command, &asked.program, false);
            return agent.map(of).map_err(failed);
        }
        let mut copy = Copy::of_this_program().map_err(|why| NoPeer(format!("--deploy: {why}")))?;
        let mut link = of(Connection::start_copy(&asked.command, &copy).map_err(failed)?);
        match link.agent.bring(&mut copy, interrupt) {
            Ok(()) => Ok(link),
            Err(missing) => Err(link.not_brought(&missing)),
        }
    }

    fn not_brought(&mut self, missing: &Missing) -> NoPeer {
        let told = match missing {
            Missing::Interrupted => {
                return NoPeer("--deploy: interrupted before the copy was there".into());
            }
            Missing::Late => self.agent.told("the copy wasn't there in time"),
            Missing::Broken(error) => self.agent.told(&error.to_string()),
            Missing::Closed => self.agent.how_it_ended(missing),
        };
        NoPeer(format!(
            "--deploy: {told}; does `{}` give a shell where $TMPDIR or /tmp can be written and executed?",
            self.agent.command()
        ))
    }

    /// Each side says who it is; gives who the other one is.
    pub(super) fn greet(&mut self, interrupt: &Interrupt) -> Result<FarHost, NoPeer> {
        self.say(Kind::Hello, &hello());
        let deadline = Instant::now() + ANSWERS_WITHIN;
        let told = match self.agent.next(deadline, interrupt.fd()) {
            Ok((Kind::Hello, text)) => match met(&text) {
                Ok(far) => return Ok(far),
                Err(NotMet::OtherBuild(why)) => {
                    let told = self.agent.told(&why);
                    return Err(NoPeer(format!("--peer: {told}, or let --deploy copy this one")));
                }
                Err(NotMet::Nonsense(why)) => self.agent.told(&why),
            },
            Ok((kind, _)) => self.agent.told(&format!("it said {kind:?} first")),
            Err(Missing::Interrupted) => {
                return Err(NoPeer("--peer: interrupted before it answered".into()));
            }
            Err(Missing::Late) => {
                self.agent.told(&format!("it didn't answer in {} s", ANSWERS_WITHIN.as_secs()))
            }
            Err(missing) => self.agent.how_it_ended(&missing),
        };
        Err(NoPeer(format!(
            "--peer: {told}; is ipcmark there? name it with --peer-program, or copy it with --deploy"
        )))
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
            match self.agent.next(deadline, interrupt) {
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
        let filled = self.agent.fill();
        self.sort_held();
        if let Err(missing) = filled {
            self.lose(&missing);
        }
    }

    /// Every whole frame that has been read: no poll(2) tells of those.
    fn sort_held(&mut self) {
        loop {
            match self.agent.held() {
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
            self.lost = Some(format!("the peer is gone: {}", self.agent.how_it_ended(missing)));
        }
        self.agent.hang_up();
    }

    pub(in crate::launch) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.agent.fd()
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
        end_all([&mut self.agent], ENDS_WITHIN);
    }
}
