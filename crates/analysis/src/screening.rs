//! The rounds that screened: what they chose is judged without them, and what they left out by them alone.

use schemars::JsonSchema;
use serde::Serialize;

use super::{CaseResult, Standing, Status, unmeasured};
use model::placement::Placement;
use model::screening::{self, Screened};
use store::{StoredLaunch, StoredRun};

impl CaseResult {
    /// Of all launches those that it is judged by, where so many rounds of its group screened.
    pub(super) fn take_screening<'a>(
        &mut self,
        all: &'a [StoredLaunch],
        screening: u64,
    ) -> Vec<&'a StoredLaunch> {
        let launches = all.iter().filter(|launch| launch.round > 0);
        let (first, rest): (Vec<_>, Vec<_>) =
            launches.partition(|launch| launch.round <= screening);
        let rounds = first.iter().map(|launch| launch.round).max().unwrap_or(0) as usize;
        self.screened = vec![None; rounds];
        for launch in &first {
            self.screened[launch.round as usize - 1] = launch.record.initiator.median_ns;
        }
        if rest.is_empty() {
            self.screened_out = first.iter().any(|launch| launch.status == "ok");
            return first;
        }
        let unit = self.unit();
        self.screening = self.screened.iter().map(|ns| ns.map(&unit)).collect();
        rest
    }

    /// Says of a case that nothing was launched of but its pilot, since screening left it out at every other placement.
    pub(super) fn tell_if_left_out(&mut self, run: &StoredRun, all: &[StoredLaunch]) {
        let chosen = run.request.screens() && !run.request.named.placements;
        let others = || run.rounds.iter().any(|round| round.group == self.group);
        let pilot_alone = || all.iter().all(|launch| launch.round == 0 && launch.status == "ok");
        let open = self.status == Status::Failed && self.placement == Placement::Free;
        if chosen && open && pilot_alone() && others() {
            self.status = Status::NotApplicable;
            self.reason = Some(unmeasured::LEFT_OUT.into());
        }
    }
}

/// The range of ratios in few rounds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LeftOut {
    /// The smallest.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// What it covers of the median: 87.5 % with four rounds.
    pub coverage: f64,
}

impl LeftOut {
    /// Of a case, among `ranked` ones.
    fn of(at: usize, ranked: &[usize], results: &[CaseResult]) -> Option<LeftOut> {
        let screened = |at: &usize| Screened {
            launches: results[*at].screened.clone(),
            class: results[*at].class,
            spins: results[*at].spins,
            stays: false,
        };
        let cases: Vec<Screened> = ranked.iter().map(screened).collect();
        let is_rival = |nth: &usize| cases[*nth].class == results[at].class;
        let rivals: Vec<usize> = (0..cases.len()).filter(is_rival).collect();
        let first = *screening::quickest(&cases, &rivals).first()?;
        let rounds = results[at].screened.iter().zip(&cases[first].launches);
        let ratios: Vec<f64> =
            rounds.filter_map(|(own, first)| Some((*own)? / (*first)?)).collect();
        Some(LeftOut {
            low: ratios.iter().copied().reduce(f64::min)?,
            high: ratios.iter().copied().reduce(f64::max)?,
            coverage: 1.0 - 0.5f64.powi(ratios.len() as i32 - 1),
        })
    }
}

impl Standing {
    /// Of what screening left out.
    pub(super) fn screened_out(at: usize, ranked: &[usize], results: &[CaseResult]) -> Standing {
        Standing {
            result: at,
            variant: results[at].variant.clone(),
            ratio: None,
            low: None,
            high: None,
            ranks: None,
            coverage: None,
            by_round: None,
            p: None,
            verdict: None,
            among_best: false,
            among_best_sleeping: false,
            slower_than_best: None,
            slower_than_best_at_most: None,
            slower_than_best_at_least: None,
            screened_out: LeftOut::of(at, ranked, results),
        }
    }
}

/// The medians of the first and of the second half of values, in their order.
pub(super) fn halves(values: &[f64]) -> Option<[f64; 2]> {
    let half = values.len() / 2;
    let of = |values: &[f64]| stats::median_of(values.iter().copied());
    Some([of(&values[..half])?, of(&values[values.len() - half..])?])
}
