//! `ipcmark export RUN`: a stored run for other programs.

use std::io::BufWriter;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;

use super::awaited::Awaited;
use super::output::{self, Folder, Output, Unwritten};
use super::{Common, Failure, print, report, shown};
use ::report::export::{self, Container, DataError, Format, Rows};
use analysis::Judged;
use store::Store;

/// Flags of `export`.
#[derive(Args)]
pub struct ExportArgs {
    /// The run: its number, label, `last`, or `last~1` for the one before it
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    /// json, ndjson, csv, samples, markdown, openmetrics and others; docs/FORMAT.md describes each
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = shown::exported())]
    format: Format,
    /// Write to this file instead of standard output; hgrm and cpu-matrix: a folder, as in spectra/, with a
    /// file for each; launches and samples: a name ending in .npy is for numpy
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Exports a run.
pub fn export(common: &Common, args: &ExportArgs) -> Result<u8, Failure> {
    let store = Store::open_existing(&common.store_path()?)?;
    let id = store.find_run(&args.run).map_err(|error| Failure::usage(error.to_string()))?;
    let judged = Judged::of(&store, id)?;
    // The others say of every case why it isn't there.
    let of_launches = matches!(args.format, Format::Data(_) | Format::Hgrm | Format::Tool(_));
    if of_launches && !report::has_results(&judged) {
        return Err(Failure::usage(format!(
            "run {id} has no results to export so: `ipcmark report {id}` says why"
        )));
    }
    Awaited::beside_store(common)
        .output(shown::Shown::Exported(args.format), args.output.as_deref())?;
    write(args.format, args.output.as_deref(), &judged, &store)?;
    Ok(0)
}

/// Files beside what a run shows.
#[derive(Args, Clone, Debug, Default)]
pub struct ExportFiles {
    /// Also write the results to this file, as `export` would
    #[arg(long = "export-json", value_name = "FILE")]
    json: Option<PathBuf>,
    /// The same as a table, a row per case and metric
    #[arg(long = "export-csv", value_name = "FILE")]
    csv: Option<PathBuf>,
    /// The same as tables for a README
    #[arg(long = "export-markdown", value_name = "FILE")]
    markdown: Option<PathBuf>,
}

impl ExportFiles {
    /// The flags, and what they name.
    pub fn named(&self) -> [(&'static str, Option<&Path>); 3] {
        [
            ("--export-json", self.json.as_deref()),
            ("--export-csv", self.csv.as_deref()),
            ("--export-markdown", self.markdown.as_deref()),
        ]
    }

    /// Writes each that was asked for: one that can't be written is no reason to keep the rest back.
    ///
    /// # Errors
    /// The first that couldn't be.
    pub fn write(&self, judged: &Judged, store: &Store) -> Result<(), Failure> {
        let asked = [
            (Format::Json, &self.json),
            (Format::Csv, &self.csv),
            (Format::Markdown, &self.markdown),
        ];
        let each = asked.into_iter().map(|(format, path)| match path {
            Some(path) => write(format, Some(path), judged, store),
            None => Ok(()),
        });
        each.fold(Ok(()), Result::and)
    }
}

/// Writes a run in a format, to a file or to standard output.
pub fn write(
    format: Format,
    path: Option<&Path>,
    judged: &Judged,
    store: &Store,
) -> Result<(), Failure> {
    if format == Format::CpuMatrix && export::matrices(judged).is_empty() {
        let line = format!("run {} has no pairs of CPUs: `ipcmark run -p all`", judged.run.id);
        return Err(Failure::usage(line));
    }
    if format == Format::ClaimsCsv && judged.study.is_none() {
        let id = judged.run.id;
        let line = format!(
            "run {id} is of no study, and has no claims: `ipcmark study run 001` makes one"
        );
        return Err(Failure::usage(line));
    }
    let again =
        output::again(&format!("export {} --format {} -o FILE", judged.run.id, format.name()));
    match (format, path) {
        (Format::Hgrm | Format::CpuMatrix, Some(folder)) if is_folder(folder) => {
            let folder = Folder::make(folder).map_err(|why| why.but(&again))?;
            let (files, ending) = match format {
                Format::Hgrm => (export::spectra(judged, store)?, "hgrm"),
                _ => (export::matrices(judged), "csv"),
            };
            files.iter().try_for_each(|(name, text)| {
                folder.write(&format!("{name}.{ending}"), text, &again)
            })
        }
        (Format::Data(rows), Some(path)) => write_data(rows, path, judged, store, &again),
        (Format::Data(rows), None) => {
            let mut out = BufWriter::new(output::standard()?.lock());
            export::write_data(rows, Container::Csv, judged, store, &mut out).map_err(|error| {
                match error {
                    DataError::Store(error) => error.into(),
                    DataError::Write(error) => Unwritten::to_standard_output(&error).into(),
                }
            })
        }
        (_, Some(path)) => output::write(path, export::text(format, judged, store)?, &again),
        (_, None) => print(&export::text(format, judged, store)?),
    }
}

/// Whether a name is a folder's: there is one, or it ends as a folder's does.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_bytes().ends_with(b"/")
}

/// Writes rows into a file as they are read; for numpy where its name says so.
fn write_data(
    rows: Rows,
    path: &Path,
    judged: &Judged,
    store: &Store,
    again: &str,
) -> Result<(), Failure> {
    let npy = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
    let container = if npy { Container::Npy } else { Container::Csv };
    let file = Output::open(path).map_err(|why| why.but(again))?;
    let mut out = BufWriter::new(file.file());
    let written = export::write_data(rows, container, judged, store, &mut out);
    drop(out);
    match written {
        Ok(()) => file.finish().map_err(|why| why.but(again)),
        Err(DataError::Store(error)) => Err(error.into()),
        Err(DataError::Write(error)) => Err(file.unwritten(&error).but(again)),
    }
}
