//! What happened in an operation: switches, wake-ups, interrupts, faults, system calls.

use super::super::Detail;
use super::{CaseGroup, ObservedCase, labels, number, with_interval};
use crate::{ASIDE, Block, Column, Row, Table, Text, Unit, units};
use analysis::EventCount;

/// Columns: the heading, the event, and the priority on a narrow terminal.
const COLUMNS: [(&str, &str, u8); 6] = [
    ("switches", "context-switches", 0),
    ("wake-ups", "wake-ups", 0),
    ("interrupts", "interrupts-sent", 0),
    ("faults", "page-faults", 1),
    ("moves", "cpu-migrations", ASIDE),
    ("on CPU", "task-clock-ns", 3),
];

/// Calls that are named beside all; the others are summed.
const NAMED: usize = 4;
/// Calls below this share of all aren't named.
const RARE: f64 = 0.01;

pub const CAPTION: &str = "Events in ";

/// Tables of the same columns as one, what each is of as a heading of its rows, and so many rows at most.
pub fn in_one(tables: &[&Block], rows: usize, run: i64) -> Option<Table> {
    let tables = || {
        tables
            .iter()
            .filter_map(|table| if let Block::Table(table) = table { Some(table) } else { None })
    };
    let first = tables().next()?;
    let alike: Vec<&Table> = tables().filter(|table| table.columns == first.columns).collect();
    let all: usize = tables().map(|table| table.rows.len()).sum();
    let mut found = Table { rows: Vec::new(), ..first.clone() };
    let mut shown = 0;
    if alike.len() > 1 {
        found.caption = String::new();
    }
    for (nth, table) in alike.iter().enumerate() {
        // What is left is shared among those that follow.
        let share = (rows - shown).div_ceil(alike.len() - nth).min(table.rows.len());
        if alike.len() > 1 && share > 0 {
            found.rows.push(Row::heading(Text::new().strong(&*table.caption)));
        }
        found.rows.extend(table.rows.iter().take(share).cloned());
        shown += share;
    }
    let more = all - shown;
    if more > 0 {
        let more = units::counted(more as u64, "more row");
        found.notes.push(Text::new().muted(format!("{more}: `ipcmark report {run} -v`.")));
    }
    Some(found)
}

/// What happened in an operation, case by case; None where no case was counted so.
pub fn table(group: &CaseGroup, detail: Detail) -> Option<Table> {
    let has_any =
        |case: &&ObservedCase| COLUMNS.iter().any(|column| case.event(column.1).is_some());
    let calls = group.cases.iter().any(|case| calls(case).is_some());
    if !calls && !group.cases.iter().any(|case| has_any(&case)) {
        return None;
    }
    let present: Vec<_> = COLUMNS
        .into_iter()
        .filter(|column| detail == Detail::Full || !column.1.ends_with("-ns"))
        .filter(|column| group.cases.iter().any(|case| case.event(column.1).is_some()))
        .collect();
    let mut table =
        Table::new(format!("{CAPTION}{}, both workers", group.caption())).words([("mechanism", 0)]);
    table.columns.extend(present.iter().map(|entry| Column::number(entry.0, entry.2)));
    if calls {
        table.columns.push(Column::text("system calls", 0));
    }
    for case in &group.cases {
        let cell = |event: &str| match case.event(event) {
            None => Text::new().muted("–"),
            Some(it) if event.ends_with("-ns") => {
                units::duration(it.per_operation * case.times()).into()
            }
            Some(it) => number(it.per_operation * case.times()).into(),
        };
        let mut cells = vec![case.name(group)];
        cells.extend(present.iter().map(|entry| cell(entry.1)));
        if calls {
            cells.push(self::calls(case).map_or_else(|| Text::new().muted("–"), Text::from));
        }
        table.rows.push(Row::new(cells));
    }
    let mut notes = vec![group.per_message()];
    notes.push(
        "Medians over launches of their own, which are not results. interrupts: sent from one CPU to \
         another.",
    );
    if present.iter().any(|entry| entry.0 == "on CPU") {
        notes.push("on CPU: time of both workers, while counted.");
    }
    table.notes.extend(notes.into_iter().filter(|note| !note.is_empty()).map(Text::from));
    Some(table)
}

/// `2.00 read, 2.00 write`: as counted, or as trace where nothing counted them.
fn calls(case: &ObservedCase) -> Option<String> {
    let counted: Vec<(String, f64)> = match case.event("calls") {
        Some(_) => {
            let events = case.by.iter().filter(|observed| observed.event("calls").is_some());
            let events =
                events.flat_map(|event| &event.events).filter(|event| event.name != "calls");
            events.map(|event| (event.name.clone(), event.per_operation)).collect()
        }
        None => {
            let trace = case.trace().filter(|trace| !trace.calls.is_empty())?;
            trace.calls.iter().map(|call| (call.name.clone(), call.stats.per_operation)).collect()
        }
    };
    let all = match case.event("calls") {
        Some(all) => all.per_operation,
        None => counted.iter().map(|pair| pair.1).sum(),
    };
    let mut named: Vec<(String, f64)> =
        counted.into_iter().filter(|pair| pair.1 > 0.0 && pair.1 >= RARE * all).collect();
    named.sort_by(|a, b| b.1.total_cmp(&a.1));
    named.truncate(NAMED);
    let others = all - named.iter().map(|pair| pair.1).sum::<f64>();
    let mut names: Vec<String> = named
        .iter()
        .map(|(name, count)| format!("{} {name}", number(count * case.times())))
        .collect();
    if others >= RARE * all && others > 0.0 {
        names.push(format!("{} other", number(others * case.times())));
    }
    Some(if names.is_empty() { "none".into() } else { names.join(", ") })
}

pub fn every(groups: &[CaseGroup]) -> Option<Block> {
    let cases = groups.iter().flat_map(|group| group.cases.iter().map(move |case| (group, case)));
    let blocks: Vec<Block> = cases.filter_map(|(_, case)| all_of(case)).map(Block::from).collect();
    let summary = Text::from("Every count, with its interval, per message and per byte");
    (!blocks.is_empty()).then_some(Block::Details { summary, blocks })
}

fn all_of(case: &ObservedCase) -> Option<Table> {
    let of = &case.of().case;
    let operation = if of.metric.paced { "request" } else { of.metric.operation.noun() };
    let mut table = Table::new(format!("Counts of {}", labels::case(of)))
        .words([("event", 0), ("counted with", 3)])
        .numbers([(format!("per {operation} [interval]"), 0)])
        .numbers([("per message", 1), ("per byte", 1)])
        .note("Events that never happened are left out.");
    for observed in &case.by {
        let happened = observed
            .events
            .iter()
            .filter(|event| event.interval.high.unwrap_or(event.per_operation) > 0.0);
        table.rows.extend(happened.map(|event| row(event, observed.probe.to_string())));
    }
    (!table.rows.is_empty()).then_some(table)
}

fn row(event: &EventCount, probe: String) -> Row {
    let exact = |other: Option<f64>| other.map_or("–".into(), |value| Unit::Number.format(value));
    let (count, ends) = (event.per_operation, event.interval.ends());
    let count = if event.name.ends_with("-ns") {
        Unit::Nanoseconds.with_ends(count, ends)
    } else {
        with_interval(count, ends)
    };
    Row::new([
        Text::new().code(&event.name),
        Text::new().muted(probe),
        count.into(),
        exact(event.per_message).into(),
        exact(event.per_byte).into(),
    ])
}
