//! A capacity in two stages: few rounds of coarse rates, then the rest of the time for rates close to where each
//! case exceeds the bound. Which those are is chosen from the first stage alone, and what is said of a
//! capacity rests on the launches of the second, which chose nothing.
//!
//! And a choice, which has one stage: where a mechanism can't carry what is needed, its launches are the longest of
//! all, and their time goes to what can.

use std::rc::Rc;
use std::time::Duration;

use super::{Campaign, LiveCase, LiveGroup, value_ns};
use crate::plan::{Case, WithMechanism};
use model::capacity::{Standing, TailBound, Tried, finer, hopeless};
use model::choice::SURE_LAUNCHES;
use model::request::MOST_LAUNCHES;
use store::{NewCase, StoreError};

/// Rounds of coarse rates: most of three decide.
const COARSE_ROUNDS: usize = 3;
/// Of the budget what coarse rates may take, preparing them included.
const COARSE_SHARE: f64 = 0.4;

/// Of a group what differs in its rate alone, in the order of rates.
struct Subject {
    /// The case of each rate.
    places: Vec<usize>,
    tried: Vec<Tried>,
}

impl Campaign<'_> {
    /// Whether rates are sought in two stages.
    fn refines(&self) -> Option<TailBound> {
        self.request.bound.filter(|_| self.request.aim.need().is_none())
    }

    /// Whether a group holds the rates that are tried first.
    pub(super) fn is_coarse(&self, nth: usize) -> bool {
        self.refines().is_some()
            && !self.groups[..nth].iter().any(|group| group.shares_subject(&self.groups[nth]))
    }

    /// The part of the `whole` budget by which a group is to end.
    pub(super) fn budget_of(&self, nth: usize, whole: Duration) -> Duration {
        if self.is_coarse(nth) { whole.mul_f64(COARSE_SHARE) } else { whole }
    }

    /// Exactly how many launches a case of a group has, unless time ends it. What seeks a rate has a number of
    /// them that depends on no value.
    pub(super) fn launches_of(&self, nth: usize) -> Option<usize> {
        let asked = self.request.stopping.launches.map(|launch| launch as usize);
        match self.request.bound {
            None => asked,
            Some(_) if self.is_coarse(nth) => {
                Some(asked.unwrap_or(COARSE_ROUNDS).min(COARSE_ROUNDS))
            }
            Some(_) => Some(asked.unwrap_or(MOST_LAUNCHES as usize)),
        }
    }

    /// Once all coarse rates are measured: adds a group of finer ones for each of their groups that has none.
    /// Whether there are any.
    pub(super) fn refine(&mut self) -> Result<bool, StoreError> {
        let Some(bound) = self.refines() else { return Ok(false) };
        let coarse: Vec<usize> =
            (0..self.groups.len()).filter(|number| self.is_coarse(*number)).collect();
        let refined = |nth: &usize| {
            self.groups[nth + 1..].iter().any(|group| self.groups[*nth].shares_subject(group))
        };
        let lacking: Vec<usize> = coarse.into_iter().filter(|number| !refined(number)).collect();
        let known = self.with.store.run(self.run)?.groups.iter().map(|group| group.nth).max();
        let mut next = known.map_or(0, |number| number + 1);
        let mut any = false;
        for nth in lacking {
            let cases = self.finer_cases(nth, &bound)?;
            if !cases.is_empty() {
                self.add_group(next, cases)?;
                next += 1;
                any = true;
            }
        }
        if any {
            self.with
                .progress
                .stage("finer rates, around where each case begins to exceed the bound");
        }
        Ok(any)
    }

    /// The cases of a coarse group at finer rates.
    fn finer_cases(&self, nth: usize, bound: &TailBound) -> Result<Vec<Case>, StoreError> {
        let mut cases = Vec::new();
        for Subject { places, tried } in self.subjects(nth, bound)? {
            let case = &*self.groups[nth].cases[places[0]].case;
            for per_second in finer(&tried) {
                let load = case.load.map(|load| model::load::Load { per_second, ..load });
                cases.push(Case { load, ..case.clone() });
            }
        }
        Ok(cases)
    }

    /// Ends what a choice needs to know no more of. It goes by the first launches alone, so that a run which is taken
    /// up again ends the same.
    pub(super) fn end_hopeless(&mut self, nth: usize) -> Result<(), StoreError> {
        let chooses = self.request.aim.need().is_some();
        let Some(bound) = self.request.bound.filter(|_| chooses) else { return Ok(()) };
        if self.groups[nth].unmarked == 0 {
            return Ok(()); // others may be why
        }
        let mut any = false;
        for Subject { places, tried } in self.subjects(nth, &bound)? {
            for (at, _) in places.into_iter().zip(hopeless(&tried)).filter(|pair| pair.1) {
                let live = &mut self.groups[nth].cases[at];
                any |= !live.given_up;
                live.given_up = true;
            }
        }
        if any {
            self.groups[nth].took = Duration::ZERO; // rounds are shorter from now on
        }
        Ok(())
    }

    /// Where the budget of a choice has no time for as many rounds as decide, leaves out what matters least: the highest
    /// rates, then the mechanisms, of each those first that answered slowest in their pilots. Where it has none for the
    /// quickest alone, that is told once a round shows it, before the budget is spent.
    pub(super) fn fit_choice(&mut self, nth: usize) -> Result<(), StoreError> {
        let stopping = &self.request.stopping;
        let chooses = self.request.aim.need().is_some() && stopping.launches.is_none();
        let Some(budget) = stopping.budget_ns.filter(|_| chooses) else { return Ok(()) };
        let group = &self.groups[nth];
        let lacking = SURE_LAUNCHES.saturating_sub(group.rounds) as u32;
        let spent = self.began.elapsed();
        let left = Duration::from_nanos(budget).saturating_sub(spent);
        if group.took * lacking <= left {
            return Ok(());
        }
        // More time for rounds is more for preparing, too.
        let whole = spent + self.beyond + group.took * lacking;
        let whole = whole.as_secs().next_multiple_of(5) + 5;
        let live = || group.cases.iter().enumerate().filter(|(_, case)| !case.given_up);
        let timed: f64 = live().map(|(_, case)| case.timed_ns()).sum();
        let took = group.took.as_nanos() as f64;
        let beside = (took - timed).max(0.0) / live().count() as f64;
        let mut order = Vec::new();
        for (at, case) in live() {
            let rate = case.case.load.map_or(0, |load| load.per_second);
            order.push((rate, self.pilot_took_ns(case)?, at));
        }
        order.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut rest = left.as_nanos() as f64 / f64::from(lacking);
        let fits = |(_, _, at): &(u64, f64, usize)| {
            rest -= group.cases[*at].timed_ns() + beside;
            rest >= 0.0
        };
        let fitting = order.iter().copied().take_while(fits).count();
        if fitting == 0 {
            if group.rounds == 1 {
                let text = format!(
                    "the budget has time for less than {SURE_LAUNCHES} rounds of {:.1} s, and {SURE_LAUNCHES} that \
                     agree decide: give --budget {whole}s, or name fewer mechanisms",
                    group.took.as_secs_f64()
                );
                self.with.progress.warning(&text);
            }
            return Ok(());
        }
        let out: Vec<usize> = order.drain(fitting..).map(|entry| entry.2).collect();
        let need = self.request.aim.need().map(|need| need.per_second);
        let is_needed = |at: &usize| group.cases[*at].case.load.map(|load| load.per_second) == need;
        let what = if out.iter().any(is_needed) { "mechanisms" } else { "rates" };
        let kept = order.iter().map(|entry| group.cases[entry.2].timed_ns() + beside).sum::<f64>();
        let group = &mut self.groups[nth];
        out.iter().for_each(|at| group.cases[*at].given_up = true);
        group.took = Duration::from_nanos(kept as u64);
        let begins = format!("no time for {SURE_LAUNCHES} rounds of all {what}: ");
        if self.warned.iter().any(|text| text.starts_with(&begins)) {
            return Ok(());
        }
        self.warn(&format!("{begins}those that were slowest in their pilots are left out; --budget {whole}s takes all"))
    }

    /// The median response time of the pilot of a case, in ns.
    fn pilot_took_ns(&self, live: &LiveCase) -> Result<f64, StoreError> {
        let launches = self.with.store.launches(live.id)?;
        let Some(pilot) =
            launches.iter().rfind(|launch| launch.round == 0 && launch.status == "ok")
        else {
            return Ok(f64::INFINITY);
        };
        let mut ticks = self.with.store.samples(pilot.id)?;
        Ok(value_ns(&mut ticks, 1, self.clock(0).ns_per_tick).unwrap_or(f64::INFINITY))
    }

    fn subjects(&self, nth: usize, bound: &TailBound) -> Result<Vec<Subject>, StoreError> {
        let mut subjects: Vec<(Case, Vec<(usize, Tried)>)> = Vec::new();
        for (place, live) in self.groups[nth].cases.iter().enumerate() {
            let Some(load) = live.case.load else { continue };
            let subject = live.case.without_rate();
            let tried = (place, (load.per_second, self.standings(live, bound)?));
            match subjects.iter_mut().find(|pair| pair.0 == subject) {
                Some(known) => known.1.push(tried),
                None => subjects.push((subject, vec![tried])),
            }
        }
        let in_order = |(_, mut all): (_, Vec<(usize, Tried)>)| {
            all.sort_by_key(|(_, tried)| tried.0);
            let (places, tried) = all.into_iter().unzip();
            Subject { places, tried }
        };
        Ok(subjects.into_iter().map(in_order).collect())
    }

    /// What the launches of a case say, by the store.
    fn standings(&self, live: &LiveCase, bound: &TailBound) -> Result<Vec<Standing>, StoreError> {
        let scale = self.clock(0).ns_per_tick;
        let mut found = Vec::new();
        for launch in self.with.store.launches(live.id)? {
            if launch.round > 0 && launch.status == "ok" {
                let mut ticks = self.with.store.samples(launch.id)?;
                let (kept, used) =
                    (launch.record.initiator.punctuality, launch.record.server_cpus());
                found.push(bound.judge(&mut ticks, scale, kept.as_ref(), used).standing);
            }
        }
        Ok(found)
    }

    /// Keeps a group of cases, and goes on with it.
    fn add_group(&mut self, nth: usize, cases: Vec<Case>) -> Result<(), StoreError> {
        let row = |(place, case): (usize, &Case)| NewCase {
            group: nth,
            nth: place,
            case: case.kept(),
            absence: None,
            ends: None,
            fixed: None,
        };
        let ids = self.with.store.add_cases(self.run, cases.iter().enumerate().map(row))?;
        let wants_quiet = cases.iter().any(|case| !case.place.shares_one_cpu());
        let live = |(id, case)| LiveCase::new(id, Rc::new(case), None, (None, None, None));
        let cases = ids.into_iter().zip(cases).map(live).collect();
        self.groups.push(LiveGroup::new(nth, cases, wants_quiet));
        Ok(())
    }
}

impl LiveGroup {
    /// Whether a case of it and the first of another group differ in their rate alone.
    fn shares_subject(&self, other: &LiveGroup) -> bool {
        let Some(first) = other.cases.first().map(|case| case.case.without_rate()) else {
            return false;
        };
        self.cases.iter().any(|case| case.case.without_rate() == first)
    }
}
