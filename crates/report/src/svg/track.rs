//! One axis as a track on the sheet: from a value to a place between its two ends.

use super::sheet::number;
use super::ticks;
use crate::figure::{Axis, Figure, FigureKind, Scale, ends, finite};

/// An axis with its range, laid along the sheet.
pub(super) struct Track<'a> {
    pub axis: &'a Axis,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

/// A value in the coordinate that is drawn; none where the scale has no place for it.
fn coordinate(scale: Scale, value: f64) -> Option<f64> {
    let value = finite(value)?;
    match scale {
        Scale::Linear | Scale::Category => Some(value),
        Scale::Log => (value > 0.0).then(|| value.log10()),
        Scale::Tail => (value < 1.0).then(|| -(1.0 - value).log10()),
    }
}

fn value(scale: Scale, coordinate: f64) -> f64 {
    match scale {
        Scale::Linear | Scale::Category => coordinate,
        // Short of infinity, beyond anything measured.
        Scale::Log => 10f64.powf(coordinate.clamp(-300.0, 300.0)),
        Scale::Tail => 1.0 - 10f64.powf(-coordinate),
    }
}

impl<'a> Track<'a> {
    /// An axis over `values`; `air` is room after the largest, as a part of the track.
    pub fn of(
        figure: &Figure,
        axis: &'a Axis,
        values: impl Iterator<Item = f64>,
        air: f64,
    ) -> Track<'a> {
        let (low, high) = range(figure, axis, values, air);
        Track { axis, low, high, from: 0.0, to: 1.0 }
    }

    /// The same laid from one place to another.
    pub fn along(self, from: f64, to: f64) -> Track<'a> {
        Track { from, to, ..self }
    }

    /// Where a value stands, at the edge where it is beyond.
    pub fn at(&self, value: f64) -> Option<f64> {
        let share = (coordinate(self.axis.scale, value)? - self.low) / (self.high - self.low);
        Some(self.from + (self.to - self.from) * share.clamp(0.0, 1.0))
    }

    /// An axis of numbers as a page's script reads it: scale, unit, range, and the two ends.
    pub fn described(&self) -> Option<String> {
        let scale = match self.axis.scale {
            Scale::Category => return None,
            Scale::Linear => "linear",
            Scale::Log => "log",
            Scale::Tail => "tail",
        };
        let unit = serde_json::to_string(&self.axis.unit).unwrap_or_default();
        let [low, high] = [self.low, self.high].map(|value| format!("{value:.9}"));
        let [from, to] = [self.from, self.to].map(number);
        Some(format!("{scale} {} {low} {high} {from} {to}", unit.trim_matches('"')))
    }

    /// The distance between two categories.
    pub fn step(&self) -> f64 {
        ((self.to - self.from) / (self.high - self.low)).abs()
    }

    /// Where the ticks are, with their words; about one per `room` points.
    pub fn ticks(&self, room: f64) -> Vec<(f64, String)> {
        let most = (((self.to - self.from).abs() / room) as usize).clamp(2, 9);
        let [low, high] = [self.low, self.high].map(|tick| value(self.axis.scale, tick));
        let unit = self.axis.unit;
        let values = match self.axis.scale {
            Scale::Category => return Vec::new(),
            Scale::Linear => ticks::even(low, high, most, unit),
            Scale::Log => ticks::ratios(low, high, most, unit),
            Scale::Tail if self.high - self.low < 0.9 => ticks::even(low, high, most, unit),
            Scale::Tail => ticks::nines(low, high),
        };
        let tick = |value: f64| Some((self.at(value)?, ticks::words(unit, value)));
        values.into_iter().filter_map(tick).collect()
    }
}

/// The range in coordinates: with a little air, from zero where zero means something.
fn range(figure: &Figure, axis: &Axis, values: impl Iterator<Item = f64>, air: f64) -> (f64, f64) {
    if axis.scale == Scale::Category {
        return (-0.5, axis.categories.len().max(1) as f64 - 0.5);
    }
    let (low, high) = ends(values.filter_map(|value| coordinate(axis.scale, value)));
    if low > high {
        return (0.0, 1.0);
    }
    let varied = std::ptr::eq(axis, &figure.x);
    let linear = axis.scale == Scale::Linear;
    match figure.kind {
        _ if axis.scale == Scale::Tail => (0.0, (high * 1.03).max(0.1)),
        _ if axis.unit == crate::Unit::Share && low >= 0.0 && high <= 1.0 && linear => (0.0, 1.0),
        FigureKind::TimeSeries if varied => (low, high.max(low + 1e-9)),
        FigureKind::Scatter => {
            let span = if high > low { high - low } else { 0.1 };
            (low - 0.08 * span, high + if varied { 0.3 } else { 0.08 } * span)
        }
        // Rounds are counted from one.
        _ if linear && low >= 0.0 && !(varied && axis.unit == crate::Unit::Count) => {
            (0.0, if high > 0.0 { high * (1.0 + air) } else { 1.0 })
        }
        _ => {
            let span = if high > low { high - low } else { 0.1 };
            (low - 0.03 * span, high + air * span)
        }
    }
}
