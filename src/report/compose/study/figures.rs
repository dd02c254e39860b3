//! A study's own figures, from its declaration and the results.

use super::{factor, find};
use crate::judge::{CaseResult, Status};
use crate::report::compose::words;
use crate::report::{Axis, Figure, FigureKind, Point, Scale, Series, Unit};
use crate::size;
use crate::study::declared::Declared as Study;
use crate::study::factor::{Chosen, Factor, chosen};
use crate::study::format::{FigureKind as Declared, FigureSpec};

/// Every figure of a study that has something to draw, in its order.
pub(super) fn study_figures(declared: &Study, results: &[CaseResult]) -> Vec<Figure> {
    let all = declared.study.figure.iter().enumerate();
    all.filter_map(|(nth, spec)| figure(declared, spec, &format!("study-{}", nth + 1), results))
        .collect()
}

fn figure(declared: &Study, spec: &FigureSpec, id: &str, results: &[CaseResult]) -> Option<Figure> {
    let x = factor(spec.x.as_ref()?.get_ref());
    let only = chosen(&spec.only);
    let kind = match spec.kind {
        Declared::Curves => FigureKind::Curves,
        Declared::Bars => FigureKind::Intervals,
        Declared::HeatMap => FigureKind::Heatmap,
        Declared::Protocol => return None,
    };
    let sides = match spec.series.as_ref().map(|it| factor(it.get_ref())) {
        None => vec![(String::new(), only.clone())],
        Some(series) => levels_of(declared, series, &only),
    };
    let levels = levels_of(declared, x, &only);
    let unit = levels
        .iter()
        .filter_map(|(_, at)| find(at, results))
        .find(|it| it.status == Status::Ok)
        .map(words::unit)?;
    let numeric = x == Factor::Size && kind == FigureKind::Curves;
    let along = match numeric {
        true => Axis::new("message size", Unit::Bytes, Scale::Log),
        false => Axis::categories(x.name(), levels.iter().map(|(level, _)| level.as_str())),
    };
    let seen = Axis::new(measured(unit), unit, Scale::Log);
    let mut figure = Figure::new(kind, id, spec.title.trim(), spec.caption.trim(), along, seen);
    for (name, side) in sides {
        let name = if name.is_empty() { measured(unit).to_string() } else { name };
        let points = levels.iter().enumerate().filter_map(|(at, (level, _))| {
            let place = if numeric { size::parse(level).ok()? as f64 } else { at as f64 };
            point(find(&side.with(x, level), results), place, kind)
        });
        figure.series.push(Series::new(name, points));
    }
    let drawn = |it: &Figure| it.series.iter().flat_map(|it| &it.points).any(|it| it.y.is_some());
    drawn(&figure).then_some(figure)
}

/// The levels of a factor that `only` leaves, each with the cases it chooses.
fn levels_of(declared: &Study, factor: Factor, only: &Chosen) -> Vec<(String, Chosen)> {
    let levels = declared.levels[&factor].iter();
    let left = levels.filter(|it| only.level(factor).is_none_or(|asked| asked == *it));
    left.map(|level| (level.clone(), only.with(factor, level))).collect()
}

/// What a unit measures.
fn measured(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => "time",
        Unit::BytesPerSecond => "throughput",
        _ => "wake-ups",
    }
}

/// The median over launches with its interval; a field of colours also shows what is absent.
fn point(case: Option<&CaseResult>, x: f64, kind: FigureKind) -> Option<Point> {
    let case = case?;
    let estimate = case.estimate().filter(|_| case.status == Status::Ok);
    let Some(estimate) = estimate else {
        let reason = case.reason.clone().unwrap_or_else(|| "not measured".into());
        return (kind != FigureKind::Curves).then(|| Point::gap(x, reason));
    };
    // Two modes have no single median: the middle of the quartiles stands for them.
    let middle = estimate.median.unwrap_or((estimate.q1 * estimate.q3).sqrt());
    let point = Point::new(x, middle);
    let point = match kind {
        FigureKind::Heatmap => point.labelled(words::brief_value(case)),
        _ => point,
    };
    Some(match (estimate.low, estimate.high) {
        (Some(low), Some(high)) => point.between(low, high),
        _ => point.between(estimate.q1, estimate.q3),
    })
}
