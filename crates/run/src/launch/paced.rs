//! The timed part of a rate: its schedule, carried on from stretch to stretch, and how late each
//! message was begun.

use model::launch::Punctuality;
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::set_current_timer_slack;

use super::loops::Loops;
use super::spec::Spec;
use mechanisms::workload::schedule::{Load, Schedule, Wait};

/// What is on time, in ns: the clock's steps, and a wait that ends between two of them.
const ON_TIME_NS: f64 = 1_000.0;

/// A schedule under way.
pub struct Paced {
    schedule: Schedule,
    lateness: Vec<u64>,
    taken: usize,
    per_second: u64,
    ns_per_tick: f64,
}

impl Paced {
    /// Makes ready for so many messages; their room is touched, and when each is due is drawn.
    pub fn new(spec: &Spec, samples: u64) -> Paced {
        // A sleeper wakes up to 50 µs late by default, for the sake of power.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let load = Load {
            arrivals: spec.arrivals,
            per_second: spec.rate.unwrap_or(1),
            messages: samples,
            seed: spec.seed,
        };
        Paced {
            schedule: Schedule::new(spec.clock, load, spec.ns_per_tick, wait(spec)),
            lateness: vec![u64::MAX; samples as usize],
            taken: 0,
            per_second: load.per_second,
            ns_per_tick: spec.ns_per_tick,
        }
    }

    /// Fills `samples`, the next ones.
    pub fn fill(&mut self, loops: &mut dyn Loops, samples: &[AtomicU64]) -> io::Result<()> {
        if self.taken == 0 {
            self.schedule.begin();
        }
        let lateness = &mut self.lateness[self.taken..self.taken + samples.len()];
        loops.responses(&mut self.schedule, samples, lateness)?;
        self.taken += samples.len();
        Ok(())
    }

    /// What came of it, `samples` being all that were filled; none before the first message.
    pub fn end(mut self, samples: &[AtomicU64]) -> Option<Punctuality> {
        let scale = self.ns_per_tick;
        let late = self.lateness.iter().filter(|it| **it as f64 * scale > ON_TIME_NS).count();
        let last = self.taken.checked_sub(1)?;
        let behind = self.lateness[last];
        let answered = |nth: usize| self.schedule.due(nth) + samples[nth].load(Ordering::Relaxed);
        let waited = |nth: &usize| *nth == 0 || answered(nth - 1) < self.schedule.due(*nth);
        let own = (0..self.taken).rev().find(waited).map_or(0, |nth| self.lateness[nth]);
        let due = self.schedule.due(last) - self.schedule.first();
        let per_second = |ticks: u64| match last {
            0 => self.per_second as f64, // one message is no rate
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
        })
    }
}

/// Who shares a CPU with its partner sleeps. Where only the numbers are alike, of CPUs of two hosts,
/// it sleeps too: two network stacks of one machine are hosts as well.
fn wait(spec: &Spec) -> Wait {
    let alone = std::thread::available_parallelism().is_ok_and(|it| it.get() == 1);
    let one_cpu = match (spec.initiator_cpu, spec.responder_cpu) {
        (Some(initiator), Some(responder)) => initiator == responder,
        _ => alone && spec.half.is_none(),
    };
    if one_cpu { Wait::Asleep } else { Wait::Spinning }
}
