//! Short texts as runs of one meaning each, with no word on how they look.

use model::hint::kept;
use serde::{Deserialize, Serialize};

/// A short text as runs of one meaning each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text {
    /// The runs, in order; spaces between them are part of the runs.
    pub runs: Vec<Run>,
}

/// A stretch of text with one meaning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    Plain(String),
    /// What the eye should find first.
    Strong(String),
    /// A name from the command line or the system.
    Code(String),
    /// An aside.
    Muted(String),
    /// A reference: where to, and the words, which numbering the document puts in where they are of the document.
    Link {
        to: Target,
        /// As it is read: `Figure 2`, `[1]`.
        words: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Figure(String),
    Table(String),
    /// A work, by its place among the references, from 1 on.
    Work(usize),
    /// A page in the same folder, by its name.
    Page(String),
}

impl Run {
    /// Whether plain words name commands between backticks, in pairs: else they are somebody's own.
    pub fn is_prose(&self) -> bool {
        let ticks = self.as_str().matches('`').count();
        matches!(self, Self::Plain(_)) && ticks > 0 && ticks.is_multiple_of(2)
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Plain(words) | Self::Strong(words) | Self::Code(words) | Self::Muted(words) => {
                words
            }
            Self::Link { words, .. } => words,
        }
    }
}

impl Text {
    /// An empty text to build on.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends ordinary words.
    pub fn plain(mut self, words: impl Into<String>) -> Self {
        self.runs.push(Run::Plain(kept(&words.into()).into_owned()));
        self
    }

    /// Appends words that stand out.
    pub fn strong(mut self, words: impl Into<String>) -> Self {
        self.runs.push(Run::Strong(words.into()));
        self
    }

    /// Appends a name from the command line or the system.
    pub fn code(mut self, words: impl Into<String>) -> Self {
        self.runs.push(Run::Code(words.into()));
        self
    }

    /// Appends an aside.
    pub fn muted(mut self, words: impl Into<String>) -> Self {
        self.runs.push(Run::Muted(kept(&words.into()).into_owned()));
        self
    }

    /// Appends a reference, which gets its words when the document is numbered.
    pub fn refer(mut self, to: Target) -> Self {
        self.runs.push(Run::Link { to, words: String::new() });
        self
    }

    /// Appends words that lead to a page in the same folder.
    pub fn page(mut self, name: impl Into<String>, words: impl Into<String>) -> Self {
        self.runs.push(Run::Link { to: Target::Page(name.into()), words: words.into() });
        self
    }

    /// Ordinary words, but what stands between two backticks is a name.
    pub fn of_prose(words: &str) -> Self {
        let words = &*kept(words);
        let pieces: Vec<&str> = words.split('`').collect();
        if pieces.len().is_multiple_of(2) {
            return Self::from(words);
        }
        pieces.into_iter().enumerate().fold(Self::new(), |text, (at, piece)| match at % 2 {
            _ if piece.is_empty() => text,
            0 => text.plain(piece),
            _ => text.code(piece),
        })
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.runs.iter().all(|run| run.as_str().is_empty())
    }

    /// The words without their meaning.
    pub fn to_plain(&self) -> String {
        self.runs.iter().map(Run::as_str).collect()
    }
}

impl<T: Into<Text>> From<Option<T>> for Text {
    /// A dash where there is nothing.
    fn from(words: Option<T>) -> Self {
        words.map_or_else(|| "–".into(), Into::into)
    }
}

impl From<&str> for Text {
    fn from(words: &str) -> Self {
        Self::new().plain(words)
    }
}

impl From<String> for Text {
    fn from(words: String) -> Self {
        Self::new().plain(words)
    }
}
