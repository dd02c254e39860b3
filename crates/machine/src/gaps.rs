//! Gaps of a spin: how often, and for how long, the machine takes the CPU away from a thread
//! that never sleeps. Taken before and after a round, never beside a measurement.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::doctor::{CpuFrequency, Mark};
use super::{Noise, RoundBound};

/// A pause of a spinning loop that counts as a gap: far above a clock read, below a time slice.
const GAP: Duration = Duration::from_micros(5);

/// What a spin noticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gaps {
    /// Length of the spin, in ns.
    pub spun_ns: u64,
    /// Gaps longer than 5 µs.
    pub count: u64,
    /// Their sum, in ns.
    pub total_ns: u64,
    /// The longest, in ns.
    pub longest_ns: u64,
}

/// What a round noticed of the machine around it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundNoise {
    /// The kernel's counters over the round, on the CPUs used.
    pub counters: Noise,
    /// A spin before the round.
    pub before: Gaps,
    /// A spin after it.
    pub after: Gaps,
    /// What the doctor's checks noticed. Empty in what was stored before they ran.
    #[serde(default)]
    pub marks: Vec<Mark>,
    /// The clock rates of the CPUs used, where they can be read.
    #[serde(default)]
    pub frequencies: Vec<CpuFrequency>,
    /// What it measured right before its first launch, to hold them against.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<RoundBound>,
    /// The session of the run in which the round was measured, from 1.
    #[serde(default)]
    pub session: u64,
    /// Whether others forked during at least half of its launches; nothing is told by set-ups, which may
    /// fork themselves.
    #[serde(default)]
    pub forks: bool,
}

impl RoundNoise {
    /// What others did during the round, by the names of the checks that noticed; None where nothing was.
    ///
    /// The one place that says which rounds are marked. A mark is of what others did: a check of the
    /// doctor that found something amiss (steal, others' CPU time, device interrupts, a quota, clock rates
    /// that somebody changed), or forks that were nobody's of ours. No measured value has a part in it.
    pub fn marked(&self) -> Option<String> {
        let mut why: Vec<&str> = self.marks.iter().map(|mark| &*mark.check).collect();
        why.extend(self.forks.then_some("forks"));
        (!why.is_empty()).then(|| why.join(", "))
    }
}

impl Gaps {
    /// Spins for `time` on whichever CPU the caller has.
    pub fn spin(time: Duration) -> Gaps {
        let started = Instant::now();
        let mut gaps = Gaps::default();
        let mut last = started;
        while last.duration_since(started) < time {
            let now = Instant::now();
            let pause = now.duration_since(last);
            if pause > GAP {
                let ns = pause.as_nanos() as u64;
                gaps.count += 1;
                gaps.total_ns += ns;
                gaps.longest_ns = gaps.longest_ns.max(ns);
            }
            last = now;
        }
        gaps.spun_ns = last.duration_since(started).as_nanos() as u64;
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_fit_into_the_spin() {
        let gaps = Gaps::spin(Duration::from_millis(2));
        assert!(gaps.spun_ns >= 2_000_000);
        assert!(gaps.longest_ns <= gaps.total_ns && gaps.total_ns <= gaps.spun_ns);
    }

    #[test]
    fn rounds_stored_before_there_were_marks_are_read() {
        let spin = r#"{"spun_ns":1,"count":0,"total_ns":0,"longest_ns":0}"#;
        let counters =
            r#"{"interrupts":1,"softirqs":1,"forks":0,"context_switches":1,"steal_ticks":2}"#;
        let stored = format!(r#"{{"counters":{counters},"before":{spin},"after":{spin}}}"#);
        let round: RoundNoise = serde_json::from_str(&stored).unwrap();
        assert_eq!((round.counters.steal_ticks, round.marks.len()), (Some(2), 0));
    }
}
