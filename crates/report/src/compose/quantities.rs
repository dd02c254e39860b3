//! Tables with a row per case, made of the quantities that have to do with one topic.

use analysis::quantity::{Found, Quantity, Topic};
use analysis::{CaseResult, Judged, Status};

use super::labels;
use crate::{Column, Row, Table, Text, Unit, units};

/// A row for each case that the topic concerns; None where it concerns none. A column in which no case has anything
/// is left out.
pub fn table(judged: &Judged, topic: Topic, caption: &str) -> Option<Table> {
    let is_shown = |case: &&CaseResult| {
        !case.twin && (case.status == Status::Ok || topic.is_of_failures()) && topic.concerns(case)
    };
    let cases: Vec<&CaseResult> = judged.results.iter().filter(is_shown).collect();
    let columns: Vec<_> = topic
        .columns()
        .filter(|(quantity, ..)| cases.iter().any(|case| (quantity.of)(case).is_some()))
        .collect();
    let mut table = Table::new(caption).words([("mechanism", 0), ("of", 0)]);
    table
        .columns
        .extend(columns.iter().map(|(_, head, left_out)| Column::number(*head, *left_out)));
    table.rows.extend(cases.iter().map(|case| {
        let cells = columns.iter().map(|(quantity, ..)| Text::from(cell(case, quantity)));
        Row::new(labels::named(case).into_iter().chain(cells))
    }));
    (!table.rows.is_empty()).then_some(table)
}

/// What a case has of a quantity, with its interval; a dash where it has nothing.
fn cell(case: &CaseResult, quantity: &Quantity) -> String {
    let Some(Found { value: Some(value), ends: [low, high], .. }) = (quantity.of)(case) else {
        return "–".into();
    };
    match (quantity.unit, low.zip(high)) {
        (Unit::Share, None) => units::share(value),
        // Their own digits: an interval's are those of its value.
        (Unit::Share, Some((low, high))) if value < 0.01 => {
            let [value, low, high] = [value, low, high].map(units::share);
            format!("{value} [{low}, {high}]")
        }
        (unit, ends) => unit.with_ends(value, ends),
    }
}
