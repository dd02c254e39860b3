//! `ipcmark export RUN`: a stored run for other programs.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{Common, Failure, args, print, report};
use ::report::export::{self, Format};
use analysis::Judged;
use store::Store;

/// Flags of `export`.
#[derive(Args)]
pub struct ExportArgs {
    /// The run: its number, label, `last`, or `last~1` for the one before it
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    /// json, ndjson (events), csv, claims-csv (of a study), markdown, hgrm and hlog (HdrHistogram's percentile spectrum
    /// and interval log), bmf (Bencher); docs/FORMAT.md describes each
    #[arg(long, value_name = "FORMAT", default_value = "json", hide_possible_values = true,
          value_parser = args::exported())]
    format: Format,
    /// Write to this file instead of standard output; hgrm into a folder: a file per case
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Exports a run.
pub fn export(common: &Common, args: &ExportArgs) -> Result<u8, Failure> {
    let store = Store::open_existing(&common.store_path()?)?;
    let id = store.find_run(&args.run).map_err(|error| Failure::usage(error.to_string()))?;
    write(args.format, args.output.as_deref(), &Judged::of(&store, id)?, &store)?;
    Ok(0)
}

/// Writes a run in a format, to a file or to standard output.
pub fn write(
    format: Format,
    path: Option<&Path>,
    judged: &Judged,
    store: &Store,
) -> Result<(), Failure> {
    match path {
        Some(folder) if format == Format::Hgrm && folder.is_dir() => {
            for (name, text) in export::spectra(judged, store)? {
                report::write(&folder.join(format!("{name}.hgrm")), &text)?;
            }
            Ok(())
        }
        Some(path) => report::write(path, &export::text(format, judged, store)?),
        None => print(&export::text(format, judged, store)?),
    }
}
