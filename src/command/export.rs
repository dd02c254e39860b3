//! `ipcmark export RUN`: a stored run for other programs.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{Common, Failure, print, report};
use crate::judge::Judged;

/// Flags of `export`.
#[derive(Args)]
pub struct ExportArgs {
    /// Number of the run, or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    /// json: one object, described by docs/results.schema.json
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = ["json"],
          hide_possible_values = true)]
    format: String,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Exports a run.
pub fn export(common: &Common, args: &ExportArgs) -> Result<u8, Failure> {
    write_json(args.output.as_deref(), &report::judged(common, &args.run)?)?;
    Ok(0)
}

/// Writes a run as one JSON object, to a file or to standard output.
pub fn write_json(path: Option<&Path>, judged: &Judged) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(&judged.export())
        .map_err(|error| Failure::other(format!("write JSON: {error}")))?;
    text.push('\n');
    match path {
        Some(path) => report::write(path, &text),
        None => print(&text),
    }
}
