//! The level of a factor at which a measure is best, for each level of another.

use super::{Written, factor, find};
use crate::judge::{CaseResult, Status};
use crate::report::compose::words;
use crate::report::{Column, Row, Table, Text};
use crate::study::factor::chosen;
use crate::study::format::Search;

impl Written {
    pub(super) fn search(&self, search: &Search, results: &[CaseResult]) -> Table {
        let (along, each) = (factor(search.factor.get_ref()), factor(search.each.get_ref()));
        let only = chosen(&search.only);
        let mut table = Table {
            caption: search.title.clone(),
            columns: vec![
                Column::text(each.name(), 0),
                Column::text(format!("best {along}"), 0),
                Column::number("there", 0),
                Column::text("may also be", 0),
            ],
            ..Default::default()
        };
        for row in &self.declared.levels[&each] {
            let here = only.with(each, row);
            let order = &self.declared.levels[&along];
            let columns: Vec<(&String, &CaseResult)> = order
                .iter()
                .filter_map(|it| Some((it, find(&here.with(along, it), results)?)))
                .filter(|(_, case)| case.status == Status::Ok)
                .collect();
            // Time per byte, so that sizes compare.
            let per_byte = |case: &CaseResult| -> Vec<Option<f64>> {
                let bytes = case.message_bytes.unwrap_or(1) as f64;
                let scale = if case.workload == "throughput" { bytes } else { 1.0 };
                case.by_round.iter().map(|ns| ns.map(|ns| ns / scale)).collect()
            };
            let times: Vec<Vec<Option<f64>>> =
                columns.iter().map(|(_, case)| per_byte(case)).collect();
            let times: Vec<&[Option<f64>]> = times.iter().map(Vec::as_slice).collect();
            let best = crate::stats::best_set(&times, crate::judge::ALPHA);
            let typical = |values: &[Option<f64>]| {
                let mut known: Vec<f64> = values.iter().flatten().copied().collect();
                known.sort_by(f64::total_cmp);
                if known.is_empty() { f64::INFINITY } else { crate::stats::median(&known) }
            };
            let leader =
                (0..columns.len()).min_by(|a, b| typical(times[*a]).total_cmp(&typical(times[*b])));
            let Some(leader) = leader else { continue };
            let others: Vec<String> = (0..columns.len())
                .filter(|nth| best[*nth] && *nth != leader)
                .map(|nth| columns[nth].0.clone())
                .collect();
            table.rows.push(Row::new([
                Text::new().code(row),
                Text::from(columns[leader].0.as_str()),
                Text::from(words::cell_value(columns[leader].1)),
                Text::from(if others.is_empty() { "–".into() } else { others.join(", ") }),
            ]));
        }
        table
    }
}
