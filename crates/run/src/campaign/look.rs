//! Groups: how they begin, are taken up again, and whether every case is precise enough to close one.

use std::rc::Rc;

use super::stopping::Next;
use super::{Campaign, LiveCase, LiveGroup};
use crate::launch::state::is_given_up;
use crate::plan::{Case, Plan};
use model::request::Request;
use model::route::Route;
use stats::Analysis;
use store::{Closed, NewCase, Store, StoreError, StoredGroup, StoredRun};

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
        let may_end = request.sessions.is_none() && !bound.lacking;
        let next = group
            .progressed()
            .next(bound, |analysis| group.judge_precision(analysis, request) && may_end);
        let (spent, closed) = match next {
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
            // nobody; nor does what is observed, which has launches enough for its counts.
            let control = case.case.variant.traits().carries.is_control();
            case.precise = control || case.is_observed() || case.half_width(analysis) <= asked;
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
        let rows: Vec<NewCase> = measured
            .chain(absent)
            .enumerate()
            .map(|(nth, (case, absence))| NewCase {
                group: group_nth,
                nth,
                case: case.kept(),
                absence,
            })
            .collect();
        store.add_cases(run, &rows)?;
        if group.cases.is_empty() {
            store.set_group(run, group_nth, 0.0, Some(Closed::Launches))?;
        }
    }
    Ok(())
}

/// A group of a stored run as it stands; None where nothing of it is measured.
pub(super) fn revive(
    store: &Store,
    run: &StoredRun,
    group: &StoredGroup,
    clock: &model::clock::Record,
) -> Result<Option<LiveGroup>, StoreError> {
    let elsewhere = run.peer.as_ref().is_some_and(|it| !it.one_kernel);
    let mut cases = Vec::new();
    for stored in group.cases.iter().filter(|case| case.absence.is_none()) {
        let apart = elsewhere && stored.case.route == Route::Peer;
        let Some(mut case) = Case::of_kept(&stored.case) else { continue };
        case.place.apart = apart;
        let fixed = (stored.batch, stored.samples_per_launch, stored.operation_ns);
        let mut live = LiveCase::new(stored.id, Rc::new(case), None, fixed);
        let mut medians = Vec::new();
        for launch in &store.launches(stored.id)? {
            if launch.round == 0 {
                // Where nothing was fixed the pilot is made again.
                live.given_up = launch.status != "ok" && live.samples > 0;
                continue;
            }
            let mut samples = store.samples(launch.id)?;
            let at = launch.round as usize - 1;
            medians.resize(medians.len().max(at + 1), None);
            medians[at] = value_ns(&mut samples, live.batch.max(1), clock.ns_per_tick);
        }
        let worked = medians.iter().flatten().count();
        live.given_up |= is_given_up(medians.len() - worked, worked);
        cases.push((live, medians));
    }
    if cases.is_empty() {
        return Ok(None);
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
    // A round that was cut short is measured again as a whole: its launches are replaced.
    let going_on = cases.iter().filter(|(live, _)| !live.given_up && !live.is_observed());
    let launched = going_on.map(|(_, medians)| medians.len()).min().unwrap_or(0);
    let rounds = launched.min(store.finished_rounds(run.id, group.nth)? as usize);
    let cases: Vec<LiveCase> = cases
        .into_iter()
        .map(|(mut live, medians)| {
            medians.into_iter().take(rounds).for_each(|it| live.count(it));
            live
        })
        .collect();
    let kept = run.rounds.iter().filter(|it| it.group == group.nth && it.nth <= rounds as u64);
    let wants_quiet = cases.iter().any(|case| !case.case.place.shares_one_cpu());
    Ok(Some(LiveGroup {
        unmarked: kept.filter(|it| it.noise.marked().is_none()).count() as u64,
        rounds: rounds as u64,
        spent: group.spent,
        closed: group.closed,
        ..LiveGroup::new(group.nth, cases, wants_quiet)
    }))
}
