//! A run on many nodes as a document: which nodes and pairs differ from the rest, by how much and how
//! sure; the maps; the nodes side by side; and how it was measured.

mod maps;
mod nodes;
mod outliers;
mod variants;

use super::Detail;
use crate::{Block, Document, Section, Table, Text, Unit, VerdictKind, units};
use analysis::GroupVerdict;
use analysis::fleet::{FleetJudged, GroupResult};
use model::metric::Metric;
use model::placement::Placement;
use store::{Concurrent, RunStatus, command_line, resume_fleet};

/// Reasons that are listed before the rest is counted.
const LISTED: usize = 12;

/// Writes up a judged fleet, and how its variants compare.
pub fn compose(found: &FleetJudged, comparisons: &[GroupVerdict], detail: Detail) -> Document {
    let (run, fleet) = (&found.run, &found.fleet);
    let mut document = Document::new(match detail {
        Detail::Summary => format!("Run {}", run.id),
        Detail::Full => "The same experiment on many nodes".to_string(),
    });
    let here = fleet.nodes.iter().filter(|node| node.far.is_some()).count();
    document.subtitle = format!(
        "{here} of {}, {} asked; {}",
        units::counted(fleet.nodes.len() as u64, "node"),
        units::counted(fleet.asked.rounds, "round"),
        units::counted(found.launches, "launch")
    );
    document.meta = vec![
        ("started".into(), run.started.clone()),
        ("tool".into(), run.tool.clone()),
        ("seed".into(), fleet.asked.seed.to_string()),
    ];
    let groups = || found.groups.iter();
    let verdicts = Section::new("verdicts", "Nodes and pairs that differ from the rest")
        .with_all(cautions(found))
        .with_all(groups().flat_map(|group| outliers::verdicts(found, group)));
    let results = Section::new("results", "Results")
        .with(typical(found))
        .with_all(variants::table(comparisons))
        .with_all(outliers::tables(found))
        .with_all(failures(found));
    let maps = Section::new("maps", "Between all nodes")
        .with_all(groups().flat_map(|group| maps::figures(found, group)));
    document.sections.extend([verdicts, results]);
    document.sections.extend(maps.unless_empty());
    document.sections.push(nodes::section(found, detail));
    document.sections.push(method(found));
    document
}

/// What must be known before anything is believed.
fn cautions(found: &FleetJudged) -> Vec<Block> {
    let fleet = &found.fleet;
    let mut blocks = Vec::new();
    if fleet.asked.simulated {
        blocks.push(Block::warning(
            "Nothing was measured: every node is a stub that answers over the wire form of agents, \
             with one slow node and one slow pair planted.",
        ));
    }
    match found.run.status {
        RunStatus::Complete => {}
        _ => blocks.push(Block::warning(format!(
            "This run was interrupted: what was measured until then is shown, and `{}` goes on with it.",
            command_line(&resume_fleet(found.run.id, &fleet.asked))
        ))),
    }
    if found.launches == 0 {
        blocks.push(Block::warning("Nothing was measured; the reasons follow."));
    }
    let boots: std::collections::BTreeSet<_> =
        fleet.nodes.iter().filter_map(|node| node.far.as_ref()?.host.boot_id.as_ref()).collect();
    let met = fleet.nodes.iter().filter(|node| node.far.is_some()).count();
    if boots.len() < met {
        blocks.push(Block::warning(format!(
            "{met} nodes run under {}: they share CPUs and memory, and there is no verdict on \
             physical distance.",
            if boots.len() == 1 { "one kernel".into() } else { format!("{} kernels", boots.len()) }
        )));
    }
    let lost: Vec<Text> = fleet
        .nodes
        .iter()
        .filter_map(|node| {
            let why = node.reason.as_ref()?;
            Some(Text::new().strong(node.name.clone()).plain(format!(": {why}")))
        })
        .collect();
    if !lost.is_empty() {
        let many = lost.len();
        blocks.push(Block::warning(format!(
            "{many} of {} took no part, or not to the end:",
            units::counted(fleet.nodes.len() as u64, "node")
        )));
        let mut shown: Vec<Text> = lost.into_iter().take(LISTED).collect();
        if many > LISTED {
            shown.push(format!("{} more", many - LISTED).into());
        }
        blocks.push(Block::List(shown));
    }
    blocks.extend(found.run.warnings.iter().map(|warning| Block::warning(warning.clone())));
    blocks
}

/// `tcp: round trips of 64 B, one pair at a time`.
pub(super) fn title(group: &GroupResult) -> String {
    let it = &group.group;
    let what = what(&group.metric, it.case.message_bytes, it.case.placement, it.concurrent);
    format!("{}: {what}", it.case.variant)
}

/// `round trips of 64 B, one pair at a time`.
fn what(
    metric: &Metric,
    message_bytes: Option<u64>,
    placement: Placement,
    concurrent: Option<Concurrent>,
) -> String {
    let size = message_bytes.map_or("a wake-up".into(), units::size);
    let many = metric.many(&size);
    let place = match concurrent {
        None => super::labels::placement(placement),
        Some(Concurrent::One) => "one pair at a time".into(),
        Some(Concurrent::All) => "all pairs of a turn at a time".into(),
    };
    format!("{}, {place}", super::labels::within_sentence(&many))
}

/// A time per operation as it is shown, in the unit of what it yields.
pub(super) fn shown(group: &GroupResult, ns: f64) -> (f64, Unit) {
    (group.metric.of_ns(ns, group.group.case.message_bytes), group.metric.unit)
}

/// The same with an interval, in words.
pub(super) fn summary(group: &GroupResult, summary: &analysis::fleet::Summary) -> String {
    let (value, unit) = shown(group, summary.median);
    unit.with_ends(value, ends(group, summary))
}

/// The ends of its interval as they are shown.
pub(super) fn ends(group: &GroupResult, summary: &analysis::fleet::Summary) -> Option<(f64, f64)> {
    let (a, b) = summary.interval?;
    let (a, b) = (shown(group, a).0, shown(group, b).0);
    Some((a.min(b), a.max(b)))
}

/// `a`, or `a and b`.
pub(super) fn cell_name(found: &FleetJudged, group: &GroupResult, nth: usize) -> String {
    let (a, b) = group.ends(nth);
    let name = |nth: usize| found.fleet.nodes[nth].name.clone();
    if a == b { name(a) } else { format!("{} and {}", name(a), name(b)) }
}

/// What is typical, and how far apart the ends are.
fn typical(found: &FleetJudged) -> Table {
    let sorted = |group: &GroupResult| {
        let cells = group.cells.iter().enumerate();
        let mut cells: Vec<(usize, f64)> = cells
            .filter_map(|(nth, cell)| Some((nth, shown(group, cell.both?.median).0)))
            .collect();
        cells.sort_by(|a, b| a.1.total_cmp(&b.1));
        cells
    };
    let rows: Vec<_> = found.groups.iter().map(|group| (group, sorted(group))).collect();
    let value = |group: &GroupResult, value: f64| shown(group, 1.0).1.format(value);
    let name = |group: &GroupResult, cell: Option<&(usize, f64)>| {
        cell.map_or(String::new(), |(nth, _)| cell_name(found, group, *nth))
    };
    let caption =
        "Medians over launches, of every node or pair: the middle one, the least, the most";
    Table::of_each(caption, &rows)
        .words("what", 0, |(group, _)| title(group))
        .numbers("measured", 1, |(group, cells)| {
            format!("{} of {}", cells.len(), group.cells.len())
        })
        .numbers("middle", 0, |(group, _)| {
            group.typical_ns.map(|ns| value(group, shown(group, ns).0))
        })
        .numbers("least", 0, |(group, cells)| Some(value(group, cells.first()?.1)))
        .words("least of", 2, |(group, cells)| name(group, cells.first()))
        .numbers("most", 0, |(group, cells)| Some(value(group, cells.last()?.1)))
        .words("most of", 2, |(group, cells)| name(group, cells.last()))
        .table()
}

fn failures(found: &FleetJudged) -> Option<Table> {
    let mut failed = Vec::new();
    for group in &found.groups {
        failed.extend(group.failures.iter().take(LISTED).map(|failure| (group, failure)));
    }
    Table::of_each("Launches that failed", &failed)
        .words("what", 0, |(group, _)| title(group))
        .numbers("launches", 0, |(_, (_, many, _))| many.to_string())
        .words("for example", 0, |(group, (.., nth))| cell_name(found, group, *nth))
        .words("why", 0, |(_, (why, ..))| why.as_str())
        .table()
        .unless_empty()
}

fn method(found: &FleetJudged) -> Section {
    let asked = &found.fleet.asked;
    let nodes = asked.nodes.len();
    let turns = if nodes.is_multiple_of(2) { nodes.saturating_sub(1) } else { nodes };
    let text = format!(
        "A round is a tournament: every pair of {nodes} nodes once, in {turns} turns in which no node \
         takes part twice, seats and turns drawn anew for each round from the seed. Roles of a pair \
         change in blocks of two rounds. Launches of a turn are set up together, left alone for {}, \
         timed slot by slot, and ended together; the coordinator relays frames, and is silent while \
         anything is timed. Samples are in ticks of the initiator's node.",
        units::duration(asked.settle_ns as f64)
    );
    let tests = "Each against the rest, as ratios of times: a node's level is the median over its pairs \
         (of three nodes, by least squares), compared with the median node; a pair is compared with what \
         its two nodes explain (of three nodes, against the fastest pair). With six rounds and more \
         rounds are the units; with fewer a node's pairs are, and pairs are not tested. Tests are exact \
         sign tests. Each table is a family, corrected by Holm.";
    let mut section = Section::new("method", "How it was measured")
        .with(Block::paragraph(text))
        .with(Block::paragraph(tests));
    let command =
        Text::new().plain("Agents were started by ").code(asked.launcher.join(" ")).plain(".");
    if !asked.simulated {
        section = section.with(Block::paragraph(command));
    }
    section
}

pub(super) fn tone(bad: bool, good: bool, open: bool) -> VerdictKind {
    match (bad, good, open) {
        (true, ..) => VerdictKind::Bad,
        (_, true, _) => VerdictKind::Good,
        (_, _, true) => VerdictKind::Unknown,
        _ => VerdictKind::Neutral,
    }
}
