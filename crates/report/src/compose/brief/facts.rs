//! The facts below the answer: how precise it is, on which machine, in which noise, what was warned of, and what to do next.

use std::collections::BTreeSet;

use super::super::energy;
use crate::units;
use analysis::{Judged, Standing};
use store::{Closed, RunStatus};

/// Warnings of the run that are shown, the first lines of each.
const WARNED: usize = 2;
/// The name of the line on what to do next.
pub const NEXT: &str = "next";

/// What the run warned of, each in its first clause; the rounds that were disturbed are counted beside the machine.
fn warnings(judged: &Judged) -> Vec<String> {
    let all = judged.run.warnings.iter().filter(|warning| !warning.contains(" disturbed: "));
    let mut short: Vec<String> = all.map(|text| first_clause(text)).collect();
    let more = short.len().saturating_sub(WARNED);
    short.truncate(WARNED);
    if more > 0
        && let Some(last) = short.last_mut()
    {
        *last += &format!(" (and {})", units::counted(more as u64, "more warning"));
    }
    short
}

/// A warning without its example and its remedy, which `-v` shows.
fn first_clause(warning: &str) -> String {
    let end = [" (for example", "; ", ": let it", ": measure"];
    let cut = end.iter().filter_map(|text| warning.find(text)).min().unwrap_or(warning.len());
    warning[..cut].to_string()
}

/// Precision, energy, machine, warnings, what next: a line each.
pub fn closing(judged: &Judged) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    lines.extend(precision(judged).map(|precision| ("precision".into(), precision)));
    lines.extend(energy::in_short(judged).map(|text| ("energy".into(), text)));
    lines.push(("machine".into(), machine(judged)));
    lines.extend(noise(judged).map(|noise| ("noise".into(), noise)));
    lines.extend(warnings(judged).into_iter().map(|warning| ("warning".into(), warning)));
    lines.push((NEXT.into(), next(judged)));
    lines
}

/// `ratios ±2 %, times ±17 % in the middle (asked: 5 and 2); answered: 6 of 8 questions`; None where none was
/// asked.
fn precision(judged: &Judged) -> Option<String> {
    let standings = || judged.groups.iter().flat_map(|group| &group.standings);
    let precise = |standing: &Standing| judged.results[standing.result].precision_reached;
    standings().find_map(precise)?;
    let ends = |standing: &Standing| standing.low.zip(standing.high);
    let value =
        |standing: &Standing| judged.results[standing.result].value.as_ref()?.interval.ends();
    let middle = |ends: Vec<(f64, f64)>| {
        let half = ends.into_iter().map(|(low, high)| ((high / low).ln() / 2.0).exp_m1());
        let half = 100.0 * stats::median_of(half)?;
        Some(if half < 9.95 { format!("±{half:.1} %") } else { format!("±{half:.0} %") })
    };
    let ratios =
        middle(standings().filter_map(ends).collect()).map(|text| format!("ratios {text}"));
    let times =
        middle(standings().filter_map(value).collect()).map(|text| format!("medians {text}"));
    let widths: Vec<String> = ratios.into_iter().chain(times).collect();
    let widths = match widths.is_empty() {
        true => "too few launches for an interval".to_string(),
        false => format!("{} in the middle", widths.join(", ")),
    };
    let contests = || judged.groups.iter().filter(|group| group.standings.len() > 1);
    let answered = contests().filter(|contest| contest.names_the_best()).count();
    let questions = units::counted(contests().count() as u64, "question");
    Some(match contests().next() {
        Some(_) => format!("{widths}; answered: {answered} of {questions}"),
        None => widths,
    })
}

/// `a virtual machine; 3 of 84 rounds disturbed by others`.
fn machine(judged: &Judged) -> String {
    let rounds: u64 = judged.run.rounds.len() as u64;
    let (mut marked, mut unknown) = (0, 0);
    let mut groups = BTreeSet::new();
    for group in &judged.groups {
        if groups.insert(group.group) {
            marked += group.marked_rounds;
            unknown += group.unknown_rounds;
        }
    }
    let what = match judged.run.host.hypervisor.flag {
        Some(true) => "a virtual machine; ",
        _ => "",
    };
    let of = units::counted(rounds, "round");
    if rounds == 0 {
        return format!("{what}no round is recorded");
    }
    if unknown == 0 {
        return format!("{what}{marked} of {of} disturbed by others");
    }
    let mut checks: Vec<&str> = Vec::new();
    let named = judged.rounds.iter().filter_map(|round| round.unknown.as_deref());
    for check in named.flat_map(|checks| checks.split(", ")) {
        if !checks.contains(&check) {
            checks.push(check);
        }
    }
    let why = format!(
        "unknown whether others disturbed {unknown} of {of} ({} can't be read)",
        checks.join(", ")
    );
    match marked {
        0 => format!("{what}{why}"),
        some => format!("{what}others disturbed {some}, {why}"),
    }
}

/// `equal work took −4 to +44 % from round to round`: of all groups with several the round that was quickest, and the
/// slowest.
pub fn noise(judged: &Judged) -> Option<String> {
    let levels = judged.groups.iter().map(|group| group.round_levels.iter().flatten().copied());
    let levels = levels.filter(|rounds| rounds.clone().nth(1).is_some()).flatten();
    let ends = levels.fold(None, |ends: Option<(f64, f64)>, level| {
        Some(ends.map_or((level, level), |(low, high)| (low.min(level), high.max(level))))
    });
    let percent = |level: f64| format!("{:+.0}", 100.0 * (level - 1.0)).replace('-', "−");
    ends.map(|(low, high)| {
        format!("equal work took {} to {} % from round to round", percent(low), percent(high))
    })
}

/// What would narrow what stayed wide, and the command that shows every result.
fn next(judged: &Judged) -> String {
    let is_whole = judged.run.status == RunStatus::Complete;
    if is_whole && judged.results.iter().all(|case| case.launches == 0) {
        return "`ipcmark list`: what this machine offers".into();
    }
    let all = format!("`ipcmark report {} -v`: every result", judged.run.id);
    if judged.groups.iter().filter(|group| group.is_disturbed()).count() * 2 > judged.groups.len() {
        return format!("`ipcmark doctor`: what disturbs this machine; {all}");
    }
    let Some(times) = longer(judged) else { return all };
    match budget(judged, times).map(|budget| store::with_budget(&judged.run.argv, &budget)) {
        Some(again) => format!("`{again}` for the precision that was not reached; {all}"),
        None => format!(
            "no --budget up to 2h gives the precision asked in such an hour: measure fewer mechanisms, or at \
             another hour; {all}"
        ),
    }
}

/// How many times as long as this run enough of its cases would need for the precision that was asked, where time was what
/// they lacked: an interval narrows with the root of the time. None where they have it.
fn longer(judged: &Judged) -> Option<f64> {
    let cut = judged.groups.iter().filter(|group| group.closed == Some(Closed::Budget));
    let mut needed: Vec<f64> = cut
        .flat_map(|verdict| &verdict.standings)
        .filter_map(|standing| judged.results[standing.result].precision_reached)
        .map(|precision| precision.half_width.map_or(4.0, |half| (half / precision.asked).powi(2)))
        .collect();
    needed.sort_by(f64::total_cmp);
    let last = judged.run.request.stopping.enough_of(needed.len()).checked_sub(1)?;
    Some(needed[last]).filter(|times| *times > 1.0)
}

/// A budget of so many times what this run took, in round numbers; None where that is more than anybody waits for.
fn budget(judged: &Judged, times: f64) -> Option<String> {
    let took = judged.run.request.stopping.budget_ns?.max(judged.run.measuring_ns);
    let minutes = took as f64 * times / 60e9;
    const MINUTES: [u64; 9] = [2, 3, 5, 10, 15, 20, 30, 60, 120];
    let enough = MINUTES.into_iter().find(|minute| *minute as f64 >= minutes)?;
    Some(if enough == 120 { "2h".into() } else { format!("{enough}m") })
}
