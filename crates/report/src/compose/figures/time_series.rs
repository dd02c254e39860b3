//! What happened while the run went on: launch by launch, and inside each launch.

use super::{at, many_within, place_id};
use crate::compose::labels;
use crate::{Axis, Figure, FigureKind, Point, Scale, Series, Span, Unit, units};
use analysis::{CaseResult, Judged, Status, TimeSeries};

const DRIFT: &str = "Every launch in the order of the rounds: a level line is a quiet machine; a step that \
     all lines share is the machine's, not a mechanism's.";

const SAMPLES: &str = "Line: the median of each slice of a launch; band: from its smallest sample to its \
     p99; launches side by side by round. A ring marks where a launch reached its last level; a \
     shaded launch has no steady tail: it is counted and kept. Thinned for drawing, the store has \
     every sample.";

pub(super) fn figures(judged: &Judged) -> Vec<Figure> {
    let cases = super::smallest_latency(judged);
    let mut figures: Vec<Figure> = labels::places(&cases)
        .into_iter()
        .map(|place| drift(&at(&cases, place), place))
        .filter(|it| it.points() > 0)
        .collect();
    figures.extend(samples(judged));
    figures
}

/// Launch medians by round: what drifted while the run went on.
fn drift(here: &[&CaseResult], place: (&str, &str)) -> Figure {
    let mut figure = Figure::new(
        FigureKind::Curves,
        format!("drift-{}", place_id(place)),
        format!("Launch medians by round, {}, {}", many_within(here), labels::place_of(place)),
        DRIFT,
        Axis::new("round", Unit::Count, Scale::Linear),
        super::time_of(here),
    )
    .found(drift_finding(here));
    for case in here {
        let rounds = case.by_round.iter().enumerate();
        let points = rounds.filter_map(|(at, ns)| Some(Point::new(at as f64 + 1.0, (*ns)?)));
        figure.series.push(Series::new(&*case.variant, points));
    }
    figure
}

fn drift_finding(here: &[&CaseResult]) -> String {
    let range = |it: &&CaseResult| {
        let estimate = it.value.as_ref()?;
        (it.launches > 1).then_some((it.variant.clone(), estimate.max / estimate.min))
    };
    let widest = here.iter().filter_map(range).max_by(|a, b| a.1.total_cmp(&b.1));
    widest.map_or(String::new(), |(name, times)| {
        format!("{name} moved most: its slowest launch took {} its fastest.", units::ratio(times))
    })
}

/// The samples of every case over time, one case at a time.
fn samples(judged: &Judged) -> Option<Figure> {
    let cases: Vec<&CaseResult> = judged
        .results
        .iter()
        .filter(|it| it.status == Status::Ok && !it.twin)
        .filter(|it| it.time_series.iter().any(|series| series.slices.len() > 1))
        .collect();
    let (first, last) = (cases.first()?, cases.last()?);
    let (first, last) = (first.metric.operation.noun(), last.metric.operation.noun());
    let label = if first == last {
        format!("time per {first}")
    } else {
        format!("time per {first}, or {last}")
    };
    let mut figure = Figure::new(
        FigureKind::TimeSeries,
        "samples",
        "Samples over time",
        SAMPLES,
        Axis::new("round", Unit::Count, Scale::Linear),
        Axis::new(label, Unit::Nanoseconds, Scale::Log),
    )
    .found(samples_finding(&cases));
    // What is compared first stands first; the harness's own cost comes last.
    figure.series = cases.iter().map(|case| series(case)).collect();
    figure.series.sort_by_key(|series| series.name.starts_with("noop,"));
    Some(figure)
}

fn samples_finding(cases: &[&CaseResult]) -> String {
    let unsteady = |it: &&CaseResult| it.steady.map_or(0, |steady| steady.of - steady.launches);
    let of: u64 = cases.iter().filter_map(|it| it.steady).map(|steady| steady.of).sum();
    let all: u64 = cases.iter().map(unsteady).sum();
    let worst = cases.iter().max_by_key(|it| unsteady(it)).filter(|_| all > 0);
    match (of, worst) {
        (0, _) => String::new(),
        (1, None) => "The launch had a steady tail.".into(),
        (_, None) => format!("All {} had a steady tail.", units::counted(of, "launch")),
        (_, Some(worst)) => format!(
            "{} of {} had no steady tail, most of them ({} of {}) in {}.",
            units::count(all),
            units::counted(of, "launch"),
            unsteady(worst),
            worst.launches,
            labels::case(worst)
        ),
    }
}

fn series(case: &CaseResult) -> Series {
    let mut points = Vec::new();
    let mut spans = Vec::new();
    for series in &case.time_series {
        if !points.is_empty() {
            points.push(Point { label: None, ..Point::gap(series.round as f64 - 0.5, "") });
        }
        points.extend(launch(series));
        if series.steady == Some(false) {
            let (from, to) = (series.round as f64 - 0.48, series.round as f64 + 0.48);
            spans.push(Span { from, to, label: "no steady tail".into() });
        }
    }
    let note = match spans.len() {
        0 => String::new(),
        unsteady => format!(" ({unsteady} unsteady)"),
    };
    let mut series = Series::new(format!("{}{note}", labels::case(case)), points);
    series.spans = spans;
    series
}

/// A launch takes the room of one round, less a gap to its neighbours.
fn launch(series: &TimeSeries) -> impl Iterator<Item = Point> + '_ {
    let slices = series.slices.len() as f64;
    series.slices.iter().enumerate().map(move |(nth, slice)| {
        let x = series.round as f64 - 0.45 + 0.9 * (nth as f64 + 0.5) / slices;
        let x = (x * 1e3).round() / 1e3;
        let point = Point::new(x, slice.median).between(slice.min, slice.p99);
        if nth > 0 && nth == series.level_from {
            point.marked("the last level begins")
        } else {
            point
        }
    })
}
