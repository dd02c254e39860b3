//! What changed between two runs: everything at once, or one case apart from the others.
//!
//! A machine moves all cases of a run together, and differently from run to run; inside a run cases are
//! measured round by round, and in turns. So the common level of each cycle, or of each round, is taken out of it, and
//! a case is judged by what is left, compared with how far the other cases scatter.

use std::collections::BTreeSet;

use super::{Interval, Shift, median_of};

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

/// What a case took in one round.
#[derive(Clone, Debug, PartialEq)]
pub struct InRound {
    /// Its launch.
    pub time: f64,
    /// Where it took turns with others: which set of launches that was, and each cycle.
    pub in_turns: Option<(u64, Vec<Option<f64>>)>,
}

impl From<f64> for InRound {
    fn from(time: f64) -> InRound {
        InRound { time, in_turns: None }
    }
}

/// Separates common from single changes between two runs of the same cases: `first[i]` and `second[i]` hold what case i
/// took, by round.
///
/// The level of a moment (a cycle; a round, unless half of the rounds of every case in both runs have cycles) is the
/// median over the cases of their distance (in logarithms) to their own median in the first run: fewer than half of the
/// cases can't bend it. What a round leaves of a case is the median over its moments of the distance to that level; a
/// moment that fewer than [`LEAST_TO_TELL_APART`] cases share leaves nothing. How much more or less than the others a
/// case answers to the machine is taken out, too: its slope over the level of the rounds of each run. Its own shift is
/// that of Hodges and Lehmann between what the rounds of both runs leave of it, with the exact Mann–Whitney p. Its
/// interval is as many times as wide as the shifts of the other cases among themselves exceed their errors (1.4826 times
/// the median of |shift| / error, if that is above 1; Birge 1932, with a median): cases that all answer differently to a
/// machine that changed say nothing of one of them.
///
/// None with fewer than [`LEAST_TO_TELL_APART`] cases, or where too few rounds tell.
pub fn apart(
    first: &[Vec<Option<InRound>>],
    second: &[Vec<Option<InRound>>],
    alpha: f64,
) -> Option<Apart> {
    if first.len() < LEAST_TO_TELL_APART {
        return None;
    }
    let runs = [first, second];
    let by_round = Distances::of(runs, |round| Some((0, vec![Some(round.time)])))?;
    let all = by_round.left_of(None);
    let by_cycle = Distances::of(runs, |round| round.in_turns.clone());
    let in_turns = by_cycle.map(|cycles| (cycles.left_of(None), cycles));
    let most = |cycles: &Left| {
        let told = |left: &Left, run: usize, case: usize| left.of(case)[run].len();
        let enough = |run, case| 2 * told(cycles, run, case) >= told(&all, run, case);
        (0..first.len()).all(|case| enough(0, case) && enough(1, case))
    };
    let (left, distances) =
        in_turns.filter(|(left, _)| most(left)).unwrap_or_else(|| (all.clone(), by_round));
    let shift = |left: &Left, case: usize| left.shift(case, alpha);
    let own = |case: usize| {
        let others = (0..first.len()).filter(|other| *other != case);
        // Without this one, which would bend their level if it moved.
        let left_of_others = distances.left_of(Some(case));
        let errors = others.filter_map(|other| shift(&left_of_others, other)).map(in_errors);
        let excess = median_of(errors).map_or(1.0, |errors| (1.4826 * errors).max(1.0));
        Some(widened(shift(&left, case)?, excess).exp())
    };
    let common = all
        .runs
        .each_ref()
        .map(|run| run.iter().filter_map(|round| round.common).collect::<Vec<f64>>());
    Some(Apart {
        common: Shift::of_logarithms(&common[1], &common[0], alpha)?.exp(),
        own: (0..first.len()).map(own).collect(),
    })
}

/// Of two runs the logarithms of all times, each less the level of its case in the first of them.
struct Distances {
    /// By run, case and round.
    runs: [Vec<Vec<Moments>>; 2],
}

/// What a case took in one round.
#[derive(Default)]
struct Moments {
    /// Times of the same set at the same place are of the same moment.
    set: u64,
    logs: Vec<Option<f64>>,
}

impl Distances {
    /// None where a case has no time in the first run.
    fn of(
        runs: [&[Vec<Option<InRound>>]; 2],
        moments: impl Fn(&InRound) -> Option<(u64, Vec<Option<f64>>)>,
    ) -> Option<Distances> {
        let log = |time: Option<f64>| Some(time?.ln()).filter(|log| log.is_finite());
        let logs = |round: &Option<InRound>| {
            let (set, times) = round.as_ref().and_then(&moments).unwrap_or_default();
            Moments { set, logs: times.into_iter().map(log).collect() }
        };
        let mut runs = runs.map(|run| -> Vec<Vec<Moments>> {
            run.iter().map(|case| case.iter().map(logs).collect()).collect()
        });
        let of_round = |round: &Moments| median_of(round.logs.iter().flatten().copied());
        let level = |case: &Vec<Moments>| median_of(case.iter().filter_map(of_round));
        let levels: Vec<f64> = runs[0].iter().map(level).collect::<Option<_>>()?;
        for (case, level) in runs.iter_mut().flat_map(|run| run.iter_mut().zip(&levels)) {
            let logs = case.iter_mut().flat_map(|round| round.logs.iter_mut().flatten());
            logs.for_each(|log| *log -= level);
        }
        Some(Distances { runs })
    }

    /// What the level of all cases but `without` leaves of each.
    fn left_of(&self, without: Option<usize>) -> Left {
        let runs = self.runs.each_ref().map(|cases| {
            let rounds = cases.iter().map(Vec::len).max().unwrap_or(0);
            (0..rounds).map(|round| Round::of(cases, round, without)).collect()
        });
        Left { runs }
    }
}

/// The rounds of two runs.
#[derive(Clone)]
struct Left {
    runs: [Vec<Round>; 2],
}

/// One round: what is common to the cases, and what of each case is not.
#[derive(Clone)]
struct Round {
    common: Option<f64>,
    left: Vec<Option<f64>>,
}

impl Round {
    fn of(cases: &[Vec<Moments>], round: usize, without: Option<usize>) -> Round {
        let none = Moments::default();
        let rounds: Vec<&Moments> =
            cases.iter().map(|case| case.get(round).unwrap_or(&none)).collect();
        let at = |case: usize, (set, nth): (u64, usize)| {
            let moments = Some(rounds[case]).filter(|moments| moments.set == set)?;
            moments.logs.get(nth).copied().flatten()
        };
        let places = |of: &&Moments| -> Vec<(u64, usize)> {
            (0..of.logs.len()).map(|nth| (of.set, nth)).collect()
        };
        let moments: BTreeSet<(u64, usize)> = rounds.iter().flat_map(places).collect();
        let common = |moment: (u64, usize)| {
            let asked = (0..cases.len()).filter(|case| Some(*case) != without);
            let there: Vec<f64> = asked.filter_map(|case| at(case, moment)).collect();
            let tell = there.len() + usize::from(without.is_some()) >= LEAST_TO_TELL_APART;
            Some((moment, median_of(there).filter(|_| tell)?))
        };
        let common: Vec<((u64, usize), f64)> = moments.into_iter().filter_map(common).collect();
        let left = |case: usize| {
            median_of(common.iter().filter_map(|(moment, level)| Some(at(case, *moment)? - level)))
        };
        Round {
            left: (0..cases.len()).map(left).collect(),
            common: median_of(common.iter().map(|pair| pair.1)),
        }
    }
}

impl Left {
    /// In each run, the level of each round that has this case, and what it leaves of it.
    fn of(&self, case: usize) -> [Vec<(f64, f64)>; 2] {
        let both = |round: &Round| round.common.zip(round.left[case]);
        self.runs.each_ref().map(|run| run.iter().filter_map(both).collect())
    }

    /// By how much it moved beyond the others, in logarithms.
    fn shift(&self, case: usize, alpha: f64) -> Option<Shift> {
        let runs = self.of(case);
        let slope = slope(&runs);
        let [a, b] = runs.map(|run| -> Vec<f64> {
            run.iter().map(|(common, left)| left - slope * common).collect()
        });
        Shift::of_logarithms(&b, &a, alpha)
    }
}

/// By how much two rounds must differ in their level for their slope to count as much as none.
const LEAST_DIFFERENCE: f64 = 0.02;

/// How a case answers to the level of its rounds: the middle of the slopes of all pairs of rounds of the same run, each
/// with the difference of their levels as its weight (Theil and Sen; Jaeckel 1972), among as many slopes of 0 with the weight
/// [`LEAST_DIFFERENCE`]. So it is 0 where the machine was even.
fn slope(runs: &[Vec<(f64, f64)>; 2]) -> f64 {
    let mut slopes: Vec<(f64, f64)> = Vec::new();
    for run in runs {
        for (nth, one) in run.iter().enumerate() {
            let others = run[nth + 1..].iter().map(|other| (other.0 - one.0, other.1 - one.1));
            let apart = others.filter(|(common, _)| *common != 0.0);
            slopes.extend(apart.map(|(common, left)| (left / common, common.abs())));
        }
    }
    slopes.push((0.0, LEAST_DIFFERENCE * slopes.len() as f64));
    slopes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = slopes.iter().map(|pair| pair.1).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let middle = slopes.iter().find(|(_, weight)| {
        below += weight;
        below >= half
    });
    middle.map_or(0.0, |pair| pair.0)
}

/// How many times a shift is as large as its error.
fn in_errors(shift: Shift) -> f64 {
    let Interval { estimate, low, high, .. } = shift.ratio;
    estimate.abs() / ((high - low) / 2.0 / 1.96).max(f64::MIN_POSITIVE)
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
    fn run(
        draw: &mut Draw,
        rounds: usize,
        common: f64,
        factors: &[f64],
    ) -> Vec<Vec<Option<InRound>>> {
        let shared = draw.many(rounds, |draw| (0.05 * draw.normal()).exp());
        let cases = factors.iter().enumerate();
        let one = |draw: &mut Draw, case: usize, factor: f64, round: usize| {
            let level = 1000.0 * (case + 1) as f64 * factor * common;
            Some(InRound::from(level * shared[round] * (0.01 * draw.normal()).exp()))
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

    /// A machine of two speeds, a third apart, that changes between cycles, and launches that happened to be timed in one.
    #[test]
    fn cycles_tell_what_launches_on_an_uneven_machine_hide() {
        let mut draw = Draw::seeded(6);
        let run = |draw: &mut Draw, factors: &[f64]| -> Vec<Vec<Option<InRound>>> {
            let slow = draw.many(20 * 9, |draw| if draw.normal() > 0.0 { 1.33 } else { 1.0 });
            let mut launch = |case: usize, factor: f64, round: usize| {
                let noise = draw.many(9, |draw| (0.01 * draw.normal()).exp());
                let level = 1000.0 * (case + 1) as f64 * factor;
                let cycles = noise.iter().zip(&slow[9 * round..]);
                let cycles: Vec<f64> = cycles.map(|(noise, slow)| level * noise * slow).collect();
                let time = cycles[(3 * case + round) % 9];
                Some(InRound { time, in_turns: Some((0, cycles.into_iter().map(Some).collect())) })
            };
            let cases = factors.iter().enumerate();
            cases
                .map(|(nth, factor)| (0..20).map(|round| launch(nth, *factor, round)).collect())
                .collect()
        };
        let (a, b) = (run(&mut draw, &[1.0; CASES]), run(&mut draw, &[1.0, 1.0, 1.05, 1.0, 1.0]));
        let own = |a: &[Vec<Option<InRound>>], b: &[Vec<Option<InRound>>]| -> Vec<Interval> {
            let own = apart(a, b, 0.05).unwrap().own;
            own.into_iter().flatten().map(|shift| shift.ratio).collect()
        };
        let in_turns = own(&a, &b);
        assert!(in_turns[2].low > 1.02, "{in_turns:?}");
        let holds = |other: usize| in_turns[other].low < 1.0 && in_turns[other].high > 1.0;
        assert!([0, 1, 3, 4].into_iter().all(holds), "{in_turns:?}");
        let whole = |run: Vec<Vec<Option<InRound>>>| -> Vec<Vec<Option<InRound>>> {
            let alone = |round: Option<InRound>| Some(round?.time.into());
            run.into_iter().map(|case| case.into_iter().map(alone).collect()).collect()
        };
        let whole = own(&whole(a), &whole(b));
        assert!(whole[2].low < 1.0, "{whole:?}");
    }

    /// Identical code on a machine of two speeds, a third apart, to which each case answers in its own way; and one that is
    /// 5 % slower.
    #[test]
    fn what_answers_in_its_own_way_to_the_machine_is_not_slower_and_what_is_slower_is_found() {
        let (mut draw, mut wrong, mut found, runs) = (Draw::seeded(7), 0, 0, 200);
        for _ in 0..runs {
            let slopes = draw.many(CASES, |draw| 1.0 + 0.05 * draw.normal());
            let run = |draw: &mut Draw, share: f64, factor: f64| -> Vec<Vec<Option<InRound>>> {
                let levels = draw.many(20, |draw| {
                    0.02 * draw.normal() + if draw.normal() > share { 0.29 } else { 0.0 }
                });
                let one = |(nth, slope): (usize, &f64)| {
                    let factor = if nth == 2 { factor } else { 1.0 };
                    let mut time =
                        |level: &f64| (slope * level + 0.007 * draw.normal()).exp() * factor;
                    levels.iter().map(|level| Some(time(level).into())).collect()
                };
                slopes.iter().enumerate().map(one).collect()
            };
            let (a, b) = (run(&mut draw, 0.7, 1.0), run(&mut draw, -0.7, 1.0));
            let moved = |second: &[Vec<Option<InRound>>]| apart(&a, second, 0.05).unwrap().own;
            let beyond = |shift: &Option<Shift>| shift.is_some_and(|shift| shift.ratio.low > 1.02);
            wrong += usize::from(moved(&b).iter().any(beyond));
            let slower = run(&mut draw, -0.7, 1.05);
            found += usize::from(beyond(&moved(&slower)[2]));
        }
        assert!(wrong * 20 <= runs, "{wrong} of {runs}");
        assert!(found * 10 >= 9 * runs, "{found} of {runs}");
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
