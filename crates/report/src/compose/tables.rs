//! Tables of results: one per workload and placement, a row per case, the best of each question first.

use analysis::Site;
use model::distinct::distinct;
use std::collections::BTreeSet;

use super::{capacity, labels, loads, percentiles, ratios, signs};
use crate::{ASIDE, Block, Column, Emphasis, Row, Table, Text, Unit, units};
use analysis::{Bound, BoundKind, Carries, CaseResult, Judged, Status};
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
    let ranked = cases.iter().any(|case| {
        ratios::standing(judged, case).is_some_and(|(group, _)| group.standings.len() > 1)
    });
    let reference = ranked.then(|| ratios::reference(judged, &cases));
    let tails = percentiles::Columns::of(&cases);
    let asides = Asides::of(cases.iter().copied());
    let earlier = cases.iter().any(|case| case.earlier.is_some());
    let only = match questions.as_slice() {
        [only] => Some(only.as_str()),
        _ => None,
    };
    let mut table = Table::new(head.caption(only, reference.as_deref(), tails.are_shown()))
        .words([("mechanism", 0)]);
    let ratio = |name: &String| Column::number(format!("× {name}"), 0);
    table.columns.extend(reference.as_ref().map(ratio));
    let value = if tails.are_shown() { "p50" } else { "median" };
    table.columns.push(Column::number(value, 0));
    // Elsewhere all cases have as many.
    let counts = cases.iter().any(|case| case.screened_out);
    table.columns.extend(counts.then(|| Column::number("n", 0)));
    table.columns.extend(tails.columns(counts));
    table.columns.extend(asides.columns());
    let beside = [
        reference.as_ref().map(|name| format!("× {name} [95 %]")),
        Some(format!("{value} [95 %]")),
        earlier.then(|| "earlier here".to_string()),
    ];
    table.columns.extend(beside.into_iter().flatten().map(|name| Column::number(name, ASIDE)));
    let mut last = None;
    for case in cases {
        let question = question(judged, case);
        if questions.len() > 1 && last.as_ref() != Some(&question) {
            table.rows.push(Row::heading(Text::new().strong(&question)));
        }
        last = Some(question);
        let mut cells = vec![Text::new().code(shown_name(case))];
        cells.extend(reference.as_ref().map(|_| ratios::brief_cell(judged, case)));
        cells.push(match case.rate.filter(|rate| !rate.is_kept()) {
            Some(rate) => Text::new().muted(loads::short_of(rate)),
            None => labels::ends(case).into(),
        });
        cells.extend(counts.then(|| Text::from(case.launches.to_string())));
        cells.extend(tails.cells(case));
        cells.extend(asides.cells(case));
        cells.extend(reference.as_ref().map(|_| ratios::cell(judged, case)));
        cells.push(labels::value(case).into());
        cells.extend(earlier.then(|| labels::earlier_runs(case).unwrap_or_default().into()));
        let standing = ratios::standing(judged, case);
        let emphasis = match standing.map(|(group, standing)| signs::emphasis(group, standing)) {
            _ if case.carries.is_control() => Emphasis::Muted,
            Some(emphasis) => emphasis,
            None => Emphasis::Normal,
        };
        table.rows.push(Row::new(cells).emphasis(emphasis));
    }
    table
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

/// Columns beside each value, where there is room and something to put there.
struct Asides {
    bound: Option<&'static str>,
    cpu: bool,
}

impl Asides {
    fn of<'a>(cases: impl Iterator<Item = &'a CaseResult> + Clone) -> Asides {
        let mut kinds = cases.clone().filter(|case| bound_ratio(case).is_some());
        let floors = |case: &CaseResult| case.bound.as_ref().is_some_and(is_floor);
        Asides {
            bound: kinds
                .next()
                .map(|first| if floors(first) && kinds.all(floors) { FLOOR } else { YARDSTICK }),
            cpu: cases.clone().any(|case| case.cpu_ns_per_operation.is_some()),
        }
    }

    fn columns(&self) -> impl Iterator<Item = Column> {
        let named = [self.cpu.then_some(CPU), self.bound].into_iter().flatten();
        named.map(|name| Column::number(name, ASIDE))
    }

    fn cells(&self, case: &CaseResult) -> impl Iterator<Item = Text> {
        let bound = bound_ratio(case).map_or(String::new(), units::ratio);
        let cpu = case.cpu_ns_per_operation;
        let cpu = cpu.map_or(String::new(), |cpu| units::duration(cpu.total));
        let cells = [(self.cpu, cpu), (self.bound.is_some(), bound)];
        let cells = cells.into_iter().filter(|(flag, _)| *flag);
        cells.map(|(_, words)| Text::new().muted(words))
    }
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
    let asides = Asides::of(cases.iter().copied());
    let mut words = String::new();
    if asides.cpu {
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
