//! Screening: which cases go on once all have had their first rounds.
//!
//! The quickest go on, and what may be as quick: of each class, of all in it and of those that sleep while they wait. What is dropped lies beyond the third, not the first: the first of
//! many is one that was lucky.

use std::collections::BTreeSet;

use crate::mechanism::Class;

/// Rounds of all cases that decide it.
pub const ROUNDS: usize = 4;
/// So many of the quickest go on in any case.
const QUICKEST: usize = 3;
/// What took more than so many times as long as the last of them, in all of these rounds, is dropped.
const BEYOND: f64 = 1.3;

#[derive(Clone, Debug)]
pub struct Screened {
    /// Time per operation of its first launches, by round; None where one failed.
    pub launches: Vec<Option<f64>>,
    /// Cases of one class are rivals.
    pub class: Class,
    /// Whether it busy-waits.
    pub spins: bool,
    /// Whether it goes on whatever it took: others are compared with it.
    pub stays: bool,
}

pub fn contenders(cases: &[Screened]) -> Vec<bool> {
    chosen(cases, |rivals, last| {
        rivals.iter().copied().filter(|at| !is_beyond(&cases[*at], last)).collect()
    })
}

/// The quickest alone, of each class and of those of it that sleep.
pub fn front(cases: &[Screened]) -> Vec<bool> {
    chosen(cases, |rivals, _| quickest(cases, rivals).into_iter().take(QUICKEST).collect())
}

/// What stays in any case; of each class, and of those of it that sleep, what `choose` says of where its members stand and of
/// the last of the quickest; all where they are no more than these.
fn chosen(cases: &[Screened], choose: impl Fn(&[usize], &Screened) -> Vec<usize>) -> Vec<bool> {
    let mut on: Vec<bool> =
        cases.iter().map(|case| case.stays || case.class == Class::Control).collect();
    for class in cases.iter().map(|case| case.class).collect::<BTreeSet<_>>() {
        for all in [true, false] {
            let is_rival = |case: &Screened| case.class == class && (all || !case.spins);
            let rivals: Vec<usize> = (0..cases.len()).filter(|at| is_rival(&cases[*at])).collect();
            let last = quickest(cases, &rivals).get(QUICKEST - 1).map(|at| &cases[*at]);
            let named = last.map_or(rivals.clone(), |last| choose(&rivals, last));
            named.into_iter().for_each(|at| on[at] = true);
        }
    }
    on
}

/// Those of the cases at `rivals` of which something was measured, the smallest median first.
pub fn quickest(cases: &[Screened], rivals: &[usize]) -> Vec<usize> {
    let median =
        |case: &Screened| stats::median_of(case.launches.iter().take(ROUNDS).flatten().copied());
    let known = rivals.iter().filter_map(|at| Some((*at, median(&cases[*at])?)));
    let mut known: Vec<(usize, f64)> = known.collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    known.into_iter().map(|pair| pair.0).collect()
}

/// Whether it was slower in every one of the rounds; not where one is missing.
fn is_beyond(case: &Screened, last: &Screened) -> bool {
    let slower = |(case, last): (&Option<f64>, &Option<f64>)| match (case, last) {
        (Some(case), Some(last)) => *case > BEYOND * last,
        _ => false,
    };
    let rounds = case.launches.iter().zip(&last.launches).take(ROUNDS);
    rounds.len() == ROUNDS && rounds.into_iter().all(slower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(launches: [f64; 4], class: Class, spins: bool) -> Screened {
        Screened { launches: launches.map(Some).to_vec(), class, spins, stays: false }
    }

    #[test]
    fn what_was_slower_in_every_round_is_dropped_among_its_own_class() {
        let even = |ns: f64| [ns, 1.1 * ns, 0.9 * ns, ns];
        let bytes = |ns, spins| case(even(ns), Class::Copying, spins);
        let mut cases = vec![
            bytes(1.0, true),
            bytes(1.5, true),
            bytes(2.0, true),
            bytes(2.5, true),
            bytes(2.7, true),
            bytes(5.0, false),
            bytes(6.0, false),
            bytes(7.0, false),
            case([99.0, 99.0, 99.0, 9.0], Class::Copying, false),
            case([99.0, 99.0, 99.0, 9.2], Class::Copying, false),
            case(even(50.0), Class::Signal, false),
            case(even(90.0), Class::InPlace, false),
            case(even(99.0), Class::Control, false),
        ];
        // 2 and 7 are the thirds, of all and of those that sleep; of wake-ups there is none.
        let mut on = [true; 13];
        (on[4], on[9]) = (false, false);
        assert_eq!(contenders(&cases), on);
        let ahead: Vec<usize> = (0..13).filter(|at| front(&cases)[*at]).collect();
        assert_eq!(ahead, [0, 1, 2, 5, 6, 7, 10, 11, 12]);
        cases[4].stays = true;
        cases[9].launches[2] = None;
        assert_eq!(contenders(&cases), [true; 13]);
        cases[4].stays = false;
        cases[4].launches.pop();
        assert_eq!(contenders(&cases), [true; 13], "three rounds decide nothing");
    }
}
