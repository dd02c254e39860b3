//! When a group of launches is looked at, and how much error each look may spend.
//!
//! A group goes on until its intervals are narrow enough. Looking again and again at the
//! ordinary 95 % interval and stopping when it pleases makes it cover far less than 95 %. So
//! looks are taken only at fixed numbers of launches, and their ranks are chosen together:
//! the intervals of *all* looks cover the true median at once with at least 95 %. Whichever
//! look a group closes at, for whatever reason, then has at least that coverage.

use super::interval::{Interval, between_ranks};

/// The numbers of launches at which a group is looked at.
pub const LOOKS: [usize; 5] = [12, 20, 30, 50, 100];

/// The probability that any look's interval misses, over all looks.
pub const TOTAL_ERROR: f64 = 0.05;

/// The lower rank at each look; the upper one is its mirror image.
///
/// Many choices have a joint error below 5 %. This one spends most of it early, because most
/// cases close at 12 or 20 launches: at 12 it is the ordinary single-look interval (ranks 3
/// and 10), and at 20 and 30 it is as narrow as under an equal split. An equal split of 1 % a
/// look with carry-over gives the lower ranks 2, 5, 8, 17 and 37: for normal launches its
/// interval at 12 is 39 % wider (ranks 2 and 11), and in exchange those at 50 and 100 are 20 %
/// and 8 % narrower.
const LOW_RANKS: [usize; LOOKS.len()] = [3, 5, 8, 15, 36];

/// One look: the ranks of the interval, and what it costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Launches at this look.
    pub launches: usize,
    /// Rank of the lower end among the sorted values, counted from 1.
    pub low_rank: usize,
    /// Rank of the upper end.
    pub high_rank: usize,
    /// The probability that this interval misses the median and no earlier one did.
    pub error: f64,
    /// The probability that this or any earlier interval misses; at most [`TOTAL_ERROR`].
    pub spent: f64,
}

impl Look {
    /// The median of `values` (in any order) with the interval of this look; its coverage is
    /// that of this and all earlier looks together, so a reader may hold it against any.
    ///
    /// `None` when the number of values is not [`Look::launches`] or one is NaN.
    pub fn interval(&self, values: &[f64]) -> Option<Interval> {
        if values.len() != self.launches {
            return None;
        }
        between_ranks(values, self.low_rank, self.high_rank, 1.0 - self.spent)
    }
}

/// The looks a group passes, in order.
///
/// The errors are exact, not bounds. The number of launches below the true median is a fair
/// random walk whatever the distribution, and an interval misses when the walk is below its
/// lower rank or has reached its upper one; `error` is the probability of the first such miss. These
/// events exclude each other, so their sum is the probability of any miss. (Values tied with
/// the median can only help.) The device is that of Armitage, McPherson and Rowe (1969),
/// "Repeated significance tests on accumulating data", applied to the sign test.
pub fn schedule() -> Vec<Look> {
    let mut walk = Walk::new();
    let mut spent = 0.0;
    let take = |(&launches, &low_rank): (&usize, &usize)| {
        walk.advance_to(launches);
        let error = walk.miss(low_rank);
        spent += error;
        Look { launches, low_rank, high_rank: launches + 1 - low_rank, error, spent }
    };
    LOOKS.iter().zip(&LOW_RANKS).map(take).collect()
}

/// The look at a group that ends with `n` launches because its budget did, or because `n` was
/// fixed beforehand: it spends all that is left of [`TOTAL_ERROR`].
///
/// `spent_before` is [`Look::spent`] of the last look that was taken, or 0 when none was (a
/// fixed number of launches). `n` must not depend on the values. `None` when no ranks fit
/// (`n` < 6), or nothing is left to spend.
pub fn final_look(n: usize, spent_before: f64) -> Option<Look> {
    let mut walk = Walk::new();
    // The looks that make up `spent_before`: their misses are already paid for.
    let taken = |look: &Look| look.launches < n && look.spent <= spent_before * (1.0 + 1e-9);
    for look in schedule().into_iter().filter(taken) {
        walk.advance_to(look.launches);
        walk.miss(look.low_rank);
    }
    walk.advance_to(n);

    let left = TOTAL_ERROR - spent_before;
    let mut chosen = None;
    for low_rank in 1..=n.div_ceil(2) {
        let error = walk.missing(low_rank);
        if error > left {
            break;
        }
        chosen = Some((low_rank, error));
    }
    let (low_rank, error) = chosen?;
    let spent = spent_before + error;
    Some(Look { launches: n, low_rank, high_rank: n + 1 - low_rank, error, spent })
}

/// The next look for a group that has `n` launches; `None` after the last.
pub fn next_look(n: usize) -> Option<usize> {
    LOOKS.into_iter().find(|&look| look > n)
}

/// The fair walk of the number of launches below the true median.
struct Walk {
    /// `below[k]`: probability of `k` launches below, and no interval that missed so far.
    below: Vec<f64>,
}

impl Walk {
    fn new() -> Self {
        Walk { below: vec![1.0] }
    }

    fn advance_to(&mut self, launches: usize) {
        while self.below.len() <= launches {
            let mut after = 0.0;
            for here in &mut self.below {
                let before = *here;
                *here = (before + after) / 2.0;
                after = before;
            }
            self.below.push(after / 2.0);
        }
    }

    /// The probability that the interval from this rank misses now and none did before.
    fn missing(&self, low_rank: usize) -> f64 {
        let first_above = self.below.len() - low_rank;
        self.below[..low_rank].iter().chain(&self.below[first_above..]).sum()
    }

    /// [`Walk::missing`], and takes what missed out of the walk.
    fn miss(&mut self, low_rank: usize) -> f64 {
        let error = self.missing(low_rank);
        let first_above = self.below.len() - low_rank;
        self.below[..low_rank].fill(0.0);
        self.below[first_above..].fill(0.0);
        error
    }
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::super::interval::median_ranks;
    use super::*;

    #[test]
    fn the_schedule_spends_at_most_five_percent() {
        let looks = schedule();
        assert_eq!(looks.iter().map(|l| l.launches).collect::<Vec<_>>(), LOOKS);
        let sum: f64 = looks.iter().map(|look| look.error).sum();
        assert!((looks[4].spent - sum).abs() < 1e-15);
        assert!(sum <= TOTAL_ERROR, "{sum}");
        // One rank narrower at the last look would be too much.
        assert!(final_look(100, looks[3].spent).unwrap().low_rank == looks[4].low_rank);
    }

    #[test]
    fn the_first_look_is_the_ordinary_interval() {
        let first = schedule()[0];
        assert_eq!((first.low_rank, first.high_rank), (3, 10));
        assert!((first.spent - 158.0 / 4096.0).abs() < 1e-15);
    }

    #[test]
    fn a_fixed_number_of_launches_has_the_single_look_ranks() {
        for n in (0..=130).chain([1000, 2500]) {
            let look = final_look(n, 0.0).map(|look| (look.low_rank, look.high_rank));
            let ranks = median_ranks(n, TOTAL_ERROR).map(|(low, high, _)| (low, high));
            assert_eq!(look, ranks, "n = {n}");
        }
    }

    #[test]
    fn a_spent_budget_has_no_final_look() {
        assert_eq!(final_look(40, TOTAL_ERROR + 1e-9), None);
        let looks = schedule();
        for n in 13..100 {
            let before = looks.iter().rfind(|look| look.launches < n).unwrap().spent;
            let look = final_look(n, before).unwrap();
            assert!(look.spent <= TOTAL_ERROR && look.low_rank >= 3, "{look:?}");
        }
    }

    #[test]
    fn the_next_look_is_the_next_larger() {
        assert_eq!(next_look(0), Some(12));
        assert_eq!(next_look(12), Some(20));
        assert_eq!(next_look(99), Some(100));
        assert_eq!(next_look(100), None);
    }

    #[test]
    fn an_interval_wants_exactly_its_launches() {
        let look = schedule()[0];
        assert_eq!(look.interval(&[1.0; 11]), None);
        assert_eq!(look.interval(&[f64::NAN; 12]), None);
        assert_eq!(look.interval(&[1.0; 12]).unwrap().coverage, 1.0 - look.spent);
    }

    /// Runs that stop as soon as they like: how often does any look so far miss `truth`?
    fn misses_by_look(truth: f64, seed: u64, mut one: impl FnMut(&mut Draw) -> f64) -> Vec<f64> {
        const RUNS: usize = 4000;
        let looks = schedule();
        let mut draw = Draw::seeded(seed);
        let mut missed = vec![0; looks.len()];
        for _ in 0..RUNS {
            let values = draw.many(100, &mut one);
            let first = looks.iter().position(|look| {
                let interval = look.interval(&values[..look.launches]).unwrap();
                truth < interval.low || truth > interval.high
            });
            first.into_iter().for_each(|first| missed[first..].iter_mut().for_each(|m| *m += 1));
        }
        missed.into_iter().map(|m| m as f64 / RUNS as f64).collect()
    }

    fn assert_spends_as_scheduled(misses: Vec<f64>) {
        for (look, missed) in schedule().iter().zip(misses) {
            // Three and a half standard errors of 4000 runs.
            let slack = 3.5 * (look.spent * (1.0 - look.spent) / 4000.0).sqrt();
            assert!((missed - look.spent).abs() < slack, "{missed} missed at {look:?}");
        }
    }

    #[test]
    fn looks_cover_log_normal_launches() {
        assert_spends_as_scheduled(misses_by_look(1.0, 1, |draw| (0.4 * draw.normal()).exp()));
    }

    #[test]
    fn looks_cover_launches_with_two_modes() {
        // 70 % of launches around 100: the median is their 5/7-quantile, z = 0.565949.
        let truth = 100.0 * (0.05f64 * 0.565_948_821_932_863).exp();
        assert_spends_as_scheduled(misses_by_look(truth, 2, |draw| draw.bimodal(0.3, 0.05)));
    }
}
