//! The frame of a figure with axes: where the plot lies, and what stands around it.

use super::legend;
use super::metrics::{TEXT, fit, shorten, width_of, wrap};
use super::sheet::{Anchor, Area, Sheet, Spot, TextStyle, stroke};
use super::track::Track;
use crate::figure::{Drawn, Figure, FigureKind, Mark, Point, Scale, finite};

/// Room that a value in words takes behind its interval.
const WORDS: f64 = 62.0;
pub(super) const LINE: f64 = 10.0;
/// The dashes of a bound.
const BOUND: &str = " stroke-dasharray=\"4 3\"";

/// A plot with its two axes.
pub(super) struct Frame<'a> {
    pub plot: Area,
    pub varied: Track<'a>,
    pub measured: Track<'a>,
    pub horizontal: bool,
    /// The names of bounds above a horizontal plot.
    pub lanes: Vec<Lane>,
    /// Whether the ticks below have words.
    pub worded: bool,
    pub bottom: f64,
}

impl Frame<'_> {
    /// Draws the bounds and then what else stands in the plot; a page may stretch it along an axis
    /// of numbers.
    pub fn inside(&self, sheet: &mut Sheet, figure: &Figure, draw: impl FnOnce(&mut Sheet)) {
        let all = |sheet: &mut Sheet| {
            if self.horizontal {
                draw_lanes(sheet, self)
            } else {
                bounds_across(sheet, figure, self)
            }
            draw(sheet);
        };
        let along = if self.horizontal { &self.measured } else { &self.varied };
        match along.described() {
            Some(axis) => sheet.group(&format!("data-axis=\"{axis}\""), all),
            None => all(sheet),
        }
    }

    /// Where a value stands, `aside` points off along the varied axis.
    pub fn spot(&self, varied: f64, measured: f64, aside: f64) -> Option<Spot> {
        let (across, along) = (self.varied.at(varied)? + aside, self.measured.at(measured)?);
        Some(if self.horizontal { [along, across] } else { [across, along] })
    }

    /// Where a point stands; None where it has no value.
    pub fn place(&self, point: &Point) -> Option<Spot> {
        self.spot(point.x, point.y?, 0.0)
    }

    /// The ends of a short line across the measured direction at a spot.
    pub fn cap(&self, [x, y]: Spot, half: f64) -> [Spot; 2] {
        if self.horizontal {
            [[x, y - half], [x, y + half]]
        } else {
            [[x - half, y], [x + half, y]]
        }
    }

    /// A bar between two values of one category.
    pub fn bar(&self, from: Spot, to: Spot, half: f64) -> Area {
        let [[x1, y1], _] = self.cap(from, half);
        let [_, [x2, y2]] = self.cap(to, half);
        Area::between([x1, y1], [x2, y2])
    }
}

/// Everything that was measured, whose range the axis must hold.
fn measured_values(figure: &Figure) -> Vec<f64> {
    let values = shown(figure).flat_map(|point| {
        let [least, most] = point.ends.map_or([None; 2], |ends| ends.map(Some));
        [point.y, point.low, point.high, least, most]
    });
    let mut values: Vec<f64> =
        values.flatten().chain(figure.marks.iter().map(|mark| mark.value)).collect();
    if figure.kind == FigureKind::Bars {
        let stacked = || figure.series.iter().filter(|series| series.drawn == Drawn::AsKind);
        for nth in 0..figure.x.categories.len() {
            let here =
                stacked().flat_map(|series| &series.points).filter(|point| point.x == nth as f64);
            values.push(here.filter_map(|point| point.y.and_then(finite)).sum());
        }
    }
    values
}

/// All points but those of a frontier, which goes beyond what was measured.
fn shown(figure: &Figure) -> impl Iterator<Item = &Point> {
    let frontier = |drawn| figure.kind == FigureKind::Scatter && drawn == Drawn::Line;
    let shown = figure.series.iter().filter(move |series| !frontier(series.drawn));
    shown.flat_map(|series| &series.points)
}

/// Draws legend, grid and axes around a plot of the given height.
pub(super) fn lay<'a>(sheet: &mut Sheet, figure: &'a Figure, tall: f64) -> Frame<'a> {
    let top = legend::draw(sheet, &legend::entries(figure), 4.0);
    lay_below(sheet, figure, figure, PlotBox { top, tall, left: 0.0, worded: true })
}

#[derive(Clone, Copy)]
pub(super) struct PlotBox {
    pub top: f64,
    pub tall: f64,
    /// Least room to the left.
    pub left: f64,
    /// Whether the ticks below have words.
    pub worded: bool,
}

/// How much room the ticks of a plot take whose values go up.
pub(super) fn room_left(figure: &Figure, tall: f64, width: f64) -> f64 {
    let values = measured_values(figure).into_iter();
    let ticks = Track::of(figure, &figure.y, values, 0.05).along(0.0, tall).ticks(34.0);
    let widest = ticks.iter().map(|tick| width_of(&tick.1, TEXT)).fold(0.0, f64::max);
    widest.min(0.35 * width) + if figure.y.label.is_empty() { 12.0 } else { 24.0 }
}

/// The same below what was drawn already; what was varied has the range that it has in `whole`.
pub(super) fn lay_below<'a>(
    sheet: &mut Sheet,
    figure: &'a Figure,
    whole: &'a Figure,
    place: PlotBox,
) -> Frame<'a> {
    let PlotBox { top, tall, worded, .. } = place;
    let horizontal = figure.horizontal;
    let names = figure.x.scale == Scale::Category;
    let width = sheet.width;
    let right = width - 12.0;
    let labels: Vec<Vec<String>> = match (names, horizontal) {
        (true, true) => figure
            .x
            .categories
            .iter()
            .map(|category| wrap(category, 0.3 * width, TEXT, 3))
            .collect(),
        _ => Vec::new(),
    };
    let widest = |words: &mut dyn Iterator<Item = &String>| {
        words.map(|word| width_of(word, TEXT)).fold(0.0, f64::max)
    };
    let (left, air) = if horizontal {
        let left = widest(&mut labels.iter().flatten()) + 10.0;
        (left, (WORDS / (right - left - WORDS).max(WORDS)).min(1.0))
    } else {
        (room_left(figure, tall, width).max(place.left), 0.05)
    };
    // What stands on the page from left to right, and from the foot to the head.
    let measured = Track::of(figure, &figure.y, measured_values(figure).into_iter(), air);
    let varied = Track::of(whole, &whole.x, shown(whole).map(|point| point.x), 0.03);
    if horizontal {
        // A row is as high as its name.
        let most = labels.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let tall = tall.max(labels.len() as f64 * (most * LINE + 4.0));
        let measured = measured.along(left, right);
        let (head, lanes) = mark_lanes(figure, &measured, top, width);
        let plot = Area { left, top: head, right, bottom: head + tall };
        let varied = varied.along(plot.top, plot.bottom);
        let mut frame = Frame { plot, varied, measured, horizontal, lanes, worded, bottom: 0.0 };
        horizontal_axes(sheet, figure, &mut frame, &labels);
        frame
    } else {
        let plot = Area { left, top: top + 6.0, right, bottom: top + 6.0 + tall };
        let measured = measured.along(plot.bottom, plot.top);
        let varied = varied.along(plot.left, plot.right);
        let lanes = Vec::new();
        let mut frame = Frame { plot, varied, measured, horizontal, lanes, worded, bottom: 0.0 };
        upright_axes(sheet, figure, &mut frame);
        frame
    }
}

/// Categories down the page, values to the right.
fn horizontal_axes(sheet: &mut Sheet, figure: &Figure, frame: &mut Frame, labels: &[Vec<String>]) {
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
            sheet.texts([plot.left - 6.0, head], LINE, sheet.ink(Anchor::End), lines);
        });
    }
    let middle = [(plot.left + plot.right) / 2.0, plot.bottom + 20.0];
    frame.bottom = axis_name(sheet, &figure.y.label, middle) + 8.0;
}

/// The name of an axis below it, on two lines where one is too short; gives its last line's height.
fn axis_name(sheet: &mut Sheet, name: &str, [x, y]: Spot) -> f64 {
    let lines = wrap(name, sheet.width - 4.0, TEXT, 2);
    for (row, line) in lines.iter().enumerate().filter(|pair| !pair.1.is_empty()) {
        sheet.text([x, y + LINE * row as f64], sheet.muted(Anchor::Middle), line);
    }
    y + LINE * (lines.len() - 1) as f64
}

/// Values up the page, what was varied to the right.
fn upright_axes(sheet: &mut Sheet, figure: &Figure, frame: &mut Frame) {
    let plot = frame.plot;
    let ticks = frame.measured.ticks(34.0);
    let rules = ticks.iter().map(|(y, _)| vec![[plot.left, *y], [plot.right, *y]]);
    sheet.lines(&rules.collect::<Vec<_>>(), &stroke(sheet.theme.rule, 0.6));
    for (y, words) in ticks {
        let words = shorten(&words, plot.left - 8.0, TEXT);
        sheet.text([plot.left - 5.0, y], sheet.muted(Anchor::End), &words);
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
            sheet.text(at, sheet.muted(Anchor::Middle), &words);
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
            let words = TextStyle { size, ..sheet.ink(Anchor::Middle) };
            sheet.texts([x, top + 8.0], LINE, words, lines);
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
fn bounds_across(sheet: &mut Sheet, figure: &Figure, frame: &Frame) {
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
        let words = TextStyle { halo: true, ..sheet.muted(Anchor::End) };
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
fn mark_lanes(figure: &Figure, measured: &Track, top: f64, width: f64) -> (f64, Vec<Lane>) {
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
fn draw_lanes(sheet: &mut Sheet, frame: &Frame) {
    let style = stroke(sheet.theme.muted, 0.9) + BOUND;
    for lane in &frame.lanes {
        let (Some(x), Some((last, _))) = (frame.measured.at(lane.value), lane.lines.last()) else {
            continue;
        };
        sheet.line([x, last[1] + 5.0], [x, frame.plot.bottom], &style);
    }
    for lane in &frame.lanes {
        let plain = sheet.muted(Anchor::Middle);
        let words = TextStyle { halo: true, beside: frame.measured.at(lane.value), ..plain };
        sheet.named(&lane.label, |sheet| {
            lane.lines.iter().for_each(|(at, line)| sheet.text(*at, words, line));
        });
    }
}
