//! The document model: what a report says, with no word on how it is drawn.
//!
//! A document is sections of blocks, and a block is one of a few things a measurement
//! report needs: a verdict, a paragraph, a table, a figure, facts, a warning. Text carries
//! meaning (strong, code, muted), never markup, so that every renderer escapes it in its
//! own way and nothing that a user typed can become a command to a browser or a terminal.

mod each;
mod listing;
mod numbering;
mod text;

use serde::{Deserialize, Serialize};

use super::figure::{Figure, VerdictKind};

pub use each::TableOfEach;
pub use listing::{Listing, Value};
pub use text::{Run, Target, Text};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The headline of the page.
    pub title: String,
    /// One line under the title; may be empty.
    pub subtitle: String,
    /// A few short facts shown under the title: machine, kernel, date, version.
    pub meta: Vec<(String, String)>,
    /// The body, in reading order.
    pub sections: Vec<Section>,
    /// Who signs it; may be empty.
    #[serde(default)]
    pub byline: String,
    /// The abstract, a paragraph each; a paper has one, a report may do without.
    #[serde(default)]
    pub summary: Vec<Text>,
    /// Works that the text cites, in the order of their numbers.
    #[serde(default)]
    pub references: Vec<Text>,
    /// Whether sections, figures and tables have numbers: see [`Document::number`].
    #[serde(default)]
    pub numbered: bool,
}

impl Document {
    /// An empty document with a title.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Every block of the document in reading order, each that folds others before those.
    pub fn blocks(&self) -> Vec<&Block> {
        self.sections.iter().flat_map(Section::all_blocks).collect()
    }

    /// Every figure of the document in reading order, folded ones included.
    pub fn figures(&self) -> Vec<&Figure> {
        let all = self.blocks().into_iter();
        all.filter_map(|block| if let Block::Figure(figure) = block { Some(figure) } else { None })
            .collect()
    }
}

/// A file name for each of some figures, in their order, no two of them the same.
pub fn file_names(figures: &[&Figure]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for figure in figures {
        let stem = figure.file_stem();
        let further = (2..).map(|nth| format!("{stem}-{nth}.svg"));
        let mut all = std::iter::once(format!("{stem}.svg")).chain(further);
        names.extend(all.find(|text| !names.contains(text)));
    }
    names
}

/// A titled part of a document.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// A short name that is unique in the document; the HTML page links to it.
    pub id: String,
    pub title: String,
    /// The content, in reading order.
    pub blocks: Vec<Block>,
    /// Stands behind a numbered document and has no numbers itself.
    #[serde(default)]
    pub appendix: bool,
}

impl Section {
    /// An empty section.
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self { id: id.into(), title: title.into(), ..Self::default() }
    }

    /// Appends a block and returns the section, for building in one expression.
    pub fn with(mut self, block: impl Into<Block>) -> Self {
        self.blocks.push(block.into());
        self
    }

    /// Appends blocks, or the one that there may be.
    pub fn with_all<B: Into<Block>>(mut self, blocks: impl IntoIterator<Item = B>) -> Self {
        self.blocks.extend(blocks.into_iter().map(Into::into));
        self
    }

    /// Its blocks in reading order, each that folds others before those.
    fn all_blocks(&self) -> Vec<&Block> {
        fn walk<'a>(blocks: &'a [Block], found: &mut Vec<&'a Block>) {
            for block in blocks {
                found.push(block);
                if let Block::Details { blocks, .. } = block {
                    walk(blocks, found);
                }
            }
        }
        let mut found = Vec::new();
        walk(&self.blocks, &mut found);
        found
    }

    /// Changes every block, in the same order.
    fn each_block(&mut self, change: &mut dyn FnMut(&mut Block)) {
        fn walk(blocks: &mut [Block], change: &mut dyn FnMut(&mut Block)) {
            for block in blocks {
                change(block);
                if let Block::Details { blocks, .. } = block {
                    walk(blocks, change);
                }
            }
        }
        walk(&mut self.blocks, change);
    }

    /// None of a section without a block.
    pub fn unless_empty(self) -> Option<Self> {
        (!self.blocks.is_empty()).then_some(self)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    Paragraph(Text),
    /// What was found, how sure, and in which words.
    Verdict(Verdict),
    Table(Table),
    /// Rows of values: sorted and filtered on a page, a table elsewhere.
    Listing(Listing),
    /// A figure: drawn on a page, reduced to an interval plot or a pointer on a terminal.
    Figure(Figure),
    /// Keys and values; a long list is folded after its first entries.
    Facts(Vec<(String, String)>),
    /// Something the reader must know before believing a figure.
    Warning(Text),
    /// Points without an order.
    List(Vec<Text>),
    /// Blocks that are there on request.
    Details {
        /// The line that stays visible.
        summary: Text,
        /// What is folded.
        blocks: Vec<Block>,
    },
}

impl Block {
    pub fn paragraph(text: impl Into<Text>) -> Self {
        Self::Paragraph(text.into())
    }

    pub fn warning(text: impl Into<Text>) -> Self {
        Self::Warning(text.into())
    }

    /// Points without an order; None of none.
    pub fn list(points: impl IntoIterator<Item = Text>) -> Option<Self> {
        let points: Vec<Text> = points.into_iter().collect();
        (!points.is_empty()).then_some(Self::List(points))
    }

    /// Blocks that are there on request, below a line that stays visible.
    pub fn folded(summary: impl Into<Text>, blocks: Vec<Block>) -> Self {
        Self::Details { summary: summary.into(), blocks }
    }
}

impl From<Text> for Block {
    /// A text by itself is a paragraph.
    fn from(text: Text) -> Self {
        Self::Paragraph(text)
    }
}

impl From<Verdict> for Block {
    fn from(verdict: Verdict) -> Self {
        Self::Verdict(verdict)
    }
}

impl From<Table> for Block {
    fn from(table: Table) -> Self {
        Self::Table(table)
    }
}

impl From<Listing> for Block {
    fn from(listing: Listing) -> Self {
        Self::Listing(listing)
    }
}

impl From<Figure> for Block {
    fn from(figure: Figure) -> Self {
        Self::Figure(figure)
    }
}

/// The result of a comparison or a hypothesis test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The tone; a renderer adds a sign and a colour.
    pub kind: VerdictKind,
    /// The finding in one sentence: what, and by how much.
    pub headline: Text,
    /// How sure, out of how many launches, under which condition.
    pub detail: Text,
}

impl Verdict {
    /// A verdict out of its three parts.
    pub fn new(kind: VerdictKind, headline: impl Into<Text>, detail: impl Into<Text>) -> Self {
        Self { kind, headline: headline.into(), detail: detail.into() }
    }
}

/// Rows and columns with a caption.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// A short name that is unique in the document, where the text refers to the table.
    #[serde(default)]
    pub id: String,
    /// What the table shows, one sentence or less.
    pub caption: String,
    /// The columns, left to right; the first one names the row.
    pub columns: Vec<Column>,
    /// The rows; a row shorter than the columns is filled with empty cells.
    pub rows: Vec<Row>,
    /// Remarks under the table.
    pub notes: Vec<Text>,
}

impl Table {
    /// A table without columns.
    pub fn new(caption: impl Into<String>) -> Self {
        Self { caption: caption.into(), ..Self::default() }
    }

    /// With further columns of words: the heading and the priority of each.
    pub fn words<N: Into<String>, const COUNT: usize>(self, columns: [(N, u8); COUNT]) -> Self {
        self.with(columns.map(|(name, priority)| Column::text(name, priority)))
    }

    /// With further columns of numbers: the heading and the priority of each.
    pub fn numbers<N: Into<String>, const COUNT: usize>(self, columns: [(N, u8); COUNT]) -> Self {
        self.with(columns.map(|(name, priority)| Column::number(name, priority)))
    }

    fn with(mut self, columns: impl IntoIterator<Item = Column>) -> Self {
        self.columns.extend(columns);
        self
    }

    pub fn rows(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// With a remark under it.
    pub fn note(mut self, note: impl Into<Text>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// With such remarks as there are.
    pub fn notes<N: Into<Text>>(mut self, notes: impl IntoIterator<Item = N>) -> Self {
        self.notes.extend(notes.into_iter().map(Into::into));
        self
    }

    /// None of a table without a row.
    pub fn unless_empty(self) -> Option<Self> {
        (!self.rows.is_empty()).then_some(self)
    }
}

/// The priority of a column that is shown where there is room, and not missed elsewhere.
pub const ASIDE: u8 = u8::MAX;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    pub name: String,
    /// How the cells stand.
    pub align: Align,
    /// The unit of the cells, where they don't carry it themselves.
    pub unit: Option<String>,
    /// 0 is always shown; on a narrow terminal the column with the highest number goes first,
    /// and an [`ASIDE`] goes without a word.
    pub priority: u8,
}

impl Column {
    /// A column of words, aligned left.
    pub fn text(name: impl Into<String>, priority: u8) -> Self {
        Self { name: name.into(), align: Align::Left, unit: None, priority }
    }

    /// A column of numbers, aligned right.
    pub fn number(name: impl Into<String>, priority: u8) -> Self {
        Self { name: name.into(), align: Align::Right, unit: None, priority }
    }

    /// The same column with a unit in its heading.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// The heading with its unit: `p99 (µs)`.
    pub fn heading(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.name),
            None => self.name.clone(),
        }
    }
}

/// How the cells of a column stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Align {
    #[default]
    Left,
    Right,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// One text per column.
    pub cells: Vec<Text>,
    /// How far the row stands out.
    pub emphasis: Emphasis,
}

impl Row {
    pub fn new<T: Into<Text>>(cells: impl IntoIterator<Item = T>) -> Self {
        let cells = cells.into_iter().map(Into::into).collect();
        Self { cells, emphasis: Emphasis::Normal }
    }

    /// A row of one cell across all columns: it names the rows below it.
    pub fn heading(cell: impl Into<Text>) -> Self {
        Self { cells: vec![cell.into()], emphasis: Emphasis::Heading }
    }

    /// The same row, standing out.
    pub fn emphasis(mut self, emphasis: Emphasis) -> Self {
        self.emphasis = emphasis;
        self
    }
}

/// How far a row stands out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Emphasis {
    /// Like the others.
    #[default]
    Normal,
    Best,
    /// One of several that are not separated from the best.
    Tied,
    /// A floor, a control, or a case without a result.
    Muted,
    /// Found, and against: slower than what it is compared with.
    Worse,
    /// A case whose figure needs its warning read.
    Warning,
    /// Its first cell spans the table and names the rows below.
    Heading,
}

impl Emphasis {
    /// It where something is `so`; else as the others.
    pub fn only_if(self, so: bool) -> Self {
        if so { self } else { Self::Normal }
    }

    /// The sign before the row, which a renderer's colour only repeats: green, red, yellow.
    pub fn sign(self) -> Option<&'static str> {
        match self {
            Self::Best => Some("✓"),
            Self::Tied => Some("≈"),
            Self::Worse => Some("✗"),
            Self::Warning => Some("!"),
            Self::Normal | Self::Muted | Self::Heading => None,
        }
    }
}
