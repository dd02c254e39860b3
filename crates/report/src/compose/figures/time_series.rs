//! What happened while the run went on: launch by launch, and inside each launch.

use crate::compose::labels;
use crate::{Axis, Drawn, Figure, FigureKind, Point, Scale, Series, Unit};
use analysis::{CaseResult, Judged, Status, TimeSeries};

const LAUNCHES: &str = "A dot is the time per operation of a launch over the case's median, in the order of the \
     rounds. A step that all strips share is the machine's.";

const SAMPLES: &str = "Line: the median of each slice of a launch; band: from its smallest sample to its \
     p99; launches side by side by round. Thinned for drawing, the store has every sample.";

pub(super) fn figures(judged: &Judged) -> Vec<Figure> {
    [launches(judged), samples(judged)].into_iter().flatten().collect()
}

/// Every launch of every case, in their order.
fn launches(judged: &Judged) -> Option<Figure> {
    let strip = |case: &CaseResult| {
        let median = stats::median_of(case.by_round.iter().copied().flatten())?;
        let rounds = case.by_round.iter().zip(1u32..);
        let dots = rounds.filter_map(|(ns, nth)| Some(Point::new(nth.into(), (*ns)? / median)));
        Some(Series::new(labels::case(case), dots).drawn(Drawn::Signs))
    };
    let several = |case: &&CaseResult| case.launches > 1 && !case.twin;
    let mut figure = Figure::new(
        FigureKind::TimeSeries,
        "launches",
        "Every launch by round",
        LAUNCHES,
        Axis::new("round", Unit::Count, Scale::Linear),
        Axis::new("over the median", Unit::Ratio, Scale::Log),
    );
    figure.series = judged.results.iter().filter(several).filter_map(strip).collect();
    (!figure.series.is_empty()).then_some(figure)
}

/// The samples of every case over time, one case at a time.
fn samples(judged: &Judged) -> Option<Figure> {
    let cases: Vec<&CaseResult> = judged
        .results
        .iter()
        .filter(|result| result.status == Status::Ok && !result.twin)
        .filter(|result| result.time_series.iter().any(|series| series.slices.len() > 1))
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
    );
    // What is compared first stands first; the harness's own cost comes last.
    figure.series = cases.iter().map(|case| series(case)).collect();
    figure.series.sort_by_key(|series| series.name.starts_with("noop,"));
    Some(figure)
}

fn series(case: &CaseResult) -> Series {
    let mut points = Vec::new();
    for series in &case.time_series {
        if !points.is_empty() {
            points.push(Point { label: None, ..Point::gap(series.round as f64 - 0.5, "") });
        }
        points.extend(launch(series));
    }
    Series::new(labels::case(case), points)
}

/// A launch takes the room of one round, less a gap to its neighbours.
fn launch(series: &TimeSeries) -> impl Iterator<Item = Point> + '_ {
    let slices = series.slices.len() as f64;
    series.slices.iter().enumerate().map(move |(nth, slice)| {
        let x = series.round as f64 - 0.45 + 0.9 * (nth as f64 + 0.5) / slices;
        let x = (x * 1e3).round() / 1e3;
        Point::new(x, slice.median).between(slice.min, slice.p99)
    })
}
