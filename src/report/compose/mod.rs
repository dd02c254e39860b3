//! From a judged run to a document: what is best here, by how much, how sure; then the
//! figures; then the machine, and how it was measured.

mod background;
mod figures;
mod setup;
mod tables;
mod verdicts;
mod words;

use super::{Block, Document, Section};
use crate::judge::Judged;
use crate::store::RunStatus;

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Verdicts and a table that fit a terminal.
    Summary,
    /// All of it.
    Full,
}

/// Writes up a judged run.
pub fn compose(judged: &Judged, extent: Extent) -> Document {
    let run = &judged.run;
    let mut document = Document::new(match extent {
        Extent::Summary => format!("Run {}", run.id),
        Extent::Full => "How processes talk to each other on this machine".to_string(),
    });
    document.subtitle = subtitle(judged);
    let mut verdicts = Section::new("verdicts", "Verdicts");
    if run.status != RunStatus::Complete {
        verdicts = verdicts.with(Block::warning(
            "This run was interrupted: what was measured until then is shown.",
        ));
    }
    for block in verdicts::blocks(judged) {
        verdicts = verdicts.with(block);
    }
    document.sections.push(verdicts);
    let mut results = Section::new("results", "Results");
    for table in tables::summaries(judged).into_iter().chain(setup::tables(judged)) {
        results = results.with(table);
    }
    document.sections.push(results);
    if extent == Extent::Full {
        document.meta = background::meta(judged);
        document.sections.extend(figures::sections(judged));
        document.sections.push(tables::details(judged));
        document.sections.extend(background::sections(judged));
    } else {
        document.sections.extend(background::remarks(judged));
    }
    document
}

fn subtitle(judged: &Judged) -> String {
    let host = &judged.run.host;
    let model = host.processor.name.clone().unwrap_or_else(|| "unknown CPU".into());
    let launches: u64 = judged.results.iter().map(|case| case.launches).sum();
    let cases = judged.results.iter().filter(|case| case.launches > 0).count();
    format!(
        "{model}, {} CPUs, Linux {}; {cases} cases, {launches} launches",
        host.cpus_online.as_ref().map_or(0, Vec::len),
        host.kernel.release.as_deref().unwrap_or("unknown"),
    )
}
