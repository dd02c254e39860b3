//! Two runs compared, as a document: the answer, then a table per workload and place, then a
//! forest of ratios, then how far the answer may be trusted.

mod capacities;
mod forest;
mod gate;
mod tables;
mod trust;

use super::{Detail, labels, loads};
use crate::{Block, Document, Section, Table, Text, Unit, Verdict, VerdictKind, units};
use analysis::Site;
use analysis::compare::{CaseChange, Change, Difference, RunComparison};
use model::distinct::distinct;
use model::factor;
use model::load::Load;
use model::total::Total;
use store::Concurrent;

/// Differences between machines that are listed before the rest is counted.
const LISTED: usize = 12;

/// What to do where others disturbed every round.
const QUIETER: &str = "So no case is called faster, slower or equivalent. `ipcmark doctor` says what disturbs: end \
     it, and run both again.";

/// Writes up a comparison.
pub fn comparison(found: &RunComparison, detail: Detail) -> Document {
    let mut document = Document::new(format!("{} against {}", name(found, 'B'), name(found, 'A')));
    let what =
        if found.capacities.is_empty() { ": time per operation of B over that of A" } else { "" };
    let pairs = match found.paired {
        true => "Every ratio is one of launches that shared a round.",
        false => "Launches of two runs are not paired.",
    };
    document.subtitle = format!("A is the baseline{what}. {pairs}");
    document.meta = ['A', 'B'].map(|side| (side.to_string(), described(found, side))).to_vec();
    let answer = Section::new("answer", "Answer").with(verdict(found));
    let answer = answer.with_all(gate::blocks(found)).with_all(unknown_rounds(found));
    document.sections.push(answer.with_all(differences(found)));
    if !(found.differences.is_empty() || found.forced) {
        return document; // no case can be compared
    }
    let title = if found.capacities.is_empty() { "Cases" } else { "Capacities" };
    let cases = Section::new("cases", title).with_all(tables::blocks(found, detail));
    document.sections.extend(cases.with_all(capacities::blocks(found)).unless_empty());
    if detail == Detail::Full {
        let figures = Section::new("figures", "Ratios").with_all(forest::figures(found));
        document.sections.extend(figures.unless_empty());
    }
    document.sections.push(trust::section(found));
    document
}

/// Said beside the verdict where nobody knows of rounds whether others disturbed them.
fn unknown_rounds(found: &RunComparison) -> Option<Block> {
    let sides = [("A", &found.a), ("B", &found.b)].into_iter();
    let told: Vec<String> = sides
        .filter(|(_, run)| run.unknown_rounds > 0)
        .map(|(side, run)| {
            let rounds = units::counted(run.rounds, "round");
            format!("{} of {rounds} of {side}", run.unknown_rounds)
        })
        .collect();
    let head = "Unknown whether others disturbed ";
    let why = ": what would tell can't be read there, as `ipcmark doctor` shows.";
    (!told.is_empty()).then(|| Block::warning(format!("{head}{}{why}", labels::list(&told))))
}

fn name(found: &RunComparison, side: char) -> String {
    let run = if side == 'A' { &found.a } else { &found.b };
    match &run.label {
        Some(label) => label.clone(),
        None if run.given.contains('/') || run.given.ends_with(".json") => run.given.clone(),
        None => format!("run {}", run.run),
    }
}

fn described(found: &RunComparison, side: char) -> String {
    let run = if side == 'A' { &found.a } else { &found.b };
    if found.paired {
        let name = name(found, side);
        let called = if name == side.to_string() { String::new() } else { name + ": " };
        return called + &run.given;
    }
    let cut = if run.status == "complete" { "" } else { ", not finished" };
    let (name, number) = (name(found, side), format!("run {}", run.run));
    let known = if name == number { name } else { format!("{name} ({number})") };
    format!("{known}, {}{cut}", run.started)
}

/// Cases that count: controls show the harness.
fn counted(found: &RunComparison) -> impl Iterator<Item = &CaseChange> {
    found.cases.iter().filter(|case| !case.control)
}

fn with(found: &RunComparison, verdict: Change) -> Vec<&CaseChange> {
    counted(found).filter(|case| case.verdict == verdict).collect()
}

fn verdict(found: &RunComparison) -> Verdict {
    let comparable = found.differences.is_empty() || found.forced;
    if comparable && !found.capacities.is_empty() {
        return capacities::verdict(found);
    }
    let all = counted(found).count();
    let compared = all - with(found, Change::Incomparable).len();
    if compared == 0 {
        let why = match found.differences.as_slice() {
            [] if found.paired => "no case was measured under both arms".to_string(),
            [] => "no case was measured in both runs in the same way".to_string(),
            some => format!("the runs differ in {}", fields(some)),
        };
        let headline = Text::new().strong("Nothing can be compared: ").plain(why + ".");
        return Verdict::new(VerdictKind::Unknown, headline, remedy(found));
    }
    let margin = percent(found.margin);
    let many = |change: Change| with(found, change).len();
    let parts: Vec<String> = [
        (Change::Slower, "slower".to_string()),
        (Change::Faster, "faster".into()),
        (Change::Equivalent, format!("equivalent within {margin}")),
        (Change::Inconclusive, "inconclusive".into()),
        (Change::Incomparable, "incomparable".into()),
    ]
    .into_iter()
    .filter(|(change, _)| many(*change) > 0)
    .map(|(change, word)| format!("{} {word}", many(change)))
    .collect();
    let cases = format!("Of {}", units::counted(all as u64, "case"));
    let disturbed: Vec<&CaseChange> =
        counted(found).filter(|case| case.every_round_disturbed).collect();
    let (headline, detail) = match disturbed.as_slice() {
        [first, ..] if disturbed.len() == compared => {
            let why = first.reason.as_deref().unwrap_or_default();
            let head = format!("Undecided: {why}.");
            (Text::new().strong(head), QUIETER.into())
        }
        some => {
            let head = Text::new().strong(format!("{cases}: {}.", labels::list(&parts)));
            let mut detail = extremes(found);
            let alike = [Change::Slower, Change::Faster].map(many).contains(&compared);
            if alike && !found.paired {
                detail = detail
                    .plain(" Every case moved the same way, as where the machine itself did.");
            }
            if !some.is_empty() {
                let many = units::counted(some.len() as u64, "case");
                detail = detail.plain(format!(" Others disturbed every round of {many}."));
            }
            (head, detail)
        }
    };
    let kind = match () {
        _ if many(Change::Slower) > 0 => VerdictKind::Bad,
        _ if many(Change::Faster) > 0 => VerdictKind::Good,
        _ if many(Change::Equivalent) == all => VerdictKind::Neutral,
        _ => VerdictKind::Unknown,
    };
    Verdict::new(kind, headline, detail)
}

fn remedy(found: &RunComparison) -> &'static str {
    if found.differences.is_empty() {
        "The reasons are given under the tables."
    } else {
        "--force compares them anyway: a change may then come from any of these."
    }
}

/// The farthest case each way, and the correction.
fn extremes(found: &RunComparison) -> Text {
    let mut text = Text::new();
    for (change, word) in [(Change::Slower, "Slowest: "), (Change::Faster, "Fastest: ")] {
        let mut cases = with(found, change);
        cases.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        if let Some(case) = cases.first() {
            text = text.plain(word).code(case_name(case)).plain(format!(", {}. ", effect(case)));
        }
    }
    let tests = counted(found).filter(|case| case.p_holm.is_some()).count();
    match tests {
        0 => text.plain("No case has enough launches for a test."),
        tests => {
            let test = match found.paired {
                true => "Sign tests of the ratios by round",
                false => "Exact Mann–Whitney tests of the launch medians",
            };
            let cases = units::counted(tests as u64, "case");
            text.plain(format!("{test}, Holm-corrected over {cases}."))
        }
    }
}

fn distance(case: &CaseChange) -> f64 {
    case.ratio.map_or(0.0, |ratio| ratio.ln().abs())
}

fn fields(differences: &[Difference]) -> String {
    let names = differences.iter().flat_map(|difference| difference.field.split(':').next());
    labels::list(&distinct(names.map(String::from)))
}

/// What differs between the machines, field by field.
fn differences(found: &RunComparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    if found.forced {
        blocks.push(Block::warning(
            "Compared by --force: the runs differ in machine, program or settings, and a change may \
             come from any of these.",
        ));
    }
    let all = &found.differences;
    let more = all.len().saturating_sub(LISTED);
    let more = (more > 0).then(|| format!("{more} more: --format json holds them all."));
    let table =
        Table::of_each("Where the machines or programs differ", &all[..all.len().min(LISTED)])
            .words("field", 0, |difference| difference.field.as_str())
            .words("A", 0, |difference| difference.a.as_str())
            .words("B", 0, |difference| difference.b.as_str())
            .table();
    blocks.extend(table.notes(more).unless_empty().map(Block::from));
    blocks
}

/// What two sides of a case differ in; None where in nothing.
fn differing(differences: &[Difference]) -> Option<String> {
    let one = |Difference { field, a, b }: &Difference| format!("{field} is {a} in A, {b} in B");
    let all: Vec<String> = differences.iter().map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

fn unit(case: &CaseChange) -> Unit {
    case.metric.unit
}

fn short_name(case: &CaseChange) -> String {
    let size = labels::size_after(" ", case.message_bytes);
    format!("{}{}{size}{}", case.variant, between(case), conditions(case))
}

/// ` at 10.0 k/s, 4 connections by epoll`, `, 16M a transfer`, `, bytes written`.
fn conditions(case: &CaseChange) -> String {
    let rate = case.load.filter(Load::has_rate);
    let rate = rate.map(|rate| format!(" at {}", Unit::PerSecond.format(rate.per_second as f64)));
    let beside = case.load.map(loads::beside_rate).unwrap_or_default();
    let total = case.total.filter(|total| *total != Total::Long);
    let total = total.map(|total| format!(", {total} a transfer")).unwrap_or_default();
    let plain = factor::conditions(&case.case);
    format!("{}{total}{beside}{plain}", rate.unwrap_or_default())
}

/// The route, ` (peer)`; of a fleet, the nodes: ` n1`, ` n1–n2`, ` n1–n2 (all pairs)`.
fn between(case: &CaseChange) -> String {
    // Who the two are says more than that there are two.
    if case.nodes.is_empty() {
        let is_here = case.route.is_local();
        return if is_here { String::new() } else { format!(" ({})", case.route) };
    }
    let pairs = if case.concurrent == Some(Concurrent::All) { " (all pairs)" } else { "" };
    format!(" {}{pairs}", case.nodes.join("–"))
}

/// `pipe 64 B, one CPU`; the workload is said where it isn't a round trip.
fn case_name(case: &CaseChange) -> String {
    let (what, place) = (labels::qualifier(&case.metric), labels::place_of(&Site::of(case)));
    format!("{}{what}, {place}", short_name(case))
}

/// `+5.1 % [+4.0, +6.2]`, `+3 % [−11, +51]`; a ratio where it is far from 1.
fn effect(case: &CaseChange) -> String {
    let ends = case.low.zip(case.high);
    labels::or_dash(case.ratio.zip(ends).map(|(ratio, (low, high))| change(ratio, low, high)))
}

pub(super) fn change(ratio: f64, low: f64, high: f64) -> String {
    if !(0.5..2.0).contains(&ratio) {
        return Unit::Ratio.interval(ratio, low, high);
    }
    let decimals = match high - low {
        ..0.002 => 2,
        ..0.1 => 1,
        _ => 0,
    };
    let signed = |ratio: f64| {
        let text = format!("{:+.decimals$}", 100.0 * (ratio - 1.0));
        // What rounds to nothing has no sign.
        match text.trim_matches(['+', '-', '0', '.']) {
            "" => text[1..].to_string(),
            _ => text.replace('-', "−"),
        }
    };
    format!("{} % [{}, {}]", signed(ratio), signed(low), signed(high))
}

/// `2 %`, `0.5 %`, `12 %`.
fn percent(share: f64) -> String {
    let hundred = 100.0 * share;
    let text = if hundred < 9.95 { format!("{hundred:.1}") } else { format!("{hundred:.0}") };
    format!("{} %", text.trim_end_matches(".0"))
}
