//! A figure as a static picture: for print one self-contained SVG, without scripts, styles or
//! identifiers, so that it can stand in a document of any kind, and several in one; in a page
//! the same picture in the page's colours, with attributes by which its script finds what.
//!
//! What a reader distinguishes by colour differs by shape, dash or hatching too, so that a grey
//! print says the same. The title and the caption are the document's to print: in print they are
//! here only said to those who hear a picture. Lengths are points; text is set in 8 points whatever
//! the width, so a figure is drawn for the width that it is printed at.
//!
//! The attributes of a page's picture: `data-s` on what belongs to a series, by its number;
//! `data-p` on a point, its number and its place; `data-line` on a line through all its points;
//! `data-k` on a legend's entry, the series' number; `data-axis` on what is stretched by a zoom:
//! scale, unit, range in coordinates, and the two ends of the plot. `class="ticks"` stands before
//! it; text, circles and `class="rigid"` are moved but not stretched, with `data-x` as if they stood
//! there.

mod bars;
mod boxes;
mod frame;
mod heatmap;
mod intervals;
mod legend;
mod lines;
mod metrics;
mod protocol;
mod scatter;
mod sheet;
mod theme;
mod ticks;
mod time_series;
mod track;

use super::figure::{Figure, FigureKind, finite};
use sheet::Sheet;
pub(crate) use time_series::PANELS;

/// Narrower than this nothing can be read.
const NARROWEST: f64 = 160.0;

/// Draws a figure as wide as `width_pt` points; the height follows from what is in it.
pub fn draw(figure: &Figure, width_pt: f64) -> String {
    let width = finite(width_pt).unwrap_or(NARROWEST).max(NARROWEST);
    finish(Sheet::new(width, &theme::PRINT, 0), figure, "")
}

/// Draws a figure as an element of a page, of a class; `first` is the place of its first series among
/// all that the page has as data.
pub(crate) fn inline(figure: &Figure, width: f64, class: &str, first: usize) -> String {
    finish(Sheet::new(width, &theme::PAGE, first), figure, class)
}

fn finish(mut sheet: Sheet, figure: &Figure, class: &str) -> String {
    let height = match figure.kind {
        FigureKind::Intervals => intervals::draw(&mut sheet, figure),
        FigureKind::Curves | FigureKind::Percentiles => lines::draw(&mut sheet, figure),
        FigureKind::Scatter => scatter::draw(&mut sheet, figure),
        FigureKind::Heatmap => heatmap::draw(&mut sheet, figure),
        FigureKind::Bars => bars::stacked(&mut sheet, figure),
        FigureKind::GroupedBars => bars::grouped(&mut sheet, figure),
        FigureKind::Boxes => boxes::draw(&mut sheet, figure),
        FigureKind::TimeSeries => time_series::draw(&mut sheet, figure),
        FigureKind::Protocol => protocol::draw(&mut sheet, figure),
    };
    let words = [figure.finding.as_str(), figure.caption.as_str()].join(" ");
    sheet.finish(height, &figure.title, words.trim(), class)
}
