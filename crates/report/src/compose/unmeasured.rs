//! What was asked for and is missing, on a screen: launches that failed, cases that had no time, and cases that can't be
//! measured here; and, above every answer, launches that the time limit cut.

use std::collections::BTreeSet;

use super::{failures, labels};
use crate::{Block, Text, units};
use analysis::{Capacity, CaseResult, GroupVerdict, Judged, Status};
use model::distinct::distinct;
use store::{Closed, RunStatus};

/// Lines on what its user named.
const NAMED: usize = 6;
/// Lines on mechanisms that nobody named and of which nothing was measured.
const UNNAMED: usize = 2;
/// Lines on launches that failed.
const FAILED: usize = 2;

/// A line for each reason.
pub fn blocks(judged: &Judged) -> Vec<Block> {
    let mut blocks =
        first(failures::of_cases(judged), FAILED, ["more line", " on failures"], judged);
    blocks.extend(no_time(judged));
    blocks.extend(absent(judged));
    blocks
}

/// The first of some lines, and how many more there are.
fn first(mut lines: Vec<Block>, most: usize, [noun, of]: [&str; 2], judged: &Judged) -> Vec<Block> {
    let more = lines.len().saturating_sub(most);
    if more > 1 {
        lines.truncate(most);
        let many = units::counted(more as u64, noun);
        lines.push(Block::warning(format!("{many}{of}: `ipcmark report {} -v`", judged.run.id)));
    }
    lines
}

/// Cases that the run ended before: nothing of them failed.
pub fn no_time(judged: &Judged) -> Option<Block> {
    let cases: Vec<&CaseResult> =
        judged.results.iter().filter(|case| case.had_no_time() && !case.twin).collect();
    if cases.is_empty() {
        return None;
    }
    let is_more = judged.results.iter().any(|case| case.launches > 0);
    let many = units::counted(cases.len() as u64, if is_more { "more case" } else { "case" });
    let names = distinct(cases.iter().map(|case| case.variant.clone()));
    let text = labels::few_codes(Text::new().plain(format!("{many} had no time (")), &names);
    Some(Block::warning(match judged.run.status {
        RunStatus::Complete => text.plain("): give a longer --budget"),
        _ => text.plain(format!("): `ipcmark run --resume {}` goes on", judged.run.id)),
    }))
}

/// That the time limit cut launches that were asked for, or are usual.
pub fn fewer_launches(judged: &Judged) -> Option<Block> {
    let asked = judged.run.request.stopping.launches?;
    let cut = |closed| closed == Some(Closed::Budget);
    // Of each comparison; a search for rates has none, but capacities.
    let of_group = |group: &GroupVerdict| (group.rounds, cut(group.closed));
    let ended = judged.run.groups.iter().any(|group| cut(group.closed));
    let of_search = |capacity: &&Capacity| capacity.status == Status::Ok;
    let searches = judged.capacity.iter().filter(of_search);
    let all: Vec<(u64, bool)> = match judged.groups.as_slice() {
        [] => searches.map(|search| (search.rounds() as u64, ended)).collect(),
        groups => groups.iter().map(of_group).collect(),
    };
    let is_cut = |pair: &&(u64, bool)| pair.1 && pair.0 < asked;
    let rounds: Vec<u64> = all.iter().filter(is_cut).map(|pair| pair.0).collect();
    let (least, most) = (rounds.iter().min()?, rounds.iter().max()?);
    let got = match most {
        most if most == least => units::counted(*most, "launch"),
        most => format!("{least} to {}", units::counted(*most, "launch")),
    };
    let noun = if judged.groups.is_empty() { "searches" } else { "comparisons" };
    let of = match all.len() {
        all if all == rounds.len() => "each case".to_string(),
        all => format!("the cases of {} of {all} {noun}", rounds.len()),
    };
    let (planned, were) = (units::counted(asked, "launch"), units::were(asked));
    Some(Block::warning(format!(
        "{planned} of each case {were} planned: the time limit left {got} of {of}; give a longer --budget"
    )))
}

/// What can't be measured, and why: first what its user named, then mechanisms of which nothing was measured.
fn absent(judged: &Judged) -> Vec<Block> {
    let named = judged.asked_in_vain();
    let is_named = |case: &CaseResult| named.iter().any(|other| std::ptr::eq(*other, case));
    let measured: BTreeSet<&str> = judged
        .results
        .iter()
        .filter(|case| !case.is_absent())
        .map(|case| case.variant.as_str())
        .collect();
    let unnamed: Vec<&CaseResult> = judged
        .results
        .iter()
        .filter(|case| !measured.contains(case.variant.as_str()) && !is_named(case))
        .filter(|case| !named.iter().any(|other| other.variant == case.variant))
        .collect();
    let mut blocks = first(lines(judged, &named), NAMED, ["more reason", ""], judged);
    blocks.extend(first(lines(judged, &unnamed), UNNAMED, ["more reason", ""], judged));
    blocks
}

/// A line for each place and reason.
fn lines(judged: &Judged, cases: &[&CaseResult]) -> Vec<Block> {
    let said = cases.iter().map(|case| {
        let reason = case.reason.as_deref().unwrap_or_default();
        let why = labels::without_name(reason, &case.variant);
        let bound = why.strip_prefix("carries ").filter(|rest| rest.starts_with("at most"));
        ((levels(judged, case), bound.unwrap_or(why)), case.variant.clone())
    });
    let reasons = labels::by_key(distinct(said));
    reasons.iter().map(|((at, why), names)| line(at, names, why)).collect()
}

/// `Not measured at 64 KiB: sysv-queue and posix-queue: at most 8,192 bytes a message here`.
pub fn line(at: &str, names: &[String], why: &str) -> Block {
    let text = labels::few_codes(Text::new().plain(format!("Not measured{at}: ")), names);
    Block::warning(text.plain(format!(": {why}")))
}

/// The fewest levels by which its mechanism's absent cases are told from those that were measured: nothing where none
/// was, ` at 64 KiB`, ` on one CPU`, or both.
fn levels(judged: &Judged, case: &CaseResult) -> String {
    let own: Vec<&CaseResult> = judged
        .results
        .iter()
        .filter(|result| result.variant == case.variant && !result.is_absent() && !result.twin)
        .collect();
    let same_size = |other: &&CaseResult| other.message_bytes == case.message_bytes;
    let same_site = |other: &&CaseResult| other.site == case.site;
    let size = case.message_bytes.map(|bytes| format!(" at {}", units::size(bytes)));
    let place = match labels::place(&case.site) {
        free if free.starts_with("placed") => format!(" {free}"),
        place => format!(" on {place}"),
    };
    if own.is_empty() {
        String::new()
    } else if !own.iter().any(|other| other.workload == case.workload) {
        format!(" in {}", case.workload.name())
    } else if !own.iter().any(same_size) {
        size.unwrap_or_default()
    } else if !own.iter().any(same_site) {
        place
    } else {
        size.unwrap_or_default() + &place
    }
}
