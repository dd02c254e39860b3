//! Signs in the cells of tables, and what they mean where one is used.

use super::ratios;
use crate::{Emphasis, Table, Text};
use analysis::{CaseResult, GroupVerdict, Judged, NEGLIGIBLE, Standing};

/// Stands before what is among the best.
const BEST: char = '*';

/// What two that are not separated don't differ by: `by more than 1 %`.
pub fn by_more() -> String {
    format!("by more than {:.0} %", 100.0 * NEGLIGIBLE)
}

/// What the sign of the best means, where it is used in `table`.
pub fn best_in_words(table: &Table) -> Option<Text> {
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    let is_used = cells.any(|cell| cell.to_plain().starts_with(BEST));
    is_used.then(|| {
        let by_more = by_more();
        format!("{BEST} among the best of its group: not separated from the best {by_more}.").into()
    })
}

/// What the signs mean that are used in `tables`; None where none does.
pub fn in_words(tables: &[Table]) -> Option<Text> {
    let rows = || tables.iter().flat_map(|table| &table.rows);
    let cells: Vec<String> = rows().flat_map(|row| &row.cells).map(Text::to_plain).collect();
    let any_cell = |is: &dyn Fn(&str) -> bool| cells.iter().any(|cell| is(cell));
    let tied = format!("≈ not separated {} from the best under its heading.", by_more());
    let meant = [
        (rows().any(|row| row.emphasis == Emphasis::Best), "✓ best under its heading."),
        (rows().any(|row| row.emphasis == Emphasis::Tied), &*tied),
        (any_cell(&|text| text.contains('(')), "( ): the ends of a 95 % interval, each by itself."),
        (any_cell(&|text| text.ends_with(" +")), "+ carries a wake-up, no bytes."),
    ];
    let meanings: Vec<&str> = meant.into_iter().filter(|pair| pair.0).map(|pair| pair.1).collect();
    (!meanings.is_empty()).then(|| Text::from(meanings.join(" ")))
}

/// A value, marked where it is among the best of its group.
pub fn cell(judged: &Judged, case: &CaseResult, value: String) -> Text {
    if is_best(judged, case) {
        Text::new().strong(format!("{BEST}{value}"))
    } else {
        Text::from(value)
    }
}

/// How the row of a case stands out that may be the best of its group.
pub fn emphasis(group: &GroupVerdict, standing: &Standing) -> Emphasis {
    match standing.among_best && group.names_the_best() {
        false => Emphasis::Normal,
        true if group.standings.iter().filter(|standing| standing.among_best).count() == 1 => {
            Emphasis::Best
        }
        true => Emphasis::Tied,
    }
}

/// Whether it is among the best of a group that says what is best.
pub fn is_best(judged: &Judged, case: &CaseResult) -> bool {
    ratios::standing(judged, case)
        .is_some_and(|(group, standing)| standing.among_best && group.names_the_best())
}
