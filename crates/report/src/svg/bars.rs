//! Bars: stacked by series, or beside each other with whiskers and signs from elsewhere.

use super::frame;
use super::intervals::{Placed, placed, said, words_behind};
use super::metrics::TEXT;
use super::sheet::{Anchor, Sheet, TextStyle, stroke};
use crate::figure::{Drawn, Figure, Point, Series, finite};

pub(super) fn stacked(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let rows = figure.x.categories.len().max(1) as f64;
    let tall = if figure.horizontal { rows * 22.0 } else { 0.5 * sheet.width };
    let frame = frame::lay(sheet, figure, tall);
    let half = (0.34 * frame.varied.step()).min(9.0);
    let mut reached = vec![0.0; figure.x.categories.len()];
    let mut beside = 0;
    frame.inside(sheet, figure, |sheet| {
        for (nth, series) in figure.series.iter().enumerate() {
            if series.drawn == Drawn::Signs {
                signs(sheet, figure, &frame, nth, beside);
                beside += 1;
                continue;
            }
            sheet.series(nth, &series.name, |sheet| {
                for (at, point) in series.points.iter().enumerate() {
                    let below = reached.get_mut(point.x.max(0.0).round() as usize);
                    let (Some(y), Some(from)) = (point.y.and_then(finite), below) else { continue };
                    let ends = [*from, *from + y].map(|value| frame.spot(point.x, value, 0.0));
                    *from += y;
                    let [Some(low), Some(high)] = ends else { continue };
                    let middle = [(low[0] + high[0]) / 2.0, (low[1] + high[1]) / 2.0];
                    sheet.point(at, middle, &said(figure, series, point), |sheet| {
                        sheet.fill(nth, frame.bar(low, high, half));
                    });
                }
            });
        }
    });
    frame.bottom
}

pub(super) fn grouped(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let slots = figure.series.iter().filter(|series| series.drawn == Drawn::AsKind).count().max(1);
    let rows = figure.x.categories.len().max(1) as f64;
    let tall =
        if figure.horizontal { rows * (slots as f64 * 14.0 + 7.0) } else { 0.5 * sheet.width };
    let frame = frame::lay(sheet, figure, tall);
    let half = (0.35 * frame.varied.step() / slots as f64).min(8.0);
    let all = || figure.series.iter().enumerate();
    frame.inside(sheet, figure, |sheet| {
        for (slot, (nth, series)) in all().filter(|pair| pair.1.drawn == Drawn::AsKind).enumerate()
        {
            let aside = Figure::slot(slot, slots) * frame.varied.step();
            sheet.series(nth, &series.name, |sheet| {
                for at in 0..series.points.len() {
                    bar(sheet, figure, &frame, (series, nth), at, (aside, half));
                }
            });
        }
        // Signs lie above the bars.
        for (beside, (nth, _)) in all().filter(|pair| pair.1.drawn == Drawn::Signs).enumerate() {
            signs(sheet, figure, &frame, nth, beside);
        }
    });
    frame.bottom
}

fn bar(
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
    let Some(zero) = frame.spot(point.x, 0.0, aside) else { return };
    sheet.point(at, mid, &said(figure, series, point), |sheet| {
        sheet.fill(nth, frame.bar(zero, mid, half));
        if point.low.is_some() {
            sheet.whisker(low, high, 2.5, &stroke(sheet.theme.ink, 1.0));
        }
        if figure.horizontal {
            let from = high[0].max(mid[0]);
            if beside_signs(figure, frame, point, aside, from) {
                // Right behind a sign it would be read as that sign's.
                let words = sheet.muted(Anchor::End);
                let words = TextStyle { size: TEXT - 1.0, halo: true, ..words };
                sheet.text([frame.plot.right, mid[1]], words, &figure.y.unit.format(y));
            } else {
                words_behind(sheet, figure, y, [from, mid[1]]);
            }
        }
    });
}

/// Whether a sign of this bar stands where words behind `from` would.
fn beside_signs(
    figure: &Figure,
    frame: &frame::Frame,
    point: &Point,
    aside: f64,
    from: f64,
) -> bool {
    const WORDS: f64 = 40.0;
    let bar = frame.varied.at(point.x).unwrap_or(f64::NAN) + aside;
    let signs = figure.series.iter().filter(|series| series.drawn == Drawn::Signs);
    let mut here = signs.flat_map(|sign| &sign.points).filter_map(|point| frame.place(point));
    here.any(|[x, y]| (y - bar).abs() < 2.0 && x > from - 5.0 && x < from + WORDS)
}

/// Signs of what comes from elsewhere; a fraction of `x` puts them at a bar.
fn signs(sheet: &mut Sheet, figure: &Figure, frame: &frame::Frame, nth: usize, beside: usize) {
    let series = &figure.series[nth];
    let theme = sheet.theme;
    sheet.series(nth, &series.name, |sheet| {
        for (at, point) in series.points.iter().enumerate() {
            let Some(spot) = frame.place(point) else { continue };
            sheet.point(at, spot, &said(figure, series, point), |sheet| {
                sheet.shape(3 + beside, spot, 6.5, theme.paper, theme.ink);
            });
        }
    });
}
