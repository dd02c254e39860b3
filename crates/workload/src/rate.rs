//! Rate: an open loop. Messages are due by a schedule, whatever became of those before them.
//!
//! Timed: from when a message was due to when its answer is in (response time), by the initiator's
//! clock. One connection serves the schedule, with so many messages under way as the load's depth says; once
//! that many are, queueing happens at the sender: one that is late keeps the time at which the message was due
//! and sends at once. How late it began is kept beside, and how often that was the sender's own fault. Not timed: the
//! wait for the next message. Never batched. The responder answers as in a latency, after the work over the request that
//! the load says ([`service`](super::service)). Of several connections generators drive all (`connections`),
//! and the responder waits for whichever has a request (`server`), or has a thread for each (`threads`).

use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::thread::set_current_timer_slack;

use super::assignment::Assignment;
use super::connections::Generators;
use super::latency::Latency;
use super::many::lead;
use super::pipelined::Pipelined;
use super::schedule::{Adherence, Offered, Schedule, Timeline, Wait};
use super::server::{self, Waiting};
use super::service::{Work, serve};
use super::threads::Threads;
use super::{Buffers, Found, Payload, Side, Size, Timed, WorkloadSpec};
use mechanisms::{Endpoint, Phase};
use model::launch::{Clients, Punctuality, WorkerReport};
use model::load::{Load, Server};
use model::workload::{Arrivals, Workload};

/// What a launch lasts, in ns.
const LASTING_NS: f64 = 200e6;
/// What is late, in ns, whoever's fault: more than the clock's steps, and a wait that ends between two of them.
const LATE_NS: f64 = 1_000.0;
/// Requests of a connection come at most so many times as far apart as in the mean: a longer pause is drawn once in 5e8.
const LONGEST_PAUSE: f64 = 20.0;

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
pub fn initiate<E: Endpoint, P: Payload, C: Timeline>(
    end: &mut E,
    payload: &mut P,
    buffers: &mut Buffers,
    clock: C,
    (schedule, adherence): (&mut Schedule<C>, &mut Adherence),
    (samples, lateness): (&[AtomicU64], &mut [u64]),
) -> io::Result<()> {
    let (out, into) = buffers.split();
    // What is due already is begun when the answer before it is in: one stamp is both, as in a latency.
    let mut now = clock.now();
    for (sample, late) in samples.iter().zip(lateness) {
        let due = schedule.next_due();
        if now < due {
            end.enter(Phase::Paused)?;
            schedule.wait_until(due);
            now = clock.now();
        }
        *late = now.saturating_sub(due);
        adherence.begun(due, now);
        end.send_with(out, |message| payload.fill(message))?;
        end.recv_with(into, |message| payload.look(message))?;
        now = clock.now();
        sample.store(now.saturating_sub(due), Ordering::Relaxed);
        adherence.free(now);
    }
    Ok(())
}

/// The workload. It warms up with round trips, one after the other.
pub struct Rate {
    asked: WorkloadSpec,
    paced: Option<Paced>,
    work: Option<Work>,
    /// Untimed operations so far, over several connections.
    led: u64,
    /// The responder's way to wait for one of several connections, once it has begun.
    waiting: Option<Waiting>,
    /// The responder's threads, where each connection has one.
    threads: Option<Threads>,
    /// How far apart requests may come, until the responder's ends know.
    pause: Option<Duration>,
}

impl Timed for Rate {
    const WORKLOAD: Workload = Workload::Rate;
    const METRIC: &'static Metric = &METRIC;
    const LASTS_NS: Option<f64> = Some(LASTING_NS);

    fn new(asked: WorkloadSpec) -> Rate {
        let WorkloadSpec { load, clock, ns_per_tick, seed, .. } = asked;
        let work = Work::new(load.service, clock, ns_per_tick, seed);
        let threads = load.choice() == Some(Server::Threads);
        let threads = threads.then(|| Threads::new(asked.clone()));
        let pause = Some(longest_pause(&asked));
        Rate { asked, paced: None, work, led: 0, waiting: None, threads, pause }
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
        let (schedule, adherence) = (&mut paced.schedule, &mut paced.adherence);
        match self.asked.load.depth {
            1 => {
                let keeps = (schedule, adherence);
                initiate(*end, payload, buffers, *clock, keeps, (samples, lateness))?;
            }
            depth => {
                let (out, into) = buffers.split();
                let (clock, depth, first) = (*clock, depth as usize, paced.taken);
                let all = Pipelined {
                    payload,
                    out,
                    into,
                    clock,
                    schedule,
                    adherence,
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
        if let Some(pause) = self.pause.take() {
            sides.iter_mut().try_for_each(|side| side.end.bear_pauses(pause))?;
        }
        if let Some(threads) = &mut self.threads {
            return threads.serve(sides, self.work.as_ref(), samples * batch);
        }
        if let Some(server) = self.asked.load.choice() {
            let waiting = (server, &mut self.waiting);
            return server::serve(
                sides,
                waiting,
                &mut self.work,
                self.asked.one_cpu,
                samples * batch,
            );
        }
        match (&mut self.work, sides) {
            (Some(work), [one]) => {
                serve(one.end, &mut one.payload, &mut one.buffers, work, samples * batch)
            }
            (_, sides) => Latency.follow(sides, samples, batch),
        }
    }

    fn prepare_following(&mut self, lead: u64, operations: u64) {
        if let Some(threads) = &mut self.threads {
            threads.prepare(lead, operations);
        }
    }

    fn finish_following(&self, report: &mut WorkerReport) {
        match &self.threads {
            Some(threads) => {
                report.worked = threads.worked();
                report.usage = report.usage.with(&threads.used());
            }
            None => report.worked = Work::worked(&self.work),
        }
    }

    fn lead_many<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        operations: u64,
    ) -> io::Result<()> {
        let first = self.led;
        self.led += operations;
        lead(sides, first, operations)
    }

    fn time_many<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: &[AtomicU64],
        _batch: u64,
    ) -> io::Result<()> {
        let Some(Paced { schedule, taken, load, generators: Some(generators), .. }) =
            &mut self.paced
        else {
            return Ok(());
        };
        let (cpus, depth) = (&self.asked.generators, load.depth as usize);
        generators.exchange(sides, cpus, schedule, depth, (*taken, samples))?;
        *taken += samples.len();
        Ok(())
    }

    fn prepare(&mut self, samples: u64) {
        self.paced = Some(Paced::new(&self.asked, samples));
    }

    fn finish(&mut self, samples: &[AtomicU64], report: &mut WorkerReport) -> io::Result<()> {
        let Some(mut paced) = self.paced.take() else { return Ok(()) };
        if let Some(generators) = &paced.generators {
            generators.tell_lateness(&mut paced.lateness);
            report.usage = report.usage.with(&generators.used());
        }
        report.clients = paced.clients(samples);
        report.punctuality = paced.punctuality(samples);
        Ok(())
    }

    fn batch(_asked: u64, _estimate_ns: f64, _connections: u64) -> u64 {
        1
    }

    fn size(found: &Found) -> Size {
        Size::filling(LASTING_NS, found.operation_ns, 1.0)
    }
}

/// How far apart the requests of one connection may come.
fn longest_pause(asked: &WorkloadSpec) -> Duration {
    let Load { per_second, connections, .. } = asked.load;
    let burst_ns = match asked.arrivals {
        Arrivals::Bursts { every_ns, .. } => every_ns,
        Arrivals::Poisson | Arrivals::Constant => 0,
    };
    let mean = f64::from(connections) / per_second.max(1) as f64;
    Duration::from_secs_f64(LONGEST_PAUSE * mean) + Duration::from_nanos(burst_ns)
}

/// A schedule under way, carried on from stretch to stretch, and how late each message was begun.
struct Paced {
    schedule: Schedule,
    adherence: Adherence,
    lateness: Vec<u64>,
    taken: usize,
    load: Load,
    ns_per_tick: f64,
    /// What drives several connections.
    generators: Option<Generators>,
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
        let clients = asked.load.connections as usize;
        // Who shares a CPU with its partner sleeps: the partner needs it.
        let wait = if asked.one_cpu { Wait::Asleep } else { Wait::Spinning };
        let adherence = Adherence::new(offered, asked.ns_per_tick, wait);
        let generators = || {
            let assignment = Assignment::of(clients, &offered);
            Generators::new(assignment, asked.generators.len(), adherence)
        };
        Paced {
            schedule: Schedule::new(asked.clock, offered, asked.ns_per_tick, wait),
            adherence,
            lateness: vec![u64::MAX; samples as usize],
            taken: 0,
            load: asked.load,
            ns_per_tick: asked.ns_per_tick,
            generators: (clients > 1).then(generators),
        }
    }

    /// When the answer to a message was in.
    fn answered(&self, samples: &[AtomicU64], nth: usize) -> u64 {
        self.schedule.due(nth) + samples[nth].load(Ordering::Relaxed)
    }

    /// What became of each of several clients.
    fn clients(&self, samples: &[AtomicU64]) -> Option<Clients> {
        let (generators, last) = (self.generators.as_ref()?, self.taken.checked_sub(1)?);
        let times = (|nth| self.schedule.due(nth), |nth| self.answered(samples, nth));
        Some(generators.clients(times, self.schedule.due(last), self.ns_per_tick))
    }

    /// When a message was begun.
    fn begun(&self, nth: usize) -> u64 {
        self.schedule.due(nth) + self.lateness[nth]
    }

    /// The most messages that were under way at once on one connection: `answered` says when the answer to each
    /// was in.
    fn deepest(&self, answered: impl Fn(usize) -> u64) -> u32 {
        if let Some(generators) = &self.generators {
            return generators.deepest(|nth| self.begun(nth), answered);
        }
        let (mut deepest, mut done) = (0, 0);
        for nth in 0..self.taken {
            let begun = self.begun(nth);
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
        let late = self.lateness.iter().filter(|number| **number as f64 * scale > LATE_NS).count();
        let last = self.taken.checked_sub(1)?;
        // Of several connections another may be the last to begin one.
        let begun_last = (0..self.taken).map(|nth| self.begun(nth)).max()?;
        let behind = begun_last - self.schedule.due(last);
        let answered = |nth| self.answered(samples, nth);
        let deepest = self.deepest(answered);
        let due = self.schedule.lasts(self.taken);
        let begun = self.schedule.due(last) + behind - self.schedule.first();
        let per_second = |ticks: u64| match last {
            0 => self.load.per_second as f64, // one message is no rate
            others => others as f64 * 1e9 / (ticks as f64 * scale).max(1.0),
        };
        let spinning = self.generators.as_ref().filter(|_| self.schedule.waits() == Wait::Spinning);
        let first = self.schedule.first();
        let idle =
            spinning.and_then(|generators| generators.idle_share(first, |nth| self.begun(nth)));
        let (due_per_sec, served_per_sec) = (per_second(due), per_second(due.max(begun)));
        self.lateness.sort_unstable();
        let middle = self.lateness[self.lateness.len() / 2];
        Some(Punctuality {
            late: late as u64,
            median_ns: middle as f64 * scale,
            max_ns: *self.lateness.last()? as f64 * scale,
            due_per_sec,
            served_per_sec,
            deepest,
            sender_late: self.adherence.late()
                + self.generators.as_ref().map_or(0, Generators::late),
            held: self.generators.as_ref().map(Generators::held),
            idle,
            generators: self.generators.as_ref().map_or(1, Generators::count) as u32,
            tolerance_ns: self.adherence.tolerance() as f64 * scale,
        })
    }
}

#[cfg(test)]
mod tests;
