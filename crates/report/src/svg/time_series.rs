//! Values over time: a panel for each series, with gaps between the launches, or a dot for each of them.

use super::frame;
use super::lines::runs;
use super::metrics::{TEXT, shorten, wrap};
use super::sheet::{Anchor, Sheet, Spot, TextStyle, stroke};
use crate::figure::{Drawn, Figure, Point, Series, finite};

/// Panels that a printed page holds, the others are named below; and that a page shows unasked.
pub(crate) const PANELS: usize = 6;
const TALL: f64 = 74.0;
/// The height of a strip of dots.
const STRIP: f64 = 26.0;

pub(super) fn draw(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let most = if sheet.theme.inline { usize::MAX } else { PANELS };
    let shown = &figure.series[..figure.series.len().min(most)];
    let mut top = 4.0;
    let tall = if figure.is_strips() { STRIP } else { TALL };
    let panel = |(nth, series): (usize, &Series)| {
        let mut panel = Figure { series: vec![series.clone()], ..figure.clone() };
        panel.y.label.clear();
        if nth + 1 < shown.len() {
            panel.x.label.clear();
        }
        panel
    };
    let panels: Vec<Figure> = shown.iter().enumerate().map(panel).collect();
    let rooms = panels.iter().map(|panel| frame::room_left(panel, tall, sheet.width));
    let left = rooms.fold(0.0, f64::max);
    for (nth, panel) in panels.iter().enumerate() {
        let series = &panel.series[0];
        if nth == 0 {
            let words = sheet.muted(Anchor::End);
            sheet.text([sheet.width - 12.0, top + 6.0], words, &figure.y.label);
        }
        let name = shorten(&series.name, 0.6 * sheet.width, TEXT);
        let words = TextStyle { bold: true, ..sheet.ink(Anchor::Start) };
        sheet.named(&series.name, |sheet| sheet.text([4.0, top + 6.0], words, &name));
        let worded = nth + 1 == panels.len();
        let place = frame::PlotBox { top: top + 8.0, tall, left, worded };
        let frame = frame::lay_below(sheet, panel, figure, place);
        frame.inside(sheet, panel, |sheet| panel_of(sheet, series, &frame, nth));
        top = if worded { frame.bottom + 2.0 } else { frame.plot.bottom + 8.0 };
    }
    rest(sheet, &figure.series[shown.len()..], top)
}

fn panel_of(sheet: &mut Sheet, series: &Series, frame: &frame::Frame, nth: usize) {
    sheet.series(nth, &series.name, |sheet| {
        if series.drawn == Drawn::Signs {
            let dots = series.points.iter().filter_map(|point| frame.place(point));
            return dots.for_each(|spot| sheet.sign(0, spot, 3.0));
        }
        let color = sheet.theme.color(0);
        bands(sheet, frame, &series.points);
        sheet.group("data-line=\"\"", |sheet| {
            sheet.lines(&runs(frame, &series.points), &stroke(color, 1.0));
        });
    });
}

/// From the smallest to the p99, launch by launch.
fn bands(sheet: &mut Sheet, frame: &frame::Frame, points: &[Point]) {
    let mut areas = Vec::new();
    for run in points.split(|point| point.y.and_then(finite).is_none()) {
        let edge = |of: fn(&Point) -> Option<f64>| {
            run.iter().filter_map(move |point| frame.spot(point.x, of(point).or(point.y)?, 0.0))
        };
        let upper: Vec<Spot> = edge(|point| point.high).collect();
        if upper.len() > 1 {
            let mut lower: Vec<Spot> = edge(|point| point.low).collect();
            lower.reverse();
            areas.push(upper.into_iter().chain(lower).collect());
        }
    }
    let color = sheet.theme.color(0);
    sheet.lines(&areas, &format!("fill=\"{color}\" fill-opacity=\"0.25\""));
}

/// The names of what found no room.
fn rest(sheet: &mut Sheet, series: &[Series], top: f64) -> f64 {
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    if names.is_empty() {
        return top;
    }
    let text = format!("Not drawn here: {}.", names.join("; "));
    let lines = wrap(&text, sheet.width - 8.0, TEXT, 40);
    sheet.texts([4.0, top + 6.0], frame::LINE, sheet.muted(Anchor::Start), &lines);
    top + 10.0 + frame::LINE * lines.len() as f64
}
