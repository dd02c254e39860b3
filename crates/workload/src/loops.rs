//! One worker's sides of its mechanism, compiled for their endpoint, payload and workload, behind tables
//! of calls.
//!
//! What surrounds a loop (`protocol`) is the same for all of them and compiled once. A call through
//! a table covers a whole stretch of operations; inside it nothing is looked up any more.

use std::io;
use std::sync::atomic::AtomicU64;

use rustix::thread::sched_getcpu;

use crate::payload::{Touched, Untouched};
use crate::{
    Buffers, Check, Payload, Side, Timed, WorkloadSpec, WorkloadVisitor, dispatch, latency,
};
use mechanisms::engine::Engine;
use mechanisms::network::ConnectionKind;
use mechanisms::{Endpoint, Erased, Phase};
use model::clock::ClockKind;
use model::launch::{Usage, WorkerReport};
use model::mechanism::Stats;
use model::workload::Workload;

/// The ends of one worker, of whichever type: one for each of an initiator's connections, or of a responder's
/// partners.
pub trait Ends: Send {
    /// Each of them behind a table of calls.
    fn erased(&mut self) -> Vec<Erased<'_>>;
    /// See [`Endpoint::engine`].
    fn engine(&mut self) -> Option<&mut Engine>;
    /// Has `run` work with the loops that a workload has over them.
    fn looped(&mut self, asked: WorkloadSpec, outfit: Outfit, run: Run<'_>) -> WorkerReport;
}

/// What goes with the ends, one of each for every end.
pub struct Outfit {
    pub workload: Workload,
    /// What is done to each message; None if nothing is.
    pub touched: Vec<Option<Touched>>,
    pub buffers: Vec<Buffers>,
    pub clock: ClockKind,
}

/// What a worker does with its loops.
pub type Run<'a> = Box<dyn FnOnce(&mut dyn Loops) -> WorkerReport + 'a>;

impl<E: Endpoint> Ends for Vec<E> {
    fn erased(&mut self) -> Vec<Erased<'_>> {
        self.iter_mut().map(Erased::new).collect()
    }

    fn engine(&mut self) -> Option<&mut Engine> {
        self.first_mut().and_then(Endpoint::engine)
    }

    fn looped(&mut self, asked: WorkloadSpec, outfit: Outfit, run: Run<'_>) -> WorkerReport {
        dispatch(outfit.workload, Looped { ends: self, asked, outfit, run })
    }
}

/// Ends whose workload isn't known as a type yet.
struct Looped<'a, E> {
    ends: &'a mut Vec<E>,
    asked: WorkloadSpec,
    outfit: Outfit,
    run: Run<'a>,
}

impl<E: Endpoint> WorkloadVisitor for Looped<'_, E> {
    type Output = WorkerReport;

    fn inlined<W: Timed>(self) -> WorkerReport {
        let Looped { ends, asked, outfit: Outfit { touched, buffers, clock, .. }, run } = self;
        match touched.into_iter().collect::<Option<Vec<Touched>>>() {
            None => {
                let untouched = vec![Untouched; ends.len()];
                over::<_, _, W>(sides(ends, untouched, buffers, clock), asked, run)
            }
            Some(touched) => over::<_, _, W>(sides(ends, touched, buffers, clock), asked, run),
        }
    }

    fn erased<W: Timed>(self) -> WorkerReport {
        let Looped { ends, asked, outfit, run } = self;
        by_table::<W>(ends.erased(), asked, outfit, run)
    }
}

fn by_table<W: Timed>(
    mut ends: Vec<Erased<'_>>,
    asked: WorkloadSpec,
    outfit: Outfit,
    run: Run<'_>,
) -> WorkerReport {
    let Outfit { touched, buffers, clock, .. } = outfit;
    over::<_, _, W>(sides(&mut ends, touched, buffers, clock), asked, run)
}

fn over<E: Endpoint, P: Payload, W: Timed>(
    sides: Vec<Side<'_, E, P>>,
    asked: WorkloadSpec,
    run: Run<'_>,
) -> WorkerReport {
    run(&mut Compiled { sides, workload: W::new(asked) })
}

/// Compiled once for all workloads.
#[inline(never)]
fn sides<E, P>(
    ends: &mut [E],
    payloads: Vec<P>,
    buffers: Vec<Buffers>,
    clock: ClockKind,
) -> Vec<Side<'_, E, P>> {
    let mut sides = Vec::with_capacity(ends.len());
    for ((end, payload), buffers) in ends.iter_mut().zip(payloads).zip(buffers) {
        sides.push(Side { end, payload, buffers, clock });
    }
    sides
}

/// What goes with the messages that every launch exchanges before its workload.
#[derive(Clone, Copy)]
pub enum With {
    /// Nothing: the first message.
    Nothing,
    /// A pattern that is looked at: the check before timing. Holds the seed of the first side's pattern; that
    /// of each further side is one more.
    Pattern(u64),
    /// The same, which the partner sends back.
    Echoed(u64),
}

impl With {
    /// What is sent, and expected, over the side of that number.
    fn checked(self, nth: u64) -> Option<Touched> {
        let check = |seed: u64| Check::new(seed.wrapping_add(nth));
        match self {
            With::Nothing => None,
            With::Pattern(seed) => Some(Touched::Check(check(seed))),
            With::Echoed(seed) => Some(Touched::Check(check(seed).echoed())),
        }
    }

    /// What is expected there, and sent back.
    fn answered(self, nth: u64) -> Option<Touched> {
        match self {
            With::Nothing => None,
            With::Pattern(seed) | With::Echoed(seed) => {
                Some(Touched::Check(Check::new(seed.wrapping_add(nth)).answering()))
            }
        }
    }
}

/// What a launch does over its mechanism for its own use, whatever the workload. Losses are injected in
/// none of it. An initiator has one side, or one for each of its connections; a responder has one for each
/// initiator, or each connection.
pub trait Channel {
    /// Fills `samples` with the ticks of one round trip each: the first message over the first side, others over
    /// each, one side after the other.
    fn round_trips(&mut self, with: With, samples: &[AtomicU64]) -> io::Result<()>;
    /// Answers `count` round trips: the first message over the first side, others over each.
    fn answer(&mut self, with: With, count: u64) -> io::Result<()>;
    /// Sends a message over the first side.
    fn say(&mut self, message: &[u8]) -> io::Result<()>;
    fn hear(&mut self, message: &mut [u8]) -> io::Result<()>;
    /// Sends what is still owed to the partners: nothing more is sent over the mechanism.
    fn finish(&mut self) -> io::Result<()>;
    /// What the endpoints have counted, all sides together.
    fn stats(&self) -> Stats;
}

/// The loops of a workload, and what its file does around them; see [`Timed`].
pub trait Loops {
    /// The sides that they run over.
    fn channel(&mut self) -> Box<dyn Channel + '_>;
    /// See [`Timed::lead`]; over all sides.
    fn lead(&mut self, samples: &[AtomicU64], batch: u64) -> io::Result<Option<u64>>;
    /// See [`Timed::time`]; over all sides.
    fn time(&mut self, samples: &[AtomicU64], batch: u64) -> io::Result<Option<u64>>;
    /// See [`Timed::follow`].
    fn follow(&mut self, samples: u64, batch: u64) -> io::Result<()>;
    /// See [`Timed::prepare_following`].
    fn prepare_following(&mut self, _lead: u64, _operations: u64) {}
    /// See [`Timed::prepare`].
    fn prepare(&mut self, _samples: u64) {}
    /// Whether a stretch is not cut into parts: a pause between them would be timed by the partner.
    fn is_whole(&self) -> bool {
        false
    }
    /// What did its work has used until now; None where that is this worker.
    fn used(&self) -> Option<Usage> {
        None
    }
    /// The CPU on which its work is done.
    fn cpu(&self) -> u32 {
        sched_getcpu() as u32
    }
    /// What the loop takes in ns without a mechanism, where that is another language's.
    fn null(&mut self) -> io::Result<Option<u64>> {
        Ok(None)
    }
    /// See [`Timed::works_alone`].
    fn works_alone(&self) -> bool {
        false
    }
    /// See [`Timed::announce`].
    fn announce(&mut self, _kind: ConnectionKind) -> io::Result<()> {
        Ok(())
    }
    /// See [`Timed::finish`].
    fn finish(&mut self, _samples: &[AtomicU64], _report: &mut WorkerReport) -> io::Result<()> {
        Ok(())
    }
    /// See [`Timed::finish_following`].
    fn finish_following(&self, _report: &mut WorkerReport) {}
    /// See [`Timed::answer_finish`].
    fn answer_finish(&mut self, _report: &mut WorkerReport) -> io::Result<()> {
        Ok(())
    }
}

/// The loops of workload `W` over endpoints `E`, with payload `P`. There is at least one side.
struct Compiled<'a, E, P, W> {
    /// One side per partner, or per connection.
    sides: Vec<Side<'a, E, P>>,
    workload: W,
}

impl<E: Endpoint, P, W> Compiled<'_, E, P, W> {
    fn enter_timed(&mut self) -> io::Result<()> {
        self.sides.iter_mut().try_for_each(|side| side.end.enter(Phase::Timed))
    }
}

impl<E: Endpoint, P: Payload, W: Timed> Loops for Compiled<'_, E, P, W> {
    fn channel(&mut self) -> Box<dyn Channel + '_> {
        let mut sides = Vec::with_capacity(self.sides.len());
        for Side { end, buffers, clock, .. } in &mut self.sides {
            sides.push((Erased::new(*end), buffers, *clock));
        }
        Box::new(Sides(sides))
    }

    fn lead(&mut self, samples: &[AtomicU64], batch: u64) -> io::Result<Option<u64>> {
        self.enter_timed()?;
        match &mut self.sides[..] {
            [side] if !W::WORKLOAD.traits().many_connections() => {
                self.workload.lead(side, samples, batch)
            }
            sides => {
                let operations = samples.len() as u64 * batch;
                self.workload.lead_many(sides, operations).map(|()| None)
            }
        }
    }

    fn time(&mut self, samples: &[AtomicU64], batch: u64) -> io::Result<Option<u64>> {
        self.enter_timed()?;
        match &mut self.sides[..] {
            [side] if !W::WORKLOAD.traits().many_connections() => {
                self.workload.time(side, samples, batch)
            }
            sides => self.workload.time_many(sides, samples, batch).map(|()| None),
        }
    }

    fn follow(&mut self, samples: u64, batch: u64) -> io::Result<()> {
        self.enter_timed()?;
        self.workload.follow(&mut self.sides, samples, batch)
    }

    fn prepare_following(&mut self, lead: u64, operations: u64) {
        self.workload.prepare_following(lead, operations);
    }

    fn prepare(&mut self, samples: u64) {
        self.workload.prepare(samples);
    }

    fn works_alone(&self) -> bool {
        self.workload.works_alone()
    }

    fn announce(&mut self, kind: ConnectionKind) -> io::Result<()> {
        self.workload.announce(kind)
    }

    fn finish(&mut self, samples: &[AtomicU64], report: &mut WorkerReport) -> io::Result<()> {
        self.workload.finish(samples, report)
    }

    fn finish_following(&self, report: &mut WorkerReport) {
        self.workload.finish_following(report);
    }

    fn answer_finish(&mut self, report: &mut WorkerReport) -> io::Result<()> {
        self.workload.answer_finish(report)
    }
}

/// Sides as what is not timed sees them: none of it is the workload's, so it is compiled once.
struct Sides<'a>(Vec<(Erased<'a>, &'a mut Buffers, ClockKind)>);

impl Channel for Sides<'_> {
    fn round_trips(&mut self, with: With, samples: &[AtomicU64]) -> io::Result<()> {
        let sides = if matches!(with, With::Nothing) { 1 } else { self.0.len() };
        for ((end, buffers, clock), nth) in self.0[..sides].iter_mut().zip(0..) {
            end.enter(Phase::Untimed)?;
            match with.checked(nth) {
                None => latency::initiate(end, &mut Untouched, buffers, *clock, samples, 1)?,
                Some(mut check) => latency::initiate(end, &mut check, buffers, *clock, samples, 1)?,
            };
        }
        Ok(())
    }

    fn answer(&mut self, with: With, count: u64) -> io::Result<()> {
        let sides = if matches!(with, With::Nothing) { 1 } else { self.0.len() };
        for ((end, buffers, _), nth) in self.0[..sides].iter_mut().zip(0..) {
            end.enter(Phase::Untimed)?;
            match with.answered(nth) {
                None => latency::respond(end, &mut Untouched, buffers, count)?,
                Some(mut check) => latency::respond(end, &mut check, buffers, count)?,
            }
        }
        Ok(())
    }

    fn say(&mut self, message: &[u8]) -> io::Result<()> {
        self.0[0].0.enter(Phase::Untimed)?;
        self.0[0].0.send(message)
    }

    fn hear(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.0[0].0.enter(Phase::Untimed)?;
        self.0[0].0.recv(message)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.iter_mut().try_for_each(|(end, ..)| end.finish())
    }

    fn stats(&self) -> Stats {
        let mut all = Stats::default();
        for stats in self.0.iter().filter_map(|(end, ..)| end.stats()) {
            all.add(stats);
        }
        all
    }
}
