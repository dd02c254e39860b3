//! From a judged run to a document: what is best here, by how much, how sure; then the
//! tables; then the figures; then the machine, its noise, and how it was measured.

mod answer;
mod background;
mod compare;
mod figures;
pub mod findings;
mod setup;
mod study;
mod study_floors;
mod tables;
mod verdicts;
mod words;

pub use compare::comparison;

use super::{Block, Document, Section, Text};
use crate::judge::Judged;
use crate::store::RunStatus;

/// Verdicts that the page leaves open where there are more.
const VERDICTS_OPEN: usize = 4;

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
    let study = study::Written::of(judged);
    if let Some(study) = &study {
        document.title = study.title().to_string();
        document.sections.extend(study.opening());
    }
    let mut verdicts = Section::new(
        "verdicts",
        match extent {
            Extent::Summary => "Verdicts",
            Extent::Full => "What is best here",
        },
    );
    if judged.results.iter().all(|case| case.launches == 0) {
        verdicts = verdicts
            .with(Block::warning("Nothing was measured in this run; the reasons stand below."));
    }
    if run.status != RunStatus::Complete {
        verdicts = verdicts.with(Block::warning(
            "This run was interrupted: what was measured until then is shown.",
        ));
    }
    if extent == Extent::Full {
        verdicts.blocks.extend(answer::table(judged));
    }
    verdicts.blocks.extend(match extent {
        Extent::Summary => verdicts::blocks(judged, extent),
        Extent::Full => folded(verdicts::blocks(judged, extent)),
    });
    match &study {
        // Whoever asked by a study reads its own tables first.
        Some(study) if extent == Extent::Summary => {
            document.sections.extend(study.results(judged));
            document.sections.extend(background::remarks(judged));
            return document;
        }
        Some(study) => document.sections.extend(study.results(judged)),
        None => {}
    }
    document.sections.push(verdicts);
    let mut results = Section::new("results", "Results");
    results.blocks.extend(tables::summaries(judged));
    results.blocks.extend(setup::tables(judged));
    if !results.blocks.is_empty() {
        document.sections.push(results);
    }
    if extent == Extent::Full {
        document.meta = background::meta(judged);
        document.sections.push(tables::details(judged));
        document.sections.extend(figures::sections(judged));
        document.sections.extend(background::sections(judged));
    } else {
        document.sections.extend(background::remarks(judged));
    }
    document
}

/// The first verdicts stay open where there are many: the table above holds the answers.
fn folded(blocks: Vec<Block>) -> Vec<Block> {
    let (verdicts, others): (Vec<Block>, Vec<Block>) =
        blocks.into_iter().partition(|it| matches!(it, Block::Verdict(_)));
    let open = if verdicts.len() > VERDICTS_OPEN + 2 { VERDICTS_OPEN } else { verdicts.len() };
    let mut shown = verdicts;
    let rest = shown.split_off(open);
    if !rest.is_empty() {
        let summary = Text::from(format!("{} more verdicts", rest.len()));
        shown.push(Block::Details { summary, blocks: rest });
    }
    let (warnings, remarks): (Vec<Block>, Vec<Block>) =
        others.into_iter().partition(|it| matches!(it, Block::Warning(_)));
    shown.extend(warnings);
    if !remarks.is_empty() {
        let summary = Text::from("Cases less precise than asked");
        shown.push(Block::Details { summary, blocks: remarks });
    }
    shown
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
