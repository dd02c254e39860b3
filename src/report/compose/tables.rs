//! Tables: one per workload that fits a terminal, and one per group with everything.

use std::collections::BTreeSet;

use super::words;
use crate::judge::{CaseResult, GroupVerdict, Judged, PERCENTILES, Status};
use crate::mechanism::Carries;
use crate::report::{Block, Column, Emphasis, Row, Section, Table, Text, units};

/// A column of a summary: workers, placement, size.
type Place<'a> = (&'a str, &'a str, Option<u64>);

/// One table per workload: mechanisms down, placements and sizes across.
pub fn summaries(judged: &Judged) -> Vec<Block> {
    ["latency", "throughput"]
        .into_iter()
        .flat_map(|workload| {
            let cases: Vec<&CaseResult> =
                judged.results.iter().filter(|it| it.workload == workload && !it.twin).collect();
            let sizes: BTreeSet<_> = cases.iter().filter_map(|it| it.message_bytes).collect();
            match sizes.len() {
                0 if cases.iter().all(|it| it.status != Status::Ok) => Vec::new(),
                0..=3 => vec![summary(judged, workload, &cases).into()],
                _ => by_size(judged, workload, &cases),
            }
        })
        .collect()
}

fn summary(judged: &Judged, workload: &str, cases: &[&CaseResult]) -> Table {
    let places = places(cases);
    let mut table = Table {
        caption: caption(workload),
        columns: vec![Column::text("mechanism", 0)],
        ..Default::default()
    };
    let one_size = |bytes: Option<u64>| bytes.map_or("wake-up".into(), units::size);
    for (nth, (workers, placement, bytes)) in places.iter().enumerate() {
        let threads = if *workers == "thread" { " thr" } else { "" };
        let name = format!("{placement}{threads} {}", one_size(*bytes));
        table.columns.push(Column::number(name, nth as u8 / 4));
    }
    for name in names(cases) {
        let mut cells = vec![Text::new().code(name)];
        let mut best = false;
        for place in &places {
            let case = cases.iter().find(|it| it.variant == name && at(it, place, workload));
            best |= case.is_some_and(|case| is_best(judged, case));
            cells.push(case.map_or(Text::from(""), |case| cell(judged, case)));
        }
        let emphasis = if best { Emphasis::Best } else { Emphasis::Normal };
        table.rows.push(Row::new(cells).emphasis(emphasis));
    }
    table.notes.push(note(workload));
    table
}

/// Curves over many sizes: a table per placement, sizes down and mechanisms across.
fn by_size(judged: &Judged, workload: &str, cases: &[&CaseResult]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let places: BTreeSet<(&str, &str)> =
        cases.iter().map(|it| (it.workers.as_str(), it.placement.as_str())).collect();
    for (workers, placement) in places {
        let here: Vec<&CaseResult> = cases
            .iter()
            .filter(|it| it.workers == workers && it.placement == placement)
            .filter(|it| it.message_bytes.is_some())
            .copied()
            .collect();
        if here.iter().all(|it| it.status != Status::Ok) {
            continue;
        }
        let names = names(&here);
        let mut table = Table {
            caption: format!("{} {}", caption(workload), words::place(placement)),
            columns: vec![Column::number("size", 0)],
            ..Default::default()
        };
        for (nth, name) in names.iter().enumerate() {
            table.columns.push(Column::number(*name, nth as u8 / 3));
        }
        let sizes: BTreeSet<u64> = here.iter().filter_map(|it| it.message_bytes).collect();
        for size in sizes {
            let mut cells = vec![Text::from(units::size(size))];
            for name in &names {
                let found =
                    here.iter().find(|it| it.variant == *name && it.message_bytes == Some(size));
                cells.push(found.map_or(Text::from(""), |case| cell(judged, case)));
            }
            table.rows.push(Row::new(cells));
        }
        table.notes.push(note(workload));
        blocks.push(table.into());
    }
    blocks
}

fn caption(workload: &str) -> String {
    match workload {
        "latency" => "Round-trip time: median over launches, half-width of its interval".into(),
        _ => "Throughput one way: median over launches, half-width of its interval".into(),
    }
}

fn note(workload: &str) -> Text {
    let text = Text::new().plain("* among the best of its column. a|b: two modes. ");
    match workload {
        "latency" => text.plain("futex and eventfd carry a wake-up, no bytes; null nothing."),
        _ => text.plain("Binary units; the payload is said in the full report."),
    }
}

fn cell(judged: &Judged, case: &CaseResult) -> Text {
    match case.status {
        Status::Ok if is_best(judged, case) => {
            Text::new().strong(format!("*{}", words::short_value(case)))
        }
        Status::Ok => Text::from(words::short_value(case)),
        Status::NotApplicable => Text::new().muted("n/a"),
        Status::Unavailable => Text::new().muted("unavailable"),
        Status::Failed => Text::new().muted("failed"),
    }
}

fn is_best(judged: &Judged, case: &CaseResult) -> bool {
    judged
        .groups
        .iter()
        .filter(|group| group.standings.len() > 1)
        .flat_map(|group| &group.standings)
        .any(|it| it.among_best && std::ptr::eq(&judged.results[it.result], case))
}

fn at(case: &CaseResult, place: &Place, workload: &str) -> bool {
    let (workers, placement, bytes) = *place;
    // A wake-up stands in the column of the smallest size of a latency.
    let size = case.message_bytes == bytes
        || (workload == "latency"
            && case.carries != Carries::Bytes
            && case.message_bytes.is_none());
    case.workers == workers && case.placement == placement && size && {
        case.carries == Carries::Bytes || case.message_bytes == bytes || workload == "latency"
    }
}

/// Columns in the order of the results; a placement that nothing could be measured in has none.
fn places<'a>(cases: &[&'a CaseResult]) -> Vec<Place<'a>> {
    let mut places: Vec<Place> = Vec::new();
    let measured = cases.iter().filter(|it| it.status == Status::Ok);
    for case in measured {
        let signals_apart = case.workload == "throughput" && case.carries == Carries::Signal;
        if case.carries != Carries::Bytes && !signals_apart {
            continue;
        }
        let place = (case.workers.as_str(), case.placement.as_str(), case.message_bytes);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if places.is_empty() {
        places.extend(
            cases
                .iter()
                .filter(|it| it.status == Status::Ok)
                .map(|it| (it.workers.as_str(), it.placement.as_str(), None)),
        );
        places.dedup();
    }
    places
}

fn names<'a>(cases: &[&'a CaseResult]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for case in cases.iter().filter(|it| it.status == Status::Ok) {
        if !names.contains(&case.variant.as_str()) {
            names.push(case.variant.as_str());
        }
    }
    names
}

/// Everything about every group, folded.
pub fn details(judged: &Judged) -> Section {
    let mut section = Section::new("tables", "All figures");
    for group in &judged.groups {
        section = section.with(Block::Details {
            summary: Text::from(words::group(group)),
            blocks: vec![detail(judged, group).into()],
        });
    }
    let absent = absent(judged);
    if !absent.rows.is_empty() {
        section = section.with(absent);
    }
    section
}

fn detail(judged: &Judged, group: &GroupVerdict) -> Table {
    let mut table = Table {
        caption: format!("{}, {} rounds", words::group(group), group.rounds),
        columns: vec![
            Column::text("mechanism", 0),
            Column::number("median [interval]", 0),
            Column::number("coverage", 4),
            Column::number("× leader [interval]", 1),
            Column::number("p (Holm)", 3),
        ],
        ..Default::default()
    };
    let latency = group.workload == "latency";
    if latency {
        table.columns.extend(
            PERCENTILES[..4]
                .iter()
                .enumerate()
                .map(|(nth, (name, _))| Column::number(*name, if nth == 1 { 2 } else { 4 })),
        );
    }
    table.columns.push(Column::number("min … max of launches", 5));
    table.columns.push(Column::number("launches", 4));
    table.columns.push(Column::number("samples", 5));
    table.columns.push(Column::number("clock", 5));
    for standing in &group.standings {
        let case = &judged.results[standing.result];
        let mut cells = vec![
            Text::new().code(&case.variant),
            Text::from(words::value(case)),
            Text::from(coverage(case)),
            Text::from(match (standing.ratio, standing.low, standing.high) {
                (Some(ratio), Some(low), Some(high)) => {
                    format!("{} [{low:.2}, {high:.2}]", units::ratio(ratio))
                }
                _ => "1".to_string(),
            }),
            Text::from(standing.p.map_or("–".to_string(), |p| format!("{p:.2e}"))),
        ];
        if latency {
            cells.extend(PERCENTILES[..4].iter().map(|(name, _)| percentile(case, name)));
        }
        cells.extend(spread(case));
        let emphasis = if standing.among_best { Emphasis::Best } else { Emphasis::Normal };
        table.rows.push(Row::new(cells).emphasis(emphasis));
    }
    table.notes.push(Text::from(
        "× leader: time per operation over that of the leader, paired by round. \
         A percentile is the median over launches of each launch's own; a cell with + says \
         how many more independent samples each launch needs for it. clock: share of a sample \
         that is the clock's own cost.",
    ));
    table
}

fn coverage(case: &CaseResult) -> String {
    let coverage = case.estimate().and_then(|it| it.coverage);
    coverage.map_or("–".into(), |it| format!("{:.1} %", 100.0 * it))
}

fn percentile(case: &CaseResult, name: &str) -> Text {
    let found = case.latency_ns.as_ref().and_then(|it| it.percentiles.get(name).copied().flatten());
    match (found, case.samples_missing.get(name)) {
        (Some(it), _) => Text::from(units::duration(it.value)),
        (None, Some(missing)) => Text::new().muted(format!("+{}", units::count(*missing))),
        (None, None) => Text::new().muted("batched"),
    }
}

fn spread(case: &CaseResult) -> [Text; 4] {
    let unit = words::unit(case);
    let range = case
        .estimate()
        .map_or("–".into(), |it| format!("{} … {}", unit.format(it.min), unit.format(it.max)));
    let share = case.clock_share.map_or("–".into(), |it| format!("{:.1} %", 100.0 * it));
    [
        range.into(),
        units::count(case.launches).into(),
        units::count(case.samples).into(),
        share.into(),
    ]
}

/// What wasn't measured, and why. One row per reason.
fn absent(judged: &Judged) -> Table {
    let mut table = Table {
        caption: "Not measured here".into(),
        columns: vec![Column::text("case", 0), Column::text("why, and the way out", 0)],
        ..Default::default()
    };
    for (what, why) in absences(judged) {
        table.rows.push(Row::new([Text::new().code(what), Text::from(why)]));
    }
    table
}

/// Cases and reasons, those of one placement told once.
pub fn absences(judged: &Judged) -> Vec<(String, String)> {
    let mut told: Vec<(String, String)> = Vec::new();
    for case in judged
        .results
        .iter()
        .filter(|it| matches!(it.status, Status::NotApplicable | Status::Unavailable))
    {
        let why = case.reason.clone().unwrap_or_default();
        let placeless = case.cpus.is_none() && case.placement != "free";
        let what = if placeless {
            case.placement.clone()
        } else {
            format!("{} {} {}", case.variant, case.workload, case.placement)
        };
        if !told.iter().any(|it| it.0 == what) {
            told.push((what, why));
        }
    }
    told
}
