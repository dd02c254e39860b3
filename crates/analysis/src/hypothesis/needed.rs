//! How many rounds a study's claims need before any of them can be decided.

use schemars::JsonSchema;
use serde::Serialize;

use super::ALPHA;
use super::curves::attached;
use model::factor::Factor;
use study::factor::chosen;
use study::format::{Hypothesis, Test};
use study::validated::ValidatedStudy;

/// Fewer have no interval at 95 %: six values of one sign have probability 2 / 2^6.
pub const LEAST_ROUNDS: usize = 6;

/// Rounds without which nothing of a kind can be decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Needed {
    /// Claims about differences, whose p are corrected together.
    pub of_differences: usize,
    /// Rounds that these need.
    pub for_differences: usize,
    /// The other claims, which rest on intervals.
    pub of_intervals: usize,
    /// The least that one of these needs.
    pub for_intervals: usize,
}

impl Needed {
    /// Claims that so many rounds can't decide, and how many rounds could; None where they decide.
    pub fn undecided_by(&self, rounds: usize) -> Option<(usize, usize)> {
        let kinds =
            [(self.of_differences, self.for_differences), (self.of_intervals, self.for_intervals)];
        let short = kinds.into_iter().filter(|(claims, needed)| *claims > 0 && *needed > rounds);
        let (claims, needed) = short.fold((0, 0), |sum, pair| (sum.0 + pair.0, sum.1.max(pair.1)));
        (claims > 0).then_some((claims, needed))
    }
}

/// What the claims of a study need, by their tests alone.
pub fn needed(declared: &ValidatedStudy) -> Needed {
    let claims = &declared.study.hypothesis;
    let (differences, intervals): (Vec<&Hypothesis>, Vec<&Hypothesis>) =
        claims.iter().partition(|claim| claim.test.needs().rests_on_p);
    let least = intervals
        .iter()
        .map(|interval| rounds_at(ALPHA / comparisons(interval, declared) as f64))
        .min();
    Needed {
        of_differences: differences.len(),
        for_differences: rounds_for(differences.len()),
        of_intervals: intervals.len(),
        for_intervals: least.unwrap_or(LEAST_ROUNDS),
    }
}

/// Intervals that must hold together for one claim.
fn comparisons(claim: &Hypothesis, declared: &ValidatedStudy) -> usize {
    let factor = claim.along.as_ref().and_then(|value| Factor::parse(value.get_ref()).ok());
    let levels = factor.map_or(0, |factor| {
        let all = &declared.levels[&factor];
        match chosen(&claim.left).level(Factor::Observe).filter(|_| factor == Factor::Observe) {
            Some(probe) => attached(probe, all).count(),
            None => all.len(),
        }
    });
    match claim.test {
        Test::SameShape => levels.max(1),
        Test::Straight => levels.saturating_sub(2).max(1),
        _ => 1,
    }
}

/// The smallest p that a sign test gives over so many rounds.
pub(super) fn least_p(rounds: usize) -> f64 {
    2f64.powi(1 - i32::try_from(rounds).unwrap_or(i32::MAX))
}

/// The least rounds with an interval at `1 - alpha`.
fn rounds_at(alpha: f64) -> usize {
    (LEAST_ROUNDS..).find(|number| least_p(*number) <= alpha).unwrap_or(LEAST_ROUNDS)
}

/// The least rounds in which all of `family` claims together can differ from chance (Holm).
fn rounds_for(family: usize) -> usize {
    (LEAST_ROUNDS..)
        .find(|number| least_p(*number) * (family as f64) < ALPHA)
        .unwrap_or(LEAST_ROUNDS)
}

/// How many rounds more could tell what in these can't differ from chance, being at the least `corrected`: the
/// smallest p of its parts, corrected over them and over all claims. Each round halves it. None where these can.
pub(super) fn more_rounds(corrected: f64) -> Option<u32> {
    let more = (0..64).find(|more| corrected / 2f64.powi(*more) < ALPHA).unwrap_or(64);
    (more > 0).then_some(more as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_rounds_are_needed_as_the_tests_themselves_need() {
        for rounds in 2..16 {
            let logs: Vec<f64> = (1..=rounds).map(|number| number as f64).collect();
            let p = stats::sign_test(&logs);
            assert!((p - least_p(rounds)).abs() < 1e-12, "{rounds}: {p}");
            let interval = stats::median_interval(&logs, ALPHA).is_some();
            assert_eq!(interval, rounds >= LEAST_ROUNDS, "{rounds}");
            let narrow = stats::median_interval(&logs, ALPHA / 19.0).is_some();
            assert_eq!(narrow, rounds >= rounds_at(ALPHA / 19.0), "{rounds}");
        }
        // docs/METHOD.md: with 12 pairs a family of more than 102 can find nothing.
        assert_eq!((rounds_for(102), rounds_for(103)), (12, 13));
        assert_eq!((rounds_for(0), rounds_for(1), rounds_for(2)), (6, 6, 7));
        for (rounds, family, parts) in [(6, 3, 1), (12, 18, 19), (12, 102, 1)] {
            let more = more_rounds(least_p(rounds) * (family * parts) as f64).unwrap_or(0) as usize;
            assert_eq!(rounds + more, rounds_for(family * parts).max(rounds));
        }
    }

    #[test]
    fn what_so_few_rounds_cannot_decide_is_counted() {
        let needed =
            Needed { of_differences: 50, for_differences: 11, of_intervals: 9, for_intervals: 6 };
        assert_eq!(needed.undecided_by(12), None);
        assert_eq!(needed.undecided_by(8), Some((50, 11)));
        assert_eq!(needed.undecided_by(3), Some((59, 11)));
        let intervals = Needed { of_differences: 0, ..needed };
        assert_eq!(intervals.undecided_by(8), None);
    }
}
