//! Gaps of a spin: how often, and for how long, the machine takes the CPU away from a thread
//! that never sleeps. Taken before and after a round, never beside a measurement.

use std::time::{Duration, Instant};

use model::noise::Gaps;

/// A pause of a spinning loop that counts as a gap: far above a clock read, below a time slice.
const GAP: Duration = Duration::from_micros(5);

/// Spins for `time` on whichever CPU the caller has.
pub fn spin_gaps(time: Duration) -> Gaps {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_fit_into_the_spin() {
        let gaps = spin_gaps(Duration::from_millis(2));
        assert!(gaps.spun_ns >= 2_000_000);
        assert!(gaps.longest_ns <= gaps.total_ns && gaps.total_ns <= gaps.spun_ns);
    }
}
