//! The summary of a step of GitHub Actions: what a run or a comparison answers, added to the file that
//! GITHUB_STEP_SUMMARY names, where it names one.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};

use super::complain;
use ::report::{Document, markdown};

/// The variable that names the file.
const NAMED: &str = "GITHUB_STEP_SUMMARY";

/// Adds the document to the summary. A summary that can't be written is said, and fails nothing.
pub fn add(document: &Document) {
    let Some(path) = std::env::var_os(NAMED).filter(|path| !path.is_empty()) else { return };
    if let Err(error) = append(&path, &markdown::render(document)) {
        complain(&format!("{NAMED}: write {}: {error}", path.display()));
    }
}

/// Into a file that is there, as the runner makes it: nothing is created where a variable happens to point.
fn append(path: &OsStr, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())
}
