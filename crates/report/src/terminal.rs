//! The document as text for a terminal: no boxes, no line wider than asked.
//!
//! Colour only repeats what a sign or a word already says, so the output is the same with
//! it and without. Tables drop their least important columns before they wrap, values
//! of categories are plotted along one axis, stacked bars and message sequences are drawn in signs, and so are
//! curves where everything is shown; other figures get a line that points to the page.
//! Control characters in names are made visible, never passed on to the terminal.

mod bars;
mod curves;
mod plot;
mod protocol;
mod table;
mod wrap;

use super::document::{Block, Document, Table, Text, Verdict};
use super::figure::{Figure, FigureKind, Scale};
use wrap::{Ink, Line, wrap_text};

/// How the terminal is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Columns that no line exceeds; below 40 it is taken as 40.
    pub width: usize,
    /// Whether to use ANSI colours and weights.
    pub color: bool,
    /// Whether to show what a page would fold: details, and all of a long list of facts.
    pub unfold: bool,
    /// Whether to keep to signs of ASCII.
    pub ascii: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { width: 80, color: false, unfold: false, ascii: false }
    }
}

/// Facts shown before the rest is folded.
const FACTS_SHOWN: usize = 12;

/// Kinds that are values of categories along one axis.
const PLOTTED: [FigureKind; 3] =
    [FigureKind::Intervals, FigureKind::Boxes, FigureKind::GroupedBars];

/// Renders a document; every line ends with a newline and none is wider than the style says.
pub fn render(document: &Document, style: &Style) -> String {
    let document = &*document.labelled();
    let _signs = wrap::KeepTo::ascii(style.ascii);
    let mut page = Page { style: *style, lines: Vec::new() };
    page.style.width = style.width.max(40);
    page.head(document);
    for section in &document.sections {
        page.heading(&section.title);
        page.blocks(&section.blocks, 0);
    }
    page.finish()
}

/// A line of words as lines of at most `cells`, broken between words.
pub fn broken(words: &str, cells: usize, ascii: bool) -> String {
    let _signs = wrap::KeepTo::ascii(ascii);
    let mut out = String::new();
    for line in wrap_text(&Text::from(words), cells, Ink::Plain) {
        line.write(false, &mut out);
        out.push('\n');
    }
    out
}

/// A line of words cut to `cells`.
pub fn shortened(words: &str, cells: usize, ascii: bool) -> String {
    let _signs = wrap::KeepTo::ascii(ascii);
    wrap::shorten(words, cells)
}

/// The page while it is being written.
struct Page {
    style: Style,
    lines: Vec<Line>,
}

impl Page {
    fn head(&mut self, document: &Document) {
        self.text(&Text::new().strong(&document.title), 0);
        if !document.subtitle.is_empty() {
            self.text(&Text::from(document.subtitle.as_str()), 0);
        }
        let meta: Vec<String> =
            document.meta.iter().map(|(key, value)| format!("{key} {value}")).collect();
        if !meta.is_empty() {
            self.text(&Text::new().muted(meta.join(" · ")), 0);
        }
    }

    fn heading(&mut self, title: &str) {
        self.lines.push(Line::default());
        let mut lines = wrap_text(&Text::new().strong(title), self.style.width, Ink::Heading);
        let used = lines.last().map_or(0, Line::width);
        if let Some(last) = lines.last_mut()
            && used + 5 < self.style.width
        {
            last.push(" ", Ink::Plain);
            last.push(&"─".repeat(self.style.width - used - 1), Ink::Muted);
        }
        self.lines.append(&mut lines);
    }

    fn blocks(&mut self, blocks: &[Block], indent: usize) {
        for (position, block) in blocks.iter().enumerate() {
            let follows = position > 0
                && std::mem::discriminant(block) == std::mem::discriminant(&blocks[position - 1]);
            let tight = follows && matches!(block, Block::Warning(_));
            if !tight {
                self.lines.push(Line::default());
            }
            self.block(block, indent);
        }
    }

    fn block(&mut self, block: &Block, indent: usize) {
        match block {
            Block::Paragraph(text) => self.text(text, indent),
            Block::Verdict(verdict) => self.verdict(verdict, indent),
            Block::Table(table) => self.table(table, indent),
            Block::Listing(listing) => self.table(&listing.table(), indent),
            Block::Figure(figure) => self.figure(figure, indent),
            Block::Facts(facts) => self.facts(facts, indent),
            Block::Warning(text) => self.signed("!", Ink::Warning, text, indent),
            Block::List(points) => {
                for point in points {
                    self.signed("•", Ink::Muted, point, indent);
                }
            }
            Block::Details { summary, blocks } if self.style.unfold => {
                self.signed("▾", Ink::Muted, summary, indent);
                self.blocks(blocks, indent + 2);
            }
            Block::Details { summary, .. } => {
                self.signed("▸", Ink::Muted, &summary.clone().muted(" (folded)"), indent);
            }
        }
    }

    fn table(&mut self, table: &Table, indent: usize) {
        let lines = table::render(table, self.style.width - indent);
        self.indented(lines, indent);
    }

    fn figure(&mut self, figure: &Figure, indent: usize) {
        let room = self.style.width - indent;
        if let Some(protocol) = &figure.protocol {
            return self.indented(protocol::render(figure, protocol, room), indent);
        }
        if figure.kind == FigureKind::Bars && figure.x.scale == Scale::Category {
            return self.indented(bars::render(figure, room), indent);
        }
        if PLOTTED.contains(&figure.kind) && figure.x.scale == Scale::Category {
            return self.indented(plot::render(figure, room), indent);
        }
        let curves = figure.kind == FigureKind::Curves && figure.x.scale != Scale::Category;
        if curves && (figure.answers || self.style.unfold) {
            return self.indented(curves::render(figure, room), indent);
        }
        let text = Text::new()
            .strong(&figure.title)
            .muted(" — drawn in the HTML report. ")
            .muted(if figure.finding.is_empty() { &figure.caption } else { &figure.finding });
        self.signed("▸", Ink::Muted, &text, indent);
    }

    fn verdict(&mut self, verdict: &Verdict, indent: usize) {
        let lines = wrap_text(&verdict.headline, self.style.width - indent - 2, Ink::Strong);
        self.hanging(verdict.kind.sign(), Ink::of_tone(verdict.kind), lines, indent);
        if !verdict.detail.is_empty() {
            self.text(&verdict.detail, indent + 2);
        }
    }

    fn facts(&mut self, facts: &[(String, String)], indent: usize) {
        let fold = !self.style.unfold && facts.len() > FACTS_SHOWN + 2;
        let shown = if fold { &facts[..FACTS_SHOWN] } else { facts };
        let widest = shown.iter().map(|(key, _)| wrap::width(key)).max().unwrap_or(0);
        let keys = widest.min((self.style.width - indent) / 3);
        for (key, value) in shown {
            let left = wrap_text(&Text::new().muted(key), keys, Ink::Plain);
            let room = self.style.width - indent - keys - 2;
            let right = wrap_text(&Text::from(value.as_str()), room, Ink::Plain);
            let lines = wrap::side_by_side(left, keys, right, 2);
            self.indented(lines, indent);
        }
        if fold {
            let more = format!("… and {} more (folded)", facts.len() - FACTS_SHOWN);
            self.text(&Text::new().muted(more), indent);
        }
    }

    fn text(&mut self, text: &Text, indent: usize) {
        let lines = wrap_text(text, self.style.width - indent, Ink::Plain);
        self.indented(lines, indent);
    }

    fn signed(&mut self, sign: &str, ink: Ink, text: &Text, indent: usize) {
        let lines = wrap_text(text, self.style.width - indent - 2, Ink::Plain);
        self.hanging(sign, ink, lines, indent);
    }

    /// A sign in front of the first line, the others aligned behind it.
    fn hanging(&mut self, sign: &str, ink: Ink, lines: Vec<Line>, indent: usize) {
        for (position, line) in lines.into_iter().enumerate() {
            let mut full = Line::blank(indent);
            full.push(if position == 0 { sign } else { " " }, ink);
            full.push(" ", Ink::Plain);
            full.append(line);
            self.lines.push(full);
        }
    }

    fn indented(&mut self, lines: Vec<Line>, indent: usize) {
        for line in lines {
            let mut full = Line::blank(indent);
            full.append(line);
            self.lines.push(full);
        }
    }

    fn finish(self) -> String {
        let mut out = String::new();
        for line in &self.lines {
            line.write(self.style.color, &mut out);
            out.push('\n');
        }
        out
    }
}
