//! Lines through points: curves with bands, percentile tails, empirical distributions.

use super::intervals::said;
use super::sheet::{INK, MUTED, Sheet, Spot, color, dash, stroke};
use super::{frame, legend};
use crate::figure::{Drawn, Figure, FigureKind, Point, Series, finite};

/// Points up to which each has a sign.
pub(super) const SIGNED: usize = 24;

pub(super) fn draw(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let tall = 0.5 * sheet.width;
    let frame = frame::lay(sheet, figure, &legend::entries(figure), tall);
    // Bands lie below all lines.
    for (nth, series) in figure.series.iter().enumerate() {
        if series.drawn != Drawn::Line {
            band(sheet, &frame, &series.points, nth);
        }
    }
    for (nth, series) in figure.series.iter().enumerate() {
        sheet.named(&series.name, |sheet| line(sheet, figure, &frame, series, nth));
    }
    frame.bottom
}

/// Stretches without a gap, as places.
pub(super) fn runs(frame: &frame::Frame, points: &[Point]) -> Vec<Vec<Spot>> {
    let mut runs = vec![Vec::new()];
    for point in points {
        let spot = point.y.and_then(finite).and_then(|y| frame.spot(point.x, y, 0.0));
        match spot {
            Some(spot) => runs.last_mut().expect("there is always one").push(spot),
            None => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn band(sheet: &mut Sheet, frame: &frame::Frame, points: &[Point], nth: usize) {
    for run in points.split(|it| it.y.and_then(finite).is_none()) {
        let edge = |of: fn(&Point) -> Option<f64>| {
            run.iter().filter_map(move |it| frame.spot(it.x, finite(of(it)?)?, 0.0))
        };
        let upper: Vec<Spot> = edge(|it| it.low.and(it.high)).collect();
        let mut lower: Vec<Spot> = edge(|it| it.high.and(it.low)).collect();
        if upper.len() < 2 || lower.len() != upper.len() {
            continue;
        }
        lower.reverse();
        let around: Vec<Spot> = upper.into_iter().chain(lower).collect();
        let color = color(nth);
        sheet.polygon(
            &around,
            &format!(
                "fill=\"{color}\" fill-opacity=\"0.15\" stroke=\"{color}\" stroke-opacity=\"0.35\" \
                 stroke-width=\"0.4\""
            ),
        );
    }
}

fn line(sheet: &mut Sheet, figure: &Figure, frame: &frame::Frame, series: &Series, nth: usize) {
    let quiet = series.drawn == Drawn::Line;
    let style = match quiet {
        true => stroke(MUTED, 1.0) + " stroke-dasharray=\"3 3\"",
        false => stroke(color(nth), 1.3) + &dash(nth),
    };
    for run in runs(frame, &series.points) {
        let run = if figure.kind == FigureKind::Ecdf { stairs(&run) } else { run };
        if series.drawn != Drawn::Signs && run.len() > 1 {
            sheet.polyline(&run, &style);
        }
    }
    let signed = series.points.len() <= SIGNED && figure.kind != FigureKind::Ecdf;
    for point in &series.points {
        let Some(spot) = point.y.and_then(finite).and_then(|y| frame.spot(point.x, y, 0.0)) else {
            continue;
        };
        if point.marked {
            let label = point.label.as_deref().unwrap_or_default();
            sheet.named(label, |sheet| sheet.circle(spot, 5.5, &stroke(INK, 1.0)));
        }
        if signed && !quiet {
            let said = said(figure, series, point);
            sheet.named(&said, |sheet| sheet.sign(nth, spot, 5.0));
        }
    }
}

/// Steps that change at the next point, as a share does and as a frontier does.
pub(super) fn stairs(spots: &[Spot]) -> Vec<Spot> {
    let mut steps: Vec<Spot> = Vec::with_capacity(2 * spots.len());
    for spot in spots {
        if let Some([_, y]) = steps.last().copied() {
            steps.push([spot[0], y]);
        }
        steps.push(*spot);
    }
    steps
}
