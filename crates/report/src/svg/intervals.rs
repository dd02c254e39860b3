//! A sign with a bar from low to high per category and series, the value in words behind it.

use super::frame;
use super::metrics::{TEXT, shorten, width_of};
use super::sheet::{Anchor, Sheet, Spot, TextStyle, stroke};
use super::theme::number_of;
use crate::figure::{Figure, Point, Series, finite};

/// The height of one interval's row.
pub(super) const ROW: f64 = 9.5;

pub(super) fn draw(sheet: &mut Sheet, figure: &Figure) -> f64 {
    // Of tones each category has one.
    let toned = figure.series.iter().all(|series| series.tone.is_some());
    let many = if toned { 1.0 } else { figure.series.len().max(1) as f64 };
    let tall = if figure.horizontal {
        figure.x.categories.len().max(1) as f64 * (many * ROW + 4.0)
    } else {
        0.55 * sheet.width
    };
    let frame = frame::lay(sheet, figure, tall);
    let band = (frame.varied.step() - 3.0) / many;
    frame.inside(sheet, figure, |sheet| {
        for (nth, series) in figure.series.iter().enumerate() {
            let aside = if toned { 0.0 } else { (nth as f64 - (many - 1.0) / 2.0) * band };
            sheet.series(nth, &series.name, |sheet| {
                let nth = number_of(series, nth);
                for at in 0..series.points.len() {
                    interval(sheet, figure, &frame, (series, at), nth, aside);
                }
            });
        }
    });
    frame.bottom
}

/// What a viewer says of a point.
pub(super) fn said(figure: &Figure, series: &Series, point: &Point) -> String {
    let remark = point.label.as_ref().map(|label| format!(" ({label})")).unwrap_or_default();
    let (x, y) = (figure.x.format(point.x), point.describe(figure.y.unit));
    format!("{}, {x}: {y}{remark}", series.name)
}

/// A value where it stands, with the ends of its interval.
pub(super) struct Placed {
    pub y: f64,
    pub mid: Spot,
    pub low: Spot,
    pub high: Spot,
}

/// None where there is no value: the reason is in its place.
pub(super) fn placed(
    sheet: &mut Sheet,
    figure: &Figure,
    frame: &frame::Frame,
    point: &Point,
    aside: f64,
) -> Option<Placed> {
    let Some(y) = point.y.and_then(finite) else {
        reason(sheet, figure, frame, point, aside);
        return None;
    };
    let spot = |value: f64| frame.spot(point.x, value, aside);
    let mid = spot(y)?;
    let end = |value: Option<f64>| value.and_then(spot).unwrap_or(mid);
    Some(Placed { y, mid, low: end(point.low), high: end(point.high) })
}

/// The reason in the place of a value that is absent.
fn reason(sheet: &mut Sheet, figure: &Figure, frame: &frame::Frame, point: &Point, aside: f64) {
    let (Some(label), Some(across), true) =
        (&point.label, frame.varied.at(point.x), figure.horizontal)
    else {
        return;
    };
    let room = sheet.width - frame.plot.left - 6.0;
    let sizes = [TEXT - 1.0, TEXT - 1.7, TEXT - 2.4];
    let size = sizes.into_iter().find(|size| width_of(label, *size) <= room).unwrap_or(sizes[2]);
    let words = TextStyle { size, ..sheet.muted(Anchor::Start) };
    let short = shorten(label, room, size);
    sheet.named(label, |sheet| {
        sheet.text([frame.plot.left + 5.0, across + aside], words, &short);
    });
}

/// The value in words to the right of what is drawn.
pub(super) fn words_behind(sheet: &mut Sheet, figure: &Figure, y: f64, [x, mid]: Spot) {
    let plain = sheet.muted(Anchor::Start);
    let words = TextStyle { size: TEXT - 1.0, halo: true, beside: Some(x), ..plain };
    sheet.text([x + 4.0, mid], words, &figure.y.unit.format(y));
}

fn interval(
    sheet: &mut Sheet,
    figure: &Figure,
    frame: &frame::Frame,
    (series, at): (&Series, usize),
    nth: usize,
    aside: f64,
) {
    let point = &series.points[at];
    let Some(Placed { y, mid, low, high }) = placed(sheet, figure, frame, point, aside) else {
        return;
    };
    sheet.point(at, mid, &said(figure, series, point), |sheet| {
        if point.low.is_some() {
            sheet.whisker(low, high, 2.5, &stroke(sheet.theme.color(nth), 1.2));
        }
        sheet.sign(nth, mid, 5.0);
        if figure.horizontal {
            words_behind(sheet, figure, y, [high[0].max(mid[0] + 2.5), mid[1]]);
        }
    });
}
