//! Screening: which cases go on once all have had their first rounds.
//!
//! The quickest of each kind goes on, and what may be as quick: of those that carry bytes and of those that carry
//! wake-ups alone, and in each of all and of those that sleep while they wait.

use crate::mechanism::Carries;

/// Rounds of all cases that decide it.
pub const ROUNDS: usize = 4;
/// What took more than so many times as long as the first, in all of these rounds, is dropped.
pub const BEYOND: f64 = 1.3;

/// A case that is screened.
#[derive(Clone, Debug)]
pub struct Screened {
    /// Time per operation of its first launches, by round; None where one failed.
    pub launches: Vec<Option<f64>>,
    /// What it carries: cases of one kind are rivals.
    pub carries: Carries,
    /// Whether it busy-waits.
    pub spins: bool,
    /// Whether it goes on whatever it took: others are compared with it.
    pub stays: bool,
}

/// Which of the cases go on.
pub fn contenders(cases: &[Screened]) -> Vec<bool> {
    let mut on: Vec<bool> = cases.iter().map(|it| it.stays || it.carries.is_control()).collect();
    for carries in [Carries::Bytes, Carries::Signal] {
        for all in [true, false] {
            let rivals = |it: &Screened| it.carries == carries && (all || !it.spins);
            let Some(first) = first(cases, rivals) else { continue };
            for (case, on) in cases.iter().zip(&mut on).filter(|it| rivals(it.0)) {
                *on |= !is_beyond(case, &cases[first]);
            }
        }
    }
    on
}

/// The one with the smallest median; None where nothing was measured of any.
pub fn first(cases: &[Screened], rivals: impl Fn(&Screened) -> bool) -> Option<usize> {
    let median = |it: &Screened| stats::median_of(it.launches.iter().flatten().copied());
    let rivals = cases.iter().enumerate().filter(|it| rivals(it.1));
    let known = rivals.filter_map(|(at, it)| Some((at, median(it)?)));
    known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|it| it.0)
}

/// Whether it was slower in every one of the rounds; not where one is missing.
fn is_beyond(case: &Screened, first: &Screened) -> bool {
    let slower = |(case, first): (&Option<f64>, &Option<f64>)| match (case, first) {
        (Some(case), Some(first)) => *case > BEYOND * first,
        _ => false,
    };
    let rounds = case.launches.iter().zip(&first.launches).take(ROUNDS);
    rounds.len() == ROUNDS && rounds.into_iter().all(slower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(launches: [f64; 4], carries: Carries, spins: bool) -> Screened {
        Screened { launches: launches.map(Some).to_vec(), carries, spins, stays: false }
    }

    #[test]
    fn what_was_slower_in_every_round_is_dropped_among_its_own_kind() {
        let mut cases = vec![
            case([1.0, 1.1, 0.9, 1.0], Carries::Bytes, true),
            case([2.0, 2.1, 1.9, 2.0], Carries::Bytes, true),
            case([5.0, 5.1, 4.9, 5.0], Carries::Bytes, false),
            case([5.5, 5.5, 5.5, 5.5], Carries::Bytes, false),
            case([9.0, 9.0, 9.0, 6.2], Carries::Bytes, false),
            case([9.0, 9.0, 9.0, 6.6], Carries::Bytes, false),
            case([3.0, 3.0, 3.0, 3.0], Carries::Signal, false),
            case([4.0, 4.0, 4.0, 4.0], Carries::Signal, false),
            case([7.0, 7.0, 7.0, 7.0], Carries::Nothing, false),
        ];
        let on = [true, false, true, true, true, false, true, false, true];
        assert_eq!(contenders(&cases), on);
        cases[1].stays = true;
        cases[7].launches[2] = None;
        cases[5].launches.pop();
        assert_eq!(contenders(&cases), [true; 9]);
    }
}
