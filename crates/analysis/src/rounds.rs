//! The rounds of a run: in which session they were measured, and what disturbed them.

use super::floor::ranks_of;
use model::noise::Disturbance;
use schemars::JsonSchema;
use serde::Serialize;

use super::{ALPHA, CaseResult, GroupVerdict, MedianInterval, Ranked};
use store::StoredRun;

/// The share of a case's launches in marked rounds beyond which the others are summarised by themselves.
const MANY: f64 = 0.1;

/// What launches gave, by their rounds, which count from 1; None of rounds that gave nothing.
pub(crate) fn by_round<T: Clone>(found: impl Iterator<Item = (u64, Option<T>)>) -> Vec<Option<T>> {
    let mut by_round = Vec::new();
    found.for_each(|(round, value)| put(&mut by_round, round as usize - 1, value));
    by_round
}

/// Puts what a round gave at its place, from 0.
pub(crate) fn put<T: Clone>(by_round: &mut Vec<Option<T>>, at: usize, value: Option<T>) {
    by_round.resize(by_round.len().max(at + 1), None);
    by_round[at] = value;
}

/// A round of a group.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct JudgedRound {
    /// The group, by its number in the run.
    pub group: usize,
    /// The round, from 1.
    pub round: u64,
    /// The session of the run in which it was measured, from 1.
    pub session: u64,
    /// What others did meanwhile, by the names of the checks; null where nothing was noticed.
    pub marked: Option<String>,
    /// Where nothing was noticed, the checks that couldn't be made: whether others disturbed it is unknown then.
    pub unknown: Option<String>,
}

/// The launches of a case in undisturbed rounds, beside the estimate, which is of all.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Stratified {
    /// Launches in unmarked rounds.
    pub launches: u64,
    /// Their median, in the unit of the estimate; null where there is none.
    pub median: Option<f64>,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
    /// Launches in marked rounds.
    pub marked_launches: u64,
    /// Their median.
    pub marked_median: f64,
}

/// What is known of others during a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundState {
    /// They were looked for, and did nothing that matters.
    Undisturbed,
    /// They disturbed it.
    Disturbed,
    /// What they did could not be read.
    Unknown,
}

impl RoundState {
    /// That of a round in which something was noticed, or couldn't be looked for.
    pub(crate) fn of(marked: bool, unknown: bool) -> RoundState {
        match (marked, unknown) {
            (true, _) => RoundState::Disturbed,
            (false, true) => RoundState::Unknown,
            (false, false) => RoundState::Undisturbed,
        }
    }
}

/// The rounds that a comparison rests on, by what is known of others meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundCounts {
    /// Known to be undisturbed.
    pub undisturbed: u64,
    /// Disturbed.
    pub disturbed: u64,
    /// Of which nothing is known.
    pub unknown: u64,
}

impl RoundCounts {
    /// The one rule on disturbed rounds: where others disturbed all of those of which something is known, nothing
    /// that rests on them is a firm verdict. Groups, cases, capacities, needs, claims, and two runs compared ask it
    /// here. Where nothing is known of any, verdicts stand beside words that say so; only a gate needs rounds that
    /// are known to be undisturbed.
    pub fn allow_no_verdict(self) -> bool {
        self.undisturbed == 0 && self.disturbed > 0
    }
}

impl FromIterator<RoundState> for RoundCounts {
    fn from_iter<T: IntoIterator<Item = RoundState>>(states: T) -> RoundCounts {
        let mut counts = RoundCounts::default();
        for state in states {
            match state {
                RoundState::Undisturbed => counts.undisturbed += 1,
                RoundState::Disturbed => counts.disturbed += 1,
                RoundState::Unknown => counts.unknown += 1,
            }
        }
        counts
    }
}

impl JudgedRound {
    /// What is known of others meanwhile.
    pub fn state(&self) -> RoundState {
        RoundState::of(self.marked.is_some(), self.unknown.is_some())
    }
}

/// Judges the rounds of a run, and gives cases and groups what follows.
pub(super) fn assign<'a>(
    run: &StoredRun,
    cases: impl Iterator<Item = &'a mut CaseResult>,
    groups: &mut [GroupVerdict],
) -> Vec<JudgedRound> {
    let judged = |round: &store::StoredRound| {
        let session = round.noise.session.max(1);
        let (marked, unknown) = match round.noise.disturbance() {
            Disturbance::None => (None, None),
            Disturbance::By(checks) => (Some(checks), None),
            Disturbance::Unknown(checks) => (None, Some(checks)),
        };
        JudgedRound { group: round.group, round: round.nth, session, marked, unknown }
    };
    let rounds: Vec<JudgedRound> = run.rounds.iter().map(judged).collect();
    let of = |group: usize, with: fn(&JudgedRound) -> bool| {
        let here = rounds.iter().filter(move |round| round.group == group && with(round));
        here.map(|round| round.round).collect::<Vec<u64>>()
    };
    let marked = |group| of(group, |round| round.marked.is_some());
    let unknown = |group| of(group, |round| round.unknown.is_some());
    for group in groups {
        group.marked_rounds = marked(group.group).len() as u64;
        group.unknown_rounds = unknown(group.group).len() as u64;
        if group.is_disturbed() {
            group.decide_nothing();
        }
    }
    for case in cases {
        let unknown = unknown(case.group);
        let known = case.launch_medians.iter().zip(1..);
        let known: Vec<Option<f64>> =
            known.map(|(value, round)| value.filter(|_| !unknown.contains(&round))).collect();
        case.stratified = Stratified::of(&known, &marked(case.group));
        let launched = |round: u64| matches!(case.by_round.get(round as usize - 1), Some(Some(_)));
        let own = rounds.iter().filter(|round| round.group == case.group && launched(round.round));
        let counts: RoundCounts = own.map(JudgedRound::state).collect();
        case.disturbed = counts.allow_no_verdict();
    }
    rounds
}

impl Stratified {
    /// None where at most a tenth of the launches were in marked rounds.
    fn of(launches: &[Option<f64>], marked: &[u64]) -> Option<Stratified> {
        let all = launches.iter().zip(1..).filter_map(|(value, round)| Some((round, (*value)?)));
        let (disturbed, quiet): (Vec<_>, Vec<_>) =
            all.partition(|(round, _)| marked.contains(round));
        if disturbed.len() as f64 <= MANY * (disturbed.len() + quiet.len()) as f64 {
            return None;
        }
        let sorted = |launches: &[(u64, f64)]| {
            let mut values: Vec<f64> = launches.iter().map(|launch| launch.1).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let (quiet, disturbed) = (sorted(&quiet), sorted(&disturbed));
        let interval = stats::median_interval(&quiet, ALPHA);
        Some(Stratified {
            launches: quiet.len() as u64,
            median: (!quiet.is_empty()).then(|| stats::median(&quiet)),
            interval: interval.zip(ranks_of(quiet.len())).map(Ranked::from).into(),
            marked_launches: disturbed.len() as u64,
            marked_median: stats::median(&disturbed),
        })
    }
}

impl GroupVerdict {
    /// Whether others disturbed every round of it: then nothing of it is called best.
    pub fn is_disturbed(&self) -> bool {
        let disturbed = self.marked_rounds.min(self.rounds);
        let unknown = self.unknown_rounds.min(self.rounds - disturbed);
        let undisturbed = self.rounds - disturbed - unknown;
        RoundCounts { undisturbed, disturbed, unknown }.allow_no_verdict()
    }

    /// Takes back what its rounds don't bear: any of its cases may be the best, and none is faster or slower.
    fn decide_nothing(&mut self) {
        for standing in &mut self.standings {
            standing.verdict = standing.verdict.map(|_| "inconclusive");
            standing.among_best = true;
            (standing.slower_than_best_at_least, standing.slower_than_best_at_most) = (None, None);
            standing.slower_than_best = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_tenth_in_marked_rounds_stand_apart() {
        let launches: Vec<Option<f64>> = (1..=20).map(|number| Some(f64::from(number))).collect();
        assert_eq!(Stratified::of(&launches, &[3, 9]), None);
        let found = Stratified::of(&launches, &[18, 19, 20]).unwrap();
        assert_eq!((found.launches, found.median), (17, Some(9.0)));
        assert_eq!((found.interval.low, found.interval.high), (Some(5.0), Some(13.0)));
        assert_eq!((found.marked_launches, found.marked_median), (3, 19.0));
        let all: Vec<u64> = (1..=20).collect();
        let found = Stratified::of(&launches, &all).unwrap();
        assert_eq!((found.launches, found.median, found.interval.low), (0, None, None));
        assert_eq!((found.marked_launches, found.marked_median), (20, 10.5));
    }

    #[test]
    fn no_verdict_rests_on_rounds_that_others_disturbed_wherever_it_is_known() {
        use RoundState::{Disturbed, Undisturbed, Unknown};
        for (states, allow_none) in [
            (&[][..], false),
            (&[Undisturbed], false),
            (&[Disturbed, Undisturbed, Unknown], false),
            (&[Disturbed], true),
            (&[Disturbed, Disturbed, Unknown], true),
            (&[Unknown], false),
        ] {
            let counts: RoundCounts = states.iter().copied().collect();
            assert_eq!(counts.allow_no_verdict(), allow_none, "{states:?}");
        }
    }

    /// A launch that failed is in no stratum.
    #[test]
    fn failed_launches_count_nowhere() {
        let launches = [Some(1.0), None, Some(3.0), None];
        let found = Stratified::of(&launches, &[3, 4]).unwrap();
        assert_eq!((found.launches, found.marked_launches), (1, 1));
    }
}
