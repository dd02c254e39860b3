//! What a round measures beside its launches, so that they are compared with the machine of that moment.
//!
//! Right before the first launch of a round, where that is as settled as its launches. In the first six
//! rounds of each group, which an interval needs; later as often as 3 % of the run's time allow.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{LiveCase, LiveGroup};
use crate::floor::Rounds;
use crate::launch::Interrupt;
use model::bound::{Beside, RoundBound};
use workload::metric;

/// Rounds of each group in which bounds are measured whatever it costs.
const ALWAYS: u64 = 6;
/// Share of the run's time that they may take.
const SHARE: f64 = 0.03;

/// The bounds of the round under way, and who measures them.
#[derive(Default)]
pub(super) struct Bounds {
    process: Option<Rounds>,
    /// Why there are none any more, and whether that was reported.
    lost: Option<String>,
    reported: bool,
    wanted: Vec<Beside>,
    found: Vec<RoundBound>,
    spent: Duration,
}

impl Bounds {
    /// Asks for what fits the cases of `group` in its next round; `measured` is the run's time so far.
    pub(super) fn ask(&mut self, group: &LiveGroup, measured: Duration) {
        let due =
            group.rounds < ALWAYS || self.spent.as_secs_f64() < SHARE * measured.as_secs_f64();
        if self.lost.is_some() || !due {
            return;
        }
        let of = group.results().filter(|live| !live.given_up).filter_map(LiveCase::beside);
        self.wanted = of.collect::<BTreeSet<_>>().into_iter().collect();
        if self.process.is_none() && !self.wanted.is_empty() {
            match Rounds::start() {
                Ok(process) => self.process = Some(process),
                Err(why) => self.lost = Some(why),
            }
        }
    }

    pub(super) fn measure(&mut self, interrupt: &Interrupt) {
        let wanted = std::mem::take(&mut self.wanted);
        let (Some(process), false) = (&mut self.process, wanted.is_empty()) else { return };
        let began = Instant::now();
        match process.measure(&wanted, interrupt) {
            Ok(found) => self.found = found,
            Err(why) => {
                self.process = None;
                self.lost = Some(why);
            }
        }
        self.spent += began.elapsed();
    }

    /// Why there are none any more, once.
    pub(super) fn lost_now(&mut self) -> Option<String> {
        let first = !std::mem::replace(&mut self.reported, self.lost.is_some());
        self.lost.clone().filter(|_| first)
    }

    pub(super) fn take(&mut self) -> Vec<RoundBound> {
        std::mem::take(&mut self.found)
    }
}

impl LiveCase {
    /// What it is compared with, in this machine.
    fn beside(&self) -> Option<Beside> {
        let case = &self.case;
        let carries = case.variant.traits().carries;
        if carries.is_control() || !case.route.is_local() {
            return None;
        }
        let (spins, cpus) = (case.variant.busy_waits(), case.place.cpus);
        let message = case.message_bytes.map(|bytes| (bytes, case.align));
        Beside::of(metric(case.workload, carries), spins, cpus, message)
    }
}
