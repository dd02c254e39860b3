//! Workloads: what is done over a mechanism. Generic over endpoints and mechanisms: none has a
//! loop of its own, and the loop that is measured is the same for all.
//!
//! A workload is one file here, which implements [`Timed`], a row of the table below, and its word
//! with its traits in `model::workload`. The protocol around it (the first message, the check, warm-up,
//! commands to the responder, counters) is the launch's, the same for all. The protocol calls a workload
//! once per stretch of operations; inside its loops nothing is looked up.

mod assignment;
mod buffers;
pub mod connect;
mod connections;
mod crowd;
pub mod duplex;
pub mod fan_out;
pub mod latency;
pub mod loops;
mod many;
pub mod messaging;
pub mod opened;
pub mod payload;
mod pipelined;
pub mod rate;
pub mod schedule;
mod server;
pub mod service;
pub mod shared;
mod threads;
pub mod throughput;

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

pub use buffers::Buffers;
use mechanisms::network::{ConnectionKind, Cookie};
use mechanisms::{Endpoint, OpenSpec};
use model::catalogue::Catalogue;
use model::launch::WorkerReport;
use model::load::Load;
use model::mechanism::Carries;
use model::metric::{Measured, Metric};
use model::workload::{Arrivals, Policy, Workload};
pub use payload::{Check, Payload};
use sys::clock::Now;

/// One side of an open mechanism, and what its messages need.
pub struct Side<'a, E, P> {
    pub end: &'a mut E,
    /// What is done to each message.
    pub payload: P,
    pub buffers: Buffers,
    pub clock: model::clock::ClockKind,
}

/// What a launch asks of a workload.
#[derive(Clone, Debug)]
pub struct WorkloadSpec {
    /// Name of the mechanism, for a workload that opens it itself.
    pub mechanism: &'static str,
    pub open: OpenSpec,
    /// Where the far side waits, and what it asks for; None of a launch that is all on this host.
    pub far: Option<(SocketAddr, Cookie)>,
    pub clock: model::clock::ClockKind,
    /// Its scale.
    pub ns_per_tick: f64,
    /// What an open loop carries; the connections of any.
    pub load: Load,
    /// How these messages arrive.
    pub arrivals: Arrivals,
    /// The CPUs of the generators of an open loop over several connections; the initiator is the only one where there
    /// is at most one.
    pub generators: Vec<u32>,
    /// Whether both workers share one CPU.
    pub one_cpu: bool,
    pub seed: u64,
    /// Writers and readers that share each connection, of a workload that has several.
    pub writers: u32,
    pub readers: u32,
    /// What happens to the bytes, for a workload that moves them itself.
    pub payload: Policy,
    /// Whether it is to compare all of them instead.
    pub verify: bool,
}

/// What a pilot found, from which the launches of its case are sized.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    /// Time per operation, in ns.
    pub operation_ns: f64,
    /// From a message to its acknowledgement, in ns, where a sample ends with one.
    pub ack_ns: f64,
    /// What a launch at this placement should last, in ns.
    pub lasting_ns: f64,
    /// The shortest sample that the clock resolves, in ns.
    pub shortest_ns: f64,
    /// Operations of a sample, where the request says how many.
    pub batch: Option<u64>,
    /// Connections of a launch.
    pub connections: u64,
    /// Whether round trips are timed one by one however short they are.
    pub unbatched: bool,
}

/// What launches do, fixed by the pilot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Operations per sample.
    pub batch: u64,
    /// Samples per launch.
    pub samples: u64,
}

impl Size {
    /// Samples of `batch` operations, as many as fill what a launch should last.
    pub fn filling(lasting_ns: f64, operation_ns: f64, batch: f64) -> Size {
        let samples = (lasting_ns / (operation_ns * batch)).ceil().max(1.0);
        Size { batch: batch as u64, samples: samples as u64 }
    }

    /// As long as asked, each sample as short as the clock resolves; not batched where that is asked.
    pub fn resolved(found: &Found, unbatched: bool) -> Size {
        let least = (found.shortest_ns / found.operation_ns).ceil().max(1.0);
        let batch = if unbatched { 1.0 } else { least };
        Size::filling(found.lasting_ns, found.operation_ns, batch)
    }
}

/// A workload: its loops, its sizing, its declarations. One value of it lives in each worker of a launch.
pub trait Timed: Sized {
    /// Its word (required).
    const WORKLOAD: Workload;

    /// What it yields of mechanisms that carry bytes (required).
    const METRIC: &'static Metric;

    /// What it yields of those that carry only wake-ups.
    const OF_SIGNALS: &'static Metric = Self::METRIC;

    /// What its launches last wherever the workers run, in ns; None where the placement decides.
    const LASTS_NS: Option<f64> = None;

    /// Whether operations follow each other without a stop, so that the responder can't tell the untimed
    /// lead from the samples: then what it reports of the timed part holds the lead too.
    const LEAD_RUNS_ON: bool = true;

    /// How many single operations the warm-up of a pilot that chooses the batch begins with: one alone may
    /// be cold, or lost.
    const PILOT_SINGLES: u64 = 1;

    /// The workload of one launch (required).
    fn new(asked: WorkloadSpec) -> Self;

    /// The initiator's part (required of a workload with one connection): fills `samples` with the ticks of `batch` operations each, timed
    /// or not. Gives the stamp that closed the last, where it is [`back_to_back`].
    ///
    /// [`back_to_back`]: model::workload::WorkloadTraits::back_to_back
    ///
    /// # Errors
    /// As those of the endpoint.
    fn lead<E: Endpoint, P: Payload>(
        &mut self,
        _side: &mut Side<'_, E, P>,
        _samples: &[AtomicU64],
        _batch: u64,
    ) -> io::Result<Option<u64>> {
        Err(many_connections())
    }

    /// The timed part of the initiator, where it differs from its warm-up: fills the next `samples`.
    ///
    /// # Errors
    /// As [`Timed::lead`].
    fn time<E: Endpoint, P: Payload>(
        &mut self,
        side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<Option<u64>> {
        self.lead(side, samples, batch)
    }

    /// [`Timed::lead`] of an initiator that has several connections, each with a side.
    ///
    /// # Errors
    /// As those of the endpoint; the workload has one connection.
    fn lead_many<E: Endpoint, P: Payload>(
        &mut self,
        _sides: &mut [Side<'_, E, P>],
        _operations: u64,
    ) -> io::Result<()> {
        Err(one_connection())
    }

    /// [`Timed::time`] of an initiator that has several connections: `batch` operations a sample, over whichever
    /// it chooses; one transfer after the other, unless it says otherwise.
    ///
    /// # Errors
    /// As [`Timed::lead_many`].
    fn time_many<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<()> {
        let clock = sides[0].clock;
        for sample in samples {
            let opened = clock.now();
            self.lead_many(sides, batch)?;
            sample.store(clock.now() - opened, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The responder's part in `samples` of `batch` operations by each initiator (required). There is one
    /// side per initiator, in their order, several only where its traits say so; or one per connection of the
    /// one initiator, which makes so many operations over all of them together.
    ///
    /// # Errors
    /// As those of the endpoint.
    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: u64,
        batch: u64,
    ) -> io::Result<()>;

    /// Called in the responder before each of its stretches, which has `lead` untimed operations and so many timed
    /// ones: the place to find out what comes over which connection.
    fn prepare_following(&mut self, _lead: u64, _operations: u64) {}

    /// Called in the initiator before `samples` are timed, while nobody waits: the place to draw and
    /// allocate.
    fn prepare(&mut self, _samples: u64) {}

    /// Whether the initiator needs no responder of this host: then that one sleeps, and is told nothing
    /// but the end.
    fn works_alone(&self) -> bool {
        false
    }

    /// Tells the far side of a workload that sets up what its next connections are for.
    ///
    /// # Errors
    /// As for opening.
    fn announce(&mut self, _kind: ConnectionKind) -> io::Result<()> {
        Ok(())
    }

    /// Called in the initiator once all `samples` are timed, to add what it found to `report`.
    ///
    /// # Errors
    /// As for what it does.
    fn finish(&mut self, _samples: &[AtomicU64], _report: &mut WorkerReport) -> io::Result<()> {
        Ok(())
    }

    /// Called in the responder after each of its stretches, to put what it found into `report`.
    fn finish_following(&self, _report: &mut WorkerReport) {}

    /// The responder's part in [`Timed::finish`] of a workload that sets up, where samples are single
    /// operations and the initiator doesn't work alone.
    ///
    /// # Errors
    /// As for what it does.
    fn answer_finish(&mut self, _report: &mut WorkerReport) -> io::Result<()> {
        Ok(())
    }

    /// Operations of a sample over so many connections, of which `asked` were asked for; 0 lets the warm-up's estimate
    /// choose.
    fn batch(asked: u64, _estimate_ns: f64, _connections: u64) -> u64 {
        asked.max(1)
    }

    /// What launches do, by what the pilot found (required).
    fn size(found: &Found) -> Size;
}

/// The median, as the judge of launches takes it: of an even number the mean of the two in the middle.
fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    Some((values[(values.len() - 1) / 2] + upper) / 2.0)
}

fn one_connection() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "it has one connection")
}

fn many_connections() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "its loop is over all connections")
}

/// What this build can measure, and what each of `variants` is; those that are none are left out.
pub fn catalogue<'a>(variants: impl IntoIterator<Item = &'a String>) -> Catalogue {
    mechanisms::catalogue(variants, metrics())
}

/// Code that is generic over the workload: one of the two is called, once, with the workload as its type.
pub trait WorkloadVisitor {
    /// What comes of it.
    type Output;
    /// A workload whose loops hold the calls of each mechanism themselves: one through a table would be a part of what
    /// a message of a few ns takes. Both ways at once, one of a ring takes 57 ns of CPU time, and 84 by way of a table.
    fn inlined<W: Timed>(self) -> Self::Output;
    /// A workload that calls through a table ([`Erased`](mechanisms::Erased)), and is compiled once for all mechanisms.
    fn erased<W: Timed>(self) -> Self::Output;
}

/// A row of the table: what can be asked of a workload without running it.
pub struct Row {
    /// See [`Timed::METRIC`].
    pub metric: &'static Metric,
    /// See [`Timed::OF_SIGNALS`].
    pub of_signals: &'static Metric,
    /// See [`Timed::LASTS_NS`].
    pub lasts_ns: Option<f64>,
    /// See [`Timed::LEAD_RUNS_ON`].
    pub lead_runs_on: bool,
    /// See [`Timed::PILOT_SINGLES`].
    pub pilot_singles: u64,
    /// See [`Timed::batch`].
    pub batch: fn(u64, f64, u64) -> u64,
    /// See [`Timed::size`].
    pub size: fn(&Found) -> Size,
}

impl Row {
    const fn of<W: Timed>() -> Row {
        Row {
            metric: W::METRIC,
            of_signals: W::OF_SIGNALS,
            lasts_ns: W::LASTS_NS,
            lead_runs_on: W::LEAD_RUNS_ON,
            pilot_singles: W::PILOT_SINGLES,
            batch: W::batch,
            size: W::size,
        }
    }
}

macro_rules! workloads {
    ($($visit:ident $timed:ty),+ $(,)?) => {
        /// The row of `workload`.
        pub fn row(workload: Workload) -> &'static Row {
            match workload {
                $(<$timed>::WORKLOAD => const { &Row::of::<$timed>() }),+
            }
        }

        /// Gives `visitor` the type of `workload`.
        pub fn dispatch<V: WorkloadVisitor>(workload: Workload, visitor: V) -> V::Output {
            match workload {
                $(<$timed>::WORKLOAD => visitor.$visit::<$timed>()),+
            }
        }

        // Every word has one row, as the matches above prove: `ALL` forgets none.
        const _: () = assert!([$(<$timed>::WORKLOAD),+].len() == Workload::ALL.len());
    };
}

// The table. The compiler names the workload that is missing here, or here twice.
workloads!(
    inlined latency::Latency,
    inlined throughput::Throughput,
    inlined duplex::Duplex,
    erased connect::Connect,
    erased rate::Rate,
    erased messaging::Messaging,
    erased fan_out::FanOut,
    erased shared::Shared,
);

/// What a workload yields of a mechanism that carries this.
pub fn metric(workload: Workload, carries: Carries) -> &'static Metric {
    let row = row(workload);
    if carries == Carries::Bytes { row.metric } else { row.of_signals }
}

/// What each workload yields.
pub fn metrics() -> Vec<Measured> {
    let of = |workload, carries| metric(workload, carries).clone();
    let both = |workload| Measured {
        workload,
        bytes: of(workload, Carries::Bytes),
        signals: of(workload, Carries::Signal),
    };
    Workload::ALL.into_iter().map(both).collect()
}
