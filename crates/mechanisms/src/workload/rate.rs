//! Rate: an open loop. Messages are due by a schedule, whatever became of those before them.
//!
//! Timed: from when a message was due to when its answer is in (response time), by the initiator's
//! clock. One connection serves the schedule, with so many messages under way as the load's depth says; once
//! that many are, queueing happens at the sender: one that is late keeps the time at which the message was due
//! and sends at once. How late it began is kept beside. Not timed: the wait for the next message. Never batched. The
//! responder answers as in a latency.

use clock::Now;
use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::set_current_timer_slack;

use super::latency::Latency;
use super::pipelined::Pipelined;
use super::schedule::{Offered, Schedule, Wait};
use super::{Buffers, Found, Payload, Side, Size, Timed, WorkloadSpec};
use crate::{Endpoint, Phase};
use model::launch::{Punctuality, WorkerReport};
use model::load::Load;
use model::workload::Workload;

/// What a launch lasts, in ns.
const LASTING_NS: f64 = 200e6;
/// What is on time, in ns: the clock's steps, and a wait that ends between two of them.
const ON_TIME_NS: f64 = 1_000.0;

/// What it yields.
pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("response"),
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    operation: Operation::RoundTrip,
    messages: 2,
    paced: true,
    section: Cow::Borrowed("Open loop"),
    title: Cow::Borrowed("Response time"),
    plural: Cow::Borrowed("Responses"),
    of: Cow::Borrowed(" to {}"),
    axis: Cow::Borrowed("response time"),
    qualifier: Cow::Borrowed("open loop"),
    definition: Cow::Borrowed(
        "A response time is from when a message was due, by a fixed rate, to its answer.",
    ),
};

/// The initiator's side: fills `samples` with the ticks of one response each, and `lateness` with
/// those between when each message was due and when it was begun.
#[inline(never)]
pub fn initiate<E: Endpoint, P: Payload>(
    end: &mut E,
    payload: &mut P,
    buffers: &mut Buffers,
    clock: model::clock::ClockKind,
    schedule: &mut Schedule,
    (samples, lateness): (&[AtomicU64], &mut [u64]),
) -> io::Result<()> {
    let (out, into) = buffers.split();
    for (sample, late) in samples.iter().zip(lateness) {
        let due = schedule.next_due();
        if clock.now() < due {
            end.enter(Phase::Paused)?;
            schedule.wait_until(due);
        }
        *late = clock.now().saturating_sub(due);
        end.send_with(out, |message| payload.fill(message))?;
        end.recv_with(into, |message| payload.look(message))?;
        sample.store(clock.now().saturating_sub(due), Ordering::Relaxed);
    }
    Ok(())
}

/// The workload. It warms up with round trips, one after the other.
pub struct Rate {
    asked: WorkloadSpec,
    paced: Option<Paced>,
}

impl Timed for Rate {
    const WORKLOAD: Workload = Workload::Rate;
    const METRIC: &'static Metric = &METRIC;
    const LASTS_NS: Option<f64> = Some(LASTING_NS);

    fn new(asked: WorkloadSpec) -> Rate {
        Rate { asked, paced: None }
    }

    fn lead<E: Endpoint, P: Payload>(
        &mut self,
        side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<Option<u64>> {
        Latency.lead(side, samples, batch)
    }

    fn time<E: Endpoint, P: Payload>(
        &mut self,
        side: &mut Side<'_, E, P>,
        samples: &[AtomicU64],
        _batch: u64,
    ) -> io::Result<Option<u64>> {
        let Some(paced) = &mut self.paced else { return Ok(None) };
        if paced.taken == 0 {
            paced.schedule.begin();
        }
        let Side { end, payload, buffers, clock } = side;
        let lateness = &mut paced.lateness[paced.taken..paced.taken + samples.len()];
        let schedule = &mut paced.schedule;
        match self.asked.load.depth {
            1 => initiate(*end, payload, buffers, *clock, schedule, (samples, lateness))?,
            depth => {
                let (out, into) = buffers.split();
                let (clock, depth, first) = (*clock, depth as usize, paced.taken);
                let all = Pipelined {
                    payload,
                    out,
                    into,
                    clock,
                    schedule,
                    depth,
                    first,
                    samples,
                    lateness,
                };
                all.over(*end)?;
            }
        }
        paced.taken += samples.len();
        Ok(None)
    }

    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: u64,
        batch: u64,
    ) -> io::Result<()> {
        Latency.follow(sides, samples, batch)
    }

    fn prepare(&mut self, samples: u64) {
        self.paced = Some(Paced::new(&self.asked, samples));
    }

    fn finish(&mut self, samples: &[AtomicU64], report: &mut WorkerReport) -> io::Result<()> {
        report.punctuality = self.paced.take().and_then(|it| it.punctuality(samples));
        Ok(())
    }

    fn batch(_asked: u64, _estimate_ns: f64) -> u64 {
        1
    }

    fn size(found: &Found) -> Size {
        Size::filling(LASTING_NS, found.operation_ns, 1.0)
    }
}

/// A schedule under way, carried on from stretch to stretch, and how late each message was begun.
struct Paced {
    schedule: Schedule,
    lateness: Vec<u64>,
    taken: usize,
    load: Load,
    ns_per_tick: f64,
}

impl Paced {
    /// Makes ready for so many messages; their room is touched, and when each is due is drawn.
    fn new(asked: &WorkloadSpec, samples: u64) -> Paced {
        // A sleeper wakes up to 50 µs late by default, for the sake of power.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let offered = Offered {
            arrivals: asked.arrivals,
            per_second: asked.load.per_second.max(1),
            messages: samples,
            seed: asked.seed,
        };
        // Who shares a CPU with its partner sleeps: the partner needs it.
        let wait = if asked.one_cpu { Wait::Asleep } else { Wait::Spinning };
        Paced {
            schedule: Schedule::new(asked.clock, offered, asked.ns_per_tick, wait),
            lateness: vec![u64::MAX; samples as usize],
            taken: 0,
            load: asked.load,
            ns_per_tick: asked.ns_per_tick,
        }
    }

    /// The most messages that were under way at once: `answered` says when the answer to each was in.
    fn deepest(&self, answered: impl Fn(usize) -> u64) -> u32 {
        let (mut deepest, mut done) = (0, 0);
        for nth in 0..self.taken {
            let begun = self.schedule.due(nth) + self.lateness[nth];
            while done < nth && answered(done) <= begun {
                done += 1;
            }
            deepest = deepest.max(nth - done + 1);
        }
        deepest as u32
    }

    /// What came of it, `samples` being all that were filled; none before the first message.
    fn punctuality(mut self, samples: &[AtomicU64]) -> Option<Punctuality> {
        let scale = self.ns_per_tick;
        let late = self.lateness.iter().filter(|it| **it as f64 * scale > ON_TIME_NS).count();
        let last = self.taken.checked_sub(1)?;
        let behind = self.lateness[last];
        let answered = |nth: usize| self.schedule.due(nth) + samples[nth].load(Ordering::Relaxed);
        let depth = self.load.depth as usize;
        // Whether one more might be under way when it was due.
        let waited = |nth: &usize| *nth < depth || answered(nth - depth) < self.schedule.due(*nth);
        let deepest = self.deepest(answered);
        let own = (0..self.taken).rev().find(waited).map_or(0, |nth| self.lateness[nth]);
        let due = self.schedule.due(last) - self.schedule.first();
        let per_second = |ticks: u64| match last {
            0 => self.load.per_second as f64, // one message is no rate
            others => others as f64 * 1e9 / (ticks as f64 * scale).max(1.0),
        };
        let (due_per_sec, served_per_sec) = (per_second(due), per_second(due + behind));
        self.lateness.sort_unstable();
        let middle = self.lateness[self.lateness.len() / 2];
        Some(Punctuality {
            late: late as u64,
            median_ns: middle as f64 * scale,
            max_ns: *self.lateness.last()? as f64 * scale,
            due_per_sec,
            served_per_sec,
            behind_ns: behind as f64 * scale,
            own_ns: own.min(behind) as f64 * scale,
            deepest,
        })
    }
}

#[cfg(test)]
mod tests;
