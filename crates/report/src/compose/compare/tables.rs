//! A table of cases per workload and place, the baseline first: the change with its interval, p, verdict.

use super::{between, conditions, counted, differing, distance, effect, percent, short_name, unit};
use crate::compose::{Detail, labels};
use crate::{ASIDE, Block, Emphasis, Table, Text, units};
use analysis::Site;
use analysis::compare::{CaseChange, Change, RunComparison};
use model::distinct::distinct;
use model::metric::Metric;

fn sections(found: &RunComparison) -> Vec<(&Metric, Site)> {
    distinct(counted(found).map(|case| (&case.metric, Site::of(case))))
}

pub(super) fn blocks(found: &RunComparison, detail: Detail) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (metric, site) in sections(found) {
        let here = |case: &&CaseChange| (&case.metric, Site::of(case)) == (metric, site.clone());
        let cases: Vec<&CaseChange> = counted(found).filter(here).collect();
        let cases = sorted(cases);
        let sizes = distinct(cases.iter().map(|case| case.message_bytes));
        let size = match sizes.as_slice() {
            [only] => labels::size_after(" of ", *only),
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

/// What became of the percentiles of single operations: too many for the table of changes, which fits 80
/// columns. None where no case has any.
fn tails(title: &str, cases: &[&CaseChange]) -> Option<Table> {
    let timed = |change: &&CaseChange| change.max_a.is_some() || change.max_b.is_some();
    let cases: Vec<&CaseChange> = cases.iter().copied().filter(timed).collect();
    let lacks = |change: &&CaseChange| change.p99_a.is_none() || change.p99_b.is_none();
    let few = "–: a p99 takes 368 samples in each launch.";
    Table::of_each(format!("{title}: percentiles, A → B"), &cases)
        .words("mechanism", 0, |case| name(case))
        .numbers("p50", 0, |case| from_to(case, case.median_a, case.median_b))
        .numbers("p99", 0, |case| from_to(case, case.p99_a, case.p99_b))
        .numbers("max", 0, |case| from_to(case, case.max_a, case.max_b))
        .under_several(|case| case.message_bytes, |case| labels::size_heading(case.message_bytes))
        .notes(cases.iter().any(lacks).then_some(few))
        .unless_empty()
}

fn changes(title: &str, cases: &[&CaseChange]) -> Table {
    let missed = cases.iter().any(|case| detectable(case).is_some());
    Table::of_each(title, cases)
        .words("mechanism", 0, |case| name(case))
        .numbers("A → B", 0, |case| from_to(case, case.median_a, case.median_b))
        .numbers("change [95 %]", 0, |case| effect(case))
        .numbers("p", 0, |case| case.p_holm.map(units::p_value))
        .words("verdict", 0, |case| verdict_cell(case))
        .numbers_if(missed, "detectable", ASIDE, |case| detectable(case).unwrap_or_default())
        .emphasis(|case| match case.verdict {
            Change::Slower => Emphasis::Worse,
            Change::Faster => Emphasis::Best,
            Change::Incomparable => Emphasis::Muted,
            Change::Equivalent | Change::Inconclusive => Emphasis::Normal,
        })
        .under_several(|case| case.message_bytes, |case| labels::size_heading(case.message_bytes))
        .notes(notes(cases))
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
fn from_to(case: &CaseChange, a: Option<f64>, b: Option<f64>) -> Option<String> {
    let value = |side: Option<f64>| labels::or_dash(side.map(|value| unit(case).format(value)));
    match (a, b) {
        (Some(a), Some(b)) => Some(unit(case).from_to(a, b)),
        (None, None) => None,
        (a, b) => Some(format!("{} → {}", value(a), value(b))),
    }
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
    let why = |case: &CaseChange| match (case.verdict, &case.reason) {
        (Change::Incomparable | Change::Inconclusive, Some(why)) => Some(why.clone()),
        (Change::Incomparable, None) => differing(&case.differences),
        _ => None,
    };
    let said = cases.iter().filter_map(|case| Some((why(case)?, short_name(case))));
    let one_each = |(why, names): &(String, Vec<String>)| {
        labels::few_codes(Text::new(), names).plain(format!(": {why}."))
    };
    notes.extend(labels::by_key(said).iter().map(one_each));
    notes
}
