//! Launches that are timed in turns: how their samples are cut into cycles, and what they took in each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cycles of launches that take turns, unless the user says otherwise.
pub const CYCLES: u64 = 20;
/// Most of them.
pub const MOST_CYCLES: u64 = 1000;

/// How a launch was timed: in slices, in turns with the other launches of its set, each cycle in an order of its own.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Turns {
    /// Cycles; [`slices`] says which samples are of which.
    pub cycles: u64,
    /// The set of its round, from 0: launches of the same set took turns.
    pub set: u64,
    /// What a trivial system call (getppid) took right before each of its slices, in ns: how fast the machine was.
    pub call_ns: Vec<f64>,
}

/// The samples of each cycle, of so many that are cut into `cycles` as equal as can be; none in some of more cycles
/// than samples, and never more than [`MOST_CYCLES`].
pub fn slices(samples: u64, cycles: u64) -> impl Iterator<Item = std::ops::Range<u64>> {
    let cycles = cycles.clamp(1, MOST_CYCLES);
    let end = move |nth: u64| (u128::from(samples) * u128::from(nth) / u128::from(cycles)) as u64;
    (0..cycles).map(move |nth| end(nth)..end(nth + 1))
}

/// One launch, cycle by cycle.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Cycles {
    /// The set of its round: launches of the same set took turns.
    set: u64,
    /// Median of the samples of each cycle, in ns per operation; None of a cycle in which it had none.
    ns: Vec<Option<f64>>,
}

impl Cycles {
    /// The `samples` of a launch in their order, which took such `turns`; `scale` makes ns per operation of them.
    pub fn of(samples: &[u64], turns: &Turns, scale: f64) -> Cycles {
        let median = |of: std::ops::Range<u64>| {
            let mut slice = samples[of.start as usize..of.end as usize].to_vec();
            slice.sort_unstable();
            (!slice.is_empty()).then(|| stats::mid_quantile(&slice, 0.5) * scale)
        };
        let ns = slices(samples.len() as u64, turns.cycles).map(median).collect();
        Cycles { set: turns.set, ns }
    }

    /// The set of its round, and what it took in each cycle, in ns per operation.
    pub fn in_set(&self) -> (u64, Vec<Option<f64>>) {
        (self.set, self.ns.clone())
    }

    /// The log of how many times as long this launch took as another one of its round: the median over the cycles in
    /// which both were timed. None where they took no turns with each other.
    pub fn log_ratio(&self, other: &Cycles) -> Option<f64> {
        if self.set != other.set || self.ns.len() != other.ns.len() {
            return None;
        }
        let both = self.ns.iter().zip(&other.ns).filter_map(|(a, b)| (*a).zip(*b));
        stats::median_of(both.map(|(a, b)| (a / b).ln()).filter(|value| value.is_finite()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::MOST_SAMPLES;

    #[test]
    fn slices_are_as_equal_as_can_be_and_hold_every_sample_once() {
        let of = |samples, cycles| slices(samples, cycles).collect::<Vec<_>>();
        assert_eq!(of(10, 4), [0..2, 2..5, 5..7, 7..10]);
        assert_eq!(of(2, 4), [0..0, 0..1, 1..1, 1..2]);
        assert!([0, 1].iter().all(|whole| of(3, *whole).iter().eq(std::iter::once(&(0..3)))));
        assert_eq!(of(5, u64::MAX).len() as u64, MOST_CYCLES);
        assert_eq!(of(MOST_SAMPLES, 20).last(), Some(&(9_500_000..MOST_SAMPLES)));
    }

    fn cycles(samples: &[u64], cycles: u64, set: u64) -> Cycles {
        Cycles::of(samples, &Turns { cycles, set, ..Turns::default() }, 1.0)
    }

    #[test]
    fn a_disturbance_that_lasts_for_cycles_leaves_the_ratio() {
        // The third cycle took ten times as long for both.
        let a = cycles(&[20, 20, 20, 20, 200, 200, 20, 20], 4, 0);
        let b = cycles(&[10, 10, 10, 10, 100, 100, 10, 10], 4, 0);
        let found = a.log_ratio(&b).unwrap();
        assert!((found - 2f64.ln()).abs() < 1e-12, "{found}");
        assert_eq!(b.log_ratio(&a), Some(-found));
    }

    #[test]
    fn a_launch_of_fewer_samples_than_cycles_is_compared_where_it_was_timed() {
        let few = cycles(&[30, 60], 4, 0);
        let many = cycles(&[1, 10, 1, 20], 4, 0);
        // In the second and in the last cycle.
        assert!((few.log_ratio(&many).unwrap() - 3f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn launches_that_took_no_turns_with_each_other_have_no_such_ratio() {
        let one = cycles(&[10, 10], 2, 0);
        assert_eq!(one.log_ratio(&cycles(&[10, 10], 2, 1)), None);
        assert_eq!(one.log_ratio(&cycles(&[10, 10], 1, 0)), None);
    }
}
