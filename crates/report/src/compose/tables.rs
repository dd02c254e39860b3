//! Tables of results: one per workload and placement, a row per case, the best of each question first.

use std::collections::BTreeSet;

use super::{capacity, labels, loads, percentiles, ratios, signs};
use crate::{ASIDE, Block, Emphasis, Table, Text, Unit, units};
use analysis::{Bound, BoundKind, Carries, CaseResult, Judged, Site, Status};
use model::distinct::distinct;
use model::load::Load;
use model::metric::Metric;
use model::workload::Workload;

/// One table per workload and placement. A heading in it names a question (a size, wake-ups, the controls), and
/// its cases follow as they are ranked.
pub fn summaries(judged: &Judged) -> Vec<Block> {
    let mut tables: Vec<Table> = Vec::new();
    for workload in Workload::ALL {
        let cases: Vec<&CaseResult> = judged
            .results
            .iter()
            .filter(|result| {
                result.workload == workload && result.status == Status::Ok && !result.twin
            })
            .collect();
        // Set-ups have a table of their own.
        let Some(metric) =
            cases.first().map(|case| &case.metric).filter(|metric| !metric.is_set_up())
        else {
            continue;
        };
        for site in labels::places(&cases) {
            let here: Vec<&CaseResult> =
                cases.iter().filter(|case| case.site == *site).copied().collect();
            tables.push(table(judged, &Head { metric, site }, &here));
        }
    }
    let signs = signs::in_words(&tables);
    let columns: BTreeSet<String> =
        tables.iter().flat_map(|table| &table.columns).map(|column| column.name.clone()).collect();
    let has = |name: &str| columns.contains(name);
    if let Some(last) = tables.last_mut() {
        last.notes.extend(has("p99").then(|| percentiles::MEANING.into()));
        last.notes.extend(has("clock").then(|| percentiles::BY_THE_CLOCK.into()));
        last.notes.extend(signs);
        let all: Vec<&CaseResult> = judged.results.iter().filter(|result| !result.twin).collect();
        let has_asides = [CPU, FLOOR, YARDSTICK].into_iter().any(has);
        let explained = asides_in_words(&all).filter(|_| has_asides);
        last.notes.extend(explained);
    }
    tables.into_iter().map(Block::from).collect()
}

/// What the cases of one table share.
struct Head<'a> {
    metric: &'a Metric,
    site: &'a Site,
}

impl Head<'_> {
    /// `Round trip of 64 B, one CPU: time over that of pipe, and percentiles`.
    fn caption(&self, only: Option<&str>, reference: Option<&str>, tails: bool) -> String {
        let mut caption = self.metric.title.to_string();
        if self.metric.paced {
            caption += &labels::qualifier(self.metric);
        }
        if let Some(only) = only {
            caption += &format!(" of {only}");
        }
        let values = if tails { "percentiles" } else { "median over launches" };
        let place = labels::place_of(self.site);
        match reference {
            Some(name) => format!("{caption}, {place}: time over that of {name}, and {values}"),
            None => format!("{caption}, {place}: {values}"),
        }
    }
}

fn table(judged: &Judged, head: &Head, cases: &[&CaseResult]) -> Table {
    let cases = ratios::in_order(judged, cases, |case| question_order(judged, case));
    let questions = distinct(cases.iter().map(|case| question(judged, case)));
    let only = match questions.as_slice() {
        [only] => Some(only.as_str()),
        _ => None,
    };
    let ranked = cases.iter().any(|case| {
        ratios::standing(judged, case).is_some_and(|(group, _)| group.standings.len() > 1)
    });
    let reference = ranked.then(|| ratios::reference(judged, &cases));
    let over = format!("× {}", reference.as_deref().unwrap_or_default());
    let tails = percentiles::are_shown(&cases);
    let value = if tails { "p50" } else { "median" };
    // Elsewhere all cases have as many.
    let counts = cases.iter().any(|case| case.screened_out);
    let earlier = cases.iter().any(|case| case.earlier.is_some());
    let bound = bound_column(&cases);
    let table = Table::of_each(head.caption(only, reference.as_deref(), tails), &cases)
        .words("mechanism", 0, |case| Text::new().code(shown_name(case)))
        .numbers_if(ranked, &over, 0, |case| ratios::brief_cell(judged, case))
        .numbers(value, 0, |case| match case.rate.filter(|rate| !rate.is_kept()) {
            Some(rate) => Text::new().muted(loads::short_of(rate)),
            None => labels::ends(case).into(),
        })
        .numbers_if(counts, "n", 0, |case| case.launches.to_string());
    percentiles::columns(table, |case| case, &cases, counts)
        .numbers_if(has_cpu_time(&cases), CPU, ASIDE, |case| {
            let cpu = case.cpu_ns_per_operation.map(|cpu| units::duration(cpu.total));
            Text::new().muted(cpu.unwrap_or_default())
        })
        .numbers_if(bound.is_some(), bound.unwrap_or_default(), ASIDE, |case| {
            Text::new().muted(bound_ratio(case).map_or(String::new(), units::ratio))
        })
        .numbers_if(ranked, format!("{over} [95 %]"), ASIDE, |case| ratios::cell(judged, case))
        .numbers(format!("{value} [95 %]"), ASIDE, |case| labels::value(case))
        .numbers_if(earlier, "earlier here", ASIDE, |case| {
            labels::earlier_runs(case).unwrap_or_default()
        })
        .emphasis(|case| match ratios::standing(judged, case) {
            _ if case.carries.is_control() => Emphasis::Muted,
            Some((group, standing)) => signs::emphasis(group, standing),
            None => Emphasis::Normal,
        })
        .under_several(|case| question(judged, case), |case| question(judged, case))
}

/// What is asked of a case, as the heading of its rows: `64 B`, `a wake-up, no bytes`.
fn question(judged: &Judged, case: &CaseResult) -> String {
    let what = match (case.carries, case.message_bytes) {
        (Carries::Signal, _) => "a wake-up, no bytes".to_string(),
        (carries, _) if carries.is_control() => "controls".to_string(),
        (_, Some(size)) => units::size(size),
        (_, None) => "no bytes".to_string(),
    };
    let class = case.class.words();
    format!("{what}{class}{}{}", labels::conditions(&case.case), capacity::stage(judged, case))
}

/// Sizes first, then wake-ups, then what shows the harness.
fn question_order(judged: &Judged, case: &CaseResult) -> (u8, Option<u64>, Option<Load>, String) {
    let kind = match case.carries {
        carries if carries.is_control() => 2,
        Carries::Signal => 1,
        _ => 0,
    };
    (kind, case.message_bytes.filter(|_| kind == 0), case.load, question(judged, case))
}

/// The variant, and a sign where it is not one that carries bytes.
fn shown_name(case: &CaseResult) -> String {
    match case.carries {
        Carries::Signal => format!("{} +", case.variant),
        _ => case.variant.clone(),
    }
}

/// The column of bounds, where any case has one.
fn bound_column(cases: &[&CaseResult]) -> Option<&'static str> {
    let mut bounded = cases.iter().filter(|case| bound_ratio(case).is_some()).peekable();
    bounded.peek()?;
    let floors = bounded.all(|case| case.bound.as_ref().is_some_and(is_floor));
    Some(if floors { FLOOR } else { YARDSTICK })
}

fn has_cpu_time(cases: &[&CaseResult]) -> bool {
    cases.iter().any(|case| case.cpu_ns_per_operation.is_some())
}

const FLOOR: &str = "× floor";
const YARDSTICK: &str = "× yardstick";
const CPU: &str = "CPU";

fn is_floor(bound: &Bound) -> bool {
    bound.kind == BoundKind::Floor
}

fn bound_ratio(case: &CaseResult) -> Option<f64> {
    case.bound.as_ref().and_then(|bound| bound.ratio).filter(|_| case.is_kept())
}

/// What the asides of `cases` mean, bounds by their names and values.
fn asides_in_words(cases: &[&CaseResult]) -> Option<Text> {
    let mut words = String::new();
    if has_cpu_time(cases) {
        words += "CPU, where there is room: time of both workers per round trip, or per message. ";
    }
    let bounds = || {
        let bounded = cases.iter().filter(|case| bound_ratio(case).is_some());
        bounded.filter_map(|case| Some((labels::unit(case), case.bound.as_ref()?)))
    };
    for (column, floors) in [(FLOOR, true), (YARDSTICK, false)] {
        let names: BTreeSet<String> = bounds()
            .filter(|(_, bound)| is_floor(bound) == floors)
            .map(|(unit, bound)| named_bound(unit, bound))
            .collect();
        if !names.is_empty() {
            let may = if floors { "" } else { ", which a result may beat" };
            let names: Vec<String> = names.into_iter().collect();
            words += &format!(
                "{column}: the time over that of {}, measured in the same rounds{may}. ",
                labels::list(&names)
            );
        }
    }
    (!words.is_empty()).then(|| Text::from(words.trim_end()))
}

/// `futex wake-up round trip, one CPU (3.02 µs [2.98, 3.10], 12 rounds)`.
fn named_bound(unit: Unit, bound: &Bound) -> String {
    let value = unit.with_ends(bound.value, bound.interval.ends());
    format!("{} ({value}, {})", bound.name, units::counted(bound.rounds, "round"))
}
