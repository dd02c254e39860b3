//! The sheet that is drawn on: elements with escaped text and finite numbers, and nothing else.

use std::fmt::Write;

use super::metrics::{TEXT, width_of};
use super::theme::Theme;
use crate::html::escape::escape;

/// Faces in the order of wish; none of them need be there.
const FACES: &str = "Libertinus Serif, DejaVu Sans, sans-serif";

/// How lines differ.
const DASHES: [&str; 4] = ["", "6 3", "1.5 2.5", "8 3 2 3"];

/// The dashes of a series' line, as an attribute.
pub(super) fn dash(nth: usize) -> String {
    match DASHES[nth % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    }
}

/// A stroke as attributes; the whole picture says that nothing is filled unless it says so.
pub(super) fn stroke(color: &str, width: f64) -> String {
    format!("stroke=\"{color}\" stroke-width=\"{}\"", number(width))
}

/// A place on the sheet.
pub(super) type Spot = [f64; 2];

#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    /// Out of two opposite corners.
    pub fn between([x1, y1]: Spot, [x2, y2]: Spot) -> Area {
        Area { left: x1.min(x2), top: y1.min(y2), right: x1.max(x2), bottom: y1.max(y2) }
    }

    pub fn width(&self) -> f64 {
        self.right - self.left
    }

    pub fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub fn touches(&self, other: &Area) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Where a text stands against its place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TextStyle<'a> {
    pub anchor: Anchor,
    pub size: f64,
    pub fill: &'a str,
    pub bold: bool,
    /// White around the letters, where lines run below them.
    pub halo: bool,
    /// What it stands beside, from left to right; a page that zooms in moves it with that.
    pub beside: Option<f64>,
}

impl TextStyle<'_> {
    pub const fn new(anchor: Anchor, fill: &str) -> TextStyle<'_> {
        TextStyle { anchor, size: TEXT, fill, bold: false, halo: false, beside: None }
    }
}

/// A picture while it is drawn.
pub(super) struct Sheet {
    body: String,
    pub width: f64,
    pub theme: &'static Theme,
    /// The place of the first series among those of the figure on its page.
    first: usize,
}

impl Sheet {
    pub fn new(width: f64, theme: &'static Theme, first: usize) -> Sheet {
        Sheet { body: String::new(), width, theme, first }
    }

    pub fn line(&mut self, [x1, y1]: Spot, [x2, y2]: Spot, style: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
        self.push(format_args!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {style}/>"));
    }

    pub fn rect(&mut self, area: Area, radius: f64, style: &str) {
        let [x, y, w, h] =
            [area.left, area.top, area.width().max(0.0), area.height().max(0.0)].map(number);
        let round =
            if radius > 0.0 { format!(" rx=\"{}\"", number(radius)) } else { String::new() };
        self.push(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"{round} {style}/>"
        ));
    }

    /// Lines through places.
    pub fn lines(&mut self, runs: &[Vec<Spot>], style: &str) {
        let path: String = runs.iter().map(|run| path(run)).collect();
        if !path.is_empty() {
            self.push(format_args!("<path d=\"{path}\" {style}/>"));
        }
    }

    /// A line from one place to another with a cap across each end, `half` to both sides.
    pub fn whisker(&mut self, from: Spot, to: Spot, half: f64, style: &str) {
        let level = (to[1] - from[1]).abs() <= (to[0] - from[0]).abs();
        let cap = |[x, y]: Spot| {
            if level {
                vec![[x, y - half], [x, y + half]]
            } else {
                vec![[x - half, y], [x + half, y]]
            }
        };
        self.lines(&[vec![from, to], cap(from), cap(to)], style);
    }

    pub fn polygon(&mut self, spots: &[Spot], style: &str) {
        let points = points(spots);
        self.push(format_args!("<polygon points=\"{points}\" {style}/>"));
    }

    pub fn circle(&mut self, [x, y]: Spot, radius: f64, style: &str) {
        let [x, y, r] = [x, y, radius].map(number);
        self.push(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" {style}/>"));
    }

    /// A text whose middle is at the height of its place, moved in where it would leave the sheet.
    pub fn text(&mut self, [x, y]: Spot, words: TextStyle, text: &str) {
        let wide = width_of(text, words.size).min(self.width - 2.0);
        // Size and anchor are said once for the whole picture where they are the usual ones.
        let (before, anchor) = match words.anchor {
            Anchor::Start => (0.0, ""),
            Anchor::Middle => (wide / 2.0, " text-anchor=\"middle\""),
            Anchor::End => (wide, " text-anchor=\"end\""),
        };
        let x = x.min(self.width - 1.0 - wide + before).max(1.0 + before);
        let [x, y] = [x, y + 0.35 * words.size].map(number);
        let size = match words.size {
            TEXT => String::new(),
            size => format!(" font-size=\"{}\"", number(size)),
        };
        let bold = if words.bold { " font-weight=\"bold\"" } else { "" };
        let theme = self.theme;
        let style = match (theme.inline, words.halo) {
            (true, halo) => {
                // The stylesheet has what most texts are.
                let inked = if words.fill == theme.ink { "ink" } else { "" };
                let class = [inked, if halo { "halo" } else { "" }].join(" ");
                match (class.trim(), [theme.ink, theme.muted].contains(&words.fill)) {
                    ("", true) => String::new(),
                    (class, true) => format!(" class=\"{class}\""),
                    (_, false) => format!(" style=\"fill:{}\"", words.fill),
                }
            }
            (false, true) => format!(
                " fill=\"{}\" stroke=\"{}\" stroke-width=\"2.5\" stroke-linejoin=\"round\" \
                 paint-order=\"stroke\"",
                words.fill, theme.paper
            ),
            (false, false) => format!(" fill=\"{}\"", words.fill),
        };
        let beside = match words.beside.filter(|_| self.theme.inline) {
            Some(x) => format!(" data-x=\"{}\"", number(x)),
            None => String::new(),
        };
        let text = escape(text);
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\"{beside}{size}{anchor}{bold}{style}>{text}</text>"
        ));
    }

    /// Texts below each other, `step` apart.
    pub fn texts(&mut self, [x, y]: Spot, step: f64, words: TextStyle, lines: &[String]) {
        for (row, line) in lines.iter().enumerate() {
            self.text([x, y + step * row as f64], words, line);
        }
    }

    /// How words stand that are read first.
    pub fn ink(&self, anchor: Anchor) -> TextStyle<'static> {
        TextStyle::new(anchor, self.theme.ink)
    }

    /// How words stand that stand back.
    pub fn muted(&self, anchor: Anchor) -> TextStyle<'static> {
        TextStyle::new(anchor, self.theme.muted)
    }

    /// A quiet line, as of a bound or a frontier.
    pub fn quiet(&self) -> String {
        stroke(self.theme.muted, 1.0) + " stroke-dasharray=\"3 3\""
    }

    /// A text that runs up along the left edge, around its middle.
    pub fn upward(&mut self, [x, y]: Spot, fill: &str, text: &str) {
        let [x, y] = [x, y].map(number);
        let text = escape(text);
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" style=\"fill:{fill}\" \
             transform=\"rotate(-90 {x} {y})\">{text}</text>"
        ));
    }

    /// What is drawn within has a name that a viewer may show.
    pub fn named(&mut self, name: &str, draw: impl FnOnce(&mut Sheet)) {
        let name = escape(name);
        self.push(format_args!("<g><title>{name}</title>"));
        draw(self);
        self.push(format_args!("</g>"));
    }

    /// A group that only a page has: the script finds it by its attributes.
    pub fn group(&mut self, attributes: &str, draw: impl FnOnce(&mut Sheet)) {
        if !self.theme.inline {
            return draw(self);
        }
        self.push(format_args!("<g {attributes}>"));
        draw(self);
        self.push(format_args!("</g>"));
    }

    /// What belongs to a series, which a page may hide.
    pub fn series(&mut self, nth: usize, name: &str, draw: impl FnOnce(&mut Sheet)) {
        if self.theme.inline {
            return self.group(&format!("data-s=\"{}\"", self.first + nth), draw);
        }
        self.named(name, draw);
    }

    /// A point of a series where it stands; a page has its words beside it as data.
    pub fn point(&mut self, nth: usize, spot: Spot, said: &str, draw: impl FnOnce(&mut Sheet)) {
        if self.theme.inline {
            let [x, y] = spot.map(number);
            return self.group(&format!("data-p=\"{nth} {x} {y}\""), draw);
        }
        self.named(said, draw);
    }

    /// How the curve of a series is drawn: a grey one without dashes, which would tell nothing.
    pub fn curve(&self, nth: usize) -> String {
        let dashes = if self.theme.is_quiet(nth) { String::new() } else { dash(nth) };
        stroke(self.theme.color(nth), 1.3) + &dashes
    }

    /// The entry of a series in the legend; a page has its whole name only where that is `cut`.
    pub fn key(
        &mut self,
        nth: Option<usize>,
        name: &str,
        cut: bool,
        draw: impl FnOnce(&mut Sheet),
    ) {
        let Some(nth) = nth.filter(|_| self.theme.inline) else {
            return self.named(name, draw);
        };
        self.group(&format!("class=\"key\" data-k=\"{}\"", self.first + nth), |sheet| {
            if cut {
                let name = escape(name);
                sheet.push(format_args!("<title>{name}</title>"));
            }
            draw(sheet);
        });
    }

    /// What keeps its form when a page stretches an axis, as text and circles do anyway.
    fn rigid(&self) -> &'static str {
        if self.theme.inline { " class=\"rigid\"" } else { "" }
    }

    /// A ring around a place.
    pub fn ring(&mut self, spot: Spot, radius: f64) {
        self.circle(spot, radius, &stroke(self.theme.ink, 1.0));
    }

    /// A square around a place.
    pub fn frame(&mut self, [x, y]: Spot, half: f64) {
        let style = stroke(self.theme.ink, 1.0) + self.rigid();
        self.rect(Area::between([x - half, y - half], [x + half, y + half]), 0.0, &style);
    }

    /// A sign of a series: four shapes, filled and then hollow.
    pub fn sign(&mut self, nth: usize, [x, y]: Spot, size: f64) {
        let color = self.theme.color(nth);
        let fill = if nth % 8 < 4 { color } else { self.theme.paper };
        self.shape(nth, [x, y], size, fill, color);
    }

    pub fn shape(&mut self, nth: usize, [x, y]: Spot, size: f64, fill: &str, edge: &str) {
        let style = format!("fill=\"{fill}\" stroke=\"{edge}\"");
        let r = size / 2.0;
        if nth.is_multiple_of(4) {
            return self.circle([x, y], r, &style);
        }
        let style = style + self.rigid();
        match nth % 4 {
            1 => {
                let r = r * 0.9;
                self.rect(Area::between([x - r, y - r], [x + r, y + r]), 0.0, &style);
            }
            2 => {
                let spots = [[x, y - 1.15 * r], [x + 1.15 * r, y + r], [x - 1.15 * r, y + r]];
                self.polygon(&spots, &style);
            }
            _ => {
                let r = 1.3 * r;
                self.polygon(&[[x, y - r], [x + r, y], [x, y + r], [x - r, y]], &style);
            }
        }
    }

    /// An area of a series: plain, hatched, pale, hatched both ways, so that greys differ.
    pub fn fill(&mut self, nth: usize, area: Area) {
        let color = self.theme.color(nth);
        let back = match nth % 4 {
            0 => format!("fill=\"{color}\" fill-opacity=\"0.85\""),
            2 => format!("fill=\"{color}\" fill-opacity=\"0.3\""),
            _ => format!("fill=\"{}\"", self.theme.paper),
        };
        self.rect(area, 0.0, &format!("{back} stroke=\"{color}\" stroke-width=\"0.8\""));
        if nth % 4 == 1 || nth % 4 == 3 {
            self.hatch(area, color, 3.0, false);
        }
        if nth % 4 == 3 {
            self.hatch(area, color, 3.0, true);
        }
    }

    /// Stripes, upright or level: one broad dashed line, since a pattern would need an identifier.
    pub fn hatch(&mut self, area: Area, color: &str, step: f64, level: bool) {
        let [x, y] = [(area.left + area.right) / 2.0, (area.top + area.bottom) / 2.0];
        let (run, wide) = if level {
            (vec![[x, area.top], [x, area.bottom]], area.width())
        } else {
            (vec![[area.left, y], [area.right, y]], area.height())
        };
        let class = if self.theme.inline { " class=\"stripes\"" } else { "" };
        let dashes = format!(" stroke-dasharray=\"0.7 {}\"{class}", number(step - 0.7));
        self.lines(&[run], &(stroke(color, wide) + &dashes));
    }

    fn push(&mut self, element: std::fmt::Arguments) {
        let _ = writeln!(self.body, "{element}");
    }

    /// The picture: by itself on white, or as an element of a page that says which of its
    /// `class` it is.
    pub fn finish(self, height: f64, title: &str, words: &str, class: &str) -> String {
        let [w, h] = [self.width, height.max(1.0)].map(number);
        let (title, words, body) = (escape(title), escape(words), self.body);
        if self.theme.inline {
            return format!(
                "<svg class=\"{class}\" viewBox=\"0 0 {w} {h}\" fill=\"none\" font-size=\"{TEXT}\" \
                 role=\"img\" aria-label=\"{title}\">\n{body}</svg>\n"
            );
        }
        let paper = self.theme.paper;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}pt\" height=\"{h}pt\" \
             viewBox=\"0 0 {w} {h}\" fill=\"none\" font-family=\"{FACES}\" font-size=\"{TEXT}\" role=\"img\">\n\
             <title>{title}</title>\n<desc>{words}</desc>\n\
             <rect x=\"0\" y=\"0\" width=\"{w}\" height=\"{h}\" fill=\"{paper}\"/>\n{body}</svg>\n"
        )
    }
}

/// A line as a path: the first place, and then steps of tenths, so that no error grows.
fn path(spots: &[Spot]) -> String {
    let tenths = |[x, y]: Spot| [x, y].map(|value| (value * 10.0).round());
    let Some(mut last) = spots.first().copied().map(tenths) else { return String::new() };
    let mut path = format!("M{} {}", number(last[0] / 10.0), number(last[1] / 10.0));
    for (nth, spot) in spots[1..].iter().copied().map(tenths).enumerate() {
        let [x, y] = [spot[0] - last[0], spot[1] - last[1]].map(|value| number(value / 10.0));
        let gap = if y.starts_with('-') { "" } else { " " };
        let _ = write!(path, "{}{x}{gap}{y}", if nth == 0 { "l" } else { " " });
        last = spot;
    }
    path
}

fn points(spots: &[Spot]) -> String {
    let spots: Vec<String> =
        spots.iter().map(|[x, y]| format!("{},{}", number(*x), number(*y))).collect();
    spots.join(" ")
}

/// A tenth of a point is finer than a hairline; what isn't finite never gets here by intent.
pub(super) fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let written = format!("{value:.1}");
    let short = written.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_numbers_are_finite() {
        assert_eq!(
            escape("a<b & \"c\"\u{1b}\u{202e}"),
            "a&lt;b &amp; &quot;c&quot;\u{fffd}\u{fffd}"
        );
        assert_eq!([1.0, -0.001, 2.345, f64::NAN].map(number), ["1", "0", "2.3", "0"]);
    }
}
