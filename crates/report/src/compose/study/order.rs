//! A table of places: in each row some cases in their order, best first, each with its median; and
//! below, the order that was printed elsewhere.

use super::cells::{not_available, over_launches};
use super::{Written, factor, find, published};
use crate::compose::labels;
use crate::{Column, Emphasis, Row, Table, Text};
use analysis::{CaseResult, Status};
use model::factor::Factor;
use study::factor::{Chosen, chosen};
use study::format::{Published, TableSpec};

/// What a published figure that is a place in an order says of itself.
const PLACE: &str = "place";

impl Written<'_> {
    pub(super) fn order(
        &self,
        spec: &TableSpec,
        only: &Chosen,
        title: &str,
        results: &[CaseResult],
    ) -> Table {
        let rows = factor(spec.rows.get_ref());
        let among: Vec<Chosen> = spec.among.iter().map(chosen).collect();
        let mut table = Table::new(title).words([(rows.name(), 0)]);
        table.columns.extend((1..=among.len()).map(|place| Column::text(place.to_string(), 0)));
        let beside = published::named(&self.declared.study, &spec.beside);
        for level in &self.declared.levels[&rows] {
            if only.level(rows).is_some_and(|text| text != level) {
                continue;
            }
            let here = only.with(rows, level);
            let mut cells = vec![Text::new().code(level)];
            cells.extend(places(&here, &among, results));
            let missing = cells.len() == 1;
            cells.resize(1 + among.len(), not_available());
            table.rows.push(Row::new(cells).emphasis(Emphasis::Muted.only_if(missing)));
            if let Some(elsewhere) = &self.elsewhere {
                let found = places(&here, &among, &elsewhere.cases);
                if !found.is_empty() {
                    let mut cells = vec![Text::new().muted(format!("  {}", elsewhere.name))];
                    cells.extend(found);
                    cells.resize(1 + among.len(), not_available());
                    table.rows.push(Row::new(cells).emphasis(Emphasis::Muted));
                }
            }
            let printed = beside.iter().filter_map(|published| printed(published, &here, &among));
            table.rows.extend(printed.map(|texts| Row::new(texts).emphasis(Emphasis::Muted)));
        }
        table.notes(beside.into_iter().map(published::note))
    }
}

/// The measured cases at `here`, best first: by the median over launches.
fn places(here: &Chosen, among: &[Chosen], results: &[CaseResult]) -> Vec<Text> {
    let measured = among.iter().filter_map(|chosen| {
        let case = find(&joined(here, chosen), results)?;
        let median = over_launches(&case.by_round)?;
        (case.status == Status::Ok).then(|| (median, name(chosen), case))
    });
    let mut measured: Vec<(f64, String, &CaseResult)> = measured.collect();
    measured.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = measured
        .iter()
        .map(|(_, name, case)| Text::from(format!("{name}, {}", labels::brief_value(case))));
    places.collect()
}

/// The printed order at `here`, under the name of its source; None where nothing was printed.
fn printed(published: &Published, here: &Chosen, among: &[Chosen]) -> Option<Vec<Text>> {
    let mut cells = vec![Text::from(published.name.clone())];
    for place in 1..=among.len() {
        let figures = published
            .figures
            .iter()
            .filter(|figure| figure.show.as_deref() == Some(PLACE) && figure.value == place as f64);
        let mut there = figures.filter_map(|figure| Chosen::of_words(&figure.levels).ok());
        let found = there.find(|chosen| chosen.agrees_with(here))?;
        let of = among.iter().find(|chosen| chosen.agrees_with(&found))?;
        cells.push(Text::from(name(of)));
    }
    Some(cells)
}

fn joined(here: &Chosen, of: &Chosen) -> Chosen {
    let levels = Factor::ALL.into_iter().filter_map(|factor| Some((factor, of.level(factor)?)));
    levels.fold(here.clone(), |all, (factor, level)| all.with(factor, level))
}

/// What distinguishes a case, in the words of the study: `local udp`.
fn name(of: &Chosen) -> String {
    let factors = [Factor::Route, Factor::Mechanism].into_iter();
    factors.filter_map(|factor| of.level(factor)).collect::<Vec<_>>().join(" ")
}
