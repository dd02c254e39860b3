//! Figures of hardware counters: a row each, whether it could be counted here or not.

use super::super::Detail;
use super::{CaseGroup, ObservedCase, with_interval};
use crate::{Block, Column, Emphasis, Row, Table, Text};
use analysis::Observed;
use model::counts::{FIGURES, Family, MODES};

/// A table for each group with hardware counters. Where none could be had, only a page shows it.
pub fn tables(groups: &[CaseGroup], detail: Detail) -> Vec<Block> {
    groups.iter().filter_map(|group| table(group, detail)).map(Block::from).collect()
}

fn table(group: &CaseGroup, detail: Detail) -> Option<Table> {
    let hardware = |observed: &&&Observed| observed.probe.family().is_some_and(Family::is_hardware);
    let asked = |case: &ObservedCase| -> Vec<Family> {
        case.by.iter().filter(hardware).filter_map(|observed| observed.probe.family()).collect()
    };
    let families: Vec<Family> = group.cases.iter().flat_map(asked).collect();
    let any =
        group.cases.iter().flat_map(|case| &case.by).any(|observed| !observed.figures.is_empty());
    if families.is_empty() || (detail == Detail::Summary && !any) {
        return None;
    }
    let mut table = Table::new(format!("Hardware counters, {}, both workers", group.caption()))
        .words([("figure", 0)])
        .note(
            ":u in the program, :k in the kernel, else both. What one family counts over what \
             another does is of launches in the same round.",
        );
    for (nth, case) in group.cases.iter().enumerate() {
        table.columns.push(Column::number(case.name(group).to_plain(), nth as u8 / 3));
    }
    let own = FIGURES.iter().filter(|figure| families.contains(&figure.family));
    let mut names: Vec<String> = own.map(|figure| figure.name.to_string()).collect();
    for family in model::counts::FAMILIES.iter().filter(|family| families.contains(family)) {
        let last = format!(":{}", MODES[MODES.len() - 1]);
        let sums =
            family.names().into_iter().filter_map(|name| Some(name.strip_suffix(&last)?.into()));
        names.extend(sums.filter(|_| family.is_hardware()));
    }
    for name in names {
        let modes = MODES.map(|mode| format!("{name}:{mode}"));
        let apart = modes.into_iter().filter(|_| detail == Detail::Full && any);
        table.rows.extend([name.clone()].into_iter().chain(apart).map(|text| row(group, &text)));
    }
    Some(table)
}

fn row(group: &CaseGroup, name: &str) -> Row {
    let value = |case: &ObservedCase| {
        let figure = case
            .by
            .iter()
            .flat_map(|observed| &observed.figures)
            .find(|figure| figure.name == name);
        let figure = figure.map(|figure| (figure.value, figure.interval));
        let event = case.event(name).map(|event| (event.per_operation, event.interval));
        figure.or(event).map(|(value, interval)| with_interval(value, interval.ends()))
    };
    let cells: Vec<Option<String>> = group.cases.iter().map(value).collect();
    let missing = cells.iter().all(Option::is_none);
    let cells = cells.into_iter().map(|cell| match cell {
        Some(value) => Text::from(value),
        None => Text::new().muted("not testable here"),
    });
    let row = Row::new(std::iter::once(Text::new().code(name)).chain(cells));
    if missing { row.emphasis(Emphasis::Muted) } else { row }
}
