//! A group's verdict: the set of the best, how far each case is from it at most, and how each compares with a
//! reference that nobody chose by looking.
//!
//! Of a fleet a group is what the same nodes do, a group for each number of pairs at a time: its variants are
//! compared there, and nodes by [`super::fleet`].
//!
//! Comparisons are paired within rounds. What is said of the best, of the distance to it, and the verdicts against
//! the reference hold for the whole group at once (95 %); the interval of a ratio holds by itself.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::Serialize;

use super::paired::CaseRatio;
use super::screening::LeftOut;
use super::site::{Site, is_a_case};
use super::{ALPHA, EQUIVALENT_WITHIN, NEGLIGIBLE};
use super::{CaseResult, Status};
use model::case::Case;
use model::mechanism::Class;
use model::metric::Metric;
use model::reference;

use stats::AgainstBest;
use store::{Closed, Concurrent, StoredGroup, StoredRun};

/// One case of its group, compared with the others.
#[derive(Clone, Debug, JsonSchema, Serialize)]
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
    /// The ranks of both ends among the ratios sorted, counted from 1.
    pub ranks: Option<[usize; 2]>,
    /// The coverage that these ranks have.
    pub coverage: Option<f64>,
    /// The ratio in each round, of which `ratio` is the median; null in a round that lacks one of both.
    pub by_round: Option<Vec<Option<f64>>>,
    /// Sign-test p against the reference, corrected by Holm over the group.
    pub p: Option<f64>,
    /// `faster`, `slower`, `equivalent`, `inconclusive`: than the reference.
    pub verdict: Option<&'static str>,
    /// Whether it may be the best of its class in the group: none is shown to be over 1 % quicker.
    pub among_best: bool,
    /// The same among those that sleep while they wait.
    pub among_best_sleeping: bool,
    /// By what share it is slower than the first of what may be the best, in the middle round; 0 of what is not slower,
    /// null where they share no round.
    pub slower_than_best: Option<f64>,
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

/// The same case under two names: what the machine's own noise does to a comparison.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct TwinCheck {
    /// The variant that was measured twice.
    pub variant: String,
    /// The one over the other.
    #[serde(flatten)]
    pub over: CaseRatio,
    /// Sign-test p.
    pub p: f64,
}

/// A group, judged.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct GroupVerdict {
    /// Its number in the run.
    pub group: usize,
    /// What its cases have in common.
    #[serde(flatten)]
    pub case: Case<()>,
    /// What competes in it.
    pub class: Class,
    /// What it yields.
    #[serde(skip)]
    pub metric: Metric,
    /// As of its cases.
    #[serde(skip)]
    pub site: Site,
    /// Whether the level of its cases changes from run to run, as that of wake-ups across CPUs does: then
    /// ratios are the headline. Most set-ups wake nobody.
    #[serde(skip)]
    pub by_ratio: bool,
    /// The node that it was measured on, or the two between which it was; empty unless the run is a fleet's.
    pub nodes: Vec<String>,
    /// How many pairs of a fleet were measured at a time; null of what is no pair.
    pub concurrent: Option<Concurrent>,
    /// Rounds measured.
    pub rounds: u64,
    /// Those that others disturbed. Where that is all of them nothing is called best.
    pub marked_rounds: u64,
    /// Those of which nobody knows, since what would tell couldn't be read.
    pub unknown_rounds: u64,
    /// Why it ended; null if it was interrupted.
    pub closed: Option<Closed>,
    /// Index into the results of what ratios are to: named by the user, or the same in every run. It may be of another
    /// class.
    pub reference: Option<usize>,
    /// Comparisons over which ratios, and what is said of the best, are corrected: all cases but one.
    pub family: usize,
    /// What its launches had in common, by round: how many times as long as in their middle rounds they took, the median
    /// over its cases; null in rounds of fewer than three.
    pub round_levels: Vec<Option<f64>>,
    /// Every ranked case, the smallest median first; across CPUs the smallest ratio, where there is one.
    pub standings: Vec<Standing>,
    /// The A/A pair, where the group has one.
    pub twin_check: Option<TwinCheck>,
    /// All that was measured of it, twin and control too: indices into the results.
    #[serde(skip)]
    pub members: Vec<usize>,
}

is_a_case!(GroupVerdict, ());

impl GroupVerdict {
    /// Judges the variants of a fleet, where several did the same on the same nodes.
    pub(super) fn of_each_node(
        run: &StoredRun,
        results: &[CaseResult],
        asked: Option<&str>,
    ) -> Vec<GroupVerdict> {
        let same = alike(0..results.len(), |at| {
            results[at].identity().without(&["variant", "cpus", "twin"])
        });
        let several = same.iter().filter(|numbers| numbers.len() > 1);
        let judged = several.flat_map(|members| {
            let group = run.groups.iter().find(|group| group.nth == results[members[0]].group);
            group.map_or_else(Vec::new, |group| GroupVerdict::of(group, members, results, asked))
        });
        judged.collect()
    }

    /// Judges `members` of the results, each class by itself. They share one reference and one family; of what wasn't
    /// measured there is none.
    pub(super) fn of(
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
        // Controls stand with what copies.
        let class_of = |at: &usize| match results[*at].class {
            Class::Control => Class::Copying,
            class => class,
        };
        let question = |class: Class| {
            let own = |at: &usize| class_of(at) == class;
            let measured: Vec<usize> = measured.iter().copied().filter(own).collect();
            let head = &results[*measured.first()?];
            let by_ratio = !head.metric.is_set_up() && !head.is_on_one_cpu();
            let mut standings: Vec<Standing> =
                standings.iter().filter(|standing| own(&standing.result)).cloned().collect();
            if by_ratio {
                // What has no ratio stands where its median puts it.
                let against = reference.map_or(1.0, |at| typical(&results[at]));
                let key = |standing: &Standing| {
                    standing.ratio.unwrap_or_else(|| typical(&results[standing.result]) / against)
                };
                standings.sort_by(|a, b| key(a).total_cmp(&key(b)));
            }
            assign_distances(&mut standings, results);
            let rounds = members.iter().map(|at| results[*at].by_round.len() as u64).max();
            Some(GroupVerdict {
                group: group.nth,
                case: Case {
                    message_bytes: measured.iter().find_map(|at| results[*at].message_bytes),
                    total: measured.iter().find_map(|at| results[*at].total),
                    ..head.case.with(|_| ())
                },
                class,
                metric: head.metric.clone(),
                by_ratio,
                site: head.site.clone(),
                nodes: head.nodes.clone(),
                concurrent: head.concurrent,
                rounds: rounds.unwrap_or(0),
                marked_rounds: 0,
                unknown_rounds: 0,
                closed: group.closed,
                reference,
                family: ranked.len().saturating_sub(1),
                round_levels: round_levels(&standings, results),
                standings,
                twin_check: twin_check(&measured, results),
                members: measured,
            })
        };
        let classes: BTreeSet<Class> = measured.iter().map(class_of).collect();
        classes.into_iter().filter_map(question).collect()
    }

    /// Whether it says what is best: something in it is shown to be slower. Wherever one is called best, this is asked.
    pub fn names_the_best(&self) -> bool {
        !self.is_disturbed() && self.standings.iter().any(|standing| !standing.among_best)
    }

    /// Whether its launches are too few to rank anything: then its order is that of the medians.
    pub fn has_too_few_launches(&self) -> bool {
        let known = |standing: &Standing| standing.slower_than_best_at_most.is_some();
        let open = !self.is_disturbed() && !self.names_the_best();
        open && self.standings.len() > 1 && !self.standings.iter().any(known)
    }

    /// The first of the best, and the first of the best that sleep.
    pub fn leaders(&self) -> (Option<&Standing>, Option<&Standing>) {
        let best = self.standings.iter().find(|standing| standing.among_best);
        let sleeping = self.standings.iter().find(|standing| standing.among_best_sleeping);
        (best, sleeping)
    }
}

/// How far each is from the first of what may be the best, in the middle round.
fn assign_distances(standings: &mut [Standing], results: &[CaseResult]) {
    let Some(first) =
        standings.iter().find(|standing| standing.among_best).map(|standing| standing.result)
    else {
        return;
    };
    for standing in standings {
        let ratios = results[standing.result].shared_log_ratios_to(&results[first]);
        standing.slower_than_best = stats::median_of(ratios).map(|median| median.exp_m1().max(0.0));
    }
}

/// Fewer cases than this have no common level in a round.
const LEAST_FOR_A_LEVEL: usize = 3;

/// How many times as long as in their middle rounds the launches of each round took: the median over the cases.
fn round_levels(standings: &[Standing], results: &[CaseResult]) -> Vec<Option<f64>> {
    let cases: Vec<(f64, &CaseResult)> = standings
        .iter()
        .map(|standing| &results[standing.result])
        .map(|result| (typical(result), result))
        .collect();
    let rounds = cases.iter().map(|(_, case)| case.by_round.len()).max().unwrap_or(0);
    let level = |round: usize| {
        let of = |(typical, case): &(f64, &CaseResult)| {
            case.by_round.get(round).copied().flatten().map(|ns| ns / typical)
        };
        let there: Vec<f64> = cases.iter().filter_map(of).collect();
        if there.len() < LEAST_FOR_A_LEVEL { None } else { stats::median_of(there) }
    };
    (0..rounds).map(level).collect()
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
    for group in groups.iter().filter(|group| group.family > 0) {
        for standing in &group.standings {
            if standing.screened_out.is_some() {
                results[standing.result].precision_reached = None; // none was asked of it
            }
            let Some(precision) = &mut results[standing.result].precision_reached else { continue };
            let ends = standing.low.zip(standing.high).zip(standing.ratio);
            let of_ratio = ends.map(|((low, high), ratio)| (high - low) / 2.0 / ratio);
            precision.half_width =
                if group.reference == Some(standing.result) { Some(0.0) } else { of_ratio };
            precision.reached =
                precision.half_width.is_some_and(|half_width| half_width <= precision.asked);
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
    // Each class has its own best.
    let (mut best, mut best_asleep) = (Vec::new(), Vec::new());
    for class in ranked.iter().map(|at| results[*at].class).collect::<BTreeSet<_>>() {
        let own = |at: &&usize| results[**at].class == class;
        let all: Vec<usize> = ranked.iter().filter(own).copied().collect();
        let asleep: Vec<usize> = all.iter().copied().filter(|at| !results[*at].spins).collect();
        best.extend(among(&all, results));
        best_asleep.extend(among(&asleep, results));
    }
    let mut order: Vec<usize> = ranked.to_vec();
    order.sort_by(|a, b| typical(&results[*a]).total_cmp(&typical(&results[*b])));
    let family = ranked.len().saturating_sub(1).max(1);
    let compared: Vec<Option<Compared>> = order
        .iter()
        .map(|at| {
            let reference = reference.filter(|reference| reference != at)?;
            Compared::of(&results[*at].log_ratios_to(&results[reference]), family)
        })
        .collect();
    let p: Vec<f64> = compared.iter().flatten().map(|comparison| comparison.over.p).collect();
    let mut corrected = stats::holm(&p).into_iter();
    let of = |set: &[(usize, AgainstBest)], at: usize| {
        set.iter().find(|pair| pair.0 == at).map(|pair| pair.1.clone())
    };
    order
        .into_iter()
        .zip(compared)
        .map(|(at, compared)| {
            let p = compared.as_ref().and_then(|_| corrected.next());
            let own = of(&best, at);
            let verdict = compared.as_ref().zip(p).map(|(comparison, p)| comparison.verdict(p));
            let over = compared.map(|comparison| comparison.over);
            let ratio = over.as_ref().map(|ratio| ratio.ratio);
            Standing {
                result: at,
                variant: results[at].variant.clone(),
                ratio: if reference == Some(at) { Some(1.0) } else { ratio },
                low: over.as_ref().map(|ratio| ratio.low),
                high: over.as_ref().map(|ratio| ratio.high),
                ranks: over.as_ref().map(|ratio| ratio.ranks),
                coverage: over.as_ref().map(|ratio| ratio.coverage),
                by_round: over.map(|ratio| ratio.by_round),
                p,
                verdict,
                among_best: own.as_ref().is_some_and(|difference| difference.may_be_best),
                among_best_sleeping: of(&best_asleep, at)
                    .is_some_and(|difference| difference.may_be_best),
                slower_than_best: None,
                slower_than_best_at_most: own
                    .as_ref()
                    .and_then(|difference| difference.slower_at_most),
                slower_than_best_at_least: own.and_then(|difference| difference.slower_at_least),
                screened_out: None,
            }
        })
        .collect()
}

/// A case over the reference.
struct Compared {
    over: CaseRatio,
    equivalent: bool,
}

impl Compared {
    /// One of `family` comparisons; None where too few rounds have both.
    fn of(log_ratios: &[Option<f64>], family: usize) -> Option<Compared> {
        let shared: Vec<f64> = log_ratios.iter().copied().flatten().collect();
        let equivalent = stats::equivalent(&shared, EQUIVALENT_WITHIN, ALPHA / family as f64);
        Some(Compared { over: CaseRatio::of(log_ratios)?, equivalent })
    }

    fn verdict(&self, p: f64) -> &'static str {
        match self.over.ratio.total_cmp(&1.0) {
            _ if self.equivalent => "equivalent",
            Ordering::Less if p < ALPHA => "faster",
            Ordering::Greater if p < ALPHA => "slower",
            _ => "inconclusive",
        }
    }
}

fn among(cases: &[usize], results: &[CaseResult]) -> Vec<(usize, AgainstBest)> {
    let measured = |at: &&usize| results[**at].by_round.iter().any(Option::is_some);
    let cases: Vec<usize> = cases.iter().filter(measured).copied().collect();
    let ratios = |a: usize, b: usize| results[cases[a]].shared_log_ratios_to(&results[cases[b]]);
    let against = stats::against_best(cases.len(), &ratios, ALPHA, NEGLIGIBLE);
    cases.iter().copied().zip(against).collect()
}

fn typical(case: &CaseResult) -> f64 {
    stats::median_of(case.by_round.iter().flatten().copied()).unwrap_or(f64::INFINITY)
}

fn twin_check(members: &[usize], results: &[CaseResult]) -> Option<TwinCheck> {
    let here = || members.iter().map(|at| &results[*at]);
    let twin = here().find(|case| case.twin && case.is_valid())?;
    let subject = here().find(|case| !case.twin && case.variant == twin.variant)?;
    let over = CaseRatio::of(&twin.log_ratios_to(subject))?;
    Some(TwinCheck { variant: twin.variant.clone(), p: over.p, over })
}
