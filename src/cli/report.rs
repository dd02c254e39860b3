//! `ipcmark report RUN`: a stored run, written up again from the store alone.

use std::path::{Path, PathBuf};

use clap::Args;

use super::args::ResultFiles;
use super::awaited::Awaited;
use super::document_output::{Pages, pages};
use super::fleet_report::{self, Judgement};
use super::shown::{Shown, text_or_written};
use super::value_parsers::variant;
use super::{Common, Failure, compare, complain, document_output, output};
use ::report::compose::{Detail, answer, compose, exported, fleet};
use ::report::{Document, html, terminal};
use analysis::{Judged, Status};
use store::Store;
use study::paper::Form;

/// Flags of `report`.
#[derive(Args)]
pub struct ReportArgs {
    /// The run: its number, label, `last`, or `last~1` for the one before it; or a file that `ipcmark export` wrote
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    /// The reference of ratios, one of the measured mechanisms [default: the run's]
    #[arg(long, value_name = "MECHANISM")]
    reference: Option<String>,
    /// Another machine's store: also show its last run of the same study, in every table and claim
    #[arg(long, value_name = "STORE")]
    beside: Option<PathBuf>,
    #[command(flatten)]
    to: ResultFiles,
    /// Write the document as PDF; needs a Typst compiler
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    /// Largest number of pages of the PDF, or `all` [default: 4; for a study its own]; a study may need more, and says
    /// so
    #[arg(long, value_name = "N|all", value_parser = pages, requires = "pdf")]
    pages: Option<Pages>,
    /// text, markdown (with its figures in FILE.figures), typst (source)
    #[arg(long, value_name = "FORMAT", default_value = "text", hide_possible_values = true,
          value_parser = text_or_written())]
    format: Shown,
}

/// Shows a run, and writes its page where asked.
pub fn report(common: &Common, args: &ReportArgs) -> Result<u8, Failure> {
    let mut awaited = Awaited::beside_store(common);
    awaited.file("--html", args.to.html.as_deref())?;
    awaited.file("--pdf", args.pdf.as_deref())?;
    awaited.file("-o", args.to.output.as_deref())?;
    if let Some(found) = compare::of_file(&args.run) {
        return of_export(common, args, &exported(&found?)).map(|()| 0);
    }
    let store = Store::open_existing(&common.store_path()?)?;
    let id = store.find_run(&args.run).map_err(|error| Failure::usage(error.to_string()))?;
    // As runs keep it; what this build doesn't know, another one may have measured.
    let kept = |name: &str| variant(name).unwrap_or_else(|_| name.to_string());
    let reference = args.reference.as_deref().map(kept);
    let reference = reference.as_deref();
    if let Some(found) = Judgement::of(&store, id, reference)? {
        if let Some(name) = reference.filter(|reference| !found.has(reference)) {
            return Err(not_measured(id, name));
        }
        if let Some(path) = &args.to.html {
            fleet_report::write_page(path, &found)?;
        }
        if let Some(path) = &args.pdf {
            fleet_report::pdf(path, &found)?;
        }
        fleet_report::show(common, &found, args.format, args.to.output.as_deref())?;
        return Ok(answered(id, found.fleet.launches > 0));
    }
    let mut judged = Judged::against(&store, id, reference)?;
    if let Some(path) = &args.beside {
        let beside = judged.beside_run_of(&Store::open_existing(path)?)?;
        judged =
            beside.map_err(|why| Failure::usage(format!("--beside {}: {why}", path.display())))?;
    }
    let has = |name: &str| {
        judged.results.iter().any(|result| result.variant == name || result.mechanism == name)
    };
    if let Some(name) = reference.filter(|reference| !has(reference)) {
        return Err(not_measured(id, name));
    }
    if let Some(path) = &args.to.html {
        write_page(path, &judged)?;
    }
    match (args.format, &args.to.output) {
        (Shown::Written(script), path) => document_output::write(script, path.as_deref(), &judged)?,
        (_, Some(path)) => write_text(common, path, &judged)?,
        (_, None) => common.show(&document(common, &judged))?,
    }
    if let Some(path) = &args.pdf {
        document_output::pdf(path, &judged, args.pages)?;
    }
    Ok(answered(id, has_results(&judged)))
}

/// Whether anything was measured.
pub fn has_results(judged: &Judged) -> bool {
    let observed = judged.observed.iter().any(|observed| observed.status == Status::Ok);
    observed || judged.results.iter().any(|case| case.launches > 0)
}

/// The exit code of a report that has results, or has none.
fn answered(id: i64, has_results: bool) -> u8 {
    if !has_results {
        complain(&format!("run {id} has no results: nothing was measured"));
    }
    u8::from(!has_results)
}

/// Shows what a file tells of a run.
fn of_export(common: &Common, args: &ReportArgs, document: &Document) -> Result<(), Failure> {
    let missing = [
        ("--pdf", args.pdf.is_some()),
        ("--reference", args.reference.is_some()),
        ("--beside", args.beside.is_some()),
        ("-v", common.verbose > 0),
    ];
    if let Some((flag, _)) = missing.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{flag}: it takes the samples of a run, and {} is an export: name a run of the store, or use --html",
            args.run
        )));
    }
    if let Some(path) = &args.to.html {
        output::write(path, html::render(document), "name another file")?;
    }
    match (args.format, &args.to.output) {
        (Shown::Written(script), path) => {
            let again = "name another file";
            document_output::write_document(script, path.as_deref(), again, document, &Form::PLAIN)
        }
        (_, Some(path)) => {
            let text = terminal::render(document, &terminal::Style::default());
            output::write(path, text, "name another file")
        }
        (_, None) => common.show(document),
    }
}

fn not_measured(id: i64, reference: &str) -> Failure {
    Failure::usage(format!(
        "--reference {reference}: run {id} didn't measure it: name one that it did"
    ))
}

/// What a terminal shows of a run: the answer, or more of it where asked.
pub fn document(common: &Common, judged: &Judged) -> Document {
    match common.verbose {
        0 => answer(judged),
        1 => compose(judged, Detail::Summary),
        _ => compose(judged, Detail::Full),
    }
}

/// Writes the self-contained page.
pub fn write_page(path: &Path, judged: &Judged) -> Result<(), Failure> {
    output::write(path, page(judged), &output::report_again(judged.run.id, "--html FILE"))
}

/// The self-contained page of any run.
pub fn page(judged: &Judged) -> String {
    html::render(&match &judged.fleet {
        Some(fleet) => fleet::compose(fleet, &judged.groups, Detail::Full),
        None => compose(judged, Detail::Full),
    })
}

/// Writes what a terminal would show, 80 columns wide and without colour.
pub fn write_text(common: &Common, path: &Path, judged: &Judged) -> Result<(), Failure> {
    let text = terminal::render(&document(common, judged), &terminal::Style::default());
    output::write(path, text, &output::report_again(judged.run.id, "-o FILE"))
}
