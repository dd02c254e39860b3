//! The nodes side by side: their bounds, what the doctor found on each, and where their environments
//! differ.

use super::Detail;
use crate::{Block, Row, Section, Table, Text, units};
use analysis::fleet::FleetJudged;
use analysis::floor_rows::rows;
use model::findings::Level;
use store::StoredNode;

const NODES: usize = 40;
/// Differing fields in a summary, and in all.
const FIELDS: [usize; 2] = [12, 200];
const NAMED: usize = 6;

pub fn section(found: &FleetJudged, detail: Detail) -> Section {
    Section::new("nodes", "The nodes side by side")
        .with(side_by_side(found))
        .with(environments(found, detail))
}

/// The first bound of a name, in words.
fn bound(node: &StoredNode, name: &str) -> String {
    let Some(floors) = &node.floors else { return "–".into() };
    let found =
        rows(floors, name).into_iter().find_map(|row| Some((row.found.ok()?.median?, row.unit)));
    match found {
        Some((value, "ns")) => units::duration(value),
        Some((value, _)) => units::rate(value),
        None => "–".into(),
    }
}

fn side_by_side(found: &FleetJudged) -> Block {
    let mut table = Table::new("What each node is, its bounds, and what the doctor found there")
        .words([("node", 0), ("CPU", 3)])
        .numbers([("CPUs", 3)])
        .words([("Linux", 2)])
        .numbers([("clock read", 1), ("getppid", 1), ("wake-up", 1), ("copying", 1)])
        .words([("doctor", 0)]);
    let nodes = &found.fleet.nodes;
    for node in nodes.iter().take(NODES) {
        let Some(far) = &node.far else {
            let why = node.reason.clone().unwrap_or_else(|| "it never answered".into());
            let empty = || "–".to_string();
            let cells = std::iter::once(node.name.clone()).chain((0..7).map(|_| empty()));
            table.rows.push(Row::new(cells.chain([why])));
            continue;
        };
        let host = &far.host;
        let of = |level: Level| {
            let named = host.findings.iter().filter(|finding| finding.level == level);
            named.map(|finding| finding.check.clone()).collect::<Vec<String>>()
        };
        let (warnings, notes) = (of(Level::Warning), of(Level::Note));
        let mut doctor = Text::new();
        if !warnings.is_empty() {
            doctor =
                doctor.strong(warnings.join(", ")).plain(if notes.is_empty() { "" } else { "; " });
        }
        doctor = doctor.plain(match (warnings.is_empty(), notes.is_empty()) {
            (true, true) => "fine".to_string(),
            _ => notes.join(", "),
        });
        let cpus = host
            .cpus_online
            .as_ref()
            .map_or("–".into(), |cpus_online| cpus_online.len().to_string());
        let mut row = Row::new([
            node.name.clone(),
            host.processor.name.clone().unwrap_or_else(|| "–".into()),
            cpus,
            host.kernel.release.clone().unwrap_or_else(|| "–".into()),
            bound(node, "clock-cost"),
            bound(node, "getppid"),
            bound(node, "wake-up"),
            bound(node, "copy"),
        ]);
        row.cells.push(doctor);
        table.rows.push(row);
    }
    if nodes.len() > NODES {
        table.notes.push(
            {
                let more = (nodes.len() - NODES) as u64;
                format!("In the store: {}.", units::counted(more, "more node"))
            }
            .into(),
        );
    }
    table.into()
}

fn environments(found: &FleetJudged, detail: Detail) -> Block {
    if found.environment.is_empty() {
        return Block::paragraph("No field of the nodes' environments differs.");
    }
    let most = FIELDS[usize::from(detail == Detail::Full)];
    let mut table = Table::new("Where the nodes' environments differ").words([
        ("field", 0),
        ("value", 0),
        ("nodes", 0),
    ]);
    for field in found.environment.iter().take(most) {
        for (nth, (value, nodes)) in field.values.iter().enumerate().take(NAMED) {
            let shown: String = value.chars().take(60).collect();
            let names: Vec<&str> = nodes
                .iter()
                .take(NAMED)
                .map(|node| found.fleet.nodes[*node].name.as_str())
                .collect();
            let names = match nodes.len() - names.len() {
                0 => names.join(", "),
                more => format!("{} and {more} more", names.join(", ")),
            };
            let name = if nth == 0 { field.field.clone() } else { String::new() };
            table.rows.push(Row::new([name, shown, names]));
        }
        if field.values.len() > NAMED {
            let more = format!("{} more values", field.values.len() - NAMED);
            table.rows.push(Row::new([String::new(), more, String::new()]));
        }
    }
    if found.environment.len() > most {
        let more = found.environment.len() - most;
        table.notes.push(format!("{more} more fields: -v or --html show them.").into());
    }
    table.into()
}
