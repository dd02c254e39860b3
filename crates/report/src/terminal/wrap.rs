//! Lines of inked text, and the wrapping of runs into them.
//!
//! Width is counted in terminal cells, not in characters: a name in CJK letters takes two
//! cells each. A word that is too wide for a line is cut, so that the promised width holds
//! for any input; what a terminal would obey instead of showing is replaced by a sign.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::document::{Run, Text, VerdictKind};
use model::visible::visible;

/// What a piece of text looks like where colour is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
    Plain,
    Strong,
    Heading,
    Code,
    Muted,
    Good,
    Bad,
    Neutral,
    Warning,
    /// The n-th series of a figure.
    Series(usize),
}

impl Ink {
    /// The parameters of SGR, ECMA-48 8.3.117; the 16 colours follow the user's own theme.
    fn sgr(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Strong => "1",
            Self::Heading => "1;4",
            Self::Code => "36",
            Self::Muted => "2",
            Self::Good => "1;32",
            Self::Bad => "1;31",
            Self::Neutral => "1;34",
            Self::Warning => "1;33",
            // Without green, red and yellow: those say good, bad and unclear.
            Self::Series(n) => ["34", "35", "36", "94", "95", "96"][n % 6],
        }
    }

    /// Green is good, red is bad, yellow is unclear.
    pub(super) fn of_tone(tone: VerdictKind) -> Self {
        match tone {
            VerdictKind::Good => Self::Good,
            VerdictKind::Bad => Self::Bad,
            VerdictKind::Neutral => Self::Neutral,
            VerdictKind::Unknown => Self::Warning,
        }
    }

    fn of(run: &Run, base: Self) -> Self {
        match run {
            Run::Plain(_) | Run::Link { .. } => base,
            Run::Strong(_) if base == Self::Plain => Self::Strong,
            Run::Strong(_) => base,
            Run::Code(_) if matches!(base, Self::Plain) => Self::Code,
            Run::Code(_) => base,
            Run::Muted(_) => Self::Muted,
        }
    }
}

/// One line, as pieces of one ink each.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pieces: Vec<(String, Ink)>,
}

impl Line {
    pub(super) fn blank(cells: usize) -> Self {
        let mut line = Self::default();
        line.push(&" ".repeat(cells), Ink::Plain);
        line
    }

    /// Appends words; whatever gets onto the page gets through here, so that nothing is obeyed.
    pub(super) fn push(&mut self, words: &str, ink: Ink) {
        let words = &*visible(words);
        match self.pieces.last_mut() {
            _ if words.is_empty() => {}
            Some((last, same)) if *same == ink => last.push_str(words),
            _ => self.pieces.push((words.into(), ink)),
        }
    }

    pub(super) fn append(&mut self, other: Line) {
        for (words, ink) in other.pieces {
            self.push(&words, ink);
        }
    }

    pub(super) fn pad(&mut self, cells: usize) {
        let missing = cells.saturating_sub(self.width());
        self.push(&" ".repeat(missing), Ink::Plain);
    }

    /// Gives every plain piece another ink.
    pub(super) fn tint(&mut self, ink: Ink) {
        for (_, own) in &mut self.pieces {
            if *own == Ink::Plain {
                *own = ink;
            }
        }
    }

    pub(super) fn width(&self) -> usize {
        self.pieces.iter().map(|(words, _)| width(words)).sum()
    }

    /// Writes the line without trailing spaces.
    pub(super) fn write(&self, color: bool, out: &mut String) {
        let text: String = self.pieces.iter().map(|(words, _)| words.as_str()).collect();
        let mut left = text.trim_end().len();
        for (words, ink) in &self.pieces {
            let words = &words[..words.len().min(left)];
            left -= words.len();
            if words.is_empty() {
                continue;
            }
            if color && *ink != Ink::Plain {
                out.push_str(&format!("\x1b[{}m{words}\x1b[0m", ink.sgr()));
            } else {
                out.push_str(words);
            }
        }
    }
}

/// The cells that a text takes once it is made safe to show.
pub(super) fn width(words: &str) -> usize {
    UnicodeWidthStr::width(words)
}

/// The text cut to a width, with an ellipsis where something is missing.
pub(super) fn shorten(words: &str, cells: usize) -> String {
    let words = visible(words);
    if width(&words) <= cells {
        return words;
    }
    let (head, _) = split_at_width(&words, cells.saturating_sub(1));
    format!("{head}…")
}

/// Wraps a text at spaces into lines of at most `cells`; always at least one line.
pub(super) fn wrap_text(text: &Text, cells: usize, base: Ink) -> Vec<Line> {
    let cells = cells.max(1);
    let mut lines = vec![Line::default()];
    let mut used = 0;
    for word in words(text, base) {
        let wide = word.width();
        let space = usize::from(used > 0 && word.spaced);
        if used > 0 && used + space + wide > cells {
            lines.push(Line::default());
            used = 0;
        } else if space > 0 {
            push_last(&mut lines, " ", word.space_ink);
            used += 1;
        }
        for (piece, ink) in word.pieces {
            let mut rest = piece.as_str();
            while used + width(rest) > cells {
                let (head, tail) = split_at_joint(rest, cells - used);
                push_last(&mut lines, head, ink);
                lines.push(Line::default());
                // A letter wider than the whole line can't be shown at all.
                rest = if head.is_empty() && used == 0 { "" } else { tail };
                used = 0;
            }
            push_last(&mut lines, rest, ink);
            used += width(rest);
        }
    }
    lines
}

/// Puts two columns beside each other; the left one is `cells` wide.
pub(super) fn side_by_side(
    left: Vec<Line>,
    cells: usize,
    right: Vec<Line>,
    gap: usize,
) -> Vec<Line> {
    let rows = left.len().max(right.len());
    let (mut left, mut right) = (left.into_iter(), right.into_iter());
    let mut lines = Vec::with_capacity(rows);
    for _ in 0..rows {
        let mut line = left.next().unwrap_or_default();
        line.pad(cells + gap);
        line.append(right.next().unwrap_or_default());
        lines.push(line);
    }
    lines
}

/// A word may change its ink inside, as in `pipe`'s.
struct Word {
    spaced: bool,
    space_ink: Ink,
    pieces: Vec<(String, Ink)>,
}

impl Word {
    fn width(&self) -> usize {
        self.pieces.iter().map(|(piece, _)| width(piece)).sum()
    }
}

fn words(text: &Text, base: Ink) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut open = false;
    let mut spaced = false;
    for run in &text.runs {
        let ink = Ink::of(run, base);
        for (position, part) in visible(run.as_str()).split(' ').enumerate() {
            if position > 0 {
                (open, spaced) = (false, true);
            }
            if part.is_empty() {
                continue;
            }
            match found.last_mut() {
                Some(word) if open => word.pieces.push((part.to_string(), ink)),
                _ => found.push(Word {
                    spaced,
                    space_ink: if position > 0 { ink } else { Ink::Plain },
                    pieces: vec![(part.to_string(), ink)],
                }),
            }
            (open, spaced) = (true, false);
        }
    }
    found
}

fn push_last(lines: &mut [Line], words: &str, ink: Ink) {
    if let Some(line) = lines.last_mut() {
        line.push(words, ink);
    }
}

fn split_at_width(words: &str, cells: usize) -> (&str, &str) {
    let mut used = 0;
    for (at, letter) in words.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > cells {
            return words.split_at(at);
        }
    }
    (words, "")
}

/// As [`split_at_width`], but behind the last joint of an option or a path where one is in the second half:
/// `shm-ring:wait=`.
fn split_at_joint(words: &str, cells: usize) -> (&str, &str) {
    let (head, tail) = split_at_width(words, cells);
    match head.rfind([':', '=', '/', ',']) {
        Some(at) if !tail.is_empty() && at >= head.len() / 2 => words.split_at(at + 1),
        _ => (head, tail),
    }
}
