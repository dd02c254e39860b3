//! Curves for a terminal: a letter for each, dots between its points, a bound across.
//!
//! `(a)` is a point with a ring and `[a]` one in a square, which the caption explains; where two points share a cell the
//! first curve's is shown. Colour only repeats the letters.

use super::plot::{AxisRange, heading, labelled_axis, mark};
use super::wrap::{Ink, Line, shorten, visible, width, wrap_text};
use crate::document::Text;
use crate::figure::{Figure, Point};

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const ROWS: usize = 12;
/// A bound of the figure, running across.
const BOUND: &str = "┄";
/// Between two points of a curve.
const BETWEEN: &str = "·";

type Cell = (String, Ink);

pub(super) fn render(figure: &Figure, room: usize) -> Vec<Line> {
    let mut lines = heading(figure, room);
    let all =
        || figure.series.iter().flat_map(|series| &series.points).filter(|point| point.y.is_some());
    let (Some(x), Some(y)) =
        (AxisRange::over(&figure.x, all().map(|point| point.x)), AxisRange::of(figure))
    else {
        lines.append(&mut wrap_text(&Text::new().muted("no values to show"), room, Ink::Plain));
        return lines;
    };
    let row_of = |value: f64| y.cell(value, ROWS).map(|cell| ROWS - 1 - cell);
    let mut names = vec![String::new(); ROWS];
    for tick in y.ticks() {
        if let Some(row) = row_of(tick).filter(|row| names[*row].is_empty()) {
            names[row] = figure.y.round(tick);
        }
    }
    let left = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let cells = room.saturating_sub(left + 2).max(8);
    let mut grid: Vec<Vec<Option<Cell>>> = vec![vec![None; cells]; ROWS];
    let at = |point: &Point| Some((x.cell(point.x, cells)?, row_of(point.y?)?));
    let drawn = || figure.series.iter().take(LETTERS.len()).enumerate();
    let points =
        || drawn().flat_map(|(nth, series)| series.points.iter().map(move |point| (nth, point)));
    for (nth, point) in points() {
        if let Some((column, row)) = at(point) {
            let letter = char::from(LETTERS[nth]).to_string();
            put(&mut grid[row], column, &letter, Ink::Series(nth));
        }
    }
    for (nth, point) in points() {
        let around = match (point.marked, point.framed) {
            (true, _) => ["(", ")"],
            (_, true) => ["[", "]"],
            _ => continue,
        };
        if let Some((column, row)) = at(point) {
            put(&mut grid[row], column.wrapping_sub(1), around[0], Ink::Series(nth));
            put(&mut grid[row], column + 1, around[1], Ink::Series(nth));
        }
    }
    for (nth, series) in drawn() {
        let places: Vec<(usize, usize)> = series.points.iter().filter_map(at).collect();
        for ends in places.windows(2) {
            let [(from, top), (to, bottom)] = [ends[0], ends[1]];
            for column in (from + 1..to).step_by(2) {
                let share = (column - from) as f64 / (to - from) as f64;
                let row = top as f64 + share * (bottom as f64 - top as f64);
                put(&mut grid[row.round() as usize], column, BETWEEN, Ink::Series(nth));
            }
        }
    }
    for row in figure.marks.iter().filter_map(|mark| row_of(mark.value)) {
        (0..cells).for_each(|column| put(&mut grid[row], column, BOUND, Ink::Muted));
    }
    for (name, row) in names.iter().zip(grid) {
        let mut line = Line::blank(left.saturating_sub(width(name)));
        line.push(name, Ink::Muted);
        line.push(" │", Ink::Muted);
        for cell in row {
            let (piece, ink) = cell.unwrap_or((" ".into(), Ink::Plain));
            line.push(&piece, ink);
        }
        lines.push(line);
    }
    lines.extend(labelled_axis(&figure.x, &x, (left, cells)));
    let axes = format!("{} by {}", figure.y.label, figure.x.label);
    lines.append(&mut wrap_text(&Text::new().muted(axes), room, Ink::Plain));
    for (nth, series) in figure.series.iter().enumerate() {
        let letter =
            LETTERS.get(nth).map_or("not drawn".into(), |letters| char::from(*letters).to_string());
        let mut line = Line::default();
        line.push(&letter, Ink::Series(nth));
        line.push(" ", Ink::Plain);
        line.push(&shorten(&visible(&series.name), room - width(&letter) - 1), Ink::Plain);
        lines.push(line);
    }
    lines.extend(figure.marks.iter().flat_map(|symbol| mark(figure, symbol, BOUND, room)));
    lines
}

/// Where nothing is yet.
fn put(row: &mut [Option<Cell>], column: usize, piece: &str, ink: Ink) {
    if let Some(cell) = row.get_mut(column).filter(|row| row.is_none()) {
        *cell = Some((piece.into(), ink));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unit;
    use crate::figure::{Axis, FigureKind, Mark, Scale, Series};

    #[test]
    fn a_curve_rises_to_the_right_with_its_bound_and_what_is_marked() {
        let axis = |label: &str, unit| Axis::new(label, unit, Scale::Log);
        let (x, y) = (axis("due", Unit::PerSecond), axis("p99", Unit::Nanoseconds));
        let mut figure = Figure::new(FigureKind::Curves, "f", "p99 against rate", "", x, y);
        let point = |x: f64, y: f64| Point::new(x, y);
        let pipe = [point(1e3, 1e4), point(1e4, 3e4).marked("holds"), point(1e5, 1e6)];
        let tcp = [point(1e3, 2e4), point(1e4, 8e4).framed("the knee"), point(1e5, 3e6)];
        figure.series = vec![Series::new("pipe", pipe), Series::new("tcp", tcp)];
        figure.marks.push(Mark::new("p99 asked", 2e5));
        let drawn = render(&figure, 60);
        assert!(drawn.iter().all(|line| line.width() <= 60));
        let text = |line: &Line| {
            let mut text = String::new();
            line.write(false, &mut text);
            text
        };
        let drawn: Vec<String> = drawn.iter().map(text).collect();
        let row = |of: &str| drawn.iter().position(|text| text.contains(of)).expect(of);
        assert!(row("[b]") < row("(a)"), "{drawn:#?}");
        assert!(row("┄┄┄") < row("[b]"), "{drawn:#?}");
        let end = |of: char| drawn.iter().position(|text| text.contains('│') && text.ends_with(of));
        assert!(end('b') < end('a') && end('b').is_some(), "{drawn:#?}");
        assert_eq!(drawn[drawn.len() - 3..], ["a pipe", "b tcp", "┄ p99 asked: 200 µs"]);
    }
}
