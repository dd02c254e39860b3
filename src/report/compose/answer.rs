//! The answer in one table: each question down, each placement across.

use super::words;
use crate::judge::{CaseResult, GroupVerdict, Judged, Standing, Status};
use crate::report::{Block, Column, Row, Table, Text, Unit, units};

/// What was asked, without the place: workload, size, workers.
type Question<'a> = (&'a str, Option<u64>, &'a str);

/// The table, where something was compared.
pub fn table(judged: &Judged) -> Option<Block> {
    let groups: Vec<&GroupVerdict> =
        judged.groups.iter().filter(|it| it.standings.len() > 1).collect();
    let mut questions: Vec<Question> = Vec::new();
    let mut places: Vec<&str> = Vec::new();
    for group in &groups {
        let question = (group.workload.as_str(), group.message_bytes, group.workers.as_str());
        if !questions.contains(&question) {
            questions.push(question);
        }
        if !places.contains(&group.placement.as_str()) {
            places.push(&group.placement);
        }
    }
    let mut table = Table {
        caption: "What is best here".into(),
        columns: vec![Column::text("", 0)],
        ..Default::default()
    };
    table.columns.extend(places.iter().map(|place| Column::text(words::place(place), 0)));
    for question in &questions {
        let cells = places.iter().map(|place| {
            let here = |it: &&&GroupVerdict| {
                it.placement == *place
                    && (it.workload.as_str(), it.message_bytes, it.workers.as_str()) == *question
            };
            groups.iter().find(here).map_or(Text::new().muted("–"), |it| cell(judged, it))
        });
        let head = Text::from(question_in_words(question));
        table.rows.push(Row::new(std::iter::once(head).chain(cells)));
    }
    table.rows.extend(cheapest(judged, &places));
    table.notes.push(Text::from(
        "≈ can't be told apart; the value is the smallest median (the largest rate). Every \
         comparison with its interval, and how sure it is, follows.",
    ));
    (!questions.is_empty()).then(|| table.into())
}

fn question_in_words((workload, size, workers): &Question) -> String {
    let threads = if *workers == "thread" { ", threads" } else { "" };
    match (*workload, size) {
        ("latency", Some(bytes)) => format!("Round trip, {}{threads}", units::size(*bytes)),
        ("latency", None) => format!("Round trip of a wake-up{threads}"),
        (_, Some(bytes)) => format!("Throughput, {} messages{threads}", units::size(*bytes)),
        (_, None) => format!("Wake-ups one way{threads}"),
    }
}

/// The best, and beside a spinning one the best that sleeps.
fn cell(judged: &Judged, group: &GroupVerdict) -> Text {
    let case = |it: &Standing| &judged.results[it.result];
    let (Some(leader), asleep) = group.leaders() else { return Text::new().muted("–") };
    let text =
        Text::new().code(words::best_of(group)).plain(" ").strong(words::brief_value(case(leader)));
    let spins = group.standings.iter().any(|it| it.among_best && case(it).spins);
    match asleep.filter(|_| spins) {
        Some(it) if !it.among_best => text
            .muted(", burning both CPUs; asleep ")
            .code(&it.variant)
            .muted(format!(" {}", words::brief_value(case(it)))),
        _ => text,
    }
}

/// Who burns least CPU in a round trip of the smallest size.
fn cheapest(judged: &Judged, places: &[&str]) -> Option<Row> {
    let latencies = || {
        judged.results.iter().filter(|it| {
            it.workload == "latency"
                && it.status == Status::Ok
                && !it.twin
                && it.carries != crate::judge::Carries::Nothing
        })
    };
    let smallest = latencies().filter_map(|it| it.message_bytes).min()?;
    let price = |it: &&CaseResult| it.cpu_ns_per_operation.map_or(f64::INFINITY, |it| it.total);
    let cells: Vec<Text> = places
        .iter()
        .map(|place| {
            let here = latencies()
                .filter(|it| it.placement == *place && it.message_bytes == Some(smallest))
                .filter(|it| it.cpu_ns_per_operation.is_some());
            match here.min_by(|a, b| price(a).total_cmp(&price(b))) {
                Some(case) => Text::new()
                    .code(&case.variant)
                    .plain(" ")
                    .strong(Unit::Nanoseconds.format(price(&case))),
                None => Text::new().muted("–"),
            }
        })
        .collect();
    let told = cells.iter().any(|it| it.to_plain() != "–");
    let head = format!("Least CPU time in it, {}, carrying bytes", units::size(smallest));
    told.then(|| Row::new(std::iter::once(Text::from(head)).chain(cells)))
}
