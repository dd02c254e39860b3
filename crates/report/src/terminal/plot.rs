//! Intervals, boxes and bars for a terminal: a row per category and series, one shared axis.
//!
//! `├─●─┤` is the interval with its value; an interval narrower than a cell is the sign
//! alone; of a box `━` is between the quartiles, and the caps are the smallest and the largest
//! value. The number is at the end of the row, so that nothing has to be read off the
//! axis. Signs differ between series, and colour only repeats them.

use super::wrap::{Ink, Line, shorten, visible, width, wrap_text};
use crate::document::Text;
use crate::figure::{Axis, Figure, Mark, Point, Scale, ends, finite};

const SIGNS: [&str; 6] = ["●", "○", "◆", "◇", "■", "□"];
/// A bound of the figure, running down through its rows.
const BOUND: &str = "┊";
/// A plot with fewer cells than this says nothing; the interval in words gives way first.
const NARROWEST: usize = 24;

pub(super) fn render(figure: &Figure, room: usize) -> Vec<Line> {
    let mut lines = heading(figure, room);
    let Some(scale) = AxisRange::of(figure) else {
        lines.append(&mut wrap_text(&Text::new().muted("no values to show"), room, Ink::Plain));
        return lines;
    };
    let columns = Columns::of(figure, room);
    for (index, name) in figure.x.categories.iter().enumerate() {
        let mut first = true;
        for (number, series) in figure.series.iter().enumerate() {
            let here = |point: &&Point| point.x.round() == index as f64;
            for point in series.points.iter().filter(here) {
                let name = if first { name } else { "" };
                lines.push(columns.row(name, &series.name, number, point, figure, &scale));
                first = false;
            }
        }
    }
    lines.extend(columns.axis(&figure.y, &scale));
    lines.extend(figure.marks.iter().flat_map(|symbol| mark(figure, symbol, BOUND, room)));
    lines
}

/// The title, and what the figure says.
pub(super) fn heading(figure: &Figure, room: usize) -> Vec<Line> {
    let mut lines = wrap_text(&Text::new().strong(&figure.title), room, Ink::Plain);
    let words = [&*figure.finding, &*figure.caption].join(" ");
    lines.append(&mut wrap_text(&Text::new().muted(words.trim_start()), room, Ink::Plain));
    lines
}

/// What a bound is, and where, behind the sign that draws it.
pub(super) fn mark(figure: &Figure, mark: &Mark, sign: &str, room: usize) -> Vec<Line> {
    if !mark.value.is_finite() {
        return Vec::new();
    }
    let words = format!("{sign} {}: {}", mark.label, figure.y.format(mark.value));
    wrap_text(&Text::new().muted(words), room, Ink::Plain)
}

/// A line with ticks and their labels below a plot of so many cells, behind so many for what stands left of it.
pub(super) fn labelled_axis(
    axis: &Axis,
    range: &AxisRange,
    (left, plot): (usize, usize),
) -> [Line; 2] {
    let columns = Columns { category: left, series: 0, plot, number: 0, with_interval: false };
    columns.axis(axis, range)
}

/// The range of the shared axis, in the coordinate that is drawn.
pub(super) struct AxisRange {
    log: bool,
    low: f64,
    high: f64,
}

impl AxisRange {
    pub(super) fn of(figure: &Figure) -> Option<Self> {
        let values = figure.series.iter().flat_map(|series| &series.points);
        let drawn = values
            .flat_map(|point| {
                let ends = point.ends.map_or([None; 2], |ends| ends.map(Some));
                [point.y, point.low, point.high, ends[0], ends[1]]
            })
            .flatten()
            .chain(figure.marks.iter().map(|mark| mark.value));
        Self::over(&figure.y, drawn)
    }

    /// Of some values of an axis; None where there are none.
    pub(super) fn over(axis: &Axis, values: impl Iterator<Item = f64>) -> Option<Self> {
        let log = axis.scale == Scale::Log;
        let (low, high) = ends(values.filter_map(|value| coordinate(value, log)));
        let low = if log { low } else { low.min(0.0) };
        (low <= high).then(|| Self { log, low, high: high.max(low + 1e-9) })
    }

    /// The cell of a value, counted from 0 to `cells - 1`.
    pub(super) fn cell(&self, value: f64, cells: usize) -> Option<usize> {
        let share = (coordinate(value, self.log)? - self.low) / (self.high - self.low);
        Some((share.clamp(0.0, 1.0) * (cells - 1) as f64).round() as usize)
    }

    /// Round values inside the range: powers of ten, with 2 and 5 where there are few.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.log {
            let raw = (self.high - self.low) / 4.0;
            let power = 10f64.powf(raw.log10().floor());
            let round =
                [1.0, 2.0, 5.0].into_iter().find(|value| value * power >= raw).unwrap_or(10.0);
            let step = round * power;
            let first = (self.low / step - 1e-9).ceil();
            let ticks = (0..=4).map(|nth| (first + f64::from(nth)) * step);
            return ticks.filter(|tick| *tick <= self.high).collect();
        }
        let steps: &[f64] = match self.high - self.low {
            span if span > 2.5 => &[1.0],
            span if span > 1.2 => &[1.0, 3.0],
            _ => &[1.0, 2.0, 5.0],
        };
        let powers = self.low.floor() as i32..=self.high.ceil() as i32;
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10f64.powi(power)));
        all.filter(|tick| (self.low..=self.high).contains(&tick.log10())).collect()
    }
}

fn coordinate(value: f64, log: bool) -> Option<f64> {
    let value = finite(value)?;
    if !log {
        return Some(value);
    }
    (value > 0.0).then(|| value.log10())
}

/// How the width is shared out between names, plot and numbers.
struct Columns {
    category: usize,
    series: usize,
    plot: usize,
    number: usize,
    with_interval: bool,
}

impl Columns {
    fn of(figure: &Figure, room: usize) -> Self {
        let widest = |names: &mut dyn Iterator<Item = String>| {
            names.map(|name| width(&visible(&name))).max().unwrap_or(0)
        };
        let category = widest(&mut figure.x.categories.iter().cloned()).min(room / 4);
        let series = match figure.series.len() {
            0 | 1 => 0,
            _ => widest(&mut figure.series.iter().map(|s| s.name.clone())).min(room / 6) + 1,
        };
        let all = || figure.series.iter().flat_map(|series| &series.points);
        let points = || all().filter(|point| point.y.is_some());
        let full = widest(&mut points().map(|point| words(point, figure, true)));
        let brief = widest(&mut points().map(|point| words(point, figure, false)));
        let left = room.saturating_sub(category + series + 4);
        let with_interval = left >= full + NARROWEST;
        let number = if with_interval { full } else { brief.min(room / 3) };
        let plot = left.saturating_sub(number).max(4);
        Self { category, series, plot, number, with_interval }
    }

    fn row(
        &self,
        category: &str,
        series: &str,
        number: usize,
        point: &Point,
        figure: &Figure,
        range: &AxisRange,
    ) -> Line {
        let mut line = Line::default();
        line.push(&shorten(category, self.category), Ink::Plain);
        line.pad(self.category + 1);
        if self.series > 0 {
            line.push(&shorten(series, self.series - 1), Ink::Muted);
        }
        line.pad(self.category + 1 + self.series);
        let start = line.width() + 1;
        line.pad(start);
        if point.y.is_none() {
            let reason = point.label.as_deref().unwrap_or("–");
            line.push(&shorten(reason, self.plot + 1 + self.number), Ink::Muted);
            return line;
        }
        line.append(self.bar(point, number, figure, range));
        line.pad(start + self.plot + 1);
        let words = words(point, figure, self.with_interval);
        line.push(&shorten(&words, self.number), Ink::Plain);
        line
    }

    fn bar(&self, point: &Point, number: usize, figure: &Figure, range: &AxisRange) -> Line {
        let mut line = Line::default();
        let at = point.y.and_then(|y| range.cell(y, self.plot));
        let end = |value: Option<f64>| value.and_then(|v| range.cell(v, self.plot)).or(at);
        let (low, high) = (end(point.low).min(at), end(point.high).max(at));
        // A box lies from quartile to quartile, between the caps of the smallest and the largest.
        let (least, most) = match point.ends {
            Some([least, most]) => (end(Some(least)).min(low), end(Some(most)).max(high)),
            None => (low, high),
        };
        let bounds: Vec<usize> =
            figure.marks.iter().filter_map(|mark| range.cell(mark.value, self.plot)).collect();
        for cell in 0..self.plot {
            let here = Some(cell);
            let own = figure.series[number].tone.map_or(Ink::Series(number), Ink::of_tone);
            let (piece, ink) = match here {
                _ if here == at => (SIGNS[number % SIGNS.len()], own),
                _ if point.ends.is_some() && here >= low && here <= high => ("━", own),
                _ if here == least => ("├", own),
                _ if here == most => ("┤", own),
                _ if here > least && here < most => ("─", own),
                _ if bounds.contains(&cell) => (BOUND, Ink::Muted),
                _ => (" ", Ink::Plain),
            };
            line.push(piece, ink);
        }
        line
    }

    /// Tick labels under the plot, as many as fit without touching.
    fn axis(&self, axis: &Axis, range: &AxisRange) -> [Line; 2] {
        let start = self.category + self.series + 2;
        let (mut labels, mut ticks) = (Line::blank(start), Line::blank(start));
        let mut drawn = 0;
        for tick in range.ticks() {
            let Some(cell) = range.cell(tick, self.plot) else { continue };
            let text = axis.round(tick);
            let from = start + cell.saturating_sub(width(&text) / 2);
            let gap = if labels.width() > start { 2 } else { 0 };
            if from < labels.width() + gap || from + width(&text) > start + self.plot + self.number
            {
                continue;
            }
            labels.pad(from);
            labels.push(&text, Ink::Muted);
            ticks.push(&"─".repeat(cell - drawn), Ink::Muted);
            ticks.push("┴", Ink::Muted);
            drawn = cell + 1;
        }
        ticks.push(&"─".repeat(self.plot - drawn.min(self.plot)), Ink::Muted);
        [ticks, labels]
    }
}

fn words(point: &Point, figure: &Figure, with_interval: bool) -> String {
    match point.y {
        Some(y) if !with_interval => figure.y.unit.format(y),
        _ => point.describe(figure.y.unit),
    }
}
