//! The sheet that is drawn on: elements with escaped text and finite numbers, and nothing else.

use std::fmt::Write;

use unicode_width::UnicodeWidthChar;

use crate::html::escape::escape;

/// The size of text, in points.
pub(super) const TEXT: f64 = 8.0;
/// What is written.
pub(super) const INK: &str = "#1b1d21";
/// What stands back: axes' names, bounds.
pub(super) const MUTED: &str = "#5d636d";
/// Grid lines.
pub(super) const RULE: &str = "#d5d8dc";
/// Faces in the order of wish; none of them need be there.
const FACES: &str = "Libertinus Serif, DejaVu Sans, sans-serif";

/// The colours of series: those of Okabe and Ito that are dark enough on paper.
const COLORS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#b8558f", "#c98500", "#3f9fdb", "#33373d"];
/// How lines differ.
const DASHES: [&str; 4] = ["", "6 3", "1.5 2.5", "8 3 2 3"];

/// The colour of a series.
pub(super) fn color(nth: usize) -> &'static str {
    COLORS[nth % COLORS.len()]
}

/// The dashes of a series' line, as an attribute.
pub(super) fn dash(nth: usize) -> String {
    match DASHES[nth % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    }
}

/// A stroke as attributes.
pub(super) fn stroke(color: &str, width: f64) -> String {
    format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"{}\"", number(width))
}

/// A place on the sheet.
pub(super) type Spot = [f64; 2];

/// A rectangle.
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

/// How a text looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    pub anchor: Anchor,
    pub size: f64,
    pub fill: &'a str,
    pub bold: bool,
    /// White around the letters, where lines run below them.
    pub halo: bool,
}

impl Words<'_> {
    pub const fn new(anchor: Anchor, fill: &str) -> Words<'_> {
        Words { anchor, size: TEXT, fill, bold: false, halo: false }
    }
}

/// A picture while it is drawn.
pub(super) struct Sheet {
    body: String,
    pub width: f64,
}

impl Sheet {
    pub fn new(width: f64) -> Sheet {
        Sheet { body: String::new(), width }
    }

    pub fn line(&mut self, [x1, y1]: Spot, [x2, y2]: Spot, style: &str) {
        let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(number);
        self.push(format_args!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {style}/>"));
    }

    pub fn rect(&mut self, area: Area, radius: f64, style: &str) {
        let [x, y, w, h, r] =
            [area.left, area.top, area.width().max(0.0), area.height().max(0.0), radius]
                .map(number);
        self.push(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{r}\" {style}/>"
        ));
    }

    /// A line through places.
    pub fn polyline(&mut self, spots: &[Spot], style: &str) {
        let points = points(spots);
        self.push(format_args!("<polyline points=\"{points}\" {style}/>"));
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
    pub fn text(&mut self, [x, y]: Spot, words: Words, text: &str) {
        let wide = width_of(text, words.size).min(self.width - 2.0);
        let (before, name) = match words.anchor {
            Anchor::Start => (0.0, "start"),
            Anchor::Middle => (wide / 2.0, "middle"),
            Anchor::End => (wide, "end"),
        };
        let x = x.min(self.width - 1.0 - wide + before).max(1.0 + before);
        let [x, y, size] = [x, y + 0.35 * words.size, words.size].map(number);
        let bold = if words.bold { " font-weight=\"bold\"" } else { "" };
        let halo = match words.halo {
            true => {
                " stroke=\"#ffffff\" stroke-width=\"2.5\" stroke-linejoin=\"round\" paint-order=\"stroke\""
            }
            false => "",
        };
        let (fill, text) = (words.fill, escape(text));
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{name}\" \
             fill=\"{fill}\"{bold}{halo}>{text}</text>"
        ));
    }

    /// A text that runs up along the left edge, around its middle.
    pub fn upward(&mut self, [x, y]: Spot, fill: &str, text: &str) {
        let [x, y] = [x, y].map(number);
        let text = escape(text);
        self.push(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{TEXT}\" text-anchor=\"middle\" fill=\"{fill}\" \
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

    /// A sign of a series: four shapes, filled and then hollow.
    pub fn sign(&mut self, nth: usize, [x, y]: Spot, size: f64) {
        let fill = if nth % 8 < 4 { color(nth) } else { "#ffffff" };
        self.shape(nth, [x, y], size, fill, color(nth));
    }

    /// One of the four shapes.
    pub fn shape(&mut self, nth: usize, [x, y]: Spot, size: f64, fill: &str, edge: &str) {
        let style = format!("fill=\"{fill}\" stroke=\"{edge}\" stroke-width=\"1\"");
        let r = size / 2.0;
        match nth % 4 {
            0 => self.circle([x, y], r, &style),
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
        let color = color(nth);
        let back = match nth % 4 {
            0 => format!("fill=\"{color}\" fill-opacity=\"0.85\""),
            2 => format!("fill=\"{color}\" fill-opacity=\"0.3\""),
            _ => "fill=\"#ffffff\"".to_string(),
        };
        self.rect(area, 0.0, &format!("{back} stroke=\"{color}\" stroke-width=\"0.8\""));
        if nth % 4 == 1 || nth % 4 == 3 {
            self.hatch(area, color, 3.5, false);
        }
        if nth % 4 == 3 {
            self.hatch(area, color, 3.5, true);
        }
    }

    /// Slanting lines, cut to the area by arithmetic: a pattern would need an identifier.
    pub fn hatch(&mut self, area: Area, color: &str, step: f64, mirrored: bool) {
        let (wide, high) = (area.width(), area.height());
        let mut spots = String::new();
        let mut at = step - high;
        while at < wide {
            let (from, to) = (at.max(0.0), (at + high).min(wide));
            if to - from > 0.3 {
                let x = |along: f64| match mirrored {
                    true => number(area.right - along),
                    false => number(area.left + along),
                };
                let y = |along: f64| number(area.bottom - (along - at));
                let _ = write!(spots, "M{} {}L{} {}", x(from), y(from), x(to), y(to));
            }
            at += step;
        }
        if !spots.is_empty() {
            let style = stroke(color, 0.7);
            self.push(format_args!("<path d=\"{spots}\" {style}/>"));
        }
    }

    /// Many small dots as one element.
    pub fn dots(&mut self, spots: &[Spot], color: &str, round: bool) {
        if spots.is_empty() {
            return;
        }
        let cap = if round { "round" } else { "butt" };
        let mut path = String::new();
        for [x, y] in spots {
            let _ = write!(path, "M{} {}h1", number(x - 0.5), number(*y));
        }
        self.push(format_args!(
            "<path d=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.2\" \
             stroke-linecap=\"{cap}\" stroke-opacity=\"0.7\"/>"
        ));
    }

    fn push(&mut self, element: std::fmt::Arguments) {
        let _ = writeln!(self.body, "{element}");
    }

    pub fn finish(self, height: f64, title: &str, words: &str) -> String {
        let [w, h] = [self.width, height.max(1.0)].map(number);
        let (title, words, body) = (escape(title), escape(words), self.body);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}pt\" height=\"{h}pt\" \
             viewBox=\"0 0 {w} {h}\" font-family=\"{FACES}\" role=\"img\">\n\
             <title>{title}</title>\n<desc>{words}</desc>\n\
             <rect x=\"0\" y=\"0\" width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n{body}</svg>\n"
        )
    }
}

fn points(spots: &[Spot]) -> String {
    let spots: Vec<String> =
        spots.iter().map(|[x, y]| format!("{},{}", number(*x), number(*y))).collect();
    spots.join(" ")
}

/// Two decimals are finer than any printer; what isn't finite never gets here by intent.
pub(super) fn number(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let written = format!("{value:.2}");
    let short = written.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}

/// How wide a text is at most, in the widest of the faces that may be at hand.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    let advance = |letter: char| match letter {
        'i' | 'j' | 'l' | '|' | '\'' | '.' | ',' | ':' | ';' | '!' | ' ' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.40,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 0.95,
        'A'..='Z' => 0.70,
        letter if letter.width() == Some(2) => 1.1,
        letter if letter.is_ascii() => 0.62,
        _ => 0.68,
    };
    size * text.chars().map(advance).sum::<f64>()
}

/// A text cut to a width, with a sign that it was.
pub(super) fn shorten(text: &str, room: f64, size: f64) -> String {
    if width_of(text, size) <= room {
        return text.to_string();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if width_of(&kept, size) + width_of("m…", size) > room {
            break;
        }
        kept.push(letter);
    }
    kept + "…"
}

/// A text on as many lines as it takes, up to `most`, broken where words and options end.
pub(super) fn wrap(text: &str, room: f64, size: f64, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in text.split_inclusive([' ', ':', '-', ',', '_', '=']) {
        let line = lines.last_mut().expect("there is always one");
        let fits = width_of(&format!("{line}{}", piece.trim_end()), size) <= room;
        if fits || line.is_empty() || lines.len() == most {
            lines.last_mut().expect("there is always one").push_str(piece);
        } else {
            lines.push(piece.to_string());
        }
    }
    lines.iter().map(|line| shorten(line.trim_end(), room, size)).collect()
}

/// As [`wrap`], in the largest of a few sizes in which no name must be cut.
pub(super) fn fit<'a>(
    names: impl Iterator<Item = &'a String> + Clone,
    room: f64,
    most: usize,
) -> (f64, Vec<Vec<String>>) {
    let at = |size: f64| {
        let lines = names.clone().map(|it| wrap(it, room, size, most)).collect::<Vec<_>>();
        (size, lines)
    };
    let whole =
        |(_, lines): &(f64, Vec<Vec<String>>)| lines.iter().flatten().all(|it| !it.ends_with('…'));
    let sizes = [TEXT, TEXT - 1.0, TEXT - 2.0];
    sizes.into_iter().map(at).find(whole).unwrap_or_else(|| at(TEXT))
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
        assert_eq!([1.0, -0.001, 2.345, f64::NAN].map(number), ["1", "0", "2.35", "0"]);
    }

    #[test]
    fn long_names_are_broken_where_options_begin_and_cut_where_nothing_else_helps() {
        assert_eq!(wrap("shm-ring:wait=futex", 60.0, 8.0, 3), ["shm-ring:", "wait=futex"]);
        assert_eq!(wrap("pipe", 60.0, 8.0, 3), ["pipe"]);
        let cut = wrap(&"x".repeat(90), 60.0, 8.0, 2);
        assert!(cut[0].ends_with('…') && width_of(&cut[0], 8.0) <= 60.0);
    }
}
