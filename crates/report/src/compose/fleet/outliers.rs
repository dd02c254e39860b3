//! Who differs from the rest: a verdict for each group, and the tables behind it.

use super::{cell_name, summary, title, tone};
use crate::{Block, Emphasis, Table, Text, Unit, Verdict, units};
use analysis::ALPHA;
use analysis::fleet::{Deviation, DeviationVerdict, FleetJudged, GroupResult, Units};

/// Rows of a table: those that differ, else the farthest.
const ROWS: usize = 20;
/// How many of those that don't differ are shown.
const FARTHEST: usize = 5;
const NAMED: usize = 4;

/// The verdicts on a group: one of its nodes, one of its pairs.
pub fn verdicts(found: &FleetJudged, group: &GroupResult) -> Vec<Block> {
    let mut blocks = Vec::new();
    let measured = group.cells.iter().any(|cell| cell.both.is_some());
    if !measured {
        return blocks;
    }
    if group.nodes < 3 {
        let head = Text::new()
            .strong(format!("{}: ", title(group)))
            .plain("two nodes can't be compared with the rest.");
        return vec![
            Verdict::new(tone(false, false, true), head, "Measure on three or more.").into(),
        ];
    }
    let node = |nth: usize| found.fleet.nodes[nth].name.clone();
    blocks.push(verdict(group, "node", &group.of_nodes, &node, "the median node").into());
    let pair = |nth: usize| cell_name(found, group, nth);
    if group.is_of_pairs() && group.of_pairs.iter().any(|pair| pair.p.is_some()) {
        blocks.push(verdict(group, "pair", &group.of_pairs, &pair, against(group)).into());
    }
    blocks
}

fn against(group: &GroupResult) -> &'static str {
    match group.nodes {
        3 => "the fastest pair",
        _ => "what its nodes explain",
    }
}

fn verdict(
    group: &GroupResult,
    what: &str,
    deviations: &[Deviation],
    name: &dyn Fn(usize) -> String,
    rest: &str,
) -> Verdict {
    let head = || Text::new().strong(format!("{}: ", title(group)));
    let tested = deviations.iter().filter(|deviation| deviation.p.is_some()).count();
    if tested == 0 {
        let farthest = deviations.iter().max_by(|a, b| a.distance().total_cmp(&b.distance()));
        let farthest = farthest.map_or(String::new(), |deviation| {
            format!("; the farthest is {}, {} as long", name(deviation.nth), ratio_text(deviation))
        });
        let text = head().plain(format!("too few rounds to test a {what}{farthest}."));
        let needed = stats::smallest_holm_n(deviations.len().max(1), ALPHA).max(6);
        let detail = format!(
            "{needed} rounds can show one of {}: --rounds.",
            units::counted(deviations.len() as u64, what)
        );
        return Verdict::new(tone(false, false, true), text, detail);
    }
    let mut differing: Vec<&Deviation> =
        deviations.iter().filter(|deviation| deviation.differs()).collect();
    differing.sort_by(|a, b| b.distance().total_cmp(&a.distance()));
    let count =
        |verdict| deviations.iter().filter(|deviation| deviation.verdict == verdict).count();
    let slower = differing.iter().any(|deviation| deviation.verdict == DeviationVerdict::Slower);
    let text = match differing.as_slice() {
        [] => head().plain(format!("no {what} is shown to differ from {rest}.")),
        some => {
            let parts = some.iter().take(NAMED).map(|deviation| {
                let word =
                    if deviation.verdict == DeviationVerdict::Slower { "slower" } else { "faster" };
                let is = if what == "pair" { "are" } else { "is" };
                format!(
                    "{} {is} {word}: {} the time of {rest}",
                    name(deviation.nth),
                    ratio_text(deviation)
                )
            });
            let more = match some.len().saturating_sub(NAMED) {
                0 => String::new(),
                1 => format!("; 1 more {what} differs"),
                more => format!("; {more} more {what}s differ"),
            };
            head().plain(parts.collect::<Vec<_>>().join("; ")).plain(format!("{more}."))
        }
    };
    let (open, alike) = (count(DeviationVerdict::Open), count(DeviationVerdict::Alike));
    let mut detail = format!(
        "{} tested over {}, Holm-corrected; alike within 2 %: {alike}, open: {open}.",
        units::counted(tested as u64, what),
        units_of(deviations)
    );
    if let Some(needed) = more_rounds(deviations, tested) {
        let tests = units::counted(tested as u64, "test");
        detail += &format!(" With {tests} nothing can be found below {needed} rounds.");
    }
    Verdict::new(tone(slower, !differing.is_empty(), open > 0), text, detail)
}

/// How many rounds the family needs before any of it can be found, where there were fewer.
fn more_rounds(deviations: &[Deviation], tested: usize) -> Option<usize> {
    let needed = stats::smallest_holm_n(tested, ALPHA);
    let rounds = deviations.iter().filter_map(rounds_of).max();
    rounds.filter(|rounds| *rounds < needed).map(|_| needed)
}

fn rounds_of(deviation: &Deviation) -> Option<usize> {
    match deviation.units {
        Units::Rounds(rounds) => Some(rounds),
        Units::Pairs(_) => None,
    }
}

fn units_of(deviations: &[Deviation]) -> String {
    let most = |of: fn(&Deviation) -> Option<usize>| deviations.iter().filter_map(of).max();
    let rounds = most(rounds_of);
    let pairs = most(|deviation| match deviation.units {
        Units::Pairs(pairs) => Some(pairs),
        Units::Rounds(_) => None,
    });
    match (rounds, pairs) {
        (Some(rounds), _) => units::counted(rounds as u64, "round"),
        (_, Some(pairs)) => format!("{} each", units::counted(pairs as u64, "pair")),
        _ => "nothing".into(),
    }
}

/// `2.01× [1.98, 2.05]`.
fn ratio_text(deviation: &Deviation) -> String {
    let it = &deviation.ratio;
    match deviation.p {
        Some(_) if it.estimate >= 2.0 => Unit::Ratio.interval(it.estimate, it.low, it.high),
        None if it.estimate >= 2.0 => Unit::Ratio.format(it.estimate),
        Some(_) => format!("{:.3}× [{:.3}, {:.3}]", it.estimate, it.low, it.high),
        None => format!("{:.3}×", it.estimate),
    }
}

/// Nodes and pairs, those that differ first.
pub fn tables(found: &FleetJudged) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in &found.groups {
        let name = |nth: usize| found.fleet.nodes[nth].name.clone();
        let caption = format!("Nodes against the median node: {}", title(group));
        blocks.extend(table(caption, group, &group.of_nodes, &name, false));
        if group.is_of_pairs() {
            let name = |nth: usize| cell_name(found, group, nth);
            let caption = format!("Pairs against {}: {}", against(group), title(group));
            blocks.extend(table(caption, group, &group.of_pairs, &name, true));
        }
    }
    blocks
}

fn table(
    caption: String,
    group: &GroupResult,
    deviations: &[Deviation],
    name: &dyn Fn(usize) -> String,
    pairs: bool,
) -> Option<Block> {
    let mut sorted: Vec<&Deviation> = deviations.iter().collect();
    sorted
        .sort_by(|a, b| b.differs().cmp(&a.differs()).then(b.distance().total_cmp(&a.distance())));
    let differing = sorted.iter().filter(|deviation| deviation.differs()).count();
    let rows = if sorted.len() <= ROWS { sorted.len() } else { (differing + FARTHEST).min(ROWS) };
    let (shown, hidden) = sorted.split_at(rows);
    // A node of pairs has no time of its own.
    let has_own = pairs || !group.is_of_pairs();
    let table = Table::of_each(caption, shown)
        .words(if pairs { "pair" } else { "node" }, 0, |row| name(row.nth))
        .numbers_if(has_own, "median", 1, |row| {
            group.cells[row.nth].both.as_ref().map(|spread| summary(group, spread))
        })
        .numbers("× the time", 0, |row| ratio_text(row))
        .numbers("p", 2, |row| row.p.map(|(p, _)| units::p_value(p)))
        .numbers("p (Holm)", 1, |row| row.p.map(|(_, holm)| units::p_value(holm)))
        .words("", 0, |row| match row.verdict {
            DeviationVerdict::Slower => "slower",
            DeviationVerdict::Faster => "faster",
            DeviationVerdict::Alike => "alike",
            DeviationVerdict::Open if row.p.is_none() => "not tested",
            DeviationVerdict::Open => "open",
        })
        .emphasis(|row| match row.verdict {
            DeviationVerdict::Slower => Emphasis::Worse,
            DeviationVerdict::Faster => Emphasis::Best,
            DeviationVerdict::Alike | DeviationVerdict::Open => Emphasis::Normal,
        })
        .table();
    let more = hidden.len();
    let more = (more > 0).then(|| format!("{more} more, nearer to the rest."));
    table.notes(more).unless_empty().map(Block::from)
}
