//! Tables with a row per case, made of the quantities that have to do with one topic.

use analysis::quantity::{Found, Quantity, Topic};
use analysis::{CaseResult, Judged, Status};

use super::labels;
use crate::{Table, Text, Unit, units};

/// A row for each case that the topic concerns; None where it concerns none. A column in which no case has anything
/// is left out.
pub fn table(judged: &Judged, topic: Topic, caption: &str) -> Option<Table> {
    // Launches that lost a datagram fail: what is known of them is shown.
    let with_failed = topic == Topic::Datagrams;
    let is_shown = |case: &&CaseResult| {
        !case.twin && (case.status == Status::Ok || with_failed) && topic.concerns(case)
    };
    let cases: Vec<&CaseResult> = judged.results.iter().filter(is_shown).collect();
    let mut table = Table::of_each(caption, &cases)
        .words("mechanism", 0, |case| Text::new().code(&case.variant))
        .words("of", 0, |case| labels::what(case));
    for (quantity, head, left_out) in topic.columns() {
        let is_known = cases.iter().any(|case| (quantity.of)(case).is_some());
        table = table.numbers_if(is_known, head, left_out, |case| cell(case, quantity));
    }
    table.table().unless_empty()
}

/// What a case has of a quantity, with its interval; a dash where it has nothing.
fn cell(case: &CaseResult, quantity: &Quantity) -> Option<String> {
    let Found { value, ends: [low, high], .. } = (quantity.of)(case)?;
    let value = value?;
    Some(match (quantity.unit, low.zip(high)) {
        (Unit::Share, None) => units::share(value),
        // Their own digits: an interval's are those of its value.
        (Unit::Share, Some((low, high))) if value < 0.01 => {
            let [value, low, high] = [value, low, high].map(units::share);
            format!("{value} [{low}, {high}]")
        }
        (unit, ends) => unit.with_ends(value, ends),
    })
}
