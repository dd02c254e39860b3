//! Duplex: a transfer of many messages each way at once, then one acknowledgement of one byte each way.
//!
//! Timed: from before the first send to the arrival of the acknowledgement, which each side sends when it has
//! received the last byte. Both sides run the same loop: they send while there is room and receive what is
//! there, and wait only where neither goes. Messages each way are as many; one operation is a message each way.

use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock::Now;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::thread::sched_yield;

use super::throughput::Throughput;
use super::{Found, Payload, Side, Size, Timed, WorkloadSpec, median};
use mechanisms::nonblocking::only_waits;
use mechanisms::{Endpoint, MECHANISMS, Nonblocking, NonblockingCode, Received, Sent};
use model::launch::WorkerReport;
use model::mechanism::Carries;
use model::workload::Workload;

/// What it yields where bytes are carried: those of both ways together.
pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("duplex"),
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    operation: Operation::Message,
    messages: 2,
    paced: false,
    section: Cow::Borrowed("Both ways at once"),
    title: Cow::Borrowed("Throughput, both ways"),
    plural: Cow::Borrowed("Transfers both ways"),
    of: Cow::Borrowed(" of {} messages"),
    axis: Cow::Borrowed("throughput of both ways"),
    qualifier: Cow::Borrowed("duplex"),
    definition: Cow::Borrowed(
        "A throughput both ways is the bytes of both directions at once, counted where they arrive, over the time \
         to the acknowledgement of the last.",
    ),
};
use sys::failed::failed;

/// What it yields where only wake-ups are.
pub static OF_SIGNALS: Metric = Metric {
    name: Cow::Borrowed("duplex_wakeups"),
    unit: Unit::PerSecond,
    better: Better::Higher,
    operation: Operation::Message,
    messages: 2,
    paced: false,
    section: Cow::Borrowed("Both ways at once"),
    title: Cow::Borrowed("Wake-ups both ways"),
    plural: Cow::Borrowed("Wake-ups both ways"),
    of: Cow::Borrowed(""),
    axis: Cow::Borrowed("wake-ups of both ways"),
    qualifier: Cow::Borrowed("duplex"),
    definition: Cow::Borrowed(
        "Wake-ups both ways are counted where they arrive, over the time to the acknowledgement of the last.",
    ),
};

pub struct Duplex {
    asked: WorkloadSpec,
    /// Of each timed sample the ticks until the last message from the partner was here.
    inbound: Vec<u64>,
    /// Messages each way of a timed sample.
    messages: u64,
}

impl Duplex {
    /// Runs as many transfers as `samples` has, and gives how long the messages of the partner took.
    fn exchange<E: Endpoint, P: Payload>(
        &self,
        side: &mut Side<'_, E, P>,
        samples: Samples<'_>,
        messages: u64,
        inbound: Vec<u64>,
    ) -> io::Result<Vec<u64>> {
        let Side { end, payload, buffers, clock } = side;
        let (out, into) = buffers.split();
        let one_cpu = self.asked.one_cpu;
        let clock = *clock;
        let both = Both { payload, out, into, clock, one_cpu, samples, messages, inbound };
        end.nonblocking(both).unwrap_or_else(|| Err(only_waits()))
    }

    /// Bytes, or wake-ups, per second one way of what took so many ticks.
    fn rate(&self, ticks: u64) -> f64 {
        let entry = MECHANISMS.iter().find(|mechanism| mechanism.name == self.asked.mechanism);
        let carries = entry.map(|entry| entry.traits(&self.asked.open.options).carries);
        let bytes = match carries {
            Some(Carries::Signal) => 1.0,
            _ => self.asked.open.message_bytes as f64,
        };
        bytes * self.messages as f64 * 1e9 / (ticks as f64 * self.asked.ns_per_tick)
    }
}

impl Timed for Duplex {
    const WORKLOAD: Workload = Workload::Duplex;
    const METRIC: &'static Metric = &METRIC;
    const OF_SIGNALS: &'static Metric = &OF_SIGNALS;
    const LASTS_NS: Option<f64> = Throughput::LASTS_NS;
    /// Every transfer ends with its acknowledgement.
    const LEAD_RUNS_ON: bool = false;
    const PILOT_SINGLES: u64 = Throughput::PILOT_SINGLES;

    fn new(asked: WorkloadSpec) -> Duplex {
        Duplex { asked, inbound: Vec::new(), messages: 1 }
    }

    fn lead<E: Endpoint, P: Payload>(
        &mut self,
        side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<Option<u64>> {
        self.exchange(side, Samples::Kept(samples), batch, Vec::new()).map(|_| None)
    }

    fn time<E: Endpoint, P: Payload>(
        &mut self,
        side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<Option<u64>> {
        self.messages = batch;
        let inbound = std::mem::take(&mut self.inbound);
        self.inbound = self.exchange(side, Samples::Kept(samples), batch, inbound)?;
        Ok(None)
    }

    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: u64,
        batch: u64,
    ) -> io::Result<()> {
        sides.iter_mut().try_for_each(|side| {
            let inbound = Vec::with_capacity(samples as usize);
            self.exchange(side, Samples::Counted(samples), batch, inbound).map(drop)
        })
    }

    fn prepare(&mut self, samples: u64) {
        self.inbound = Vec::with_capacity(samples as usize);
    }

    /// Each way by itself: the partner's messages until the last was here, its own until that was acknowledged.
    fn finish(&mut self, samples: &[AtomicU64], report: &mut WorkerReport) -> io::Result<()> {
        let outbound = samples.iter().map(|ticks| self.rate(ticks.load(Ordering::Relaxed)));
        let inbound = self.inbound.iter().map(|ticks| self.rate(*ticks));
        let medians = [("outbound", median(outbound)), ("inbound", median(inbound))];
        report.parts =
            medians.iter().filter_map(|(name, value)| Some(((*name).into(), (*value)?))).collect();
        Ok(())
    }

    fn batch(asked: u64, estimate_ns: f64, connections: u64) -> u64 {
        Throughput::batch(asked, estimate_ns, connections)
    }

    fn size(found: &Found) -> Size {
        Throughput::size(found)
    }
}

/// What becomes of how long a transfer took.
enum Samples<'a> {
    /// The initiator's: kept.
    Kept(&'a [AtomicU64]),
    /// The responder's: so many transfers are made.
    Counted(u64),
}

/// Transfers both ways, over one end.
struct Both<'a, P> {
    payload: &'a mut P,
    out: &'a mut [u8],
    into: &'a mut [u8],
    clock: model::clock::ClockKind,
    /// Whether the partner needs this CPU to go on.
    one_cpu: bool,
    samples: Samples<'a>,
    messages: u64,
    inbound: Vec<u64>,
}

impl<P: Payload> NonblockingCode<'_> for Both<'_, P> {
    type Output = io::Result<Vec<u64>>;

    fn run<E: Nonblocking>(mut self, end: &mut E) -> Self::Output {
        end.set_nonblocking(true)?;
        match self.samples {
            Samples::Counted(count) => (0..count).try_for_each(|_| self.transfer(end).map(drop))?,
            Samples::Kept(samples) => samples.iter().try_for_each(|sample| {
                let ticks = self.transfer(end)?;
                sample.store(ticks, Ordering::Relaxed);
                io::Result::Ok(())
            })?,
        }
        end.set_nonblocking(false)?;
        Ok(self.inbound)
    }
}

impl<P: Payload> Both<'_, P> {
    /// One transfer; the ticks until it was acknowledged.
    #[inline(never)]
    fn transfer<E: Nonblocking>(&mut self, end: &mut E) -> io::Result<u64> {
        let (messages, opened) = (self.messages, self.clock.now());
        // The acknowledgement is the last of each count; it goes once all has come.
        let (mut sent, mut received, mut filled) = (0, 0, false);
        let mut inbound = 0;
        while sent <= messages || received <= messages {
            let mut moved = false;
            let due = sent < messages || (sent == messages && received >= messages);
            if due {
                let message: &[u8] = if sent < messages {
                    if !filled {
                        self.payload.fill(self.out);
                        filled = true;
                    }
                    self.out
                } else {
                    &[0xAC]
                };
                if end.try_send(message)? == Sent::Whole {
                    (sent, filled, moved) = (sent + 1, false, true);
                }
            }
            if received < messages {
                if end.try_recv(self.into)? == Received::Whole {
                    self.payload.look(self.into)?;
                    (received, moved) = (received + 1, true);
                    if received == messages {
                        inbound = self.clock.now() - opened;
                    }
                }
            } else if received == messages && end.try_recv(&mut [0])? == Received::Whole {
                (received, moved) = (received + 1, true);
            }
            if !moved {
                self.wait(end, received <= messages, due)?;
            }
        }
        self.inbound.push(inbound);
        Ok(self.clock.now() - opened)
    }

    /// Waits until something may be received, or sent.
    fn wait<E: Nonblocking>(&self, end: &E, receives: bool, sends: bool) -> io::Result<()> {
        let readable = end.ready().filter(|_| receives);
        let writable = end.room().filter(|_| sends);
        let arrives = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        let waited = match (readable, writable) {
            (Some(it), Some(room)) => poll(&mut [arrives(it), room], None),
            (Some(it), None) if !sends => poll(&mut [arrives(it)], None),
            (None, Some(room)) if !receives => poll(&mut [room], None),
            // Only asking again tells.
            _ => {
                if self.one_cpu {
                    sched_yield();
                } else {
                    std::hint::spin_loop();
                }
                return Ok(());
            }
        };
        match waited {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(failed("poll", error)),
        }
    }
}
