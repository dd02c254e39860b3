//! Connect: set-up and tear-down of both ends of a mechanism, in one worker, nothing sent.
//!
//! Timed: all that `Mechanism::open` does (for named and network sockets: bind, listen,
//! connect, accept), and the closing of both ends and of what must be removed. One stamp closes
//! a sample and opens the next, as in a latency. Not timed: what `Endpoint::start` adds once
//! the workers live, which is meeting the partner and faulting in pages. Between two hosts the far
//! end is another's: timed is all until the far side has let this one in, and closing it again.
//!
//! [`phases`] does the same again with a stamp at each step, so that the samples stay free of
//! more than one clock read.

use clock::Now;
use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Found, Payload, Side, Size, Timed, WorkloadSpec};
use crate::network::{Call, ConnectVisitor, ConnectionKind, EffectiveSettings};
use crate::{
    Chooser, Endpoint, Mechanism, OpenError, OpenSpec, Opened, Step, Visitor, choose, keep_record,
};
use model::launch::WorkerReport;
use model::workload::Workload;

/// What it yields.
pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("setup"),
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    operation: Operation::SetUp,
    messages: 0,
    paced: false,
    section: Cow::Borrowed("Set-up"),
    title: Cow::Borrowed("Set-up and tear-down"),
    plural: Cow::Borrowed("Set-ups"),
    of: Cow::Borrowed(""),
    axis: Cow::Borrowed("set-up"),
    qualifier: Cow::Borrowed("set-up"),
    definition: Cow::Borrowed(
        "A set-up is all that one worker does to have both ends, and to close them again.",
    ),
};

/// Bytes of the message that mechanisms are opened for: set-up has no size of its own.
pub const OPENED_FOR: u64 = Workload::Connect.traits().size;
/// Set-ups that are cut into their parts, in a launch.
const DISSECTED: u64 = 50;

/// Fills `samples` with the ticks of `batch` set-ups each of the mechanism called `name`; with a
/// `call`, of its near end.
///
/// # Errors
/// As for opening; what was set up until then is closed.
pub fn initiate(
    name: &str,
    spec: &OpenSpec,
    call: Option<&Call>,
    clock: model::clock::ClockKind,
    samples: &[AtomicU64],
    batch: u64,
) -> Result<(), OpenError> {
    let _one_for_all = keep_record();
    choose(name, Initiator { spec, call, clock, samples, batch })?
}

struct Initiator<'a> {
    spec: &'a OpenSpec,
    call: Option<&'a Call>,
    samples: &'a [AtomicU64],
    batch: u64,
    clock: model::clock::ClockKind,
}

impl Chooser for Initiator<'_> {
    type Output = Result<(), OpenError>;

    #[inline(never)]
    fn chosen<M: Mechanism>(self) -> Self::Output {
        let spec = self.spec;
        match self.call {
            None => self.fill(|| M::open(black_box(spec), Close)),
            Some(call) => self.fill(|| M::connect(black_box(spec), call, Close)),
        }
    }
}

impl Initiator<'_> {
    #[inline(always)]
    fn fill(self, mut one: impl FnMut() -> Result<(), OpenError>) -> Result<(), OpenError> {
        let mut opened = self.clock.now();
        for sample in self.samples {
            for _ in 0..self.batch {
                one()?;
            }
            let closed = self.clock.now();
            sample.store(closed - opened, Ordering::Relaxed);
            opened = closed;
        }
        Ok(())
    }
}

/// Closes at once what was opened.
struct Close;

impl Visitor for Close {
    type Output = ();
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) {
        drop(black_box(opened));
    }
}

impl ConnectVisitor for Close {
    type Output = ();
    fn visit<E: Endpoint + 'static>(self, end: E, effective_settings: EffectiveSettings) {
        drop(black_box((end, effective_settings)));
    }
}

/// The parts of a set-up, in their order: name and ticks.
pub type Phases = Vec<(&'static str, u64)>;

/// Where a set-up is stamped: at its begin, after each step, once open, once closed.
const STAMPS: usize = 6;

/// The parts of `count` set-ups. A mechanism that opens in one step has `open` and `close`; one
/// that reports [`Step`]s has `bind`, `connect`, `accept`, the `rest` of opening, and `close`; of a
/// near end alone, which binds nothing, `accept` is until it is let in.
///
/// # Errors
/// As for opening.
pub fn phases(
    name: &str,
    spec: &OpenSpec,
    call: Option<&Call>,
    clock: model::clock::ClockKind,
    count: u64,
) -> Result<Vec<Phases>, OpenError> {
    let _one_for_all = keep_record();
    choose(name, Dissector { spec, call, clock, count })?
}

struct Dissector<'a> {
    spec: &'a OpenSpec,
    call: Option<&'a Call>,
    count: u64,
    clock: model::clock::ClockKind,
}

impl Chooser for Dissector<'_> {
    type Output = Result<Vec<Phases>, OpenError>;

    fn chosen<M: Mechanism>(self) -> Self::Output {
        let one = |_| {
            let mut stamps = [0; STAMPS];
            stamps[0] = self.clock.now();
            let stamp = Stamp { stamps: &mut stamps, clock: self.clock };
            match self.call {
                None => M::open(self.spec, stamp)?,
                Some(call) => M::connect(self.spec, call, stamp)?,
            }
            stamps[STAMPS - 1] = self.clock.now();
            Ok(parts(&stamps))
        };
        (0..self.count).map(one).collect()
    }
}

/// Stamps each step on the way, and closes what was opened.
struct Stamp<'a> {
    stamps: &'a mut [u64; STAMPS],
    clock: model::clock::ClockKind,
}

impl Visitor for Stamp<'_> {
    type Output = ();

    fn passed(&mut self, step: Step) {
        self.stamps[place(step)] = self.clock.now();
    }

    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) {
        self.stamps[STAMPS - 2] = self.clock.now();
        drop(black_box(opened));
    }
}

impl ConnectVisitor for Stamp<'_> {
    type Output = ();

    fn passed(&mut self, step: Step) {
        self.stamps[place(step)] = self.clock.now();
    }

    fn visit<E: Endpoint + 'static>(self, end: E, effective_settings: EffectiveSettings) {
        self.stamps[STAMPS - 2] = self.clock.now();
        drop(black_box((end, effective_settings)));
    }
}

fn place(step: Step) -> usize {
    match step {
        Step::Bound => 1,
        Step::Connected => 2,
        Step::Accepted => 3,
    }
}

/// Between one stamp and the next; a step that wasn't reported has none.
fn parts(stamps: &[u64; STAMPS]) -> Phases {
    let stepwise = stamps[1..4].iter().any(|stamp| *stamp > 0);
    let last = if stepwise { "rest" } else { "open" };
    let mut phases = Phases::new();
    let mut before = stamps[0];
    for (stamp, name) in stamps[1..].iter().zip(["bind", "connect", "accept", last, "close"]) {
        if *stamp > 0 {
            phases.push((name, stamp.saturating_sub(before)));
            before = *stamp;
        }
    }
    phases
}

/// The workload. The responder of a launch on one host sleeps; on another host it accepts.
pub struct Connect(WorkloadSpec);

impl Connect {
    /// Where the far side is, if it is on another host, for a connection of this `kind`.
    fn call(&self, kind: ConnectionKind) -> Option<Call> {
        self.0.far.map(|(to, cookie)| Call { to, cookie, kind })
    }

    fn set_up(&self, kind: ConnectionKind, samples: &[AtomicU64], batch: u64) -> io::Result<()> {
        let WorkloadSpec { mechanism, open, clock, .. } = &self.0;
        initiate(mechanism, open, self.call(kind).as_ref(), *clock, samples, batch)
            .map_err(io::Error::other)
    }

    /// What each part of a set-up takes.
    fn dissect(&self) -> io::Result<Vec<(String, f64)>> {
        let WorkloadSpec { mechanism, open, clock, ns_per_tick, .. } = &self.0;
        let call = self.call(ConnectionKind::SetUp);
        let all =
            phases(mechanism, open, call.as_ref(), *clock, DISSECTED).map_err(io::Error::other)?;
        let median = |at: usize| {
            let mut ticks: Vec<u64> = all.iter().map(|phases| phases[at].1).collect();
            ticks.sort_unstable();
            ticks[ticks.len() / 2] as f64 * ns_per_tick
        };
        let named = all[0].iter().enumerate();
        Ok(named.map(|(at, (name, _))| (name.to_string(), median(at))).collect())
    }
}

impl Timed for Connect {
    const WORKLOAD: Workload = Workload::Connect;
    const METRIC: &'static Metric = &METRIC;

    fn new(asked: WorkloadSpec) -> Connect {
        Connect(asked)
    }

    fn lead<E: Endpoint, P: Payload>(
        &mut self,
        _side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<Option<u64>> {
        self.set_up(ConnectionKind::SetUp, samples, batch).map(|()| None)
    }

    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        _sides: &mut [Side<'_, E, P>],
        _samples: u64,
        _batch: u64,
    ) -> io::Result<()> {
        Ok(())
    }

    /// Makes one untimed set-up that tells the far side what the next ones are for.
    fn announce(&mut self, kind: ConnectionKind) -> io::Result<()> {
        if self.0.far.is_none() {
            return Ok(());
        }
        match (self.set_up(kind, &[AtomicU64::new(0)], 1), kind) {
            // The answer may be lost, and the far side, which is gone, gives no other.
            (Err(_), ConnectionKind::Last) => Ok(()),
            (said, _) => said,
        }
    }

    fn finish(&mut self, _samples: &[AtomicU64], report: &mut WorkerReport) -> io::Result<()> {
        if report.batch == 1 {
            report.parts = self.dissect()?;
        }
        Ok(())
    }

    fn size(found: &Found) -> Size {
        Size::resolved(found, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_add_up_to_the_whole_and_steps_that_were_not_taken_are_absent() {
        let parts_of = |stamps| parts(&stamps);
        assert_eq!(parts_of([10, 0, 0, 0, 15, 18]), [("open", 5), ("close", 3)]);
        let stepwise = parts_of([10, 11, 13, 16, 20, 25]);
        let names: Vec<_> = stepwise.iter().map(|it| it.0).collect();
        assert_eq!(names, ["bind", "connect", "accept", "rest", "close"]);
        assert_eq!(stepwise.iter().map(|it| it.1).sum::<u64>(), 15);
        let near = parts_of([10, 0, 13, 16, 20, 25]);
        assert_eq!(near, [("connect", 3), ("accept", 3), ("rest", 4), ("close", 5)]);
    }
}
