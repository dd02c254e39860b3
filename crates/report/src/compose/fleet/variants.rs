//! The variants of a fleet against each other: what each takes of the reference's time, on every node and
//! between every pair.

use super::what;
use crate::compose::labels;
use crate::{Block, Table, Unit};
use analysis::{GroupVerdict, Standing};

/// A row for each variant but the reference; None where there is nothing to compare.
pub fn table(comparisons: &[GroupVerdict]) -> Option<Block> {
    let mut compared: Vec<(Compared, &Standing)> = Vec::new();
    for group in comparisons {
        let is_reference = |standing: &&Standing| Some(standing.result) == group.reference;
        let Some(reference) = group.standings.iter().find(is_reference) else { continue };
        let bytes = group.message_bytes;
        let what = what(&group.metric, bytes, group.placement, group.concurrent);
        let others = group.standings.iter().filter(|standing| !is_reference(standing));
        compared.extend(others.map(|standing| {
            ((what.clone(), standing.variant.as_str(), reference.variant.as_str()), standing)
        }));
    }
    let counted = |of: &[&Standing], verdict: &str| {
        of.iter().filter(|standing| standing.verdict == Some(verdict)).count().to_string()
    };
    let ratio = |ratio: f64| Unit::Ratio.format(ratio);
    let rows = labels::by_key(compared);
    let table = Table::of_each(CAPTION, &rows)
        .words("what", 0, |((what, ..), _)| what.as_str())
        .words("mechanism", 0, |((_, variant, _), _)| *variant)
        .words("reference", 1, |((.., reference), _)| *reference)
        .numbers("compared", 1, |(_, of)| ratios(of).len().to_string())
        .numbers("middle", 0, |(_, of)| stats::median_of(ratios(of)).map(ratio))
        .numbers("least", 0, |(_, of)| ratios(of).into_iter().reduce(f64::min).map(ratio))
        .numbers("most", 0, |(_, of)| ratios(of).into_iter().reduce(f64::max).map(ratio))
        .numbers("faster", 0, |(_, of)| counted(of, "faster"))
        .numbers("slower", 0, |(_, of)| counted(of, "slower"))
        .numbers("equivalent", 1, |(_, of)| counted(of, "equivalent"))
        .numbers("inconclusive", 1, |(_, of)| counted(of, "inconclusive"))
        .table();
    table.note(FAMILIES).unless_empty().map(Block::from)
}

/// What the nodes or pairs did, the variant that did it, and that which it is compared with.
type Compared<'a> = (String, &'a str, &'a str);

const CAPTION: &str =
    "Time over the reference's, of every node or pair: the middle one, the least, the most";
const FAMILIES: &str = "Paired within rounds; each node, or pair, is a family of its own, corrected by Holm over its \
     variants.";

fn ratios(of: &[&Standing]) -> Vec<f64> {
    of.iter().filter_map(|standing| standing.ratio).collect()
}
