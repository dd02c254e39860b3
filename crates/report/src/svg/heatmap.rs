//! A field of cells: its colours grow darker evenly, so that a grey print keeps their order.

use super::frame::{self, LINE};
use super::metrics::{TEXT, shorten, width_of, wrap};
use super::sheet::{Anchor, Area, Sheet, TextStyle, stroke};
use super::track::Track;
use crate::figure::{Figure, Point, ends, finite};

/// Cividis, from the smallest to the largest.
const FIELD: [[f64; 3]; 7] = [
    [0.0, 34.0, 78.0],
    [42.0, 63.0, 109.0],
    [87.0, 93.0, 109.0],
    [125.0, 124.0, 120.0],
    [166.0, 157.0, 117.0],
    [211.0, 193.0, 100.0],
    [254.0, 232.0, 56.0],
];
const CELL: f64 = 22.0;

/// The colour of a share, from 0 to 1.
fn shade(share: f64) -> String {
    let at = share.clamp(0.0, 1.0) * (FIELD.len() - 1) as f64;
    let low = (at.floor() as usize).min(FIELD.len() - 2);
    let mixed =
        |nth: usize| FIELD[low][nth] + (at - low as f64) * (FIELD[low + 1][nth] - FIELD[low][nth]);
    format!("rgb({:.0},{:.0},{:.0})", mixed(0), mixed(1), mixed(2))
}

pub(super) fn draw(sheet: &mut Sheet, figure: &Figure) -> f64 {
    let width = sheet.width;
    let rows: Vec<Vec<String>> =
        figure.series.iter().map(|series| wrap(&series.name, 0.28 * width, TEXT, 2)).collect();
    let widest = rows.iter().flatten().map(|row| width_of(row, TEXT)).fold(0.0, f64::max);
    let plot = Area {
        left: widest + 12.0,
        top: 4.0,
        right: width - 4.0,
        bottom: 4.0 + CELL * rows.len().max(1) as f64,
    };
    let columns = figure.x.categories.len().max(1) as f64;
    let wide = plot.width() / columns;
    let values =
        || figure.series.iter().flat_map(|series| &series.points).filter_map(|point| point.y);
    let colours = Track::of(figure, &figure.y, values(), 0.0).along(0.0, 1.0);
    let (least, most) = ends(values().filter_map(|value| colours.at(value)));
    for (row, (series, lines)) in figure.series.iter().zip(&rows).enumerate() {
        let top = plot.top + CELL * row as f64;
        sheet.series(row, &series.name, |sheet| {
            let head = top + CELL / 2.0 - 0.5 * LINE * (lines.len() as f64 - 1.0);
            sheet.texts([plot.left - 6.0, head], LINE, sheet.ink(Anchor::End), lines);
            let within = |point: &Point| (0.0..columns).contains(&point.x);
            for (at, point) in series.points.iter().enumerate().filter(|pair| within(pair.1)) {
                let left = plot.left + wide * point.x;
                let area = Area {
                    left: left + 0.75,
                    top: top + 0.75,
                    right: left + wide - 0.75,
                    bottom: top + CELL - 0.75,
                };
                let share = point.y.and_then(finite).and_then(|value| colours.at(value));
                let share = share.map(|share| (share - least) / (most - least).max(1e-9));
                cell(sheet, figure, (at, point), area, share);
            }
        });
    }
    let foot = columns_below(sheet, figure, plot, wide);
    scale_below(sheet, figure, plot, foot, values())
}

fn cell(
    sheet: &mut Sheet,
    figure: &Figure,
    (at, point): (usize, &Point),
    area: Area,
    share: Option<f64>,
) {
    let middle = [(area.left + area.right) / 2.0, (area.top + area.bottom) / 2.0];
    let Some(share) = share else {
        let why = point.label.as_deref().unwrap_or("not measured");
        let [ground, hatching] = sheet.theme.pale;
        sheet.point(at, middle, why, |sheet| {
            sheet.rect(area, 0.0, &format!("fill=\"{ground}\""));
            sheet.hatch(area, hatching, 6.0, false);
            let words = TextStyle { halo: true, ..sheet.muted(Anchor::Middle) };
            if area.width() > width_of("n/a", TEXT) {
                sheet.text(middle, words, "n/a");
            }
        });
        return;
    };
    let measured = figure.y.unit.format(point.y.unwrap_or(f64::NAN));
    let said = point.label.clone().unwrap_or_else(|| measured.clone());
    let full = width_of(&said, TEXT);
    let size = (TEXT * (area.width() - 4.0) / full).clamp(5.5, TEXT);
    let letters = if share > 0.5 { "#111111" } else { "#ffffff" };
    sheet.point(at, middle, &format!("{said} ({measured})"), |sheet| {
        sheet.rect(area, 0.0, &format!("fill=\"{}\"", shade(share)));
        // Many columns in little room: the colour tells, and the table beside it.
        if width_of(&said, size) <= area.width() {
            let words = TextStyle { size, ..TextStyle::new(Anchor::Middle, letters) };
            sheet.text(middle, words, &said);
        }
    });
}

fn columns_below(sheet: &mut Sheet, figure: &Figure, plot: Area, wide: f64) -> f64 {
    let at = |nth: usize| Some(plot.left + wide * (nth as f64 + 0.5));
    let foot = frame::names_below(sheet, figure, plot.bottom, wide - 4.0, at);
    let middle = [(plot.left + plot.right) / 2.0, foot + 2.0];
    sheet.text(middle, sheet.muted(Anchor::Middle), &figure.x.label);
    foot + 12.0
}

/// What the colours mean: a bar with its ends in words.
fn scale_below(
    sheet: &mut Sheet,
    figure: &Figure,
    plot: Area,
    top: f64,
    values: impl Iterator<Item = f64>,
) -> f64 {
    const STEPS: usize = 16;
    let (least, most) = ends(values.filter(|value| value.is_finite()));
    if least >= most {
        return top;
    }
    let long = (0.4 * plot.width()).min(160.0);
    let left = (plot.left + plot.right - long) / 2.0;
    for nth in 0..STEPS {
        let step = long / STEPS as f64;
        let x = left + step * nth as f64;
        // A little wider than a step, so that no seam shows; the last ends where the bar does.
        let right = (x + step + 0.3).min(left + long);
        let area = Area { left: x, top: top + 4.0, right, bottom: top + 12.0 };
        let share = nth as f64 / (STEPS - 1) as f64;
        sheet.rect(area, 0.0, &format!("fill=\"{}\"", shade(share)));
    }
    let frame = Area { left, top: top + 4.0, right: left + long, bottom: top + 12.0 };
    sheet.rect(frame, 0.0, &stroke(sheet.theme.muted, 0.5));
    let words = |value: f64| figure.y.unit.format(value);
    sheet.text([left - 5.0, top + 8.0], sheet.muted(Anchor::End), &words(least));
    sheet.text([left + long + 5.0, top + 8.0], sheet.muted(Anchor::Start), &words(most));
    let name = shorten(&figure.y.label, sheet.width - 10.0, TEXT);
    let middle = [left + long / 2.0, top + 19.0];
    sheet.text(middle, sheet.muted(Anchor::Middle), &name);
    top + 27.0
}
