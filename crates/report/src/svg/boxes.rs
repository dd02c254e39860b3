//! A box per category and series: quartiles, the median within, whiskers to both ends.

use super::frame;
use super::intervals::{Placed, ROW, placed, said, words_behind};
use super::sheet::{Sheet, stroke};
use crate::figure::{Figure, Series};

pub(super) fn draw(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let slots = figure.series.len().max(1);
    let rows = figure.x.categories.len().max(1) as f64;
    let tall =
        if figure.horizontal { rows * (slots as f64 * ROW + 5.0) } else { 0.55 * sheet.width };
    let frame = frame::lay(sheet, figure, tall);
    let half = (0.34 * frame.varied.step() / slots as f64).min(8.0);
    frame.inside(sheet, figure, |sheet| {
        for (nth, series) in figure.series.iter().enumerate() {
            let aside = Figure::slot(nth, slots) * frame.varied.step();
            sheet.series(nth, &series.name, |sheet| {
                for at in 0..series.points.len() {
                    one(sheet, figure, &frame, (series, nth), at, (aside, half));
                }
            });
        }
    });
    frame.bottom
}

fn one(
    sheet: &mut Sheet,
    figure: &Figure,
    frame: &frame::Frame,
    (series, nth): (&Series, usize),
    at: usize,
    (aside, half): (f64, f64),
) {
    let point = &series.points[at];
    let Some(Placed { y, mid, low, high }) = placed(sheet, figure, frame, point, aside) else {
        return;
    };
    let spots = point.ends.map(|ends| ends.map(|value| frame.spot(point.x, value, aside)));
    let [least, most] = spots.unwrap_or([None; 2]);
    let (least, most) = (least.unwrap_or(low), most.unwrap_or(high));
    let ends = point.ends.map(|[least, most]| {
        let words = |value| figure.y.unit.format(value);
        format!("; from {} to {}", words(least), words(most))
    });
    let said = said(figure, series, point) + &ends.unwrap_or_default();
    sheet.point(at, mid, &said, |sheet| {
        let line = stroke(sheet.theme.color(nth), 1.1);
        sheet.whisker(least, most, half / 2.0, &line);
        // Paper below, so that the whisker ends at the box.
        let area = frame.bar(low, high, half);
        sheet.rect(area, 0.0, &format!("fill=\"{}\"", sheet.theme.paper));
        sheet.fill(nth, area);
        let [a, b] = frame.cap(mid, half);
        // White below, so that the median shows on any fill.
        sheet.line(a, b, &stroke(sheet.theme.paper, 3.2));
        sheet.line(a, b, &stroke(sheet.theme.ink, 1.6));
        if figure.horizontal {
            words_behind(sheet, figure, y, [most[0], mid[1]]);
        }
    });
}
