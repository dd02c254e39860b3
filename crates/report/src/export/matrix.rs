//! A square matrix by CPU, as tools that measure core to core write it: CSV, a row and a column per CPU, the
//! median in each cell, nothing where a pair was not measured. The first cell says what, both ways or one,
//! and the unit.

use super::csv::quoted;
use super::{file_name, name};
use crate::compose::labels;
use crate::cpu_pairs::{Matrix, matrices};
use analysis::Judged;

/// Every matrix, an empty line between two.
pub fn text(judged: &Judged) -> String {
    let all: Vec<String> = matrices(judged).iter().map(table).collect();
    all.join("\r\n")
}

/// Each matrix with a name fit for a file.
pub fn files(judged: &Judged) -> Vec<(String, String)> {
    let named = |matrix: &Matrix| {
        let case = matrix.first();
        let title =
            name(judged, case).replace(&case.placement.to_string().replace(',', "+"), "cpus");
        (file_name(&title), table(matrix))
    };
    matrices(judged).iter().map(named).collect()
}

fn table(matrix: &Matrix) -> String {
    let case = matrix.first();
    let size = case
        .message_bytes
        .map_or(String::new(), |message_bytes| format!(" of {message_bytes} bytes"));
    let what = case.metric.title.to_lowercase();
    let conditions = labels::conditions(&case.case) + labels::threads(case.workers);
    let unit = case.metric.unit.name();
    let head = format!("{} {what}{size}{conditions} in {unit}", case.variant);
    let line =
        |first: &str, cells: Vec<String>| format!("{},{}\r\n", quoted(first), cells.join(","));
    let mut text = line(&head, matrix.cpus.iter().map(u32::to_string).collect());
    for row in &matrix.cpus {
        let cell = |column: &u32| {
            matrix.between(*row, *column).map_or(String::new(), |value| value.to_string())
        };
        text.push_str(&line(&row.to_string(), matrix.cpus.iter().map(cell).collect()));
    }
    text
}
