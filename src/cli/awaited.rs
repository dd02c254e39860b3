//! Files that are written once something is measured are shown to be writable before, and to be different ones.

use std::path::Path;

use super::args::RunArgs;
use super::export::is_folder;
use super::lookup::{Spot, follow};
use super::output::{Folder, Output};
use super::shown::Shown;
use super::{Common, Failure};
use ::report::export::Format;

/// Where they are, and what can't be opened twice: that is held open until the files are written.
#[derive(Default)]
pub struct Awaited {
    held: Vec<Output>,
    spots: Vec<(Spot, &'static str)>,
}

impl Awaited {
    /// None yet, of a command that uses this store.
    pub fn beside_store(common: &Common) -> Awaited {
        let path = common.store_path().ok().filter(|path| path != Path::new(store::NONE));
        let spot = path.and_then(|path| follow(None, &path, false).ok()?.spot().ok());
        let spots = spot.map(|spot| (spot, "--store")).into_iter().collect();
        Awaited { held: Vec::new(), spots }
    }

    /// Opens what a flag names, where it is given.
    ///
    /// # Errors
    /// It can't be written, or is what another flag names: a wrong command line.
    pub fn file(&mut self, flag: &'static str, path: Option<&Path>) -> Result<(), Failure> {
        let Some(path) = path else { return Ok(()) };
        let remedy = format!("name another file with {flag}");
        let output = Output::open(path).map_err(|why| why.refused(&remedy))?;
        if output.is_direct() {
            // A FIFO's reader goes with the last writer; a regular file is as it was until it is opened again.
            self.held.push(output);
            return Ok(());
        }
        let spot = output.spot();
        if let Some((_, other)) = self.spots.iter().find(|(known, _)| known == spot) {
            let path = path.display();
            return Err(Failure::usage(format!("{path} is what {other} names, too: {remedy}")));
        }
        self.spots.push((spot.clone(), flag));
        Ok(())
    }

    /// Looks whether `-o` can be written in a format, of which some take a folder.
    ///
    /// # Errors
    /// As [`Awaited::file`].
    pub fn output(&mut self, format: Shown, path: Option<&Path>) -> Result<(), Failure> {
        match (path, format) {
            (Some(path), Shown::Exported(Format::Hgrm | Format::CpuMatrix)) if is_folder(path) => {
                Folder::make(path)
                    .and_then(|folder| folder.try_out())
                    .map_err(|why| why.refused("name another folder with -o"))
            }
            _ => self.file("-o", path),
        }
    }

    /// All that a run is to write.
    ///
    /// # Errors
    /// As [`Awaited::file`].
    pub fn of(common: &Common, args: &RunArgs) -> Result<Awaited, Failure> {
        let mut awaited = Awaited::beside_store(common);
        awaited.file("--html", args.to.html.as_deref())?;
        awaited.file("--pdf", args.pdf.as_deref())?;
        awaited.output(args.format, args.to.output.as_deref())?;
        for (flag, path) in args.files.named() {
            awaited.file(flag, path)?;
        }
        Ok(awaited)
    }
}
