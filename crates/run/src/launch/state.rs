//! The state of a launch: frames go in, and frames to send come out. It waits for nothing and opens nothing, and is the same
//! for a launch on this host, one with a peer, one on a node of a fleet, and one between two of them.
//!
//! ```text
//! begin ─▶ far: bound ─▶ begin near ─▶ both ready … quiet … go far ─▶ going ─▶ go near ─▶ timed
//!                                                                   … end ─▶ records, samples
//! ```

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::peer::connection::{Frame, of_launch};
use super::spec::{Half, Spec};
use super::wire::FrameKind;
use super::workers::OWNER_GONE;
use mechanisms::network::Cookie;
use model::clock;
use model::json::Json;
use model::launch::{FarSide, Outcome, Record};

/// How long a supervisor may take beyond its deadline, before it is taken for hung.
pub const GRACE: Duration = Duration::from_secs(2);
/// How long a launch may take to get ready.
pub const READY_WITHIN: Duration = Duration::from_secs(12);
/// How long the record and the samples may take once asked for.
pub const COLLECTED_WITHIN: Duration = Duration::from_secs(10);
/// How long to wait, after one half has failed, for the record of the other.
pub const ECHO: Duration = Duration::from_millis(500);

/// A case with so many failed launches and none that worked is given up.
const FAILURES: usize = 3;

/// Whether further launches of a case would only cost time.
pub fn is_given_up(failed: usize, worked: usize) -> bool {
    worked == 0 && failed >= FAILURES
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

/// One launch, before it is started.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The node of the initiator, or of all of it.
    pub near: usize,
    /// Where the responder is, if it isn't there.
    pub far: Option<FarEnd>,
    /// What is launched; its clock is that of the near node.
    pub spec: Spec,
    /// Bytes added to the environment.
    pub padding: usize,
    /// Launches of one set with the same slot are timed at the same time.
    pub slot: usize,
}

/// The other end of a launch.
#[derive(Clone, Copy, Debug)]
pub struct FarEnd {
    pub node: usize,
    /// The address at which it waits.
    pub at: IpAddr,
    pub clock: clock::ClockKind,
    /// The scale of that.
    pub ns_per_tick: f64,
}

/// How far a launch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its far half waits to be connected to; at once where there is none.
    Bound,
    /// Its workers wait for the word to go.
    Ready,
    /// Its initiator waits for its turn, for so many times now.
    Paused(u64),
    /// Its workers have finished timing, and still exist.
    Timed,
    Reported,
}

/// Something to say to a node.
#[derive(Debug)]
pub struct Outgoing {
    pub node: usize,
    pub number: u32,
    pub what: Message,
}

/// What is said to a node of a launch.
#[derive(Debug)]
pub enum Message {
    /// Start a supervisor, with so many bytes added to its environment.
    Begin(Box<Spec>, usize),
    Tell(FrameKind),
    /// Nobody wants it any more.
    Over,
}

impl Outgoing {
    /// The frame that says so to an agent.
    pub fn frame(&self) -> (FrameKind, Vec<u8>) {
        let mut payload = self.number.to_le_bytes().to_vec();
        let kind = match &self.what {
            Message::Begin(spec, padding) => {
                payload.extend_from_slice(&(*padding as u32).to_le_bytes());
                payload.extend(serde_json::to_vec(spec).expect("a spec is always JSON"));
                FrameKind::Begin
            }
            Message::Tell(kind) => {
                payload.push(*kind as u8);
                FrameKind::Relay
            }
            Message::Over => FrameKind::Over,
        };
        (kind, payload)
    }
}

/// What one node has said of its part.
#[derive(Default)]
struct Side {
    begun: bool,
    bound: bool,
    ready: bool,
    going: bool,
    /// How often it has waited for its turn.
    paused: u64,
    timed: bool,
    record: Option<Record>,
    samples: Vec<u64>,
    done: bool,
    /// Its supervisor died.
    over: bool,
    /// It was given up.
    late: bool,
}

impl Side {
    /// Whether it ended early.
    fn failed(&self) -> bool {
        let bad = self.record.as_ref().is_some_and(|record| record.outcome != Outcome::Ok);
        bad || self.late || (self.over && !self.done)
    }

    fn is_at(&self, stage: Stage) -> bool {
        match stage {
            Stage::Bound => self.bound,
            Stage::Ready => self.ready,
            Stage::Paused(times) => self.paused >= times,
            Stage::Timed => self.timed,
            Stage::Reported => self.done,
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        let failed = |reason: &str| Some(Outcome::Failed { reason: reason.into() });
        match &self.record {
            Some(record) => Some(record.outcome.clone()),
            None if self.over => failed("the supervisor died without a word"),
            None if self.late => failed("the supervisor missed its deadline"),
            None => None,
        }
    }
}

/// The state of one launch in progress.
pub struct LaunchState {
    /// The request; its spec is completed once the far half has reported its port.
    pub wanted: Wanted,
    number: u32,
    near: Side,
    far: Side,
    /// Why it failed, where no record says so.
    failure: Option<String>,
    /// Whether, once one half had failed, the other was waited for.
    echoed: bool,
}

impl LaunchState {
    /// The state of a new launch, and what begins it.
    pub fn begin(mut wanted: Wanted, number: u32) -> (LaunchState, Option<Outgoing>) {
        let mut first = (wanted.near, wanted.spec.clone());
        let mut failure = None;
        if let Some(FarEnd { node, at, clock, ns_per_tick }) = wanted.far {
            match Cookie::drawn() {
                Ok(cookie) => {
                    let half = Some(Half::Far { at, cookie });
                    first = (node, Spec { half, clock, ns_per_tick, ..first.1 });
                    // The port follows later.
                    wanted.spec.half = Some(Half::Near { to: SocketAddr::new(at, 0), cookie });
                }
                Err(error) => failure = Some(format!("getrandom: {error}")),
            }
        }
        let what = Message::Begin(Box::new(first.1), wanted.padding);
        let outgoing = failure.is_none().then_some(Outgoing { node: first.0, number, what });
        let begun = Side { begun: true, ..Side::default() };
        let (near, far) = match wanted.far {
            None => (begun, Side::default()),
            Some(_) => (Side::default(), begun),
        };
        (LaunchState { wanted, number, near, far, failure, echoed: false }, outgoing)
    }

    fn far_node(&self) -> Option<usize> {
        self.wanted.far.map(|end| end.node)
    }

    fn is_far(&self, node: usize) -> bool {
        self.far_node() == Some(node) && node != self.wanted.near
    }

    /// Whether `node` has a part in it.
    pub fn is_of(&self, node: usize) -> bool {
        node == self.wanted.near || self.is_far(node)
    }

    /// Takes in a frame of `node`. Returns what to say in reply, if anything.
    pub fn hear(&mut self, node: usize, kind: FrameKind, payload: &[u8]) -> Option<Outgoing> {
        let (near, number) = (self.wanted.near, self.number);
        let is_far = self.is_far(node);
        let side = if is_far { &mut self.far } else { &mut self.near };
        match kind {
            FrameKind::Bound if is_far && !side.bound => {
                let port = payload.first_chunk::<2>().map(|bytes| u16::from_le_bytes(*bytes));
                if let (Some(Half::Near { to, .. }), Some(port)) =
                    (&mut self.wanted.spec.half, port)
                {
                    to.set_port(port);
                    (side.bound, self.near.begun) = (true, true);
                    let spec = Box::new(self.wanted.spec.clone());
                    let what = Message::Begin(spec, self.wanted.padding);
                    return Some(Outgoing { node: near, number, what });
                }
            }
            FrameKind::Ready => side.ready = true,
            FrameKind::Going if is_far && !side.going => {
                side.going = true;
                return Some(Outgoing { node: near, number, what: Message::Tell(FrameKind::Go) });
            }
            FrameKind::Paused => side.paused += 1,
            FrameKind::Timed => side.timed = true,
            FrameKind::Record => {
                let record = Record::from_json(payload)
                    .map_err(|error| format!("its record: {error}"))
                    .and_then(|record| self.wanted.spec.believe(record))
                    .unwrap_or_else(|reason| Record::without_samples(Outcome::Failed { reason }));
                // The far half's are nobody's.
                let samples = if is_far { 0 } else { record.reported_samples() as usize };
                side.samples = Vec::with_capacity(samples);
                side.record = Some(record);
            }
            // One more than there should be shows that there are too many; none beyond takes memory.
            FrameKind::Samples if !is_far => {
                let ticks = payload.as_chunks::<8>().0.iter().map(|tick| u64::from_le_bytes(*tick));
                let reported = side.record.as_ref().map_or(0, Record::reported_samples);
                let room = reported as usize + 1 - side.samples.len();
                side.samples.extend(ticks.take(room));
            }
            FrameKind::Done => side.done = true,
            FrameKind::Over => side.over = true,
            _ => {}
        }
        None
    }

    /// Its parts: the node of each, and what that has said.
    fn sides(&self) -> impl Iterator<Item = (usize, &Side)> {
        let far = self.far_node().map(|node| (node, &self.far));
        std::iter::once((self.wanted.near, &self.near)).chain(far)
    }

    /// Whether it has ended early.
    pub fn failed(&self) -> bool {
        self.failure.is_some() || self.sides().any(|(_, side)| side.failed())
    }

    /// Whether it is at `stage`, or never will be: reported where each node has reported its part, or has none any more.
    pub fn is_at(&self, stage: Stage) -> bool {
        match stage {
            Stage::Bound => self.failed() || self.wanted.far.is_none() || self.far.bound,
            Stage::Reported => {
                let ended = |side: &Side| !side.begun || side.done || side.over || side.failed();
                self.failure.is_some() || self.sides().all(|(_, side)| ended(side))
            }
            stage => self.failed() || self.sides().all(|(_, side)| side.is_at(stage)),
        }
    }

    /// Whether it goes on and isn't at `stage`.
    pub fn is_late(&self, stage: Stage) -> bool {
        !self.failed() && !self.is_at(stage)
    }

    /// Whether one half has failed, and the other may tell why.
    pub fn awaits_echo(&self) -> bool {
        !self.echoed && self.failed() && !self.is_at(Stage::Reported)
    }

    /// Takes in that the other half was waited for.
    pub fn wait_no_more(&mut self) {
        self.echoed |= self.failed();
    }

    /// How long it may take to be timed once it goes: over a network the word of that has its own way.
    pub fn timed_within(&self) -> Duration {
        let lasts = Duration::from_millis(self.wanted.spec.deadline_ms) + GRACE;
        if self.wanted.far.is_some() { lasts + COLLECTED_WITHIN } else { lasts }
    }

    /// Takes in that a supervisor couldn't be started at the near end, and why.
    pub fn refuse(&mut self, outcome: Outcome) {
        self.near.record = Some(Record::without_samples(outcome));
    }

    /// Marks it as failed, unless it is already.
    pub fn fail(&mut self, why: String) {
        self.failure.get_or_insert(why);
    }

    /// Gives up those who should have been at `stage` by now.
    pub fn give_up(&mut self, stage: Stage) {
        let has_far = self.wanted.far.is_some();
        for side in std::iter::once(&mut self.near).chain(has_far.then_some(&mut self.far)) {
            side.late |= side.begun && !side.is_at(stage) && side.outcome().is_none();
        }
    }

    /// What lets it go. Of two halves the far one goes first and reports that it has.
    pub fn go(&self) -> Outgoing {
        let node = self.far_node().unwrap_or(self.wanted.near);
        Outgoing { node, number: self.number, what: Message::Tell(FrameKind::Go) }
    }

    /// Tells its initiator that its turn has come.
    pub fn turn(&self) -> Outgoing {
        let what = Message::Tell(FrameKind::Turn);
        Outgoing { node: self.wanted.near, number: self.number, what }
    }

    /// How often its initiator has waited for its turn.
    pub fn pauses(&self) -> u64 {
        self.near.paused
    }

    /// Lets the workers of every node exit, and report.
    pub fn end(&self) -> Vec<Outgoing> {
        self.to_all(|| Message::Tell(FrameKind::End))
    }

    /// Tells every node that takes part that the launch is abandoned.
    pub fn over(&self) -> Vec<Outgoing> {
        self.to_all(|| Message::Over)
    }

    fn to_all(&self, what: impl Fn() -> Message) -> Vec<Outgoing> {
        let to = |(node, _)| Outgoing { node, number: self.number, what: what() };
        self.sides().map(to).collect()
    }

    /// Its result; `name` says where each node is, in front of what went wrong there. Of a launch that failed all records are
    /// kept, without samples.
    pub fn result<'a>(&mut self, name: impl Fn(usize) -> &'a str) -> LaunchResult {
        let outcome = self.outcome(name);
        let Side { record, samples, .. } = std::mem::take(&mut self.near);
        let mut record = record.unwrap_or_else(|| Record::without_samples(outcome.clone()));
        if let Some(far) = self.far.record.take() {
            let Record { effective_settings, noise, traffic, setup_ns, responder, .. } = far;
            record.responder = responder;
            record.far = Some(Box::new(FarSide { effective_settings, noise, traffic, setup_ns }));
        }
        record.outcome = outcome;
        match record.outcome {
            Outcome::Ok => LaunchResult { record, samples },
            _ => {
                record.initiator.samples = 0;
                record.others.iter_mut().for_each(|report| report.samples = 0);
                LaunchResult { record, samples: Vec::new() }
            }
        }
    }

    /// Its outcome. What is unavailable is the cause, and what failed a consequence; failures are joined.
    fn outcome<'a>(&self, name: impl Fn(usize) -> &'a str) -> Outcome {
        let at = |node: usize, reason: String| match name(node) {
            "" => reason,
            name => format!("{name}: {reason}"),
        };
        let mut reasons: Vec<String> = self.failure.iter().cloned().collect();
        let mut ended = Vec::new();
        for (node, side) in self.sides() {
            match side.outcome() {
                Some(Outcome::NotApplicable { reason }) => {
                    return Outcome::NotApplicable { reason: at(node, reason) };
                }
                Some(Outcome::Unavailable(mut why)) => {
                    why.reason = at(node, why.reason);
                    return Outcome::Unavailable(why);
                }
                // It was asked to end because the other had failed.
                Some(Outcome::Failed { reason }) if reason.ends_with(OWNER_GONE) => {
                    ended.push(at(node, reason));
                }
                Some(Outcome::Failed { reason }) => reasons.push(at(node, reason)),
                Some(Outcome::Ok) | None => {}
            }
        }
        let samples = (self.near.samples.len() as u64, self.near.record.as_ref());
        match samples {
            _ if !(reasons.is_empty() && ended.is_empty()) => {}
            (_, None) => reasons.push("it ended without a word".into()),
            (came, Some(of)) if came != of.reported_samples() => {
                let samples = model::words::counted(came, "sample");
                reasons.push(format!("{samples} came of {}", of.reported_samples()));
            }
            _ => {
                let silent = self.sides().find(|(_, side)| side.record.is_none());
                reasons.extend(silent.map(|(node, _)| at(node, "it sent no record".into())));
            }
        }
        if reasons.is_empty() {
            reasons = ended;
        }
        if reasons.is_empty() {
            Outcome::Ok
        } else {
            Outcome::Failed { reason: reasons.join("; ") }
        }
    }
}

/// Passes a frame of the agent of `node` to the launch that it is of. Returns what to say in reply, if anything.
pub fn dispatch(
    launches: &mut HashMap<u32, LaunchState>,
    node: usize,
    frame: &Frame,
) -> Option<Outgoing> {
    let (number, said) = of_launch(frame)?;
    let (kind, payload) = said?;
    // Of an abandoned launch nothing is kept.
    launches.get_mut(&number).filter(|launch| launch.is_of(node))?.hear(node, kind, payload)
}

#[cfg(test)]
pub(super) mod tests;
