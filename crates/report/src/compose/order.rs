//! What a run is told in, and in which order: an answer, a summary, a page.

use super::titles::{headline, machine, measured, subtitle};
use super::{
    arms, background, beside, brief, capacity, choose, clients, cpu_pairs, delivery, energy,
    everything, explain, figures, inflections, labels, observed, open_loop, peer, percentiles,
    rates, setup, study, tables, unmeasured, verdicts,
};
use crate::{Block, Document, Section, VerdictKind, units};
use analysis::Judged;
use analysis::compare::Terms;
use model::request::Aim;
use store::RunStatus;

/// Rows of the page's first table.
const PAGE_ROWS: usize = 24;

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Verdicts and tables that fit a terminal's width.
    Summary,
    Full,
}

/// What a person reads when a run is over: of a comparison the answer, on one screen; of an explanation its bars;
/// else [`compose`]'s summary.
pub fn answer(judged: &Judged) -> Document {
    let asked = &judged.run.request;
    let mut document = Document::new(format!("Run {}: {}", judged.run.id, measured(judged)));
    document.subtitle = machine(judged);
    let mut explained = explain::answer(judged);
    if let Some(first) = explained.first_mut() {
        first.blocks.splice(..0, cautions(judged));
        document.sections = explained;
        document.sections.extend(background::remarks(judged));
        return document;
    }
    if let Some(mut section) = choose::section(judged).or_else(|| capacity::answer(judged)) {
        section.blocks.splice(..0, cautions(judged));
        document.sections.push(section);
        return document;
    }
    if asked.aim != Aim::Comparison || asked.study.is_some() {
        return compose(judged, Detail::Summary);
    }
    if !asked.arms.is_empty() {
        return answer_of_arms(judged, Terms::PLAIN);
    }
    // Of an open loop its percentiles and what was served are the answer.
    let rates = rates::section(judged);
    let seen = observed::short(judged);
    if rates.is_none() || judged.groups.iter().any(|group| !group.metric.paced) {
        let beside = seen.as_ref().map_or(0, observed::lines);
        let mut first = brief::section(judged, beside);
        // What is true of the whole run is said once.
        let said = rates.as_ref().map_or(&[][..], |rates| &rates.blocks);
        first.blocks.retain(|block| !said.contains(block));
        document.sections.push(first);
    }
    document.sections.extend(rates);
    document.sections.extend(seen);
    document.sections.extend(beside::section(judged));
    document.sections.extend(cpu_pairs::section(judged, Detail::Summary));
    document
}

/// The answer of a run with arms: each beside the first, on `terms`.
pub fn answer_of_arms(judged: &Judged, terms: Terms) -> Document {
    let mut document = Document::new(format!("Run {}: {}", judged.run.id, measured(judged)));
    document.subtitle = machine(judged);
    document.sections = arms::sections(judged, terms, Detail::Summary);
    if let Some(first) = document.sections.first_mut() {
        first.blocks.splice(..0, cautions(judged));
    }
    document
}

/// Writes up a judged run.
pub fn compose(judged: &Judged, detail: Detail) -> Document {
    let run = &judged.run;
    let mut document = Document::new(match detail {
        Detail::Summary => format!("Run {}", run.id),
        Detail::Full => match &run.label {
            Some(label) => format!("{}: {label}", headline(run)),
            None => headline(run).to_string(),
        },
    });
    document.subtitle = subtitle(judged);
    let study = study::Written::of(judged);
    match (&study, detail) {
        (None, _) => {}
        (Some(study), Detail::Full) => document = study.whole(judged),
        (Some(study), Detail::Summary) => {
            document.title = study.title().to_string();
            document.sections.extend(study.opening(judged));
            document.sections[0].blocks.extend(cautions(judged));
        }
    }
    document.sections.extend(arms::sections(judged, Terms::PLAIN, detail));
    document.sections.extend(explain::sections(judged));
    let own = document.sections.len();
    let verdicts = verdicts::blocks(judged, detail);
    let verdicts = match detail {
        Detail::Summary => {
            Section::new("verdicts", "Verdicts").with_all(cautions(judged)).with_all(verdicts)
        }
        Detail::Full => Section::new("verdicts", "What is best here")
            .with_all(cautions(judged))
            .with_all(brief::page(judged, PAGE_ROWS, rates::blocks(judged, PAGE_ROWS)))
            .with_all(folded(verdicts)),
    };
    if own > 0 && study.is_none() && detail == Detail::Summary {
        document.sections[0].blocks.splice(..0, cautions(judged));
        document.sections.extend(inflections::section(judged));
        document.sections.extend(background::remarks(judged));
        return document;
    }
    // The reader of a study gets its own tables; the rest is in the page.
    if let Some(study) = study.as_ref().filter(|_| detail == Detail::Summary) {
        document.sections.extend(study.results(judged));
        document.sections.extend(background::remarks(judged));
        return document;
    }
    document.sections.extend(choose::section(judged));
    document.sections.extend(capacity::section(judged));
    let mut figures = match detail {
        Detail::Full => figures::sections(judged),
        Detail::Summary => figures::bounded(judged).into_iter().collect(),
    };
    if !judged.capacity.is_empty() {
        // Its curves are part of the answer.
        document.sections.append(&mut figures);
    }
    if judged.capacity.is_empty() || !verdicts.blocks.is_empty() {
        document.sections.push(verdicts);
    }
    document.sections.extend(results(judged, detail, own > 0).unless_empty());
    document.sections.extend(cpu_pairs::section(judged, detail));
    document.sections.extend(beside::section(judged));
    document.sections.extend(observed::section(judged, detail));
    document.sections.extend(inflections::section(judged));
    if detail == Detail::Full {
        document.meta = background::meta(judged);
        document.sections.extend(figures);
        document.sections.extend(background::sections(judged));
    } else {
        document.sections.extend(background::remarks(judged));
    }
    // A paper is followed by what any other run would show.
    for section in document.sections.iter_mut().skip(own).filter(|_| own > 0) {
        section.appendix = true;
        section.id = format!("more-{}", section.id);
        section.title = format!("Appendix: {}", section.title);
    }
    document
}

/// The tables of a run; `beside` what it was made for.
fn results(judged: &Judged, detail: Detail, beside: bool) -> Section {
    let run = &judged.run;
    let section = match beside {
        false => Section::new("results", "Results"),
        true => Section::new("all-results", "All results"),
    };
    // One list holds all of a page's results; percentiles that were asked for are more than its rows hold.
    let percentiles =
        run.request.unbatched || judged.results.iter().any(|result| result.metric.paced);
    let listed_only = detail == Detail::Full && !percentiles;
    let summaries = if listed_only { Vec::new() } else { tables::summaries(judged) };
    let section = match detail {
        Detail::Summary => section.with_all(summaries).with_all(energy::table(judged)),
        Detail::Full => section
            .with_all(everything::blocks(judged))
            .with_all(summaries)
            .with_all(percentiles::deep(judged)),
    };
    section
        .with_all(delivery::tables(judged))
        .with_all(open_loop::tables(judged))
        .with_all(clients::tables(judged))
        .with_all(setup::tables(judged))
}

/// What must be known before anything is believed.
pub(super) fn cautions(judged: &Judged) -> Vec<Block> {
    let mut blocks: Vec<Block> = peer::hosts(judged).collect();
    if judged.results.iter().all(|case| case.launches == 0) {
        let nothing = "Nothing was measured in this run; the reasons follow.";
        blocks.push(Block::warning(nothing));
    }
    if judged.run.status != RunStatus::Complete {
        let cut = "This run was interrupted: what was measured until then is shown.";
        blocks.push(Block::warning(cut));
    }
    blocks.extend(unmeasured::fewer_launches(judged));
    blocks
}

/// Takes back what is firm in the verdicts of an answer where others disturbed every round of a case, and says so first.
pub(super) fn beside_others(judged: &Judged, answer: &mut [Section]) {
    let measured = || judged.results.iter().filter(|result| result.launches > 0 && !result.twin);
    let disturbed = measured().filter(|case| case.disturbed).count();
    let all = measured().count();
    let Some(why) = labels::disturbed((disturbed, all), "case", "no verdict is firm") else {
        return;
    };
    for block in answer.iter_mut().flat_map(|section| &mut section.blocks) {
        if let Block::Verdict(verdict) = block {
            verdict.kind = VerdictKind::Unknown;
        }
    }
    if let Some(first) = answer.first_mut() {
        first.blocks.insert(0, why.into());
    }
}

/// Warnings stay open: the table above holds the answers, which the verdicts give in words.
fn folded(blocks: Vec<Block>) -> Vec<Block> {
    let (verdicts, others): (Vec<Block>, Vec<Block>) =
        blocks.into_iter().partition(|block| matches!(block, Block::Verdict(_)));
    let (mut shown, remarks): (Vec<Block>, Vec<Block>) =
        others.into_iter().partition(|block| matches!(block, Block::Warning(_)));
    if !verdicts.is_empty() {
        let many = units::counted(verdicts.len() as u64, "verdict");
        shown.push(Block::folded(format!("{many} in words, with ratios and intervals"), verdicts));
    }
    if !remarks.is_empty() {
        shown.push(Block::folded("Cases whose precision was not reached", remarks));
    }
    shown
}
