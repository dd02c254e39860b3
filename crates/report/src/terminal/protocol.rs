//! A message sequence for a terminal: two columns of parties, an arrow a row, what is timed barred
//! at the left.

use super::wrap::{Ink, Line, shorten, width, wrap_text};
use crate::document::Text;
use crate::figure::{Figure, Protocol, Step};

/// Wider arrows say no more.
const WIDEST: usize = 64;
const TIMED: &str = "┃";

pub(super) fn render(figure: &Figure, protocol: &Protocol, room: usize) -> Vec<Line> {
    let mut lines = wrap_text(&Text::new().strong(&figure.title), room, Ink::Plain);
    lines.append(&mut wrap_text(&Text::new().muted(&figure.caption), room, Ink::Plain));
    if let [left, right] = protocol.parties.as_slice() {
        // The life lines stand below the middles of the names, or as far out as there is room.
        let wide = room.min(WIDEST);
        let (from, to) = (4, wide - 2 - width(right).min(wide / 3) / 2);
        let mut head = Line::blank(2);
        head.push(&shorten(left, wide / 3), Ink::Strong);
        let right = shorten(right, wide / 3);
        head.pad((to + 1).saturating_sub(width(&right) / 2).max(head.width() + 2));
        head.push(&right, Ink::Strong);
        lines.push(head);
        for (nth, step) in protocol.steps.iter().enumerate() {
            let timed = if protocol.is_timed(nth) { TIMED } else { " " };
            lines.push(row(step, timed, from, to));
        }
    } else {
        for step in &protocol.steps {
            let words = Text::from(protocol.words(step));
            lines.append(&mut wrap_text(&words, room, Ink::Plain));
        }
    }
    if protocol.timed.is_some() {
        let words = Text::new().muted(format!("{TIMED} timed: {}", protocol.timed_label));
        lines.append(&mut wrap_text(&words, room, Ink::Plain));
    }
    lines
}

fn row(step: &Step, timed: &str, from: usize, to: usize) -> Line {
    let mut line = Line::default();
    line.push(timed, Ink::Warning);
    line.pad(from);
    let inner = to - from - 1;
    match step {
        Step::Message { from, to, label } => {
            let words = format!(" {} ", shorten(label, inner - 6));
            let rest = inner - 1 - width(&words);
            let (before, after) = (rest / 2, rest - rest / 2);
            let (start, end) = if to < from { ("◀", "┤") } else { ("├", "▶") };
            let arrow = |dashes: usize| "─".repeat(dashes);
            line.push(
                &format!("{}{start}{}", if to < from { "│" } else { "" }, arrow(before)),
                Ink::Series(0),
            );
            line.push(&words, Ink::Plain);
            let tail = if to < from { "" } else { "│" };
            line.push(&format!("{}{end}{tail}", arrow(after)), Ink::Series(0));
        }
        Step::Act { by: 0, label } => {
            line.push("● ", Ink::Series(0));
            line.push(&shorten(label, inner - 3), Ink::Plain);
            line.pad(to);
            line.push("│", Ink::Muted);
        }
        Step::Act { label, .. } => {
            let words = shorten(label, inner - 3);
            line.push("│", Ink::Muted);
            line.pad(to - 1 - width(&words));
            line.push(&words, Ink::Plain);
            line.push(" ●", Ink::Series(0));
        }
        Step::More { label } => {
            let words = shorten(&format!("⋯ {label}"), inner - 2);
            line.push("│", Ink::Muted);
            line.pad(from + 1 + (inner - width(&words)) / 2);
            line.push(&words, Ink::Muted);
            line.pad(to);
            line.push("│", Ink::Muted);
        }
    }
    line
}
