//! Capacity: between which rates a mechanism begins to exceed a bound, from the launches at every rate that was tried.
//!
//! The unit is the launch. A rate holds where surely most of its launches pass, and fails where surely most of
//! them break the bound, each with an error of 2.5 %; launches that disagree leave a rate undecided. Rates are tested
//! in a fixed order, up from the lowest for `holds` and down from the highest for `fails`, and a test ends at the
//! first rate that is not sure: so the error of all tests of one kind together is 2.5 %, without any correction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::failures::{self, Failure};
use super::site::{Site, is_a_case};
use super::{CaseResult, Status};
use model::capacity::{BoundedLaunch, Standing, TailBound, majority};
use model::case::Case;
use model::distinct::distinct;
use model::placement::ResolvedPlacement;

/// The error of each end of a capacity.
const ERROR: f64 = 0.025;
/// The knee: up to this many times the percentile of the lowest rate.
const KNEE: f64 = 2.0;

/// A mechanism with everything but the rate, and the rates at which it keeps the bound.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Capacity {
    /// What was asked, at no rate of its own.
    #[serde(flatten)]
    pub case: Case,
    /// As of its results.
    #[serde(skip)]
    pub site: Site,
    /// What was asked of the response time.
    pub bound: TailBound,
    /// What became of it.
    pub status: Status,
    /// Why it isn't ok.
    pub reason: Option<String>,
    /// Whether others disturbed every round of the rates that decide: then nothing is sure of it.
    pub every_round_disturbed: bool,
    /// Launches at all of its rates, those that failed included, and the pilot of a rate that was given up after it.
    pub launches: u64,
    /// Of what they failed.
    pub failures: Vec<Failure>,
    /// Between which rates it is.
    #[serde(flatten)]
    pub found: Found,
    /// The largest rate at which the percentile is within twice its value at the lowest rate: a median over
    /// launches, without an interval. None unless most launches pass at the lowest rate that was
    /// offered.
    pub knee_per_sec: Option<u64>,
    /// Every rate that was tried, the lowest first.
    pub rates: Vec<RateTried>,
}

/// What is known of a capacity, in messages a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Found {
    /// The largest rate that surely holds.
    pub at_least_per_sec: Option<u64>,
    /// The smallest rate that surely fails.
    pub below_per_sec: Option<u64>,
    /// The largest rate at which most launches passed, sure or not.
    pub likely_low_per_sec: Option<u64>,
    /// The smallest rate above it at which most broke the bound.
    pub likely_high_per_sec: Option<u64>,
    /// The smallest rate that was not offered in most launches: it tells nothing beyond.
    pub generator_ends_per_sec: Option<u64>,
}

/// A rate that was tried.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct RateTried {
    /// Messages due per second.
    pub per_sec: u64,
    /// Whether what is said of the capacity rests on it: rates that only chose others say nothing.
    pub decides: bool,
    /// What its launches come to.
    pub verdict: RateVerdict,
    /// Launches that were measured.
    pub launches: usize,
    /// Launches that failed.
    pub failed: usize,
    /// Of these within the bound, having served what was due.
    pub passed: usize,
    /// Beyond the bound, or behind.
    pub broke: usize,
    /// That broke it where the rate was not offered.
    pub void: usize,
    /// Share of the messages of all its launches that were later than the bound allows.
    pub later_share: Option<f64>,
    /// Messages that each launch lacks for the percentile; 0 where it has them.
    pub messages_lacking: u64,
    /// The percentile of the bound, in ns: the median over launches.
    pub percentile_ns: Option<f64>,
    /// Messages answered per second, the median over launches.
    pub served_per_sec: Option<f64>,
    /// Index into the results.
    pub result: usize,
}

/// What the launches at a rate come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RateVerdict {
    /// Surely most pass.
    Holds,
    /// Surely most break the bound.
    Fails,
    /// They disagree, or are too few.
    Undecided,
    /// Most were not offered the rate.
    Void,
}

/// The launches at one rate.
pub struct AtRate {
    /// Messages due per second.
    pub per_sec: u64,
    /// What each launch says that was measured.
    pub launches: Vec<BoundedLaunch>,
    /// Launches that failed.
    pub failed: usize,
    /// Whether others disturbed every round of them.
    pub disturbed: bool,
}

impl AtRate {
    fn count(&self, standing: Standing) -> usize {
        self.launches.iter().filter(|launch| launch.standing == standing).count()
    }

    /// What they come to. A launch that says nothing, or failed, counts neither for nor against; where others
    /// disturbed every round nothing is sure.
    fn verdict(&self) -> RateVerdict {
        let all = self.launches.len() + self.failed;
        let surely = |of| !self.disturbed && stats::surely_most(self.count(of), all, ERROR);
        if surely(Standing::Passes) {
            RateVerdict::Holds
        } else if surely(Standing::Breaks) {
            RateVerdict::Fails
        } else if self.majority() == Some(Standing::Void) {
            RateVerdict::Void
        } else {
            RateVerdict::Undecided
        }
    }

    /// Whether it has launches enough to be sure of anything.
    fn can_be_sure(&self) -> bool {
        let all = self.launches.len() + self.failed;
        stats::surely_most(all, all, ERROR)
    }

    fn majority(&self) -> Option<Standing> {
        majority(self.launches.iter().map(|launch| launch.standing))
            .filter(|most| 2 * self.count(*most) > self.launches.len() + self.failed)
    }

    /// Of launches that say something, if there are any.
    fn percentile_ns(&self) -> Option<f64> {
        let says = |launch: &&BoundedLaunch| launch.standing != Standing::Void;
        let of = |launches: &mut dyn Iterator<Item = &BoundedLaunch>| {
            stats::median_of(launches.map(|launch| launch.ns))
        };
        of(&mut self.launches.iter().filter(says)).or_else(|| of(&mut self.launches.iter()))
    }
}

/// Between which rates the bound is first exceeded, by rates in ascending order whose launches were made for it.
pub fn decide(rates: &[AtRate]) -> Found {
    let verdicts: Vec<(u64, RateVerdict)> =
        rates.iter().map(|rate| (rate.per_sec, rate.verdict())).collect();
    // What was not offered, or too seldom, tests nothing, and is no reason to end.
    let up = verdicts.iter().take_while(|verdict| verdict.1 == RateVerdict::Holds);
    let offered = rates
        .iter()
        .zip(&verdicts)
        .rev()
        .filter(|(rate, verdict)| verdict.1 != RateVerdict::Void && rate.can_be_sure());
    let down = offered.map(|(_, pair)| pair).take_while(|pair| pair.1 == RateVerdict::Fails);
    let passed = rates.iter().rposition(|rate| rate.majority() == Some(Standing::Passes));
    let above = passed.map_or(rates, |at| &rates[at + 1..]);
    let first = |of: Standing, among: &[AtRate]| {
        among.iter().find(|at_rate| at_rate.majority() == Some(of)).map(|at_rate| at_rate.per_sec)
    };
    Found {
        at_least_per_sec: up.last().map(|pair| pair.0),
        below_per_sec: down.last().map(|pair| pair.0),
        likely_low_per_sec: passed.map(|at| rates[at].per_sec),
        likely_high_per_sec: first(Standing::Breaks, above),
        generator_ends_per_sec: first(Standing::Void, above),
    }
}

/// The largest rate at which the percentile is within twice its value at the lowest that was offered; None unless
/// most launches passed there.
fn knee(rates: &[AtRate]) -> Option<u64> {
    let kept: Vec<&AtRate> =
        rates.iter().filter(|rate| rate.majority() != Some(Standing::Void)).collect();
    let lowest = kept.first()?;
    if lowest.majority() != Some(Standing::Passes) {
        return None;
    }
    let values: Vec<(u64, f64)> = kept
        .into_iter()
        .filter_map(|at_rate| Some((at_rate.per_sec, at_rate.percentile_ns()?)))
        .collect();
    let most = KNEE * values.first()?.1;
    values.iter().rev().find(|value| value.1 <= most).map(|pair| pair.0)
}

/// The capacities of a run, in the order of its results; none where no bound was asked.
pub(super) fn capacities(results: &[CaseResult], bound: Option<TailBound>) -> Vec<Capacity> {
    let Some(bound) = bound else { return Vec::new() };
    let subjects = distinct(results.iter().filter_map(subject));
    let of = |key: &Subject| {
        let own = (0..results.len()).filter(|at| subject(&results[*at]).as_ref() == Some(key));
        Capacity::of(results, &own.collect::<Vec<_>>(), bound)
    };
    subjects.iter().filter_map(of).collect()
}

/// What the cases of one capacity share: all but the rate, and the CPUs that a placement came to.
type Subject<'a> = (Case, &'a Site);

fn subject(case: &CaseResult) -> Option<Subject<'_>> {
    case.load.filter(|load| load.has_rate() && !case.twin)?;
    let asked = Case { place: ResolvedPlacement::FREE, ..case.without_rate() };
    Some((asked, &case.site))
}

/// The launches of a case, as far as they were measured.
fn at_rate(case: &CaseResult) -> AtRate {
    let launches = case.bounded.iter().flatten().copied().collect();
    let failed = failures::count(&case.failures) as usize;
    let per_sec = case.load().per_second;
    AtRate { per_sec, launches, failed, disturbed: case.disturbed }
}

is_a_case!(Capacity);

impl Capacity {
    /// Of the results at `own`, which differ in their rate, and in whether it was tried first or chosen by those.
    fn of(results: &[CaseResult], own: &[usize], bound: TailBound) -> Option<Capacity> {
        let head = &results[*own.first()?];
        let launched = |at: &usize| {
            let case = &results[*at];
            !case.bounded.is_empty() || !case.failures.is_empty()
        };
        let tried: Vec<usize> = own.iter().copied().filter(launched).collect();
        let none = own.iter().all(|at| results[*at].bounded.is_empty());
        // What chose others decides nothing, and a rate that was measured again is as it was then.
        let stage = tried.iter().map(|at| results[*at].group).max();
        let decides = |at: &usize| Some(results[*at].group) == stage;
        let rate = |at: &usize| results[*at].load().per_second;
        let (mut last, earlier): (Vec<usize>, Vec<usize>) =
            tried.iter().copied().partition(decides);
        last.sort_by_key(rate);
        let deciding: Vec<AtRate> = last.iter().map(|at| at_rate(&results[*at])).collect();
        let known: Vec<u64> = last.iter().map(rate).collect();
        let mut all: Vec<usize> = last
            .iter()
            .copied()
            .chain(earlier.into_iter().filter(|at| !known.contains(&rate(at))))
            .collect();
        all.sort_by_key(rate);
        let mut found = decide(&deciding);
        let every: Vec<AtRate> = all.iter().map(|at| at_rate(&results[*at])).collect();
        let ends = decide(&every).generator_ends_per_sec;
        found.generator_ends_per_sec = found.generator_ends_per_sec.or(ends);
        let failed = own.iter().map(|at| &results[*at]).find(|result| result.status != Status::Ok);
        let (status, reason) = match failed.filter(|_| none) {
            Some(case) => (case.status, case.reason.clone()),
            None if none => (Status::Failed, head.reason.clone()),
            None => (Status::Ok, None),
        };
        let cases = || own.iter().map(|at| &results[*at]);
        let reasons = cases().flat_map(|case| &case.failures);
        let all_launches = cases().map(|case| {
            case.bounded.iter().flatten().count() as u64 + failures::count(&case.failures)
        });
        Some(Capacity {
            case: subject(head)?.0,
            site: head.site.clone(),
            bound,
            status,
            reason,
            every_round_disturbed: !deciding.is_empty()
                && deciding.iter().all(|at_rate| at_rate.disturbed),
            launches: all_launches.sum(),
            failures: failures::of(reasons.map(|reason| (reason.reason.as_str(), reason.launches))),
            found,
            knee_per_sec: knee(&every),
            rates: all.iter().map(|at| RateTried::of(results, *at, decides(at), bound)).collect(),
        })
    }

    /// Whether `case` is one of its rates.
    pub fn covers(&self, case: &CaseResult) -> bool {
        subject(case).is_some_and(|(asked, site)| asked == self.case && *site == self.site)
    }

    /// The rate at `per_sec`.
    pub fn at(&self, per_sec: u64) -> Option<&RateTried> {
        self.rates.iter().find(|rate| rate.per_sec == per_sec)
    }

    /// The lowest rate that was tried.
    pub fn lowest(&self) -> Option<&RateTried> {
        self.rates.first()
    }

    /// Whether even the lowest rate breaks the bound.
    pub fn breaks_at_lowest(&self) -> bool {
        self.found.below_per_sec.is_some()
            && self.found.below_per_sec == self.lowest().map(|rate| rate.per_sec)
    }

    /// Whether the run ended before any launch of it, a pilot included.
    pub fn awaits_launches(&self) -> bool {
        self.status == Status::Failed && self.launches == 0 && self.failures.is_empty()
    }

    /// Rounds of what decides, the fewest of a rate, those of launches that failed included.
    pub fn rounds(&self) -> usize {
        let deciding = self.rates.iter().filter(|rate| rate.decides);
        deciding.map(|rate| rate.launches + rate.failed).min().unwrap_or(0)
    }
}

impl RateTried {
    fn of(results: &[CaseResult], result: usize, decides: bool, bound: TailBound) -> RateTried {
        let case = &results[result];
        let launches = at_rate(case);
        let lacks = launches.count(Standing::Short) > 0;
        let each = case.samples / case.launches.max(1);
        RateTried {
            per_sec: launches.per_sec,
            decides,
            verdict: launches.verdict(),
            launches: launches.launches.len(),
            failed: launches.failed,
            passed: launches.count(Standing::Passes),
            broke: launches.count(Standing::Breaks),
            void: launches.count(Standing::Void),
            later_share: case.later_share,
            messages_lacking: if lacks { bound.messages_needed().saturating_sub(each) } else { 0 },
            percentile_ns: launches.percentile_ns(),
            served_per_sec: case.rate.and_then(|rate| rate.served_per_sec),
            result,
        }
    }
}

#[cfg(test)]
mod tests;
