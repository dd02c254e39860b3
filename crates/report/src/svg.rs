//! A figure as a static picture for print: one self-contained SVG, without scripts, styles or
//! identifiers, so that it can stand in a document of any kind, and several in one.
//!
//! What a reader tells apart by colour differs by shape, dash or hatching too, so that a grey
//! print says the same. The title and the caption are the document's to print: here they are
//! only said to those who hear a picture. Lengths are points; text is set in 8 points whatever
//! the width, so a figure is drawn for the width that it is printed at.

mod axes;
mod bars;
mod boxes;
mod course;
mod frame;
mod heatmap;
mod intervals;
mod legend;
mod lines;
mod protocol;
mod scatter;
mod sheet;
mod ticks;
mod track;

use super::figure::{Figure, FigureKind, finite};
use sheet::Sheet;

/// Narrower than this nothing can be read.
const NARROWEST: f64 = 160.0;

/// Draws a figure as wide as `width_pt` points; the height follows from what is in it.
pub fn draw(figure: &Figure, width_pt: f64) -> String {
    let width = finite(width_pt).unwrap_or(NARROWEST).max(NARROWEST);
    let mut sheet = Sheet::new(width);
    let height = match figure.kind {
        FigureKind::Intervals => intervals::draw(&mut sheet, figure),
        FigureKind::Curves | FigureKind::Percentiles | FigureKind::Ecdf => {
            lines::draw(&mut sheet, figure)
        }
        FigureKind::Strip | FigureKind::Scatter => scatter::draw(&mut sheet, figure),
        FigureKind::Heatmap => heatmap::draw(&mut sheet, figure),
        FigureKind::Bars => bars::stacked(&mut sheet, figure),
        FigureKind::GroupedBars => bars::grouped(&mut sheet, figure),
        FigureKind::Boxes => boxes::draw(&mut sheet, figure),
        FigureKind::Course => course::draw(&mut sheet, figure),
        FigureKind::Protocol => protocol::draw(&mut sheet, figure),
    };
    let words = [figure.finding.as_str(), figure.caption.as_str()].join(" ");
    sheet.finish(height, &figure.title, words.trim())
}
