//! Connect: set-up and tear-down, nothing sent.
//!
//! What connects (`tcp`, Unix sockets with a name) is set up by both workers. The responder listens at one
//! address for all of a launch, sleeps in accept(2), applies the options and closes its end. Timed, in the
//! initiator: socket, connect, its options, waiting until the woken responder has closed its end, close.
//! What the responder does before (socket, bind, listen) is stamped in set-ups of its own.
//!
//! Anything else is set up by the initiator alone: timed is all that `Mechanism::open` does, and the
//! closing of both ends and of what must be removed. Not timed: what `Endpoint::start` adds once
//! the workers live, which is meeting the partner and faulting in pages. Between two hosts the far
//! end is another's: timed is all until the far side has let this one in, and closing it again.
//!
//! One stamp closes a sample and opens the next, as in a latency. [`dissect`] does the same again with a
//! stamp at each step, so that the samples stay free of more than one clock read.

use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock::Now;

use super::{Found, Payload, Side, Size, Timed, WorkloadSpec, median};
use mechanisms::connection::{Address, Listening, Server};
use mechanisms::network::{Call, ConnectVisitor, ConnectionKind, EffectiveSettings};
use mechanisms::{
    Chooser, Connection, Endpoint, MECHANISMS, Mechanism, OpenError, OpenSpec, Opened, Step,
    Visitor, choose, keep_record,
};
use model::launch::WorkerReport;
use model::workload::Workload;

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
        "A set-up is a connection to a responder that sleeps in accept(2), until both have closed it again; of \
         what needs no connection all that one worker does to have both ends and to close them.",
    ),
};

/// Bytes of the message that mechanisms are opened for: set-up has no size of its own.
pub const OPENED_FOR: u64 = Workload::Connect.traits().size;
/// Set-ups that are cut into their parts, in a launch.
const DISSECTED: u64 = 50;

/// What this worker sets up.
#[derive(Clone, Copy)]
pub enum Ends<'a> {
    Both,
    /// The near end, of a far side on another host.
    Near(&'a Call),
    /// The end that connects, to a responder of this host.
    Connecting(&'a Connection, &'a Address),
}

/// Fills `samples` with the ticks of `batch` set-ups each of the mechanism called `name`.
///
/// # Errors
/// As for opening; what was set up until then is closed.
pub fn initiate(
    name: &str,
    spec: &OpenSpec,
    ends: Ends<'_>,
    clock: model::clock::ClockKind,
    samples: &[AtomicU64],
    batch: u64,
) -> Result<(), OpenError> {
    let _one_for_all = keep_record();
    choose(name, Initiator { spec, ends, clock, samples, batch })?
}

struct Initiator<'a> {
    spec: &'a OpenSpec,
    ends: Ends<'a>,
    samples: &'a [AtomicU64],
    batch: u64,
    clock: model::clock::ClockKind,
}

impl Chooser for Initiator<'_> {
    type Output = Result<(), OpenError>;

    #[inline(never)]
    fn chosen<M: Mechanism>(self) -> Self::Output {
        let spec = self.spec;
        match self.ends {
            Ends::Both => self.fill(&mut || M::open(black_box(spec), Close)),
            Ends::Near(call) => self.fill(&mut || M::connect(black_box(spec), call, Close)),
            Ends::Connecting(connection, to) => {
                self.fill(&mut || connection.connect_and_close(black_box(spec), to, |_| ()))
            }
        }
    }
}

impl Initiator<'_> {
    /// Of a set-up, which takes hundreds of nanoseconds, a call through a table is no part.
    fn fill(self, one: &mut dyn FnMut() -> Result<(), OpenError>) -> Result<(), OpenError> {
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

/// Stamps the steps of one set-up.
struct Steps {
    clock: model::clock::ClockKind,
    last: u64,
    phases: Phases,
}

impl Steps {
    fn begin(clock: model::clock::ClockKind) -> Steps {
        // Room for all: nothing is allocated between stamps.
        let phases = Vec::with_capacity(8);
        Steps { clock, last: clock.now(), phases }
    }

    /// Ends the step `name`, and begins the next.
    fn passed(&mut self, name: &'static str) {
        let now = self.clock.now();
        self.phases.push((name, now.saturating_sub(self.last)));
        self.last = now;
    }
}

/// The parts of `count` set-ups. What opens both ends has `open` and `close`; a near end has `connect`,
/// `accept` (until it is let in), the `rest` of opening, and `close`; an end that connects to a responder of this host has
/// `connect`, `accept` (until the responder has accepted and closed it) and `close`.
///
/// # Errors
/// As for opening.
pub fn dissect(
    name: &str,
    spec: &OpenSpec,
    ends: Ends<'_>,
    clock: model::clock::ClockKind,
    count: u64,
) -> Result<Vec<Phases>, OpenError> {
    let _one_for_all = keep_record();
    choose(name, Dissector { spec, ends, clock, count })?
}

struct Dissector<'a> {
    spec: &'a OpenSpec,
    ends: Ends<'a>,
    count: u64,
    clock: model::clock::ClockKind,
}

impl Chooser for Dissector<'_> {
    type Output = Result<Vec<Phases>, OpenError>;

    fn chosen<M: Mechanism>(self) -> Self::Output {
        let one = |_| {
            let mut steps = Steps::begin(self.clock);
            match self.ends {
                Ends::Both => M::open(self.spec, &mut steps)?,
                Ends::Near(call) => M::connect(self.spec, call, &mut steps)?,
                Ends::Connecting(connection, to) => {
                    let passed = |step| steps.passed(name_of(step));
                    connection.connect_and_close(self.spec, to, passed)?;
                }
            }
            steps.passed("close");
            Ok(steps.phases)
        };
        (0..self.count).map(one).collect()
    }
}

impl Visitor for &mut Steps {
    type Output = ();

    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) {
        self.passed("open");
        drop(black_box(opened));
    }
}

impl ConnectVisitor for &mut Steps {
    type Output = ();

    fn passed(&mut self, step: Step) {
        Steps::passed(self, name_of(step));
    }

    fn visit<E: Endpoint + 'static>(self, end: E, effective_settings: EffectiveSettings) {
        Steps::passed(self, "rest");
        drop(black_box((end, effective_settings)));
    }
}

fn name_of(step: Step) -> &'static str {
    match step {
        Step::Connected => "connect",
        Step::Accepted => "accept",
    }
}

/// The workload in one worker.
pub struct Connect {
    asked: WorkloadSpec,
    /// How the ends are connected, where both workers take part.
    connection: Option<Connection>,
    /// The responder's, once it listens.
    server: Option<Server>,
    /// The initiator's: where the responder listens, once it said so.
    to: Option<Address>,
}

impl Connect {
    /// What this worker sets up, for a connection of this `kind`.
    fn with_ends<T>(&self, kind: ConnectionKind, with: impl FnOnce(Ends<'_>) -> T) -> T {
        let far = self.asked.far.map(|(to, cookie)| Call { to, cookie, kind });
        with(match (&far, &self.connection, &self.to) {
            (Some(call), ..) => Ends::Near(call),
            (None, Some(connection), Some(to)) => Ends::Connecting(connection, to),
            _ => Ends::Both,
        })
    }

    fn set_up(&self, kind: ConnectionKind, samples: &[AtomicU64], batch: u64) -> io::Result<()> {
        let WorkloadSpec { mechanism, open, clock, .. } = &self.asked;
        self.with_ends(kind, |ends| initiate(mechanism, open, ends, *clock, samples, batch))
            .map_err(io::Error::other)
    }

    /// The median of each part, in ns.
    fn medians(&self, all: &[Phases]) -> Vec<(String, f64)> {
        let median = |at: usize| {
            let ticks = median(all.iter().map(|phases| phases[at].1 as f64));
            ticks.unwrap_or(0.0) * self.asked.ns_per_tick
        };
        let named = all[0].iter().enumerate();
        named.map(|(at, (name, _))| (name.to_string(), median(at))).collect()
    }

    /// Begins to listen, once for all set-ups, and tells `end` where.
    fn listen<E: Endpoint>(&mut self, connection: &Connection, end: &mut E) -> io::Result<()> {
        if self.server.is_none() {
            let server = connection.listen(&self.asked.open, |_| ()).map_err(io::Error::other)?;
            end.send(&server.address().to_bytes())?;
            self.server = Some(server);
        }
        Ok(())
    }

    /// Accepts `count` connections and closes them again.
    fn accept(&self, connection: &Connection, count: u64) -> io::Result<()> {
        let server = self.server.as_ref().ok_or(io::ErrorKind::NotConnected)?;
        (0..count)
            .try_for_each(|_| connection.accept_and_close(server, &self.asked.open))
            .map_err(io::Error::other)
    }
}

impl Timed for Connect {
    const WORKLOAD: Workload = Workload::Connect;
    const METRIC: &'static Metric = &METRIC;

    fn new(asked: WorkloadSpec) -> Connect {
        let entry = MECHANISMS.iter().find(|mechanism| mechanism.name == asked.mechanism);
        let connection = entry.and_then(|entry| (entry.connection)(&asked.open.options));
        Connect { asked, connection, server: None, to: None }
    }

    fn works_alone(&self) -> bool {
        self.asked.far.is_some() || self.connection.is_none()
    }

    fn lead<E: Endpoint, P: Payload>(
        &mut self,
        side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<Option<u64>> {
        if let (None, None, Some(connection)) = (&self.asked.far, &self.to, &self.connection) {
            let mut address = [0; Address::BYTES];
            side.end.recv(&mut address)?;
            self.to = Some(Address::parse(connection.at, &address)?);
        }
        self.set_up(ConnectionKind::SetUp, samples, batch).map(|()| None)
    }

    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: u64,
        batch: u64,
    ) -> io::Result<()> {
        let Some(connection) = self.connection else { return Ok(()) };
        self.listen(&connection, sides[0].end)?;
        self.accept(&connection, samples * batch)
    }

    /// Makes one untimed set-up that tells the far side what the next ones are for.
    fn announce(&mut self, kind: ConnectionKind) -> io::Result<()> {
        if self.asked.far.is_none() {
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
            let WorkloadSpec { mechanism, open, clock, .. } = &self.asked;
            let all = self.with_ends(ConnectionKind::SetUp, |ends| {
                dissect(mechanism, open, ends, *clock, DISSECTED)
            });
            report.parts = self.medians(&all.map_err(io::Error::other)?);
        }
        Ok(())
    }

    /// Accepts the initiator's set-ups of [`Timed::finish`]; then listens anew as often, by step.
    fn answer_finish(&mut self, report: &mut WorkerReport) -> io::Result<()> {
        let Some(connection) = self.connection else { return Ok(()) };
        self.accept(&connection, DISSECTED)?;
        let one = |_| {
            let mut steps = Steps::begin(self.asked.clock);
            let listening = connection.listen(&self.asked.open, |step| {
                steps.passed(match step {
                    Listening::Made => "socket",
                    Listening::Bound => "bind",
                    Listening::Listens => "listen",
                });
            });
            listening.map(|_| steps.phases)
        };
        let all: Result<Vec<Phases>, OpenError> = (0..DISSECTED).map(one).collect();
        report.parts = self.medians(&all.map_err(io::Error::other)?);
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
    fn the_parts_add_up_to_the_whole() {
        let clock = model::clock::ClockKind::MonotonicRaw;
        let mut steps = Steps::begin(clock);
        let begun = steps.last;
        for name in ["connect", "accept", "close"] {
            steps.passed(name);
        }
        let names: Vec<_> = steps.phases.iter().map(|phase| phase.0).collect();
        assert_eq!(names, ["connect", "accept", "close"]);
        assert_eq!(steps.phases.iter().map(|phase| phase.1).sum::<u64>(), steps.last - begun);
    }
}
