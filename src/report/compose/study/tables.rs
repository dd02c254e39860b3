//! A study's own tables: measured values with the published figures beside.

use std::collections::BTreeSet;

use super::{Written, factor, find, is_at};
use crate::judge::hypothesis::takes;
use crate::judge::{CaseResult, OverRounds, Returned, Status};
use crate::report::compose::observed::{exactly, merged, number, with_interval};
use crate::report::compose::words;
use crate::report::{Column, Emphasis, Row, Table, Text, Unit, units};
use crate::study::counted::{Count, SHARES};
use crate::study::factor::{Chosen, Factor, chosen};
use crate::study::format::{Published, TableSpec};

/// Columns beside which published figures still fit.
const BESIDE: usize = 3;
/// Where nothing was printed.
const NOTHING: &str = "–";

impl Written {
    pub(super) fn table(&self, spec: &TableSpec, results: &[CaseResult]) -> Table {
        if !spec.among.is_empty() {
            return self.order(spec, results);
        }
        let only = chosen(&spec.only);
        let rows = factor(spec.rows.get_ref());
        let shown: Vec<&str> = spec.show.iter().map(|it| it.get_ref().as_str()).collect();
        let shown = if shown.is_empty() { vec!["median"] } else { shown };
        let columns = spec.columns.as_ref().map(|it| factor(it.get_ref()));
        let beside = spec.beside.iter().filter_map(|name| {
            self.declared.study.published.iter().find(|it| it.name == *name.get_ref())
        });
        let beside: Vec<&Published> = beside.collect();
        let heads = self.heads(columns, &only, &shown, results);
        let mut table = Table { caption: spec.title.clone(), ..Default::default() };
        table.columns.push(Column::text(rows.name(), 0));
        for head in &heads {
            table.columns.push(Column::number(&head.name, 0));
        }
        // Few columns stand beside each other; many would not fit, and stand below each other.
        let wide = heads.iter().any(|it| matches!(Count::parse(&it.show), Some(Count::Values(_))));
        let below = heads.len() > BESIDE || wide;
        for published in &beside {
            let told = heads.iter().filter(|head| !below && told_of(published, head));
            table.columns.extend(told.map(|head| published_column(published, head)));
            table.notes.push(Text::from(format!(
                "{}: {}{}, {}{}; {}.",
                published.name,
                published.statistic,
                if is_rank(published) { String::new() } else { format!(" in {}", published.unit) },
                published.machine,
                published.year.map(|it| format!(", {it}")).unwrap_or_default(),
                published.place
            )));
        }
        let counts_only = heads.iter().all(|it| Count::parse(&it.show).is_some());
        let mut refusals = BTreeSet::new();
        let shared = words::shared_prefix(&self.declared.levels[&rows]);
        if let Some(shared) = shared {
            table.notes.push(Text::from("… stands for ").code(shared).plain("."));
        }
        for row in &self.declared.levels[&rows] {
            if only.level(rows).is_some_and(|it| it != row) {
                continue;
            }
            let here = only.with(rows, row);
            let mut cells = vec![Text::new().code(words::without_shared(row, shared))];
            let (mut missing, mut planned) = (true, false);
            for head in &heads {
                let case = find(&head.at(&here), results);
                let refusal = case.and_then(|it| it.counted.refusal(&head.show));
                refusals.extend(refusal.map(|it| (head.show.clone(), it.to_string())));
                planned |= case.is_some();
                missing &= case.is_none_or(|it| it.status != Status::Ok);
                cells.push(cell(case, &head.show, &head.at(&only), results));
            }
            if !planned && beside.is_empty() {
                continue; // the study leaves it out
            }
            for published in &beside {
                let told = heads.iter().filter(|head| !below && told_of(published, head));
                cells.extend(told.map(|head| printed(published, head, rows, row)));
            }
            let emphasis = if missing { Emphasis::Muted } else { Emphasis::Normal };
            table.rows.push(Row::new(cells).emphasis(emphasis));
            for published in beside.iter().filter(|_| below) {
                let told = heads.iter().map(|head| printed(published, head, rows, row));
                let told: Vec<Text> = told.collect();
                if told.iter().any(|it| it.to_plain() != NOTHING) {
                    let name = Text::new().muted(format!("  {}", published.name));
                    let cells = std::iter::once(name).chain(told);
                    table.rows.push(Row::new(cells).emphasis(Emphasis::Muted));
                }
            }
        }
        let told = merged(refusals.into_iter().collect()).into_iter();
        table.notes.extend(told.map(|it| Text::from(format!("Not testable here: {}.", it.1))));
        if counts_only {
            // What nothing looked at would be a row of dashes.
            table.rows.retain(|row| row.cells[1..].iter().any(|it| !is_dash(it)));
        }
        table
    }

    /// The columns of measured values: levels of a factor, statistics, or both.
    fn heads(
        &self,
        columns: Option<Factor>,
        only: &Chosen,
        shown: &[&str],
        results: &[CaseResult],
    ) -> Vec<Head> {
        let Some(factor) = columns else {
            return shown
                .iter()
                .map(|show| Head { name: show.to_string(), level: None, show: show.to_string() })
                .collect();
        };
        let present = |level: &&String| {
            only.level(factor).is_none_or(|it| it == *level)
                && results.iter().any(|case| is_at(case, factor, level) && takes(only, case))
        };
        let mut heads = Vec::new();
        for level in self.declared.levels[&factor].iter().filter(present) {
            for show in shown {
                let name = if shown.len() == 1 { level.clone() } else { format!("{level} {show}") };
                let at = Some((factor, level.clone()));
                heads.push(Head { name, level: at, show: show.to_string() });
            }
        }
        heads
    }
}

/// A column of measured values.
struct Head {
    name: String,
    level: Option<(Factor, String)>,
    show: String,
}

impl Head {
    fn at(&self, chosen: &Chosen) -> Chosen {
        match &self.level {
            Some((factor, level)) => chosen.with(*factor, level),
            None => chosen.clone(),
        }
    }
}

/// One measured value in a table.
fn cell(case: Option<&CaseResult>, show: &str, column: &Chosen, results: &[CaseResult]) -> Text {
    let Some(case) = case.filter(|it| it.status == Status::Ok) else {
        return Text::new().muted("n/a");
    };
    if let Some(count) = Count::parse(show) {
        return counted(case, show, &count);
    }
    let unit = words::unit(case);
    let Some(estimate) = case.estimate() else { return Text::new().muted("n/a") };
    let plain = |value: f64| Text::from(unit.format(value));
    if let Some(derived) = case.derived.get(show) {
        return Text::from(derived.to_string());
    }
    match show {
        "median" => Text::from(words::cell_value(case)),
        "mean" => case.mean.map_or(Text::from("–"), plain),
        "min" => plain(estimate.min),
        "q1" => plain(estimate.q1),
        "q3" => plain(estimate.q3),
        "max" => plain(estimate.max),
        "rank" | "rank-min" => Text::from(rank(case, show, column, results)),
        "switches" => Text::from(switches(case)),
        percentile => Text::from(percentile_of(case, percentile, unit)),
    }
}

fn is_dash(cell: &Text) -> bool {
    [NOTHING, "n/a"].contains(&cell.to_plain().as_str())
}

/// What observed launches beside a case counted.
fn counted(case: &CaseResult, name: &str, count: &Count) -> Text {
    let absent = || match case.counted.refusal(name) {
        Some(_) => Text::new().muted("not testable"),
        None => Text::new().muted(NOTHING),
    };
    if let Count::Values(call) = count {
        let Ok((values, others)) = case.counted.values(call) else { return absent() };
        return told_values(&values, others).map_or_else(|| Text::from("none"), Text::from);
    }
    let Ok(found) = case.counted.of(name) else { return absent() };
    Text::from(match (count, found.low, found.high) {
        (Count::Bytes(_), ..) => exactly(found.median),
        (Count::Carried(name), ..) if SHARES.contains(name) => share(&found),
        (_, Some(low), Some(high)) if name.ends_with("-ns") => {
            Unit::Nanoseconds.interval(found.median, low, high)
        }
        _ if name.ends_with("-ns") => units::duration(found.median),
        (_, Some(low), Some(high)) if name == "goodput" => {
            Unit::BytesPerSecond.interval(found.median, low, high)
        }
        _ => with_interval(found.median, found.low, found.high),
    })
}

/// A share in percent, with its interval.
fn share(found: &OverRounds) -> String {
    let percent = |share: f64| match 100.0 * share {
        0.0 => "0".to_string(),
        tiny if tiny < 0.005 => "<0.01".to_string(),
        small if small < 0.1 => format!("{small:.2}"),
        some if some < 9.95 => format!("{some:.1}"),
        many => format!("{many:.0}"),
    };
    let value = percent(found.median);
    match found.low.zip(found.high) {
        Some((low, high)) => format!("{value} % [{}, {}]", percent(low), percent(high)),
        None => format!("{value} %"),
    }
}

/// How many calls returned what, the most frequent first: `256.0 × 64 KiB`.
fn told_values(values: &[Returned], others: f64) -> Option<String> {
    const NAMED: usize = 2;
    let named = values.iter().take(NAMED).map(|it| {
        let what = match it.value {
            Some(value) if value >= 0 => exactly(value as f64),
            Some(_) => "an error".into(),
            None => "an address".into(),
        };
        format!("{} × {what}", number(it.per_operation))
    });
    let mut told: Vec<String> = named.collect();
    let rest: f64 = values.iter().skip(NAMED).map(|it| it.per_operation).sum::<f64>() + others;
    let all: f64 = values.iter().map(|it| it.per_operation).sum::<f64>() + others;
    if rest >= 0.01 * all && rest > 0.0 {
        told.push(format!("{} other", number(rest)));
    }
    (!told.is_empty()).then(|| told.join(", "))
}

/// The place of a case in its column, 1 for the quickest: by the median over launches of their
/// medians, or of their quickest operations.
fn rank(case: &CaseResult, show: &str, column: &Chosen, results: &[CaseResult]) -> String {
    let time = |case: &CaseResult| {
        let rounds = match show {
            "rank-min" => case.others_by_round.get("min")?,
            _ => &case.by_round,
        };
        let mut known: Vec<f64> = rounds.iter().flatten().copied().collect();
        known.sort_by(f64::total_cmp);
        (!known.is_empty()).then(|| crate::stats::median(&known))
    };
    let Some(own) = time(case) else { return "–".into() };
    let ahead = results
        .iter()
        .filter(|it| !it.twin && it.status == Status::Ok && !it.carries.is_control())
        .filter(|it| takes(column, it) && it.workload == case.workload)
        .filter(|it| time(it).is_some_and(|other| other < own))
        .count();
    (ahead + 1).to_string()
}

/// Voluntary switches of both workers for each operation.
fn switches(case: &CaseResult) -> String {
    case.switches_per_operation().map_or("–".into(), |it| format!("{it:.2}"))
}

/// A percentile over launches; where only the pooled samples have it, of those.
fn percentile_of(case: &CaseResult, name: &str, unit: Unit) -> String {
    let over_launches = case.estimate().and_then(|it| it.percentiles.get(name).copied().flatten());
    if let Some(known) = over_launches {
        return unit.format(known.value);
    }
    let wanted =
        name.strip_prefix('p').and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0) / 100.0;
    let pooled = case.curve.iter().find(|(probability, _)| *probability >= wanted - 1e-9);
    match (pooled, case.samples_missing.get(name)) {
        (Some((_, ns)), None) => units::duration(*ns),
        (_, Some(missing)) => format!("{} more", units::count(*missing)),
        (None, None) => "–".into(),
    }
}

/// Whether a published table has something to stand beside a column: of the same statistic.
fn told_of(published: &Published, head: &Head) -> bool {
    let of_figure = |show: &Option<String>| match show {
        Some(show) => *show == head.show,
        None => published.statistic == head.show,
    };
    published.figures.iter().any(|figure| of_figure(&figure.show))
}

fn published_column(published: &Published, head: &Head) -> Column {
    let of = if head.level.is_some() || head.show != "median" {
        format!("{} {}", published.name, head.name)
    } else {
        published.name.clone()
    };
    Column::number(of, 1)
}

/// A printed figure as its source has it.
fn printed(published: &Published, head: &Head, rows: Factor, row: &str) -> Text {
    let found = published.figures.iter().find(|figure| {
        let Ok(levels) = Chosen::of_words(&figure.levels) else { return false };
        let level_fits =
            |factor: Factor, wanted: &str| levels.level(factor).is_none_or(|it| it == wanted);
        level_fits(rows, row)
            && levels.level(rows).is_some()
            && head.level.as_ref().is_none_or(|(factor, level)| level_fits(*factor, level))
            && figure.show.as_ref().unwrap_or(&published.statistic) == &head.show
    });
    match found {
        Some(figure) if is_rank(published) => Text::from(figure.as_printed()),
        Some(figure) => {
            let unit = figure.unit.as_ref().unwrap_or(&published.unit);
            Text::from(format!("{} {unit}", figure.as_printed()))
        }
        None => Text::new().muted(NOTHING),
    }
}

/// A place in an order has no unit.
fn is_rank(published: &Published) -> bool {
    published.unit == "rank"
}
