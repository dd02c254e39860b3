//! The level of a factor at which a measure is best, for each level of another.

use super::cells::{not_available, over_launches};
use super::published::{self, NOTHING};
use super::{Written, factor, find};
use crate::compose::labels;
use crate::{Emphasis, Row, Table, Text};
use analysis::{CaseResult, Status};
use model::factor::Factor;
use study::factor::{Chosen, chosen};
use study::format::{Published, PublishedFigure, Search};

impl Written<'_> {
    pub(super) fn search(&self, search: &Search, results: &[CaseResult]) -> Table {
        let (along, each) = (factor(search.factor.get_ref()), factor(search.each.get_ref()));
        let only = chosen(&search.only);
        let beside = published::named(&self.declared.study, &search.beside);
        let mut table = Table::new(search.title.clone())
            .words([(each.name(), 0)])
            .words([(format!("best {along}"), 0)])
            .numbers([("there", 0)])
            .words([("may also be", 0)])
            .notes(beside.iter().map(|set| published::note(set)));
        for row in &self.declared.levels[&each] {
            let here = only.with(each, row);
            let found = best(&here, along, &self.declared.levels[&along], results);
            // What was printed stands below.
            let printed = |set: &&Published| {
                let of = |figure: &&PublishedFigure| {
                    published::names(figure, each) && published::is_of(figure, &here, None)
                };
                let text = published::figures_text(set, set.figures.iter().filter(of))?;
                let name = Text::new().muted(format!("  {}", set.name));
                let cells = [name, Text::from(text), Text::new(), Text::new()];
                Some(Row::new(cells).emphasis(Emphasis::Muted))
            };
            let printed: Vec<Row> = beside.iter().filter_map(printed).collect();
            let found = match found {
                None if printed.is_empty() => continue,
                None => [(); 3].map(|()| not_available()),
                Some(found) => found.map(Text::from),
            };
            table.rows.push(Row::new(std::iter::once(Text::new().code(row)).chain(found)));
            table.rows.extend(printed);
        }
        table
    }
}

/// The best level of `along`, what is reached there, and the levels not separated from it.
fn best(
    here: &Chosen,
    along: Factor,
    order: &[String],
    results: &[CaseResult],
) -> Option<[String; 3]> {
    let columns: Vec<(&String, &CaseResult)> = order
        .iter()
        .filter_map(|text| Some((text, find(&here.with(along, text), results)?)))
        .filter(|(_, case)| case.status == Status::Ok)
        .collect();
    // Time per byte, so that sizes compare.
    let bytes = |case: &CaseResult| match case.message_bytes {
        Some(bytes) if case.metric.is_transfer() => bytes as f64,
        _ => 1.0,
    };
    let ratios = |a: usize, b: usize| -> Vec<f64> {
        let (a, b) = (columns[a].1, columns[b].1);
        let per_byte = (bytes(b) / bytes(a)).ln();
        a.shared_log_ratios_to(b).into_iter().map(|ratio| ratio + per_byte).collect()
    };
    let best = stats::against_best(columns.len(), &ratios, analysis::ALPHA, analysis::NEGLIGIBLE);
    let typical = |nth: &usize| {
        let case = columns[*nth].1;
        over_launches(&case.by_round).map_or(f64::INFINITY, |ns| ns / bytes(case))
    };
    let leader = (0..columns.len()).min_by(|a, b| typical(a).total_cmp(&typical(b)))?;
    let others: Vec<String> = (0..columns.len())
        .filter(|nth| best[*nth].may_be_best && *nth != leader)
        .map(|nth| columns[nth].0.clone())
        .collect();
    let others = if others.is_empty() { NOTHING.into() } else { others.join(", ") };
    Some([columns[leader].0.clone(), labels::value(columns[leader].1), others])
}
