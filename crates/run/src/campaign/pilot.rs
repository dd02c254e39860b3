//! Pilots, before the first round. What they fix (`sizing`) stays fixed for the run.

use std::time::{Duration, Instant};

use super::driver::{RoundOf, Turn};
use super::sizing::{Lasts, ns_apart, refuse_coarse};
use super::{Campaign, LiveCase, LiveGroup, Stop};
use crate::launch::LaunchResult;
use crate::plan::Case;
use machine::interrupt::Interrupted;
use model::company::{Company, PERIOD_US};
use model::launch::{MOST_SAMPLES, Outcome};
use model::request::Request;
use store::StoreError;

/// What the work of a launch under a quota takes in quiet, in ns: enough to be stopped in several periods.
const QUOTA_LASTS_NS: f64 = 2.5 * PERIOD_US as f64 * 1e3;
/// Samples that a launch beside a load has at least, unless a quiet one has less.
const LEAST_SAMPLES: u64 = 5;

impl Campaign<'_> {
    /// Groups whose workers the scheduler places come last: what an operation may take there is known from
    /// the pilots of others.
    pub(super) fn in_order_of_pilots(&self) -> Vec<usize> {
        let mut groups: Vec<usize> = (0..self.groups.len()).collect();
        groups.sort_by_key(|nth| self.groups[*nth].is_free());
        groups
    }

    /// Runs every case of some groups once that was not piloted before, and fixes its batch and samples.
    pub(super) fn pilot(&mut self, of: &[usize]) -> Result<(), Stop> {
        let round = RoundOf { groups: &self.groups, of, nth: 0, request: &self.request };
        let sets = self.driver.sets(&round);
        let pace = self.pace();
        // Of each group, what its launches timed and what they took, in s.
        let mut took = Duration::ZERO;
        let (mut timed, mut piloted) = (0.0, Vec::new());
        for set in sets {
            let set = self.wanted(set, |live| live.samples == 0, 0);
            if set.is_empty() {
                continue;
            }
            piloted.extend(set.iter().map(|turn| (turn.group, turn.case)));
            let began = Instant::now();
            let measured = self.launch(&set, 0);
            took += began.elapsed();
            let measured = measured.and_then(|measured| self.pilot_again(&set, measured));
            self.tell_lost()?;
            let measured = measured?;
            for (turn, result) in set.iter().zip(&measured) {
                let near = turn.nodes(&self.groups[turn.group].cases[turn.case]).0;
                let ns_per_tick = self.clock(near).ns_per_tick;
                timed += result.samples.iter().sum::<u64>() as f64 * ns_per_tick / 1e9;
            }
            self.fix(&set, measured, pace)?;
        }
        if !piloted.is_empty() {
            self.fit_samples(of, &piloted);
            for nth in of {
                self.groups[*nth].expect_rounds(took.as_secs_f64() - timed);
                self.groups[*nth].arms_alike();
                self.groups[*nth].observe_alike();
                self.groups[*nth].accompany_alike(&self.request);
                for live in self.groups[*nth].cases.iter().filter(|live| live.samples > 0) {
                    let (batch, samples) = (live.batch, live.samples);
                    self.with.store.set_pilot(live.id, batch, samples, live.operation_ns)?;
                }
            }
        }
        Ok(())
    }

    /// A case is given up for good where its pilot fails: a mishap gets a second chance.
    fn pilot_again(
        &mut self,
        set: &[Turn],
        mut measured: Vec<LaunchResult>,
    ) -> Result<Vec<LaunchResult>, Interrupted> {
        for (turn, result) in set.iter().zip(&mut measured) {
            let live = &self.groups[turn.group].cases[turn.case];
            let failed = matches!(result.record.outcome, Outcome::Failed { .. });
            if failed && self.driver.reaches(live) {
                *result = self.launch(std::slice::from_ref(turn), 0)?.remove(0);
            }
        }
        Ok(measured)
    }

    /// Fixes what the launches of some cases do by what their pilots found, and keeps both.
    fn fix(
        &mut self,
        set: &[Turn],
        measured: Vec<LaunchResult>,
        pace: f64,
    ) -> Result<(), StoreError> {
        for (turn, mut result) in set.iter().zip(measured) {
            let cases = self.groups.iter().flat_map(|group| &group.cases);
            let apart_ns = ns_apart(&self.groups[turn.group].cases[turn.case].case, cases);
            let decides = !self.is_coarse(turn.group);
            let live = &mut self.groups[turn.group].cases[turn.case];
            let clock = self.driver.clock(turn.nodes(live).0).unwrap_or(&self.clock);
            if !self.request.unbatched {
                refuse_coarse(&live.case, &mut result, clock);
            }
            // Where a node was lost meanwhile, nothing is known of the case: it has another pilot once that is back.
            if self.driver.reaches(live) || result.record.outcome == Outcome::Ok {
                live.fix(&result, &self.request, clock, Lasts { pace, apart_ns, decides });
            }
            let row = self.row(0, turn, result);
            self.pending.push(row);
        }
        self.flush()?;
        for turn in set {
            let live = &self.groups[turn.group].cases[turn.case];
            if live.samples > 0 {
                let (batch, samples) = (live.batch, live.samples);
                self.with.store.set_pilot(live.id, batch, samples, live.operation_ns)?;
            }
        }
        Ok(())
    }
}

impl LiveGroup {
    /// How long a round will take, whose launches take so many seconds `beside` what they time.
    fn expect_rounds(&mut self, beside: f64) {
        let timed = self.results().map(|live| live.timed_ns() / 1e9).sum::<f64>();
        let round = beside.max(0.0) + timed;
        self.took = Duration::try_from_secs_f64(round).unwrap_or(Duration::ZERO);
    }

    /// What has company does in each sample what is done in quiet, as often as its own pilot lets expect of a
    /// launch's time: a hog may make a round trip a hundred times as long. A quota shows over several periods only.
    fn accompany_alike(&mut self, request: &Request) {
        let (accompanied, results): (Vec<_>, Vec<_>) =
            self.cases.iter_mut().partition(|live| live.is_accompanied());
        for live in accompanied.into_iter().filter(|live| !live.given_up) {
            let plain = Case { beside: None, ..(*live.case).clone() };
            let Some(quiet) = results.iter().find(|result| *result.case == plain) else { continue };
            live.given_up |= quiet.given_up;
            let operations = match live.case.beside {
                Some(Company::Quota) => {
                    let least = QUOTA_LASTS_NS / quiet.operation_ns.max(1.0);
                    (quiet.batch * quiet.samples).max(least as u64)
                }
                _ => live.batch * live.samples,
            };
            live.batch = quiet.batch;
            let samples = operations.div_ceil(live.batch.max(1));
            let least = quiet.samples.min(LEAST_SAMPLES);
            let asked = request.samples_of(live.case.workload);
            live.samples = asked.map_or(samples.clamp(least, MOST_SAMPLES), |_| quiet.samples);
        }
    }

    /// Under every arm launches do what they do under the first: a median of other samples is another quantity.
    fn arms_alike(&mut self) {
        let plain = |live: &LiveCase| Case { arm: None, ..(*live.case).clone() };
        for at in 0..self.cases.len() {
            let subject = plain(&self.cases[at]);
            let (before, others) = self.cases.split_at_mut(at);
            let first = before.iter().find(|live| !live.given_up && plain(live) == subject);
            let (Some(first), Some(live)) = (first, others.first_mut()) else { continue };
            if live.case.arm.is_some() && !live.given_up {
                (live.batch, live.samples) = (first.batch, first.samples);
            }
        }
    }

    /// What is observed does exactly what is done unobserved.
    fn observe_alike(&mut self) {
        let (observed, results): (Vec<_>, Vec<_>) =
            self.cases.iter_mut().partition(|live| live.is_observed());
        for live in observed {
            let plain = Case { observe: None, ..(*live.case).clone() };
            let Some(pilot) = results.iter().find(|result| *result.case == plain) else { continue };
            live.batch = pilot.batch;
            live.samples = pilot.samples;
            live.operation_ns = pilot.operation_ns;
            live.given_up = pilot.given_up;
        }
    }
}
