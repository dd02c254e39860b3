//! What to use for a need: of the mechanisms that surely keep the bound at the load that is needed, and are not shown to
//! be slower than another, those whose servers use least CPU time, and of these the quickest.
//!
//! Only what surely holds is picked, never what is overloaded, void, failed or unverified. Each candidate is tested
//! by itself with 1 %, so that of many that are 10 % beyond the bound one is seldom picked; which are the best, and by how much the others are slower, holds for all of them at once.

use schemars::JsonSchema;
use serde::Serialize;

use super::capacity::{Capacity, RateTried, RateVerdict};
use super::paired::log_ratios;
use super::{ALPHA, CaseResult, Judged, NEGLIGIBLE, RoundState, Status, failures};
use model::capacity::{Standing, TailBound};
use model::choice::{self, Need};
use model::distinct::ascending;
use model::load::{Load, Server};
use stats::AgainstBest;

/// Servers whose use of CPU differs by less than this factor are said to use as much: no interval stands beside it.
const SAME_USE: f64 = 1.1;

/// What was found for a need.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Choice {
    /// What was needed.
    pub need: Need,
    /// Bytes of a request; null where nothing was planned.
    pub message_bytes: Option<u64>,
    /// The load that was needed, as it is written: `50k:connections=16,response=4096`; null as above.
    pub load: Option<Load>,
    /// What was asked of the response time.
    pub bound: TailBound,
    /// Whether there is a pick, and if not, why.
    pub answer: Answer,
    /// What to use; null where nothing surely qualifies.
    pub pick: Option<Candidate>,
    /// The next best that qualifies, with the reason why it is not picked.
    pub runner_up: Option<Candidate>,
    /// Others that qualify, the best first.
    pub others: Vec<Candidate>,
    /// What might qualify: its launches disagree, or are too few.
    pub undecided: Vec<Candidate>,
    /// Where nothing qualifies, what comes closest.
    pub closest: Option<Candidate>,
    /// From which rate on another mechanism would be picked.
    pub beyond: Option<Beyond>,
    /// What does not qualify, each with the reason.
    pub rejected: Vec<Rejected>,
    /// What the answer rests on.
    pub evidence: Evidence,
}

/// Whether there is a pick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// There is one.
    Pick,
    /// Nothing qualifies.
    Nothing,
    /// The launches that there was time for don't tell.
    Undecided,
}

/// A mechanism at the load that is needed.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Candidate {
    /// With options.
    pub variant: String,
    /// What its launches at that load come to.
    pub verdict: RateVerdict,
    /// The percentile of the bound, in ns: the median over launches.
    pub percentile_ns: Option<f64>,
    /// Lower end of its interval, which covers it with at least 95 %; null of fewer than six launches.
    pub low_ns: Option<f64>,
    /// Upper end.
    pub high_ns: Option<f64>,
    /// The median response time, in ns.
    pub p50_ns: Option<f64>,
    /// The 99th percentile, in ns; null where launches have too few messages.
    pub p99_ns: Option<f64>,
    /// Launches at that load.
    pub launches: usize,
    /// Of these within the bound, having served what was due.
    pub passed: usize,
    /// That broke it where the rate was not offered.
    pub void: usize,
    /// Share of their messages that were later than the bound allows.
    pub later_share: Option<f64>,
    /// Messages of all of them.
    pub messages: u64,
    /// The largest rate that surely holds.
    pub at_least_per_sec: Option<u64>,
    /// The smallest rate that surely fails.
    pub below_per_sec: Option<u64>,
    /// Messages answered per second at the load that is needed.
    pub served_per_sec: Option<f64>,
    /// CPU time of the server over the time in which it served: 1 is a whole CPU.
    pub server_cpus: Option<f64>,
    /// Whether it busy-waits.
    pub spins: bool,
    /// By what share its percentile is longer than the best's at least, together with all others that qualify.
    pub slower_at_least: Option<f64>,
    /// The same, at most.
    pub slower_at_most: Option<f64>,
    /// Whether no other one that qualifies is shown to have a shorter percentile.
    pub may_be_best: bool,
}

/// What is better at more load.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Beyond {
    /// The smallest rate that was tried at which the pick doesn't surely hold.
    pub from_per_sec: u64,
    /// What surely holds there; null where nothing does.
    pub variant: Option<String>,
}

/// A mechanism that does not qualify.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Rejected {
    /// With options.
    pub variant: String,
    /// Why.
    pub reason: Why,
    /// The same in words, where the reason came from elsewhere.
    pub detail: Option<String>,
}

/// Kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// It can't carry this, can't be had here, or was not wanted.
    NotMeasured,
    /// The budget had no time for its rounds: it was slower in its pilot than what was measured, or the run was ended.
    LeftOut,
    /// Some of its launches failed.
    Failed,
    /// It does not serve what is due.
    Overloaded,
    /// It serves it, and the percentile is beyond the bound.
    TooSlow,
}

/// What an answer rests on.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct Evidence {
    /// The run, whose results hold every launch.
    pub run: i64,
    /// Rounds; what was shown to be hopeless before took part in the first alone.
    pub rounds: usize,
    /// Rounds that others disturbed, of all rates.
    pub disturbed_rounds: u64,
    /// Whether they disturbed every round at the load that is needed: then nothing is picked, and nothing rejected for
    /// its times.
    pub every_round_disturbed: bool,
    /// Mechanisms that were measured.
    pub candidates: usize,
    /// The rates that were tried, per second.
    pub rates_per_sec: Vec<u64>,
    /// Messages that each launch lacks for the percentile; 0 where they have them.
    pub messages_lacking: u64,
}

impl Choice {
    /// The answer of a run that was made for a need; None of any other.
    pub fn of(judged: &Judged) -> Option<Choice> {
        let request = &judged.run.request;
        let (need, bound) = request.aim.need().zip(request.bound)?;
        let mut choice =
            Choice::judge((need, bound), &judged.capacity, &judged.results, judged.run.id);
        let disturbed = judged.rounds.iter().filter(|round| round.state() == RoundState::Disturbed);
        choice.evidence.disturbed_rounds = disturbed.count() as u64;
        Some(choice)
    }

    /// By what each mechanism came to at every rate.
    pub fn judge(
        (need, bound): (Need, TailBound),
        capacity: &[Capacity],
        results: &[CaseResult],
        run: i64,
    ) -> Choice {
        let (mut holding, mut undecided, mut failing, mut rejected) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for candidate in capacity {
            let rate = candidate.at(need.per_second);
            match (refusal(candidate, rate, results), rate) {
                (Some(refused), rate) => {
                    failing.extend(
                        rate.filter(|rate| rate.verdict == RateVerdict::Fails)
                            .map(|rate| (candidate, rate)),
                    );
                    rejected.push(refused);
                }
                (None, Some(rate)) if surely_holds(rate) => holding.push((candidate, rate)),
                (None, Some(rate)) => undecided.push(Candidate::of(candidate, rate, results, None)),
                (None, None) => {}
            }
        }
        // What came closest to it, or kept it all the same, first.
        let broke = |candidate: &Candidate| 2 * candidate.passed <= candidate.launches;
        let time = |candidate: &Candidate| candidate.percentile_ns.unwrap_or(f64::INFINITY);
        undecided.sort_by(|a, b| broke(a).cmp(&broke(b)).then(time(a).total_cmp(&time(b))));
        let mut ranked = rank(&holding, results);
        // The run may end before a mechanism has its turn: nothing is known of that.
        let unknown = !undecided.is_empty() || capacity.iter().any(Capacity::awaits_launches);
        let answer = match (ranked.is_empty(), unknown) {
            (false, _) => Answer::Pick,
            (true, true) => Answer::Undecided,
            (true, false) => Answer::Nothing,
        };
        let mut rest = ranked.split_off(ranked.len().min(1));
        let others = rest.split_off(rest.len().min(1));
        let pick = ranked.pop();
        let beyond = pick.as_ref().and_then(|pick| {
            let refused =
                |capacity: &Capacity| rejected.iter().any(|no| no.variant == capacity.variant);
            beyond(pick, need, capacity.iter().filter(|capacity| !refused(capacity)), results)
        });
        let overloaded =
            |rate: &RateTried| results[rate.result].rate.is_some_and(|rate| rate.overloaded);
        let closest = failing.into_iter().min_by(|(_, a), (_, b)| {
            // What serves the load comes before what does not.
            let percentile = |rate: &RateTried| rate.percentile_ns.unwrap_or(f64::INFINITY);
            let served = overloaded(a).cmp(&overloaded(b));
            served.then(percentile(a).total_cmp(&percentile(b)))
        });
        let rates = capacity.iter().flat_map(|capacity| &capacity.rates);
        let rates = ascending(rates.map(|rate| rate.per_sec));
        let measured = || capacity.iter().filter(|capacity| capacity.status == Status::Ok);
        let needed = || measured().filter_map(|capacity| capacity.at(need.per_second));
        let rounds = needed().map(|rate| rate.launches);
        let mut launched = needed().filter(|rate| rate.launches > 0).peekable();
        let every_round_disturbed =
            launched.peek().is_some() && launched.all(|rate| results[rate.result].disturbed);
        let lacking =
            measured().flat_map(|capacity| &capacity.rates).map(|rate| rate.messages_lacking).max();
        let asked = results
            .iter()
            .find(|result| result.load.is_some_and(|load| load.per_second == need.per_second));
        Choice {
            need,
            message_bytes: asked.and_then(|case| case.message_bytes),
            load: asked.and_then(|case| case.load),
            bound,
            answer,
            pick,
            runner_up: rest.pop(),
            others,
            undecided,
            closest: closest
                .filter(|_| answer == Answer::Nothing)
                .map(|(capacity, rate)| Candidate::of(capacity, rate, results, None)),
            beyond,
            rejected,
            evidence: Evidence {
                run,
                rounds: rounds.max().unwrap_or(0),
                disturbed_rounds: 0,
                every_round_disturbed,
                candidates: measured().count(),
                rates_per_sec: rates,
                messages_lacking: lacking.unwrap_or(0),
            },
        }
    }

    /// Everything that was tested at the load that is needed and was not rejected, the best first.
    pub fn qualified(&self) -> impl Iterator<Item = &Candidate> {
        self.pick.iter().chain(&self.runner_up).chain(&self.others)
    }
}

/// Whether a mechanism keeps the bound, with the error of a choice.
fn surely_holds(rate: &RateTried) -> bool {
    let all = rate.launches + rate.failed;
    rate.verdict == RateVerdict::Holds && stats::surely_most(rate.passed, all, choice::ERROR)
}

/// Why a mechanism does not qualify at `rate`; None where it does, or may.
fn refusal(
    capacity: &Capacity,
    rate: Option<&RateTried>,
    results: &[CaseResult],
) -> Option<Rejected> {
    let rejected = |reason, detail: Option<String>| {
        Some(Rejected { variant: capacity.variant.clone(), reason, detail })
    };
    let Some(rate) = rate.filter(|_| capacity.status == Status::Ok) else {
        let why = match capacity.status {
            Status::Failed if capacity.awaits_launches() => Why::LeftOut,
            Status::Failed => Why::Failed,
            _ => Why::NotMeasured,
        };
        return rejected(why, capacity.reason.clone());
    };
    let case = &results[rate.result];
    if !case.failures.is_empty() {
        let many = format!("{} of its launches failed", failures::count(&case.failures));
        let detail = case.reason.as_ref().map_or(many.clone(), |why| format!("{many}: {why}"));
        return rejected(Why::Failed, Some(detail));
    }
    if rate.verdict != RateVerdict::Fails {
        return None;
    }
    let overloaded = case.rate.is_some_and(|rate| rate.overloaded);
    rejected(if overloaded { Why::Overloaded } else { Why::TooSlow }, None)
}

/// What holds, the pick first: of what may be the best, and whose server uses least, or as much, the quickest.
fn rank(holding: &[(&Capacity, &RateTried)], results: &[CaseResult]) -> Vec<Candidate> {
    let columns: Vec<Vec<Option<f64>>> =
        holding.iter().map(|(_, rate)| by_round(&results[rate.result])).collect();
    let ratios = |a: usize, b: usize| -> Vec<f64> {
        log_ratios(&columns[a], &columns[b]).into_iter().flatten().collect()
    };
    let against = stats::against_best(columns.len(), &ratios, ALPHA, NEGLIGIBLE);
    let of = |((capacity, rate), against): (&(&Capacity, &RateTried), AgainstBest)| {
        Candidate::of(capacity, rate, results, Some(against))
    };
    let mut all: Vec<Candidate> = holding.iter().zip(against).map(of).collect();
    let best = all.iter().filter(|candidate| candidate.may_be_best);
    let thriftiest = best.min_by(|a, b| a.cpus().total_cmp(&b.cpus())).cloned();
    let costly = |candidate: &Candidate| {
        thriftiest.as_ref().is_some_and(|least| candidate.uses_more_than(least))
    };
    let time = |candidate: &Candidate| candidate.percentile_ns.unwrap_or(f64::INFINITY);
    all.sort_by(|a, b| {
        let by_use = match (a.may_be_best, b.may_be_best) {
            (true, true) => costly(a).cmp(&costly(b)),
            _ => b.may_be_best.cmp(&a.may_be_best),
        };
        by_use.then(time(a).total_cmp(&time(b)))
    });
    all
}

/// The percentile of each launch that says something of the mechanism, by round.
fn by_round(case: &CaseResult) -> Vec<Option<f64>> {
    let said = |launch: &Option<model::capacity::BoundedLaunch>| {
        let launch = (*launch)?;
        matches!(launch.standing, Standing::Passes | Standing::Breaks).then_some(launch.ns)
    };
    case.bounded.iter().map(said).collect()
}

/// The first rate that was tried at which the pick does not surely hold, and what of `capacity` does.
fn beyond<'a>(
    pick: &Candidate,
    need: Need,
    capacity: impl Iterator<Item = &'a Capacity> + Clone,
    results: &[CaseResult],
) -> Option<Beyond> {
    let own = capacity.clone().find(|capacity| capacity.variant == pick.variant)?;
    let holds = own.found.at_least_per_sec.unwrap_or(need.per_second);
    let from =
        own.rates.iter().find(|rate| rate.per_sec > holds && rate.verdict != RateVerdict::Void)?;
    let there = capacity.filter(|capacity| capacity.found.at_least_per_sec >= Some(from.per_sec));
    let holding: Vec<(&Capacity, &RateTried)> =
        there.filter_map(|capacity| Some((capacity, capacity.at(from.per_sec)?))).collect();
    let best = rank(&holding, results).into_iter().next();
    Some(Beyond { from_per_sec: from.per_sec, variant: best.map(|candidate| candidate.variant) })
}

impl Candidate {
    /// Whether its server uses more CPU time than that of `other`, by enough to say so.
    pub fn uses_more_than(&self, other: &Candidate) -> bool {
        self.cpus() > SAME_USE * other.cpus()
    }

    fn cpus(&self) -> f64 {
        self.server_cpus.unwrap_or(f64::INFINITY)
    }

    fn of(
        capacity: &Capacity,
        rate: &RateTried,
        results: &[CaseResult],
        against: Option<AgainstBest>,
    ) -> Candidate {
        let case = &results[rate.result];
        let values: Vec<f64> = by_round(case).into_iter().flatten().collect();
        let interval = stats::median_interval(&values, ALPHA);
        let p99 = case.value.as_ref().and_then(|value| value.percentile("p99"));
        Candidate {
            variant: capacity.variant.clone(),
            verdict: rate.verdict,
            percentile_ns: rate.percentile_ns,
            low_ns: interval.map(|interval| interval.low),
            high_ns: interval.map(|interval| interval.high),
            p50_ns: case.value.as_ref().map(|value| value.median),
            p99_ns: p99.map(|p99| p99.value),
            launches: rate.launches,
            passed: rate.passed,
            void: rate.void,
            later_share: rate.later_share,
            messages: case.samples,
            at_least_per_sec: capacity.found.at_least_per_sec,
            below_per_sec: capacity.found.below_per_sec,
            served_per_sec: rate.served_per_sec,
            server_cpus: case.rate.and_then(|rate| rate.server_cpus),
            spins: case.spins || case.load.is_some_and(|load| load.choice() == Some(Server::Scan)),
            slower_at_least: against.as_ref().and_then(|difference| difference.slower_at_least),
            slower_at_most: against.as_ref().and_then(|difference| difference.slower_at_most),
            may_be_best: against.is_some_and(|difference| difference.may_be_best),
        }
    }
}

#[cfg(test)]
mod tests;
