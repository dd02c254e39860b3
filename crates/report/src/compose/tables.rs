//! Tables of results: one per workload and placement, as wide as a terminal.

use model::distinct::distinct;
use std::collections::BTreeSet;

use super::{percentiles, ratios, signs, words};
use crate::{ASIDE, Block, Column, Row, Table, Text, Unit, units};
use analysis::{Bound, BoundKind, Carries, CaseResult, Judged, Status};
use model::metric::Metric;
use model::workload::Workload;

/// One table per workload and placement. Up to three sizes stand side by side, mechanisms
/// down; more sizes run down, mechanisms across.
pub fn summaries(judged: &Judged) -> Vec<Block> {
    let mut tables = Vec::new();
    for workload in Workload::ALL {
        let cases: Vec<&CaseResult> = judged
            .results
            .iter()
            .filter(|it| it.workload == workload && it.status == Status::Ok && !it.twin)
            .collect();
        // Set-ups have a table of their own.
        let Some(metric) = cases.first().map(|it| &it.metric).filter(|it| !it.is_set_up()) else {
            continue;
        };
        for (workers, placement) in words::places(&cases) {
            let here: Vec<&CaseResult> = cases
                .iter()
                .filter(|it| it.workers == workers && it.site == placement)
                .copied()
                .collect();
            let head = Head { metric, workers, placement };
            let by_ratio = ratios::lead(judged, &here);
            if by_ratio {
                let (what, place) = (head.what(), head.place());
                tables.push(ratios::table(judged, (&what, &place), &here).into());
            }
            if metric.paced {
                let caption = if by_ratio {
                    format!("Percentiles of a response, {}", head.place())
                } else {
                    head.caption()
                };
                tables.push(percentiles::table(judged, caption, &here).into());
                continue;
            }
            if !by_ratio {
                tables.push(summary(judged, &head, &here).into());
            }
            if percentiles::are_shown(judged, &here) {
                let mut what = "Percentiles of a round trip".to_string();
                if by_ratio {
                    what = ratios::of_size(&what, &here);
                }
                let caption = format!("{what}, {}", head.place());
                tables.push(percentiles::table(judged, caption, &here).into());
            }
        }
    }
    let aside = |it: &Block| match it {
        Block::Table(table) => table.columns.iter().any(|column| column.priority == ASIDE),
        _ => false,
    };
    let has_asides = tables.iter().any(aside);
    let signs = signs::in_words(&tables);
    if let Some(Block::Table(last)) = tables.last_mut() {
        last.notes.extend(signs);
        let all: Vec<&CaseResult> = judged.results.iter().filter(|it| !it.twin).collect();
        let explained = asides_in_words(&all).filter(|_| has_asides);
        last.notes.extend(explained);
    }
    tables
}

/// What the cases of one table share.
struct Head<'a> {
    metric: &'a Metric,
    workers: &'a str,
    placement: &'a str,
}

impl Head<'_> {
    fn caption(&self) -> String {
        format!("{}, {}: median over launches [interval]", self.what(), self.place())
    }

    fn what(&self) -> String {
        if self.metric.paced {
            format!("{}{}", self.metric.title, words::qualifier(self.metric))
        } else {
            self.metric.title.to_string()
        }
    }

    fn place(&self) -> String {
        words::place_of((self.workers, self.placement))
    }
}

fn summary(judged: &Judged, head: &Head, cases: &[&CaseResult]) -> Table {
    let sizes: BTreeSet<u64> = cases.iter().filter_map(|it| it.message_bytes).collect();
    let sizes: Vec<u64> = sizes.into_iter().collect();
    let mut table = Table::new(head.caption());
    if sizes.len() > 3 {
        by_size(judged, &mut table, cases, &sizes);
        return table;
    }
    table.columns.push(Column::text("mechanism", 0));
    let headings: Vec<String> = match sizes.as_slice() {
        [] => vec!["wake-up".into()],
        sizes => sizes.iter().map(|size| units::size(*size)).collect(),
    };
    // A wake-up has no size: it stands once, in the first column.
    let in_column = |it: &CaseResult, at: usize| match it.carries {
        carries if carries.has_size() => it.message_bytes == sizes.get(at).copied(),
        _ => at == 0,
    };
    let asides: Vec<Asides> = (0..headings.len())
        .map(|at| Asides::of(cases.iter().filter(|it| in_column(it, at)).copied()))
        .collect();
    for (heading, asides) in headings.iter().zip(&asides) {
        table.columns.push(Column::number(heading, 0));
        table.columns.extend(asides.columns());
    }
    for name in names(cases) {
        let here = || cases.iter().filter(|it| it.variant == name);
        let bytes = here().any(|it| it.carries == Carries::Bytes);
        let cells = asides.iter().enumerate().flat_map(|(at, asides)| {
            let found = here().find(|it| in_column(it, at)).copied();
            let value = match found {
                Some(case) => signs::cell(judged, case, words::cell_value(case)),
                None if bytes => Text::new().muted("n/a"),
                None => Text::new(),
            };
            std::iter::once(value).chain(asides.cells(found))
        });
        let shown = here().next().map_or(name.to_string(), |it| shown_name(it));
        let cells = std::iter::once(Text::new().code(shown)).chain(cells);
        table.rows.push(Row::new(cells));
    }
    table
}

/// The variant, and a sign where it is not one that carries bytes.
pub fn shown_name(case: &CaseResult) -> String {
    match case.carries {
        Carries::Signal => format!("{} +", case.variant),
        Carries::Own => format!("{} (control)", case.variant),
        _ => case.variant.clone(),
    }
}

/// Columns beside each value, where there is room and something to put there.
pub struct Asides {
    bound: Option<&'static str>,
    cpu: bool,
}

impl Asides {
    /// What there is of all these cases.
    pub fn of<'a>(cases: impl Iterator<Item = &'a CaseResult> + Clone) -> Asides {
        let mut kinds = cases.clone().filter(|it| bound_ratio(it).is_some());
        let floors = |it: &CaseResult| it.bound.as_ref().is_some_and(is_floor);
        Asides {
            bound: kinds
                .next()
                .map(|first| if floors(first) && kinds.all(floors) { FLOOR } else { YARDSTICK }),
            cpu: cases.clone().any(|it| it.cpu_ns_per_operation.is_some()),
        }
    }

    pub fn columns(&self) -> impl Iterator<Item = Column> {
        let named = [self.bound, self.cpu.then_some(CPU)].into_iter().flatten();
        named.map(|name| Column::number(name, ASIDE))
    }

    pub fn cells(&self, case: Option<&CaseResult>) -> impl Iterator<Item = Text> {
        let bound = case.and_then(bound_ratio).map_or(String::new(), units::ratio);
        let cpu = case.and_then(|it| it.cpu_ns_per_operation);
        let cpu = cpu.map_or(String::new(), |it| units::duration(it.total));
        let cells = [(self.bound.is_some(), bound), (self.cpu, cpu)];
        let cells = cells.into_iter().filter(|(it, _)| *it);
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
    case.bound.as_ref().and_then(|it| it.ratio).filter(|_| case.is_kept())
}

/// What the asides of `cases` mean, bounds by their names and values.
fn asides_in_words(cases: &[&CaseResult]) -> Option<Text> {
    let asides = Asides::of(cases.iter().copied());
    let mut words = String::new();
    if asides.cpu {
        words += "CPU, where there is room: time of both workers per round trip, or per message. ";
    }
    let bounds = || {
        let held = cases.iter().filter(|it| bound_ratio(it).is_some());
        held.filter_map(|it| Some((words::unit(it), it.bound.as_ref()?)))
    };
    for (column, floors) in [(FLOOR, true), (YARDSTICK, false)] {
        let told: BTreeSet<String> = bounds()
            .filter(|(_, it)| is_floor(it) == floors)
            .map(|(unit, it)| named_bound(unit, it))
            .collect();
        if !told.is_empty() {
            let may = if floors { "" } else { ", which a result may beat" };
            let told: Vec<String> = told.into_iter().collect();
            words += &format!(
                "{column}: the time over that of {}, measured in the same rounds{may}. ",
                words::list(&told)
            );
        }
    }
    (!words.is_empty()).then(|| Text::from(words.trim_end()))
}

/// `futex wake-up round trip, one CPU (3.02 µs [2.98, 3.10], 12 rounds)`.
fn named_bound(unit: Unit, bound: &Bound) -> String {
    let value = unit.with_ends(bound.value, bound.interval.ends());
    let rounds = if bound.rounds == 1 { "round" } else { "rounds" };
    format!("{} ({value}, {} {rounds})", bound.name, bound.rounds)
}

/// Sizes down, mechanisms across, with the half-width only: curves have many cells.
fn by_size(judged: &Judged, table: &mut Table, cases: &[&CaseResult], sizes: &[u64]) {
    let with_bytes: Vec<&CaseResult> =
        cases.iter().filter(|it| it.message_bytes.is_some()).copied().collect();
    let names = names(&with_bytes);
    table.columns.push(Column::number("size", 0));
    for (nth, name) in names.iter().enumerate() {
        table.columns.push(Column::number(*name, nth as u8 / 3));
    }
    for size in sizes {
        let mut cells = vec![Text::from(units::size(*size))];
        for name in &names {
            let of = |it: &&&CaseResult| it.variant == *name && it.message_bytes == Some(*size);
            cells.push(match with_bytes.iter().find(of) {
                Some(case) => signs::cell(judged, case, words::short_value(case)),
                None => Text::new().muted("n/a"),
            });
        }
        table.rows.push(Row::new(cells));
    }
}

fn names<'a>(cases: &[&'a CaseResult]) -> Vec<&'a str> {
    distinct(cases.iter().map(|it| it.variant.as_str()))
}
