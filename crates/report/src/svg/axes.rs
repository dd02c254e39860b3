//! Grid, ticks and names of axes, and the bounds drawn across a plot.

use super::frame::{Frame, LINE};
use super::metrics::{fit, shorten, width_of, wrap};
use super::sheet::{Anchor, Area, Sheet, Spot, TEXT, TextStyle, stroke};
use super::track::Track;
use crate::figure::{Figure, Mark, Scale};

const BOUND: &str = " stroke-dasharray=\"4 3\"";

/// Categories down the page, values to the right.
pub(super) fn horizontal(
    sheet: &mut Sheet,
    figure: &Figure,
    frame: &mut Frame,
    labels: &[Vec<String>],
) {
    let plot = frame.plot;
    sheet.group("class=\"ticks\"", |sheet| ticks_below(sheet, frame, &frame.measured, 44.0));
    sheet.line([plot.left, plot.top], [plot.left, plot.bottom], &stroke(sheet.theme.muted, 0.8));
    let between = |nth: usize| Some(frame.varied.at(nth as f64)? - frame.varied.step() / 2.0);
    let rules = (1..labels.len()).filter_map(between);
    let rules: Vec<_> = rules.map(|y| vec![[plot.left, y], [plot.right, y]]).collect();
    sheet.lines(&rules, &stroke(sheet.theme.rule, 0.4));
    for (nth, lines) in labels.iter().enumerate() {
        let Some(y) = frame.varied.at(nth as f64) else { continue };
        let head = y - 0.5 * LINE * (lines.len() as f64 - 1.0);
        sheet.named(&figure.x.categories[nth], |sheet| {
            for (row, line) in lines.iter().enumerate() {
                let at = [plot.left - 6.0, head + LINE * row as f64];
                sheet.text(at, TextStyle::new(Anchor::End, sheet.theme.ink), line);
            }
        });
    }
    let middle = [(plot.left + plot.right) / 2.0, plot.bottom + 20.0];
    frame.bottom = axis_name(sheet, &figure.y.label, middle) + 8.0;
}

/// The name of an axis below it, on two lines where one is too short; gives its last line's height.
fn axis_name(sheet: &mut Sheet, name: &str, [x, y]: Spot) -> f64 {
    let lines = wrap(name, sheet.width - 4.0, TEXT, 2);
    for (row, line) in lines.iter().enumerate().filter(|pair| !pair.1.is_empty()) {
        let words = TextStyle::new(Anchor::Middle, sheet.theme.muted);
        sheet.text([x, y + LINE * row as f64], words, line);
    }
    y + LINE * (lines.len() - 1) as f64
}

/// Values up the page, what was varied to the right.
pub(super) fn upright(sheet: &mut Sheet, figure: &Figure, frame: &mut Frame) {
    let plot = frame.plot;
    let ticks = frame.measured.ticks(34.0);
    let rules = ticks.iter().map(|(y, _)| vec![[plot.left, *y], [plot.right, *y]]);
    sheet.lines(&rules.collect::<Vec<_>>(), &stroke(sheet.theme.rule, 0.6));
    for (y, words) in ticks {
        let words = shorten(&words, plot.left - 8.0, TEXT);
        sheet.text([plot.left - 5.0, y], TextStyle::new(Anchor::End, sheet.theme.muted), &words);
    }
    let foot = match figure.x.scale {
        Scale::Category => {
            let room = frame.varied.step() - 4.0;
            names_below(sheet, figure, plot.bottom, room, |nth| frame.varied.at(nth as f64))
        }
        _ => {
            sheet.group("class=\"ticks\"", |sheet| ticks_below(sheet, frame, &frame.varied, 44.0));
            plot.bottom + 9.0 + LINE
        }
    };
    sheet.line(
        [plot.left, plot.bottom],
        [plot.right, plot.bottom],
        &stroke(sheet.theme.muted, 0.8),
    );
    let middle = [(plot.left + plot.right) / 2.0, foot + 2.0];
    frame.bottom = axis_name(sheet, &figure.x.label, middle) + 8.0;
    if !figure.y.label.is_empty() {
        let name = shorten(&figure.y.label, plot.height() + 12.0, TEXT);
        sheet.upward([9.0, (plot.top + plot.bottom) / 2.0], sheet.theme.muted, &name);
    }
}

/// The ticks of the axis that runs to the right; without words where another plot below has them.
fn ticks_below(sheet: &mut Sheet, frame: &Frame, axis: &Track, room: f64) {
    let plot = frame.plot;
    let ticks = axis.ticks(room);
    let rules = ticks.iter().map(|(x, _)| vec![[*x, plot.top], [*x, plot.bottom + 2.0]]);
    sheet.lines(&rules.collect::<Vec<_>>(), &stroke(sheet.theme.rule, 0.6));
    let mut taken = f64::NEG_INFINITY;
    for (x, words) in ticks.into_iter().filter(|_| frame.worded) {
        let half = width_of(&words, TEXT) / 2.0;
        if x - half > taken {
            let at = [x, plot.bottom + 9.0];
            sheet.text(at, TextStyle::new(Anchor::Middle, sheet.theme.muted), &words);
            taken = x + half + 2.0;
        }
    }
}

/// The names of categories below a plot, each at its place, on a few lines or upright where they
/// have no room; gives where they end.
pub(super) fn names_below(
    sheet: &mut Sheet,
    figure: &Figure,
    top: f64,
    room: f64,
    at: impl Fn(usize) -> Option<f64>,
) -> f64 {
    const UPRIGHT: f64 = 70.0;
    let names = &figure.x.categories;
    let (size, broken) = fit(names.iter(), room, 4);
    let upright = broken.iter().flatten().any(|line| line.ends_with('…'));
    let theme = sheet.theme;
    let mut foot = top + 9.0 + LINE;
    for (nth, (name, lines)) in names.iter().zip(&broken).enumerate() {
        let Some(x) = at(nth) else { continue };
        sheet.named(name, |sheet| {
            if upright {
                let short = shorten(name, UPRIGHT, TEXT);
                let long = width_of(&short, TEXT);
                foot = foot.max(top + 6.0 + long + 4.0);
                sheet.upward([x, top + 6.0 + long / 2.0], theme.ink, &short);
                return;
            }
            for (row, line) in lines.iter().enumerate() {
                let at = [x, top + 8.0 + LINE * row as f64];
                sheet.text(
                    at,
                    TextStyle { size, ..TextStyle::new(Anchor::Middle, theme.ink) },
                    line,
                );
            }
            foot = foot.max(top + 9.0 + LINE * lines.len() as f64);
        });
    }
    foot
}

fn bounds(figure: &Figure) -> impl Iterator<Item = &Mark> {
    figure.marks.iter().filter(|mark| mark.value.is_finite())
}

/// Bounds of a plot whose values go up: lines across, their names at the right end, each in the
/// first place above or below its line that is clear of the others'.
pub(super) fn bounds_across(sheet: &mut Sheet, figure: &Figure, frame: &Frame) {
    let plot = frame.plot;
    let mut taken: Vec<Area> = Vec::new();
    for mark in bounds(figure) {
        let Some(y) = frame.measured.at(mark.value) else { continue };
        sheet.line([plot.left, y], [plot.right, y], &(stroke(sheet.theme.muted, 0.9) + BOUND));
        let name = shorten(&mark.label, plot.width() - 6.0, TEXT);
        let wide = width_of(&name, TEXT);
        let places = [-6.0, 6.0, -16.0, 16.0, -26.0, 26.0].map(|off| {
            let middle = (y + off).clamp(plot.top + 5.0, plot.bottom - 5.0);
            let right = plot.right - 3.0;
            Area { left: right - wide, top: middle - 4.5, right, bottom: middle + 4.5 }
        });
        let free = |area: &&Area| !taken.iter().any(|other| other.touches(area));
        let area = *places.iter().find(free).unwrap_or(&places[0]);
        let words = TextStyle { halo: true, ..TextStyle::new(Anchor::End, sheet.theme.muted) };
        sheet.named(&mark.label, |sheet| {
            sheet.text([area.right, (area.top + area.bottom) / 2.0], words, &name);
        });
        taken.push(area);
    }
}

/// A bound above a plot: the value, and the lines of its name, each with its middle.
pub(super) struct Lane {
    value: f64,
    label: String,
    lines: Vec<(Spot, String)>,
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
        let Some(at) = measured.at(mark.value) else { continue };
        let (mut lines, mut least) = (Vec::new(), 0);
        for line in wrap(&mark.label, width - 8.0, TEXT, 2) {
            let half = width_of(&line, TEXT) / 2.0 + 3.0;
            let x = at.min(width - half).max(half);
            let free = |lane: &usize| ends.get(*lane).is_none_or(|end| x - half > *end);
            let lane = (least..).find(free).unwrap_or(least);
            ends.resize(ends.len().max(lane + 1), f64::NEG_INFINITY);
            ends[lane] = x + half;
            lines.push(([x, top + 6.0 + LINE * lane as f64], line));
            least = lane + 1;
        }
        lanes.push(Lane { value: mark.value, label: mark.label.clone(), lines });
    }
    (top + 6.0 + LINE * ends.len() as f64, lanes)
}

/// Draws the bounds of a horizontal plot, each from its name down.
pub(super) fn draw_lanes(sheet: &mut Sheet, frame: &Frame) {
    let style = stroke(sheet.theme.muted, 0.9) + BOUND;
    for lane in &frame.lanes {
        let (Some(x), Some((last, _))) = (frame.measured.at(lane.value), lane.lines.last()) else {
            continue;
        };
        sheet.line([x, last[1] + 5.0], [x, frame.plot.bottom], &style);
    }
    for lane in &frame.lanes {
        let plain = TextStyle::new(Anchor::Middle, sheet.theme.muted);
        let words = TextStyle { halo: true, beside: frame.measured.at(lane.value), ..plain };
        sheet.named(&lane.label, |sheet| {
            lane.lines.iter().for_each(|(at, line)| sheet.text(*at, words, line));
        });
    }
}
