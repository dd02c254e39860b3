//! A table in Typst source: three rules, words left and numbers right, as wide as it needs.

use super::escape::label;
use super::{inline, words};
use crate::document::{Align, Emphasis, Row, Table};

/// Between the lines of a cell, a caption and a note, in points.
pub(super) const TIGHT_PT: f64 = 2.0;
/// What a letter takes on average, in points, at ten points.
const LETTER_PT: f64 = 5.0;
/// A column of cells longer than this takes what room is left, and breaks its lines.
const WIDE: usize = 26;
/// Rows from which a table may go on on the next page.
const LONG: usize = 16;

/// `few`: pages are, so that every table stands where it is named and goes on on the next page.
pub(super) fn write(out: &mut String, table: &Table, room_pt: f64, numbered: bool, few: bool) {
    let numbered = numbered && !table.id.is_empty();
    let breaks = few || table.rows.len() >= LONG;
    let floats = numbered && !breaks;
    if !floats {
        out.push_str("#block(above: 12pt, below: 12pt, breakable: true)[");
    }
    out.push_str("#figure(\n");
    out.push_str(&format!(
        "  kind: table, supplement: [Table], numbering: {}, placement: {},\n",
        if numbered { "\"1\"" } else { "none" },
        if floats { "auto" } else { "none" },
    ));
    if !table.caption.is_empty() {
        out.push_str(&format!("  caption: [{}.],\n", words(table.caption.trim_end_matches('.'))));
    }
    let (widths, scale) = widths(table, room_pt);
    out.push_str("  [\n");
    if scale < 1.0 {
        // Names in their own letters no higher than the rest of a line.
        out.push_str(&format!(
            "    #set text(size: {scale:.3}em)\n    #show raw: set text(size: 0.9em, \
             top-edge: 0.7em, bottom-edge: -0.2em)\n"
        ));
    }
    out.push_str(&format!(
        "    #table(\n      columns: ({}),\n      align: ({}),\n      stroke: none,\n      \
         inset: (x: 4pt, y: {}pt),\n      table.hline(stroke: 0.8pt),\n",
        widths.join(", ") + ",",
        table.columns.iter().map(|column| align(column.align)).collect::<Vec<_>>().join(", ") + ",",
        if scale < 1.0 { 1.5 } else { 2.5 },
    ));
    let heads: Vec<String> =
        table.columns.iter().map(|column| format!("[*{}*]", words(&column.heading()))).collect();
    out.push_str(&format!("      table.header({}),\n", heads.join(", ")));
    out.push_str("      table.hline(stroke: 0.4pt),\n");
    for row in &table.rows {
        out.push_str(&format!("      {},\n", cells(row, table.columns.len()).join(", ")));
    }
    out.push_str("      table.hline(stroke: 0.8pt),\n    )\n");
    if !table.notes.is_empty() {
        let notes: Vec<String> = table.notes.iter().map(inline).collect();
        out.push_str(&format!(
            "    #set par(leading: {TIGHT_PT}pt, first-line-indent: 0pt)\n    \
             #block(width: 100%, above: 4pt, align(left)[{}])\n",
            notes.join(" ")
        ));
    }
    out.push_str("  ],\n)");
    if !table.id.is_empty() {
        out.push_str(&format!(" <table-{}>", label(&table.id)));
    }
    out.push_str(if floats { "\n\n" } else { "]\n\n" });
}

fn cells(row: &Row, columns: usize) -> Vec<String> {
    let of = |at: usize| row.cells.get(at).map_or(String::new(), inline);
    let cell = |at| match row.emphasis {
        Emphasis::Heading => format!("table.cell(colspan: {columns})[#strong[{}]]", of(at)),
        Emphasis::Muted => format!("text(fill: luma(40%))[{}]", of(at)),
        Emphasis::Best | Emphasis::Tied => format!("[#strong[{}];]", of(at)),
        Emphasis::Normal | Emphasis::Worse | Emphasis::Warning => format!("[{}]", of(at)),
    };
    let cells = if row.emphasis == Emphasis::Heading { 1 } else { columns };
    (0..cells).map(cell).collect()
}

/// The smallest letters of a table, over those of the text.
const SMALLEST: f64 = 0.6;

/// Each column as wide as its longest cell; where that doesn't fit, those of long words share
/// what the others leave, by the length that three cells of four don't exceed. Where the others don't fit either,
/// cells would lie on each other: by how much the letters are smaller then.
fn widths(table: &Table, room_pt: f64) -> (Vec<String>, f64) {
    let lengths = |at: usize| -> Vec<usize> {
        let cells = table.rows.iter().filter(|row| row.emphasis != Emphasis::Heading);
        let cells = cells.filter_map(|cell| cell.cells.get(at));
        let cells = cells.map(|cell| cell.to_plain().chars().count());
        let heading = table.columns[at].heading().chars().count();
        let mut lengths: Vec<usize> = cells.chain([heading]).collect();
        lengths.sort_unstable();
        lengths
    };
    let all: Vec<Vec<usize>> = (0..table.columns.len()).map(lengths).collect();
    let longest = |cells: &Vec<usize>| cells[cells.len() - 1];
    let together: usize = all.iter().map(longest).sum();
    let fits = together as f64 * LETTER_PT + 8.0 * all.len() as f64 <= room_pt;
    let width = |cells: &Vec<usize>| {
        if fits || longest(cells) <= WIDE {
            "auto".to_string()
        } else {
            format!("{}fr", cells[cells.len() * 3 / 4].clamp(WIDE, 4 * WIDE))
        }
    };
    let least = |cells: &Vec<usize>| longest(cells).min(WIDE) as f64 * LETTER_PT;
    let needed: f64 = all.iter().map(least).sum();
    let scale = ((room_pt - 8.0 * all.len() as f64) / needed).clamp(SMALLEST, 1.0);
    (all.iter().map(width).collect(), scale)
}

fn align(align: Align) -> &'static str {
    match align {
        Align::Left => "left",
        Align::Right => "right",
    }
}
