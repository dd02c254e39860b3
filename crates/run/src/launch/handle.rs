//! The coordinator's hold on one launch: start it, let it go, collect what it found. What is said to whom, and
//! what it came to, its state decides (`state`). One between two hosts has a half here and a half there, which
//! the agent of the `peer` starts.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::peer::{Line, Peer};
use super::spec::{Spec, not_started};
use super::state::{
    COLLECTED_WITHIN, ECHO, GRACE, LaunchState, Message, Outgoing, READY_WITHIN, Stage, Wanted,
};
use super::supervised::Supervised;
use super::wire::{FrameKind, Missing, time_left};
use machine::interrupt::{Interrupt, Interrupted};
use model::launch::Record;

/// Starts launches.
#[derive(Clone)]
pub struct Launcher {
    program: PathBuf,
}

/// Between which hosts a launch is.
#[derive(Clone)]
pub struct PeerRoute {
    /// Where its responder is.
    pub peer: Peer,
    /// The network of its initiator; None where that is this process's own.
    pub near: Option<Arc<File>>,
}

/// The result of a launch: its record, and its samples in ticks.
#[derive(Debug)]
pub struct LaunchResult {
    /// The record that the launch reported.
    pub record: Record,
    /// Every sample, in ticks, in the order they were taken. Empty unless the outcome is `Ok`.
    pub samples: Vec<u64>,
}

impl LaunchResult {
    /// The result of a launch whose process couldn't be started.
    pub fn not_started(error: &io::Error) -> LaunchResult {
        let outcome = not_started("start the launch", error);
        LaunchResult { record: Record::without_samples(outcome), samples: Vec::new() }
    }
}

impl Launcher {
    /// A launcher that starts `program`, which must be this program.
    pub fn new(program: PathBuf) -> Launcher {
        Launcher { program }
    }

    /// Starts a launch on this host. `padding` bytes are added to its environment, which moves its
    /// stack: a set-up detail that must not be the same in every launch.
    pub fn start(&self, spec: &Spec, padding: usize) -> io::Result<Launch> {
        let wanted = Wanted { near: NEAR, far: None, spec: spec.clone(), padding, slot: 0 };
        let (mut launch, begin) = Launch::of(self.clone(), wanted, None, None);
        begin.map_or(Ok(()), |it| launch.perform(it))?;
        Ok(launch)
    }

    /// Starts a launch of two halves, one here and one at `peer`.
    pub fn start_between(&self, spec: &Spec, padding: usize, peer: &PeerRoute) -> Launch {
        let mut wanted = Wanted { near: NEAR, far: None, spec: spec.clone(), padding, slot: 0 };
        let far = peer.peer.end(FAR, &mut wanted.spec);
        wanted.far = far.as_ref().ok().copied();
        let line = far.is_ok().then(|| peer.peer.line());
        let (mut launch, begin) = Launch::of(self.clone(), wanted, peer.near.clone(), line);
        match (far, begin) {
            (Err(outcome), _) => launch.state.refuse(outcome),
            (Ok(_), Some(begin)) => launch.say(begin),
            (Ok(_), None) => {}
        }
        launch
    }

    /// Starts a supervisor here, for all of a launch or for half of it.
    pub(super) fn start_here(&self, spec: &Spec, padding: usize) -> io::Result<Supervised> {
        self.supervised(spec, padding, Command::spawn)
    }

    /// Starts a supervisor that has the network `near`, for half of a launch.
    pub(super) fn start_in(
        &self,
        near: &File,
        spec: &Spec,
        padding: usize,
    ) -> io::Result<Supervised> {
        self.supervised(spec, padding, |command| {
            // A network is a thread's: one of its own leaves this thread where it is.
            std::thread::scope(|scope| {
                let spawned = scope.spawn(|| {
                    move_into_link_name_space(near.as_fd(), Some(LinkNameSpaceType::Network))?;
                    command.spawn()
                });
                spawned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }

    fn supervised(
        &self,
        spec: &Spec,
        padding: usize,
        spawn: impl FnOnce(&mut Command) -> io::Result<Child>,
    ) -> io::Result<Supervised> {
        let mut command = Command::new(&self.program);
        command
            .arg0("ipcmark")
            .arg("launch")
            .env("IPCMARK_PADDING", "x".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        Ok(Supervised::of(spawn(&mut command)?, spec))
    }
}

/// The node that is this host, and the one behind the peer's agent.
const NEAR: usize = 0;
const FAR: usize = 1;

/// A running launch: its state, and those who are spoken to: a supervisor here, and where its responder is at
/// the peer the agent there.
pub struct Launch {
    state: Box<LaunchState>,
    launcher: Launcher,
    /// The network of the near half; None for this process's own.
    network: Option<Arc<File>>,
    near: Option<Supervised>,
    /// Whether the supervisor here says nothing any more.
    is_mute: bool,
    far: Option<Line>,
}

impl Launch {
    fn of(
        launcher: Launcher,
        wanted: Wanted,
        network: Option<Arc<File>>,
        far: Option<Line>,
    ) -> (Launch, Option<Outgoing>) {
        let number = far.as_ref().map_or(0, |it| it.number);
        let (state, begin) = LaunchState::begin(wanted, number);
        let state = Box::new(state);
        (Launch { state, launcher, network, near: None, is_mute: false, far }, begin)
    }

    /// The process id of the supervisor here; 0 where there is none yet.
    pub fn pid(&self) -> u32 {
        self.near.as_ref().map_or(0, Supervised::pid)
    }

    /// Waits until the launch is at `stage`, or over. Err when interrupted, and when the peer is lost:
    /// nothing can be measured then.
    pub fn reach(&mut self, stage: Stage, interrupt: &Interrupt) -> Result<(), Interrupted> {
        if self.is_over() {
            return Ok(());
        }
        if stage == Stage::Ready {
            self.reach_within(Stage::Bound, READY_WITHIN, interrupt)?;
        }
        let within = match (stage, &self.far) {
            (Stage::Timed, None) => self.lasts() + GRACE,
            (Stage::Timed, Some(_)) => self.lasts() + GRACE + COLLECTED_WITHIN,
            _ => READY_WITHIN,
        };
        self.reach_within(stage, within, interrupt)?;
        if self.is_over() {
            self.hear_the_echo();
        }
        self.still_there()
    }

    fn lasts(&self) -> Duration {
        Duration::from_millis(self.state.wanted.spec.deadline_ms)
    }

    fn reach_within(
        &mut self,
        stage: Stage,
        within: Duration,
        interrupt: &Interrupt,
    ) -> Result<(), Interrupted> {
        self.until(stage, Instant::now() + within, Some(interrupt))?;
        if !self.state.is_at(stage) {
            if let Some(far) = &self.far {
                far.link.borrow_mut().roll_call(interrupt.fd());
            }
            self.still_there()?;
            self.drain();
        }
        if !self.state.is_at(stage) {
            self.state.give_up(stage);
        }
        Ok(())
    }

    fn still_there(&self) -> Result<(), Interrupted> {
        if self.far.as_ref().is_some_and(Line::is_lost) { Err(Interrupted) } else { Ok(()) }
    }

    /// Once one half has failed: waits for the record of the other, which may hold the cause.
    fn hear_the_echo(&mut self) {
        let _ = self.until(Stage::Reported, Instant::now() + ECHO, None);
        if !self.state.is_at(Stage::Reported) {
            // It may wait for a partner that is gone: told to end, it reports what it has seen.
            self.state.end().into_iter().for_each(|it| self.say(it));
            let _ = self.until(Stage::Reported, Instant::now() + ECHO, None);
        }
    }

    /// Tells a launch that nobody wants any more to end, and doesn't wait for that; its far half is told
    /// when this is dropped.
    pub fn hang_up(&mut self) {
        if let Some(near) = &mut self.near {
            near.hang_up();
        }
    }

    /// Whether the launch has ended before its time.
    pub fn is_over(&self) -> bool {
        self.state.failed()
    }

    /// Lets the workers start.
    pub fn go(&mut self) {
        if !self.is_over() {
            self.say(self.state.go());
        }
    }

    /// Lets the workers exit; the record follows.
    pub fn end(&mut self) {
        if !self.is_over() {
            self.state.end().into_iter().for_each(|it| self.say(it));
        }
    }

    /// Reads the record and the samples, and reaps the supervisor. A signal shortens the
    /// patience with one that doesn't answer.
    pub fn collect(mut self, interrupt: &Interrupt) -> LaunchResult {
        if !self.is_over() {
            let deadline = Instant::now() + COLLECTED_WITHIN;
            if self.until(Stage::Reported, deadline, Some(interrupt)).is_err() {
                let deadline = interrupt.patience_ends().map_or(deadline, |it| it.min(deadline));
                let _ = self.until(Stage::Reported, deadline, None);
            }
            if !self.state.is_at(Stage::Reported) {
                self.state.give_up(Stage::Reported);
            }
        }
        self.state.result(|node| if node == FAR { "at the peer" } else { "" })
    }

    /// Waits until the launch is at `stage`, at most until `deadline`. Err when interrupted.
    fn until(
        &mut self,
        stage: Stage,
        deadline: Instant,
        interrupt: Option<&Interrupt>,
    ) -> Result<(), Interrupted> {
        loop {
            self.drain();
            if self.state.is_at(stage) || Instant::now() >= deadline {
                return Ok(());
            }
            self.await_news(deadline, interrupt)?;
        }
    }

    /// Takes in everything that has come.
    fn drain(&mut self) {
        while let Some(near) = &mut self.near {
            match near.frames().held() {
                Ok(Some((kind, payload))) => self.hear(NEAR, kind, &payload),
                Ok(None) => break,
                Err(missing) => return self.lose_near(&missing),
            }
        }
        while let Some((kind, payload)) = self.far.as_ref().and_then(Line::take) {
            self.hear(FAR, kind, &payload);
        }
        if self.far.as_ref().is_some_and(Line::is_lost) {
            self.hear(FAR, FrameKind::Over, &[]);
        }
    }

    fn hear(&mut self, node: usize, kind: FrameKind, payload: &[u8]) {
        if let Some(reply) = self.state.hear(node, kind, payload) {
            self.say(reply);
        }
    }

    /// Reads what comes next, from whomever; returns after that, or at `deadline`.
    fn await_news(
        &mut self,
        deadline: Instant,
        interrupt: Option<&Interrupt>,
    ) -> Result<(), Interrupted> {
        let near = self.near.as_ref().filter(|_| !self.is_mute);
        let link = self.far.as_ref().filter(|it| !it.is_lost()).map(|it| it.link.borrow());
        let sources = [
            near.map(Supervised::fd),
            link.as_ref().and_then(|it| it.fd()),
            interrupt.map(Interrupt::fd),
        ];
        let given: Vec<BorrowedFd<'_>> = sources.iter().copied().flatten().collect();
        let mut fds: Vec<PollFd<'_>> =
            given.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        if poll(&mut fds, time_left(Some(deadline)).as_ref()).is_err() {
            return Ok(());
        }
        let mut readable = fds.iter().map(|fd| !fd.revents().is_empty());
        let [near, far, signal] =
            sources.map(|it| it.is_some() && readable.next().unwrap_or(false));
        drop(link);
        if signal {
            return Err(Interrupted);
        }
        if let (true, Some(supervised)) = (near, &mut self.near)
            && let Err(missing) = supervised.frames().fill()
        {
            self.lose_near(&missing);
        }
        if let (true, Some(line)) = (far, &self.far) {
            line.link.borrow_mut().take_in();
        }
        Ok(())
    }

    fn lose_near(&mut self, missing: &Missing) {
        self.is_mute = true;
        match missing {
            Missing::Broken(error) => {
                self.state.fail(format!("the supervisor's stream broke: {error}"));
            }
            _ => self.hear(NEAR, FrameKind::Over, &[]),
        }
    }

    /// Says something to whom it is for; a supervisor that can't be started is a result.
    fn say(&mut self, outgoing: Outgoing) {
        if let Err(error) = self.perform(outgoing) {
            self.state.refuse(LaunchResult::not_started(&error).record.outcome);
        }
    }

    fn perform(&mut self, outgoing: Outgoing) -> io::Result<()> {
        match (&mut self.near, &self.far, &outgoing) {
            (_, Some(line), Outgoing { node: FAR, .. }) => line.say(&outgoing),
            (_, _, Outgoing { what: Message::Begin(spec, padding), .. }) => {
                self.near = Some(match &self.network {
                    None => self.launcher.start_here(spec, *padding)?,
                    Some(network) => self.launcher.start_in(network, spec, *padding)?,
                });
            }
            (Some(near), _, Outgoing { what: Message::Tell(kind), .. }) => near.tell(*kind),
            _ => {}
        }
        Ok(())
    }
}
