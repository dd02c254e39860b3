//! How long it will take: told before it is measured where it is more than was asked, and while it is.

use std::time::Duration;

use super::{Campaign, Status, settle};
use model::request::Sessions;
use model::screening::ROUNDS;
use stats::LEAST_LAUNCHES;

/// Beyond its budget by so much a run says what it will take.
const LONGER: f64 = 1.2;
/// What a launch takes about, with what surrounds it; and what is found out before the pilots: floors, and the quiet.
const LAUNCH: Duration = Duration::from_millis(45);
const BEFORE: Duration = Duration::from_secs(3);
/// Of its rounds so much is expected to be measured by a run that screens: after four of them a third of the cases goes on.
const SCREENED: f64 = 0.6;

impl Campaign<'_> {
    pub(super) fn tell_status(&mut self, nth: usize) {
        let group = &self.groups[nth];
        let known = !group.took.is_zero() || self.request.stopping.launches.is_some();
        let status = Status {
            now: group.title(),
            round: group.rounds + 1,
            planned: known.then(|| self.planned(nth)),
            rates: self.request.bound.map(|_| group.rates()),
            left: Some(self.rounds_take()).filter(|left| !left.is_zero()),
        };
        self.with.progress.round(&status);
    }

    /// Rounds that a group is planned to have, by what bounds it now, those that screened it included.
    fn planned(&self, nth: usize) -> u64 {
        let group = &self.groups[nth];
        group.screened + self.bound(nth).plan(group.judged() as usize) as u64
    }

    /// What the rounds to come take about.
    fn rounds_take(&self) -> Duration {
        let open = (0..self.groups.len()).filter(|nth| self.groups[*nth].closed.is_none());
        let of = |nth: usize| {
            let group = &self.groups[nth];
            let rounds = self.planned(nth).saturating_sub(group.rounds) as f64;
            let to_screen = self.request.screens() && group.rounds < ROUNDS as u64;
            group.took.mul_f64(if to_screen { SCREENED * rounds } else { rounds })
        };
        open.map(of).sum()
    }

    /// Before anything is measured: that the cases need more than the budget, whatever a launch takes here.
    pub(super) fn tell_if_cases_are_many(&mut self) {
        let cases = self.groups.iter().map(|group| group.cases.len()).sum::<usize>();
        let rounds = if self.request.stopping.budget_is_hard { 1 } else { LEAST_LAUNCHES as u32 };
        let before = if settle::is_brief() { Duration::ZERO } else { BEFORE };
        let share = if self.request.screens() { SCREENED } else { 1.0 };
        let launches = cases as f64 * (1.0 + share * f64::from(rounds));
        self.tell_if_longer(before + LAUNCH.mul_f64(launches));
    }

    /// After the pilots: that the rounds will take longer than the budget.
    pub(super) fn tell_if_rounds_are_long(&mut self) {
        self.tell_if_longer(self.created.elapsed() + self.rounds_take());
    }

    /// Said once, and again where it will take even longer than was said. Where a budget is hard it ends what it can:
    /// the rounds of those groups that are not begun by then.
    fn tell_if_longer(&mut self, whole: Duration) {
        // A search chooses its cases as it goes on, and says itself what is too short.
        let budget = self.request.stopping.budget_ns.filter(|_| self.request.bound.is_none());
        let Some(budget) = budget.map(Duration::from_nanos) else { return };
        let pauses = self.request.sessions.map_or(0, Sessions::pauses_ns);
        let lacks = self.request.stopping.unmarked.is_some();
        if lacks || whole <= budget.max(self.told).mul_f64(LONGER) {
            return;
        }
        self.told = whole;
        let cases = self.groups.iter().map(|group| group.cases.len()).sum::<usize>();
        let (how, rest, rounds) = match self.request.stopping.budget_is_hard {
            true => ("up to", ", and what it doesn't reach has no result", "one round"),
            false => ("about", "", "12 rounds"),
        };
        self.with.progress.warning(&format!(
            "this takes {how} {} s, not {}{rest}: floors, a pilot and {rounds} of {cases} cases need that; fewer \
             mechanisms, sizes (-s) or placements (-p) take less",
            (whole + Duration::from_nanos(pauses)).as_secs_f64().ceil(),
            model::duration::format_ns(budget.as_nanos() as u64),
        ));
    }
}
