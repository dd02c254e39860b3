//! A run of which an export is at hand, and no store: the results and verdicts that the file holds, without what needs
//! the samples.

use std::collections::BTreeSet;

use super::{labels, signs, unmeasured};
use crate::{Block, Document, Emphasis, Section, Table, Text, units};
use analysis::compare::{Measured, MeasuredCase};
use analysis::{Site, Status};
use model::distinct::distinct;
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
    let warnings = run.field("/warnings").as_array().into_iter().flatten();
    let groups = run.field("/comparisons").as_array().map_or(&[][..], Vec::as_slice);
    let answer = Section::new("results", "Results")
        .with_all(warnings.filter_map(Value::as_str).map(Block::warning))
        .with_all(groups.iter().filter_map(|group| table(run, group)))
        .with_all(unranked(run, groups))
        .with_all(capacities(run))
        .with_all(absent(run));
    let signs = format!(
        "✓ best, or not separated from the best {}. [ ]: 95 % interval of a median. The samples, and what is drawn of them, are in the store \
         that the file was written from.",
        signs::by_more()
    );
    document.sections.push(answer.with(Block::paragraph(signs)));
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
    let rows: Vec<(&Value, usize, &MeasuredCase)> = standings
        .iter()
        .filter_map(|standing| {
            let at = standing["result"].as_u64()? as usize;
            Some((standing, at, run.results.get(at)?))
        })
        .collect();
    let median = |at: usize, case: &MeasuredCase| {
        let value = |name: &str| value(run, at, name);
        let ends = value("low").zip(value("high"));
        value("median").map(|median| case.metric().unit.with_ends(median, ends))
    };
    let is_best =
        |standing: &Value| standing["among_best"] == true && standings.len() > 1 && !disturbed;
    let table = Table::of_each(caption(first), &rows)
        .words("mechanism", 0, |(.., case)| Text::new().code(&case.variant))
        .numbers("median", 0, |(_, at, case)| median(*at, case))
        .numbers("× reference", 1, |(it, ..)| it["ratio"].as_f64().map(units::ratio))
        .numbers("p99", 2, |(.., case)| case.p99().map(units::duration))
        .numbers("launches", 3, |(.., case)| {
            case.launch_medians.iter().flatten().count().to_string()
        })
        .emphasis(|(it, ..)| Emphasis::Best.only_if(is_best(it)))
        .table();
    let all = units::counted(rounds, "round");
    Some(table.notes((marked > 0).then(|| format!("{marked} of {all} disturbed by others."))))
}

/// A number of the value of a result.
fn value(run: &Measured, result: usize, name: &str) -> Option<f64> {
    run.field(&format!("/results/{result}/value/{name}")).as_f64()
}

/// `Round trip, 64 B, one CPU`.
fn caption(first: &MeasuredCase) -> String {
    let size = labels::of_size(first.message_bytes);
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
    let shown = &rest[..rest.len().min(UNRANKED)];
    let median = |(at, case): &(usize, &MeasuredCase)| {
        value(run, *at, "median").map(|median| case.metric().unit.format(median))
    };
    let table = Table::of_each("Not ranked: nodes of a fleet, controls, and second names", shown)
        .words("mechanism", 0, |(_, case)| Text::new().code(&case.variant))
        .words("case", 0, |(_, case)| caption(case))
        .numbers("median", 0, median)
        .table();
    let more = (rest.len() - shown.len()) as u64;
    let more = (more > 0).then(|| format!("{} in the file.", units::counted(more, "more result")));
    table.notes(more).unless_empty()
}

/// What was asked of a run that sought capacities.
fn capacities(run: &Measured) -> Option<Table> {
    let capacities =
        run.field("/capacity").as_array().filter(|capacities| !capacities.is_empty())?;
    let rate = |capacity: &Value, name: &str| capacity[name].as_f64().map(units::per_second);
    let table = Table::of_each("The largest rate within the bound", capacities)
        .words("mechanism", 0, |capacity| {
            Text::new().code(capacity["variant"].as_str().unwrap_or("–"))
        })
        .numbers("at least", 0, |capacity| rate(capacity, "at_least_per_sec"))
        .numbers("below", 0, |capacity| rate(capacity, "below_per_sec"));
    Some(table.table())
}

/// What is no result, and why.
fn absent(run: &Measured) -> impl Iterator<Item = Block> {
    let absent = run.results.iter().filter(|case| case.status != Status::Ok);
    let said = absent.map(|case| {
        let why = case.reason.clone().unwrap_or_else(|| "not measured".into());
        (why, case.variant.clone())
    });
    let reasons = labels::by_key(distinct(said));
    let more = reasons.len().saturating_sub(ABSENT) as u64;
    let rest = (more > 0)
        .then(|| Block::warning(format!("{} in the file", units::counted(more, "more reason"))));
    let line = |(why, names): (String, Vec<String>)| unmeasured::line("", &names, &why);
    reasons.into_iter().take(ABSENT).map(line).chain(rest)
}
