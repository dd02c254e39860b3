//! The launches in progress, and the nodes that they are on: this host and its networks, a peer, the nodes of a fleet. Frames
//! and deadlines go to the states of the launches (`state`), and what ends becomes a result.

use std::cell::{Ref, RefCell};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::launcher::{Launcher, unstarted};
use super::peer::connection::PONG_WITHIN;
use super::peer::link::Link;
use super::state::{
    COLLECTED_WITHIN, ECHO, LaunchResult, LaunchState, Message, Outgoing, READY_WITHIN, Stage,
    Wanted, dispatch,
};
use super::supervised::Supervisors;
use super::wire::time_left;
use machine::interrupt::{Interrupt, Interrupted};
use model::cycles::slices;
use model::distinct::ascending;
use model::launch::Outcome;

/// Where supervisors are started.
pub enum Node {
    /// This host, or one of its networks.
    Here(Box<Supervisors>),
    Agent {
        link: Rc<RefCell<Link>>,
        /// Its name in a fleet; None of a peer, without which nothing can be measured.
        name: Option<String>,
    },
}

impl Node {
    /// This host, in a network of its own or that of this process.
    pub fn here(launcher: &Launcher, network: Option<Arc<File>>) -> Node {
        Node::Here(Box::new(Supervisors::new(launcher.clone(), network)))
    }

    fn lost(&self) -> Option<String> {
        match self {
            Node::Here(_) => None,
            Node::Agent { link, .. } => link.borrow().lost.clone(),
        }
    }

    fn has_answered(&self) -> bool {
        match self {
            Node::Here(_) => true,
            Node::Agent { link, .. } => link.borrow().has_answered(),
        }
    }

    /// The prefix of error messages from there.
    fn place(&self) -> &str {
        match self {
            Node::Here(_) => "",
            Node::Agent { name, .. } => name.as_deref().unwrap_or("at the peer"),
        }
    }
}

/// The launches in progress, and all nodes.
pub struct Launches {
    nodes: Vec<Node>,
    states: HashMap<u32, LaunchState>,
    next: u32,
}

impl Launches {
    pub fn of(nodes: Vec<Node>) -> Launches {
        Launches { nodes, states: HashMap::new(), next: 0 }
    }

    /// Starts all of `set` together, leaves them alone for `quiet`, does what is to be done once they are `settled`, times
    /// them, and ends them together. Gives their results in the order of `set`; what can't be launched has its outcome already.
    ///
    /// # Errors
    /// A signal came, or a peer is lost: nothing can be measured any more.
    pub fn run(
        &mut self,
        set: Vec<Result<Wanted, Outcome>>,
        quiet: Duration,
        interrupt: &Interrupt,
        settled: impl FnOnce(),
    ) -> Result<Vec<LaunchResult>, Interrupted> {
        let mut of = Vec::new();
        let mut refused = Vec::new();
        for wanted in set {
            refused.push(wanted.map(|wanted| of.push(self.begin_or_refuse(wanted))).err());
        }
        if !of.is_empty() && self.time(&of, quiet, interrupt, settled).is_err() {
            self.dismiss(&of);
            of.iter().for_each(|number| drop(self.states.remove(number)));
            return Err(Interrupted);
        }
        let mut made = self.collect(&of, interrupt).into_iter();
        let result =
            |outcome: Option<Outcome>| outcome.map(LaunchResult::of).or_else(|| made.next());
        Ok(refused.into_iter().filter_map(result).collect())
    }

    fn time(
        &mut self,
        of: &[u32],
        quiet: Duration,
        interrupt: &Interrupt,
        settled: impl FnOnce(),
    ) -> Result<(), Interrupted> {
        self.reach(of, Stage::Ready, interrupt)?;
        interrupt.sleep(quiet);
        settled();
        let slots = of.iter().map(|number| self.states[number].wanted.slot + 1).max().unwrap_or(0);
        for slot in 0..slots {
            if interrupt.signal().is_some() {
                return Err(Interrupted);
            }
            let goes =
                |number: &u32| self.states[number].wanted.slot == slot && !self.has_failed(*number);
            let going: Vec<u32> = of.iter().copied().filter(goes).collect();
            self.go(&going);
            let in_turns = |number: &u32| self.states[number].wanted.spec.cycles > 0;
            let (in_turns, whole): (Vec<u32>, Vec<u32>) = going.into_iter().partition(in_turns);
            self.reach(&whole, Stage::Timed, interrupt)?;
            self.reach(&in_turns, Stage::Paused(1), interrupt)?;
        }
        self.take_turns(of, interrupt)?;
        self.end(of);
        Ok(())
    }

    /// Begins a launch; gives its number, and whether a supervisor was started where that is here.
    pub(super) fn begin(&mut self, wanted: Wanted) -> (u32, io::Result<()>) {
        self.next = self.next.wrapping_add(1);
        let (state, begin) = LaunchState::begin(wanted, self.next);
        self.states.insert(self.next, state);
        (self.next, begin.map_or(Ok(()), |outgoing| self.perform(&outgoing)))
    }

    fn begin_or_refuse(&mut self, wanted: Wanted) -> u32 {
        let (number, started) = self.begin(wanted);
        self.refuse(number, started);
        number
    }

    /// A supervisor that can't be started is a result.
    fn refuse(&mut self, number: u32, started: io::Result<()>) {
        if let (Err(error), Some(state)) = (started, self.states.get_mut(&number)) {
            state.refuse(unstarted(&error));
        }
    }

    fn say(&mut self, outgoing: &Outgoing) {
        let started = self.perform(outgoing);
        self.refuse(outgoing.number, started);
    }

    fn perform(&mut self, outgoing: &Outgoing) -> io::Result<()> {
        let number = outgoing.number;
        match (&mut self.nodes[outgoing.node], &outgoing.what) {
            (Node::Agent { link, .. }, _) => {
                let (kind, payload) = outgoing.frame();
                link.borrow_mut().say(kind, &payload);
            }
            (Node::Here(here), Message::Begin(spec, padding)) => {
                return here.begin(number, spec, *padding);
            }
            (Node::Here(here), Message::Tell(kind)) => here.tell(number, *kind),
            (Node::Here(here), Message::Over) => here.end(number),
        }
        Ok(())
    }

    fn say_of(&mut self, of: &[u32], what: impl Fn(&LaunchState) -> Vec<Outgoing>) {
        let outgoing: Vec<Outgoing> =
            of.iter().flat_map(|number| what(&self.states[number])).collect();
        outgoing.iter().for_each(|outgoing| self.say(outgoing));
    }

    /// Lets the workers start of those that haven't failed.
    pub(super) fn go(&mut self, of: &[u32]) {
        self.say_of(of, |launch| if launch.failed() { Vec::new() } else { vec![launch.go()] });
    }

    /// Lets the workers exit of those that haven't failed; the records follow.
    pub(super) fn end(&mut self, of: &[u32]) {
        self.say_of(of, |launch| if launch.failed() { Vec::new() } else { launch.end() });
    }

    /// Tells all nodes that these are abandoned, all of them first, and waits for the end of those that are here.
    fn dismiss(&mut self, of: &[u32]) {
        for node in &mut self.nodes {
            if let Node::Here(here) = node {
                here.hang_up();
            }
        }
        self.say_of(of, LaunchState::over);
    }

    /// The process id of the first supervisor here; 0 where there is none.
    pub(super) fn pid(&self) -> u32 {
        let here = |node: &Node| match node {
            Node::Here(here) => here.pids().next(),
            Node::Agent { .. } => None,
        };
        self.nodes.iter().find_map(here).unwrap_or(0)
    }

    /// Whether a launch has ended before its time.
    pub(super) fn has_failed(&self, number: u32) -> bool {
        self.states[&number].failed()
    }

    /// Waits until these launches are at `stage`, or over; those that are late are given up, with agents that are silent.
    ///
    /// # Errors
    /// A signal came, or a peer is lost.
    pub(super) fn reach(
        &mut self,
        of: &[u32],
        stage: Stage,
        interrupt: &Interrupt,
    ) -> Result<(), Interrupted> {
        if stage == Stage::Ready {
            self.reach_within(of, Stage::Bound, READY_WITHIN, interrupt)?;
        }
        let longest = || of.iter().map(|number| self.states[number].timed_within()).max();
        let within = match stage {
            Stage::Bound | Stage::Ready => READY_WITHIN,
            Stage::Paused(_) | Stage::Timed => longest().unwrap_or_default(),
            Stage::Reported => COLLECTED_WITHIN,
        };
        self.reach_within(of, stage, within, interrupt)?;
        self.hear_the_echo();
        self.require_peers(&self.active(of))
    }

    fn reach_within(
        &mut self,
        of: &[u32],
        stage: Stage,
        within: Duration,
        interrupt: &Interrupt,
    ) -> Result<(), Interrupted> {
        let active = self.active(of);
        let deadline = Instant::now() + within;
        self.until(&active, deadline, Some(interrupt), |launches| !launches.are_late(of, stage))?;
        if self.are_late(of, stage) {
            for node in self.silent(&active, &[], PONG_WITHIN, interrupt)? {
                if let Node::Agent { link, .. } = &self.nodes[node] {
                    link.borrow_mut().fall_silent();
                }
                self.drain(node);
            }
            self.require_peers(&active)?;
            self.give_up(of, stage);
        }
        Ok(())
    }

    fn are_late(&self, of: &[u32], stage: Stage) -> bool {
        of.iter().any(|number| self.states[number].is_late(stage))
    }

    fn give_up(&mut self, of: &[u32], stage: Stage) {
        for number in of {
            if let Some(state) = self.states.get_mut(number).filter(|state| state.is_late(stage)) {
                state.give_up(stage);
            }
        }
    }

    fn require_peers(&self, active: &[usize]) -> Result<(), Interrupted> {
        let is_needed = |node: &Node| matches!(node, Node::Agent { name: None, .. });
        let mut peers =
            active.iter().map(|number| &self.nodes[*number]).filter(|node| is_needed(node));
        if peers.any(|peer| peer.lost().is_some()) { Err(Interrupted) } else { Ok(()) }
    }

    /// Where one half has failed: waits for the record of the other, which may hold the cause.
    fn hear_the_echo(&mut self) {
        for is_last in [false, true] {
            let waits =
                |(number, launch): (&u32, &LaunchState)| launch.awaits_echo().then_some(*number);
            let of: Vec<u32> = self.states.iter().filter_map(waits).collect();
            if of.is_empty() {
                return;
            }
            if is_last {
                // It may wait for a partner that is gone: asked to end, it reports what it has seen.
                self.say_of(&of, LaunchState::end);
            }
            let ended =
                |launches: &Launches| of.iter().all(|nth| !launches.states[nth].awaits_echo());
            let active = self.active(&of);
            let _ = self.until(&active, Instant::now() + ECHO, None, ended);
        }
        self.states.values_mut().for_each(LaunchState::wait_no_more);
    }

    /// The records and the samples of launches that were asked to end. A signal shortens the patience.
    pub(super) fn collect(&mut self, of: &[u32], interrupt: &Interrupt) -> Vec<LaunchResult> {
        if self.reach(of, Stage::Reported, interrupt).is_err() {
            let deadline = Instant::now() + COLLECTED_WITHIN;
            let deadline = interrupt.patience_ends().map_or(deadline, |ends| ends.min(deadline));
            let reported = |launches: &Launches| !launches.are_late(of, Stage::Reported);
            let _ = self.until(&self.active(of), deadline, None, reported);
            self.give_up(of, Stage::Reported);
        }
        self.dismiss(of);
        let ended = of.iter().filter_map(|number| self.states.remove(number));
        ended.map(|mut launch| launch.result(|node| self.nodes[node].place())).collect()
    }

    /// The nodes that these launches are on.
    fn active(&self, of: &[u32]) -> Vec<usize> {
        let wanted = of.iter().map(|number| &self.states[number].wanted);
        let on = wanted
            .flat_map(|wanted| std::iter::once(wanted.near).chain(wanted.far.map(|end| end.node)));
        ascending(on)
    }

    /// Says `hello` to the agents of `nodes`; gives those that don't answer in time.
    ///
    /// # Errors
    /// A signal came.
    pub fn silent(
        &mut self,
        nodes: &[usize],
        hello: &[u8],
        within: Duration,
        interrupt: &Interrupt,
    ) -> Result<Vec<usize>, Interrupted> {
        for node in nodes {
            if let Node::Agent { link, .. } = &self.nodes[*node] {
                link.borrow_mut().ask(hello);
            }
        }
        let answered =
            |launches: &Launches| nodes.iter().all(|nth| launches.nodes[*nth].has_answered());
        self.until(nodes, Instant::now() + within, Some(interrupt), answered)?;
        Ok(nodes.iter().copied().filter(|node| !self.nodes[*node].has_answered()).collect())
    }

    /// Waits until `done`, at most until `deadline`, hearing the nodes of `active`.
    fn until(
        &mut self,
        active: &[usize],
        deadline: Instant,
        interrupt: Option<&Interrupt>,
        done: impl Fn(&Launches) -> bool,
    ) -> Result<(), Interrupted> {
        loop {
            // One node's word may be followed by another's at once: until nothing has come.
            while active.iter().fold(false, |any, node| self.drain(*node) | any) {}
            if done(self) || Instant::now() >= deadline {
                return Ok(());
            }
            if interrupt.is_some_and(|interrupt| interrupt.signal().is_some()) {
                return Err(Interrupted);
            }
            let readable = match self.readable(active, deadline, interrupt) {
                Ok(Some(readable)) => readable,
                Ok(None) => return Ok(()), // nobody is left who could say anything
                Err(error) => {
                    self.fail_open(active, &format!("poll: {error}"));
                    return Ok(());
                }
            };
            for (node, number) in readable {
                match &mut self.nodes[node] {
                    Node::Here(here) => here.fill(number),
                    Node::Agent { link, .. } => link.borrow_mut().fill(),
                }
            }
        }
    }

    /// Takes in everything that has come from a node; whether there was anything.
    fn drain(&mut self, node: usize) -> bool {
        let mut any = false;
        loop {
            let reply = match &mut self.nodes[node] {
                Node::Here(here) => {
                    let Some((number, kind, payload)) = here.next() else { break };
                    self.states.get_mut(&number).and_then(|state| state.hear(node, kind, &payload))
                }
                Node::Agent { link, .. } => {
                    let Some(frame) = link.borrow_mut().next_frame() else { break };
                    dispatch(&mut self.states, node, &frame)
                }
            };
            any = true;
            reply.iter().for_each(|outgoing| self.say(outgoing));
        }
        if let (Node::Agent { name, .. }, Some(why)) = (&self.nodes[node], self.nodes[node].lost())
        {
            let why = format!("{} is gone: {why}", name.as_deref().unwrap_or("the peer"));
            self.fail_open(&[node], &why);
        }
        any
    }

    /// Fails the launches on these nodes that haven't reported.
    fn fail_open(&mut self, on: &[usize], why: &str) {
        for state in self.states.values_mut().filter(|state| !state.is_at(Stage::Reported)) {
            if on.iter().any(|node| state.is_of(*node)) {
                state.fail(why.into());
            }
        }
    }

    /// Waits until a node of `active` sends something, a signal comes, or the deadline passes: which it is, and of which launch
    /// where that is here. None where no node can any more.
    fn readable(
        &self,
        active: &[usize],
        deadline: Instant,
        interrupt: Option<&Interrupt>,
    ) -> io::Result<Option<Vec<(usize, u32)>>> {
        let mut links: Vec<(usize, Ref<'_, Link>)> = Vec::new();
        let mut sources: Vec<((usize, u32), BorrowedFd<'_>)> = Vec::new();
        for node in active {
            match &self.nodes[*node] {
                Node::Here(here) => sources.extend(here.fds().map(|(of, fd)| ((*node, of), fd))),
                Node::Agent { link, .. } => links.push((*node, link.borrow())),
            }
        }
        sources.extend(links.iter().filter_map(|(node, link)| Some(((*node, 0), link.fd()?))));
        if sources.is_empty() {
            return Ok(None);
        }
        let own = interrupt.map(Interrupt::fd);
        let all = sources.iter().map(|(_, fd)| fd).chain(&own);
        let mut fds: Vec<PollFd<'_>> = all.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        match poll(&mut fds, time_left(Some(deadline)).as_ref()) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok(Some(Vec::new())),
            Err(error) => return Err(error.into()),
        }
        let said = sources.iter().zip(&fds).filter(|(_, fd)| !fd.revents().is_empty());
        Ok(Some(said.map(|((who, _), _)| *who).collect()))
    }
}

impl Launches {
    /// Times the launches that take turns, cycle by cycle: a slice of each, in a new random order. The last turn lets each
    /// of them finish.
    pub(super) fn take_turns(
        &mut self,
        of: &[u32],
        interrupt: &Interrupt,
    ) -> Result<(), Interrupted> {
        let mut order: Vec<u32> = of.to_vec();
        order.retain(|number| self.states[number].wanted.spec.cycles > 0);
        let Some(first) = order.first().map(|order| &self.states[order].wanted.spec) else {
            return Ok(());
        };
        let (cycles, mut rng) = (first.cycles as usize, ChaCha8Rng::seed_from_u64(first.seed));
        for cycle in 0..cycles {
            order.shuffle(&mut rng);
            for number in &order {
                let spec = &self.states[number].wanted.spec;
                let slice = slices(spec.most_samples(), spec.cycles).nth(cycle);
                if slice.is_some_and(|slice| !slice.is_empty()) && !self.has_failed(*number) {
                    let next = self.states[number].pauses() + 1;
                    self.turn(*number);
                    self.reach(&[*number], Stage::Paused(next), interrupt)?;
                }
            }
        }
        for number in order {
            if !self.has_failed(number) {
                self.turn(number);
                self.reach(&[number], Stage::Timed, interrupt)?;
            }
        }
        Ok(())
    }

    /// Lets the initiator of one have its turn.
    pub fn turn(&mut self, number: u32) {
        self.say_of(&[number], |launch| vec![launch.turn()]);
    }
}

#[cfg(test)]
mod tests;
