//! The frame of a figure with axes: where the plot lies, and what stands around it.

use super::axes;
use super::legend::{self, Entry};
use super::metrics::{width_of, wrap};
use super::sheet::{Area, Sheet, Spot, TEXT};
use super::track::Track;
use crate::figure::{Drawn, Figure, FigureKind, Scale, finite};

/// Room that a value in words takes behind its interval.
const WORDS: f64 = 62.0;
pub(super) const LINE: f64 = 10.0;

/// A plot with its two axes.
pub(super) struct Frame<'a> {
    pub plot: Area,
    pub varied: Track<'a>,
    pub measured: Track<'a>,
    pub horizontal: bool,
    /// The names of bounds above a horizontal plot.
    pub lanes: Vec<axes::Lane>,
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
                axes::draw_lanes(sheet, self)
            } else {
                axes::bounds_across(sheet, figure, self)
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
    let frontier = |drawn| figure.kind == FigureKind::Scatter && drawn == Drawn::Line;
    let points = figure
        .series
        .iter()
        .filter(|series| !frontier(series.drawn))
        .flat_map(|series| &series.points);
    let mut values: Vec<f64> = points
        .flat_map(|point| {
            [
                point.y,
                point.low,
                point.high,
                point.ends.map(|ends| ends[0]),
                point.ends.map(|ends| ends[1]),
            ]
        })
        .flatten()
        .chain(figure.marks.iter().map(|mark| mark.value))
        .collect();
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

fn varied_values(figure: &Figure) -> impl Iterator<Item = f64> {
    let frontier = |drawn| figure.kind == FigureKind::Scatter && drawn == Drawn::Line;
    let shown = figure.series.iter().filter(move |series| !frontier(series.drawn));
    shown.flat_map(|series| &series.points).map(|point| point.x)
}

/// Draws legend, grid and axes around a plot of the given height.
pub(super) fn lay<'a>(
    sheet: &mut Sheet,
    figure: &'a Figure,
    entries: &[Entry],
    tall: f64,
) -> Frame<'a> {
    let top = legend::draw(sheet, entries, 4.0);
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
    let varied = Track::of(whole, &whole.x, varied_values(whole), 0.03);
    if horizontal {
        // A row is as high as its name.
        let most = labels.iter().map(Vec::len).max().unwrap_or(1) as f64;
        let tall = tall.max(labels.len() as f64 * (most * LINE + 4.0));
        let measured = measured.along(left, right);
        let (head, lanes) = axes::mark_lanes(figure, &measured, top, width);
        let plot = Area { left, top: head, right, bottom: head + tall };
        let varied = varied.along(plot.top, plot.bottom);
        let mut frame = Frame { plot, varied, measured, horizontal, lanes, worded, bottom: 0.0 };
        axes::horizontal(sheet, figure, &mut frame, &labels);
        frame
    } else {
        let plot = Area { left, top: top + 6.0, right, bottom: top + 6.0 + tall };
        let measured = measured.along(plot.bottom, plot.top);
        let varied = varied.along(plot.left, plot.right);
        let lanes = Vec::new();
        let mut frame = Frame { plot, varied, measured, horizontal, lanes, worded, bottom: 0.0 };
        axes::upright(sheet, figure, &mut frame);
        frame
    }
}
