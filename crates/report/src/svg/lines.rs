//! Lines through points: curves with bands, and percentile tails.

use super::frame;
use super::intervals::said;
use super::sheet::{Sheet, Spot};
use super::theme::{number_of, signed};
use crate::figure::{Drawn, Figure, Point, Series, finite};

pub(super) fn draw(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let tall = (0.5 * sheet.width).clamp(150.0, 226.0);
    let frame = frame::lay(sheet, figure, tall);
    frame.inside(sheet, figure, |sheet| {
        // Bands lie below all lines.
        for (nth, series) in figure.series.iter().enumerate() {
            if series.drawn != Drawn::Line && !sheet.theme.is_quiet(nth) {
                sheet.series(nth, &series.name, |sheet| {
                    band(sheet, &frame, &series.points, number_of(series, nth));
                });
            }
        }
        // What is lit lies on what is grey.
        for (nth, series) in figure.series.iter().enumerate().rev() {
            sheet.series(nth, &series.name, |sheet| {
                line(sheet, figure, &frame, series, number_of(series, nth));
            });
        }
    });
    frame.bottom
}

/// Stretches without a gap, as places.
pub(super) fn runs(frame: &frame::Frame, points: &[Point]) -> Vec<Vec<Spot>> {
    let mut runs = vec![Vec::new()];
    for point in points {
        match frame.place(point) {
            Some(spot) => runs.last_mut().expect("there is always one").push(spot),
            None => runs.push(Vec::new()),
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn band(sheet: &mut Sheet, frame: &frame::Frame, points: &[Point], nth: usize) {
    for run in points.split(|point| point.y.and_then(finite).is_none()) {
        let edge = |of: fn(&Point) -> Option<f64>| {
            run.iter().filter_map(move |point| frame.spot(point.x, finite(of(point)?)?, 0.0))
        };
        let upper: Vec<Spot> = edge(|point| point.low.and(point.high)).collect();
        let mut lower: Vec<Spot> = edge(|point| point.high.and(point.low)).collect();
        if upper.len() < 2 || lower.len() != upper.len() {
            continue;
        }
        lower.reverse();
        let around: Vec<Spot> = upper.into_iter().chain(lower).collect();
        let color = sheet.theme.color(nth);
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
    let style = if quiet { sheet.quiet() } else { sheet.curve(nth) };
    let signed = signed(figure, series) && !sheet.theme.is_quiet(nth);
    if series.drawn != Drawn::Signs {
        let runs = runs(frame, &series.points);
        if signed || quiet {
            sheet.lines(&runs, &style)
        } else {
            sheet.group("data-line=\"\"", |sheet| sheet.lines(&runs, &style))
        }
    }
    for (at, point) in series.points.iter().enumerate() {
        let Some(spot) = frame.place(point) else { continue };
        let label = point.label.as_deref().unwrap_or_default();
        if point.marked {
            sheet.named(label, |sheet| sheet.ring(spot, 5.5));
        }
        if point.framed {
            sheet.named(label, |sheet| sheet.frame(spot, 5.5));
        }
        if signed {
            let said = said(figure, series, point);
            sheet.point(at, spot, &said, |sheet| sheet.sign(nth, spot, 5.0));
        }
    }
}

/// Steps that change at the next point, as a frontier does.
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
