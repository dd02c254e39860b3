//! What launches took that were timed in turns, cycle by cycle.

use crate::launch::{Turns, slices};
use serde::Serialize;

/// One launch, cycle by cycle.
#[derive(Clone, Debug, PartialEq, Serialize)]
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

    /// The log of how many times as long this launch took as another one of its round: the median over the cycles in
    /// which both were timed. None where they took no turns with each other.
    pub fn log_ratio(&self, other: &Cycles) -> Option<f64> {
        if self.set != other.set || self.ns.len() != other.ns.len() {
            return None;
        }
        let both = self.ns.iter().zip(&other.ns).filter_map(|(a, b)| (*a).zip(*b));
        stats::median_of(both.map(|(a, b)| (a / b).ln()).filter(|it| it.is_finite()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
