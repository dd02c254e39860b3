//! Fan-out: one sender, several receivers, each of which gets every message and acknowledges it with one of its own.
//!
//! Timed: from before the first send to the arrival of the last acknowledgement, by the sender's clock, back to back.
//! The sender is the initiator, with a connection to each receiver. It hands each message over to all of them before it
//! takes an acknowledgement in; where one has no room for all of it, the others are served meanwhile. Receivers are
//! threads of the responder, each blocked in its own receive (`threads`).

use clock::Now;
use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::epoll;
use rustix::thread::sched_yield;

use super::server::{Messages, await_room, epoll_of, ready_of};
use super::threads::in_threads;
use super::{Found, Payload, Side, Size, Timed, WorkloadSpec, latency};
use crate::nonblocking::only_waits;
use crate::{Endpoint, Nonblocking, Received, Sent, WithNonblocking};
use model::launch::{Usage, WorkerReport};
use model::workload::Workload;

/// Receivers.
const RECEIVERS: usize = Workload::FanOut.traits().receivers;

/// What it yields.
pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("fan_out"),
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    operation: Operation::RoundTrip,
    messages: 2 * RECEIVERS as u64,
    paced: false,
    section: Cow::Borrowed("One to many"),
    title: Cow::Borrowed("Fan-out"),
    plural: Cow::Borrowed("Messages to eight receivers"),
    of: Cow::Borrowed(" of {}"),
    axis: Cow::Borrowed("fan-out"),
    qualifier: Cow::Borrowed("fan-out"),
    definition: Cow::Borrowed(
        "A fan-out is from before a message is sent to the first of eight receivers until the last of them has \
         acknowledged it.",
    ),
};

/// The workload.
pub struct FanOut {
    one_cpu: bool,
    /// How the sender waits for acknowledgements; None before it first did.
    waits: Option<Waits>,
    /// What the receivers of the last stretch used.
    used: Usage,
}

/// How the sender waits for acknowledgements.
enum Waits {
    Epoll(OwnedFd, Vec<epoll::Event>),
    /// Only asking tells.
    Scan,
}

impl FanOut {
    fn send<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<()> {
        let clock = sides[0].clock;
        let (mut ends, mut rest) = (Vec::new(), Vec::new());
        for Side { end, payload, buffers, .. } in sides {
            ends.push(&mut **end);
            let (out, into) = buffers.split();
            rest.push(Messages { payload, out, into });
        }
        let (unsent, due) = (Vec::with_capacity(rest.len()), vec![false; rest.len()]);
        let sending = Sending { fan_out: self, rest, clock, samples, batch, unsent, due };
        E::nonblocking(&mut ends, sending).unwrap_or_else(|| Err(only_waits()))
    }
}

impl Timed for FanOut {
    const WORKLOAD: Workload = Workload::FanOut;
    const METRIC: &'static Metric = &METRIC;

    fn new(asked: WorkloadSpec) -> FanOut {
        FanOut { one_cpu: asked.one_cpu, waits: None, used: Usage::default() }
    }

    fn lead<E: Endpoint, P: Payload>(
        &mut self,
        side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<Option<u64>> {
        let Side { end, payload, buffers, clock } = side;
        latency::initiate(*end, payload, buffers, *clock, samples, batch).map(Some)
    }

    fn lead_many<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        operations: u64,
    ) -> io::Result<()> {
        self.send(sides, &[AtomicU64::new(0)], operations)
    }

    fn time_many<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<()> {
        self.send(sides, samples, batch)
    }

    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: u64,
        batch: u64,
    ) -> io::Result<()> {
        let shares = vec![samples * batch; sides.len()];
        let mut works = vec![None; sides.len()];
        self.used = in_threads(sides, &mut works, &shares)?;
        Ok(())
    }

    fn finish_following(&self, report: &mut WorkerReport) {
        report.usage = report.usage.with(&self.used);
    }

    fn size(found: &Found) -> Size {
        Size::resolved(found, found.unbatched)
    }
}

/// Messages to all receivers, one after the other.
struct Sending<'a, 'b, P> {
    fan_out: &'a mut FanOut,
    rest: Vec<Messages<'b, P>>,
    clock: model::clock::ClockKind,
    samples: &'a [AtomicU64],
    batch: u64,
    /// Receivers whose message has not gone whole.
    unsent: Vec<usize>,
    /// Which receivers have to acknowledge.
    due: Vec<bool>,
}

impl<P: Payload> WithNonblocking for Sending<'_, '_, P> {
    type Output = io::Result<()>;

    /// The ends stay as ends that are asked without waiting.
    fn run<E: Nonblocking>(mut self, ends: &mut [&mut E]) -> io::Result<()> {
        let mut waits = match self.fan_out.waits.take() {
            Some(waits) => waits,
            None => {
                ends.iter_mut().try_for_each(|end| end.set_nonblocking(true))?;
                if ends.iter().all(|end| end.ready().is_some()) {
                    Waits::Epoll(epoll_of(ends)?, Vec::new())
                } else {
                    Waits::Scan
                }
            }
        };
        self.exchange(&mut waits, ends)?;
        self.fan_out.waits = Some(waits);
        Ok(())
    }
}

impl<P: Payload> Sending<'_, '_, P> {
    #[inline(never)]
    fn exchange<E: Nonblocking>(
        &mut self,
        waits: &mut Waits,
        ends: &mut [&mut E],
    ) -> io::Result<()> {
        let mut opened = self.clock.now();
        for sample in self.samples {
            for _ in 0..self.batch {
                self.hand_over(ends)?;
                self.take_in(waits, ends)?;
            }
            let closed = self.clock.now();
            sample.store(closed - opened, Ordering::Relaxed);
            opened = closed;
        }
        Ok(())
    }

    /// Hands one message over to every receiver.
    #[inline(always)]
    fn hand_over<E: Nonblocking>(&mut self, ends: &mut [&mut E]) -> io::Result<()> {
        for (nth, (end, Messages { payload, out, .. })) in
            ends.iter_mut().zip(&mut self.rest).enumerate()
        {
            payload.fill(out);
            if end.try_send(out)? == Sent::WouldBlock {
                self.unsent.push(nth);
            }
        }
        while let Some(first) = self.unsent.first() {
            await_room(&*ends[*first])?;
            for at in (0..self.unsent.len()).rev() {
                let nth = self.unsent[at];
                if ends[nth].try_send(self.rest[nth].out)? == Sent::Whole {
                    self.unsent.remove(at);
                }
            }
        }
        Ok(())
    }

    /// Takes in the acknowledgement of every receiver.
    #[inline(always)]
    fn take_in<E: Nonblocking>(
        &mut self,
        waits: &mut Waits,
        ends: &mut [&mut E],
    ) -> io::Result<()> {
        self.due.fill(true);
        let mut left = ends.len();
        while left > 0 {
            match waits {
                Waits::Epoll(all, events) => {
                    ready_of(all, events, true)?;
                    for event in &*events {
                        left -= self.take(event.data.u64() as usize, ends)?;
                    }
                }
                Waits::Scan => {
                    let before = left;
                    for nth in 0..ends.len() {
                        left -= self.take(nth, ends)?;
                    }
                    if before == left && self.fan_out.one_cpu {
                        sched_yield();
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes in the acknowledgement of one receiver, if it is there and wasn't before; how many that was.
    #[inline(always)]
    fn take<E: Nonblocking>(&mut self, nth: usize, ends: &mut [&mut E]) -> io::Result<usize> {
        let Messages { payload, into, .. } = &mut self.rest[nth];
        if !self.due[nth] || ends[nth].try_recv(into)? == Received::WouldBlock {
            return Ok(0);
        }
        payload.look(into)?;
        self.due[nth] = false;
        Ok(1)
    }
}
