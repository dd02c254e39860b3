//! The nodes side by side: their bounds, what the doctor found on each, and where their environments
//! differ.

use super::Detail;
use crate::compose::labels;
use crate::{Block, Row, Section, Table, Text, units};
use analysis::fleet::FleetJudged;
use analysis::floor_rows::rows;
use model::findings::Level;
use model::host::Host;
use store::StoredNode;

const NODES: usize = 40;
/// Differing fields in a summary, and in all.
const FIELDS: [usize; 2] = [12, 200];
/// Values of a field that are shown.
const VALUES: usize = 6;

pub fn section(found: &FleetJudged, detail: Detail) -> Section {
    Section::new("nodes", "The nodes side by side")
        .with(side_by_side(found))
        .with(environments(found, detail))
}

/// The first bound of a name, in words.
fn bound(node: &StoredNode, name: &str) -> Option<String> {
    host(node)?;
    let mut found = rows(node.floors.as_ref()?, name).into_iter();
    let (value, unit) = found.find_map(|row| Some((row.found.ok()?.median?, row.unit)))?;
    Some(if unit == "ns" { units::duration(value) } else { units::rate(value) })
}

fn host(node: &StoredNode) -> Option<&Host> {
    node.far.as_ref().map(|far| &far.host)
}

/// What it found there; of a node that never took part, why.
fn doctor(node: &StoredNode) -> Text {
    let Some(host) = host(node) else {
        return node.reason.as_deref().unwrap_or("it never answered").into();
    };
    let of = |level: Level| {
        let named = host.findings.iter().filter(|finding| finding.level == level);
        named.map(|finding| finding.check.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (warnings, notes) = (of(Level::Warning), of(Level::Note));
    match (warnings.is_empty(), notes.is_empty()) {
        (true, true) => "fine".into(),
        (true, false) => notes.into(),
        (false, true) => Text::new().strong(warnings),
        (false, false) => Text::new().strong(warnings).plain(format!("; {notes}")),
    }
}

fn side_by_side(found: &FleetJudged) -> Table {
    let nodes = &found.fleet.nodes;
    let (nodes, more) = nodes.split_at(nodes.len().min(NODES));
    let caption = "What each node is, its bounds, and what the doctor found there";
    let mut table = Table::of_each(caption, nodes)
        .words("node", 0, |node| node.name.as_str())
        .words("CPU", 3, |node| host(node)?.processor.name.as_deref())
        .numbers("CPUs", 3, |node| Some(host(node)?.cpus_online.as_ref()?.len().to_string()))
        .words("Linux", 2, |node| host(node)?.kernel.release.as_deref());
    for (head, name) in [
        ("clock read", "clock-cost"),
        ("getppid", "getppid"),
        ("wake-up", "wake-up"),
        ("copying", "copy"),
    ] {
        table = table.numbers(head, 1, |node| bound(node, name));
    }
    let more = more.len() as u64;
    let more = (more > 0).then(|| format!("In the store: {}.", units::counted(more, "more node")));
    table.words("doctor", 0, doctor).table().notes(more)
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
        for (nth, (value, nodes)) in field.values.iter().enumerate().take(VALUES) {
            let shown: String = value.chars().take(60).collect();
            let name = |node: &usize| found.fleet.nodes[*node].name.as_str();
            let names = labels::few(&nodes.iter().map(name).collect::<Vec<_>>());
            let name = if nth == 0 { field.field.clone() } else { String::new() };
            table.rows.push(Row::new([name, shown, names]));
        }
        if field.values.len() > VALUES {
            let more = format!("{} more values", field.values.len() - VALUES);
            table.rows.push(Row::new([String::new(), more, String::new()]));
        }
    }
    if found.environment.len() > most {
        let more = found.environment.len() - most;
        table.notes.push(format!("{more} more fields: -v or --html show them.").into());
    }
    table.into()
}
