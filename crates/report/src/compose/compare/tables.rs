//! A table of cases per workload and place, the baseline first: the change with its interval, p, verdict.

use super::{between, counted, distance, effect, percent, short_name, unit};
use crate::compose::labels;
use crate::{ASIDE, Block, Column, Emphasis, Row, Table, Text, units};
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
    let mut cases = cases.to_vec();
    let size = |it: &CaseChange| (it.message_bytes.is_none(), it.message_bytes);
    cases.sort_by(|a, b| {
        let farthest = distance(b).total_cmp(&distance(a));
        size(a).cmp(&size(b)).then(rank(a).cmp(&rank(b))).then(farthest)
    });
    let sizes = distinct(cases.iter().map(|it| it.message_bytes));
    let size = match sizes.as_slice() {
        [Some(size)] => format!(" of {}", units::size(*size)),
        _ => String::new(),
    };
    let place = labels::place_of((workers, placement));
    let mut table = Table::new(format!("{}{size}, {place}", metric.title))
        .words([("mechanism", 0)])
        .numbers([("A → B", 0), ("change [95 %]", 0), ("p", 0)])
        .words([("verdict", 0)]);
    let missed = cases.iter().any(|it| detectable(it).is_some());
    table.columns.extend(missed.then(|| Column::number("detectable", ASIDE)));
    let mut last = None;
    for case in &cases {
        if sizes.len() > 1 && last != Some(case.message_bytes) {
            let size = case.message_bytes.map_or("a wake-up, no bytes".into(), units::size);
            table.rows.push(Row::heading(Text::new().strong(size)));
        }
        last = Some(case.message_bytes);
        table.rows.push(row(case));
    }
    table.notes = notes(&cases);
    table
}

/// What asks for a look first: slower, faster, then what is not different, then what is unknown.
fn rank(case: &CaseChange) -> u8 {
    match case.verdict {
        Change::Slower => 0,
        Change::Faster => 1,
        Change::Equivalent => 2,
        Change::Inconclusive => 3,
        Change::Incomparable => 4,
    }
}

fn row(case: &CaseChange) -> Row {
    let modes = if case.two_modes { " +" } else { "" };
    let medians = match (case.median_a, case.median_b) {
        (Some(a), Some(b)) => unit(case).from_to(a, b),
        (a, b) => {
            let value = |it: Option<f64>| it.map_or("–".into(), |it| unit(case).format(it));
            format!("{} → {}", value(a), value(b))
        }
    };
    let cells = [
        Text::new().code(format!("{}{}{modes}", case.variant, between(case))),
        Text::from(medians),
        Text::from(if case.ratio.is_some() { effect(case) } else { "–".into() }),
        Text::from(case.p_holm.map_or("–".into(), units::p_value)),
        verdict_cell(case),
        Text::from(detectable(case).unwrap_or_default()),
    ];
    Row::new(cells).emphasis(match case.verdict {
        Change::Slower => Emphasis::Worse,
        Change::Faster => Emphasis::Best,
        Change::Incomparable => Emphasis::Muted,
        _ => Emphasis::Normal,
    })
}

/// The smallest difference that could have been found, where none was.
fn detectable(case: &CaseChange) -> Option<String> {
    let effect = case.smallest_effect.filter(|it| it.is_finite())?;
    (case.verdict == Change::Inconclusive).then(|| percent(effect))
}

fn verdict_cell(case: &CaseChange) -> Text {
    match case.verdict {
        Change::Slower => Text::new().strong("slower"),
        Change::Faster => Text::new().strong("faster"),
        Change::Equivalent => "equivalent".into(),
        Change::Incomparable => Text::new().muted("incomparable"),
        Change::Inconclusive => "inconclusive".into(),
    }
}

fn notes(cases: &[&CaseChange]) -> Vec<Text> {
    let mut notes = Vec::new();
    let smallest = cases.iter().filter(|it| detectable(it).is_some());
    let most = smallest.filter_map(|it| it.smallest_effect).reduce(f64::max);
    if let Some(most) = most {
        let missed = match most {
            ..1.0 => percent(most),
            _ => format!("a factor of {:.0}", (1.0 + most).ceil()),
        };
        notes.push(
            format!(
                "inconclusive: with so many launches differences below {missed} could be missed."
            )
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
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for case in cases {
        let differs = |it: &Difference| format!("{} is {} in A, {} in B", it.field, it.a, it.b);
        let why = match (case.verdict, &case.reason) {
            (Change::Incomparable | Change::Inconclusive, Some(why)) => why.clone(),
            (Change::Incomparable, None) if !case.differences.is_empty() => {
                case.differences.iter().map(differs).collect::<Vec<_>>().join("; ")
            }
            _ => continue,
        };
        match reasons.iter_mut().find(|it| it.0 == why) {
            Some((_, names)) => names.push(short_name(case)),
            None => reasons.push((why, vec![short_name(case)])),
        }
    }
    let one_each = |(why, names): &(String, Vec<String>)| {
        labels::few_codes(Text::new(), names).plain(format!(": {why}."))
    };
    notes.extend(reasons.iter().map(one_each));
    notes
}
