//! Mechanisms down the page, a bar from low to high in each placement.

use super::at;
use crate::compose::labels;
use crate::{Axis, Figure, FigureKind, Mark, Point, Scale, Series, units};
use analysis::{CaseResult, Judged};
use model::distinct::distinct;
use model::metric::{Better, Metric};

/// A bound farther than this from everything measured isn't drawn: it would squeeze the rest
/// into a corner, and the column of the tables says as much.
const NEAR: f64 = 30.0;

pub(super) fn figure(judged: &Judged, cases: &[&CaseResult], size: Option<u64>) -> Figure {
    let shown = cases.iter().filter(|case| !case.carries.is_control());
    let names = distinct(shown.map(|case| case.variant.as_str()));
    let what = size.map_or("a wake-up".to_string(), units::size);
    let head = cases.iter().find(|case| case.message_bytes == size).unwrap_or(&cases[0]);
    let (workload, metric) = (head.workload, &head.metric);
    let (title, axis) = (metric.many(&what), super::axis_of(metric, Scale::Log));
    let id = format!("{}-{}", workload.name(), size.map_or("signal".into(), units::size));
    let id = id.replace(' ', "-").to_lowercase();
    let x = Axis::categories("mechanism", names.iter().copied());
    let mut figure = Figure::new(FigureKind::Intervals, id, title, "", x, axis);
    for place in labels::places(cases) {
        let mut points = Vec::new();
        for (nth, name) in names.iter().enumerate() {
            let here = at(cases, place);
            let found = here.iter().find(|case| case.variant == *name);
            points.extend(found.and_then(|case| point_of(case, nth as f64)));
        }
        figure.series.push(Series::new(labels::place_of(place), points));
    }
    figure.marks = bounds(cases);
    figure.caption = caption(metric, !figure.marks.is_empty());
    figure.finding = labels::best_by_place(judged, head, size);
    figure
}

fn caption(metric: &Metric, bounds: bool) -> String {
    let side = if metric.better == Better::Lower { "left" } else { "right" };
    let mut caption = format!("Farther {side} is faster: ");
    caption += "the median over launches, and the interval that covers it with at least 95 %.";
    if bounds {
        caption += " Dashed: what was measured in the same rounds, to hold the others against.";
    }
    caption
}

/// One mark per bound and place, where it is near what is shown.
fn bounds(cases: &[&CaseResult]) -> Vec<Mark> {
    let values: Vec<f64> = cases
        .iter()
        .filter(|case| !case.carries.is_control())
        .filter_map(|case| case.value.as_ref())
        .flat_map(|value| [value.min, value.max])
        .collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    let near = |value: f64| value * NEAR >= least && value <= most * NEAR;
    let places = labels::places(cases);
    let mut marks: Vec<Mark> = Vec::new();
    for place in &places {
        for bound in at(cases, place).iter().filter_map(|case| case.bound.as_ref()) {
            let kind = bound.kind.name();
            let label = match places.len() {
                1 => format!("{kind}: {}", bound.name),
                _ => format!("{kind}: {}, {}", bound.name, labels::place_of(place)),
            };
            let known = marks.iter().any(|mark| mark.label == label && mark.value == bound.value);
            if near(bound.value) && !known {
                marks.push(Mark::new(label, bound.value));
            }
        }
    }
    marks.sort_by(|a, b| a.value.total_cmp(&b.value));
    marks
}

/// The value with its interval, and of how many launches.
pub(super) fn point_of(case: &CaseResult, x: f64) -> Option<Point> {
    let estimate = case.value.as_ref()?;
    let launches = units::counted(case.launches, "launch");
    let point = Point::new(x, estimate.median).labelled(launches);
    Some(point.with_ends(estimate.interval.ends()))
}
