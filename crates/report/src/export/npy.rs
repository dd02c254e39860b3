//! numpy's own file of an array, version 1.0: a magic word, the type of a row as Python writes it, the rows
//! (numpy.lib.format). Integers and floats have eight bytes, words four a character; all little-endian.

use std::io::{self, Write};

use super::data::Cell;

/// What the heading's length is a multiple of.
const ALIGNED: usize = 64;

/// The heading of an array of `count` rows like `row`.
pub fn header(row: &[(&str, Cell)], count: u64, out: &mut impl Write) -> io::Result<()> {
    let field = |(name, cell): &(&str, Cell)| match cell {
        Cell::Count(_) => format!("('{name}', '<i8')"),
        Cell::Time(_) => format!("('{name}', '<f8')"),
        Cell::Word(_, width) => format!("('{name}', '<U{width}')"),
    };
    let fields: Vec<String> = row.iter().map(field).collect();
    let mut text = format!(
        "{{'descr': [{}], 'fortran_order': False, 'shape': ({count},), }}",
        fields.join(", ")
    );
    let before = b"\x93NUMPY\x01\x00".len() + size_of::<u16>();
    let padded = (before + text.len() + 1).next_multiple_of(ALIGNED) - before;
    text.push_str(&" ".repeat(padded - 1 - text.len()));
    text.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(padded as u16).to_le_bytes())?;
    out.write_all(text.as_bytes())
}

/// One row: -1 and NaN for what is absent, zeros after a word that is shorter than others.
pub fn row(row: &[(&str, Cell)], out: &mut impl Write) -> io::Result<()> {
    for (_, cell) in row {
        match cell {
            Cell::Count(number) => {
                out.write_all(&number.map_or(-1, |number| number as i64).to_le_bytes())?;
            }
            Cell::Time(ns) => out.write_all(&ns.unwrap_or(f64::NAN).to_le_bytes())?,
            Cell::Word(text, width) => {
                let letters = text.chars().map(u32::from).chain(std::iter::repeat(0));
                for letter in letters.take(*width) {
                    out.write_all(&letter.to_le_bytes())?;
                }
            }
        }
    }
    Ok(())
}
