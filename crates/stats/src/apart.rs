//! What changed between two runs: everything at once, or one case apart from the others.
//!
//! A machine moves all cases of a run together, and differently from run to run; inside a run cases are
//! measured round by round. So each round's common level is taken out of it, and a case is judged by what
//! is left, compared with how far the other cases scatter.

use super::{Interval, Shift, median};

/// Cases from which on one that moved is separated from the others: of two, either may be the one.
pub const LEAST_TO_TELL_APART: usize = 3;

/// What changed from a first run to a second.
#[derive(Clone, Debug, PartialEq)]
pub struct Apart {
    /// The ratio by which all cases moved together.
    pub common: Shift,
    /// By which each moved beyond that, in the order of the cases; None where too few rounds tell.
    pub own: Vec<Option<Shift>>,
}

/// Separates common from single changes between two runs of the same cases: `first[i]` and `second[i]` hold the times of case i, by
/// round.
///
/// The level of a round is the median over the cases of their distance (in logarithms) to their own
/// median in the first run: fewer than half of the cases can't bend it. A case's own shift is that of
/// Hodges and Lehmann between what the rounds of both runs leave of it, with the exact Mann–Whitney p. Its
/// interval is as many times as wide as the own shifts of the other cases exceed their errors (1.4826 times
/// the median of |shift| / error, if that is above 1; Birge 1932, with a median): cases that all answer
/// differently to a machine that changed say nothing of one of them.
///
/// None with fewer than [`LEAST_TO_TELL_APART`] cases, or where too few rounds tell.
pub fn apart(first: &[Vec<Option<f64>>], second: &[Vec<Option<f64>>], alpha: f64) -> Option<Apart> {
    if first.len() < LEAST_TO_TELL_APART {
        return None;
    }
    let levels: Vec<f64> = first.iter().map(|case| level(case)).collect::<Option<_>>()?;
    let (a, b) = (Rounds::of(first, &levels), Rounds::of(second, &levels));
    let shift = |b: &[f64], a: &[f64]| Shift::of_logarithms(b, a, alpha);
    let own: Vec<Option<Shift>> =
        (0..first.len()).map(|case| shift(&b.left_of(case), &a.left_of(case))).collect();
    let widened = |case: usize| Some(widened(own[case]?, excess(&own, case)).exp());
    let own = (0..own.len()).map(widened).collect();
    Some(Apart { common: shift(&b.common(), &a.common())?.exp(), own })
}

/// The median logarithm of a case.
fn level(case: &[Option<f64>]) -> Option<f64> {
    let mut logs: Vec<f64> = case.iter().flatten().map(|value| value.ln()).collect();
    logs.sort_unstable_by(f64::total_cmp);
    (!logs.is_empty() && logs.iter().all(|log| log.is_finite())).then(|| median(&logs))
}

/// The rounds of one run: what is common to the cases, and what of each case is not.
struct Rounds {
    common: Vec<Option<f64>>,
    left: Vec<Vec<Option<f64>>>,
}

impl Rounds {
    fn of(cases: &[Vec<Option<f64>>], levels: &[f64]) -> Rounds {
        let rounds = cases.iter().map(Vec::len).max().unwrap_or(0);
        let at = |case: usize, round: usize| {
            let value = cases[case].get(round).copied().flatten()?;
            Some(value.ln() - levels[case])
        };
        let common = |round: usize| {
            let mut there: Vec<f64> =
                (0..cases.len()).filter_map(|number| at(number, round)).collect();
            there.sort_unstable_by(f64::total_cmp);
            // Where half of the cases lack, the others are no sample of them.
            (there.len() >= LEAST_TO_TELL_APART && 2 * there.len() > cases.len())
                .then(|| median(&there))
        };
        let common: Vec<Option<f64>> = (0..rounds).map(common).collect();
        let left = |case: usize| {
            (0..rounds).map(|round| Some(at(case, round)? - common[round]?)).collect()
        };
        Rounds { left: (0..cases.len()).map(left).collect(), common }
    }

    fn common(&self) -> Vec<f64> {
        self.common.iter().flatten().copied().collect()
    }

    fn left_of(&self, case: usize) -> Vec<f64> {
        self.left[case].iter().flatten().copied().collect()
    }
}

/// How many times the shifts of the other cases exceed what their errors explain; at least 1.
fn excess(own: &[Option<Shift>], case: usize) -> f64 {
    let others = own.iter().enumerate().filter(|(nth, _)| *nth != case);
    let in_errors = |Interval { estimate, low, high, .. }: Interval| {
        estimate.abs() / ((high - low) / 2.0 / 1.96).max(f64::MIN_POSITIVE)
    };
    let mut shifts: Vec<f64> =
        others.filter_map(|(_, shift)| Some(in_errors((*shift)?.ratio))).collect();
    shifts.sort_unstable_by(f64::total_cmp);
    if shifts.is_empty() { 1.0 } else { (1.4826 * median(&shifts)).max(1.0) }
}

fn widened(mut shift: Shift, times: f64) -> Shift {
    let Interval { estimate, low, high, .. } = shift.ratio;
    shift.ratio.low = estimate - times * (estimate - low);
    shift.ratio.high = estimate + times * (high - estimate);
    shift
}

#[cfg(test)]
mod tests {
    use super::super::draw::Draw;
    use super::*;

    const CASES: usize = 5;

    /// Rounds of a run whose machine moves everything by `common`, and each case by its own factor;
    /// rounds share a disturbance.
    fn run(draw: &mut Draw, rounds: usize, common: f64, factors: &[f64]) -> Vec<Vec<Option<f64>>> {
        let shared = draw.many(rounds, |draw| (0.05 * draw.normal()).exp());
        let cases = factors.iter().enumerate();
        let one = |draw: &mut Draw, case: usize, factor: f64, round: usize| {
            let level = 1000.0 * (case + 1) as f64 * factor * common;
            Some(level * shared[round] * (0.01 * draw.normal()).exp())
        };
        cases
            .map(|(nth, factor)| (0..rounds).map(|round| one(draw, nth, *factor, round)).collect())
            .collect()
    }

    #[test]
    fn what_all_share_is_common_and_what_one_has_is_its_own() {
        let mut draw = Draw::seeded(1);
        let first = run(&mut draw, 20, 1.0, &[1.0; CASES]);
        let second = run(&mut draw, 20, 1.3, &[1.0, 1.0, 1.05, 1.0, 1.0]);
        let found = apart(&first, &second, 0.05).unwrap();
        assert!(found.common.ratio.low > 1.2 && found.common.ratio.high < 1.4, "{found:?}");
        let own: Vec<&Shift> = found.own.iter().flatten().collect();
        assert!(own[2].ratio.low > 1.03 && own[2].p < 1e-6, "{:?}", own[2]);
        for other in [0, 1, 3, 4] {
            assert!(own[other].ratio.low < 1.01 && own[other].ratio.high > 0.99, "{found:?}");
        }
    }

    /// One that became faster is not taken for all others having become slower.
    #[test]
    fn one_that_moved_far_bends_no_other() {
        let mut draw = Draw::seeded(2);
        let first = run(&mut draw, 20, 1.0, &[1.0; 3]);
        let second = run(&mut draw, 20, 1.0, &[0.5, 1.0, 1.0]);
        let found = apart(&first, &second, 0.05).unwrap();
        let own: Vec<&Shift> = found.own.iter().flatten().collect();
        assert!(own[0].ratio.high < 0.55, "{found:?}");
        assert!(own[1].ratio.low < 1.01 && own[2].ratio.low < 1.01, "{found:?}");
    }

    /// Where every case answers to the machine in its own way, none stands out.
    #[test]
    fn cases_that_scatter_hide_each_other() {
        let mut draw = Draw::seeded(3);
        let first = run(&mut draw, 20, 1.0, &[1.0; CASES]);
        let second = run(&mut draw, 20, 1.0, &[1.1, 0.93, 1.02, 0.88, 1.06]);
        let found = apart(&first, &second, 0.05).unwrap();
        assert!(found.own.iter().flatten().all(|shift| shift.ratio.low < 1.02), "{found:?}");
    }

    #[test]
    fn two_cases_or_hardly_any_rounds_tell_nothing() {
        let mut draw = Draw::seeded(4);
        let two = run(&mut draw, 20, 1.0, &[1.0; 2]);
        assert_eq!(apart(&two, &two, 0.05), None);
        let short = run(&mut draw, 3, 1.0, &[1.0; CASES]);
        assert_eq!(apart(&short, &short, 0.05), None);
        // A case without a launch has no level.
        let mut gone = run(&mut draw, 20, 1.0, &[1.0; CASES]);
        gone[1] = vec![None; 20];
        assert_eq!(apart(&gone, &gone, 0.05), None);
    }

    /// Identical code: the machine moves all cases by 15 % from run to run, some more than others.
    #[test]
    fn identical_runs_are_seldom_separated() {
        let (mut draw, mut wrong, runs) = (Draw::seeded(5), 0, 500);
        for _ in 0..runs {
            let factors = |draw: &mut Draw| draw.many(CASES, |draw| (0.01 * draw.normal()).exp());
            let [a, b] = [(); 2].map(|()| {
                let common = (0.15 * draw.normal()).exp();
                let factors = factors(&mut draw);
                run(&mut draw, 14, common, &factors)
            });
            let found = apart(&a, &b, 0.05).unwrap();
            let known: Vec<&Shift> = found.own.iter().flatten().collect();
            let p: Vec<f64> = known.iter().map(|shift| shift.p).collect();
            let p = super::super::holm(&p);
            wrong += usize::from(
                known.iter().zip(p).any(|(shift, p)| shift.ratio.low > 1.02 && p < 0.05),
            );
        }
        assert!(wrong * 20 <= runs, "{wrong} of {runs}");
    }
}
