//! Stacked bars for a terminal: a row per category, its parts as cells of one sign each, one shared scale.
//!
//! Each part has a sign of its own, and colour only repeats it. `◆` is a value that the parts should add up to;
//! its number is at the end of the row.

use super::wrap::{Ink, Line, shorten, visible, width, wrap_text};
use crate::document::Text;
use crate::figure::{Drawn, Figure, Series, finite};

/// Signs of parts, those of neighbours as unlike as can be.
const FILLS: [&str; 9] = ["█", "░", "▓", "╱", "▒", "═", "▚", "·", "▤"];
const WHOLE: &str = "◆";
/// A bar with fewer cells than this says nothing.
const NARROWEST: usize = 16;

pub(super) fn render(figure: &Figure, room: usize) -> Vec<Line> {
    let mut lines = wrap_text(&Text::new().strong(&figure.title), room, Ink::Plain);
    let words = if figure.finding.is_empty() { &figure.caption } else { &figure.finding };
    lines.append(&mut wrap_text(&Text::new().muted(words), room, Ink::Plain));
    let parts: Vec<&Series> = figure.series.iter().filter(|series| !is_whole(series)).collect();
    let rows: Vec<Bar> =
        (0..figure.x.categories.len()).map(|at| Bar::of(figure, &parts, at)).collect();
    let longest = rows.iter().map(Bar::end).fold(0.0, f64::max);
    if longest <= 0.0 {
        lines.append(&mut wrap_text(&Text::new().muted("no values to show"), room, Ink::Plain));
        return lines;
    }
    let widest =
        |item: &mut dyn Iterator<Item = &str>| item.map(|text| width(&visible(text))).max();
    let names =
        widest(&mut figure.x.categories.iter().map(String::as_str)).unwrap_or(0).min(room / 3);
    let numbers = widest(&mut rows.iter().map(|row| row.words.as_str())).unwrap_or(0).min(room / 3);
    let cells = room.saturating_sub(names + numbers + 2).max(NARROWEST);
    for (name, bar) in figure.x.categories.iter().zip(&rows) {
        let mut line = Line::default();
        line.push(&shorten(name, names), Ink::Plain);
        line.pad(names + 1);
        line.append(bar.drawn(cells, longest));
        line.pad(names + 1 + cells + 1 + numbers.saturating_sub(width(&bar.words)));
        line.push(&shorten(&bar.words, numbers), Ink::Plain);
        lines.push(line);
    }
    lines.append(&mut legend(figure, &parts, room));
    lines
}

fn is_whole(series: &Series) -> bool {
    series.drawn == Drawn::Signs
}

struct Bar {
    parts: Vec<f64>,
    whole: Option<f64>,
    words: String,
}

impl Bar {
    fn of(figure: &Figure, parts: &[&Series], at: usize) -> Bar {
        let here = |series: &Series| {
            let point = series.points.iter().find(|point| point.x.round() == at as f64);
            point.and_then(|point| point.y).and_then(finite)
        };
        let parts: Vec<f64> =
            parts.iter().map(|series| here(series).unwrap_or(0.0).max(0.0)).collect();
        let whole = figure.series.iter().filter(|series| is_whole(series)).find_map(here);
        let sum: f64 = parts.iter().sum();
        let words = match whole.or((sum > 0.0).then_some(sum)) {
            Some(value) => figure.y.unit.format(value),
            None => "–".into(),
        };
        Bar { parts, whole, words }
    }

    fn end(&self) -> f64 {
        self.parts.iter().sum::<f64>().max(self.whole.unwrap_or(0.0))
    }

    fn drawn(&self, cells: usize, longest: f64) -> Line {
        let cell = |value: f64| (value / longest * cells as f64).round() as usize;
        let mut inked: Vec<(&str, Ink)> = Vec::with_capacity(cells);
        let mut sum = 0.0;
        for (nth, part) in self.parts.iter().enumerate() {
            sum += part;
            inked.resize(cell(sum), (FILLS[nth % FILLS.len()], Ink::Series(nth)));
        }
        if let Some(whole) = self.whole {
            let at = cell(whole).min(cells - 1);
            inked.resize(inked.len().max(at + 1), (" ", Ink::Plain));
            inked[at] = (WHOLE, Ink::Strong);
        }
        let mut line = Line::default();
        inked.into_iter().take(cells).for_each(|(sign, ink)| line.push(sign, ink));
        line
    }
}

/// The sign of each part, as many to a line as fit.
fn legend(figure: &Figure, parts: &[&Series], room: usize) -> Vec<Line> {
    let parts = parts.iter().enumerate();
    let parts =
        parts.map(|(nth, series)| (FILLS[nth % FILLS.len()], Ink::Series(nth), &series.name));
    let wholes = figure.series.iter().filter(|series| is_whole(series));
    let wholes = wholes.map(|series| (WHOLE, Ink::Strong, &series.name));
    let mut lines: Vec<Line> = Vec::new();
    for (sign, ink, name) in parts.chain(wholes) {
        let name = shorten(name, room.saturating_sub(2));
        let gap = lines.last().map_or(0, Line::width) + 2;
        let line = match lines.last_mut() {
            Some(line) if gap + 2 + width(&name) <= room => {
                line.pad(gap);
                line
            }
            _ => {
                lines.push(Line::default());
                let last = lines.len() - 1;
                &mut lines[last]
            }
        };
        line.push(sign, ink);
        line.push(&format!(" {name}"), Ink::Plain);
    }
    lines
}
