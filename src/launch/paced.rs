//! The timed part of a rate: its schedule, carried on from stretch to stretch, and how late each
//! message was begun.

use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::set_current_timer_slack;
use serde::{Deserialize, Serialize};

use super::loops::Loops;
use super::spec::Spec;
use crate::workload::schedule::{Schedule, Wait};

/// What is on time, in ns: the clock's steps, and a wait that ends between two of them.
const ON_TIME_NS: f64 = 1_000.0;

/// How well a launch kept its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Punctuality {
    /// Messages begun more than 1 µs after they were due.
    pub late: u64,
    /// Median of how late they were begun, in ns.
    pub median_ns: f64,
    /// Largest of it, in ns.
    pub max_ns: f64,
    /// Messages answered per second, from when the first was due to the last answer, or to when one
    /// more was due if that is later.
    pub served_per_sec: f64,
}

/// A schedule under way.
pub struct Paced {
    schedule: Schedule,
    lateness: Vec<u64>,
    taken: usize,
    response: u64,
    ns_per_tick: f64,
}

impl Paced {
    /// Makes ready for so many messages; their room is touched.
    pub fn new(spec: &Spec, samples: u64) -> Paced {
        // A sleeper wakes up to 50 µs late by default, for the sake of power.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        let rate = spec.rate.unwrap_or(1);
        Paced {
            schedule: Schedule::new(spec.clock, rate, spec.ns_per_tick, wait(spec)),
            lateness: vec![u64::MAX; samples as usize],
            taken: 0,
            response: 0,
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
        self.response = samples.last().map_or(0, |it| it.load(Ordering::Relaxed));
        Ok(())
    }

    /// What came of it; none before the first message.
    pub fn end(mut self) -> Option<Punctuality> {
        let scale = self.ns_per_tick;
        let late = self.lateness.iter().filter(|it| **it as f64 * scale > ON_TIME_NS).count();
        let last = self.schedule.due(self.taken.checked_sub(1)? as u64);
        // Whoever keeps up serves a message a period, the last one's included.
        let end = self.schedule.due(self.taken as u64).max(last + self.response);
        let took = (end - self.schedule.first()) as f64 * scale;
        self.lateness.sort_unstable();
        let middle = self.lateness[self.lateness.len() / 2];
        Some(Punctuality {
            late: late as u64,
            median_ns: middle as f64 * scale,
            max_ns: *self.lateness.last()? as f64 * scale,
            served_per_sec: self.taken as f64 * 1e9 / took.max(1.0),
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
