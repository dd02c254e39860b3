//! What happened in an operation: switches, wake-ups, interrupts, faults, system calls.

use super::super::Detail;
use super::{CaseGroup, ObservedCase, labels, number, with_interval};
use crate::{ASIDE, Block, Row, Table, Text, Unit, units};
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
    let caption = format!("{CAPTION}{}, both workers", group.caption());
    let mut table =
        Table::of_each(caption, &group.cases).words("mechanism", 0, |case| case.name(group));
    for (head, event, priority) in COLUMNS {
        let is_time = event.ends_with("-ns");
        let known = group.cases.iter().any(|case| case.event(event).is_some());
        let stands = known && (detail == Detail::Full || !is_time);
        table = table.numbers_if(stands, head, priority, |case| {
            Text::from(case.event(event).map(|event| {
                let count = event.per_operation * case.times();
                if is_time { units::duration(count) } else { number(count) }
            }))
        });
    }
    let table =
        table.words_if(calls, "system calls", 0, |case| Text::from(self::calls(case))).table();
    let on_cpu = table.columns.iter().any(|column| column.name == "on CPU");
    let notes = [
        group.per_message(),
        "Medians over launches of their own, which are not results. interrupts: sent from one CPU to \
         another.",
        if on_cpu { "on CPU: time of both workers, while counted." } else { "" },
    ];
    Some(table.notes(notes.into_iter().filter(|note| !note.is_empty())))
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
    let cases = groups.iter().flat_map(|group| &group.cases);
    let blocks: Vec<Block> = cases.filter_map(all_of).map(Block::from).collect();
    let summary = "Every count, with its interval, per message and per byte";
    (!blocks.is_empty()).then(|| Block::folded(summary, blocks))
}

fn all_of(case: &ObservedCase) -> Option<Table> {
    let of = &case.of().case;
    let operation = if of.metric.paced { "request" } else { of.metric.operation.noun() };
    let happened = |event: &&EventCount| event.interval.high.unwrap_or(event.per_operation) > 0.0;
    let mut events: Vec<(String, &EventCount)> = Vec::new();
    for observed in &case.by {
        let own = observed.events.iter().filter(happened);
        events.extend(own.map(|event| (observed.probe.to_string(), event)));
    }
    let exact = |value: f64| Unit::Number.format(value);
    Table::of_each(format!("Counts of {}", labels::case(of)), &events)
        .words("event", 0, |(_, event)| Text::new().code(&event.name))
        .words("counted with", 3, |(probe, _)| Text::new().muted(probe))
        .numbers(format!("per {operation} [interval]"), 0, |(_, event)| {
            let (count, ends) = (event.per_operation, event.interval.ends());
            match event.name.ends_with("-ns") {
                true => Unit::Nanoseconds.with_ends(count, ends),
                false => with_interval(count, ends),
            }
        })
        .numbers("per message", 1, |(_, event)| event.per_message.map(exact))
        .numbers("per byte", 1, |(_, event)| event.per_byte.map(exact))
        .table()
        .note("Events that never happened are left out.")
        .unless_empty()
}
