//! Time before modes: did the level change over the rounds, and which launches fall into two modes?
//!
//! First a change that is common to a group (the machine's), then those of single cases, then modes
//! of what shows neither. All three together raise a false alarm in at most 1 % of runs, whatever
//! the distribution of launches that are exchangeable over rounds.

use serde::Serialize;

use super::conditions::ModesSeen;
use super::{CaseResult, GroupVerdict};
use stats::Switch;

/// Error of all changes that are called common to a group, over a run.
const ERROR_COMMON: f64 = 0.0025;
/// Error of all changes of single cases, over a run.
const ERROR_SINGLE: f64 = 0.005;
/// Error of all modes, over a run.
const ERROR_MODES: f64 = 0.0025;
/// Uncorrected p below which the two stretches are shown, if without a verdict.
const REMARKABLE: f64 = 0.01;
/// A case goes along with a change of its group from so many standard deviations of its ranks on.
const GOES_ALONG: f64 = 2.0;

/// How launches change over the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shift {
    /// Once, from one level to another.
    Changed,
    /// Along the run, more like a straight line than like one step.
    Drifted,
}

/// A case whose launches differ before and after a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OverTime {
    /// What is sure; null where so few launches can't tell it from chance over a whole run.
    pub verdict: Option<Shift>,
    /// The last round before the change.
    pub after_round: u64,
    /// Launches up to that round.
    pub first_launches: u64,
    /// Their median, in the unit of the estimate.
    pub first: f64,
    /// Launches after it.
    pub last_launches: u64,
    /// Their median.
    pub last: f64,
    /// The probability of so large a change in launches that are exchangeable, corrected by Holm over the
    /// cases of the run.
    pub p: f64,
}

/// A group most of whose cases change together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CommonChange {
    /// As of [`OverTime`].
    pub verdict: Option<Shift>,
    /// The last round before the change.
    pub after_round: u64,
    /// Rounds after it.
    pub later_rounds: u64,
    /// Time per operation after it over that before it: the median over the cases.
    pub time_ratio: f64,
    /// As of [`OverTime`], of mean ranks by round, corrected over the groups of the run.
    pub p: f64,
}

/// Launches of one case by round, in any unit.
pub type ByRound = [Option<f64>];

/// A change after a round, not yet in numbers of a unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangeFound {
    /// As of [`OverTime`].
    pub verdict: Option<Shift>,
    /// The last round before the change, from 1.
    pub after_round: usize,
    /// Corrected over the run.
    pub p: f64,
}

/// What is said of a group of cases.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupFound {
    /// The change that most cases share.
    pub common: Option<ChangeFound>,
    /// Of each case, where nothing is common.
    pub single: Vec<Option<ChangeFound>>,
    /// Of each case that shows no change.
    pub modes: Vec<Option<ModesSeen>>,
}

/// Judges the groups of a run, each the launches of its cases.
pub fn over_time(groups: &[Vec<&ByRound>]) -> Vec<GroupFound> {
    let blank = |group: &Vec<&ByRound>| GroupFound {
        common: None,
        single: vec![None; group.len()],
        modes: vec![None; group.len()],
    };
    let mut found: Vec<GroupFound> = groups.iter().map(blank).collect();
    let common: Vec<Tested> = groups.iter().map(|group| together(group)).collect();
    for (found, common) in found.iter_mut().zip(corrected(&common, ERROR_COMMON)) {
        found.common = common;
    }
    // In the order of their groups, and in them of their cases.
    let alone = |(group, found): (&Vec<&ByRound>, &GroupFound)| match found.common {
        None => group.iter().map(|case| tested(case)).collect::<Vec<Tested>>(),
        Some(_) => vec![None; group.len()],
    };
    let alone: Vec<Tested> = groups.iter().zip(&found).flat_map(alone).collect();
    let mut found_each = corrected(&alone, ERROR_SINGLE).into_iter();
    for found in &mut found {
        found.single.iter_mut().for_each(|it| *it = found_each.next().flatten());
    }
    let still = |found: &GroupFound, nth: usize| found.common.or(found.single[nth]).is_none();
    let split = |(group, found): (&Vec<&ByRound>, &GroupFound)| {
        let cases = group.iter().enumerate();
        cases.map(|(nth, case)| modes(case).filter(|_| still(found, nth))).collect::<Vec<_>>()
    };
    let split: Vec<Option<(ModesSeen, f64)>> = groups.iter().zip(&found).flat_map(split).collect();
    let p: Vec<f64> = split.iter().map(|it| it.map_or(1.0, |it| it.1)).collect();
    let sure = stats::holm(&p).into_iter().map(|p| p <= ERROR_MODES);
    let mut found_each = split.iter().zip(sure).map(|(split, sure)| split.filter(|_| sure));
    for found in &mut found {
        found.modes.iter_mut().for_each(|it| *it = found_each.next().flatten().map(|it| it.0));
    }
    found
}

/// A change, the round before it, if there were launches enough to look for one.
type Tested = Option<(Switch, usize)>;

/// Corrects over the family; what is remarkable only uncorrected stays without a verdict.
fn corrected(family: &[Tested], error: f64) -> Vec<Option<ChangeFound>> {
    let p: Vec<f64> = family.iter().flatten().map(|it| it.0.p).collect();
    let mut holm = stats::holm(&p).into_iter();
    let found_each = |tested: &Tested| {
        let (switch, after_round) = (*tested)?;
        let p = holm.next()?;
        let shift = if switch.drifts { Shift::Drifted } else { Shift::Changed };
        let verdict = (p <= error).then_some(shift);
        (switch.p < REMARKABLE).then_some(ChangeFound { verdict, after_round, p })
    };
    family.iter().map(found_each).collect()
}

fn tested(case: &ByRound) -> Tested {
    let (rounds, values): (Vec<usize>, Vec<f64>) = measured(case).unzip();
    let switch = stats::switch(&values)?;
    Some((switch, rounds[switch.after - 1]))
}

/// Rounds from 1, each with its launch.
fn measured(case: &ByRound) -> impl Iterator<Item = (usize, f64)> + '_ {
    case.iter().enumerate().filter_map(|(at, value)| Some((at + 1, (*value)?)))
}

/// A change that most cases of a group share: that of the mean of their ranks, round by round.
fn together(group: &[&ByRound]) -> Tested {
    let ranked: Vec<Vec<(usize, f64)>> = group.iter().map(|case| ranks(case)).collect();
    let cases = || ranked.iter().filter(|case| !case.is_empty());
    if cases().count() < 2 {
        return None;
    }
    let last = cases().flatten().map(|it| it.0).max()?;
    let mean_of = |round: usize| {
        let here: Vec<f64> = cases().flatten().filter(|it| it.0 == round).map(|it| it.1).collect();
        (!here.is_empty()).then(|| here.iter().sum::<f64>() / here.len() as f64)
    };
    let means: Vec<Option<f64>> = (1..=last).map(mean_of).collect();
    let (switch, after) = tested(&means)?;
    let moved: Vec<f64> = cases().map(|case| shift(case, after)).collect();
    let up = moved.iter().filter(|it| **it >= GOES_ALONG).count();
    let down = moved.iter().filter(|it| **it <= -GOES_ALONG).count();
    (2 * up.max(down) > moved.len()).then_some((switch, after))
}

/// The rounds of a case with the ranks of their launches, between -1 and 1.
fn ranks(case: &ByRound) -> Vec<(usize, f64)> {
    let (rounds, values): (Vec<usize>, Vec<f64>) = measured(case).unzip();
    let n = values.len() as f64;
    rounds.into_iter().zip(stats::centered_ranks(&values)).map(|(at, it)| (at, it / n)).collect()
}

/// By how many standard deviations the ranks after a round exceed those up to it.
fn shift(ranks: &[(usize, f64)], after: usize) -> f64 {
    let n = ranks.len() as f64;
    let later = ranks.iter().filter(|it| it.0 > after);
    let k = later.clone().count() as f64;
    let variance = k * (n - k) * (n + 1.0) / (3.0 * n * n);
    later.map(|it| it.1).sum::<f64>() / variance.sqrt().max(f64::MIN_POSITIVE)
}

/// Two modes, as the values split best, and the p of one.
fn modes(case: &ByRound) -> Option<(ModesSeen, f64)> {
    let values: Vec<f64> = case.iter().flatten().copied().collect();
    let modes = stats::two_modes(&values)?;
    let mut logs: Vec<f64> = values.iter().map(|it| it.ln()).collect();
    logs.sort_unstable_by(f64::total_cmp);
    let seen = ModesSeen {
        low: modes.low.center,
        low_launches: modes.low.count as u64,
        high: modes.high.center,
        high_launches: modes.high.count as u64,
    };
    Some((seen, stats::dip_p(&logs)))
}

/// Judges the results of a run, and gives groups and cases what is said of them.
pub(super) fn assign(results: &mut [CaseResult], groups: &mut [GroupVerdict]) {
    let launches: Vec<Vec<&ByRound>> = groups
        .iter()
        .map(|group| group.members.iter().map(|at| &*results[*at].launch_medians).collect())
        .collect();
    let found = over_time(&launches);
    for (group, found) in groups.iter_mut().zip(found) {
        group.over_time = found.common.and_then(|it| common_of(it, group, results));
        let found_each = found.single.into_iter().zip(found.modes);
        for (at, (single, modes)) in group.members.iter().zip(found_each) {
            let case = &mut results[*at];
            case.over_time = single.and_then(|it| OverTime::of(it, &case.launch_medians));
            case.modes = modes;
        }
    }
}

impl OverTime {
    fn of(found: ChangeFound, launches: &ByRound) -> Option<OverTime> {
        let [(first, first_launches), (last, last_launches)] = sides(launches, found.after_round)?;
        let ChangeFound { verdict, after_round, p } = found;
        let after_round = after_round as u64;
        Some(OverTime { verdict, after_round, first_launches, first, last_launches, last, p })
    }
}

/// Medians up to a round and after it, each with the number of launches; None where either has none.
fn sides(launches: &ByRound, after: usize) -> Option<[(f64, u64); 2]> {
    let (before, later) = launches.split_at_checked(after)?;
    let side = |launches: &ByRound| {
        let mut values: Vec<f64> = launches.iter().flatten().copied().collect();
        values.sort_unstable_by(f64::total_cmp);
        (!values.is_empty()).then(|| (stats::median(&values), values.len() as u64))
    };
    Some([side(before)?, side(later)?])
}

fn common_of(
    found: ChangeFound,
    group: &GroupVerdict,
    results: &[CaseResult],
) -> Option<CommonChange> {
    let ratio = |at: &usize| {
        let [(first, _), (last, _)] = sides(&results[*at].by_round, found.after_round)?;
        Some(last / first)
    };
    let mut ratios: Vec<f64> = group.members.iter().filter_map(ratio).collect();
    ratios.sort_unstable_by(f64::total_cmp);
    (!ratios.is_empty()).then(|| CommonChange {
        verdict: found.verdict,
        after_round: found.after_round as u64,
        later_rounds: group.rounds - found.after_round as u64,
        time_ratio: stats::median(&ratios),
        p: found.p,
    })
}
