//! Where a message's time goes, in words, a table and a figure; against another mechanism, where
//! the difference comes from.

mod teach;
mod words;

use crate::compose::words as common;
use crate::units::{duration, ratio};
use crate::{
    Axis, Block, Column, Drawn, Figure, FigureKind, Point, Row, Scale, Section, Series, Table,
    Text, Unit, Verdict, VerdictKind, units,
};
use analysis::Judged;
use analysis::explain::{Cost, CostPart, Difference, Explained, Explanation, explain};
use model::distinct::distinct;
use model::request::Aim;

/// The sections of a run that was made to explain; none of any other.
pub fn sections(judged: &Judged) -> Vec<Section> {
    let Aim::Explanation { teach } = judged.run.request.aim else { return Vec::new() };
    let found = explain(judged);
    let mut sections = vec![opening(&found)];
    if !found.differences.is_empty() {
        sections.push(differences(&found));
    }
    if !found.cases.is_empty() {
        sections.push(overhead(&found));
    }
    if teach {
        sections.push(teach::section(&found));
    }
    sections
}

/// The time of each case in words, then all of it in a table and a figure.
fn opening(found: &Explanation) -> Section {
    let mut section = Section::new("explained", "Where the time goes");
    if found.cases.is_empty() {
        section.blocks.push(Block::warning("No round trip could be taken apart."));
    }
    section.blocks.extend(found.cases.iter().map(|case| verdict(case).into()));
    for place in places(found) {
        section.blocks.push(table(found, &place).into());
        section.blocks.push(figure(found, &place).into());
    }
    let mut told: Vec<Text> = found.cases.iter().filter_map(copying_unknown).collect();
    told.dedup();
    section.blocks.extend(told.into_iter().map(Block::Paragraph));
    let missing = |it: &analysis::explain::Missing| {
        let size = common::of_size(it.message_bytes);
        let place = common::place(&it.placement);
        Text::from(format!("{}{size}, {place}: {}", it.variant, it.reason))
    };
    if !found.missing.is_empty() {
        section.blocks.push(Block::List(found.missing.iter().map(missing).collect()));
    }
    section
}

fn copying_unknown(case: &Explained) -> Option<Text> {
    let reason = case.copying_unknown.as_ref().filter(|_| case.message_bytes.is_some())?;
    Some(Text::from(format!(
        "Copying of {} is not separated from the rest: {reason}.",
        case.variant
    )))
}

/// Placements and workers, in the order of the cases.
fn places(found: &Explanation) -> Vec<(String, String)> {
    distinct(found.cases.iter().map(|it| (it.placement.clone(), it.workers.clone())))
}

fn here<'a>(
    found: &'a Explanation,
    place: &'a (String, String),
) -> impl Iterator<Item = &'a Explained> {
    found.cases.iter().filter(move |it| (&it.placement, &it.workers) == (&place.0, &place.1))
}

fn place_in_words((placement, workers): &(String, String)) -> String {
    common::place_of((workers, placement))
}

fn verdict(case: &Explained) -> Verdict {
    let kind = if case.adds_up { VerdictKind::Neutral } else { VerdictKind::Unknown };
    let detail = format!("{} {}", words::rest(case), words::sum(case));
    Verdict::new(kind, words::short(case), detail.trim_start())
}

/// ns of one cost in a case's median, 0 where it has none.
fn ns(parts: &[CostPart], cost: Cost) -> f64 {
    parts.iter().find(|it| it.cost == cost).map_or(0.0, |it| it.ns.median)
}

/// The columns of the table: a heading, and the costs that it sums up.
const COLUMNS: [(&str, &[Cost]); 5] = [
    ("calls", &[Cost::Calls]),
    ("copying", &[Cost::Copying]),
    ("kernel", &[Cost::Transport, Cost::Elsewhere]),
    ("wake-ups", &[Cost::Waking, Cost::Interrupts, Cost::Waiting, Cost::Switching]),
    ("program", &[Cost::Program]),
];

fn table(found: &Explanation, place: &(String, String)) -> Table {
    let mut table = Table::new(format!("One round trip, {}, taken apart", place_in_words(place)))
        .words([("", 0)])
        .numbers([("whole", 0)]);
    table.columns.extend(COLUMNS.map(|(name, _)| Column::number(name, 0)));
    table.columns.push(Column::number("residual", 0));
    for case in here(found, place) {
        let sum = |costs: &[Cost]| costs.iter().map(|cost| ns(&case.parts, *cost)).sum::<f64>();
        let copying_known = case.copying_unknown.is_none();
        let mut cells = vec![name(case), duration(case.whole_ns.median)];
        cells.extend(COLUMNS.iter().map(|(_, costs)| match costs {
            [Cost::Copying] if !copying_known => "–".to_string(),
            costs => short(sum(costs)),
        }));
        cells.push(short(case.residual_ns.median));
        table.rows.push(Row::new(cells));
    }
    table.notes.push(Text::from(NOTE));
    table
}

const NOTE: &str = "Medians over launches; the parts are means of the middle half of the round trips, \
    so that they add up within each. calls: entering and leaving them. kernel: the rest of \
    the calls, the mechanism's own work. wake-ups: waking, waiting to run, switching. program: the \
    loop, the clock, spinning. residual: the whole less all parts.";

/// A time in little room; what is nothing beside it is `0`.
fn short(ns: f64) -> String {
    if ns.abs() < 0.5 { "0".into() } else { duration(ns) }
}

/// `pipe 64K`, `pipe 1B`.
fn name(case: &Explained) -> String {
    match case.message_bytes {
        Some(bytes) if bytes < 1024 => format!("{} {bytes}B", case.variant),
        Some(bytes) => format!("{} {}", case.variant, model::size::format(bytes)),
        None => case.variant.clone(),
    }
}

fn figure(found: &Explanation, place: &(String, String)) -> Figure {
    let cases: Vec<&Explained> = here(found, place).collect();
    let mut figure = Figure::new(
        FigureKind::Bars,
        format!("explained-{}-{}", place.0.replace(',', "-"), place.1),
        format!("A round trip taken apart, {}", place_in_words(place)),
        "Bars: the parts of a traced round trip, less the overhead of tracing it; negative ones \
         aren't drawn. Diamond: the round trip without instrumentation.",
        Axis::categories("case", cases.iter().map(|it| name(it))),
        Axis::new("time per round trip", Unit::Nanoseconds, Scale::Linear),
    );
    figure.finding = cases.first().map_or(String::new(), |case| words::short(case));
    for cost in Cost::ALL {
        let any = cases.iter().any(|case| ns(&case.parts, cost).abs() >= 0.5);
        let points = cases.iter().enumerate().map(|(nth, case)| {
            // A part that its interval can't tell from nothing may come out below it.
            let point = Point::new(nth as f64, ns(&case.parts, cost).max(0.0));
            match case.parts.iter().find(|it| it.cost == cost) {
                Some(part) => point.labelled(words::value(&part.ns)),
                None => point,
            }
        });
        if any {
            figure.series.push(Series::new(words::cost(cost), points));
        }
    }
    let whole = cases.iter().enumerate();
    let whole = whole.map(|(nth, it)| {
        Point::new(nth as f64, it.whole_ns.median).labelled(words::value(&it.whole_ns))
    });
    figure.series.push(Series::new("unobserved round trip", whole).drawn(Drawn::Signs));
    figure
}

/// Where the differences come from, one verdict a pair.
fn differences(found: &Explanation) -> Section {
    let mut section = Section::new("differences", "Where the differences come from");
    for Difference { quicker, slower, whole_ns, parts } in &found.differences {
        let (a, b) = (&found.cases[*quicker], &found.cases[*slower]);
        let told = whole_ns.interval.low.is_some_and(|low| low > 0.0);
        let size = a.message_bytes.or(b.message_bytes);
        let place = place_in_words(&(a.placement.clone(), a.workers.clone()));
        let at = match size {
            Some(bytes) => format!("{}, {place}", units::size(bytes)),
            None => place,
        };
        let (kind, headline) = if told {
            (
                VerdictKind::Neutral,
                format!(
                    "{at}: {} is {} quicker than {} ({}).",
                    a.variant,
                    words::value(whole_ns),
                    b.variant,
                    ratio(b.whole_ns.median / a.whole_ns.median)
                ),
            )
        } else {
            (
                VerdictKind::Unknown,
                format!("{at}: {} and {} are not separated.", a.variant, b.variant),
            )
        };
        let detail = if told { words::shares(parts, whole_ns.median) } else { String::new() };
        section.blocks.push(Verdict::new(kind, headline, detail).into());
    }
    section
}

/// Tracing overhead, and how far its correction can be trusted.
fn overhead(found: &Explanation) -> Section {
    let mut table = Table::new("Tracing overhead of each case")
        .words([("", 0)])
        .numbers([("traced", 0), ("unobserved", 0), ("firings", 0), ("a firing", 0)])
        .numbers([("slow call", 0)])
        .words([("add up", 0)]);
    for case in &found.cases {
        let place = place_in_words(&(case.placement.clone(), case.workers.clone()));
        table.rows.push(Row::new([
            format!("{}, {place}", name(case)),
            duration(case.traced_ns.median),
            duration(case.whole_ns.median),
            format!("{:.1}", case.firings),
            case.firing_ns.as_ref().map_or("–".into(), |it| duration(it.median)),
            duration(case.slow_call_ns),
            if case.adds_up { "yes" } else { "no" }.to_string(),
        ]));
    }
    table.notes.push(Text::from(
        "a firing: what tracing twice adds, subtracted part by part. slow call: what an attached trace adds to \
         a system call besides. Parts add up where the residual's interval holds zero, or is \
         within a twentieth of the whole.",
    ));
    let mut section = Section::new("price", "Tracing overhead").with(table);
    if found.cases.iter().any(|it| it.overlaps) {
        section.blocks.push(Block::paragraph(
            "On two CPUs the workers' waits overlap: a firing on one delays the other or overlaps \
             with its wait, so that subtracting its cost part by part is not an exact correction there.",
        ));
    }
    section
}
