//! A table for a terminal: aligned columns, a rule under the heading, nothing else.
//!
//! Where the natural widths don't fit, the columns of the highest priority number go first,
//! and a line under the table names them. Columns of priority 0 never go; if even they are
//! too wide, the widest is narrowed and its cells are wrapped: at words, and only where gaps of one
//! cell don't help either, within words.

use super::wrap::{Ink, Line, visible, width, wrap_text};
use crate::document::{ASIDE, Align, Emphasis, Row, Table, Text};

const GAP: usize = 2;
/// No column is narrowed below this many cells.
const NARROWEST: usize = 6;
/// A cell of so many stays whole, as a number with its unit; of a wider one its longest word does, up to so many.
const WHOLE: usize = 8;
const WORD: usize = 12;

pub(super) fn render(table: &Table, room: usize) -> Vec<Line> {
    let marked = table.rows.iter().any(|row| sign(row.emphasis).is_some());
    let lead = if marked { GAP } else { 0 };
    let (shown, dropped) = choose_columns(table, room - lead);
    let (widths, gap) = fit(table, &shown, room - lead);

    let mut lines = wrap_text(&Text::new().strong(&table.caption), room, Ink::Plain);
    if table.caption.is_empty() {
        lines.clear();
    }
    let headings: Vec<Text> =
        shown.iter().map(|&at| Text::from(table.columns[at].heading())).collect();
    let places = Places { shown: &shown, widths: &widths, gap };
    let heading = layout(table, &headings, &places, Ink::Strong);
    lines.extend(heading.into_iter().map(|line| led(None, lead, line)));
    let across = lead + total(&widths, gap);
    let mut rule = Line::default();
    rule.push(&"─".repeat(across.min(room)), Ink::Muted);
    lines.push(rule);
    for row in &table.rows {
        lines.extend(render_row(table, row, &places, (lead, room)));
    }
    lines.extend(remarks(table, &dropped, room));
    lines
}

fn render_row(
    table: &Table,
    row: &Row,
    places: &Places,
    (lead, room): (usize, usize),
) -> Vec<Line> {
    let ink = match row.emphasis {
        Emphasis::Heading => return wrap_text(&row.cells[0], room, Ink::Strong),
        Emphasis::Best | Emphasis::Tied => Ink::Strong,
        Emphasis::Muted => Ink::Muted,
        Emphasis::Normal | Emphasis::Worse | Emphasis::Warning => Ink::Plain,
    };
    let cells: Vec<Text> =
        places.shown.iter().map(|&at| row.cells.get(at).cloned().unwrap_or_default()).collect();
    let mut sign = sign(row.emphasis);
    layout(table, &cells, places, ink)
        .into_iter()
        .map(|line| led(sign.take(), lead, line))
        .collect()
}

/// The sign in front of a row; colour only repeats it.
fn sign(emphasis: Emphasis) -> Option<(&'static str, Ink)> {
    let ink = match emphasis {
        Emphasis::Best | Emphasis::Tied => Ink::Good,
        Emphasis::Worse => Ink::Bad,
        _ => Ink::Warning,
    };
    emphasis.sign().map(|sign| (sign, ink))
}

fn led(sign: Option<(&str, Ink)>, lead: usize, line: Line) -> Line {
    let mut full = Line::default();
    if let Some((sign, ink)) = sign {
        full.push(sign, ink);
    }
    full.pad(lead);
    full.append(line);
    full
}

/// The columns that fit, and those that had to go, both by index.
fn choose_columns(table: &Table, room: usize) -> (Vec<usize>, Vec<usize>) {
    let mut shown: Vec<usize> = (0..table.columns.len()).collect();
    let mut dropped = Vec::new();
    while total(&natural_widths(table, &shown), GAP) > room {
        let least = shown
            .iter()
            .copied()
            .filter(|&at| table.columns[at].priority > 0)
            .max_by_key(|&at| (table.columns[at].priority, at));
        let Some(least) = least else { break };
        shown.retain(|&at| at != least);
        dropped.push(least);
    }
    dropped.sort_unstable();
    (shown, dropped)
}

/// The columns of a table that are shown, their widths, and the gap between them.
struct Places<'a> {
    shown: &'a [usize],
    widths: &'a [usize],
    gap: usize,
}

/// Of each shown column the largest of what `of` makes of its cells and heading.
fn widest(table: &Table, shown: &[usize], of: impl Fn(&str) -> usize) -> Vec<usize> {
    let cell =
        |row: &Row, at: usize| row.cells.get(at).map_or(0, |text| of(&visible(&text.to_plain())));
    let cells = || table.rows.iter().filter(|row| row.emphasis != Emphasis::Heading);
    let column = |&at: &usize| {
        let heading = of(&visible(&table.columns[at].heading()));
        cells().map(|row| cell(row, at)).fold(heading, usize::max)
    };
    shown.iter().map(column).collect()
}

fn natural_widths(table: &Table, shown: &[usize]) -> Vec<usize> {
    widest(table, shown, width)
}

/// Widths below which a column breaks words.
fn word_widths(table: &Table, shown: &[usize]) -> Vec<usize> {
    widest(table, shown, |text| match width(text) {
        all if all <= WHOLE => all,
        _ => text.split(' ').map(width).max().unwrap_or(0).min(WORD),
    })
}

fn total(widths: &[usize], gap: usize) -> usize {
    widths.iter().sum::<usize>() + gap * widths.len().saturating_sub(1)
}

/// Narrows the widest columns until the table fits; the widths, and the gap between them.
fn fit(table: &Table, shown: &[usize], room: usize) -> (Vec<usize>, usize) {
    let mut widths = natural_widths(table, shown);
    let words = word_widths(table, shown);
    let gap = if total(&words, GAP) <= room { GAP } else { 1 };
    narrow(&mut widths, &words, |widths| total(widths, gap) > room);
    for floor in [NARROWEST, 1] {
        let floors = vec![floor; widths.len()];
        narrow(&mut widths, &floors, |widths| total(widths, gap) > room);
    }
    (widths, gap)
}

/// Takes from the widest columns, as far as `floors` let it, as long as they are `too_wide`.
fn narrow(widths: &mut [usize], floors: &[usize], too_wide: impl Fn(&[usize]) -> bool) {
    while too_wide(widths) {
        let above = widths.iter_mut().zip(floors).rev().filter(|(width, floor)| **width > **floor);
        match above.max_by_key(|(width, _)| **width) {
            Some((widest, _)) => *widest -= 1,
            None => break,
        }
    }
}

/// One row of cells, wrapped where narrowed, as lines.
fn layout(table: &Table, cells: &[Text], places: &Places, ink: Ink) -> Vec<Line> {
    let Places { shown, widths, gap } = *places;
    let wrapped: Vec<Vec<Line>> =
        cells.iter().zip(widths).map(|(cell, &cells)| wrap_text(cell, cells, ink)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let mut lines = vec![Line::default(); height];
    let mut start = 0;
    for ((column, &at), &cells) in wrapped.into_iter().zip(shown).zip(widths) {
        for (line, cell) in lines.iter_mut().zip(column) {
            let free = cells.saturating_sub(cell.width());
            let before = match table.columns[at].align {
                Align::Left => 0,
                Align::Right => free,
            };
            line.pad(start + before);
            line.append(cell);
        }
        start += cells + gap;
    }
    lines
}

fn remarks(table: &Table, dropped: &[usize], room: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    for note in &table.notes {
        let mut wrapped = wrap_text(note, room, Ink::Plain);
        wrapped.iter_mut().for_each(|line| line.tint(Ink::Muted));
        lines.append(&mut wrapped);
    }
    if !dropped.is_empty() {
        let columns = dropped.iter().map(|&at| &table.columns[at]);
        let missed = columns.filter(|column| column.priority < ASIDE);
        let names: Vec<&str> = missed.map(|column| column.name.as_str()).collect();
        if names.is_empty() {
            return lines;
        }
        let text = format!("Not shown at this width: {}.", names.join(", "));
        lines.append(&mut wrap_text(&Text::new().muted(text), room, Ink::Plain));
    }
    lines
}
