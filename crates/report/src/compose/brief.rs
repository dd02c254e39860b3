//! A run in one screen: the best of each question, by how much, how precise that is, on which machine, and what
//! to do next.

mod facts;

use std::collections::BTreeSet;

use facts::NEXT;
pub use facts::{closing, noise};

use super::background::servers;
use super::{labels, signs, unmeasured};
use crate::{Block, Section, Table, Text, Unit, Verdict, VerdictKind, units};
use analysis::{CaseResult, Class, GroupVerdict, Judged, NEGLIGIBLE, Site, Standing};
use model::placement::Placement;

/// Lines of the table's rows, headings of its questions counted, and of the facts below it: with what surrounds
/// them, 40 lines.
const ROWS: usize = 27;
/// So many there are also where others take the screen: two questions with a row or two each.
const LEAST_ROWS: usize = 6;
/// Letters of a line beside the name of a fact, on 80 columns.
const FACT_LETTERS: usize = 69;
/// The order of placements; what is not among them, such as a pair of CPUs, comes first.
const PLACES: [Placement; 6] = [
    Placement::SameCpu,
    Placement::SmtSibling,
    Placement::SameLlc,
    Placement::CrossLlc,
    Placement::CrossNode,
    Placement::Free,
];

/// The answer, and what is said of it, where so many lines of the screen are taken by something `beside` it.
pub fn section(judged: &Judged, beside: usize) -> Section {
    let groups: Vec<&GroupVerdict> =
        judged.groups.iter().filter(|group| !group.metric.paced).collect();
    let above = above(judged, &groups);
    let facts = closing(judged);
    let lines = |text: &str| text.chars().count().div_ceil(FACT_LETTERS);
    let tall = |block: &Block| match block {
        Block::Warning(text) => lines(&text.to_plain()),
        Block::Verdict(it) => lines(&it.headline.to_plain()) + lines(&it.detail.to_plain()),
        _ => 1,
    };
    let taken = above.iter().map(tall).chain(facts.iter().map(|fact| lines(&fact.1)));
    let rows = ROWS.saturating_sub(beside + taken.sum::<usize>()).max(LEAST_ROWS);
    Section::new("answer", "The fastest here")
        .with_all(above)
        .with_all(table(judged, rows))
        .with(Block::Facts(facts))
}

/// What stands above an answer: what must be known before, why no best is named of some `groups`, what is missing.
pub fn above(judged: &Judged, groups: &[&GroupVerdict]) -> Vec<Block> {
    let mut blocks = super::cautions(judged);
    blocks.extend(undecided(groups).map(Block::from));
    blocks.extend(unmeasured::blocks(judged));
    blocks
}

/// The same for a page, which has all results below it: without cautions and without what to do next.
/// `rates` is what there is of open loops.
pub fn page(judged: &Judged, rows: usize, rates: Vec<Block>) -> Vec<Block> {
    let groups: Vec<&GroupVerdict> = judged.groups.iter().collect();
    let mut blocks: Vec<Block> = undecided(&groups).map(Block::from).collect();
    blocks.extend(listed(judged, rows, " below").map(Block::from));
    blocks.extend(rates);
    if !blocks.is_empty() {
        let facts = closing(judged).into_iter().filter(|pair| pair.0 != NEXT);
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
    let by_median = |group: &&GroupVerdict| !group.standings.is_empty() && !group.metric.paced;
    let groups = judged.groups.iter().filter(by_median);
    let place = |group: &&GroupVerdict| PLACES.iter().position(|place| *place == group.placement);
    let question = |(head, mut groups): (String, Vec<_>)| {
        groups.sort_by_key(place);
        Question { head, groups }
    };
    let questions = labels::by_key(groups.map(|group| (head(group), group))).into_iter();
    let mut questions: Vec<Question> = questions.map(question).collect();
    questions.sort_by_key(|question| {
        let first = question.groups[0];
        first.message_bytes.is_none() && !first.metric.is_set_up()
    });
    questions
}

/// `Round trip, 64 B`; `Round trip of a wake-up, no bytes`.
fn head(group: &GroupVerdict) -> String {
    let title = &group.metric.title;
    let what = match group.message_bytes {
        Some(size) if group.metric.is_transfer() => {
            format!("{title}, messages of {}", units::size(size))
        }
        Some(size) => format!("{title}, {}", units::size(size)),
        None if group.metric.is_set_up() && group.class == Class::Signal => {
            format!("{title} of what wakes alone")
        }
        None if group.metric.is_set_up() || group.metric.is_transfer() => title.to_string(),
        None => format!("{title} of a wake-up, no bytes"),
    };
    let class = group.class.words();
    format!("{what}{class}{}{}", labels::conditions(&group.case), labels::threads(group.workers))
}

fn drawn(judged: &Judged, questions: &[Question], rows: usize, elsewhere: &str) -> Table {
    // Each that is shown has a heading, and a row at least.
    let (asked, rest) = questions.split_at(questions.len().min(rows / 2));
    let room = rows.saturating_sub(asked.len());
    let groups: Vec<&GroupVerdict> =
        asked.iter().flat_map(|question| question.groups.iter().copied()).collect();
    let mut shares = shares(&groups, room).into_iter();
    let mut shown: Vec<Shown> = Vec::new();
    let (mut left, mut cut) = (room, rest.iter().map(|question| question.groups.len()).sum());
    for question in asked {
        if left == 0 {
            cut += question.groups.len();
            continue;
        }
        for group in &question.groups {
            let rows = chosen(judged, group, shares.next().unwrap_or(0).min(left));
            cut += usize::from(rows.is_empty());
            left -= rows.len();
            shown.extend(rows.into_iter().enumerate().map(|(nth, standing)| Shown {
                question: &question.head,
                place: if nth == 0 { place(judged, group) } else { String::new() },
                group,
                standing,
                case: &judged.results[standing.result],
            }));
        }
    }
    let table = Table::of_each("", &shown)
        .words("", 0, |row| Text::new().muted(format!("  {}", row.place)))
        .words("mechanism", 0, |row| Text::new().code(&row.case.variant))
        .numbers("median, 95 %", 0, |row| labels::ends(row.case))
        .numbers("× best (95 %)", 0, |row| of_best(row.group, row.standing))
        .numbers("CPU time", 0, |row| {
            row.case.cpu_ns_per_operation.map(|cpu| units::duration(cpu.total))
        })
        .emphasis(|row| signs::emphasis(row.group, row.standing))
        .under(|row| row.question, |row| row.question.to_string());
    let shown: Vec<&CaseResult> = shown.iter().map(|row| row.case).collect();
    let named = |name: &&str| shown.iter().any(|case| case.variant == *name);
    let servers: Vec<String> = servers(judged).filter(named).map(Into::into).collect();
    let foreign = ": a server answers that isn't ipcmark's: its CPU and its CPU time are unknown.";
    let foreign = || labels::few_codes(Text::new(), &servers).plain(foreign);
    table.notes(notes(&shown, questions, cut, elsewhere)).notes((!servers.is_empty()).then(foreign))
}

/// A row of the answer.
struct Shown<'a> {
    question: &'a str,
    /// Only in the first row of its group.
    place: String,
    group: &'a GroupVerdict,
    standing: &'a Standing,
    case: &'a CaseResult,
}

/// How many rows each group gets, in their order: one at least, and what is left over goes round
/// among those that carry bytes first.
pub fn shares(groups: &[&GroupVerdict], room: usize) -> Vec<usize> {
    let mut shares = vec![1; groups.len()];
    let mut left = room.saturating_sub(groups.len());
    // What is not separated from the best is named beside it.
    let tied = |at: &usize| {
        let best = groups[*at].standings.iter().filter(|standing| standing.among_best);
        groups[*at].names_the_best() && best.count() > 1
    };
    for at in (0..groups.len()).filter(tied).take(left) {
        shares[at] += 1;
        left -= 1;
    }
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
    let count = |is: fn(&GroupVerdict) -> bool| groups.iter().filter(|group| is(group)).count();
    let (disturbed, few) =
        (count(GroupVerdict::is_disturbed), count(GroupVerdict::has_too_few_launches));
    let contests = count(|verdict| verdict.standings.len() > 1);
    let therefore = match contests {
        _ if groups.iter().any(|group| group.metric.paced) => {
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
    order.sort_by_key(|order| !order.among_best);
    let blocking = order.iter().position(|standing| !judged.results[standing.result].spins);
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

/// `best`, or how many times the time of the best it takes: the middle, at least and at most.
fn of_best(group: &GroupVerdict, standing: &Standing) -> Text {
    let alone = group.standings.iter().filter(|standing| standing.among_best).count() == 1;
    let left_out = standing.screened_out.map(|out| (out.low - 1.0, out.high - 1.0));
    let joint = standing.slower_than_best_at_least.zip(standing.slower_than_best_at_most);
    match (standing.slower_than_best, joint, left_out) {
        _ if group.standings.len() < 2 => Text::default(),
        _ if !group.names_the_best() => "–".into(),
        _ if standing.among_best && alone => Text::new().strong("best"),
        // Outwards: what is less is as good.
        (Some(middle), Some((_, most)), _) if most < NEGLIGIBLE => {
            Unit::Ratio.short(1.0 + middle, Some((1.0, 1.0 + NEGLIGIBLE))).into()
        }
        (Some(middle), Some((least, most)), _) => {
            Unit::Ratio.short(1.0 + middle, Some((1.0 + least, 1.0 + most))).into()
        }
        (.., Some((least, most))) => Unit::Ratio.range(1.0 + least, 1.0 + most).into(),
        _ => "–".into(),
    }
}

/// Where the workers run, in little room; where several kinds of two CPUs are there, which.
fn place(judged: &Judged, group: &GroupVerdict) -> String {
    const TWO: &[Placement] = PLACES.split_at(1).1.split_at(4).0;
    let of_two = |site: &Site| site.route.is_none() && TWO.contains(&site.placement);
    let kinds: BTreeSet<&Site> =
        judged.groups.iter().map(|group| &group.site).filter(|site| of_two(site)).collect();
    if group.site.route.is_some() {
        return labels::place(&group.site);
    }
    let place = match group.site.placement {
        Placement::SameCpu => "one CPU".into(),
        Placement::Free => "free".into(),
        _ if of_two(&group.site) && kinds.len() == 1 => "two CPUs".into(),
        Placement::SmtSibling => "one core".into(),
        Placement::SameLlc => "one cache".into(),
        Placement::CrossLlc => "two caches".into(),
        Placement::CrossNode => "two nodes".into(),
        other => labels::placement(other),
    };
    place + &labels::arm(&group.site)
}

fn notes(shown: &[&CaseResult], questions: &[Question], cut: usize, elsewhere: &str) -> Vec<Text> {
    let mut notes = Vec::new();
    let groups = || questions.iter().flat_map(|question| &question.groups);
    let all: usize = groups().map(|group| group.standings.len()).sum();
    let more = all.saturating_sub(shown.len());
    if more > 0 || cut > 0 {
        let questions = match cut {
            0 => String::new(),
            cut => format!(", and {}", units::counted(cut as u64, "question")),
        };
        let results = units::counted(more as u64, "more result");
        notes.push(Text::new().muted(format!("{results}{questions}{elsewhere}.")));
    }
    if groups().any(|group| group.names_the_best()) {
        let by_more = signs::by_more();
        notes.push(Text::new().muted(format!(
            "✓ best. ≈ not separated from the best {by_more}. Intervals of a median hold by themselves, those of the \
             best for all rows of a question together.",
        )));
    }
    if shown.iter().any(|case| case.screened_out) {
        notes.push(Text::new().muted("Of what screening left out: the range of four launches."));
    }
    let spinning: BTreeSet<&str> =
        shown.iter().filter(|case| case.spins).map(|case| case.variant.as_str()).collect();
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
