//! What wasn't measured, and why.

use super::labels;
use crate::{Row, Table, Text};
use analysis::{CaseResult, Judged, Status};

/// What wasn't measured, and why. One row per reason.
pub(super) fn absent(judged: &Judged) -> Table {
    let mut table =
        Table::new("Not measured here").words([("what", 0), ("why, and the remedy", 0)]);
    for (what, why) in absences(judged) {
        table.rows.push(Row::new([Text::new().code(what), Text::from(why)]));
    }
    table
}

/// What wasn't measured and why; each reason once, with all that it keeps out.
pub fn absences(judged: &Judged) -> Vec<(String, String)> {
    let mut reasons: Vec<(Vec<String>, String)> = Vec::new();
    let absent =
        |it: &&CaseResult| matches!(it.status, Status::NotApplicable | Status::Unavailable);
    for case in judged.results.iter().filter(absent) {
        let why = case.reason.clone().unwrap_or_default();
        let placeless = case.cpus.is_none() && !case.placement.contains("free");
        let what = if placeless { case.placement.clone() } else { case.variant.clone() };
        match reasons.iter_mut().find(|it| it.1 == why) {
            Some((whats, _)) if whats.contains(&what) => {}
            Some((whats, _)) => whats.push(what),
            None => reasons.push((vec![what], why)),
        }
    }
    reasons.into_iter().map(|(whats, why)| (labels::list(&whats), why)).collect()
}
