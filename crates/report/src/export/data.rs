//! Launches and samples as tables, a row each, for programs that compute: CSV (RFC 4180), or the `.npy` that
//! numpy loads. Rows are written as they are read: a run may have more samples than memory.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::csv::{early, quoted};
use super::{launches, stored};
use analysis::{CaseResult, Judged};
use model::factor::Level;
use store::{Store, StoreError, StoredCase, StoredLaunch};

/// What the length of numpy's heading is a multiple of.
const ALIGNED: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    Launches,
    /// Every sample of each that ended well.
    Samples,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// Commas, CRLF, a header.
    Csv,
    /// A one-dimensional structured array.
    Npy,
}

/// Why a table couldn't be written.
#[derive(Debug)]
pub enum DataError {
    /// Launches or samples can't be read.
    Store(StoreError),
    /// The table can't be written.
    Write(io::Error),
}

impl From<StoreError> for DataError {
    fn from(error: StoreError) -> DataError {
        DataError::Store(error)
    }
}

impl From<io::Error> for DataError {
    fn from(error: io::Error) -> DataError {
        DataError::Write(error)
    }
}

/// A cell, which has the type of its column.
#[derive(Clone, Copy, Debug)]
enum Cell<'a> {
    /// A count or a number of something; None is an empty cell of CSV, -1 of an array.
    Count(Option<u64>),
    /// A time in ns; None is an empty cell of CSV, NaN of an array.
    Time(Option<f64>),
    /// A word, whose column takes this many characters.
    Word(&'a str, usize),
}

type Named<'a> = (&'static str, Cell<'a>);
type Row<'a> = Vec<Named<'a>>;

/// Writes a row for each launch, or for each sample.
///
/// # Errors
/// See [`DataError`].
pub fn write(
    rows: Rows,
    container: Container,
    judged: &Judged,
    store: &Store,
    out: &mut impl Write,
) -> Result<(), DataError> {
    let cases = Cases::of(judged);
    let found = launches(judged, store)?;
    let kept: Vec<&(usize, StoredLaunch)> = match rows {
        Rows::Launches => {
            // The first of each case that ended well has all that a launch of it may have.
            let mut seen = BTreeSet::new();
            let tells =
                |(nth, launch): &(usize, StoredLaunch)| launch.status == "ok" && seen.insert(*nth);
            let telling = found
                .iter()
                .map(tells)
                .enumerate()
                .filter(|pair| pair.1)
                .map(|pair| pair.0)
                .collect();
            early(found.iter().collect(), &telling)
        }
        Rows::Samples => found.iter().filter(|(_, launch)| launch.status == "ok").collect(),
    };
    let (heading, count) = match rows {
        Rows::Launches => ([cases.columns(None), of_launch(None)].concat(), kept.len() as u64),
        Rows::Samples => {
            let samples = kept.iter().map(|(_, launch)| launch.record.reported_samples()).sum();
            (of_sample(0, None, [0, 0], 0.0).to_vec(), samples)
        }
    };
    match container {
        Container::Csv => header(&heading, out)?,
        Container::Npy => numpy_header(&heading, count, out)?,
    }
    let mut put = |row: &[Named]| match container {
        Container::Csv => line(row, out),
        Container::Npy => numpy_row(row, out),
    };
    for (nth, launch) in kept {
        let (case, result) = cases.all[*nth];
        if rows == Rows::Launches {
            let launch_row = of_launch(Some((result, launch)));
            put(&[cases.columns(Some((*nth, launch))), launch_row].concat())?;
            continue;
        }
        let ns_per_tick = judged.run.clock_of(case, launch.swapped).ns_per_tick;
        let scale = ns_per_tick / launch.record.initiator.batch.max(1) as f64;
        for (at, ticks) in store.samples(launch.id)?.into_iter().enumerate() {
            let at = [*nth as u64, at as u64];
            put(&of_sample(launch.id, Some(launch.round), at, ticks as f64 * scale))?;
        }
    }
    Ok(out.flush()?)
}

/// What a launch reported, beside its case.
fn of_launch(launch_row: Option<(&CaseResult, &StoredLaunch)>) -> Row<'static> {
    let median = launch_row.and_then(|(case, launch)| {
        case.by_round.get((launch.round as usize).checked_sub(1)?).copied().flatten()
    });
    let initiator = launch_row.map(|(_, launch)| &launch.record.initiator);
    vec![
        ("swapped", Cell::Count(launch_row.map(|(_, launch)| launch.swapped.into()))),
        ("ok", Cell::Count(launch_row.map(|(_, launch)| (launch.status == "ok").into()))),
        ("samples", Cell::Count(launch_row.map(|(_, launch)| launch.record.reported_samples()))),
        ("batch", Cell::Count(initiator.map(|initiator| initiator.batch))),
        ("setup_ns", Cell::Count(launch_row.map(|(_, launch)| launch.record.setup_ns))),
        ("first_ns", Cell::Time(initiator.and_then(|initiator| initiator.first_ns))),
        ("median_ns", Cell::Time(median)),
    ]
}

/// A sample says which launch it is of; what that was stands in the row of the launch, once.
fn of_sample(
    launch: i64,
    round: Option<u64>,
    [case, nth]: [u64; 2],
    ns: f64,
) -> [Named<'static>; 5] {
    [
        ("launch", Cell::Count(Some(launch as u64))),
        ("case", Cell::Count(Some(case))),
        ("round", Cell::Count(round)),
        ("sample", Cell::Count(Some(nth))),
        ("ns", Cell::Time(Some(ns))),
    ]
}

/// The cases of a run: of each what tells it from the others.
struct Cases<'a> {
    all: Vec<(&'a StoredCase, &'a CaseResult)>,
    identities: Vec<Vec<(&'static str, Level)>>,
    /// The columns that some case has a level for, each with the letters of its longest word, or None of numbers.
    columns: Vec<(&'static str, Option<usize>)>,
}

impl<'a> Cases<'a> {
    fn of(judged: &'a Judged) -> Cases<'a> {
        let all: Vec<_> = stored(judged).collect();
        let identities: Vec<_> = all.iter().map(|(_, case)| case.identity().columns()).collect();
        let mut columns: Vec<(&'static str, Option<usize>)> = Vec::new();
        let keys = identities.first().into_iter().flatten().map(|pair| pair.0).enumerate();
        for (at, key) in keys {
            let levels = || identities.iter().map(|identity| &identity[at].1);
            let words = levels().filter_map(|level| match level {
                Level::Word(word) => Some(word.chars().count().max(1)),
                _ => None,
            });
            // A flag that no case has is no column, either.
            let any = levels().any(|level| !matches!(level, Level::Absent | Level::Flag(false)));
            columns.extend(any.then(|| (key, words.max())));
        }
        Cases { all, identities, columns }
    }

    /// The columns of a case and of a launch of it; those that no case of the run has are left out.
    fn columns<'b>(&'b self, of: Option<(usize, &StoredLaunch)>) -> Row<'b> {
        let mut row = vec![
            ("launch", Cell::Count(of.map(|(_, launch)| launch.id as u64))),
            ("case", Cell::Count(of.map(|(nth, _)| nth as u64))),
            ("round", Cell::Count(of.map(|(_, launch)| launch.round))),
        ];
        for (key, width) in &self.columns {
            let level =
                of.and_then(|(nth, _)| self.identities[nth].iter().find(|pair| pair.0 == *key));
            row.push((
                key,
                match (width, level.map(|level| &level.1)) {
                    (Some(width), Some(Level::Word(word))) => Cell::Word(word, *width),
                    (Some(width), _) => Cell::Word("", *width),
                    (None, Some(Level::Count(number))) => Cell::Count(Some(*number)),
                    (None, Some(Level::Flag(is_so))) => Cell::Count(Some((*is_so).into())),
                    (None, _) => Cell::Count(None),
                },
            ));
        }
        row
    }
}

fn header(row: &[Named], out: &mut impl Write) -> io::Result<()> {
    let names: Vec<&str> = row.iter().map(|(name, _)| *name).collect();
    write!(out, "{}\r\n", names.join(","))
}

fn line(row: &[Named], out: &mut impl Write) -> io::Result<()> {
    for (nth, (_, cell)) in row.iter().enumerate() {
        if nth > 0 {
            out.write_all(b",")?;
        }
        match cell {
            Cell::Count(Some(number)) => write!(out, "{number}")?,
            // A thousandth of a nanosecond is below the step of any clock.
            Cell::Time(Some(ns)) => write!(out, "{ns:.3}")?,
            Cell::Word(text, _) => out.write_all(quoted(text).as_bytes())?,
            Cell::Count(None) | Cell::Time(None) => {}
        }
    }
    out.write_all(b"\r\n")
}

/// The heading of an array of `count` rows like `row`: a magic word, the type of a row as Python writes it, and how many
/// there are (numpy.lib.format, version 1.0).
fn numpy_header(row: &[Named], count: u64, out: &mut impl Write) -> io::Result<()> {
    let field = |(name, cell): &Named| match cell {
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

/// One row of numpy's, little-endian: integers and floats have eight bytes, words four a character; -1 and NaN for what is
/// absent, zeros after a word that is shorter than others.
fn numpy_row(row: &[Named], out: &mut impl Write) -> io::Result<()> {
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
