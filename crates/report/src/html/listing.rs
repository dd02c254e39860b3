//! A listing in a page: a table like any other, with the value of each number beside its words, by which the
//! script sorts; the words are what it filters by.

use super::escape::escape;
use super::figure::number;
use crate::Unit;
use crate::document::{Listing, Value};

/// Significant digits of a number: its words have at most five.
const DIGITS: usize = 5;

/// Cells of numbers have `data-v`, with their value where their words have a prefix (`µs`, `KiB`), and the unit as
/// `data-u` where it isn't their column's.
pub(super) fn write(out: &mut String, listing: &Listing) {
    let caption = escape(&listing.caption);
    out.push_str(&format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{caption}\"><table>\n\
         <caption><span>{caption}</span></caption>\n<thead><tr>"
    ));
    let units: Vec<Option<Unit>> =
        (0..listing.columns.len()).map(|at| unit_of(listing, at)).collect();
    for (name, unit) in listing.columns.iter().zip(&units) {
        let class = if unit.is_some() { " class=\"right\"" } else { "" };
        out.push_str(&format!("<th scope=\"col\"{class}>{}</th>", escape(name)));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for row in &listing.rows {
        out.push_str("<tr>");
        for (at, (value, unit)) in row.iter().zip(&units).enumerate() {
            cell(out, at, value, *unit);
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// The unit of a column of numbers; None where there are words.
fn unit_of(listing: &Listing, at: usize) -> Option<Unit> {
    listing.rows.iter().find_map(|row| match row.get(at) {
        Some(Value::Number { unit, .. }) => Some(*unit),
        _ => None,
    })
}

fn cell(out: &mut String, at: usize, value: &Value, of_column: Option<Unit>) {
    let words = escape(&value.in_words());
    if at == 0 {
        out.push_str(&format!("<th scope=\"row\">{words}</th>"));
        return;
    }
    let attributes = match (value, of_column) {
        (Value::Number { unit, value, .. }, Some(column)) => {
            let scaled = matches!(column, Unit::Nanoseconds | Unit::Bytes)
                || matches!(column, Unit::BytesPerSecond | Unit::PerSecond | Unit::Joules);
            let key = match number(Some(*value), digits(*unit)) {
                key if scaled => format!(" data-v={key}"),
                _ => " data-v".into(),
            };
            if column == *unit { key } else { format!("{key} data-u={unit:?}") }
        }
        (_, Some(_)) => " data-v".into(),
        (_, None) => String::new(),
    };
    out.push_str(&format!("<td{attributes}>{words}</td>"));
}

/// A size and a count are exact.
fn digits(unit: Unit) -> usize {
    if matches!(unit, Unit::Bytes | Unit::Count) { 15 } else { DIGITS }
}
