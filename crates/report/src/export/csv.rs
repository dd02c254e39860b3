//! Comma-separated values (RFC 4180): a header, then one row per result. Units are in the
//! names of the columns; what is absent is an empty cell.

use std::borrow::Cow;

use analysis::Total;
use analysis::{CaseResult, Estimate, Judged, JudgedStudy, PERCENTILES, Standing};
use store::Concurrent;

/// One cell after the other, with the names of their columns.
#[derive(Default)]
struct Cells(Vec<(String, String)>);

impl Cells {
    fn put(&mut self, column: impl Into<String>, value: impl ToString) {
        self.0.push((column.into(), value.to_string()));
    }

    fn maybe(&mut self, column: impl Into<String>, value: Option<impl ToString>) {
        self.put(column, value.map_or(String::new(), |it| it.to_string()));
    }
}

/// The claims of the study that a run was made for, as a table; nothing of other runs.
pub fn claims(judged: &Judged) -> String {
    let claims = judged.study.iter().flat_map(JudgedStudy::claims);
    table(claims.map(|it| {
        let mut cells = Cells::default();
        cells.put("id", it.id);
        cells.put("statement", it.statement);
        cells.maybe("claimed", it.claimed);
        cells.put("verdict", word(&it.verdict));
        cells.maybe("effect", it.effect);
        cells.maybe("low", it.low);
        cells.maybe("high", it.high);
        cells.maybe("unit", it.unit);
        cells.maybe("p", it.p);
        cells.maybe("p_holm", it.p_holm);
        cells.maybe("words", it.words);
        cells.maybe("reason", it.reason);
        cells
    }))
}

/// The results of a run as a table.
pub fn text(judged: &Judged) -> String {
    let standings = || judged.groups.iter().flat_map(|group| &group.standings);
    let results = judged.results.iter().enumerate();
    table(results.map(|(nth, case)| row(judged, case, standings().find(|it| it.result == nth))))
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
    let cells: Vec<Cow<str>> = cells.map(|it| quoted(it)).collect();
    text.push_str(&cells.join(","));
    text.push_str("\r\n");
}

/// Quoted where RFC 4180 needs it. Text that a spreadsheet would take for a formula has an apostrophe
/// before it, and quotes around both (OWASP, CSV Injection); a number is what it says.
fn quoted(cell: &str) -> Cow<'_, str> {
    let number = cell.parse::<f64>().is_ok_and(f64::is_finite);
    let formula = !number && cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if !formula && !cell.contains([',', '"', '\r', '\n']) {
        return cell.into();
    }
    let text = if formula { "'" } else { "" };
    format!("\"{text}{}\"", cell.replace('"', "\"\"")).into()
}

fn row(judged: &Judged, case: &CaseResult, standing: Option<&Standing>) -> Cells {
    let mut cells = Cells::default();
    cells.put("run", judged.run.id);
    identity(&mut cells, case);
    cells.put("metric", &case.metric.name);
    cells.put("unit", case.metric.unit.name());
    cells.put("better", word(&case.metric.better));
    let value = case.value.as_ref();
    spread(&mut cells, value);
    for (name, _) in PERCENTILES {
        let found = value.and_then(|it| it.percentiles.get(name).copied().flatten());
        cells.maybe(format!("{name}_ns"), found.map(|it| it.value));
        cells.maybe(format!("{name}_low_ns"), found.map(|it| it.low));
        cells.maybe(format!("{name}_high_ns"), found.map(|it| it.high));
    }
    schedule(&mut cells, case);
    confidence(&mut cells, case);
    cells.maybe("time_over_reference", standing.and_then(|it| it.ratio));
    cells.maybe("time_over_reference_low", standing.and_then(|it| it.low));
    cells.maybe("time_over_reference_high", standing.and_then(|it| it.high));
    let slower = standing.and_then(|it| it.slower_than_best_at_most);
    cells.maybe("slower_than_best_at_most", slower);
    let slower = standing.and_then(|it| it.slower_than_best_at_least);
    cells.maybe("slower_than_best_at_least", slower);
    cells.maybe("p_holm", standing.and_then(|it| it.p));
    cells.maybe("verdict", standing.and_then(|it| it.verdict));
    cells.maybe("among_best", standing.map(|it| it.among_best));
    cells.maybe("among_best_sleeping", standing.map(|it| it.among_best_sleeping));
    cells
}

fn schedule(cells: &mut Cells, case: &CaseResult) {
    let rate = case.rate;
    cells.maybe("asked_per_sec", rate.map(|it| it.asked_per_sec));
    cells.maybe("arrivals", rate.map(|it| word(&it.arrivals)));
    cells.maybe("overloaded", rate.map(|it| it.overloaded));
    cells.maybe("void", rate.map(|it| it.void));
    cells.maybe("served_share", rate.and_then(|it| it.served_share));
    cells.maybe("served_per_sec", rate.and_then(|it| it.served_per_sec));
    cells.maybe("late_share", rate.and_then(|it| it.late_share));
    cells.maybe("lateness_median_ns", rate.and_then(|it| it.lateness_median_ns));
    cells.maybe("lateness_max_ns", rate.and_then(|it| it.lateness_max_ns));
}

fn identity(cells: &mut Cells, case: &CaseResult) {
    cells.put("variant", &case.variant);
    cells.put("mechanism", &case.mechanism);
    cells.put("workload", case.workload.name());
    cells.maybe("message_bytes", case.message_bytes);
    cells.maybe("total", case.total.map(Total::stored));
    cells.put("route", &case.route);
    cells.maybe("node", case.nodes.first());
    cells.maybe("far_node", case.nodes.get(1));
    cells.maybe("concurrent", case.concurrent.map(Concurrent::name));
    cells.put("placement", &case.placement);
    cells.maybe("cpu_first", case.cpus.map(|it| it[0]));
    cells.maybe("cpu_second", case.cpus.map(|it| it[1]));
    cells.put("workers", &case.workers);
    cells.put("payload", &case.payload);
    cells.put("twin", case.twin);
    cells.put("spins", case.spins);
    cells.put("status", word(&case.status));
    cells.maybe("reason", case.reason.as_ref());
    cells.put("launches", case.launches);
    cells.put("failed_launches", case.failed_launches);
    cells.put("samples", case.samples);
    cells.put("effective_samples", case.effective_samples);
    cells.maybe("batch", case.batch);
}

fn spread(cells: &mut Cells, estimate: Option<&Estimate>) {
    let mut put = |part: &str, value: Option<f64>| {
        cells.maybe(part, value);
    };
    put("median", estimate.map(|it| it.median));
    put("low", estimate.and_then(|it| it.interval.low));
    put("high", estimate.and_then(|it| it.interval.high));
    put("min", estimate.map(|it| it.min));
    put("q1", estimate.map(|it| it.q1));
    put("q3", estimate.map(|it| it.q3));
    put("max", estimate.map(|it| it.max));
}

fn confidence(cells: &mut Cells, case: &CaseResult) {
    let ranks = case.value.as_ref().and_then(|it| it.interval.ranks);
    cells.maybe("rank_low", ranks.map(|it| it[0]));
    cells.maybe("rank_high", ranks.map(|it| it[1]));
    cells.maybe("coverage", case.value.as_ref().and_then(|it| it.interval.coverage));
    let precision = case.precision_reached;
    cells.maybe("precision_asked", precision.map(|it| it.asked));
    cells.maybe("precision_half_width", precision.and_then(|it| it.half_width));
    cells.maybe("precision_reached", precision.map(|it| it.reached));
    cells.maybe("unmarked_launches", case.stratified.map(|it| it.launches));
    cells.maybe("unmarked_median", case.stratified.and_then(|it| it.median));
    cells.maybe("sessions_low", case.sessions.as_ref().map(|it| it.low));
    cells.maybe("sessions_high", case.sessions.as_ref().map(|it| it.high));
    cells.maybe("earlier_low", case.earlier.map(|it| it.low));
    cells.maybe("earlier_high", case.earlier.map(|it| it.high));
    cells.maybe("earlier_runs", case.earlier.map(|it| it.runs));
    cells.maybe("changed_after_round", case.over_time.map(|it| it.after_round));
    cells.maybe("change_verdict", case.over_time.and_then(|it| it.verdict).map(|it| word(&it)));
    cells.maybe("first_launches_median", case.over_time.map(|it| it.first));
    cells.maybe("last_launches_median", case.over_time.map(|it| it.last));
    cells.maybe("mode_low", case.modes.map(|it| it.low));
    cells.maybe("mode_low_launches", case.modes.map(|it| it.low_launches));
    cells.maybe("mode_high", case.modes.map(|it| it.high));
    cells.maybe("mode_high_launches", case.modes.map(|it| it.high_launches));
    let bound = case.bound.as_ref();
    cells.maybe("bound", bound.map(|it| &it.name));
    cells.maybe("bound_kind", bound.map(|it| it.kind.name()));
    cells.maybe("bound_value", bound.map(|it| it.value));
    cells.maybe("bound_low", bound.and_then(|it| it.interval.low));
    cells.maybe("bound_high", bound.and_then(|it| it.interval.high));
    cells.maybe("time_over_bound", bound.and_then(|it| it.ratio));
    cells.maybe("time_over_bound_low", bound.and_then(|it| it.ratio_low));
    cells.maybe("time_over_bound_high", bound.and_then(|it| it.ratio_high));
    cells.maybe("steady_launches", case.steady.map(|it| it.launches));
    cells.maybe("largest_ns", case.largest_ns);
    cells.maybe("clock_share", case.clock_share);
    cells.put("clock_limited", case.clock_limited);
}

/// The name that JSON gives the value: `not_applicable`.
fn word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).ok();
    value.as_ref().and_then(|it| it.as_str()).unwrap_or_default().to_string()
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
    fn a_formula_is_text_and_a_number_a_number() {
        for text in ["=1+2", "+a", "-", "-inf", "@SUM(A1)", "\tx", "\rx", "=\"x\""] {
            let cell = quoted(text);
            assert!(cell.starts_with("\"'") && cell.ends_with('"'), "{text}: {cell}");
        }
        assert_eq!(quoted("=\"x\",y"), "\"'=\"\"x\"\",y\"");
        for number in ["-1", "-0.25", "-1e-7", "+3", "5", "", "a=b", "x-y"] {
            assert_eq!(quoted(number), number);
        }
    }
}
