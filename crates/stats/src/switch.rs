//! Are launches exchangeable over rounds, or did the level change once?
//!
//! A machine that switches after round 6 gives twelve values in two heaps, which look like two
//! modes of a mechanism. Time comes first: the ranks of the values, in the order of the rounds,
//! are cut in two at every place, and the largest standardised difference of mean ranks is held
//! against what random orders of the same values give. Exact for any distribution, ties and all.

use std::collections::BTreeMap;
use std::sync::Mutex;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Launches on either side of a switch, at least.
const FEWEST_ASIDE: usize = 3;
/// Random orders that p is counted from, and places in them altogether: of many rounds fewer are drawn.
const ORDERS: usize = 200_000;
const PLACES: usize = 20_000_000;
/// Smaller differences aren't worth drawing orders for: one in ten of them has a larger one, whatever
/// the number of rounds.
const UNREMARKABLE: f64 = 2.2;

/// How values change over their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch {
    /// So many values come before the change.
    pub after: usize,
    /// A straight line fits the ranks better than one step does.
    pub drifts: bool,
    /// The probability of so large a change in values that are exchangeable.
    pub p: f64,
}

/// Tests values, in their order, for one change of level. `None` for fewer than 6 values, where all
/// are equal, or one is NaN; p is 1 where the change is plainly none.
pub fn switch(values: &[f64]) -> Option<Switch> {
    let n = values.len();
    if n < 2 * FEWEST_ASIDE || values.iter().any(|it| it.is_nan()) {
        return None;
    }
    let ranks = centered_ranks(values);
    let total: f64 = ranks.iter().map(|it| it * it).sum();
    if total == 0.0 {
        return None;
    }
    let (after, difference) = largest(&ranks);
    let p = if difference < UNREMARKABLE { 1.0 } else { exceeded(n, difference) };
    // Shares of the ranks' variance that a step and a line explain.
    let step = difference * difference / (n - 1) as f64;
    Some(Switch { after, drifts: explained_by_line(&ranks) > step, p })
}

/// Twice the ranks less their mean; mean ranks where values are equal.
pub fn centered_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|i, j| values[*i].total_cmp(&values[*j]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for tied in order.chunk_by(|i, j| values[*i] == values[*j]) {
        let rank = (2 * before + tied.len()) as f64 - values.len() as f64;
        tied.iter().for_each(|at| ranks[*at] = rank);
        before += tied.len();
    }
    ranks
}

/// After which place the mean ranks differ most, and by how many standard deviations.
fn largest(ranks: &[f64]) -> (usize, f64) {
    let n = ranks.len();
    let aside = FEWEST_ASIDE.max(n / 10);
    // The variance of a sum of k of them, without ties, which only lessen it: k (n - k) (n + 1) / 3.
    let unit = (n + 1) as f64 / 3.0;
    let mut sum = 0.0;
    let mut found = (aside, 0.0);
    for (k, rank) in (1..=n - aside).zip(ranks) {
        sum += rank;
        let squared = sum * sum / (unit * (k * (n - k)) as f64);
        if k >= aside && squared > found.1 {
            found = (k, squared);
        }
    }
    (found.0, found.1.sqrt())
}

/// The share of the variance of ranks that a straight line over their order explains.
fn explained_by_line(ranks: &[f64]) -> f64 {
    let middle = (ranks.len() - 1) as f64 / 2.0;
    let (mut across, mut along, mut total) = (0.0, 0.0, 0.0);
    for (at, rank) in ranks.iter().enumerate() {
        let x = at as f64 - middle;
        across += x * rank;
        along += x * x;
        total += rank * rank;
    }
    across * across / (along * total)
}

/// The share of random orders of `n` different values in which the largest difference is at least
/// `difference`; one more counts, which is the order that was seen.
fn exceeded(n: usize, difference: f64) -> f64 {
    static DRAWN: Mutex<BTreeMap<usize, Vec<f64>>> = Mutex::new(BTreeMap::new());
    // Nothing panics while it is held.
    let mut drawn = DRAWN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let sorted = drawn.entry(n).or_insert_with(|| random_orders(n));
    // Sums of the same ranks in another order may differ in their last digit.
    let as_large = sorted.len() - sorted.partition_point(|it| *it < difference - 1e-9);
    (as_large + 1) as f64 / (sorted.len() + 1) as f64
}

/// The largest differences in random orders, ascending; the same in every process.
fn random_orders(n: usize) -> Vec<f64> {
    let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
    let mut ranks: Vec<f64> = (0..n).map(|nth| (2 * nth + 1) as f64 - n as f64).collect();
    let mut found: Vec<f64> = (0..ORDERS.min(PLACES / n))
        .map(|_| {
            ranks.shuffle(&mut rng);
            largest(&ranks).1
        })
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    found
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    fn levels(first: usize, last: usize) -> Vec<f64> {
        let mut draw = Draw::seeded(1);
        let mut side = |n, level: f64| draw.many(n, |d| level + 0.1 * d.uniform());
        [side(first, 1.6), side(last, 0.7)].concat()
    }

    /// Of 12 in two halves without overlap, 2 in 924 orders are like this; of 18, 2 in 48,620.
    #[test]
    fn one_step_is_found_where_it_is_with_the_p_of_its_orders() {
        let found = switch(&levels(6, 6)).unwrap();
        assert_eq!((found.after, found.drifts), (6, false));
        assert!((found.p / (2.0 / 924.0) - 1.0).abs() < 0.15, "{found:?}");
        let found = switch(&levels(9, 9)).unwrap();
        assert_eq!(found.after, 9);
        assert!(found.p < 2.5 * 2.0 / 48_620.0, "{found:?}");
        assert_eq!(switch(&levels(4, 20)).unwrap().after, 4);
    }

    #[test]
    fn a_straight_line_drifts() {
        let line: Vec<f64> = (0..30).map(f64::from).collect();
        assert!(switch(&line).unwrap().drifts);
    }

    #[test]
    fn exchangeable_values_alarm_as_often_as_p_says_ties_or_not() {
        let mut draw = Draw::seeded(3);
        for (what, n) in [("ties", 20), ("none", 20), ("none", 40)] {
            const RUNS: usize = 3_000;
            let mut one = || {
                let value = draw.normal().exp();
                if what == "ties" { value.round() } else { value }
            };
            let alarms = (0..RUNS).filter(|_| {
                let values: Vec<f64> = (0..n).map(|_| one()).collect();
                switch(&values).is_some_and(|it| it.p <= 0.01)
            });
            let share = alarms.count() as f64 / RUNS as f64;
            assert!(share <= 0.01 + 3.0 * (0.0099 / RUNS as f64).sqrt(), "{what}, {n}: {share}");
        }
    }

    #[test]
    fn too_few_equal_or_unfit_values_show_nothing() {
        assert_eq!(switch(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
        assert_eq!(switch(&[7.0; 12]), None);
        assert_eq!(switch(&[1.0, 2.0, 3.0, f64::NAN, 5.0, 6.0]), None);
    }
}
