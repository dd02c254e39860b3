//! A table of cases per workload and place, the baseline first: the change with its interval, p, verdict.

use super::{between, conditions, counted, distance, effect, percent, short_name, unit};
use crate::compose::{Detail, labels};
use crate::{ASIDE, Block, Column, Emphasis, Row, Table, Text, units};
use analysis::Site;
use analysis::compare::{CaseChange, Change, Difference, RunComparison};
use model::distinct::distinct;
use model::metric::Metric;

fn sections(found: &RunComparison) -> Vec<(&Metric, Site)> {
    distinct(counted(found).map(|case| (&case.metric, Site::of(case))))
}

pub(super) fn blocks(found: &RunComparison, detail: Detail) -> Vec<Block> {
    let mut blocks = Vec::new();
    for (metric, site) in sections(found) {
        let here = |case: &&CaseChange| (&case.metric, Site::of(case)) == (metric, site.clone());
        let cases: Vec<&CaseChange> = counted(found).filter(here).collect();
        let cases = sorted(cases);
        let sizes = distinct(cases.iter().map(|case| case.message_bytes));
        let size = match sizes.as_slice() {
            [Some(size)] => format!(" of {}", units::size(*size)),
            _ => String::new(),
        };
        let place = labels::place_of(&site);
        let title = format!("{}{size}, {place}", metric.title);
        blocks.push(changes(&title, &cases).into());
        // The answer of arms is one screen.
        if !found.paired || detail == Detail::Full {
            blocks.extend(tails(&title, &cases).map(Block::from));
        }
    }
    blocks
}

/// By size and load; of each what asks for a look first.
fn sorted(mut cases: Vec<&CaseChange>) -> Vec<&CaseChange> {
    let size =
        |change: &CaseChange| (change.message_bytes.is_none(), change.message_bytes, change.load);
    cases.sort_by(|a, b| {
        let farthest = distance(b).total_cmp(&distance(a));
        size(a).cmp(&size(b)).then(rank(a).cmp(&rank(b))).then(farthest)
    });
    cases
}

/// A row of each case, with a heading before each size where there are several.
fn rows(cases: &[&CaseChange], row: impl Fn(&CaseChange) -> Row) -> Vec<Row> {
    let many = distinct(cases.iter().map(|case| case.message_bytes)).len() > 1;
    let (mut rows, mut last) = (Vec::new(), None);
    for case in cases {
        if many && last != Some(case.message_bytes) {
            let size = case.message_bytes.map_or("a wake-up, no bytes".into(), units::size);
            rows.push(Row::heading(Text::new().strong(size)));
        }
        last = Some(case.message_bytes);
        rows.push(row(case));
    }
    rows
}

/// What became of the percentiles of single operations: too many for the table of changes, which fits 80
/// columns. None where no case has any.
fn tails(title: &str, cases: &[&CaseChange]) -> Option<Table> {
    let timed = |change: &&CaseChange| change.max_a.is_some() || change.max_b.is_some();
    let cases: Vec<&CaseChange> = cases.iter().copied().filter(timed).collect();
    let mut table = Table::new(format!("{title}: percentiles, A → B"))
        .words([("mechanism", 0)])
        .numbers([("p50", 0), ("p99", 0), ("max", 0)]);
    table.rows = rows(&cases, |case| {
        let of = |a, b| Text::from(from_to(case, a, b));
        Row::new([
            name(case),
            of(case.median_a, case.median_b),
            of(case.p99_a, case.p99_b),
            of(case.max_a, case.max_b),
        ])
    });
    let lacks = |change: &&CaseChange| change.p99_a.is_none() || change.p99_b.is_none();
    if cases.iter().any(lacks) {
        let note = "–: a p99 takes 368 samples in each launch.";
        table.notes.push(note.into());
    }
    (!cases.is_empty()).then_some(table)
}

fn changes(title: &str, cases: &[&CaseChange]) -> Table {
    let mut table = Table::new(title)
        .words([("mechanism", 0)])
        .numbers([("A → B", 0), ("change [95 %]", 0), ("p", 0)])
        .words([("verdict", 0)]);
    let missed = cases.iter().any(|case| detectable(case).is_some());
    table.columns.extend(missed.then(|| Column::number("detectable", ASIDE)));
    table.rows = rows(cases, row);
    table.notes = notes(cases);
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

fn name(case: &CaseChange) -> Text {
    Text::new().code(format!("{}{}", case.variant, between(case))).plain(conditions(case))
}

/// The baseline first: `4.12 → 4.31 µs`.
fn from_to(case: &CaseChange, a: Option<f64>, b: Option<f64>) -> String {
    match (a, b) {
        (Some(a), Some(b)) => unit(case).from_to(a, b),
        (None, None) => "–".into(),
        (a, b) => {
            let value =
                |other: Option<f64>| other.map_or("–".into(), |value| unit(case).format(value));
            format!("{} → {}", value(a), value(b))
        }
    }
}

fn row(case: &CaseChange) -> Row {
    let cells = [
        name(case),
        Text::from(from_to(case, case.median_a, case.median_b)),
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

/// The smallest difference that is found four times in five, where none was.
fn detectable(case: &CaseChange) -> Option<String> {
    let effect = case.smallest_effect.filter(|smallest_effect| smallest_effect.is_finite())?;
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
    let smallest = cases.iter().filter(|case| detectable(case).is_some());
    let most = smallest.filter_map(|change| change.smallest_effect).reduce(f64::max);
    if let Some(most) = most {
        let missed = match most {
            ..1.0 => percent(most),
            _ => format!("a factor of {:.0}", (1.0 + most).ceil()),
        };
        notes.push(
            format!(
                "inconclusive: so many launches find a difference of {missed} four times in five, and miss smaller ones."
            )
            .into(),
        );
    }
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for case in cases {
        let differs = |difference: &Difference| {
            format!("{} is {} in A, {} in B", difference.field, difference.a, difference.b)
        };
        let why = match (case.verdict, &case.reason) {
            (Change::Incomparable | Change::Inconclusive, Some(why)) => why.clone(),
            (Change::Incomparable, None) if !case.differences.is_empty() => {
                case.differences.iter().map(differs).collect::<Vec<_>>().join("; ")
            }
            _ => continue,
        };
        match reasons.iter_mut().find(|reason| reason.0 == why) {
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
