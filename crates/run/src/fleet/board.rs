//! The coordinator's end of all lines: agents are started, greeted, waited for, and given up when they
//! are gone or say nothing. A node that is lost is a reason; the others go on.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::line::{Line, end_all};
use super::nodes;
use super::play::{Play, Saying, Wanted, sort};
use super::stub::{Planted, Stub};
use crate::launch::spec::BUILD;
use crate::launch::wire::{Kind, Missing, time_left};
use crate::launch::{Ending, Interrupt};
use machine::interrupt::INTERRUPTED_WITHIN;
use model::peer::FarHost;
use store::FleetAsked;

/// How long a node may take to answer: its step may have to be set up.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How long launches may take to get ready, and to be told of once they have ended.
const READY_WITHIN: Duration = Duration::from_secs(12);
const TOLD_WITHIN: Duration = Duration::from_secs(10);
/// How long a launch may take beyond its deadline.
const GRACE: Duration = Duration::from_secs(2);
/// How long a node that is asked whether it is there may take to say so.
const PONG_WITHIN: Duration = Duration::from_secs(3);
/// How long agents may take to end once they are told.
const ENDS_WITHIN: Duration = Duration::from_secs(3);
/// One side that fails is often the echo of the other: how long to wait for that news.
const ECHO: Duration = Duration::from_millis(300);

/// A signal came.
#[derive(Debug, PartialEq, Eq)]
pub struct Interrupted;

/// All lines, and the launches that are under way.
pub struct Board<'a> {
    /// As the nodes were named.
    pub names: Vec<String>,
    /// What each is; None where it never answered.
    pub far: Vec<Option<FarHost>>,
    /// Why each takes no part any more.
    pub lost: Vec<Option<String>>,
    lines: Vec<Option<Line>>,
    answered: Vec<bool>,
    plays: HashMap<u32, Play>,
    next: u32,
    interrupt: &'a Interrupt,
}

impl<'a> Board<'a> {
    /// Starts an agent on every node, and hears who it is.
    pub fn start(asked: &FleetAsked, interrupt: &'a Interrupt) -> Result<Board<'a>, Interrupted> {
        let many = asked.nodes.len();
        let mut board = Board {
            names: asked.nodes.clone(),
            far: vec![None; many],
            lost: vec![None; many],
            lines: Vec::new(),
            answered: vec![false; many],
            plays: HashMap::new(),
            next: 0,
            interrupt,
        };
        let stub = asked.simulated.then(super::simulated::host);
        for (nth, name) in asked.nodes.iter().enumerate() {
            let line = match &stub {
                Some(host) => {
                    let far = super::simulated::node(host, nth, name);
                    let planted = Planted::among(many);
                    Ok(Line::Stub(Box::new(Stub::new(nth, planted, far, asked.seed))))
                }
                None => Line::start(&nodes::command(&asked.launcher, name), &asked.program),
            };
            board.lost[nth] = line.as_ref().err().cloned();
            board.lines.push(line.ok());
        }
        board.greet()?;
        Ok(board)
    }

    fn greet(&mut self) -> Result<(), Interrupted> {
        let hello = serde_json::json!({ "build": BUILD }).to_string();
        let all: Vec<usize> = (0..self.lines.len()).collect();
        for node in &all {
            self.say(Saying(*node, Kind::Hello, hello.clone().into_bytes()));
        }
        let deadline = Instant::now() + ANSWERS_WITHIN;
        self.until(&all, deadline, |board| all.iter().all(|it| board.has_answered(*it)))?;
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

    fn say(&mut self, Saying(node, kind, payload): Saying) {
        if let Some(line) = &mut self.lines[node] {
            line.say(kind, &payload);
        }
    }

    /// Takes a node out, for this reason.
    pub fn give_up(&mut self, node: usize, why: String) {
        let name = &self.names[node];
        for play in self.plays.values_mut().filter(|it| it.is_of(node)) {
            play.fail(format!("{name} is gone: {why}"));
        }
        self.lost[node] = Some(why);
        if let Some(line) = self.lines[node].take() {
            end_all(vec![line], self.end_within());
        }
    }

    /// How long an agent may take to end.
    fn end_within(&self) -> Duration {
        if self.interrupt.signal().is_some() { INTERRUPTED_WITHIN } else { ENDS_WITHIN }
    }

    fn lose(&mut self, node: usize, missing: &Missing) {
        let told = self.lines[node].as_mut().map(|it| it.how_it_ended(missing));
        self.give_up(node, told.unwrap_or_default());
    }

    /// Everything that has come from `node`; whether there was anything.
    fn drain(&mut self, node: usize) -> bool {
        let mut any = false;
        while let Some(line) = &mut self.lines[node] {
            match line.held() {
                Ok(Some((Kind::Hello, text))) => {
                    self.meet(node, &text);
                    any = true;
                }
                Ok(Some(frame)) => {
                    any = true;
                    if let Some(saying) = sort(&mut self.plays, node, &frame) {
                        self.say(saying);
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
        let said: serde_json::Value = serde_json::from_slice(text).unwrap_or_default();
        let build = said["build"].as_str().unwrap_or("of no name");
        if build != BUILD {
            let why =
                format!("it has build {build}, and this is build {BUILD}: install the same there");
            return self.give_up(node, why);
        }
        match serde_json::from_slice(text) {
            Ok(far) => self.far[node] = Some(far),
            Err(error) => self.give_up(node, format!("its hello: {error}")),
        }
    }

    /// Waits until `done`, at most until `deadline`, hearing the nodes of `active`.
    fn until(
        &mut self,
        active: &[usize],
        deadline: Instant,
        done: impl Fn(&Board) -> bool,
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
                return Ok(()); // stubs have said all they will
            }
            for node in ready {
                if let Some(Err(missing)) = self.lines[node].as_mut().map(Line::fill) {
                    // What came before its end counts.
                    self.drain(node);
                    self.lose(node, &missing);
                }
            }
        }
    }

    fn fd(&self, node: usize) -> Option<std::os::fd::BorrowedFd<'_>> {
        self.lines[node].as_ref().and_then(Line::fd)
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

    /// Launches all of `set` together, leaves them alone for `quiet`, times them slot by slot, and
    /// gives what each came to, in their order.
    pub fn play(&mut self, set: Vec<Wanted>, quiet: Duration) -> Result<Vec<Ending>, Interrupted> {
        let mut active: Vec<usize> = Vec::new();
        let (mut numbers, mut slots, mut lasting) = (Vec::new(), 0, Duration::ZERO);
        for wanted in set {
            active.push(wanted.near);
            active.extend(wanted.far.map(|it| it.0));
            slots = slots.max(wanted.slot + 1);
            lasting = lasting.max(Duration::from_millis(wanted.spec.deadline_ms));
            self.next = self.next.wrapping_add(1);
            let (play, sayings) = Play::begin(wanted, self.next, &self.far);
            self.plays.insert(self.next, play);
            numbers.push(self.next);
            sayings.into_iter().for_each(|it| self.say(it));
        }
        active.sort_unstable();
        active.dedup();
        for node in &active {
            if let Some(why) = self.lost[*node].clone() {
                self.give_up(*node, why);
            }
        }
        self.all(&active, READY_WITHIN, "get ready", Play::is_ready)?;
        self.interrupt.sleep(quiet);
        for slot in 0..slots {
            let going = self.plays.values().filter(|it| it.wanted.slot == slot && !it.failed());
            let sayings: Vec<Saying> = going.map(Play::go).collect();
            sayings.into_iter().for_each(|it| self.say(it));
            let of_slot = move |play: &Play| play.wanted.slot != slot || play.is_timed();
            self.all(&active, lasting + GRACE, "be timed", of_slot)?;
        }
        let ends: Vec<Saying> = self.plays.values().flat_map(|it| it.to_all(Kind::End)).collect();
        ends.into_iter().for_each(|it| self.say(it));
        let fine = |play: &Play| play.failed() || play.is_told();
        self.all(&active, TOLD_WITHIN, "tell what they found", fine)?;
        let echo = Instant::now() + ECHO;
        self.until(&active, echo, |board| board.plays.values().all(Play::is_told))?;
        let overs: Vec<Saying> = self.plays.values().flat_map(|it| it.to_all(Kind::Over)).collect();
        overs.into_iter().for_each(|it| self.say(it));
        let plays = &mut self.plays;
        let ended = numbers.iter().filter_map(|number| plays.remove(number));
        Ok(ended.map(|play| play.ending(&self.names)).collect())
    }

    /// Waits for all launches; those that are late are given up, with the nodes that don't even say
    /// that they are still there.
    fn all(
        &mut self,
        active: &[usize],
        within: Duration,
        what: &str,
        done: impl Fn(&Play) -> bool,
    ) -> Result<(), Interrupted> {
        let deadline = Instant::now() + within;
        self.until(active, deadline, |board| board.plays.values().all(&done))?;
        let late = |board: &Board| -> Vec<u32> {
            board.plays.iter().filter(|(_, it)| !done(it)).map(|(number, _)| *number).collect()
        };
        if late(self).is_empty() {
            return Ok(());
        }
        self.roll_call(active)?;
        let names = self.names.clone();
        for number in late(self) {
            let Some(play) = self.plays.get_mut(&number) else { continue };
            let of: Vec<&str> = play.waits_for().into_iter().map(|it| &*names[it]).collect();
            let why = format!("{} didn't {what} within {} s", of.join(" and "), within.as_secs());
            play.fail(why);
        }
        Ok(())
    }

    /// Asks who is still there.
    fn roll_call(&mut self, active: &[usize]) -> Result<(), Interrupted> {
        for node in active {
            self.answered[*node] = false;
            self.say(Saying(*node, Kind::Hello, Vec::new()));
        }
        let deadline = Instant::now() + PONG_WITHIN;
        self.until(active, deadline, |board| active.iter().all(|it| board.has_answered(*it)))?;
        for node in active {
            if !self.has_answered(*node) {
                self.give_up(*node, "it says nothing any more".into());
            }
        }
        Ok(())
    }
}

impl Drop for Board<'_> {
    fn drop(&mut self) {
        end_all(self.lines.drain(..).flatten().collect(), self.end_within());
    }
}
