//! A run in one screen: the best of each question, by how much, how precise that is, on which machine, and what
//! to do next.

use std::collections::BTreeSet;

use super::{energy, labels, rates, unmeasured};
use crate::{Block, Emphasis, Row, Section, Table, Text, Verdict, VerdictKind, units};
use analysis::{Carries, CaseResult, GroupVerdict, Judged, Standing};
use store::Closed;

/// Lines of the table's rows, headings of its questions counted, and of the facts below it: with what surrounds
/// them, 40 lines.
const ROWS: usize = 27;
/// So many there are also where others take the screen: two questions with a row or two each.
const LEAST_ROWS: usize = 6;
/// Warnings of the run that are shown, the first lines of each.
const WARNED: usize = 2;
/// Letters of a line beside the name of a fact, on 80 columns.
const FACT_LETTERS: usize = 69;
/// The name of the line on what to do next.
const NEXT: &str = "next";
/// The order of placements; what is not among them, such as a pair of CPUs, comes first.
const PLACES: [&str; 6] =
    ["same-cpu", "smt-sibling", "same-llc", "cross-llc", "cross-node", "free"];

/// The answer, and what is said of it, where so many lines of the screen are taken by something `beside` it.
pub fn section(judged: &Judged, beside: usize) -> Section {
    let mut section = Section::new("answer", "The fastest here");
    let groups: Vec<&GroupVerdict> = judged.groups.iter().filter(|it| !it.metric.paced).collect();
    section.blocks.extend(above(judged, &groups));
    let facts = closing(judged);
    let lines = |text: &str| text.chars().count().div_ceil(FACT_LETTERS);
    let tall = |block: &Block| match block {
        Block::Warning(text) => lines(&text.to_plain()),
        Block::Verdict(it) => lines(&it.headline.to_plain()) + lines(&it.detail.to_plain()),
        _ => 1,
    };
    let above = section.blocks.iter().map(tall).sum::<usize>();
    let taken = beside + above + facts.iter().map(|it| lines(&it.1)).sum::<usize>();
    section
        .blocks
        .extend(table(judged, ROWS.saturating_sub(taken).max(LEAST_ROWS)).map(Block::from));
    section.blocks.push(Block::Facts(facts));
    section
}

/// What stands above an answer: what must be known before, why no best is named of some `groups`, what is missing.
pub fn above(judged: &Judged, groups: &[&GroupVerdict]) -> Vec<Block> {
    let mut blocks = super::cautions(judged);
    blocks.extend(undecided(groups).map(Block::from));
    blocks.extend(unmeasured::blocks(judged));
    blocks
}

/// The same for a page, which has all results below it: without cautions and without what to do next.
pub fn page(judged: &Judged, rows: usize) -> Vec<Block> {
    let groups: Vec<&GroupVerdict> = judged.groups.iter().collect();
    let mut blocks: Vec<Block> = undecided(&groups).map(Block::from).collect();
    blocks.extend(listed(judged, rows, " below").map(Block::from));
    blocks.extend(rates::blocks(judged, rows));
    if !blocks.is_empty() {
        let facts = closing(judged).into_iter().filter(|it| it.0 != NEXT);
        blocks.push(Block::Facts(facts.collect()));
    }
    blocks
}

/// The best of each question with what follows it, in so many rows; None where nothing was measured.
pub fn table(judged: &Judged, rows: usize) -> Option<Table> {
    listed(judged, rows, &format!(": `ipcmark report {} -v`", judged.run.id))
}

/// The same, and where the `rest` stands.
fn listed(judged: &Judged, rows: usize, rest: &str) -> Option<Table> {
    let questions = questions(judged);
    (!questions.is_empty()).then(|| drawn(judged, &questions, rows, rest))
}

/// The same workload, size and workers, wherever: the groups of which differ in placement.
struct Question<'a> {
    head: String,
    groups: Vec<&'a GroupVerdict>,
}

/// In the order of the request, wake-ups without bytes last.
fn questions(judged: &Judged) -> Vec<Question<'_>> {
    let mut questions: Vec<Question> = Vec::new();
    let by_median = |it: &&GroupVerdict| !it.standings.is_empty() && !it.metric.paced;
    for group in judged.groups.iter().filter(by_median) {
        let head = head(judged, group);
        match questions.iter_mut().find(|it| it.head == head) {
            Some(question) => question.groups.push(group),
            None => questions.push(Question { head, groups: vec![group] }),
        }
    }
    for question in &mut questions {
        question.groups.sort_by_key(|it| PLACES.iter().position(|place| *place == it.site));
    }
    questions.sort_by_key(|it| {
        let first = it.groups[0];
        first.message_bytes.is_none() && !first.metric.is_set_up()
    });
    questions
}

/// `Round trip, 64 B`; `Round trip of a wake-up, no bytes`.
fn head(judged: &Judged, group: &GroupVerdict) -> String {
    let title = &group.metric.title;
    let wakes = |it: &Standing| judged.results[it.result].carries == Carries::Signal;
    let what = match group.message_bytes {
        Some(size) if group.metric.is_transfer() => {
            format!("{title}, messages of {}", units::size(size))
        }
        Some(size) => format!("{title}, {}", units::size(size)),
        None if group.metric.is_set_up() && group.standings.iter().all(wakes) => {
            format!("{title} of what wakes alone")
        }
        None if group.metric.is_set_up() || group.metric.is_transfer() => title.to_string(),
        None => format!("{title} of a wake-up, no bytes"),
    };
    format!("{what}{}{}", labels::conditions(&group.asked), labels::threads(&group.workers))
}

fn drawn(judged: &Judged, questions: &[Question], rows: usize, elsewhere: &str) -> Table {
    let mut table = Table::new("").words([("", 0), ("mechanism", 0)]).numbers([
        ("median", 0),
        ("slower than best", 0),
        ("CPU time", 0),
    ]);
    // Each that is shown has a heading, and a row at least.
    let (asked, rest) = questions.split_at(questions.len().min(rows / 2));
    let room = rows.saturating_sub(asked.len());
    let groups: Vec<&GroupVerdict> =
        asked.iter().flat_map(|it| it.groups.iter().copied()).collect();
    let mut shares = shares(&groups, room).into_iter();
    let mut shown: Vec<&CaseResult> = Vec::new();
    let (mut left, mut cut) = (room, rest.iter().map(|it| it.groups.len()).sum());
    for question in asked {
        if left == 0 {
            cut += question.groups.len();
            continue;
        }
        table.rows.push(Row::heading(Text::new().strong(&question.head)));
        for group in &question.groups {
            let rows = chosen(judged, group, shares.next().unwrap_or(0).min(left));
            cut += usize::from(rows.is_empty());
            left -= rows.len();
            for (nth, standing) in rows.iter().enumerate() {
                let place = if nth == 0 { place(judged, group) } else { String::new() };
                let case = &judged.results[standing.result];
                shown.push(case);
                let row = Row::new([
                    Text::new().muted(format!("  {place}")),
                    Text::new().code(&case.variant),
                    labels::short_value(case).into(),
                    slower(group, standing),
                    price(case).into(),
                ]);
                let is_best = standing.among_best && group.names_the_best();
                table.rows.push(row.emphasis(if is_best {
                    Emphasis::Best
                } else {
                    Emphasis::Normal
                }));
            }
        }
    }
    table.notes.extend(notes(&shown, questions, cut, elsewhere));
    table
}

/// How many rows each group gets, in their order: one at least, and what is left over goes round
/// among those that carry bytes first.
pub fn shares(groups: &[&GroupVerdict], room: usize) -> Vec<usize> {
    let mut shares = vec![1; groups.len()];
    let mut left = room.saturating_sub(groups.len());
    for bytes in [true, false] {
        while left > 0 {
            let takes = |at: &usize| {
                groups[*at].message_bytes.is_some() == bytes
                    && shares[*at] < groups[*at].standings.len()
            };
            let wanting: Vec<usize> = (0..groups.len()).filter(takes).collect();
            if wanting.is_empty() {
                break;
            }
            for at in wanting.into_iter().take(left) {
                shares[at] += 1;
                left -= 1;
            }
        }
    }
    shares
}

/// Why some questions, or all, have no firm answer: others disturbed every round, or launches are too few.
pub fn undecided(groups: &[&GroupVerdict]) -> impl Iterator<Item = Verdict> {
    let count = |is: fn(&GroupVerdict) -> bool| groups.iter().filter(|it| is(it)).count();
    let (disturbed, few) =
        (count(GroupVerdict::is_disturbed), count(GroupVerdict::has_too_few_launches));
    let contests = count(|it| it.standings.len() > 1);
    let therefore = match contests {
        _ if groups.iter().any(|it| it.metric.paced) => {
            "what is slow, or not served, may be their doing"
        }
        0 => "what is slow may be their doing",
        _ => "no best is named",
    };
    let of = match contests {
        all if all == few => String::new(),
        all => format!(" in {few} of {}", units::counted(all as u64, "comparison")),
    };
    let head = format!("Too few launches to rank{of}: sorted by the median.");
    let remedy = "Give a longer --budget, or more --launches.";
    let too_few =
        (few > 0).then(|| Verdict::new(VerdictKind::Unknown, Text::new().strong(head), remedy));
    let disturbed = labels::disturbed((disturbed, groups.len()), "question", therefore);
    disturbed.into_iter().chain(too_few)
}

/// The best, then those that follow; the best that blocks is among them.
fn chosen<'a>(judged: &Judged, group: &'a GroupVerdict, most: usize) -> Vec<&'a Standing> {
    let mut order: Vec<&Standing> = group.standings.iter().collect();
    order.sort_by_key(|it| !it.among_best);
    let blocking = order.iter().position(|it| !judged.results[it.result].spins);
    match blocking {
        Some(at) if at >= most && most > 1 => {
            let blocking = order.remove(at);
            order.insert(most - 1, blocking);
        }
        _ => {}
    }
    order.truncate(most);
    order
}

/// `best`, or by how much it is slower than the best, at least and at most.
fn slower(group: &GroupVerdict, standing: &Standing) -> Text {
    let alone = group.standings.iter().filter(|it| it.among_best).count() == 1;
    let left_out = standing.screened_out.map(|it| (it.low - 1.0, it.high - 1.0));
    let joint = standing.slower_than_best_at_least.zip(standing.slower_than_best_at_most);
    match joint.or(left_out) {
        _ if group.standings.len() < 2 => Text::default(),
        _ if !group.names_the_best() => Text::new().muted("–"),
        _ if standing.among_best && alone => Text::new().strong("best"),
        Some((least, most)) => span(least, most).into(),
        _ => Text::new().muted("–"),
    }
}

/// `7–11 %`, `3.1–3.4×`: shares of time, rounded outwards.
fn span(least: f64, most: f64) -> String {
    match most {
        0.0 => "0 %".into(),
        0.0..=1.0 => format!("{:.0}–{:.0} %", (100.0 * least).floor(), (100.0 * most).ceil()),
        ..10.0 => {
            let tenth = |share: f64, round: fn(f64) -> f64| round(10.0 * (1.0 + share)) / 10.0;
            format!("{:.1}–{:.1}×", tenth(least, f64::floor), tenth(most, f64::ceil))
        }
        _ => format!("{:.0}–{:.0}×", (1.0 + least).floor(), (1.0 + most).ceil()),
    }
}

fn price(case: &CaseResult) -> String {
    case.cpu_ns_per_operation.map_or("–".into(), |it| units::duration(it.total))
}

/// Where the workers run, in little room; where several kinds of two CPUs are there, which.
fn place(judged: &Judged, group: &GroupVerdict) -> String {
    const TWO: &[&str] = PLACES.split_at(1).1.split_at(4).0;
    let kinds: BTreeSet<&str> =
        judged.groups.iter().map(|it| it.site.as_str()).filter(|it| TWO.contains(it)).collect();
    match group.site.as_str() {
        "same-cpu" => "one CPU".into(),
        "free" => "free".into(),
        place if TWO.contains(&place) && kinds.len() == 1 => "two CPUs".into(),
        "smt-sibling" => "one core".into(),
        "same-llc" => "one cache".into(),
        "cross-llc" => "two caches".into(),
        "cross-node" => "two nodes".into(),
        _ => labels::place(&group.site),
    }
}

fn notes(shown: &[&CaseResult], questions: &[Question], cut: usize, elsewhere: &str) -> Vec<Text> {
    let mut notes = Vec::new();
    let more = questions
        .iter()
        .flat_map(|it| &it.groups)
        .map(|it| it.standings.len())
        .sum::<usize>()
        .saturating_sub(shown.len());
    if more > 0 || cut > 0 {
        let questions = match cut {
            0 => String::new(),
            cut => format!(", and {}", units::counted(cut as u64, "question")),
        };
        let results = units::counted(more as u64, "more result");
        notes.push(Text::new().muted(format!("{results}{questions}{elsewhere}.")));
    }
    let named = questions.iter().flat_map(|it| &it.groups).any(|it| it.names_the_best());
    if named {
        notes.push(Text::new().muted(
            "✓ best, or not separated from the best. ±: 95 % interval of a median. slower: 95 % interval, held by all \
             rows of a question together.",
        ));
    }
    if shown.iter().any(|it| it.screened_out) {
        notes.push(Text::new().muted("Of what screening left out: the range of four launches."));
    }
    let spinning: BTreeSet<&str> =
        shown.iter().filter(|it| it.spins).map(|it| it.variant.as_str()).collect();
    if !spinning.is_empty() {
        let names: Vec<String> = spinning.into_iter().map(Into::into).collect();
        let verb = if names.len() == 1 { "busy-waits" } else { "busy-wait" };
        notes.push(
            labels::few_codes(Text::new(), &names)
                .plain(format!(" {verb}: both CPUs are in use while nothing arrives.")),
        );
    }
    notes
}

/// What the run warned of, each in its first clause; the rounds that were disturbed are counted beside the machine.
fn warnings(judged: &Judged) -> Vec<String> {
    let all = judged.run.warnings.iter().filter(|it| !it.contains(" disturbed: "));
    let mut short: Vec<String> = all.map(|it| first_clause(it)).collect();
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
    let cut = end.iter().filter_map(|it| warning.find(it)).min().unwrap_or(warning.len());
    warning[..cut].to_string()
}

/// Precision, energy, machine, warnings, what next: a line each.
pub fn closing(judged: &Judged) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    lines.extend(precision(judged).map(|it| ("precision".into(), it)));
    lines.extend(energy::in_short(judged).map(|it| ("energy".into(), it)));
    lines.push(("machine".into(), machine(judged)));
    lines.extend(warnings(judged).into_iter().map(|it| ("warning".into(), it)));
    lines.push((NEXT.into(), next(judged)));
    lines
}

/// `reached by 33 of 95 results; the answer is sure for 6 of 8 questions`; None where none was asked.
fn precision(judged: &Judged) -> Option<String> {
    let standings = judged.groups.iter().flat_map(|it| &it.standings);
    let asked: Vec<bool> = standings
        .filter_map(|it| Some(judged.results[it.result].precision_reached?.reached))
        .collect();
    let (reached, all) = (asked.iter().filter(|it| **it).count(), asked.len() as u64);
    let words = format!("reached by {reached} of {}", units::counted(all, "result"));
    let contests = || judged.groups.iter().filter(|it| it.standings.len() > 1);
    let sure = contests().filter(|it| it.names_the_best()).count();
    let questions = units::counted(contests().count() as u64, "question");
    (all > 0).then(|| match contests().next() {
        Some(_) => format!("{words}; the answer is sure for {sure} of {questions}"),
        None => words,
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

/// What would narrow what stayed wide, and the command that shows every result.
fn next(judged: &Judged) -> String {
    let all = format!("`ipcmark report {} -v`: every result", judged.run.id);
    if judged.groups.iter().filter(|it| it.is_disturbed()).count() * 2 > judged.groups.len() {
        return format!("`ipcmark doctor`: what disturbs this machine; {all}");
    }
    let Some(times) = longer(judged) else { return all };
    match budget(judged, times).map(|it| store::with_budget(&judged.run.argv, &it)) {
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
    let cut = judged.groups.iter().filter(|it| it.closed == Some(Closed::Budget));
    let mut needed: Vec<f64> = cut
        .flat_map(|it| &it.standings)
        .filter_map(|it| judged.results[it.result].precision_reached)
        .map(|it| it.half_width.map_or(4.0, |half| (half / it.asked).powi(2)))
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
    let enough = MINUTES.into_iter().find(|it| *it as f64 >= minutes)?;
    Some(if enough == 120 { "2h".into() } else { format!("{enough}m") })
}
