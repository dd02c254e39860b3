//! Launches beside a load over the quiet ones of the same rounds: a row for each case, a column for each neighbour.

use super::labels;
use super::observed::merged;
use crate::{Block, Column, Row, Section, Table, Text, units};
use analysis::beside::Accompanied;
use analysis::{CaseRatio, Judged, Status};
use model::company::Company;
use model::distinct::distinct;

const MEDIAN: &str = "Median time of an operation beside a load over the quiet one, paired by rounds, with its 95 % \
                      interval; 1 is no difference.";
const WHOLE: &str = "Time of all operations of a launch over that of as many quiet ones: what is stopped seldom \
                     and for long shows here, and not in the median.";
const TOO_FEW: &str = "No case has rounds enough, both quiet and beside a load, for a ratio with its interval: more \
                       launches (--launches) or time (--budget) give them.";
const NO_CPU_LEFT: &str =
    "The workers had every CPU: the thread that streams also took their time.";

/// The section of a run with company; None of any other.
pub fn section(judged: &Judged) -> Option<Section> {
    if judged.beside.is_empty() {
        return None;
    }
    let mut section = Section::new("beside", "Beside a load");
    let measured: Vec<&Accompanied> =
        judged.beside.iter().filter(|accompanied| accompanied.status == Status::Ok).collect();
    for (caption, note, ratio) in [
        ("Median over the quiet one", MEDIAN, (|accompanied| accompanied.median.as_ref()) as Over),
        ("All operations over the quiet ones", WHOLE, |accompanied| accompanied.whole.as_ref()),
    ] {
        section.blocks.extend(table(judged, &measured, caption, note, ratio).map(Block::from));
    }
    if measured.iter().any(|accompanied| streams_among(judged, accompanied)) {
        section.blocks.push(Block::warning(NO_CPU_LEFT));
    }
    section.blocks.extend(absent(judged));
    if section.blocks.is_empty() {
        section.blocks.push(Block::paragraph(TOO_FEW));
    }
    Some(section)
}

/// A ratio of a case beside a load over the quiet one.
type Over = fn(&Accompanied) -> Option<&CaseRatio>;

fn table(
    judged: &Judged,
    measured: &[&Accompanied],
    caption: &str,
    note: &str,
    ratio: Over,
) -> Option<Table> {
    let known = || measured.iter().filter(|accompanied| ratio(accompanied).is_some());
    let mut kinds = distinct(known().filter_map(|seen| seen.case.beside));
    kinds.sort_unstable();
    let mut table = Table::new(caption).words([("mechanism", 0), ("what", 0)]).note(note);
    table.columns.push(Column::number("quiet", 2));
    for kind in &kinds {
        table.columns.push(Column::number(kind.name(), 0));
    }
    for at in distinct(known().filter_map(|accompanied| accompanied.quiet)) {
        let quiet = &judged.results[at];
        let cell = |kind: &Company| {
            let own = |accompanied: &&&Accompanied| {
                accompanied.quiet == Some(at) && accompanied.case.beside == Some(*kind)
            };
            match known().find(own).and_then(|accompanied| ratio(accompanied)) {
                Some(it) => Text::from(format!(
                    "{} [{:.2}, {:.2}]",
                    units::ratio(it.ratio),
                    it.low,
                    it.high
                )),
                None => Text::new().muted("–"),
            }
        };
        let first = labels::named(quiet).into_iter().chain([Text::from(labels::value(quiet))]);
        table.rows.push(Row::new(first.chain(kinds.iter().map(cell))));
    }
    (!kinds.is_empty()).then_some(table)
}

/// Whether it is a stream of which the workers left no CPU.
fn streams_among(judged: &Judged, accompanied: &Accompanied) -> bool {
    let Some(online) = judged.run.host.cpus_online.as_ref().map(Vec::len) else { return false };
    let taken = accompanied.case.place.cpus.map_or(online, |(a, b)| if a == b { 1 } else { 2 });
    accompanied.case.beside == Some(Company::Memory) && taken >= online
}

/// What could not be tried: each reason once.
fn absent(judged: &Judged) -> Vec<Block> {
    let kept = judged.beside.iter().filter(|accompanied| accompanied.status != Status::Ok);
    let told = |accompanied: &Accompanied| {
        (
            accompanied.case.beside.map_or(String::new(), |what| what.to_string()),
            accompanied.reason.clone().unwrap_or_default(),
        )
    };
    let lines = merged(distinct(kept.map(told))).into_iter().map(|(kinds, reason)| {
        let text = Text::new().strong("Not testable here: ").code(kinds.join(", "));
        Block::paragraph(text.plain(format!(". {}.", labels::capital(&reason))))
    });
    lines.collect()
}
