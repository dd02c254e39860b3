//! Lines of inked text, and the wrapping of runs into them.
//!
//! Width is counted in terminal cells, not in characters: a name in CJK letters takes two
//! cells each. A word that is too wide for a line is cut, so that the promised width holds
//! for any input; what a terminal would obey instead of showing is replaced by a sign.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use std::cell::Cell;

use crate::document::{Run, Text};
use crate::figure::VerdictKind;
use model::hint;
use model::plain_signs::ascii;

thread_local! {
    static ASCII: Cell<bool> = const { Cell::new(false) };
}

/// While it lives, all that this thread makes visible keeps to ASCII, or doesn't.
pub(super) struct KeepTo {
    before: bool,
}

impl KeepTo {
    pub(super) fn ascii(ascii: bool) -> KeepTo {
        KeepTo { before: ASCII.replace(ascii) }
    }
}

impl Drop for KeepTo {
    fn drop(&mut self) {
        ASCII.set(self.before);
    }
}

/// The text as it may be shown: nothing in it is obeyed, and it keeps to the signs that are asked for. Widths are
/// counted of this.
pub(super) fn visible(text: &str) -> String {
    let text = model::visible::visible(&hint::typed(text));
    if ASCII.get() { ascii(&text) } else { text }
}

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
    let sign = visible("…");
    let (head, _) = split_at_width(&words, cells.saturating_sub(width(&sign)));
    format!("{head}{sign}")
}

/// Wraps a text at spaces into lines of at most `cells`; always at least one line.
pub(super) fn wrap_text(text: &Text, cells: usize, base: Ink) -> Vec<Line> {
    let cells = cells.max(1);
    let mut lines = vec![Line::default()];
    let mut used = 0;
    for word in words(text, base, cells) {
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

/// Stands for a space at which no line is broken.
const UNBROKEN: char = '\u{e000}';

/// A command between ticks is one word where it fits a line, so that it can be copied.
fn joined(words: &str, cells: usize) -> String {
    let mut found = String::with_capacity(words.len());
    for (nth, part) in words.split('`').enumerate() {
        if nth > 0 {
            found.push('`');
        }
        let is_command = nth % 2 == 1 && part.starts_with("ipcmark ") && width(part) + 3 < cells;
        if is_command {
            found.push_str(&part.replace(' ', &UNBROKEN.to_string()));
        } else {
            found.push_str(part);
        }
    }
    found
}

/// What is shown of a run; a command is one whether ticks are around it, or the run is code.
fn shown(run: &Run, cells: usize) -> String {
    match run {
        Run::Code(code) if code.starts_with("ipcmark ") => {
            let quoted = joined(&visible(&format!("`{code}`")), cells);
            quoted[1..quoted.len() - 1].to_string()
        }
        _ => joined(&visible(run.as_str()), cells),
    }
}

fn words(text: &Text, base: Ink, cells: usize) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut open = false;
    let mut spaced = false;
    for run in &text.runs {
        let ink = Ink::of(run, base);
        for (position, part) in shown(run, cells).split(' ').enumerate() {
            if position > 0 {
                (open, spaced) = (false, true);
            }
            if part.is_empty() {
                continue;
            }
            let part = part.replace(UNBROKEN, " ");
            match found.last_mut() {
                Some(word) if open => word.pieces.push((part, ink)),
                _ => found.push(Word {
                    spaced,
                    space_ink: if position > 0 { ink } else { Ink::Plain },
                    pieces: vec![(part, ink)],
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

/// As [`split_at_width`], but behind the last joint of an option, a path or a name where one is behind the first
/// third: `shm-ring:wait=`, `silently-`. A hyphen may be a part of a number: `1e-3`.
fn split_at_joint(words: &str, cells: usize) -> (&str, &str) {
    let (head, tail) = split_at_width(words, cells);
    let is_joint = |(at, letter): &(usize, char)| match letter {
        ':' | '=' | '/' | ',' => true,
        '-' => head[..*at].chars().rev().take(2).all(char::is_alphabetic),
        _ => false,
    };
    match head.char_indices().rfind(is_joint) {
        Some((at, _)) if !tail.is_empty() && at >= head.len() / 3 => words.split_at(at + 1),
        _ => (head, tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_is_cut_is_cut_at_its_joints() {
        let cut = |words: &str, cells| -> Vec<String> {
            let lines = wrap_text(&Text::from(words), cells, Ink::Plain);
            lines.iter().map(|line| line.pieces[0].0.clone()).collect()
        };
        assert_eq!(cut("silently-wrong", 11), ["silently-", "wrong"]);
        assert_eq!(cut("shm-ring:wait=futex", 12), ["shm-ring:", "wait=futex"]);
        assert_eq!(cut("flips=1e-3,losses", 9), ["flips=", "1e-3,", "losses"]);
        assert_eq!(cut("abcdefghij", 6), ["abcdef", "ghij"]);
    }
}
