//! The course of things: a panel for each series, with gaps between the launches.

use super::lines::runs;
use super::sheet::{
    Anchor, Area, INK, MUTED, Sheet, Spot, TEXT, Words, color, shorten, stroke, wrap,
};
use super::{frame, legend};
use crate::figure::{Figure, Point, finite};

/// Panels that a printed page holds; the others are named below.
const PANELS: usize = 6;
const TALL: f64 = 74.0;

pub(super) fn draw(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let shown = &figure.series[..figure.series.len().min(PANELS)];
    let stretches = legend::stretches(shown.iter().flat_map(|it| &it.spans));
    let mut top = legend::draw(sheet, &stretches, 4.0);
    for (nth, series) in shown.iter().enumerate() {
        let mut panel = Figure { series: vec![series.clone()], ..figure.clone() };
        panel.y.label.clear();
        if nth == 0 {
            let words = Words::new(Anchor::End, MUTED);
            sheet.text([sheet.width - 12.0, top + 6.0], words, &figure.y.label);
        }
        if nth + 1 < shown.len() {
            panel.x.label.clear();
        }
        let name = shorten(&series.name, 0.6 * sheet.width, TEXT);
        let words = Words { bold: true, ..Words::new(Anchor::Start, INK) };
        sheet.named(&series.name, |sheet| sheet.text([4.0, top + 6.0], words, &name));
        let frame = frame::lay_below(sheet, &panel, top + 8.0, TALL);
        panel_of(sheet, &panel, &frame);
        top = frame.bottom + if panel.x.label.is_empty() { -8.0 } else { 2.0 };
    }
    rest(sheet, figure, top)
}

fn panel_of(sheet: &mut Sheet, figure: &Figure, frame: &frame::Frame) {
    for series in &figure.series {
        for span in &series.spans {
            let (Some(left), Some(right)) = (frame.varied.at(span.from), frame.varied.at(span.to))
            else {
                continue;
            };
            let area = Area { left, right, ..frame.plot };
            sheet.named(&span.label, |sheet| {
                sheet.rect(area, 0.0, "fill=\"#e4e4e4\" fill-opacity=\"0.6\"");
                sheet.hatch(area, "#c4c7cc", 6.0, false);
            });
        }
        for run in series.points.split(|it| it.y.and_then(finite).is_none()) {
            band(sheet, frame, run);
        }
        for run in runs(frame, &series.points) {
            sheet.polyline(&run, &stroke(color(0), 1.0));
        }
        for point in series.points.iter().filter(|it| it.marked) {
            let spot = point.y.and_then(|y| frame.spot(point.x, y, 0.0));
            let (Some(spot), label) = (spot, point.label.as_deref().unwrap_or_default()) else {
                continue;
            };
            sheet.named(label, |sheet| sheet.circle(spot, 4.0, &stroke(INK, 1.0)));
        }
    }
}

fn band(sheet: &mut Sheet, frame: &frame::Frame, run: &[Point]) {
    let edge = |of: fn(&Point) -> Option<f64>| {
        run.iter().filter_map(move |it| frame.spot(it.x, of(it).or(it.y)?, 0.0))
    };
    let upper: Vec<Spot> = edge(|it| it.high).collect();
    let mut lower: Vec<Spot> = edge(|it| it.low).collect();
    lower.reverse();
    if upper.len() > 1 {
        let around: Vec<Spot> = upper.into_iter().chain(lower).collect();
        let style = format!("fill=\"{}\" fill-opacity=\"0.25\"", color(0));
        sheet.polygon(&around, &style);
    }
}

/// The names of what found no room.
fn rest(sheet: &mut Sheet, figure: &Figure, top: f64) -> f64 {
    let names: Vec<&str> = figure.series.iter().skip(PANELS).map(|it| it.name.as_str()).collect();
    if names.is_empty() {
        return top;
    }
    let text = format!("Not drawn here: {}.", names.join("; "));
    let lines = wrap(&text, sheet.width - 8.0, TEXT, 40);
    for (nth, line) in lines.iter().enumerate() {
        let at = [4.0, top + 6.0 + frame::LINE * nth as f64];
        sheet.text(at, Words::new(Anchor::Start, MUTED), line);
    }
    top + 10.0 + frame::LINE * lines.len() as f64
}
