//! Groups: how they begin, are taken up again, and whether every case is precise enough to close one.

use std::collections::HashMap;
use std::rc::Rc;

use super::stopping::Next;
use super::{Campaign, LiveCase, LiveGroup, StoredLaunches};
use crate::launch::state::is_given_up;
use crate::plan::{Case, Plan};
use model::noise::Disturbance;
use model::request::Request;
use model::route::Route;
use stats::Analysis;
use store::{Closed, MadeLaunch, NewCase, Store, StoreError, StoredGroup, StoredRun};

/// A launch in one number: the median of its samples, in ns per operation.
///
/// Ticks are coarse, so the median is that of the mid-distribution (METHOD: the clock).
pub fn value_ns(samples: &mut [u64], batch: u64, ns_per_tick: f64) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    samples.sort_unstable();
    Some(stats::mid_quantile(samples, 0.5) * ns_per_tick / batch as f64)
}

impl Campaign<'_> {
    /// Whether a group gets another round. Analyses it where that is due, and closes it if it may close.
    pub(super) fn goes_on(&mut self, nth: usize) -> Result<bool, StoreError> {
        let bound = self.bound(nth);
        let request = &self.request;
        let group = &mut self.groups[nth];
        // Sessions are for what differs between them: none is left out because one was precise.
        let may_end = request.sessions.is_none() && request.bound.is_none() && !bound.lacking;
        let next = group
            .progressed()
            .next(bound, |analysis| group.judge_precision(analysis, request) && may_end);
        let (spent, closed) = match next {
            // Nothing is left to launch.
            _ if group.cases.iter().all(|it| it.given_up) => (group.spent, Some(Closed::Launches)),
            Next::Round { spent } if spent == group.spent => return Ok(true),
            Next::Round { spent } => (spent, None),
            Next::Close { closed, spent } => (spent, Some(closed)),
        };
        (group.spent, group.closed) = (spent, closed);
        self.with.store.set_group(self.run, group.nth, spent, closed)?;
        Ok(closed.is_none())
    }
}

impl LiveGroup {
    /// Whether enough of the cases that aren't given up are as precise as asked.
    fn judge_precision(&mut self, analysis: &Analysis, request: &Request) -> bool {
        for case in &mut self.cases {
            let asked =
                request.stopping.asked(case.case.workload, case.case.place.shares_one_cpu());
            // What carries nothing is a control: it is compared with nothing, and holds up
            // nobody; nor does what is observed, which has launches enough for its counts, or what has company,
            // of which no width is asked.
            let control = case.case.variant.traits().carries.is_control();
            let no_result = case.is_observed() || case.is_accompanied();
            case.precise = control || no_result || case.half_width(analysis) <= asked;
        }
        let going_on = || self.cases.iter().filter(|case| !case.given_up);
        let precise = going_on().filter(|case| case.precise).count();
        request.stopping.is_enough(precise, going_on().count())
    }
}

impl LiveCase {
    /// Relative half-width of the headline interval at a look; infinite while launches lack.
    fn half_width(&self, analysis: &Analysis) -> f64 {
        if self.medians.len() != analysis.launches {
            return f64::INFINITY;
        }
        match analysis.interval(&self.medians) {
            Some(interval) => (interval.high - interval.low) / 2.0 / interval.estimate,
            None => f64::INFINITY,
        }
    }
}

/// Keeps the groups of a plan, those that are measured and those that aren't.
pub(super) fn add_groups(store: &mut Store, run: i64, plan: &Plan) -> Result<(), StoreError> {
    for (group_nth, group) in plan.groups.iter().enumerate() {
        let measured = group.cases.iter().map(|case| (case, None));
        let absent = group.absent.iter().map(|it| (&it.case, Some((it.absence, &*it.reason))));
        let row = |(nth, (case, absence)): (usize, (&Case, _))| {
            let case = case.kept();
            NewCase { group: group_nth, nth, case, absence, ends: None, fixed: None }
        };
        store.add_cases(run, measured.chain(absent).enumerate().map(row))?;
        if group.cases.is_empty() {
            store.set_group(run, group_nth, 0.0, Some(Closed::Launches))?;
        }
    }
    Ok(())
}

/// The groups of a stored run as they stand, and its launches that stay as they are. A round that was cut short
/// is measured again as a whole: its launches are replaced. Of a fleet no launch is made again that is stored:
/// nodes that were lost owe single ones, of any round.
pub(super) fn revive(
    store: &Store,
    run: &StoredRun,
) -> Result<(Vec<LiveGroup>, StoredLaunches), StoreError> {
    let mut made = store.made_launches(run.id)?;
    let (mut groups, mut stay) = (Vec::new(), StoredLaunches::new());
    for group in &run.groups {
        let cases = cases(run, group, &mut made);
        if cases.is_empty() {
            continue;
        }
        let wants_quiet = match &run.fleet {
            Some(fleet) => !fleet.asked.simulated && fleet.asked.settle_ns > 0,
            None => cases.iter().any(|(live, _)| !live.case.place.shares_one_cpu()),
        };
        let mut live = LiveGroup::new(group.nth, Vec::new(), wants_quiet);
        let mut counted = u64::MAX;
        if run.fleet.is_some() {
            let each =
                cases.iter().flat_map(|(live, made)| made.iter().map(|it| (live.id, it.round)));
            stay.extend(each);
        } else {
            let going_on = cases.iter().filter(|(live, _)| !live.given_up && !live.is_observed());
            let launched = going_on.map(|(_, made)| made.last().map_or(0, |it| it.round));
            // Of a choice some have ended before: what goes on has launches in every round.
            let chooses = run.request.aim.need().is_some();
            let launched = if chooses { launched.max() } else { launched.min() };
            counted = launched.unwrap_or(0).min(store.finished_rounds(run.id, group.nth)?);
            let kept = run.rounds.iter().filter(|it| it.group == group.nth && it.nth <= counted);
            let found: Vec<Disturbance> = kept.map(|it| it.noise.disturbance()).collect();
            live.unmarked = found.iter().filter(|it| it.is_none()).count() as u64;
            live.unknown = found.iter().filter(|it| it.is_unknown()).count() as u64;
            (live.rounds, live.spent, live.closed) = (counted, group.spent, group.closed);
        }
        for (mut case, made) in cases {
            let made = made.iter().filter(|it| it.round <= counted);
            made.for_each(|it| case.count(it.median_ns));
            live.cases.push(case);
        }
        groups.push(live);
    }
    Ok((groups, stay))
}

/// The cases of a group that are measured, each with its launches of rounds.
fn cases(
    run: &StoredRun,
    group: &StoredGroup,
    made: &mut HashMap<i64, Vec<MadeLaunch>>,
) -> Vec<(LiveCase, Vec<MadeLaunch>)> {
    let elsewhere = run.peer.as_ref().is_some_and(|it| !it.one_kernel);
    let mut cases = Vec::new();
    let mut shared: Option<(&model::case::Case, Rc<Case>)> = None;
    for stored in group.cases.iter().filter(|case| case.absence.is_none()) {
        // All pairs of a fleet's group share one case, and so do all nodes.
        let case = match &shared {
            Some((kept, case)) if **kept == stored.case => Rc::clone(case),
            _ => {
                let Some(mut case) = Case::of_kept(&stored.case) else { continue };
                case.place.apart = elsewhere && case.route == Route::Peer;
                Rc::new(case)
            }
        };
        shared = Some((&stored.case, Rc::clone(&case)));
        let fixed = (stored.batch, stored.samples_per_launch, stored.operation_ns);
        let mut live = LiveCase::new(stored.id, case, stored.ends, fixed);
        let made = made.remove(&stored.id).unwrap_or_default();
        let (pilots, made): (Vec<_>, Vec<_>) = made.into_iter().partition(|it| it.round == 0);
        // Where nothing was fixed the pilot is made again.
        live.given_up = live.samples > 0 && pilots.iter().any(|it| !it.worked);
        let worked = made.iter().filter(|it| it.worked).count();
        live.given_up |= is_given_up(made.len() - worked, worked);
        cases.push((live, made));
    }
    // What is observed was never piloted by itself.
    let failed: Vec<Rc<Case>> = cases
        .iter()
        .filter(|(live, _)| live.given_up && !live.is_observed())
        .map(|(live, _)| Rc::clone(&live.case))
        .collect();
    for (live, _) in cases.iter_mut().filter(|(live, _)| live.is_observed()) {
        let plain = Case { observe: None, ..(*live.case).clone() };
        live.given_up |= failed.iter().any(|it| **it == plain);
    }
    cases
}
