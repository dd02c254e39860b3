//! Fan-out: one sender, several receivers, each of which gets every message and acknowledges it with one of its own.
//!
//! Timed: from before the first send to the arrival of the last acknowledgement, by the sender's clock, back to back.
//! The sender is the initiator, with a connection to each receiver. It hands each message over to all of them before it
//! takes an acknowledgement in; where one has no room for all of it, the others are served meanwhile. Receivers are
//! threads of the responder, each blocked in its own receive (`threads`).

use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock::Now;

use rustix::event::epoll;
use rustix::thread::sched_yield;

use super::many::{EVENTS, Messages, Ready, ready_of, split};
use super::server::await_room;
use super::threads::in_threads;
use super::{Found, Payload, Side, Size, Timed, WorkloadSpec};
use mechanisms::{Endpoint, Nonblocking, Received, Sent};
use model::launch::{Usage, WorkerReport};
use model::workload::Workload;

/// Receivers where no load says how many.
const RECEIVERS: u64 = Workload::FanOut.traits().receivers as u64;

pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("fan_out"),
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    operation: Operation::RoundTrip,
    messages: 2 * RECEIVERS,
    paced: false,
    section: Cow::Borrowed("One to many"),
    title: Cow::Borrowed("Fan-out"),
    plural: Cow::Borrowed("Messages to several receivers"),
    of: Cow::Borrowed(" of {}"),
    axis: Cow::Borrowed("fan-out"),
    qualifier: Cow::Borrowed("fan-out"),
    definition: Cow::Borrowed(
        "A fan-out is from before a message is sent to the first of its receivers, each at a connection of its own, \
         until the last of them has acknowledged it.",
    ),
};

pub struct FanOut {
    one_cpu: bool,
    /// How the sender learns of acknowledgements; None before it first did.
    ready: Option<Ready>,
    /// What the receivers of the last stretch used.
    used: Usage,
}

impl FanOut {
    fn send<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<()> {
        let clock = sides[0].clock;
        let (mut ends, rest) = split(sides)?;
        let (unsent, due) = (Vec::with_capacity(rest.len()), vec![false; rest.len()]);
        Sending { fan_out: self, rest, clock, samples, batch, unsent, due }.run(&mut ends)
    }
}

impl Timed for FanOut {
    const WORKLOAD: Workload = Workload::FanOut;
    const METRIC: &'static Metric = &METRIC;

    fn new(asked: WorkloadSpec) -> FanOut {
        FanOut { one_cpu: asked.one_cpu, ready: None, used: Usage::default() }
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
        let mut works: Vec<_> = sides.iter().map(|_| None).collect();
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

impl<P: Payload> Sending<'_, '_, P> {
    /// The ends stay as ends that are asked without waiting.
    fn run(mut self, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        let mut ready = match self.fan_out.ready.take() {
            Some(ready) => ready,
            None => Ready::of(ends)?,
        };
        self.exchange(&mut ready, ends)?;
        self.fan_out.ready = Some(ready);
        Ok(())
    }

    #[inline(never)]
    fn exchange(&mut self, ready: &mut Ready, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        let mut opened = self.clock.now();
        for sample in self.samples {
            for _ in 0..self.batch {
                self.hand_over(ends)?;
                self.take_in((ready, &mut events), ends)?;
            }
            let closed = self.clock.now();
            sample.store(closed - opened, Ordering::Relaxed);
            opened = closed;
        }
        Ok(())
    }

    /// Hands one message over to every receiver.
    #[inline(always)]
    fn hand_over(&mut self, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
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
    fn take_in(
        &mut self,
        (ready, events): (&Ready, &mut Vec<epoll::Event>),
        ends: &mut [&mut dyn Nonblocking],
    ) -> io::Result<()> {
        self.due.fill(true);
        let mut left = ends.len();
        while left > 0 {
            match ready {
                Ready::Epoll(all) => {
                    ready_of(all, events, true)?;
                    for event in &*events {
                        left -= self.take(event.data.u64() as usize, ends)?;
                    }
                }
                Ready::Scan => {
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
    fn take(&mut self, nth: usize, ends: &mut [&mut dyn Nonblocking]) -> io::Result<usize> {
        let Messages { payload, into, .. } = &mut self.rest[nth];
        if !self.due[nth] || ends[nth].try_recv(into)? == Received::WouldBlock {
            return Ok(0);
        }
        payload.look(into)?;
        self.due[nth] = false;
        Ok(1)
    }
}
