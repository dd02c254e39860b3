//! Figures of a run, from the results alone.

use std::collections::BTreeSet;

use super::words;
use crate::judge::{Carries, CaseResult, Judged, Status};
use crate::report::{Axis, Figure, FigureKind, Point, Scale, Section, Series, Unit, units};

/// Latency, percentiles, throughput, drift: those for which there is data.
pub fn sections(judged: &Judged) -> Vec<Section> {
    let mut sections = Vec::new();
    let latency = workload(judged, "latency", "Latency");
    let tails = percentiles(judged);
    let throughput = workload(judged, "throughput", "Throughput");
    let connect = workload(judged, "connect", "Set-up");
    sections.extend(latency);
    if !tails.is_empty() {
        let mut section = Section::new("tails", "Tails");
        section.blocks.extend(tails.into_iter().map(Into::into));
        sections.push(section);
    }
    sections.extend(throughput);
    sections.extend(connect);
    sections.extend(drift(judged));
    sections
}

fn measured<'a>(judged: &'a Judged, workload: &str) -> Vec<&'a CaseResult> {
    judged
        .results
        .iter()
        .filter(|it| it.workload == workload && it.status == Status::Ok && !it.twin)
        .collect()
}

fn workload(judged: &Judged, name: &str, title: &str) -> Option<Section> {
    let cases = measured(judged, name);
    let sizes: BTreeSet<Option<u64>> = cases
        .iter()
        .filter(|it| it.carries != Carries::Nothing)
        .filter(|it| name != "latency" || it.carries == Carries::Bytes)
        .map(|it| it.message_bytes)
        .collect();
    if cases.is_empty() {
        return None;
    }
    let mut section = Section::new(name, title);
    if sizes.iter().flatten().count() > 3 {
        section.blocks.extend(curves(&cases, name).into_iter().map(Into::into));
    } else {
        let smallest = sizes.iter().flatten().next().copied();
        // Wake-ups, which have no size, come last.
        let (signals, with_size): (Vec<_>, Vec<_>) = sizes.iter().partition(|it| it.is_none());
        let nothing_else = signals.is_empty() && with_size.is_empty();
        let only_signals = nothing_else.then_some(None);
        for size in with_size.into_iter().chain(signals).copied().chain(only_signals) {
            let signals = name == "latency" && size == smallest;
            let here: Vec<&CaseResult> = cases
                .iter()
                .filter(|it| it.message_bytes == size || (signals && it.carries != Carries::Bytes))
                .copied()
                .collect();
            section = section.with(intervals(&here, name, size));
        }
    }
    Some(section)
}

/// Mechanisms down, a bar from low to high in each placement.
fn intervals(cases: &[&CaseResult], workload: &str, size: Option<u64>) -> Figure {
    let mut names: Vec<&str> = Vec::new();
    for case in cases.iter().filter(|it| it.carries != Carries::Nothing) {
        if !names.contains(&case.variant.as_str()) {
            names.push(&case.variant);
        }
    }
    let what = size.map_or("a wake-up".to_string(), units::size);
    let (title, axis) = match (workload, size) {
        ("latency", _) => (
            format!("Round trips of {what}"),
            Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
        ),
        ("connect", _) => (
            "Set-up and tear-down of both ends".to_string(),
            Axis::new("set-up", Unit::Nanoseconds, Scale::Log),
        ),
        (_, None) => {
            ("Wake-ups one way".to_string(), Axis::new("wake-ups", Unit::PerSecond, Scale::Log))
        }
        _ => (
            format!("Transfers of {what} messages"),
            Axis::new("throughput", Unit::BytesPerSecond, Scale::Log),
        ),
    };
    let caption = "The median over launches, and the interval that covers it with at least 95 %; \
         two points of one mechanism in one placement are two modes.";
    let id = format!("{workload}-{}", size.map_or("signal".into(), |it| it.to_string()));
    let x = Axis::categories("mechanism", names.iter().copied());
    let mut figure = Figure::new(FigureKind::Intervals, id, title, caption, x, axis);
    for (workers, placement) in words::places(cases) {
        let mut points = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let found = cases.iter().find(|it| {
                it.variant == *name && it.placement == placement && it.workers == workers
            });
            points.extend(found.iter().flat_map(|case| points_of(case, at as f64)));
        }
        figure.series.push(Series::new(series_name(workers, placement), points));
    }
    figure
}

fn points_of(case: &CaseResult, x: f64) -> Vec<Point> {
    if let Some(modes) = &case.modes {
        let point = |value: f64, share: f64| {
            Point::new(x, value).labelled(format!("a mode of {:.0} % of launches", 100.0 * share))
        };
        return vec![point(modes.low, modes.low_share), point(modes.high, modes.high_share)];
    }
    let Some(estimate) = case.estimate() else { return Vec::new() };
    let value = estimate.median.unwrap_or(f64::NAN);
    let point = Point::new(x, value).labelled(format!("{} launches", case.launches));
    match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => vec![point.between(low, high)],
        _ => vec![point],
    }
}

/// A line over message sizes per mechanism, one figure per placement.
fn curves(cases: &[&CaseResult], workload: &str) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (workers, placement) in words::places(cases) {
        let here: Vec<&&CaseResult> = cases
            .iter()
            .filter(|it| it.placement == placement && it.workers == workers)
            .filter(|it| it.message_bytes.is_some())
            .collect();
        let y = match workload {
            "latency" => Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
            _ => Axis::new("throughput", Unit::BytesPerSecond, Scale::Log),
        };
        let x = Axis::new("message size", Unit::Bytes, Scale::Log);
        let title = format!("Against message size, {}", words::place(placement));
        let caption = "The median over launches; the band covers it with at least 95 %.";
        let id = format!("{workload}-sizes-{workers}-{}", placement.replace(',', "-"));
        let mut figure = Figure::new(FigureKind::Curves, id, title, caption, x, y);
        let names: BTreeSet<&str> = here.iter().map(|it| it.variant.as_str()).collect();
        for name in names {
            let points = here
                .iter()
                .filter(|it| it.variant == name)
                .flat_map(|it| points_of(it, it.message_bytes.unwrap_or(1) as f64));
            figure.series.push(Series::new(name, points));
        }
        figures.push(figure);
    }
    figures
}

/// Percentile curves of the smallest latency, one figure per placement.
fn percentiles(judged: &Judged) -> Vec<Figure> {
    let cases = measured(judged, "latency");
    let smallest = cases.iter().filter_map(|it| it.message_bytes).min();
    let mut figures = Vec::new();
    for (workers, placement) in words::places(&cases) {
        let mut figure = Figure::new(
            FigureKind::Percentiles,
            format!("tail-{workers}-{}", placement.replace(',', "-")),
            format!(
                "Percentiles of round trips of {}, {}",
                smallest.map_or("a wake-up".into(), units::size),
                series_name(workers, placement)
            ),
            "All launches pooled, drawn to the deepest percentile that the effectively \
             independent samples support.",
            Axis::new("percentile", Unit::Share, Scale::Tail),
            Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
        );
        let here = cases.iter().filter(|it| {
            it.placement == placement
                && it.workers == workers
                && (it.message_bytes == smallest || it.message_bytes.is_none())
        });
        for case in here.filter(|it| it.curve.len() > 3) {
            let points = case.curve.iter().map(|(p, ns)| Point::new(*p, *ns));
            figure.series.push(Series::new(&*case.variant, points));
        }
        if !figure.series.is_empty() {
            figures.push(figure);
        }
    }
    figures
}

/// Launch medians by round: what drifted while the run went on.
fn drift(judged: &Judged) -> Option<Section> {
    let cases = measured(judged, "latency");
    let smallest = cases.iter().filter_map(|it| it.message_bytes).min();
    let mut section = Section::new("drift", "Launch by launch");
    for (workers, placement) in words::places(&cases) {
        let mut figure = Figure::new(
            FigureKind::Curves,
            format!("drift-{workers}-{}", placement.replace(',', "-")),
            format!("Launch medians by round, {}", series_name(workers, placement)),
            "Every launch of the smallest latency, in the order of the rounds: a level line is a \
             quiet machine; a step that all lines share is the machine's, not a mechanism's.",
            Axis::new("round", Unit::Count, Scale::Linear),
            Axis::new("round trip", Unit::Nanoseconds, Scale::Log),
        );
        let here = cases.iter().filter(|it| {
            it.placement == placement
                && it.workers == workers
                && it.carries != Carries::Nothing
                && (it.message_bytes == smallest || it.message_bytes.is_none())
        });
        for case in here {
            let rounds = case.by_round.iter().enumerate();
            let points = rounds.filter_map(|(at, ns)| Some(Point::new(at as f64 + 1.0, (*ns)?)));
            figure.series.push(Series::new(&*case.variant, points));
        }
        if figure.points() > 0 {
            section = section.with(figure);
        }
    }
    (!section.blocks.is_empty()).then_some(section)
}

fn series_name(workers: &str, placement: &str) -> String {
    let threads = if workers == "thread" { ", threads" } else { "" };
    format!("{}{threads}", words::place(placement))
}
