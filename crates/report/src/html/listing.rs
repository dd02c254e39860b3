//! A listing in a page: values for the script, which builds a table that a reader sorts and filters.

use serde_json::{Value as Json, json};

use super::escape::{escape, json_for_script};
use super::figure::number;
use crate::Unit;
use crate::document::{Listing, Value};

/// Significant digits of a number: its words have at most five.
const DIGITS: usize = 5;

/// Without the script the page says where the rows are.
pub(super) fn write(out: &mut String, listing: &Listing) {
    let caption = escape(&listing.caption);
    let many = crate::units::count(listing.rows.len() as u64);
    out.push_str(&format!(
        "<p class=\"caption\">{caption}</p>\n<p class=\"fallback\">The script of this page lists the {many} \
         results here; <code>ipcmark export --format csv</code> writes them without one.</p>\n"
    ));
    let json = json_for_script(&payload(listing).to_string());
    out.push_str(&format!("<script type=\"application/json\" class=\"rows\">{json}</script>\n"));
}

/// Columns are `[name, unit]`, the unit null where there are words; cells are described in tables.js.
fn payload(listing: &Listing) -> Json {
    let units: Vec<Option<Unit>> = (0..listing.columns.len())
        .map(|at| {
            let mut cells = listing.rows.iter().filter_map(|row| row.get(at));
            cells
                .find_map(|it| if let Value::Number { unit, .. } = it { Some(*unit) } else { None })
        })
        .collect();
    let columns: Vec<Json> =
        listing.columns.iter().zip(&units).map(|(name, unit)| json!([name, unit])).collect();
    let row = |row: &Vec<Value>| row.iter().zip(&units).map(|(it, unit)| cell(it, *unit)).collect();
    let rows: Vec<Json> = listing.rows.iter().map(row).collect();
    json!({ "caption": listing.caption, "columns": columns, "rows": rows })
}

fn cell(value: &Value, of_column: Option<Unit>) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Words(words) => json!(words),
        Value::Number { unit, value, low: None, high: None } if Some(*unit) == of_column => {
            number(Some(*value), digits(*unit))
        }
        Value::Number { unit, value, low, high } => {
            let mut cells =
                [Some(*value), *low, *high].map(|it| number(it, digits(*unit))).to_vec();
            cells.extend((Some(*unit) != of_column).then(|| json!(unit)));
            Json::Array(cells)
        }
    }
}

/// A size and a count are exact.
fn digits(unit: Unit) -> usize {
    if matches!(unit, Unit::Bytes | Unit::Count) { 15 } else { DIGITS }
}
