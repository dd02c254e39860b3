//! A run of which an export is at hand, and no store: the results and verdicts that the file holds, without what needs
//! the samples.

use std::collections::BTreeSet;

use super::labels;
use crate::{Block, Document, Emphasis, Row, Section, Table, Text, units};
use analysis::compare::{Measured, MeasuredCase};
use analysis::{Site, Status};
use serde_json::Value;

/// Reasons for which cases were not measured that are shown.
const ABSENT: usize = 6;
/// Results that are in no comparison, of which a fleet has as many as pairs of nodes.
const UNRANKED: usize = 40;

pub fn exported(run: &Measured) -> Document {
    let mut document = Document::new("How processes talk to each other, from an export");
    document.subtitle = format!("{} of {}, {}, {}", run.name(), run.started, run.status, run.tool);
    let words = |pointer: &str| run.field(pointer).as_str().map(str::to_string);
    let machine = [
        ("machine", words("/host/name")),
        ("processor", words("/host/processor/name")),
        ("Linux", words("/host/kernel/release")),
    ];
    document
        .meta
        .extend(machine.into_iter().filter_map(|(name, value)| Some((name.into(), value?))));
    let mut answer = Section::new("results", "Results");
    let warnings = run.field("/warnings").as_array().into_iter().flatten();
    answer.blocks.extend(warnings.filter_map(Value::as_str).map(Block::warning));
    let groups = run.field("/comparisons").as_array().map_or(&[][..], Vec::as_slice);
    answer.blocks.extend(groups.iter().filter_map(|group| table(run, group)).map(Block::from));
    answer.blocks.extend(unranked(run, groups).map(Block::from));
    answer.blocks.extend(capacities(run).map(Block::from));
    answer.blocks.extend(absent(run));
    answer.blocks.push(Block::paragraph(
        "✓ best, or not separated from the best by more than 1 %. [ ]: 95 % interval of a median. The samples, and what is drawn of them, are in the store \
         that the file was written from.",
    ));
    document.sections.push(answer);
    document
}

/// The cases of a comparison, the first of them first; None where none was measured.
fn table(run: &Measured, group: &Value) -> Option<Table> {
    let standings = group["standings"].as_array().filter(|standings| !standings.is_empty())?;
    let of = |standing: &Value| run.results.get(standing["result"].as_u64()? as usize);
    let first = standings.iter().find_map(of)?;
    let (rounds, marked) =
        (group["rounds"].as_u64()?, group["marked_rounds"].as_u64().unwrap_or(0));
    let disturbed = rounds > 0 && marked >= rounds;
    let mut table = Table::new(caption(first)).words([("mechanism", 0)]).numbers([
        ("median", 0),
        ("× reference", 1),
        ("p99", 2),
        ("launches", 3),
    ]);
    for standing in standings {
        let Some(at) = standing["result"].as_u64() else { continue };
        let Some(case) = run.results.get(at as usize) else { continue };
        let value = |name: &str| run.field(&format!("/results/{at}/value/{name}")).as_f64();
        let unit = case.metric().unit;
        let ends = value("low").zip(value("high"));
        let median = value("median").map_or("–".into(), |median| unit.with_ends(median, ends));
        let launches = case.launch_medians.iter().flatten().count();
        let row = Row::new([
            Text::new().code(&case.variant),
            median.into(),
            standing["ratio"].as_f64().map_or("–".into(), units::ratio).into(),
            case.p99().map_or("–".into(), units::duration).into(),
            launches.to_string().into(),
        ]);
        let is_best = standing["among_best"] == true && standings.len() > 1 && !disturbed;
        table.rows.push(row.emphasis(if is_best { Emphasis::Best } else { Emphasis::Normal }));
    }
    if marked > 0 {
        let all = units::counted(rounds, "round");
        table.notes.push(Text::from(format!("{marked} of {all} disturbed by others.")));
    }
    Some(table)
}

/// `Round trip, 64 B, one CPU`.
fn caption(first: &MeasuredCase) -> String {
    let size =
        first.message_bytes.map_or(String::new(), |bytes| format!(", {}", units::size(bytes)));
    let load = first.load.map_or(String::new(), |load| format!(", {load}"));
    let place = labels::place_of(&Site::of(first));
    let nodes = match first.nodes.as_slice() {
        [] => String::new(),
        nodes => format!(", {}", nodes.join(" and ")),
    };
    format!("{}{size}{load}, {place}{nodes}", labels::capital(&first.metric().title))
}

/// What is in no comparison: the nodes and pairs of a fleet, controls, second names; None where there is nothing.
fn unranked(run: &Measured, groups: &[Value]) -> Option<Table> {
    let standings =
        groups.iter().flat_map(|group| group["standings"].as_array().into_iter().flatten());
    let ranked: BTreeSet<u64> = standings.filter_map(|value| value["result"].as_u64()).collect();
    let rest: Vec<(usize, &MeasuredCase)> = run
        .results
        .iter()
        .enumerate()
        .filter(|(at, case)| case.status == Status::Ok && !ranked.contains(&(*at as u64)))
        .collect();
    let mut table = Table::new("Not ranked: nodes of a fleet, controls, and second names")
        .words([("mechanism", 0), ("case", 0)])
        .numbers([("median", 0)]);
    for (at, case) in rest.iter().take(UNRANKED) {
        let median = run.field(&format!("/results/{at}/value/median")).as_f64();
        let unit = case.metric().unit;
        table.rows.push(Row::new([
            Text::new().code(&case.variant),
            caption(case).into(),
            median.map_or("–".into(), |median| unit.format(median)).into(),
        ]));
    }
    let more = rest.len().saturating_sub(UNRANKED) as u64;
    if more > 0 {
        table
            .notes
            .push(Text::from(format!("{} in the file.", units::counted(more, "more result"))));
    }
    (!rest.is_empty()).then_some(table)
}

/// What was asked of a run that sought capacities.
fn capacities(run: &Measured) -> Option<Table> {
    let capacities =
        run.field("/capacity").as_array().filter(|capacities| !capacities.is_empty())?;
    let mut table = Table::new("The largest rate within the bound")
        .words([("mechanism", 0)])
        .numbers([("at least", 0), ("below", 0)]);
    for capacity in capacities {
        let rate = |name: &str| capacity[name].as_f64().map_or("–".into(), units::per_second);
        let name = capacity["variant"].as_str().unwrap_or("–");
        table.rows.push(Row::new([
            Text::new().code(name),
            rate("at_least_per_sec").into(),
            rate("below_per_sec").into(),
        ]));
    }
    Some(table)
}

/// What is no result, and why.
fn absent(run: &Measured) -> impl Iterator<Item = Block> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for case in run.results.iter().filter(|case| case.status != Status::Ok) {
        let why = case.reason.clone().unwrap_or_else(|| "not measured".into());
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) if names.contains(&case.variant) => {}
            Some((_, names)) => names.push(case.variant.clone()),
            None => reasons.push((why, vec![case.variant.clone()])),
        }
    }
    let more = reasons.len().saturating_sub(ABSENT) as u64;
    let rest = (more > 0)
        .then(|| Block::warning(format!("{} in the file", units::counted(more, "more reason"))));
    let line = |(why, names): (String, Vec<String>)| {
        let text = labels::few_codes(Text::new().plain("Not measured: "), &names);
        Block::warning(text.plain(format!(": {why}")))
    };
    reasons.into_iter().take(ABSENT).map(line).chain(rest)
}
