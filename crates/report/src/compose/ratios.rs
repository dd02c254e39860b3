//! Ratios to the reference of a group: how a case stands there, and in which words. Across CPUs they are the
//! headline, since the level changes from run to run.

use std::collections::BTreeSet;

use super::labels;
use crate::Text;
use analysis::{CaseResult, GroupVerdict, Judged, Standing};

/// What the caption of a table with ratios says of their intervals.
pub const AT_ONCE: &str = "; ratios: 95 %, each by itself";

/// How a case stands in its group, where it is ranked there.
pub fn standing<'a>(
    judged: &'a Judged,
    case: &CaseResult,
) -> Option<(&'a GroupVerdict, &'a Standing)> {
    let of = |standing: &Standing| std::ptr::eq(&judged.results[standing.result], case);
    judged
        .groups
        .iter()
        .find_map(|group| Some((group, group.standings.iter().find(|standing| of(standing))?)))
}

/// By question, and in it as they are ranked there; last what is not ranked.
pub fn in_order<'a, Q: Ord>(
    judged: &Judged,
    cases: &[&'a CaseResult],
    question: impl Fn(&CaseResult) -> Q,
) -> Vec<&'a CaseResult> {
    let rank = |case: &CaseResult| {
        let (group, own) = standing(judged, case)?;
        group.standings.iter().position(|standing| standing.result == own.result)
    };
    let mut cases = cases.to_vec();
    cases.sort_by_cached_key(|case| (question(case), case.group, rank(case).unwrap_or(usize::MAX)));
    cases
}

/// The ratio with its interval.
pub fn cell(judged: &Judged, case: &CaseResult) -> Text {
    let standing = standing(judged, case);
    Text::from(standing.and_then(|(group, standing)| labels::ratio(group, standing)))
}

/// The ratio in little room: `0.978× (0.938–1.02)`.
pub fn brief_cell(judged: &Judged, case: &CaseResult) -> Text {
    let standing = standing(judged, case);
    Text::from(standing.and_then(|(group, standing)| labels::short_ratio(group, standing)))
}

/// What ratios are to, by its name where all groups have the same.
pub fn reference(judged: &Judged, cases: &[&CaseResult]) -> String {
    let of = |case: &&CaseResult| standing(judged, case)?.0.reference;
    let names: BTreeSet<&str> =
        cases.iter().filter_map(of).map(|number| judged.results[number].variant.as_str()).collect();
    match (names.len(), names.first()) {
        (1, Some(name)) => name.to_string(),
        _ => "reference".into(),
    }
}

/// A headline of a case that leads its group: the ratio first where that is what runs agree on.
pub fn headline(judged: &Judged, group: &GroupVerdict, standing: &Standing) -> String {
    let case = &judged.results[standing.result];
    let value = labels::value(case);
    if !group.by_ratio {
        return value;
    }
    let beside = [Some(value), labels::earlier(case)];
    let beside = beside.into_iter().flatten().collect::<Vec<_>>().join("; ");
    match (labels::times_reference(judged, group, standing), group.reference) {
        (Some(times), _) => format!("{times} ({beside})"),
        (None, Some(at)) if at == standing.result && group.standings.len() > 1 => {
            format!("the reference of the ratios ({beside})")
        }
        _ => beside,
    }
}

/// What the first of the best has: `least time` by ratio, else the smallest median, or largest rate.
pub fn best_by(group: &GroupVerdict, case: &CaseResult) -> &'static str {
    let by_ratio = group.by_ratio && !group.has_too_few_launches();
    if by_ratio { "least time" } else { labels::best_median(case) }
}
