//! A table of many rows whose cells are values: a page sorts and filters it, and everything else
//! writes it as any other table.

use serde::{Deserialize, Serialize};

use super::{Column, Row, Table, Text};
use crate::figure::{write_finite, write_present};
use crate::units::Unit;

/// Rows of values under named columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    pub caption: String,
    /// The heads of the columns; the first names the row.
    pub columns: Vec<String>,
    /// Columns that a narrow terminal leaves out first, by their index.
    #[serde(default)]
    pub aside: Vec<usize>,
    /// One value per column in each.
    pub rows: Vec<Vec<Value>>,
    /// What the columns mean.
    pub notes: Vec<Text>,
}

/// What a cell of a [`Listing`] holds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    #[default]
    None,
    /// A name, or words where there is no number.
    Words(String),
    /// A number in base units, with the interval it has.
    Number {
        unit: Unit,
        /// The number; NaN is absent.
        #[serde(
            serialize_with = "write_finite",
            deserialize_with = "crate::figure::read_nullable"
        )]
        value: f64,
        /// The lower end of its interval.
        #[serde(serialize_with = "write_present")]
        low: Option<f64>,
        /// The upper end.
        #[serde(serialize_with = "write_present")]
        high: Option<f64>,
    },
}

impl Value {
    /// A number without an interval; None where there is no number.
    pub fn number(unit: Unit, value: Option<f64>) -> Value {
        value.map_or(Value::None, |value| Value::Number { unit, value, low: None, high: None })
    }

    /// Its words; a dash where it holds nothing.
    pub fn in_words(&self) -> String {
        match self {
            Value::None => "–".into(),
            Value::Words(words) => words.clone(),
            Value::Number { unit, value, low: Some(low), high: Some(high) } => {
                unit.interval(*value, *low, *high)
            }
            Value::Number { unit, value, .. } => unit.format(*value),
        }
    }
}

impl Listing {
    /// The same as a table of words.
    pub fn table(&self) -> Table {
        let is_words = |at: usize| {
            self.rows.iter().all(|row| matches!(row.get(at), None | Some(Value::Words(_))))
        };
        let column = |(at, name): (usize, &String)| {
            let aside = if self.aside.contains(&at) { self.columns.len() } else { 0 };
            let priority = (at + aside) as u8;
            if is_words(at) { Column::text(name, priority) } else { Column::number(name, priority) }
        };
        let row = |row: &Vec<Value>| {
            let named = row.first().map(|row| Text::new().code(row.in_words()));
            let others = row.iter().skip(1).map(|value| Text::from(value.in_words()));
            Row::new(named.into_iter().chain(others))
        };
        Table {
            caption: self.caption.clone(),
            columns: self.columns.iter().enumerate().map(column).collect(),
            rows: self.rows.iter().map(row).collect(),
            notes: self.notes.clone(),
            ..Table::default()
        }
    }
}
