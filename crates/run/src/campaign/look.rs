//! Groups: how they begin, are taken up again, and end.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Campaign, LiveCase, LiveGroup, StoredLaunches};
use crate::launch::state::is_given_up;
use crate::plan::WithMechanism;
use crate::plan::{Case, Plan};
use model::noise::Disturbance;
use model::route::Route;
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
    /// Whether a group gets another round. Closes it if not.
    pub(super) fn goes_on(&mut self, nth: usize) -> Result<bool, StoreError> {
        self.screen(nth)?;
        let bound = self.bound(nth);
        let group = &mut self.groups[nth];
        // Or nothing is left to launch.
        let given_up = group.cases.iter().all(|case| case.given_up);
        group.closed =
            if given_up { Some(Closed::Launches) } else { bound.ends(group.judged() as usize) };
        if group.closed.is_some() {
            self.with.store.set_group(self.run, group.nth, group.closed)?;
        }
        Ok(group.closed.is_none())
    }
}

/// Keeps the groups of a plan, those that are measured and those that aren't.
pub(super) fn add_groups(store: &mut Store, run: i64, plan: &Plan) -> Result<(), StoreError> {
    for (group_nth, group) in plan.groups.iter().enumerate() {
        let measured = group.cases.iter().map(|case| (case, None));
        let absent = group
            .absent
            .iter()
            .map(|absent| (&absent.case, Some((absent.absence, &*absent.reason))));
        let row = |(nth, (case, absence)): (usize, (&Case, _))| {
            let case = case.kept();
            NewCase { group: group_nth, nth, case, absence, ends: None, fixed: None }
        };
        store.add_cases(run, measured.chain(absent).enumerate().map(row))?;
        if group.cases.is_empty() {
            store.set_group(run, group_nth, Some(Closed::Launches))?;
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
        let mut cases = cases(run, group, &mut made);
        if cases.is_empty() {
            continue;
        }
        let wants_quiet = match &run.fleet {
            Some(fleet) => !fleet.asked.simulated && fleet.asked.settle_ns > 0,
            None => cases.iter().any(|(live, _)| !live.case.place.shares_one_cpu()),
        };
        let mut live = LiveGroup::new(group.nth, Vec::new(), wants_quiet);
        let mut counted = u64::MAX;
        live.screened = run.screening(group.nth);
        let finished = store.finished_rounds(run.id, group.nth)?;
        for (live_case, made) in &mut cases {
            // Screening left it out.
            let last = made.last().map_or(0, |launch| launch.round);
            live_case.given_up |= last <= live.screened && finished > live.screened;
        }
        if run.fleet.is_some() {
            let each = cases
                .iter()
                .flat_map(|(live, made)| made.iter().map(|launch| (live.id, launch.round)));
            stay.extend(each);
        } else {
            let going_on = cases.iter().filter(|(live, _)| !live.given_up && !live.is_observed());
            let launched = going_on.map(|(_, made)| made.last().map_or(0, |launch| launch.round));
            // Of a choice some have ended before: what goes on has launches in every round.
            let chooses = run.request.aim.need().is_some();
            let launched = if chooses { launched.max() } else { launched.min() };
            counted = launched.unwrap_or(0).min(finished);
            let kept =
                run.rounds.iter().filter(|round| round.group == group.nth && round.nth <= counted);
            let found: Vec<Disturbance> = kept.map(|round| round.noise.disturbance()).collect();
            live.unmarked = found.iter().filter(|disturbance| disturbance.is_none()).count() as u64;
            live.unknown =
                found.iter().filter(|disturbance| disturbance.is_unknown()).count() as u64;
            (live.rounds, live.closed) = (counted, group.closed);
        }
        for (mut case, made) in cases {
            let made = made.iter().filter(|launch| launch.round <= counted);
            made.for_each(|launch| case.count(launch.median_ns));
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
    let elsewhere = run.peer.as_ref().is_some_and(|peer| !peer.one_kernel);
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
        let (pilots, made): (Vec<_>, Vec<_>) =
            made.into_iter().partition(|launch| launch.round == 0);
        // Where nothing was fixed the pilot is made again.
        live.given_up = live.samples > 0 && pilots.iter().any(|pilot| !pilot.worked);
        let worked = made.iter().filter(|launch| launch.worked).count();
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
        live.given_up |= failed.iter().any(|case| **case == plain);
    }
    cases
}
