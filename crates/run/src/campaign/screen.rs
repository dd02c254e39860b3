//! What the first rounds of a group decide: which cases go on, and how many launches they need.

use super::{Campaign, LiveCase, LiveGroup};
use crate::plan::Case;
use model::cycles::Cycles;
use model::reference;
use model::request::Request;
use model::screening::{ROUNDS, Screened, contenders, front};
use stats::LEAST_LAUNCHES;
use store::StoreError;

impl Campaign<'_> {
    /// Decides it once, as soon as a group has had its first rounds. From these alone, so that a run which is taken
    /// up again decides the same.
    pub(super) fn screen(&mut self, nth: usize) -> Result<(), StoreError> {
        let request = &self.request;
        // Sessions are for what differs between them: none is left out because others were precise.
        let open = request.stopping.launches.is_none()
            && request.sessions.is_none()
            && request.bound.is_none();
        if self.chooses_free() && self.groups[nth].is_free() {
            self.choose_free(nth);
        } else if open && self.request.screens() {
            self.drop_the_slow(nth);
        }
        let group = &self.groups[nth];
        if open && group.needed.is_none() && group.rounds >= ROUNDS as u64 {
            let cycles: Result<Vec<_>, _> =
                group.cases.iter().map(|case| self.cycles(case)).collect();
            self.groups[nth].needed = self.groups[nth].needs(&self.request, &cycles?);
        }
        Ok(())
    }

    /// What the first launches of a case took in each cycle, by round.
    fn cycles(&self, live: &LiveCase) -> Result<FirstCycles, StoreError> {
        let mut found = vec![None; ROUNDS];
        for launch in self.with.store.launches(live.id)? {
            let turns = launch.record.initiator.turns.as_ref();
            let at = (launch.round as usize).checked_sub(1).filter(|at| *at < ROUNDS);
            if let (Some(turns), Some(at)) = (turns, at) {
                found[at] = Some(Cycles::of(&self.with.store.samples(launch.id)?, turns, 1.0));
            }
        }
        Ok(found)
    }
}

/// What the first launches of a case took, by round, where they took turns with others.
type FirstCycles = Vec<Option<Cycles>>;

impl Campaign<'_> {
    /// Leaves out what can't be best, where there is time for what is left.
    fn drop_the_slow(&mut self, nth: usize) {
        if self.groups[nth].rounds != ROUNDS as u64 {
            return;
        }
        let on = contenders(&self.groups[nth].screened(&self.request));
        let bound = self.bound(nth);
        let group = &mut self.groups[nth];
        let now = group.cases.iter().filter(|case| !case.given_up).count();
        let going = group.cases.iter().zip(&on).filter(|pair| !pair.0.given_up && *pair.1).count();
        let share = going as f64 / now.max(1) as f64;
        // Rounds of what is left, against all that there would be without screening.
        let after = bound.rounds_left.map_or(f64::INFINITY, |left| left as f64 / share);
        let without = bound.rounds_left.map_or(0, |left| left + ROUNDS).max(LEAST_LAUNCHES / 2);
        if going == now || (bound.hard && after < without as f64) {
            return;
        }
        group.keep(&on);
        group.screened = ROUNDS as u64;
        group.took = group.took.mul_f64(share);
    }
}

impl Campaign<'_> {
    /// Whether cases are placed freely for their comparison with the others alone: where nobody named a placement.
    pub(super) fn chooses_free(&self) -> bool {
        let pinned = self.groups.iter().any(|group| !group.is_free());
        self.request.screens() && !self.request.named.placements && pinned
    }

    /// Leaves in a group of free workers, before its first round, what was among the quickest elsewhere: a round of all takes
    /// half of the time, and names no best, since the kernel places each launch anew.
    fn choose_free(&mut self, nth: usize) {
        if self.groups[nth].rounds > 0 {
            return;
        }
        let pinned = self.groups.iter().filter(|group| !group.is_free());
        let pinned: Vec<(&LiveCase, bool)> = pinned
            .flat_map(|group| group.cases.iter().zip(front(&group.screened(&self.request))))
            .collect();
        let on = |live: &LiveCase| {
            let elsewhere = || pinned.iter().filter(|(case, _)| case.is_of(live));
            elsewhere().next().is_none() || elsewhere().any(|(_, ahead)| *ahead)
        };
        let on: Vec<bool> = self.groups[nth].cases.iter().map(on).collect();
        self.groups[nth].keep(&on);
    }
}

impl LiveGroup {
    /// What its first rounds say of its cases.
    fn screened(&self, request: &Request) -> Vec<Screened> {
        let names: Vec<String> =
            self.cases.iter().map(|case| case.case.variant.to_string()).collect();
        let local = self.cases.iter().all(|case| case.case.route.is_local());
        let asked = request.reference.as_deref();
        let reference = reference::chosen(names.iter().map(String::as_str), local, asked);
        // The A/A pair, too: a case and its second name.
        let paired = |live: &LiveCase| {
            let same = |case: &&LiveCase| case.case.variant == live.case.variant;
            live.case.twin || self.cases.iter().filter(same).any(|case| case.case.twin)
        };
        let screened = |(at, live): (usize, &LiveCase)| Screened {
            launches: live.medians.clone(),
            class: live.case.variant.traits().class(),
            spins: live.case.variant.busy_waits(),
            stays: reference == Some(at) || paired(live),
        };
        self.cases.iter().enumerate().map(screened).collect()
    }

    fn keep(&mut self, on: &[bool]) {
        for (live, on) in self.cases.iter_mut().zip(on) {
            live.given_up |= !on;
        }
    }

    /// How many launches give as many of its cases the precision that was asked as are enough, by its first rounds: of
    /// their ratios to the reference, or of the launches of the one that is compared with nothing. None where these
    /// can't tell.
    fn needs(&self, request: &Request, cycles: &[FirstCycles]) -> Option<usize> {
        let cases = self.cases.iter().zip(cycles);
        let ranked: Vec<_> = cases.filter(|case| case.0.is_ranked()).collect();
        let local = ranked.first()?.0.case.route.is_local();
        let names: Vec<String> =
            ranked.iter().map(|pair| pair.0.case.variant.to_string()).collect();
        let asked = request.reference.as_deref();
        let reference = reference::chosen(names.iter().map(String::as_str), local, asked)?;
        let alone = ranked.len() == 1;
        let arms = !request.arms.is_empty();
        // What is asked of arms is how each differs from the first.
        let against = |nth: usize| match arms {
            true => ranked.iter().position(|other| other.0.is_first_arm_of(ranked[nth].0)),
            false => Some(reference).filter(|_| !alone),
        };
        let cases = ranked.iter().enumerate().filter(|pair| {
            let against = against(pair.0);
            if arms { against.is_some_and(|at| at != pair.0) } else { alone || pair.0 != reference }
        });
        let needed = cases.filter_map(|(nth, case)| {
            let against = against(nth).map(|at| ranked[at]);
            let Case { workload, place, .. } = *case.0.case;
            let asked = request.stopping.asked(workload, place.shares_one_cpu());
            stats::launches_needed(&logs(*case, against), asked)
        });
        let mut needed: Vec<f64> = needed.collect();
        needed.sort_by(f64::total_cmp);
        let last = request.stopping.enough_of(needed.len()).checked_sub(1)?;
        Some(needed[last].ceil() as usize)
    }
}

impl LiveCase {
    /// Whether it is the same case elsewhere.
    fn is_of(&self, other: &LiveCase) -> bool {
        let moved = Case {
            placement: other.case.placement,
            place: other.case.place,
            ..(*self.case).clone()
        };
        moved == *other.case
    }

    /// Whether it is the same case under the arm that is held against: of cases, the first.
    fn is_first_arm_of(&self, other: &LiveCase) -> bool {
        let plain = |live: &LiveCase| Case { arm: None, ..(*live.case).clone() };
        plain(self) == plain(other)
    }

    /// Whether it is a result that is compared: no control, no second name, nothing beside it.
    fn is_ranked(&self) -> bool {
        let control = self.case.variant.traits().carries.is_control();
        let beside = self.is_observed() || self.is_accompanied();
        !(self.given_up || control || beside || self.case.twin)
    }
}

/// Logarithms of the first launches of a case, over those of another one in the same rounds, within cycles where both took
/// turns.
fn logs(
    (case, cycles): (&LiveCase, &FirstCycles),
    against: Option<(&LiveCase, &FirstCycles)>,
) -> Vec<f64> {
    let log = |(round, ns): (usize, &Option<f64>)| {
        let Some((other, in_turns)) = against else { return Some((*ns)?.ln()) };
        let both = cycles.get(round)?.as_ref().zip(in_turns.get(round)?.as_ref());
        let within = both.and_then(|(own, other)| own.log_ratio(other));
        let (own, other) = ((*ns)?, (*other.medians.get(round)?)?);
        Some(within.unwrap_or_else(|| (own / other).ln()))
    };
    case.medians.iter().take(ROUNDS).enumerate().filter_map(log).collect()
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::sizing::tests::case;
    use super::*;
    use model::placement::Placement;
    use model::workload::Workload;

    fn live(variant: &str, ns: f64) -> LiveCase {
        let case = Rc::new(case(variant, Workload::Latency));
        let mut live = LiveCase::new(1, case, None, (None, None, None));
        (0..ROUNDS).for_each(|_| live.count(Some(ns)));
        live
    }

    #[test]
    fn what_others_are_compared_with_goes_on_however_slow() {
        let mut cases: Vec<LiveCase> = [
            ("fifo", 1.0),
            ("unix-stream", 1.1),
            ("sysv-queue", 1.2),
            ("pipe", 9.0),
            ("pty", 9.0),
            ("noop", 0.1),
        ]
        .into_iter()
        .map(|(name, ns)| live(name, ns))
        .collect();
        let group = |cases| LiveGroup::new(0, cases, false);
        let on = contenders(&group(std::mem::take(&mut cases)).screened(&Request::default()));
        assert_eq!(on, [true, true, true, true, false, true]);
        let mut second = live("pty", 9.0);
        second.case = Rc::new(Case { twin: true, ..(*second.case).clone() });
        let named = ["fifo", "unix-stream", "sysv-queue", "pipe", "pty"];
        let mut cases: Vec<LiveCase> =
            named.iter().zip([1.0, 1.1, 1.2, 9.0, 9.0]).map(|(name, ns)| live(name, ns)).collect();
        cases.push(second);
        let asked = Request { reference: Some("fifo".into()), ..Request::default() };
        let on = contenders(&group(cases).screened(&asked));
        assert_eq!(on, [true, true, true, false, true, true]);
    }

    #[test]
    fn launches_are_planned_by_the_scatter_of_ratios() {
        let scattered = |name, factor: f64| {
            let mut case = live(name, 1.0);
            let swing = |round: usize| if round.is_multiple_of(2) { factor } else { 1.0 / factor };
            // What the round does to both leaves their ratio alone.
            case.medians =
                (0..ROUNDS).map(|number| Some(swing(number) * (1.0 + number as f64))).collect();
            case
        };
        let needs = |cases| {
            let cases: Vec<LiveCase> = cases;
            let cycles = vec![vec![None; ROUNDS]; cases.len()];
            LiveGroup::new(0, cases, false).needs(&Request::default(), &cycles)
        };
        let pair = |factor| vec![scattered("pipe", 1.0), scattered("fifo", factor)];
        assert_eq!((needs(pair(1.0)), needs(vec![live("fifo", 2.0)])), (Some(0), Some(0)));
        let (some, more) = (needs(pair(1.1)).unwrap(), needs(pair(1.21)).unwrap());
        assert!((80..95).contains(&some) && (3 * some..5 * some).contains(&more), "{some} {more}");
        assert!(needs(vec![scattered("fifo", 1.0)]).unwrap() > 1_000, "alone, its own level moves");
    }

    #[test]
    fn a_case_is_known_again_elsewhere() {
        let here = live("pipe", 1.0);
        let mut there = live("pipe", 1.0);
        there.case = Rc::new(Case { placement: Placement::Free, ..(*there.case).clone() });
        assert!(here.is_of(&there) && !live("fifo", 1.0).is_of(&there));
    }
}
