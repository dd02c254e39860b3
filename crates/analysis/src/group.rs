//! A group's verdict: the set of the best, how far each case is from it at most, and how each compares with a
//! reference that nobody chose by looking.
//!
//! Of a fleet a group is what the same nodes do, a group for each number of pairs at a time: its variants are
//! compared there, and nodes by [`super::fleet`].
//!
//! Comparisons are paired within rounds. What is said of the best, of the distance to it, and the verdicts against
//! the reference hold for the whole group at once (95 %); the interval of a ratio holds by itself.

use std::cmp::Ordering;
use std::collections::HashMap;

use serde::Serialize;

use super::{ALPHA, EQUIVALENT_WITHIN};
use super::{CaseResult, Status};
use model::case::Case;
use model::load::Load;
use model::mechanism::Carries;
use model::metric::Metric;
use model::reference;
use model::route::Route;
use model::screening::{self, Screened};
use model::total::Total;
use model::workload::Workload;
use stats::{AgainstBest, AgainstReference};
use store::{Closed, Concurrent, StoredGroup, StoredRun};

/// One case of its group, compared with the others.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// Index into the results.
    pub result: usize,
    /// The variant.
    pub variant: String,
    /// Time per operation over the reference's: 1 for the reference itself.
    pub ratio: Option<f64>,
    /// Lower end of its interval, which holds by itself.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Signed-rank p against the reference, corrected by Holm over the group; 1 where the medians alone don't
    /// differ.
    pub p: Option<f64>,
    /// `faster`, `slower`, `equivalent`, `inconclusive`: than the reference.
    pub verdict: Option<&'static str>,
    /// Whether it may be the best of the group.
    pub among_best: bool,
    /// The same among those that sleep while they wait.
    pub among_best_sleeping: bool,
    /// By what share it is slower than the best at most, together with all others of the group; null where
    /// too few rounds tell.
    pub slower_than_best_at_most: Option<f64>,
    /// By what share it is slower than the best at least, together with all others of the group; 0 of what may be the
    /// best, null as above.
    pub slower_than_best_at_least: Option<f64>,
    /// Of what screening left out its time over that of the first of its kind, in the rounds that screened: then nothing
    /// else is said of it.
    pub screened_out: Option<LeftOut>,
}

/// The range of ratios in few rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
            carries: results[*at].carries,
            spins: results[*at].spins,
            stays: false,
        };
        let cases: Vec<Screened> = ranked.iter().map(screened).collect();
        let own = |it: &Screened| it.carries == results[at].carries;
        let first = *screening::quickest(&cases, own).first()?;
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
    fn screened_out(at: usize, ranked: &[usize], results: &[CaseResult]) -> Standing {
        Standing {
            result: at,
            variant: results[at].variant.clone(),
            ratio: None,
            low: None,
            high: None,
            p: None,
            verdict: None,
            among_best: false,
            among_best_sleeping: false,
            slower_than_best_at_most: None,
            slower_than_best_at_least: None,
            screened_out: LeftOut::of(at, ranked, results),
        }
    }
}

/// The same case under two names: what the machine's own noise does to a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct TwinCheck {
    /// The variant that was measured twice.
    pub variant: String,
    /// Ratio of the two.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Signed-rank p.
    pub p: f64,
}

/// A group, judged.
#[derive(Clone, Debug, Serialize)]
pub struct GroupVerdict {
    /// Its number in the run.
    pub group: usize,
    /// What was asked of the first of its cases.
    #[serde(skip)]
    pub asked: Case,
    /// What was done.
    pub workload: Workload,
    /// What it yields.
    #[serde(skip)]
    pub metric: Metric,
    /// Null for a group of wake-ups or set-ups.
    pub message_bytes: Option<u64>,
    /// What one transfer carries; null where no bytes are transferred.
    pub total: Option<Total>,
    /// What an open loop carried, or how many connections a closed one had; null of other workloads.
    pub load: Option<Load>,
    /// Where the two halves of its launches were.
    pub route: Route,
    /// Where its workers ran.
    pub placement: String,
    /// As of its cases.
    #[serde(skip)]
    pub site: String,
    /// Whether the level of its cases changes from run to run, as that of wake-ups across CPUs does: then
    /// ratios are the headline. Most set-ups wake nobody.
    #[serde(skip)]
    pub by_ratio: bool,
    /// The node that it was measured on, or the two between which it was; empty unless the run is a fleet's.
    pub nodes: Vec<String>,
    /// How many pairs of a fleet were measured at a time; null of what is no pair.
    pub concurrent: Option<Concurrent>,
    /// `process`, `thread`.
    pub workers: String,
    /// Rounds measured.
    pub rounds: u64,
    /// Those that others disturbed. Where that is all of them nothing is called best.
    pub marked_rounds: u64,
    /// Those of which nobody knows, since what would tell couldn't be read.
    pub unknown_rounds: u64,
    /// Why it ended; null if it was interrupted.
    pub closed: Option<Closed>,
    /// Index into the results of what ratios are to: named by the user, or the same in every run. Of wake-ups
    /// it is what those that carry bytes are compared with.
    pub reference: Option<usize>,
    /// Comparisons over which ratios, and what is said of the best, are corrected: all cases but one.
    pub family: usize,
    /// Every ranked case, the smallest median first; across CPUs the smallest ratio, where there is one.
    pub standings: Vec<Standing>,
    /// The A/A pair, where the group has one.
    pub twin: Option<TwinCheck>,
    /// All that was measured of it, twin and control too: indices into the results.
    #[serde(skip)]
    pub members: Vec<usize>,
}

impl GroupVerdict {
    /// Judges a group whose results are the last of them, from index `first` on, once for each site, and wake-ups
    /// without bytes by themselves: what is best here is one question, and what is best between two hosts, or where
    /// nothing is to be carried, are others.
    pub(super) fn of_each_site(
        group: &StoredGroup,
        first: usize,
        results: &[CaseResult],
        asked: Option<&str>,
    ) -> Vec<GroupVerdict> {
        let sites = alike(first..results.len(), |at| &*results[at].site);
        sites.iter().flat_map(|it| GroupVerdict::of(group, it, results, asked)).collect()
    }

    /// Judges the variants of a fleet, where several did the same on the same nodes.
    pub(super) fn of_each_node(
        run: &StoredRun,
        results: &[CaseResult],
        asked: Option<&str>,
    ) -> Vec<GroupVerdict> {
        let same = alike(0..results.len(), |at| {
            results[at].identity().without(&["variant", "cpus", "twin"])
        });
        let several = same.iter().filter(|it| it.len() > 1);
        let judged = several.flat_map(|members| {
            let group = run.groups.iter().find(|it| it.nth == results[members[0]].group);
            group.map_or_else(Vec::new, |it| GroupVerdict::of(it, members, results, asked))
        });
        judged.collect()
    }

    /// Judges `members` of the results, those that carry bytes and those that carry wake-ups alone each by
    /// themselves. They share one reference and one family; of what wasn't measured there is none.
    fn of(
        group: &StoredGroup,
        members: &[usize],
        results: &[CaseResult],
        asked: Option<&str>,
    ) -> Vec<GroupVerdict> {
        let measured: Vec<usize> =
            members.iter().copied().filter(|at| results[*at].status == Status::Ok).collect();
        let ranked: Vec<usize> =
            measured.iter().copied().filter(|at| results[*at].is_ranked()).collect();
        let reference = reference_of(&ranked, results, asked);
        let (mut out, ranked): (Vec<usize>, Vec<usize>) =
            ranked.iter().partition(|at| results[**at].screened_out);
        let mut standings = standings(&ranked, results, reference);
        out.sort_by(|a, b| typical(&results[*a]).total_cmp(&typical(&results[*b])));
        let all: Vec<usize> = ranked.iter().chain(&out).copied().collect();
        standings.extend(out.iter().map(|at| Standing::screened_out(*at, &all, results)));
        let question = |wakes: bool| {
            let own = |at: &usize| (results[*at].carries == Carries::Signal) == wakes;
            let measured: Vec<usize> = measured.iter().copied().filter(own).collect();
            let head = &results[*measured.first()?];
            let by_ratio = !head.metric.is_set_up() && !head.is_on_one_cpu();
            let mut standings: Vec<Standing> =
                standings.iter().filter(|it| own(&it.result)).cloned().collect();
            if by_ratio {
                // What has no ratio stands where its median puts it.
                let against = reference.map_or(1.0, |at| typical(&results[at]));
                let key = |it: &Standing| {
                    it.ratio.unwrap_or_else(|| typical(&results[it.result]) / against)
                };
                standings.sort_by(|a, b| key(a).total_cmp(&key(b)));
            }
            let rounds = members.iter().map(|at| results[*at].by_round.len() as u64).max();
            Some(GroupVerdict {
                group: group.nth,
                asked: head.asked.clone(),
                workload: head.workload,
                metric: head.metric.clone(),
                message_bytes: measured.iter().find_map(|at| results[*at].message_bytes),
                total: measured.iter().find_map(|at| results[*at].total),
                load: head.load,
                route: head.route.clone(),
                placement: head.placement.clone(),
                by_ratio,
                site: head.site.clone(),
                nodes: head.nodes.clone(),
                concurrent: head.concurrent,
                workers: head.workers.clone(),
                rounds: rounds.unwrap_or(0),
                marked_rounds: 0,
                unknown_rounds: 0,
                closed: group.closed,
                reference,
                family: ranked.len().saturating_sub(1),
                standings,
                twin: twin_check(&measured, results),
                members: measured,
            })
        };
        [false, true].into_iter().filter_map(question).collect()
    }

    /// Whether it says what is best: something in it is shown to be slower. Wherever one is called best, this is asked.
    pub fn names_the_best(&self) -> bool {
        !self.is_disturbed() && self.standings.iter().any(|it| !it.among_best)
    }

    /// Whether its launches are too few to rank anything: then its order is that of the medians.
    pub fn has_too_few_launches(&self) -> bool {
        let known = |it: &Standing| it.slower_than_best_at_most.is_some();
        let open = !self.is_disturbed() && !self.names_the_best();
        open && self.standings.len() > 1 && !self.standings.iter().any(known)
    }

    /// The first of the best, and the first of the best that sleep.
    pub fn leaders(&self) -> (Option<&Standing>, Option<&Standing>) {
        let best = self.standings.iter().find(|it| it.among_best);
        let sleeping = self.standings.iter().find(|it| it.among_best_sleeping);
        (best, sleeping)
    }
}

/// Those that have the same key, in the order of the first of each.
pub(super) fn alike<K: Eq + std::hash::Hash>(
    results: impl Iterator<Item = usize>,
    key: impl Fn(usize) -> K,
) -> Vec<Vec<usize>> {
    let mut places = HashMap::new();
    let mut found: Vec<Vec<usize>> = Vec::new();
    for at in results {
        let place = *places.entry(key(at)).or_insert(found.len());
        if place == found.len() {
            found.push(Vec::new());
        }
        found[place].push(at);
    }
    found
}

/// Of what is compared it is the ratio to the reference that is to be precise, which is 1 of the reference itself.
pub(super) fn assign_precision(results: &mut [CaseResult], groups: &[GroupVerdict]) {
    for group in groups.iter().filter(|it| it.family > 0) {
        for standing in &group.standings {
            if standing.screened_out.is_some() {
                results[standing.result].precision_reached = None; // none was asked of it
            }
            let Some(precision) = &mut results[standing.result].precision_reached else { continue };
            let ends = standing.low.zip(standing.high).zip(standing.ratio);
            let of_ratio = ends.map(|((low, high), ratio)| (high - low) / 2.0 / ratio);
            precision.half_width =
                if group.reference == Some(standing.result) { Some(0.0) } else { of_ratio };
            precision.reached = precision.half_width.is_some_and(|it| it <= precision.asked);
        }
    }
}

/// What ratios are to, of the `ranked`.
fn reference_of(ranked: &[usize], results: &[CaseResult], asked: Option<&str>) -> Option<usize> {
    let variants = ranked.iter().map(|at| results[*at].variant.as_str());
    let local = results[*ranked.first()?].route.is_local();
    reference::chosen(variants, local, asked).map(|nth| ranked[nth])
}

fn standings(ranked: &[usize], results: &[CaseResult], reference: Option<usize>) -> Vec<Standing> {
    // Each kind has its own best.
    let (mut best, mut best_asleep) = (Vec::new(), Vec::new());
    for kind in [Carries::Bytes, Carries::Signal] {
        let own = |at: &&usize| results[**at].carries == kind;
        let all: Vec<usize> = ranked.iter().filter(own).copied().collect();
        let asleep: Vec<usize> = all.iter().copied().filter(|at| !results[*at].spins).collect();
        best.extend(among(&all, results));
        best_asleep.extend(among(&asleep, results));
    }
    let mut order: Vec<usize> = ranked.to_vec();
    order.sort_by(|a, b| typical(&results[*a]).total_cmp(&typical(&results[*b])));
    let terms = (ranked.len().saturating_sub(1), EQUIVALENT_WITHIN, ALPHA);
    let compared: Vec<Option<AgainstReference>> = order
        .iter()
        .map(|at| {
            let reference = reference.filter(|reference| reference != at)?;
            let (a, b) = paired(&results[*at], &results[reference]);
            stats::against_reference(&a, &b, terms)
        })
        .collect();
    let family: Vec<f64> = compared.iter().flatten().map(|it| it.p).collect();
    let mut corrected = stats::holm(&family).into_iter();
    let of = |set: &[(usize, AgainstBest)], at: usize| {
        set.iter().find(|it| it.0 == at).map(|it| it.1.clone())
    };
    order
        .into_iter()
        .zip(compared)
        .map(|(at, compared)| {
            let p = compared.and_then(|_| corrected.next());
            let ratio = compared.map(|it| it.ratio);
            let own = of(&best, at);
            Standing {
                result: at,
                variant: results[at].variant.clone(),
                ratio: if reference == Some(at) { Some(1.0) } else { ratio.map(|it| it.estimate) },
                low: ratio.map(|it| it.low),
                high: ratio.map(|it| it.high),
                p,
                verdict: compared.zip(p).map(|(compared, p)| verdict_of(&compared, p)),
                among_best: own.as_ref().is_some_and(|it| it.may_be_best),
                among_best_sleeping: of(&best_asleep, at).is_some_and(|it| it.may_be_best),
                slower_than_best_at_most: own.as_ref().and_then(|it| it.slower_at_most),
                slower_than_best_at_least: own.and_then(|it| it.slower_at_least),
                screened_out: None,
            }
        })
        .collect()
}

fn verdict_of(compared: &AgainstReference, p: f64) -> &'static str {
    match compared.ratio.estimate.total_cmp(&1.0) {
        _ if compared.equivalent => "equivalent",
        Ordering::Less if p < ALPHA => "faster",
        Ordering::Greater if p < ALPHA => "slower",
        _ => "inconclusive",
    }
}

fn among(cases: &[usize], results: &[CaseResult]) -> Vec<(usize, AgainstBest)> {
    let columns: Vec<&[Option<f64>]> = cases.iter().map(|at| &*results[*at].by_round).collect();
    cases.iter().copied().zip(stats::against_best(&columns, ALPHA)).collect()
}

fn typical(case: &CaseResult) -> f64 {
    stats::median_of(case.by_round.iter().flatten().copied()).unwrap_or(f64::INFINITY)
}

/// The values of both in the rounds that have both.
pub(crate) fn paired(a: &CaseResult, b: &CaseResult) -> (Vec<f64>, Vec<f64>) {
    a.by_round.iter().zip(&b.by_round).filter_map(|(a, b)| (*a).zip(*b)).unzip()
}

fn twin_check(members: &[usize], results: &[CaseResult]) -> Option<TwinCheck> {
    let here = || members.iter().map(|at| &results[*at]);
    let twin = here().find(|case| case.twin && case.is_valid())?;
    let subject = here().find(|case| !case.twin && case.variant == twin.variant)?;
    let (a, b) = paired(twin, subject);
    let comparison = stats::compare_paired(&a, &b, ALPHA)?;
    Some(TwinCheck {
        variant: twin.variant.clone(),
        ratio: comparison.ratio.estimate,
        low: comparison.ratio.low,
        high: comparison.ratio.high,
        p: comparison.p,
    })
}
