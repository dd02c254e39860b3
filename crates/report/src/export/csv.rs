//! Comma-separated values (RFC 4180): a header, then one row per case and metric. What is absent is an
//! empty cell, and a column of nothing else is left out.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use analysis::{CaseResult, Estimate, Judged, JudgedStudy, PERCENTILES, Standing};
use model::identity::Level;
use model::metric::{Better, Unit};

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
        let found = quantities(case, standing);
        found.into_iter().map(move |quantity| row(judged, nth, standing, &quantity))
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
fn row(judged: &Judged, nth: usize, standing: Option<&Standing>, found: &Quantity) -> Cells {
    let mut cells = Cells::default();
    let case = &judged.results[nth];
    cells.put("run", judged.run.id);
    cells.put("case", nth);
    identity(&mut cells, case);
    cells.put("metric", &found.metric);
    // What a metric is a ratio to: a floor, or a yardstick that a result may undercut.
    cells.maybe("kind", found.kind);
    cells.put("unit", found.unit);
    cells.maybe("better", found.better.map(|better| word(&better)));
    cells.maybe("value", found.value);
    cells.maybe("low", found.interval[0]);
    cells.maybe("high", found.interval[1]);
    cells.maybe("coverage", found.coverage);
    cells.maybe("min", found.spread.map(|spread| spread[0]));
    cells.maybe("q1", found.spread.map(|spread| spread[1]));
    cells.maybe("q3", found.spread.map(|spread| spread[2]));
    cells.maybe("max", found.spread.map(|spread| spread[3]));
    let compared = standing.filter(|_| found.metric == OVER_REFERENCE);
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

/// The time of an operation over that of the group's reference.
const OVER_REFERENCE: &str = "time_over_reference";

/// One thing that was found of a case, over its launches.
#[derive(Default)]
struct Quantity {
    metric: String,
    unit: &'static str,
    better: Option<Better>,
    value: Option<f64>,
    interval: [Option<f64>; 2],
    /// The coverage that the interval really has.
    coverage: Option<f64>,
    /// Smallest launch, quartiles, largest launch.
    spread: Option<[f64; 4]>,
    /// Of what is held against a bound, that bound's kind.
    kind: Option<&'static str>,
}

impl Quantity {
    fn estimated(metric: &str, unit: Unit, better: Better, of: Option<&Estimate>) -> Quantity {
        Quantity {
            metric: metric.into(),
            unit: unit.name(),
            better: Some(better),
            value: of.map(|estimate| estimate.median),
            interval: of
                .map_or([None; 2], |estimate| [estimate.interval.low, estimate.interval.high]),
            coverage: of.and_then(|estimate| estimate.interval.coverage),
            spread: of.map(|estimate| [estimate.min, estimate.q1, estimate.q3, estimate.max]),
            kind: None,
        }
    }

    /// None where neither it nor its interval is known.
    fn known(
        metric: impl Into<String>,
        unit: &'static str,
        value: Option<f64>,
        interval: [Option<f64>; 2],
    ) -> Option<Quantity> {
        let is_known = value.is_some() || interval.iter().any(Option::is_some);
        let metric = metric.into();
        is_known.then(|| Quantity { metric, unit, value, interval, ..Quantity::default() })
    }
}

/// All that was found of a case: its metric first, also where there is no value.
fn quantities(case: &CaseResult, standing: Option<&Standing>) -> Vec<Quantity> {
    let (metric, value) = (&case.metric, case.value.as_ref());
    let mut all = vec![Quantity::estimated(&metric.name, metric.unit, metric.better, value)];
    let alone = |name: &str, unit, value| Quantity::known(name, unit, value, [None; 2]);
    for (name, _) in PERCENTILES {
        let found = value.and_then(|value| value.percentiles.get(name).copied().flatten());
        let name = format!("{}_{name}", metric.name);
        if let Some(over) = found {
            let ends = [Some(over.low), Some(over.high)];
            all.extend(Quantity::known(&name, metric.unit.name(), Some(over.value), ends));
            all.extend(alone(&format!("{name}_later"), "share", Some(over.later_share)));
        }
    }
    all.extend(alone("largest", "ns", case.largest_ns));
    all.extend(case.secondary.iter().map(|secondary| {
        Quantity::estimated(
            &secondary.name,
            secondary.unit,
            secondary.better,
            Some(&secondary.value),
        )
    }));
    if let Some(cpu) = &case.cpu_ns_per_operation {
        let ends = [cpu.interval.low, cpu.interval.high];
        all.extend(Quantity::known("cpu_time", "ns", Some(cpu.total), ends));
        all.extend(alone("cpu_time_user", "ns", Some(cpu.user)));
        all.extend(alone("cpu_time_system", "ns", Some(cpu.system)));
    }
    if let Some(bound) = &case.bound {
        let ends = [bound.interval.low, bound.interval.high];
        let value = Quantity::known("bound", metric.unit.name(), Some(bound.value), ends);
        let ends = [bound.ratio_low, bound.ratio_high];
        let over = Quantity::known("time_over_bound", "ratio", bound.ratio, ends);
        let kind = Some(bound.kind.name());
        all.extend(
            [value, over].into_iter().flatten().map(|quantity| Quantity { kind, ..quantity }),
        );
    }
    all.extend(standing.and_then(|standing| {
        Quantity::known(OVER_REFERENCE, "ratio", standing.ratio, [standing.low, standing.high])
    }));
    all.extend(standing.and_then(|standing| {
        let ends = [standing.slower_than_best_at_least, standing.slower_than_best_at_most];
        Quantity::known("slower_than_best", "share", standing.slower_than_best, ends)
    }));
    all.extend(others(case));
    all
}

/// Parts of a result that stand in columns of their own, or are told above: all others are told by [`others`].
const TOLD: [&str; 33] = [
    "group",
    "variant",
    "mechanism",
    "options",
    "carries",
    "copies",
    "spins",
    "twin",
    "workload",
    "metric",
    "workers",
    "route",
    "placement",
    "nodes",
    "concurrent",
    "cpus",
    "message_bytes",
    "total",
    "connections",
    "payload",
    "align",
    "batch",
    "launches",
    "failed_launches",
    "samples",
    "status",
    "reason",
    "value",
    "secondary",
    "largest_ns",
    "clock_limited",
    "cpu_ns_per_operation",
    "bound",
];
/// The same of a schedule, which has columns for what was asked.
const ASKED: [&str; 7] =
    ["asked_per_sec", "depth", "connections", "response_bytes", "service", "overloaded", "void"];

/// Every other number of a result, by its path in JSON: `clients_worst_share`, `delivery_residual_loss`. So that
/// nothing which JSON has of a case is forgotten here.
fn others(case: &CaseResult) -> Vec<Quantity> {
    let mut found = Vec::new();
    let Ok(Value::Object(parts)) = serde_json::to_value(case) else { return found };
    for (name, value) in parts.into_iter().filter(|part| !TOLD.contains(&part.0.as_str())) {
        match value {
            Value::Object(mut rate) if name == "rate" => {
                rate.retain(|key, _| !ASKED.contains(&key.as_str()));
                flatten("", Value::Object(rate), &mut found);
            }
            value => flatten(&name, value, &mut found),
        }
    }
    found
}

/// Numbers under `path`; what has ends is one quantity with its interval. Lists are of launches: see `launches`.
fn flatten(path: &str, value: Value, found: &mut Vec<Quantity>) {
    match value {
        Value::Number(number) => {
            let (name, unit) = named(path);
            found.extend(Quantity::known(name, unit, number.as_f64(), [None; 2]));
        }
        Value::Bool(is_so) => {
            found.extend(Quantity::known(path, "flag", Some(f64::from(u8::from(is_so))), [None; 2]))
        }
        Value::Object(mut parts) => {
            let number = |value: Option<&Value>| value.and_then(Value::as_f64);
            let ends = [number(parts.get("low")), number(parts.get("high"))];
            let middle =
                ["median", "share", "value"].into_iter().find(|text| parts.contains_key(*text));
            if let (Some(middle), [Some(_), Some(_)]) = (middle, ends) {
                let coverage = number(parts.get("coverage"));
                let (name, unit) = named(path);
                let value = number(parts.get(middle));
                let quantity = Quantity::known(name, unit, value, ends);
                found.extend(quantity.map(|quantity| Quantity { coverage, ..quantity }));
                for told in [middle, "low", "high", "coverage"] {
                    parts.remove(told);
                }
            }
            for (key, value) in parts {
                // A median without an interval is the quantity itself.
                let path = match (path, key.as_str()) {
                    ("", key) => key.to_string(),
                    (path, "median") => path.to_string(),
                    (path, key) => format!("{path}_{key}"),
                };
                flatten(&path, value, found);
            }
        }
        Value::Null | Value::String(_) | Value::Array(_) => {}
    }
}

/// The name without the unit of a time, and the unit that it says.
fn named(path: &str) -> (String, &'static str) {
    let unit = match path {
        path if path.ends_with("_ns") || path.contains("_ns_") => "ns",
        path if path.ends_with("_per_sec") => "per_sec",
        path if path.ends_with("_per_payload_byte") || path.ends_with("_per_message") => "ratio",
        path if path.ends_with("_bytes") => "bytes",
        path if path.ends_with("share") || path.ends_with("_loss") => "share",
        _ => "number",
    };
    // `clients_p50_ns_largest` is as much a time as `clients_p50_ns`.
    let name = path.strip_suffix("_ns").unwrap_or(path).replace("_ns_", "_");
    (name, unit)
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
