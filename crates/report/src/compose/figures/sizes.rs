//! Curves over message size, one figure per placement: with bands, inflections and bounds.

use std::collections::BTreeSet;

use super::{at, intervals, place_id};
use crate::compose::{inflections, labels};
use crate::{Axis, Drawn, Figure, FigureKind, Mark, Point, Scale, Series, Unit};
use analysis::{Bound, Carries, CaseResult, Inflection, Judged, Site, Sweep};
use model::distinct::distinct;
use model::workload::Workload;

const RULE: &str = "Line: the median over launches; band: covers it with at least 95 %. A ring marks \
     the last size before an inflection, where the cost of a byte changes by more than noise does.";

pub(super) fn figures(judged: &Judged, cases: &[&CaseResult]) -> Vec<Figure> {
    let draw = |place| figure(judged, &at(cases, place), place);
    labels::places(cases).into_iter().map(draw).filter(|draw| draw.points() > 0).collect()
}

/// CPU time over message size, one figure per placement, where there are sizes enough.
pub(super) fn cpu(cases: &[&CaseResult]) -> Vec<Figure> {
    let sizes: BTreeSet<u64> = cases.iter().filter_map(|case| case.message_bytes).collect();
    if sizes.len() <= super::FEW {
        return Vec::new();
    }
    let draw = |place| {
        let here = at(cases, place);
        let mut figure = Figure::new(
            FigureKind::Curves,
            format!("cpu-sizes-{}", place_id(place)),
            format!("CPU time of a round trip against message size, {}", labels::place_of(place)),
            "Line: the median over launches of both workers' CPU time; band: covers it with at \
             least 95 %.",
            Axis::new("message size", Unit::Bytes, Scale::Log),
            Axis::new("CPU time per round trip", Unit::Nanoseconds, Scale::Log),
        );
        for name in names(&here) {
            let points = here.iter().filter(|case| case.variant == name).filter_map(|case| {
                let cost = case.cpu_ns_per_operation?;
                let point = Point::new(case.message_bytes? as f64, cost.total);
                Some(point.with_ends(cost.interval.ends()))
            });
            figure.series.push(Series::new(name, points));
        }
        figure
    };
    labels::places(cases).into_iter().map(draw).filter(|draw| draw.points() > 0).collect()
}

/// Variants that have a size, in the order of the results.
fn names<'a>(here: &[&'a CaseResult]) -> Vec<&'a str> {
    let sized = here.iter().filter(|case| case.message_bytes.is_some());
    distinct(sized.map(|case| case.variant.as_str()))
}

fn figure(judged: &Judged, here: &[&CaseResult], place: &Site) -> Figure {
    let sized = here.iter().find(|case| case.message_bytes.is_some()).unwrap_or(&here[0]);
    let (workload, metric) = (sized.workload, &sized.metric);
    let (what, y) = (&metric.title, super::axis_of(metric, Scale::Log));
    let x = Axis::new("message size", Unit::Bytes, Scale::Log);
    let title = format!("{what} against message size, {}", labels::place_of(place));
    let id = format!("{}-sizes-{}", workload.name(), place_id(place));
    let mut figure = Figure::new(FigureKind::Curves, id, title, RULE, x, y);
    let mut places = Vec::new();
    for name in names(here) {
        let mut curve: Vec<&CaseResult> =
            here.iter().filter(|case| case.variant == name).copied().collect();
        curve.sort_by_key(|curve| curve.message_bytes);
        let found = inflections_of(judged, name, workload, curve[0]);
        places.extend(
            found
                .iter()
                .map(|inflection| format!("{name} at {}", inflections::between(inflection))),
        );
        figure.series.push(Series::new(name, points(&curve, found)));
    }
    figure.series.extend(bounds(here));
    figure.marks = signals(here);
    figure.finding = finding(judged, sized, place, &places);
    figure
}

fn finding(judged: &Judged, of: &CaseResult, place: &Site, places: &[String]) -> String {
    let best = labels::best_by_size(judged, of, place);
    let found = match places {
        [] => "No inflection is shown.".to_string(),
        _ => format!("Inflections: {}.", places.join("; ")),
    };
    [best, found].join(" ").trim_start().to_string()
}

/// Those of one curve, whose place is that of `case`.
fn inflections_of<'a>(
    judged: &'a Judged,
    name: &str,
    workload: Workload,
    case: &CaseResult,
) -> &'a [Inflection] {
    let here = |sweep: &&Sweep| {
        (sweep.variant.as_str(), sweep.workload) == (name, workload)
            && sweep.site == case.site
            && (sweep.payload, sweep.align) == (case.payload, case.align)
            && (sweep.total, sweep.load) == (case.total, case.load)
    };
    judged.sweeps.iter().find(here).map_or(&[], |sweep| &sweep.inflections)
}

fn points(curve: &[&CaseResult], found: &[Inflection]) -> Vec<Point> {
    let mut points = Vec::new();
    for case in curve {
        let here = |inflection: &&Inflection| Some(inflection.best_bytes[0]) == case.message_bytes;
        let why = found.iter().find(here).map(|inflection| {
            format!(
                "an inflection, {}: {}",
                inflections::between(inflection),
                inflections::change(inflection)
            )
        });
        let x = case.message_bytes.unwrap_or(1) as f64;
        points.extend(intervals::point_of(case, x).map(|point| match &why {
            None => point,
            Some(why) => point.marked(why),
        }));
    }
    points
}

/// What the sizes are compared with, as quiet lines.
fn bounds(here: &[&CaseResult]) -> Vec<Series> {
    let bounded =
        || here.iter().filter_map(|case| Some((case.message_bytes?, case.bound.as_ref()?)));
    // What is named for a size or a pair of CPUs is one line.
    let label = |bound: &Bound| {
        let (name, _) = bound.name.split_once(", ").unwrap_or((&bound.name, ""));
        format!("{}: {name}", bound.kind.name())
    };
    let labels: BTreeSet<String> = bounded().map(|(_, bound)| label(bound)).collect();
    let line = |wanted: String| {
        let mut points: Vec<Point> = Vec::new();
        for (bytes, bound) in bounded().filter(|(_, bound)| label(bound) == wanted) {
            let x = bytes as f64;
            if points.iter().all(|point| point.x != x) {
                points.push(Point::new(x, bound.value));
            }
        }
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series::new(wanted, points).drawn(Drawn::Line)
    };
    labels.into_iter().map(line).filter(|series| series.points.len() > 1).collect()
}

/// Wake-ups have no size: a line across.
fn signals(here: &[&CaseResult]) -> Vec<Mark> {
    let signals =
        here.iter().filter(|case| case.carries == Carries::Signal && case.metric.is_round_trip());
    let mark = |case: &&CaseResult| {
        Some(Mark::new(format!("{}, a wake-up", case.variant), super::typical(case)?))
    };
    signals.filter_map(mark).collect()
}
