//! A run on many nodes, shown: by `ipcmark fleet` at its end, and by `ipcmark report`.

use std::path::Path;

use super::document_output::Script;
use super::shown::Shown;
use super::{Common, Failure, document_output, output};
use ::report::compose::{Detail, fleet};
use ::report::{Document, html, terminal};
use analysis::GroupVerdict;
use analysis::fleet::FleetJudged;
use store::Store;
use study::paper::Form;

/// A run on many nodes, and how its variants compare.
pub struct Judgement {
    /// The nodes and pairs.
    pub fleet: FleetJudged,
    comparisons: Vec<GroupVerdict>,
}

impl Judgement {
    /// Of run `id`, its ratios to `reference` where that is given; None where it was not measured on many nodes.
    pub fn of(
        store: &Store,
        id: i64,
        reference: Option<&str>,
    ) -> Result<Option<Judgement>, Failure> {
        let found = FleetJudged::against(store, id, reference)?;
        Ok(found.map(|(fleet, comparisons)| Judgement { fleet, comparisons }))
    }

    /// Whether it has results of a variant, or of a mechanism, of that name.
    pub fn has(&self, reference: &str) -> bool {
        let mut variants = self.fleet.groups.iter().map(|group| group.group.case.variant.as_str());
        variants.any(|variant| variant == reference || variant.split(':').next() == Some(reference))
    }

    fn document(&self, extent: Detail) -> Document {
        fleet::compose(&self.fleet, &self.comparisons, extent)
    }
}

/// Shows it in one of the forms in which runs are written up.
pub fn show(
    common: &Common,
    found: &Judgement,
    form: Shown,
    path: Option<&Path>,
) -> Result<(), Failure> {
    let detail = if common.verbose > 0 { Detail::Full } else { Detail::Summary };
    match (form, path) {
        (Shown::Written(script @ (Script::Markdown | Script::Typst)), path) => {
            document_output::write_document(
                script,
                path,
                &document_output::again(script, found.fleet.run.id),
                &found.document(Detail::Full),
                &Form::PLAIN,
            )
        }
        (_, Some(path)) => {
            let style = terminal::Style::default();
            let text = terminal::render(&found.document(detail), &style);
            output::write(path, text, &output::report_again(found.fleet.run.id, "-o FILE"))
        }
        (_, None) => common.show(&found.document(detail)),
    }
}

pub fn pdf(path: &Path, found: &Judgement) -> Result<(), Failure> {
    let printer = document_output::Printer::of(found.fleet.run.id)?;
    let bytes = printer.print(&found.document(Detail::Full), &Form::PLAIN)?;
    printer.write(path, bytes)
}

/// Writes the self-contained page.
pub fn write_page(path: &Path, found: &Judgement) -> Result<(), Failure> {
    let again = output::report_again(found.fleet.run.id, "--html FILE");
    output::write(path, html::render(&found.document(Detail::Full)), &again)
}
