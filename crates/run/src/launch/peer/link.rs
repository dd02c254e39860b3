//! The way to an agent, of a peer or of a fleet's node: who it is, whether it is there, and its frames.

use std::cell::{RefCell, RefMut};
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::connection::{
    ANSWERS_WITHIN, Connection, Frame, HelloError, agent_of, end_all, hello, of_launch, read_hello,
};
use super::deploy::Copy;
use super::{FarHost, NoPeer};
use crate::launch::wire::{FrameKind, Missing};
use machine::interrupt::Interrupt;
use model::peer::PeerRequest;

/// How long an agent that is lost may take to end once its standard input is closed.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// The agent over there.
pub struct Link {
    /// None once it is lost.
    agent: Option<Connection>,
    /// The host that it described in its hello.
    pub far: Option<FarHost>,
    /// Whether it has said that it is there, since it was asked.
    answered: bool,
    /// Why nothing comes any more.
    missing: Option<Missing>,
    /// Why it takes no part any more.
    pub lost: Option<String>,
}

impl Link {
    /// The way to an agent that was just started, if it could be.
    pub fn of(agent: Result<Connection, String>) -> Link {
        let lost = agent.as_ref().err().cloned();
        Link { agent: agent.ok(), far: None, answered: false, missing: None, lost }
    }

    /// Starts the agent of a peer; gives who it is, too.
    pub(super) fn start(
        asked: &PeerRequest,
        interrupt: &Interrupt,
    ) -> Result<(Link, FarHost), NoPeer> {
        let failed = |why| {
            NoPeer(format!(
                "--peer: {why}; give a command that runs its arguments elsewhere, as in 'ssh host'"
            ))
        };
        let mut agent;
        let mut brought = Ok(());
        if asked.deployed {
            let mut copy =
                Copy::of_this_program().map_err(|why| NoPeer(format!("--deploy: {why}")))?;
            agent = Connection::start(&asked.command, &copy.words(), false).map_err(failed)?;
            brought = agent.bring(&mut copy, interrupt);
        } else {
            agent = Connection::start(&asked.command, &agent_of(&asked.program), false)
                .map_err(failed)?;
        }
        let far = match brought {
            Ok(()) => greet(&mut agent, interrupt),
            Err(missing) => Err(not_brought(&mut agent, &missing)),
        };
        // Dropped, it ends its agent.
        let mut link = Link::of(Ok(agent));
        let far = far?;
        link.far = Some(far.clone());
        Ok((link, far))
    }

    pub fn say(&mut self, kind: FrameKind, payload: &[u8]) {
        if let Some(agent) = &mut self.agent {
            agent.say(kind, payload);
        }
    }

    /// Says `hello`, which the agent answers.
    pub fn ask(&mut self, hello: &[u8]) {
        self.answered = false;
        self.say(FrameKind::Hello, hello);
    }

    /// Whether it has answered, or never will.
    pub fn has_answered(&self) -> bool {
        self.answered || self.lost.is_some()
    }

    /// Takes in what has come, after poll(2) said that something has.
    pub fn fill(&mut self) {
        self.missing = self.agent.as_mut().and_then(|agent| agent.fill().err());
    }

    /// The next frame of a launch that has come.
    pub fn next_frame(&mut self) -> Option<Frame> {
        loop {
            match self.agent.as_mut()?.buffered() {
                Ok(Some((FrameKind::Hello, text))) => self.meet(&text),
                Ok(Some(frame)) if of_launch(&frame).is_some() => return Some(frame),
                Ok(Some((kind, _))) => {
                    let error = io::Error::other(format!("{kind:?} out of turn"));
                    self.lose(&Missing::Broken(error));
                }
                // What came before its end counts.
                Ok(None) => {
                    let missing = self.missing.take()?;
                    self.lose(&missing);
                }
                Err(missing) => self.lose(&missing),
            }
        }
    }

    /// Who it is; or, later, that it is still there.
    fn meet(&mut self, text: &[u8]) {
        self.answered = true;
        if self.far.is_none() {
            match read_hello(text) {
                Ok(far) => self.far = Some(far),
                Err(HelloError::OtherBuild(why) | HelloError::Nonsense(why)) => self.give_up(why),
            }
        }
    }

    /// Takes in that it doesn't even say that it is there.
    pub fn fall_silent(&mut self) {
        self.lose(&Missing::Late);
    }

    fn lose(&mut self, missing: &Missing) {
        let how = self.agent.as_mut().map(|agent| agent.how_it_ended(missing));
        self.give_up(how.unwrap_or_default());
    }

    /// Takes it out, for this reason.
    pub fn give_up(&mut self, why: String) {
        self.lost.get_or_insert(why);
        self.end();
    }

    fn end(&mut self) {
        end_all(&mut self.agent, ENDS_WITHIN);
        self.agent = None;
    }

    /// Where its frames come from; None of one that is lost, or in this process.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.agent.as_ref().and_then(Connection::fd)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Its launches end with it.
        self.end();
    }
}

/// Ends all agents, each of which may take so long.
pub fn end_links(links: &[Rc<RefCell<Link>>], within: Duration) {
    let mut links: Vec<RefMut<'_, Link>> = links.iter().map(|link| link.borrow_mut()).collect();
    end_all(links.iter_mut().filter_map(|link| link.agent.as_mut()), within);
}

/// Each side says who it is; gives who the other one is.
fn greet(agent: &mut Connection, interrupt: &Interrupt) -> Result<FarHost, NoPeer> {
    agent.say(FrameKind::Hello, &hello());
    let deadline = Instant::now() + ANSWERS_WITHIN;
    let problem = match agent.next(deadline, interrupt.fd()) {
        Ok((FrameKind::Hello, text)) => match read_hello(&text) {
            Ok(far) => return Ok(far),
            Err(HelloError::OtherBuild(why)) => {
                let problem = agent.error_line(&why);
                return Err(NoPeer(format!("--peer: {problem}, or let --deploy copy this one")));
            }
            Err(HelloError::Nonsense(why)) => agent.error_line(&why),
        },
        Ok((kind, _)) => agent.error_line(&format!("it said {kind:?} first")),
        Err(Missing::Interrupted) => {
            return Err(NoPeer("--peer: interrupted before it answered".into()));
        }
        Err(Missing::Late) => {
            agent.error_line(&format!("it didn't answer in {} s", ANSWERS_WITHIN.as_secs()))
        }
        Err(missing) => agent.how_it_ended(&missing),
    };
    Err(NoPeer(format!(
        "--peer: {problem}; is ipcmark there? name it with --peer-program, or copy it with --deploy"
    )))
}

fn not_brought(agent: &mut Connection, missing: &Missing) -> NoPeer {
    let problem = match missing {
        Missing::Interrupted => {
            return NoPeer("--deploy: interrupted before the copy was there".into());
        }
        Missing::Late => agent.error_line("the copy wasn't there in time"),
        Missing::Broken(error) => agent.error_line(&error.to_string()),
        Missing::Closed => agent.how_it_ended(missing),
    };
    NoPeer(format!(
        "--deploy: {problem}; does `{}` give a shell where $TMPDIR or /tmp can be written and executed?",
        agent.command()
    ))
}
