//! A figure as a static SVG, for paper and for pages without scripts.

use super::figure::Figure;

/// Draws a figure `width_pt` points wide.
pub fn draw(figure: &Figure, width_pt: f64) -> String {
    let height = width_pt * 0.4;
    let title: String = figure
        .title
        .chars()
        .map(|c| if c.is_alphanumeric() || " ,.".contains(c) { c } else { ' ' })
        .collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width_pt}pt\" height=\"{height}pt\" \
         viewBox=\"0 0 {width_pt} {height}\"><rect x=\"1\" y=\"1\" width=\"{}\" height=\"{}\" \
         fill=\"none\" stroke=\"black\"/><text x=\"12\" y=\"24\" font-size=\"10\" \
         font-family=\"sans-serif\">{title}</text></svg>",
        width_pt - 2.0,
        height - 2.0
    )
}
