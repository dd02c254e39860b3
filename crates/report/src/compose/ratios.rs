//! Across CPUs: ratios to the reference come first, since the level changes from run to run; the medians stand
//! beside them, with what earlier runs on this host came to.

use std::collections::BTreeSet;

use super::tables::{self, Asides};
use super::{signs, words};
use crate::{Column, Row, Table, Text, units};
use analysis::{CaseResult, GroupVerdict, Judged, Standing};

/// What the caption of a table with ratios says of their intervals.
pub const AT_ONCE: &str = "; ratios: 95 %, each by itself";

/// How a case stands in its group, where it is ranked there.
pub fn standing<'a>(
    judged: &'a Judged,
    case: &CaseResult,
) -> Option<(&'a GroupVerdict, &'a Standing)> {
    let of = |it: &Standing| std::ptr::eq(&judged.results[it.result], case);
    judged.groups.iter().find_map(|group| Some((group, group.standings.iter().find(|it| of(it))?)))
}

/// Whether ratios are the headline of these cases of one place: they were compared, and across CPUs.
pub fn lead(judged: &Judged, cases: &[&CaseResult]) -> bool {
    let mut groups = cases.iter().filter_map(|case| Some(standing(judged, case)?.0));
    groups.any(|group| group.by_ratio && group.standings.len() > 1)
}

/// One row per case, the smallest ratio of its group first.
pub fn table(judged: &Judged, (what, place): (&str, &str), cases: &[&CaseResult]) -> Table {
    let cases = in_order(judged, cases);
    let asides = Asides::of(cases.iter().copied());
    let earlier = cases.iter().any(|it| it.earlier.is_some());
    let sizes: BTreeSet<u64> = cases.iter().filter_map(|it| it.message_bytes).collect();
    let heading = of_size(what, &cases);
    let reference = reference(judged, &cases);
    let mut table = Table {
        caption: format!(
            "{heading}, {place}: time over that of {reference}, and median over launches [95 %, each by itself]"
        ),
        columns: vec![Column::text("mechanism", 0), column(judged, &cases)],
        ..Default::default()
    };
    table.columns.push(Column::number("median [interval]", 0));
    if earlier {
        table.columns.push(Column::number("earlier here", 0));
    }
    table.columns.extend(asides.columns());
    for case in cases {
        let size = case.message_bytes.filter(|_| sizes.len() > 1);
        let size = words::of_size(size);
        let name = Text::new().code(tables::shown_name(case)).plain(size);
        let mut cells = vec![name, cell(judged, case), words::cell_value(case).into()];
        if earlier {
            cells.push(words::earlier_runs(case).unwrap_or_default().into());
        }
        cells.extend(asides.cells(Some(case)));
        table.rows.push(Row::new(cells));
    }
    table
}

/// `Round trip of 64 B`, where that is the only size.
pub fn of_size(what: &str, cases: &[&CaseResult]) -> String {
    let sizes: BTreeSet<u64> = cases.iter().filter_map(|it| it.message_bytes).collect();
    match (sizes.len(), sizes.first()) {
        (1, Some(size)) => format!("{what} of {}", units::size(*size)),
        _ => what.to_string(),
    }
}

/// By group, and in it as they are ranked there; last what is not ranked.
pub fn in_order<'a>(judged: &Judged, cases: &[&'a CaseResult]) -> Vec<&'a CaseResult> {
    let rank = |case: &CaseResult| {
        let (group, own) = standing(judged, case)?;
        group.standings.iter().position(|it| it.result == own.result)
    };
    let mut cases = cases.to_vec();
    cases.sort_by_cached_key(|case| (case.group, rank(case).unwrap_or(usize::MAX)));
    cases
}

pub fn column(judged: &Judged, cases: &[&CaseResult]) -> Column {
    Column::number(format!("× {} [interval]", reference(judged, cases)), 0)
}

/// The ratio with its interval, marked where the case is among the best of its group.
pub fn cell(judged: &Judged, case: &CaseResult) -> Text {
    match standing(judged, case).and_then(|(group, it)| words::ratio(group, it)) {
        Some(ratio) => signs::cell(judged, case, ratio),
        None => Text::new().muted("–"),
    }
}

/// What ratios are to, by its name where all groups have the same.
fn reference(judged: &Judged, cases: &[&CaseResult]) -> String {
    let of = |case: &&CaseResult| standing(judged, case)?.0.reference;
    let names: BTreeSet<&str> =
        cases.iter().filter_map(of).map(|it| judged.results[it].variant.as_str()).collect();
    match (names.len(), names.first()) {
        (1, Some(name)) => name.to_string(),
        _ => "reference".into(),
    }
}

/// A headline of a case that leads its group: the ratio first where that is what runs agree on.
pub fn headline(judged: &Judged, group: &GroupVerdict, standing: &Standing) -> String {
    let case = &judged.results[standing.result];
    let value = words::value(case);
    if !group.by_ratio {
        return value;
    }
    let beside = [Some(value), words::earlier(case)];
    let beside = beside.into_iter().flatten().collect::<Vec<_>>().join("; ");
    match (words::times_reference(judged, group, standing), group.reference) {
        (Some(times), _) => format!("{times} ({beside})"),
        (None, Some(at)) if at == standing.result && group.standings.len() > 1 => {
            format!("the reference of the ratios ({beside})")
        }
        _ => beside,
    }
}

/// What the first of the best has: `least time` by ratio, else the smallest median, or largest rate.
pub fn best_by(group: &GroupVerdict, case: &CaseResult) -> &'static str {
    if group.by_ratio { "least time" } else { words::best_median(case) }
}
