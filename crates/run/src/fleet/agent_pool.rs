//! The agents of a fleet, as the coordinator sees them: starts them, greets them, waits for them, and gives
//! one up when it is gone or silent. A lost node is recorded with its reason; the others continue.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::nodes;
use super::simulated_agent::{Planted, SimulatedAgent};
use crate::launch::peer::connection::{
    ANSWERS_WITHIN, Connection, HelloError, PONG_WITHIN, end_all, hello, read_hello,
};
use crate::launch::state::{
    COLLECTED_WITHIN, ECHO, GRACE, LaunchState, Outgoing, READY_WITHIN, Stage, Wanted, dispatch,
};
use crate::launch::wire::{FrameKind, Missing, time_left};
use crate::launch::{Interrupt, LaunchResult};
use machine::interrupt::{INTERRUPTED_WITHIN, Interrupted};
use model::peer::FarHost;
use store::FleetRequest;

/// How long agents may take to end once they are told.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// The connections to all agents, and the launches in progress.
pub struct AgentPool<'a> {
    /// The nodes' names, in the order of all other lists here.
    pub names: Vec<String>,
    /// What each host is; None where its agent never answered.
    pub far: Vec<Option<FarHost>>,
    /// Why each node is lost; None while it takes part.
    pub lost: Vec<Option<String>>,
    connections: Vec<Option<Connection>>,
    answered: Vec<bool>,
    launches: HashMap<u32, LaunchState>,
    next: u32,
    interrupt: &'a Interrupt,
}

impl<'a> AgentPool<'a> {
    /// Starts an agent on every node and waits for its hello.
    ///
    /// # Errors
    /// A signal came.
    pub fn start(
        asked: &FleetRequest,
        interrupt: &'a Interrupt,
    ) -> Result<AgentPool<'a>, Interrupted> {
        let many = asked.nodes.len();
        let mut pool = AgentPool {
            names: asked.nodes.clone(),
            far: vec![None; many],
            lost: vec![None; many],
            connections: Vec::new(),
            answered: vec![false; many],
            launches: HashMap::new(),
            next: 0,
            interrupt,
        };
        let simulated = asked.simulated.then(super::simulated::host);
        for (nth, name) in asked.nodes.iter().enumerate() {
            let connection = match &simulated {
                Some(host) => {
                    let far = super::simulated::node(host, nth, name);
                    let planted = Planted::among(many);
                    Ok(Connection::Here(Box::new(SimulatedAgent::new(
                        nth, planted, far, asked.seed,
                    ))))
                }
                None => {
                    // A signal from a terminal is the coordinator's to handle first.
                    Connection::start(&nodes::command(&asked.launcher, name), &asked.program, true)
                }
            };
            pool.lost[nth] = connection.as_ref().err().cloned();
            pool.connections.push(connection.ok());
        }
        pool.greet()?;
        Ok(pool)
    }

    fn greet(&mut self) -> Result<(), Interrupted> {
        let all: Vec<usize> = (0..self.connections.len()).collect();
        for node in &all {
            self.greet_with(*node, &hello());
        }
        let deadline = Instant::now() + ANSWERS_WITHIN;
        self.until(&all, deadline, |pool| all.iter().all(|it| pool.has_answered(*it)))?;
        for node in all {
            if self.lost[node].is_none() && self.far[node].is_none() {
                let why = format!("it didn't answer in {} s", ANSWERS_WITHIN.as_secs());
                self.give_up(node, why);
            }
        }
        Ok(())
    }

    fn has_answered(&self, node: usize) -> bool {
        self.lost[node].is_some() || self.answered[node]
    }

    /// Whether a node takes part.
    pub fn is_here(&self, node: usize) -> bool {
        self.lost[node].is_none() && self.far[node].is_some()
    }

    fn say(&mut self, outgoing: Outgoing) {
        if let Some(connection) = &mut self.connections[outgoing.node] {
            let (kind, payload) = outgoing.frame();
            connection.say(kind, &payload);
        }
    }

    fn greet_with(&mut self, node: usize, hello: &[u8]) {
        if let Some(connection) = &mut self.connections[node] {
            connection.say(FrameKind::Hello, hello);
        }
    }

    /// Takes a node out, for this reason.
    pub fn give_up(&mut self, node: usize, why: String) {
        let name = &self.names[node];
        for launch in self.launches.values_mut().filter(|it| it.is_of(node)) {
            launch.fail(format!("{name} is gone: {why}"));
        }
        self.lost[node] = Some(why);
        if let Some(mut connection) = self.connections[node].take() {
            end_all([&mut connection], self.end_within());
        }
    }

    /// How long an agent may take to end.
    fn end_within(&self) -> Duration {
        if self.interrupt.signal().is_some() { INTERRUPTED_WITHIN } else { ENDS_WITHIN }
    }

    fn lose(&mut self, node: usize, missing: &Missing) {
        let told = self.connections[node].as_mut().map(|it| it.how_it_ended(missing));
        self.give_up(node, told.unwrap_or_default());
    }

    /// Everything that has come from `node`; whether there was anything.
    fn drain(&mut self, node: usize) -> bool {
        let mut any = false;
        while let Some(connection) = &mut self.connections[node] {
            match connection.held() {
                Ok(Some((FrameKind::Hello, text))) => {
                    self.meet(node, &text);
                    any = true;
                }
                Ok(Some(frame)) => {
                    any = true;
                    if let Some(outgoing) = dispatch(&mut self.launches, node, &frame) {
                        self.say(outgoing);
                    }
                }
                Ok(None) => break,
                Err(missing) => self.lose(node, &missing),
            }
        }
        any
    }

    /// Who a node is; or, later, that it is still there.
    fn meet(&mut self, node: usize, text: &[u8]) {
        self.answered[node] = true;
        if self.far[node].is_some() {
            return;
        }
        match read_hello(text) {
            Ok(far) => self.far[node] = Some(far),
            Err(HelloError::OtherBuild(why) | HelloError::Nonsense(why)) => self.give_up(node, why),
        }
    }

    /// Waits until `done`, at most until `deadline`, hearing the nodes of `active`.
    fn until(
        &mut self,
        active: &[usize],
        deadline: Instant,
        done: impl Fn(&AgentPool) -> bool,
    ) -> Result<(), Interrupted> {
        loop {
            // One node's word may be followed by another's at once: until nothing has come.
            while active.iter().fold(false, |any, node| self.drain(*node) | any) {}
            if self.interrupt.signal().is_some() {
                return Err(Interrupted);
            }
            if done(self) || Instant::now() >= deadline {
                return Ok(());
            }
            let ready = self.readable(active, deadline);
            if ready.is_empty() && active.iter().all(|it| self.fd(*it).is_none()) {
                return Ok(()); // simulated agents have sent all they will
            }
            for node in ready {
                if let Some(Err(missing)) = self.connections[node].as_mut().map(Connection::fill) {
                    // What came before its end counts.
                    self.drain(node);
                    self.lose(node, &missing);
                }
            }
        }
    }

    fn fd(&self, node: usize) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.connections[node].as_ref().and_then(Connection::fd)
    }

    /// Waits until a node of `active` says something, a signal comes, or the deadline passes.
    fn readable(&self, active: &[usize], deadline: Instant) -> Vec<usize> {
        let heard: Vec<(usize, _)> =
            active.iter().filter_map(|node| Some((*node, self.fd(*node)?))).collect();
        if heard.is_empty() {
            return Vec::new();
        }
        let own = self.interrupt.fd();
        let mut fds: Vec<PollFd<'_>> =
            heard.iter().map(|(_, fd)| PollFd::new(fd, PollFlags::IN)).collect();
        fds.push(PollFd::new(&own, PollFlags::IN));
        if poll(&mut fds, time_left(Some(deadline)).as_ref()).is_err() {
            return Vec::new();
        }
        let said = heard.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        said.map(|((node, _), _)| *node).collect()
    }

    /// Starts all of `set` together, waits for `quiet`, times them slot by slot, and returns their results
    /// in the order of `set`.
    ///
    /// # Errors
    /// A signal came.
    pub fn run_launches(
        &mut self,
        set: Vec<Wanted>,
        quiet: Duration,
    ) -> Result<Vec<LaunchResult>, Interrupted> {
        let mut active: Vec<usize> = Vec::new();
        let (mut numbers, mut slots, mut lasting) = (Vec::new(), 0, Duration::ZERO);
        for wanted in set {
            active.push(wanted.near);
            active.extend(wanted.far.map(|it| it.node));
            slots = slots.max(wanted.slot + 1);
            lasting = lasting.max(Duration::from_millis(wanted.spec.deadline_ms));
            self.next = self.next.wrapping_add(1);
            let (launch, outgoing) = LaunchState::begin(wanted, self.next);
            self.launches.insert(self.next, launch);
            numbers.push(self.next);
            outgoing.into_iter().for_each(|it| self.say(it));
        }
        active.sort_unstable();
        active.dedup();
        for node in &active {
            if let Some(why) = self.lost[*node].clone() {
                self.give_up(*node, why);
            }
        }
        self.all(&active, READY_WITHIN, Stage::Ready, |_| true)?;
        self.interrupt.sleep(quiet);
        for slot in 0..slots {
            let of_slot = move |launch: &LaunchState| launch.wanted.slot == slot;
            let going = self.launches.values().filter(|it| of_slot(it) && !it.failed());
            let outgoing: Vec<Outgoing> = going.map(LaunchState::go).collect();
            outgoing.into_iter().for_each(|it| self.say(it));
            self.all(&active, lasting + GRACE, Stage::Timed, of_slot)?;
        }
        let ends: Vec<Outgoing> = self.launches.values().flat_map(LaunchState::end).collect();
        ends.into_iter().for_each(|it| self.say(it));
        self.all(&active, COLLECTED_WITHIN, Stage::Reported, |launch| !launch.failed())?;
        let echo = Instant::now() + ECHO;
        let is_reported = |launch: &LaunchState| launch.is_at(Stage::Reported);
        self.until(&active, echo, |pool| pool.launches.values().all(is_reported))?;
        let overs: Vec<Outgoing> = self.launches.values().flat_map(LaunchState::over).collect();
        overs.into_iter().for_each(|it| self.say(it));
        let launches = &mut self.launches;
        let ended = numbers.iter().filter_map(|number| launches.remove(number));
        Ok(ended.map(|mut launch| launch.result(|node| &self.names[node])).collect())
    }

    /// Waits until all launches that are `concerned` are at a stage; those that are late are given up, with
    /// the nodes that don't even say that they are still there.
    fn all(
        &mut self,
        active: &[usize],
        within: Duration,
        stage: Stage,
        concerned: impl Fn(&LaunchState) -> bool,
    ) -> Result<(), Interrupted> {
        let deadline = Instant::now() + within;
        let is_late = |launch: &LaunchState| concerned(launch) && !launch.is_at(stage);
        self.until(active, deadline, |pool| !pool.launches.values().any(is_late))?;
        if self.launches.values().any(is_late) {
            self.roll_call(active)?;
        }
        self.launches.values_mut().filter(|it| is_late(it)).for_each(|it| it.give_up(stage));
        Ok(())
    }

    /// Asks who is still there.
    fn roll_call(&mut self, active: &[usize]) -> Result<(), Interrupted> {
        for node in active {
            self.answered[*node] = false;
            self.greet_with(*node, &[]);
        }
        let deadline = Instant::now() + PONG_WITHIN;
        self.until(active, deadline, |pool| active.iter().all(|it| pool.has_answered(*it)))?;
        for node in active {
            if !self.has_answered(*node) {
                self.give_up(*node, "it says nothing any more".into());
            }
        }
        Ok(())
    }
}

impl Drop for AgentPool<'_> {
    fn drop(&mut self) {
        let within = self.end_within();
        end_all(self.connections.iter_mut().flatten(), within);
    }
}
