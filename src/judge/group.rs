//! A group's verdict: the set of the best, and how far each case stands from the leader.
//!
//! Comparisons are paired within rounds and corrected over the group. "The best" is every case
//! that multiple comparison with the best can't tell apart, never just the smallest median.

use serde::Serialize;

use super::{ALPHA, EQUIVALENT_WITHIN};
use super::{CaseResult, Status};
use crate::stats::{self, Verdict};
use crate::store::{Closed, StoredGroup};
use crate::study::{Reach, Total};

/// How one case stands against the leader of its group.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    /// Index into the results.
    pub result: usize,
    /// The variant.
    pub variant: String,
    /// Time per operation over the leader's: 1 for the leader.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Signed-rank p, corrected by Holm over the group.
    pub p: Option<f64>,
    /// `faster`, `slower`, `equivalent`, `inconclusive`.
    pub verdict: Option<&'static str>,
    /// Whether the best of the group can't be told from it.
    pub among_best: bool,
    /// The same among those that sleep while they wait.
    pub among_best_sleeping: bool,
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
    /// `latency`, `throughput`, `connect`.
    pub workload: String,
    /// Null for a group of wake-ups or set-ups.
    pub message_bytes: Option<u64>,
    /// What one transfer carries; null where no bytes are transferred.
    pub total: Option<Total>,
    /// Messages due per second; None of other workloads than a rate.
    #[serde(skip)]
    pub rate: Option<u64>,
    /// Where the two halves of its launches were.
    pub reach: Reach,
    /// Where its workers ran.
    pub placement: String,
    /// As of its cases.
    #[serde(skip)]
    pub site: String,
    /// `process`, `thread`.
    pub workers: String,
    /// Rounds measured.
    pub rounds: u64,
    /// Why it ended; null if it was interrupted.
    pub closed: Option<Closed>,
    /// Every ranked case, the leader first.
    pub standings: Vec<Standing>,
    /// The A/A pair, where the group has one.
    pub twin: Option<TwinCheck>,
}

impl GroupVerdict {
    /// Judges a group whose results start at index `first`, once for each reach: what is best
    /// here is one question, and what is best between two hosts another.
    pub(super) fn of_each_site(
        group: &StoredGroup,
        first: usize,
        members: &[CaseResult],
    ) -> Vec<GroupVerdict> {
        let mut sites: Vec<&str> = Vec::new();
        for case in members {
            if !sites.contains(&case.site.as_str()) {
                sites.push(&case.site);
            }
        }
        let judged = sites.iter().map(|site| GroupVerdict::of(group, first, members, site));
        judged.flatten().collect()
    }

    /// None if nothing was measured there.
    fn of(
        group: &StoredGroup,
        first: usize,
        members: &[CaseResult],
        site: &str,
    ) -> Option<GroupVerdict> {
        let here = |case: &&CaseResult| case.site == site && case.status == Status::Ok;
        let ranked: Vec<usize> = (0..members.len())
            .filter(|at| {
                let case = &members[*at];
                here(&case) && case.is_ranked()
            })
            .collect();
        let head = members.iter().find(here)?;
        let mut standings = standings(&ranked, members);
        for standing in &mut standings {
            standing.result += first;
        }
        Some(GroupVerdict {
            workload: head.workload.clone(),
            message_bytes: members.iter().filter(here).find_map(|it| it.message_bytes),
            total: head.total,
            rate: head.rate.map(|it| it.asked_per_sec),
            reach: head.reach.clone(),
            placement: head.placement.clone(),
            site: site.into(),
            workers: head.workers.clone(),
            rounds: members.iter().map(|it| it.by_round.len() as u64).max().unwrap_or(0),
            closed: group.closed,
            standings,
            twin: twin_check(members, site),
        })
    }

    /// The first of the best, and the first of the best that sleep.
    pub fn leaders(&self) -> (Option<&Standing>, Option<&Standing>) {
        let best = self.standings.iter().find(|it| it.among_best);
        let sleeping = self.standings.iter().find(|it| it.among_best_sleeping);
        (best, sleeping)
    }
}

fn standings(ranked: &[usize], members: &[CaseResult]) -> Vec<Standing> {
    let best = best_among(ranked, members);
    let asleep: Vec<usize> = ranked.iter().copied().filter(|at| !members[*at].spins).collect();
    let best_asleep = best_among(&asleep, members);
    let mut order = ranked.to_vec();
    order.sort_by(|a, b| typical(&members[*a]).total_cmp(&typical(&members[*b])));
    let Some(leader) = order.iter().copied().find(|at| best.contains(at)) else {
        return Vec::new();
    };
    let pairs: Vec<_> = order.iter().map(|at| paired(&members[*at], &members[leader])).collect();
    let compared: Vec<_> = pairs.iter().map(|(a, b)| stats::compare_paired(a, b, ALPHA)).collect();
    let family: Vec<f64> = compared
        .iter()
        .zip(&order)
        .filter(|(_, at)| **at != leader)
        .filter_map(|(comparison, _)| comparison.map(|it| it.p))
        .collect();
    let mut corrected = stats::holm(&family).into_iter();
    order
        .iter()
        .enumerate()
        .map(|(nth, at)| {
            let other = *at != leader;
            let comparison = compared[nth].filter(|_| other);
            let p = comparison.and_then(|_| corrected.next());
            Standing {
                result: *at,
                variant: members[*at].variant.clone(),
                ratio: if other { comparison.map(|it| it.ratio.estimate) } else { Some(1.0) },
                low: comparison.map(|it| it.ratio.low),
                high: comparison.map(|it| it.ratio.high),
                p,
                verdict: p.map(|p| verdict_of(&pairs[nth], p)),
                among_best: best.contains(at),
                among_best_sleeping: best_asleep.contains(at),
            }
        })
        .collect()
}

fn verdict_of((a, b): &(Vec<f64>, Vec<f64>), p: f64) -> &'static str {
    let logs: Vec<f64> = a.iter().zip(b).map(|(a, b)| (a / b).ln()).collect();
    match stats::verdict(&logs, p, EQUIVALENT_WITHIN, ALPHA) {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Equivalent => "equivalent",
        Verdict::Inconclusive { .. } => "inconclusive",
    }
}

fn best_among(among: &[usize], members: &[CaseResult]) -> Vec<usize> {
    let columns: Vec<&[Option<f64>]> = among.iter().map(|at| &*members[*at].by_round).collect();
    let best = stats::best_set(&columns, ALPHA);
    among.iter().copied().zip(best).filter(|(_, best)| *best).map(|(at, _)| at).collect()
}

/// Median over rounds, in ns; also where two modes forbid a headline.
fn typical(case: &CaseResult) -> f64 {
    let mut values: Vec<f64> = case.by_round.iter().flatten().copied().collect();
    values.sort_by(f64::total_cmp);
    if values.is_empty() { f64::INFINITY } else { stats::median(&values) }
}

/// The rounds in which both were measured.
fn paired(a: &CaseResult, b: &CaseResult) -> (Vec<f64>, Vec<f64>) {
    a.by_round.iter().zip(&b.by_round).filter_map(|(a, b)| (*a).zip(*b)).unzip()
}

fn twin_check(members: &[CaseResult], site: &str) -> Option<TwinCheck> {
    let here = || members.iter().filter(|case| case.site == site);
    let twin = here().find(|case| case.twin && case.status == Status::Ok && case.is_kept())?;
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
