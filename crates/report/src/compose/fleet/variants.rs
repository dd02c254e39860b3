//! The variants of a fleet against each other: what each takes of the reference's time, on every node and
//! between every pair.

use super::what;
use crate::{Block, Column, Row, Table, Unit};
use analysis::{GroupVerdict, Standing};

/// The comparisons of nodes or pairs that did the same, and those of one variant in them.
struct Compared<'a> {
    what: String,
    reference: &'a str,
    variant: &'a str,
    of: Vec<&'a Standing>,
}

/// A row for each variant but the reference; None where there is nothing to compare.
pub fn table(comparisons: &[GroupVerdict]) -> Option<Block> {
    let mut found: Vec<Compared> = Vec::new();
    for group in comparisons {
        let Some(reference) =
            group.standings.iter().find(|standing| Some(standing.result) == group.reference)
        else {
            continue;
        };
        let bytes = group.message_bytes;
        let what = what(&group.metric, bytes, group.placement, group.concurrent);
        for standing in
            group.standings.iter().filter(|standing| standing.result != reference.result)
        {
            let same = |comparison: &&mut Compared| {
                comparison.what == what
                    && comparison.reference == reference.variant
                    && comparison.variant == standing.variant
            };
            match found.iter_mut().find(same) {
                Some(row) => row.of.push(standing),
                None => found.push(Compared {
                    what: what.clone(),
                    reference: &reference.variant,
                    variant: &standing.variant,
                    of: vec![standing],
                }),
            }
        }
    }
    let table = Table {
        caption: "Time over the reference's, of every node or pair: the middle one, the least, the most".into(),
        columns: vec![
            Column::text("what", 0),
            Column::text("mechanism", 0),
            Column::text("reference", 1),
            Column::number("compared", 1),
            Column::number("middle", 0),
            Column::number("least", 0),
            Column::number("most", 0),
            Column::number("faster", 0),
            Column::number("slower", 0),
            Column::number("equivalent", 1),
            Column::number("inconclusive", 1),
        ],
        rows: found.iter().map(row).collect(),
        notes: vec![
            "Paired within rounds; each node, or pair, is a family of its own, corrected by Holm over its variants."
                .into(),
        ],
        ..Default::default()
    };
    (!found.is_empty()).then(|| table.into())
}

fn row(compared: &Compared) -> Row {
    let mut ratios: Vec<f64> = compared.of.iter().filter_map(|standing| standing.ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let shown = |ratio: Option<f64>| ratio.map_or("–".into(), |ratio| Unit::Ratio.format(ratio));
    let middle = (!ratios.is_empty()).then(|| stats::median(&ratios));
    let counted = |verdict: &str| {
        compared.of.iter().filter(|standing| standing.verdict == Some(verdict)).count().to_string()
    };
    Row::new([
        compared.what.clone(),
        compared.variant.to_string(),
        compared.reference.to_string(),
        ratios.len().to_string(),
        shown(middle),
        shown(ratios.first().copied()),
        shown(ratios.last().copied()),
        counted("faster"),
        counted("slower"),
        counted("equivalent"),
        counted("inconclusive"),
    ])
}
