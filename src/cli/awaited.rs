//! Files that are written once something is measured are shown to be writable before.

use std::path::Path;

use super::Failure;
use super::args::RunArgs;
use super::export::is_folder;
use super::output::{Folder, Output};
use super::shown::Shown;
use ::report::export::Format;

/// Holds open what can't be opened twice, until the files are written.
#[derive(Default)]
pub struct Awaited(Vec<Output>);

impl Awaited {
    /// Opens what a flag names, where it is given.
    ///
    /// # Errors
    /// It can't be written: a wrong command line.
    pub fn file(&mut self, flag: &str, path: Option<&Path>) -> Result<(), Failure> {
        let Some(path) = path else { return Ok(()) };
        let output = Output::open(path)
            .map_err(|why| why.refused(&format!("name another file with {flag}")))?;
        // A FIFO's reader goes with the last writer; a regular file is as it was until it is opened again.
        self.0.extend(Some(output).filter(Output::is_direct));
        Ok(())
    }

    /// All that a run is to write.
    ///
    /// # Errors
    /// As [`Awaited::file`].
    pub fn of(args: &RunArgs) -> Result<Awaited, Failure> {
        let mut awaited = Awaited::default();
        awaited.file("--html", args.to.html.as_deref())?;
        awaited.file("--pdf", args.pdf.as_deref())?;
        match (&args.to.output, args.format) {
            (Some(path), Shown::Exported(Format::Hgrm | Format::CpuMatrix)) if is_folder(path) => {
                Folder::make(path)
                    .and_then(|folder| folder.try_out())
                    .map_err(|why| why.refused("name another folder with -o"))?;
            }
            (path, _) => awaited.file("-o", path.as_deref())?,
        }
        for (flag, path) in args.files.named() {
            awaited.file(flag, path)?;
        }
        Ok(awaited)
    }
}
