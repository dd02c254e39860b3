//! The arms of a run, each beside the first: the answer, and the table of its cases, as two runs are compared.

use super::{Detail, comparison};
use crate::{Block, Section, Text};
use analysis::Judged;
use analysis::compare::{RunComparison, Terms, arms};

/// The sections of a run with arms; none of any other.
pub fn sections(judged: &Judged, terms: Terms, detail: Detail) -> Vec<Section> {
    arms(judged, terms).iter().flat_map(|found| of(found, detail)).collect()
}

/// A comparison as sections of a run: who is held against whom stands above the answer.
fn of(found: &RunComparison, detail: Detail) -> Vec<Section> {
    let document = comparison(found, detail);
    let arm = found.b.label.clone().unwrap_or_default();
    let mut sections = document.sections;
    for section in &mut sections {
        section.id = format!("{}-{}", arm.replace(' ', "-"), section.id);
    }
    if let Some(first) = sections.first_mut() {
        first.title = document.title;
        let sides = document
            .meta
            .into_iter()
            .map(|(side, what)| Text::new().strong(format!("{side}  ")).plain(what));
        first.blocks.splice(..0, [Block::List(sides.collect())]);
    }
    sections
}
