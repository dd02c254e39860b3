//! A run on many nodes, shown: by `ipcmark fleet` at its end, and by `ipcmark report`.

use std::path::Path;

use super::args::{Script, Shown};
use super::{Common, Failure, document_output, report};
use ::report::compose::{Detail, fleet};
use ::report::{html, terminal};
use analysis::fleet::FleetJudged;
use store::Store;
use study::paper::Form;

/// The run that the user named, if it was measured on many nodes.
pub fn named(common: &Common, name: &str) -> Result<Option<FleetJudged>, Failure> {
    let store = Store::open_existing(&common.store_path()?)?;
    let id = store.find_run(name).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(FleetJudged::of(&store, id)?)
}

/// Run `run` of a store, judged.
pub fn judged(store: &Store, run: i64) -> Result<FleetJudged, Failure> {
    FleetJudged::of(store, run)?.ok_or_else(|| Failure::other(format!("run {run} has no nodes")))
}

/// Shows it in one of the forms in which runs are written up.
pub fn show(
    common: &Common,
    found: &FleetJudged,
    form: Shown,
    path: Option<&Path>,
) -> Result<(), Failure> {
    let detail = if common.verbose { Detail::Full } else { Detail::Summary };
    match (form, path) {
        (Shown::Written(script @ (Script::Markdown | Script::Typst)), path) => {
            document_output::write_document(
                script,
                path,
                &fleet::compose(found, Detail::Full),
                &Form::PLAIN,
            )
        }
        (_, Some(path)) => {
            let text =
                terminal::render(&fleet::compose(found, detail), &terminal::Style::default());
            report::write(path, &text)
        }
        (_, None) => common.show(&fleet::compose(found, detail)),
    }
}

pub fn pdf(path: &Path, found: &FleetJudged) -> Result<(), Failure> {
    let printer = document_output::Printer::of(found.fleet.id)?;
    let bytes = printer.print(&fleet::compose(found, Detail::Full), &Form::PLAIN)?;
    printer.write(path, bytes)
}

pub fn write_page(path: &Path, found: &FleetJudged) -> Result<(), Failure> {
    report::write(path, &html::render(&fleet::compose(found, Detail::Full)))
}
