//! Signs in the cells of tables, and what they mean where one stands.

use super::{ratios, words};
use crate::{Block, Table, Text};
use analysis::{CaseResult, GroupVerdict, Judged};

/// Stands before what is among the best.
const BEST: char = '*';
const BEST_IN_WORDS: &str = "* among the best of its group: not separated from the best.";

/// What the sign of the best means, where it stands in `table`.
pub fn best_in_words(table: &Table) -> Option<Text> {
    let mut cells = table.rows.iter().flat_map(|row| &row.cells);
    cells.any(|it| it.to_plain().starts_with(BEST)).then(|| BEST_IN_WORDS.into())
}

/// What the signs mean that stand in a cell of `tables`; None where none does.
pub fn in_words(tables: &[Block]) -> Option<Text> {
    let cells: Vec<String> = tables
        .iter()
        .filter_map(|it| if let Block::Table(table) = it { Some(&table.rows) } else { None })
        .flat_map(|rows| rows.iter().flat_map(|row| &row.cells))
        .map(Text::to_plain)
        .collect();
    let stands = |is: &dyn Fn(&str) -> bool| cells.iter().any(|it| is(it));
    let meant = [
        (stands(&|it| it.starts_with(BEST)), BEST_IN_WORDS),
        (stands(&|it| it.ends_with(" +")), "+ carries a wake-up, no bytes."),
        (
            stands(&|it| it.ends_with(words::CHANGES)),
            "~ its launches change over the rounds, or fall into two modes: see the verdicts.",
        ),
        (stands(&|it| it == "n/a"), "n/a: see the remarks."),
    ];
    let told: Vec<&str> = meant.into_iter().filter(|it| it.0).map(|it| it.1).collect();
    (!told.is_empty()).then(|| Text::from(told.join(" ")))
}

/// A value, marked where it is among the best of its group.
pub fn cell(judged: &Judged, case: &CaseResult, value: String) -> Text {
    if is_best(judged, case) {
        Text::new().strong(format!("{BEST}{value}"))
    } else {
        Text::from(value)
    }
}

/// Whether it is among the best of a group that has more than one.
pub fn is_best(judged: &Judged, case: &CaseResult) -> bool {
    let told = |group: &GroupVerdict| group.standings.len() > 1 && !group.is_disturbed();
    ratios::standing(judged, case).is_some_and(|(group, it)| it.among_best && told(group))
}
