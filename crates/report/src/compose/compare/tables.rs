//! A table of cases per workload and place: the change with its interval, p, verdict.

use super::{between, counted, effect, percent, short_name, unit};
use crate::compose::words;
use crate::{Block, Emphasis, Row, Table, Text, units};
use analysis::compare::{CaseChange, Change, Difference, RunComparison};
use model::distinct::distinct;
use model::metric::Metric;

fn sections(found: &RunComparison) -> Vec<(&Metric, &str, &str)> {
    distinct(counted(found).map(|it| (&it.metric, &*it.placement, &*it.workers)))
}

pub(super) fn blocks(found: &RunComparison) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (metric, placement, workers) in sections(found) {
        let here = |case: &&CaseChange| {
            (&case.metric, case.placement.as_str(), case.workers.as_str())
                == (metric, placement, workers)
        };
        let cases: Vec<&CaseChange> = counted(found).filter(here).collect();
        blocks.push(table(metric, placement, workers, &cases).into());
    }
    blocks
}

fn table(metric: &Metric, placement: &str, workers: &str, cases: &[&CaseChange]) -> Table {
    let what = &metric.title;
    let mut table = Table::new(format!("{what}, {}", words::place_of((workers, placement))))
        .words([("mechanism", 0)])
        .numbers([("size", 0), ("A", 3), ("B", 2), ("change of time [95 %]", 0), ("p, Holm", 1)])
        .words([("verdict", 0)])
        .rows(cases.iter().map(|case| row(case)));
    table.notes = notes(cases);
    table
}

fn row(case: &CaseChange) -> Row {
    let value = |it: Option<f64>| it.map_or("–".into(), |it| unit(case).format(it));
    let modes = if case.two_modes { " +" } else { "" };
    let cells = [
        Text::new().code(format!("{}{}{modes}", case.variant, between(case))),
        Text::from(case.message_bytes.map_or("–".into(), units::size)),
        Text::from(value(case.median_a)),
        Text::from(value(case.median_b)),
        Text::from(if case.ratio.is_some() { effect(case) } else { "–".into() }),
        Text::from(case.p_holm.map_or("–".into(), units::p_value)),
        verdict_cell(case),
    ];
    Row::new(cells).emphasis(match case.verdict {
        Change::Slower => Emphasis::Warning,
        Change::Incomparable => Emphasis::Muted,
        _ => Emphasis::Normal,
    })
}

fn verdict_cell(case: &CaseChange) -> Text {
    match case.verdict {
        Change::Slower => Text::new().strong("slower"),
        Change::Faster => Text::new().strong("faster"),
        Change::Equivalent => "equivalent".into(),
        Change::Incomparable => Text::new().muted("incomparable"),
        Change::Inconclusive => match case.smallest_effect.filter(|it| it.is_finite()) {
            Some(effect) => format!("inconclusive <{}", percent(effect)).into(),
            None => "inconclusive".into(),
        },
    }
}

fn notes(cases: &[&CaseChange]) -> Vec<Text> {
    let mut notes = Vec::new();
    if cases.iter().any(|case| case.smallest_effect.is_some()) {
        notes.push(
            "inconclusive <x: a difference smaller than x could not have been seen with so many \
             launches."
                .into(),
        );
    }
    if cases.iter().any(|case| case.two_modes) {
        notes.push(
            "+: two modes among the launches; the change is of their mixture, and moves with \
             their shares."
                .into(),
        );
    }
    for case in cases.iter().filter(|it| it.verdict == Change::Incomparable) {
        let head = Text::new().code(short_name(case)).plain(": ");
        let differs = |it: &Difference| format!("{} is {} in A, {} in B", it.field, it.a, it.b);
        let each: Vec<String> = case.differences.iter().map(differs).collect();
        if let Some(why) = &case.reason {
            notes.push(head.plain(format!("{why}.")));
        } else if !each.is_empty() {
            notes.push(head.plain(format!("{}.", each.join("; "))));
        }
    }
    for case in cases.iter().filter(|it| it.verdict == Change::Inconclusive) {
        if let Some(why) = &case.reason {
            let head = Text::new().code(short_name(case));
            notes.push(head.plain(format!(": {why}.")));
        }
    }
    notes
}
