//! Grid, ticks and names of axes, and the bounds drawn across a plot.

use super::frame::{Frame, LINE};
use super::sheet::{Anchor, INK, MUTED, RULE, Sheet, TEXT, Words, fit, shorten, stroke, width_of};
use super::track::Track;
use crate::figure::{Figure, FigureKind, Mark, Scale};

const BOUND: &str = " stroke-dasharray=\"4 3\"";

/// Categories down the page, values to the right.
pub(super) fn horizontal(
    sheet: &mut Sheet,
    figure: &Figure,
    frame: &mut Frame,
    labels: &[Vec<String>],
) {
    let plot = frame.plot;
    for (x, words) in frame.measured.ticks(58.0) {
        sheet.line([x, plot.top], [x, plot.bottom], &stroke(RULE, 0.6));
        sheet.text([x, plot.bottom + 8.0], Words::new(Anchor::Middle, MUTED), &words);
    }
    sheet.line([plot.left, plot.top], [plot.left, plot.bottom], &stroke(MUTED, 0.8));
    for (nth, lines) in labels.iter().enumerate() {
        let Some(y) = frame.varied.at(nth as f64) else { continue };
        let head = y - 0.5 * LINE * (lines.len() as f64 - 1.0);
        sheet.named(&figure.x.categories[nth], |sheet| {
            for (row, line) in lines.iter().enumerate() {
                let at = [plot.left - 6.0, head + LINE * row as f64];
                sheet.text(at, Words::new(Anchor::End, INK), line);
            }
        });
        if nth > 0 {
            let y = y - frame.varied.step() / 2.0;
            sheet.line([plot.left, y], [plot.right, y], &stroke(RULE, 0.4));
        }
    }
    let middle = [(plot.left + plot.right) / 2.0, plot.bottom + 20.0];
    axis_name(sheet, &figure.y.label, middle, plot.width());
    frame.bottom = plot.bottom + 28.0;
}

fn axis_name(sheet: &mut Sheet, name: &str, at: [f64; 2], room: f64) {
    if !name.is_empty() {
        sheet.text(at, Words::new(Anchor::Middle, MUTED), &shorten(name, room, TEXT));
    }
}

/// Values up the page, what was varied to the right.
pub(super) fn upright(sheet: &mut Sheet, figure: &Figure, frame: &mut Frame) {
    let plot = frame.plot;
    for (y, words) in frame.measured.ticks(34.0) {
        sheet.line([plot.left, y], [plot.right, y], &stroke(RULE, 0.6));
        let words = shorten(&words, plot.left - 8.0, TEXT);
        sheet.text([plot.left - 5.0, y], Words::new(Anchor::End, MUTED), &words);
    }
    let rows = match figure.x.scale {
        Scale::Category => names_below(sheet, figure, frame),
        _ => {
            let mut taken = f64::NEG_INFINITY;
            for (x, words) in frame.varied.ticks(46.0) {
                sheet.line([x, plot.top], [x, plot.bottom], &stroke(RULE, 0.4));
                sheet.line([x, plot.bottom], [x, plot.bottom + 3.0], &stroke(MUTED, 0.8));
                let half = width_of(&words, TEXT) / 2.0;
                if x - half > taken {
                    let at = [x, plot.bottom + 9.0];
                    sheet.text(at, Words::new(Anchor::Middle, MUTED), &words);
                    taken = x + half + 2.0;
                }
            }
            1
        }
    };
    sheet.line([plot.left, plot.bottom], [plot.right, plot.bottom], &stroke(MUTED, 0.8));
    let foot = plot.bottom + 9.0 + LINE * rows as f64;
    axis_name(sheet, &figure.x.label, [(plot.left + plot.right) / 2.0, foot + 2.0], plot.width());
    if !figure.y.label.is_empty() {
        let name = shorten(&figure.y.label, plot.height(), TEXT);
        sheet.upward([9.0, (plot.top + plot.bottom) / 2.0], MUTED, &name);
    }
    frame.bottom = foot + 10.0;
    bounds_across(sheet, figure, frame);
}

/// The names of categories below a plot; gives how many lines the longest takes.
fn names_below(sheet: &mut Sheet, figure: &Figure, frame: &Frame) -> usize {
    let room = frame.varied.step() - 4.0;
    let mut rows = 1;
    let (size, names) = fit(figure.x.categories.iter(), room, 4);
    for (nth, (name, lines)) in figure.x.categories.iter().zip(&names).enumerate() {
        let Some(x) = frame.varied.at(nth as f64) else { continue };
        rows = rows.max(lines.len());
        sheet.named(name, |sheet| {
            for (row, line) in lines.iter().enumerate() {
                let at = [x, frame.plot.bottom + 9.0 + LINE * row as f64];
                sheet.text(at, Words { size, ..Words::new(Anchor::Middle, INK) }, line);
            }
        });
    }
    rows
}

fn bounds(figure: &Figure) -> impl Iterator<Item = &Mark> {
    figure.marks.iter().filter(|it| it.value.is_finite())
}

/// Bounds as lines across, their names at the right end, each clear of the others'.
fn bounds_across(sheet: &mut Sheet, figure: &Figure, frame: &Frame) {
    if figure.kind == FigureKind::Heatmap {
        return;
    }
    let plot = frame.plot;
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for mark in bounds(figure) {
        let Some(y) = frame.measured.at(mark.value) else { continue };
        sheet.line([plot.left, y], [plot.right, y], &(stroke(MUTED, 0.9) + BOUND));
        let name = shorten(&mark.label, plot.width() / 2.0, TEXT);
        let near = taken.iter().filter(|(other, _)| (y - other).abs() < LINE);
        let used: f64 = near.map(|(_, wide)| wide + 10.0).sum();
        let words = Words { halo: true, ..Words::new(Anchor::End, MUTED) };
        sheet.named(&mark.label, |sheet| {
            sheet.text([plot.right - 3.0 - used, (y - 6.0).max(plot.top + 5.0)], words, &name);
        });
        taken.push((y, width_of(&name, TEXT)));
    }
}

/// A bound's name above a plot: its middle, its lane, and what is left of the name.
pub(super) struct Lane {
    x: f64,
    y: f64,
    name: String,
}

/// Places the names of bounds above a horizontal plot; gives where the plot begins.
pub(super) fn mark_lanes(
    figure: &Figure,
    measured: &Track,
    top: f64,
    width: f64,
) -> (f64, Vec<Lane>) {
    let mut ends: Vec<f64> = Vec::new();
    let mut lanes = Vec::new();
    let mut marks: Vec<&Mark> = bounds(figure).collect();
    marks.sort_by(|a, b| a.value.total_cmp(&b.value));
    for mark in marks {
        let Some(x) = measured.at(mark.value) else { continue };
        let name = shorten(&mark.label, width / 2.0, TEXT);
        let half = width_of(&name, TEXT) / 2.0 + 3.0;
        let x = x.max(half).min(width - half);
        let lane = ends.iter().position(|end| x - half > *end).unwrap_or(ends.len());
        if lane == ends.len() {
            ends.push(0.0);
        }
        ends[lane] = x + half;
        lanes.push(Lane { x, y: top + 6.0 + LINE * lane as f64, name });
    }
    (top + 6.0 + LINE * ends.len() as f64, lanes)
}

/// Draws the bounds of a horizontal plot, each from its name down.
pub(super) fn draw_lanes(sheet: &mut Sheet, figure: &Figure, frame: &Frame, lanes: &[Lane]) {
    let mut marks: Vec<&Mark> =
        bounds(figure).filter(|it| frame.measured.at(it.value).is_some()).collect();
    marks.sort_by(|a, b| a.value.total_cmp(&b.value));
    for (mark, lane) in marks.iter().zip(lanes) {
        let x = frame.measured.at(mark.value).unwrap_or(lane.x);
        let style = stroke(MUTED, 0.9) + BOUND;
        sheet.line([x, lane.y + 5.0], [x, frame.plot.bottom], &style);
    }
    for (mark, lane) in marks.iter().zip(lanes) {
        let words = Words { halo: true, ..Words::new(Anchor::Middle, MUTED) };
        sheet.named(&mark.label, |sheet| sheet.text([lane.x, lane.y], words, &lane.name));
    }
}
