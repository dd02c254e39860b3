//! What is best, by how much, how sure: one verdict per group, then what stayed open.

use super::{Detail, failures, labels, loads, open_loop, over_sessions, ratios, unmeasured};
use crate::{Block, Text, Unit, Verdict, VerdictKind, units};
use analysis::{CaseResult, GroupVerdict, Judged, Standing};
use store::Closed;

/// Cases with the widest intervals that a terminal names.
const WORST_NAMED: usize = 3;

pub fn blocks(judged: &Judged, detail: Detail) -> Vec<Block> {
    let mut blocks: Vec<Block> = judged
        .groups
        .iter()
        .filter(|group| {
            !group.standings.is_empty() || !open_loop::unranked(judged, group).is_empty()
        })
        .map(|group| Block::Verdict(verdict(judged, group)))
        .collect();
    blocks.extend(over_sessions::remarks(judged, detail));
    blocks.extend(open_cases(judged, detail));
    blocks.extend(failures::of_cases(judged));
    blocks.extend(unmeasured::no_time(judged));
    blocks
}

fn verdict(judged: &Judged, group: &GroupVerdict) -> Verdict {
    let head = Text::new().strong(format!("{}: ", labels::group(group)));
    let (Some(leader), _) = group.leaders() else {
        let headline = head.plain("nothing to compare");
        return Verdict::new(VerdictKind::Unknown, headline, not_ranked(judged, group));
    };
    if group.standings.len() == 1 {
        let value = ratios::headline(judged, group, leader);
        let headline = head.code(&leader.variant).plain(format!(", {value}"));
        let others = if group.is_disturbed() { "Others disturbed every round. " } else { "" };
        let detail = format!("Nothing to compare it with. {others}{}", not_ranked(judged, group));
        let kind = if group.is_disturbed() { VerdictKind::Unknown } else { VerdictKind::Neutral };
        return Verdict::new(kind, headline, detail.trim_end());
    }
    let headline = match undecided(group) {
        Some(why) => first_of(head.plain(format!("{why}; ")), judged, group),
        None => ending(head, judged, group),
    };
    Verdict::new(kind(group), headline, detail(judged, group))
}

/// Several that are not separated are a finding too; a group where nothing is separated is not, nor
/// one that was disturbed in every round.
fn kind(group: &GroupVerdict) -> VerdictKind {
    if group.names_the_best() { VerdictKind::Good } else { VerdictKind::Unknown }
}

/// Why nothing of it is ranked; None where it is.
fn undecided(group: &GroupVerdict) -> Option<&'static str> {
    if group.is_disturbed() {
        Some("undecided, others disturbed every round")
    } else if group.has_too_few_launches() {
        Some("too few launches to rank")
    } else {
        None
    }
}

/// What stands first where nothing is ranked: `smallest median: pipe, 5.62 µs.`
fn first_of(head: Text, judged: &Judged, group: &GroupVerdict) -> Text {
    let first = &group.standings[0];
    let case = &judged.results[first.result];
    let median = case.value.as_ref().map(|value| labels::unit(case).format(value.median));
    let value = match group.has_too_few_launches() {
        true => median.unwrap_or_default(),
        false => ratios::headline(judged, group, first),
    };
    let by = ratios::best_by(group, case);
    head.plain(format!("{by}: ")).code(&first.variant).plain(format!(", {value}."))
}

fn ending(head: Text, judged: &Judged, group: &GroupVerdict) -> Text {
    let best: Vec<&Standing> =
        group.standings.iter().filter(|standing| standing.among_best).collect();
    let leader = &judged.results[best[0].result];
    let mut text = match best.as_slice() {
        [one] => {
            let earlier = labels::earlier(leader).filter(|_| !group.by_ratio);
            let earlier = earlier.map_or(String::new(), |text| format!(" ({text})"));
            let value = ratios::headline(judged, group, one);
            head.code(&one.variant).plain(format!(", {value}{earlier}"))
        }
        several => not_separated(head, judged, group, several),
    };
    // Nobody waits while a mechanism is set up.
    if !group.metric.is_set_up() {
        let spins = |standing: &&Standing| judged.results[standing.result].spins;
        let spinning = best.iter().copied().filter(spins).map(|standing| standing.variant.clone());
        text = busy_waiting(text, best.len() == 1, &spinning.collect::<Vec<_>>());
        if leader.spins {
            text = best_blocking(text, judged, group);
        }
    }
    text.plain(".")
}

/// Which of the best use up two CPUs.
fn busy_waiting(text: Text, alone: bool, spinning: &[String]) -> Text {
    match spinning {
        [] => text,
        [_] if alone => text.plain(", and busy-waits (uses both CPUs)"),
        [one] => text.plain("; ").code(one).plain(" busy-waits (uses both CPUs)"),
        several => labels::few_codes(text.plain("; "), several).plain(" busy-wait (use both CPUs)"),
    }
}

fn best_blocking(text: Text, judged: &Judged, group: &GroupVerdict) -> Text {
    let blocking: Vec<&Standing> =
        group.standings.iter().filter(|standing| standing.among_best_sleeping).collect();
    match blocking.as_slice() {
        [] => text,
        [one] => {
            let value = ratios::headline(judged, group, one);
            text.plain("; best blocking: ").code(&one.variant).plain(format!(", {value}"))
        }
        several => not_separated(text.plain("; of the blocking ones, "), judged, group, several),
    }
}

/// `pipe and tcp are not separated; pipe has the smallest median, 4.12 µs [4.10, 4.15]`.
fn not_separated(head: Text, judged: &Judged, group: &GroupVerdict, all: &[&Standing]) -> Text {
    let names: Vec<String> = all.iter().map(|standing| standing.variant.clone()).collect();
    let value = ratios::headline(judged, group, all[0]);
    let best = ratios::best_by(group, &judged.results[all[0].result]);
    labels::few_codes(head, &names)
        .plain(" are not separated; ")
        .code(&names[0])
        .plain(format!(" has the {best}, {value}"))
}

fn detail(judged: &Judged, group: &GroupVerdict) -> Text {
    let mut text = match undecided(group) {
        Some(_) => Text::new(),
        None => against_reference(judged, group),
    };
    let best = group.standings.iter().filter(|standing| standing.among_best);
    let most = best
        .map(|standing| standing.slower_than_best_at_most)
        .try_fold(0.0, |most: f64, other| other.map(|value| most.max(value)));
    if let Some(most) = most.filter(|most| *most > 0.0) {
        text = text.plain(format!("Each that may be the best {}. ", at_most_slower(most)));
    }
    let unranked = not_ranked(judged, group);
    if !unranked.is_empty() {
        text = text.plain(format!("{unranked} "));
    }
    let closed = match group.closed {
        Some(Closed::Precise) => "; every interval as narrow as asked",
        Some(Closed::Budget) => "; stopped at the time limit",
        Some(Closed::Launches) => "",
        None => "; not finished",
    };
    let rounds = units::counted(group.rounds, "round");
    let mechanisms = units::counted(group.standings.len() as u64, "mechanism");
    text.plain(match undecided(group) {
        Some(_) if group.is_disturbed() => {
            format!("{rounds} of {mechanisms}, all disturbed{closed}.")
        }
        Some(_) => format!("{rounds} of {mechanisms}: more launches rank them{closed}."),
        None => format!("{rounds}, paired; 95 % for all of the {mechanisms} together{closed}."),
    })
}

/// `Not ranked: pipe can't serve 50.0 k/s here (13.1 k/s).`, or nothing.
fn not_ranked(judged: &Judged, group: &GroupVerdict) -> String {
    let cases = open_loop::unranked(judged, group);
    let each = cases.iter().filter_map(|case| Some(loads::told(&case.variant, case.rate?)));
    if cases.is_empty() {
        String::new()
    } else {
        format!("Not ranked: {}.", each.collect::<Vec<_>>().join("; "))
    }
}

/// The leader's ratio to the reference; nothing where the headline has it.
fn against_reference(judged: &Judged, group: &GroupVerdict) -> Text {
    let leader = group.leaders().0.filter(|_| !group.by_ratio);
    let Some((leader, times)) =
        leader.and_then(|leader| Some((leader, labels::times_reference(judged, group, leader)?)))
    else {
        return Text::new();
    };
    let text = Text::new().code(&leader.variant);
    // Medians and paired ratios may disagree on who is first where neither separates the two.
    match (leader.low, leader.high) {
        (Some(low), Some(high)) if low <= 1.0 && 1.0 <= high => {
            text.plain(format!(" is not separated from the reference ({times}). "))
        }
        _ => text.plain(format!(" takes {times} per operation. ")),
    }
}

/// `is at most 14 % slower than the best`; from twice on as a multiple. Rounded up: a bound doesn't get smaller by
/// being printed.
fn at_most_slower(share: f64) -> String {
    if share < 1.0 {
        format!("is at most {:.0} % slower than the best", (100.0 * share).ceil())
    } else {
        format!("takes at most {:.1}× the time of the best", (10.0 * (1.0 + share)).ceil() / 10.0)
    }
}

/// Cases whose interval is wider than asked: all of them, or their count and the worst.
fn open_cases(judged: &Judged, detail: Detail) -> Vec<Block> {
    let all: Vec<&CaseResult> =
        judged.groups.iter().flat_map(|group| open(judged, group)).collect();
    if all.is_empty() {
        return Vec::new();
    }
    let remedy = "More time (--budget) narrows intervals.";
    let asked = Text::new().strong("Precision not reached");
    if detail == Detail::Full {
        let lines = judged.groups.iter().filter_map(|group| {
            let names: Vec<String> =
                open(judged, group).map(|case| name_with_reason(judged, case)).collect();
            let head = format!("{}: ", labels::group(group));
            (!names.is_empty()).then(|| Text::new().strong(head).plain(names.join(", ")))
        });
        let asked = asked.strong(". ").plain(remedy);
        return vec![Block::paragraph(asked), Block::List(lines.collect())];
    }
    let ranked: usize = judged.groups.iter().map(|group| group.standings.len()).sum();
    let cases = units::counted(ranked as u64, "case");
    let counted = format!(": {} of {cases}; {}.", all.len(), worst(judged, &all));
    let rest = format!(
        " {remedy} `ipcmark report {} -vv` and the page (--html) name them all.",
        judged.run.id
    );
    vec![Block::paragraph(asked.plain(counted + &rest))]
}

/// The cases of a group whose precision was not reached.
fn open<'a>(
    judged: &'a Judged,
    group: &'a GroupVerdict,
) -> impl Iterator<Item = &'a CaseResult> + 'a {
    let cases = group.standings.iter().map(|standing| &judged.results[standing.result]);
    cases.filter(|case| case.precision_reached.is_some_and(|precision| !precision.reached))
}

/// The widest intervals by name, and how many have none: `the widest: pipe, 64 B, one CPU (4.3–6.3 µs)`.
fn worst(judged: &Judged, cases: &[&CaseResult]) -> String {
    let half =
        |case: &CaseResult| case.precision_reached.and_then(|precision| precision.half_width);
    let mut wide: Vec<(f64, &CaseResult)> =
        cases.iter().filter_map(|case| Some((half(case)?, *case))).collect();
    wide.sort_by(|a, b| b.0.total_cmp(&a.0));
    let named = |(_, case): &(f64, &CaseResult)| {
        Some(format!("{} ({})", labels::case(case), width(judged, case)?))
    };
    let widest: Vec<String> = wide.iter().take(WORST_NAMED).filter_map(named).collect();
    let few = cases.len() - wide.len();
    let mut parts = Vec::new();
    if !widest.is_empty() {
        parts.push(format!("the widest: {}", widest.join("; ")));
    }
    parts.extend((few > 0).then(|| format!("{few} with too few launches for an interval")));
    parts.join("; ")
}

/// The ends of its ratio where that is the headline, else of its median: `4.3–6.3 µs`.
fn width(judged: &Judged, case: &CaseResult) -> Option<String> {
    let by_ratio = ratios::standing(judged, case)
        .and_then(|(_, standing)| Some((Unit::Ratio, (standing.low?, standing.high?))));
    let by_value = || Some((labels::unit(case), case.value.as_ref()?.interval.ends()?));
    let (unit, (low, high)) = by_ratio.or_else(by_value)?;
    Some(unit.range(low, high))
}

fn name_with_reason(judged: &Judged, case: &CaseResult) -> String {
    match width(judged, case) {
        Some(width) => format!("{} {width}", case.variant),
        None => format!("{} (too few launches)", case.variant),
    }
}
