//! Comma-separated values (RFC 4180): a header, then one row per case and metric. What is absent is an
//! empty cell, and a column of nothing else is left out.

use std::borrow::Cow;
use std::collections::BTreeSet;

use analysis::quantity::{self, Found, OVER_REFERENCE, Told};
use analysis::{CaseResult, Judged, JudgedStudy, Standing};
use model::factor::Level;

/// One cell after the other, with the names of their columns.
#[derive(Default)]
struct Cells(Vec<(String, String)>);

impl Cells {
    fn put(&mut self, column: impl Into<String>, value: impl ToString) {
        self.0.push((column.into(), value.to_string()));
    }

    fn maybe(&mut self, column: impl Into<String>, value: Option<impl ToString>) {
        self.put(column, value.map_or(String::new(), |value| value.to_string()));
    }
}

/// The claims of the study that a run was made for, as a table; nothing of other runs.
pub fn claims(judged: &Judged) -> String {
    let claims = judged.study.iter().flat_map(JudgedStudy::claims);
    table(claims.map(|claim| {
        let mut cells = Cells::default();
        cells.put("id", claim.id);
        cells.put("statement", claim.statement);
        cells.maybe("claimed", claim.claimed);
        cells.put("test", word(&claim.test));
        cells.put("verdict", word(&claim.verdict));
        cells.maybe("effect", claim.effect);
        cells.maybe("low", claim.low);
        cells.maybe("high", claim.high);
        cells.maybe("unit", claim.unit);
        cells.maybe("p", claim.p);
        cells.maybe("p_holm", claim.p_holm);
        cells.maybe("words", claim.words);
        cells.maybe("reason", claim.reason);
        cells
    }))
}

/// The results of a run as a table: a row per case and metric. The second name of an A/A pair is none, and a
/// column in which every cell would be empty is left out.
pub fn text(judged: &Judged) -> String {
    let standings = || judged.groups.iter().flat_map(|group| &group.standings);
    let cases = judged.results.iter().enumerate().filter(|(_, case)| !case.twin);
    let rows = cases.flat_map(|(nth, case)| {
        let standing = standings().find(|standing| standing.result == nth);
        let all = quantity::all(case, standing);
        all.into_iter().map(move |told| row(judged, nth, standing, &told))
    });
    let rows = filled(rows.collect());
    let first = |nth: usize| rows.iter().position(|row| !row.0[nth].1.is_empty());
    let columns = rows.first().map_or(0, |row| row.0.len());
    let telling = (0..columns).filter_map(first).collect();
    table(early(rows, &telling).into_iter())
}

/// Rows from which a reader may guess the type of a column: DuckDB the first 20,480, R's readr 1,000, pandas all.
const LOOKED_AT: usize = 1_000;

/// The same rows, those that are `telling` first where a reader would not come to them: a column that is empty as far
/// as it looks has no type, and the numbers that follow are words.
pub(super) fn early<T>(rows: Vec<T>, telling: &BTreeSet<usize>) -> Vec<T> {
    if telling.last().is_none_or(|at| *at < LOOKED_AT) {
        return rows;
    }
    let rows = rows.into_iter().enumerate();
    let (first, rest): (Vec<_>, Vec<_>) = rows.partition(|(at, _)| telling.contains(at));
    first.into_iter().chain(rest).map(|(_, row)| row).collect()
}

/// Without the columns in which every cell is empty.
fn filled(rows: Vec<Cells>) -> Vec<Cells> {
    let columns = rows.first().map_or(0, |row| row.0.len());
    let kept: Vec<bool> =
        (0..columns).map(|nth| rows.iter().any(|row| !row.0[nth].1.is_empty())).collect();
    let of = |Cells(row): Cells| {
        Cells(row.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(cell, _)| cell).collect())
    };
    rows.into_iter().map(of).collect()
}

fn table(rows: impl Iterator<Item = Cells>) -> String {
    let mut text = String::new();
    for (nth, Cells(row)) in rows.enumerate() {
        if nth == 0 {
            push(&mut text, row.iter().map(|(column, _)| column));
        }
        push(&mut text, row.iter().map(|(_, value)| value));
    }
    text
}

fn push<'a>(text: &mut String, cells: impl Iterator<Item = &'a String>) {
    let cells: Vec<Cow<str>> = cells.map(|cell| quoted(cell)).collect();
    text.push_str(&cells.join(","));
    text.push_str("\r\n");
}

/// Words that pandas or R take for a cell without a value, quoted or not.
const MISSING: [&str; 15] = [
    "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "#N/A N/A", "NULL", "null", "None", "NaN", "nan",
    "1.#IND", "1.#QNAN", "inf",
];

/// Quoted where RFC 4180 needs it. Text that a spreadsheet would take for a formula, or a reader for a missing value,
/// has an apostrophe before it, and quotes around both (OWASP, CSV Injection); a number is what it says.
pub(super) fn quoted(cell: &str) -> Cow<'_, str> {
    let number = cell.parse::<f64>().is_ok_and(f64::is_finite);
    let formula = !number && cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let guarded = formula || MISSING.contains(&cell);
    if !guarded && !cell.contains([',', '"', '\r', '\n']) {
        return cell.into();
    }
    let text = if guarded { "'" } else { "" };
    format!("\"{text}{}\"", cell.replace('"', "\"\"")).into()
}

/// A case, and one thing that was found of it.
fn row(judged: &Judged, nth: usize, standing: Option<&Standing>, told: &Told) -> Cells {
    let mut cells = Cells::default();
    let case = &judged.results[nth];
    cells.put("run", judged.run.id);
    cells.put("case", nth);
    identity(&mut cells, case);
    cells.put("metric", &told.name);
    // What a metric is a ratio to: a floor, or a yardstick that a result may undercut.
    cells.maybe("kind", told.kind);
    cells.put("unit", told.unit.name());
    cells.maybe("better", told.better.map(|better| word(&better)));
    let Found { value, ends: [low, high], coverage, spread } = told.found.unwrap_or_default();
    cells.maybe("value", value);
    cells.maybe("low", low);
    cells.maybe("high", high);
    cells.maybe("coverage", coverage);
    cells.maybe("min", spread.map(|[min, ..]| min));
    cells.maybe("q1", spread.map(|[_, q1, ..]| q1));
    cells.maybe("q3", spread.map(|[.., q3, _]| q3));
    cells.maybe("max", spread.map(|[.., max]| max));
    let compared = standing.filter(|_| told.name == OVER_REFERENCE);
    cells.maybe("p_holm", compared.and_then(|standing| standing.p));
    cells.maybe("verdict", compared.and_then(|standing| standing.verdict));
    cells
}

/// What a case is, the same in every row of it.
fn identity(cells: &mut Cells, case: &CaseResult) {
    for (key, level) in case.identity().columns() {
        match level {
            // The second name of another has no row.
            Level::Flag(_) => {}
            Level::Absent => cells.put(key, ""),
            Level::Count(number) => cells.put(key, number),
            Level::Word(word) => cells.put(key, word),
            level => unreachable!("{level:?} is no cell"),
        }
        if key == "variant" {
            cells.put("mechanism", &case.mechanism);
        }
        if key == "asked_per_sec" {
            cells.maybe("arrivals", case.rate.map(|rate| word(&rate.arrivals)));
        }
    }
    cells.put("carries", word(&case.carries));
    cells.put("class", word(&case.class));
    cells.maybe("copies", case.copies);
    cells.put("spins", case.spins);
    cells.put("status", word(&case.status));
    cells.maybe("reason", case.reason.as_ref());
    cells.put("launches", case.launches);
    cells.put("failed_launches", case.failed_launches);
    cells.put("samples", case.samples);
    cells.maybe("batch", case.batch);
    cells.put("clock_limited", case.clock_limited);
    cells.maybe("overloaded", case.rate.map(|rate| rate.overloaded));
    cells.maybe("void", case.rate.map(|rate| rate.void));
}

/// The name that JSON gives the value: `not_applicable`.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(|value| value.as_str()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_quoted_where_it_must_be() {
        assert_eq!(quoted("pipe"), "pipe");
        assert_eq!(quoted("tcp:family=6,nodelay=off"), "\"tcp:family=6,nodelay=off\"");
        assert_eq!(quoted("a \"b\"\nc"), "\"a \"\"b\"\"\nc\"");
    }

    #[test]
    fn rows_that_tell_a_type_come_as_early_as_readers_look() {
        let rows = || (0..3 * LOOKED_AT).collect::<Vec<_>>();
        let first = [3, LOOKED_AT - 1].into();
        assert_eq!(early(rows(), &first), rows(), "in their own order");
        let found = early(rows(), &[3, 2 * LOOKED_AT].into());
        assert_eq!(found[..4], [3, 2 * LOOKED_AT, 0, 1]);
        assert_eq!(found.len(), 3 * LOOKED_AT);
    }

    #[test]
    fn a_formula_is_text_and_a_number_a_number() {
        for text in ["=1+2", "+a", "-", "-inf", "@SUM(A1)", "\tx", "\rx", "=\"x\""] {
            let cell = quoted(text);
            assert!(cell.starts_with("\"'") && cell.ends_with('"'), "{text}: {cell}");
        }
        for text in ["NA", "null", "nan", "None"] {
            assert_eq!(quoted(text), format!("\"'{text}\""));
        }
        assert_eq!(quoted("=\"x\",y"), "\"'=\"\"x\"\",y\"");
        for number in ["-1", "-0.25", "-1e-7", "+3", "5", "", "a=b", "x-y"] {
            assert_eq!(quoted(number), number);
        }
    }
}
