//! The legend above a figure: a sample of each series with its name, in as many rows as it takes.

use super::metrics::{TEXT, width_of, wrap};
use super::sheet::{Anchor, Area, Sheet};
use super::theme::{number_of, signed};
use crate::figure::{Drawn, Figure, FigureKind};

/// How a series shows in the legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sample {
    /// A line with or without its sign.
    Line {
        nth: usize,
        signed: bool,
    },
    /// A sign alone.
    Sign(usize),
    Fill(usize),
    /// A quiet dashed line.
    Quiet,
    /// A hollow sign of what comes from elsewhere, counted among its like.
    Beside(usize),
}

impl Sample {
    fn length(self) -> f64 {
        match self {
            Sample::Line { .. } | Sample::Quiet => 22.0,
            Sample::Fill(_) => 14.0,
            Sample::Sign(_) | Sample::Beside(_) => 8.0,
        }
    }
}

pub(super) struct Entry {
    pub sample: Sample,
    pub name: String,
    /// The series; none where it is a stretch.
    pub series: Option<usize>,
}

const ROW: f64 = 13.0;
/// Rows that the name of an entry takes at most.
const MOST_LINES: usize = 3;

/// What a reader must distinguish; nothing where there is one series only.
pub(super) fn entries(figure: &Figure) -> Vec<Entry> {
    let mut beside = 0;
    let mut entry = |(nth, series): (usize, &crate::figure::Series)| {
        let signed = signed(figure, series);
        let number = number_of(series, nth);
        let sample = match (series.drawn, figure.kind) {
            (Drawn::Line, _) => Sample::Quiet,
            (Drawn::Signs, _) => {
                beside += 1;
                Sample::Beside(beside - 1)
            }
            (_, FigureKind::Curves | FigureKind::Percentiles) => {
                Sample::Line { nth: number, signed }
            }
            (_, FigureKind::Bars | FigureKind::GroupedBars | FigureKind::Boxes) => {
                Sample::Fill(nth)
            }
            _ => Sample::Sign(number),
        };
        Entry { sample, name: series.name.clone(), series: Some(nth) }
    };
    let all: Vec<Entry> = figure.series.iter().enumerate().map(&mut entry).collect();
    let toned = figure.series.iter().any(|series| series.tone.is_some());
    if all.len() > 1 || toned { all } else { Vec::new() }
}

/// Draws the entries from `top` down; gives the height at which they end.
pub(super) fn draw(sheet: &mut Sheet, entries: &[Entry], top: f64) -> f64 {
    if entries.is_empty() {
        return top;
    }
    let (mut x, mut y) = (4.0, top + ROW / 2.0);
    for entry in entries {
        let long = entry.sample.length();
        // A name that no row holds goes on below itself.
        let lines = wrap(&entry.name, sheet.width - long - 16.0, TEXT, MOST_LINES);
        let widest = lines.iter().map(|line| width_of(line, TEXT)).fold(0.0, f64::max);
        let wide = long + 4.0 + widest;
        if x > 4.0 && x + wide > sheet.width - 4.0 {
            (x, y) = (4.0, y + ROW);
        }
        let cut = lines.iter().any(|line| line.ends_with('…'));
        let top = y;
        sheet.key(entry.series, &entry.name, cut, |sheet| {
            sample(sheet, entry.sample, x, top);
            sheet.texts([x + long + 4.0, top], ROW, sheet.ink(Anchor::Start), &lines);
        });
        y += (lines.len() - 1) as f64 * ROW;
        x += wide + 14.0;
    }
    y + ROW / 2.0 + 4.0
}

fn sample(sheet: &mut Sheet, sample: Sample, x: f64, y: f64) {
    let long = sample.length();
    let middle = [x + long / 2.0, y];
    let (left, right) = ([x, y], [x + long, y]);
    let swatch = Area { left: x, top: y - 4.0, right: x + long, bottom: y + 4.0 };
    match sample {
        Sample::Line { nth, signed } => {
            let style = sheet.curve(nth);
            sheet.line(left, right, &style);
            if signed && !sheet.theme.is_quiet(nth) {
                sheet.sign(nth, middle, 5.0);
            }
        }
        Sample::Sign(nth) => sheet.sign(nth, middle, 5.5),
        Sample::Fill(nth) => sheet.fill(nth, swatch),
        Sample::Quiet => {
            let style = sheet.quiet();
            sheet.line(left, right, &style);
        }
        Sample::Beside(nth) => {
            sheet.shape(3 + nth, middle, 6.5, sheet.theme.paper, sheet.theme.ink)
        }
    }
}
