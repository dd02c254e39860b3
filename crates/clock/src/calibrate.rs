//! Calibration: cost and smallest step of each clock, the scale of the chosen one, and how far
//! it drifts from the system's clocks over a run.

use model::clock::{Anchor, ClockKind, Reading, Record, TscUnavailable};
use rustix::time::ClockId;

use super::{Clock, MonotonicRaw, Now, Tsc, system_ns};

/// Reads the clocks 50 times and keeps the reading least disturbed.
pub fn anchor(kind: ClockKind) -> Anchor {
    let read = || {
        let before = kind.now();
        let raw_ns = system_ns(ClockId::MonotonicRaw);
        let monotonic_ns = system_ns(ClockId::Monotonic);
        let after = kind.now();
        (after - before, Anchor { ticks: before.midpoint(after), raw_ns, monotonic_ns })
    };
    (0..50).map(|_| read()).min_by_key(|(gap, _)| *gap).expect("fifty readings").1
}

/// Measures the clocks of this machine: about 30 ms, most of it to find the scale.
pub fn measure(kind: ClockKind, tsc_unavailable: Option<TscUnavailable>) -> (Anchor, Record) {
    let start = anchor(kind);
    let mut raw = vec![
        ("monotonic_raw", reading::<MonotonicRaw>(), true),
        ("monotonic", reading::<Steered>(), true),
    ];
    if kind == ClockKind::Tsc {
        raw.insert(0, ("tsc", reading::<Tsc>(), false));
    }
    while system_ns(ClockId::MonotonicRaw) - start.raw_ns < 25_000_000 {
        std::hint::spin_loop();
    }
    let ns_per_tick = start.ns_per_tick(&anchor(kind));
    let readings: Vec<Reading> = raw
        .into_iter()
        .map(|(name, (cost, step), in_ns)| {
            let scale = if in_ns { 1.0 } else { ns_per_tick };
            Reading { clock: name.into(), cost_ns: cost * scale, step_ns: step * scale }
        })
        .collect();
    let (cost_ns, step_ns) = (readings[0].cost_ns, readings[0].step_ns);
    let record = Record {
        kind,
        tsc_unavailable,
        cost_ns,
        step_ns,
        ns_per_tick,
        drift_ppm: None,
        monotonic_ppm: None,
        readings,
    };
    (start, record)
}

/// CLOCK_MONOTONIC, for comparison only.
struct Steered;

impl Clock for Steered {
    fn now() -> u64 {
        system_ns(ClockId::Monotonic)
    }
}

/// Cost (median over 200 batches of 100 reads) and smallest non-zero step, in ticks.
fn reading<C: Clock>() -> (f64, f64) {
    let mut costs: Vec<u64> = (0..200)
        .map(|_| {
            let start = C::now();
            for _ in 0..99 {
                std::hint::black_box(C::now());
            }
            C::now() - start
        })
        .collect();
    costs.sort_unstable();
    let mut last = C::now();
    let steps = (0..20_000).map(|_| {
        let now = C::now();
        now - std::mem::replace(&mut last, now)
    });
    let step = steps.filter(|step| *step > 0).min().unwrap_or(1);
    (costs[costs.len() / 2] as f64 / 100.0, step as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_scale_is_that_of_the_system_clock() {
        let (kind, why) = super::super::choose(Path::new("/"));
        let (start, mut record) = measure(kind, why);
        std::thread::sleep(std::time::Duration::from_millis(20));
        record.conclude(&start, &anchor(kind));
        assert!(record.cost_ns > 0.0 && record.step_ns > 0.0 && record.ns_per_tick > 0.0);
        assert!(record.drift_ppm.unwrap().abs() < 10_000.0, "{record:?}");
    }

    #[test]
    fn anchors_give_scale_and_steering() {
        let start = Anchor { ticks: 0, raw_ns: 0, monotonic_ns: 0 };
        let end = Anchor { ticks: 2_600, raw_ns: 1_000, monotonic_ns: 1_001 };
        assert!((start.ns_per_tick(&end) - 1.0 / 2.6).abs() < 1e-12);
        assert!((start.steering_ppm(&end) - 1_000.0).abs() < 1e-6);
    }
}
