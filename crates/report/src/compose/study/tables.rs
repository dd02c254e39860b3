//! A study's own tables: measured values with the published figures beside.

use std::collections::BTreeSet;

use super::cells;
use super::published::{self, figures_text, is_of, names, note, statistic};
use super::{Written, factor, find, is_at};
use crate::compose::figures::panel_name;
use crate::compose::labels;
use crate::compose::observed::merged;
use crate::{Column, Emphasis, Row, Table, Text};
use analysis::hypothesis::takes;
use analysis::{CaseResult, Status};
use model::factor::Factor;
use study::counted::Count;
use study::expression::is_percentile;
use study::factor::{Chosen, chosen};
use study::format::{Published, PublishedFigure, TableSpec};

/// What a percentile of a case is, for a caption.
const PERCENTILES: &str = "; each percentile is the median over launches of each launch's own";

/// So many columns, published ones among them, fit beside each other.
const COLUMNS: usize = 4;

impl Written<'_> {
    /// A table of its own for each load that it doesn't name: a cell is of one case.
    pub(super) fn tables(&self, spec: &TableSpec, results: &[CaseResult]) -> Vec<Table> {
        let drawn = spec.columns.iter().chain([&spec.rows]);
        let drawn: Vec<Factor> = drawn.map(|column| factor(column.get_ref())).collect();
        let mut all = vec![(chosen(&spec.only), spec.title.clone())];
        for of in Factor::OF_LOAD.into_iter().filter(|load| !drawn.contains(load)) {
            let levels = &self.declared.levels[&of];
            let divide = |(only, title): (Chosen, String)| {
                if only.level(of).is_some() || levels.len() < 2 {
                    return vec![(only, title)];
                }
                let at = |level: &String| {
                    (only.with(of, level), format!("{title}, {}", panel_name(of, level)))
                };
                levels.iter().map(at).collect()
            };
            all = all.into_iter().flat_map(divide).collect();
        }
        let several = all.len() > 1;
        let made = all.into_iter().map(|(only, title)| self.table(spec, &only, &title, results));
        made.filter(|table| !several || !table.rows.is_empty()).collect()
    }

    fn table(&self, spec: &TableSpec, only: &Chosen, title: &str, results: &[CaseResult]) -> Table {
        if !spec.among.is_empty() {
            return self.order(spec, only, title, results);
        }
        let rows = factor(spec.rows.get_ref());
        let shown: Vec<&str> = match spec.show.as_slice() {
            [] if !spec.against.is_empty() => cells::GAINS.to_vec(),
            [] => vec!["median"],
            named => named.iter().map(|value| value.get_ref().as_str()).collect(),
        };
        let ranked: Vec<Chosen> = spec.ranked.iter().map(chosen).collect();
        let against: Vec<Chosen> = spec.against.iter().map(chosen).collect();
        let of = cells::Table { results, ranked: &ranked, against: &against };
        let columns = spec.columns.as_ref().map(|column| factor(column.get_ref()));
        let beside = published::named(&self.declared.study, &spec.beside);
        let heads = self.heads(columns, only, &shown, results);
        let percentiles = shown.iter().any(|text| is_percentile(text));
        let definition = if percentiles { PERCENTILES } else { "" };
        let caption = format!("{title}{definition}");
        let mut table = Table::new(caption);
        table.columns.push(Column::text(rows.name(), 0));
        for head in &heads {
            table.columns.push(Column::number(&head.name, 0));
        }
        // Few columns stand beside each other; many would not fit, and stand below each other.
        let wide =
            heads.iter().any(|head| matches!(Count::parse(&head.show), Some(Count::Values(_))));
        let columns = |set: &Published| heads.iter().filter(|head| stands_for(set, head)).count();
        let below = heads.len() + beside.iter().map(|published| columns(published)).sum::<usize>()
            > COLUMNS
            || wide;
        for published in &beside {
            let shown = heads.iter().filter(|head| !below && stands_for(published, head));
            table.columns.extend(shown.map(|head| published_column(published, head, heads.len())));
            table.notes.push(note(published));
        }
        let counts_only = heads.iter().all(|head| Count::parse(&head.show).is_some());
        let mut refusals = BTreeSet::new();
        let shared = labels::shared_prefix(&self.declared.levels[&rows]);
        if let Some(shared) = shared {
            table.notes.push(Text::from("… stands for ").code(shared).plain("."));
        }
        for row in &self.declared.levels[&rows] {
            if only.level(rows).is_some_and(|level| level != row) {
                continue;
            }
            let here = only.with(rows, row);
            let mut cells = vec![Text::new().code(labels::without_shared(row, shared))];
            let at: Vec<Chosen> = heads.iter().map(|head| head.at(&here)).collect();
            let found: Vec<Option<&CaseResult>> =
                at.iter().map(|chosen| find(chosen, results)).collect();
            for ((head, at), case) in heads.iter().zip(&at).zip(&found) {
                let refusal = case.and_then(|case| case.counted.refusal(&head.show));
                refusals.extend(refusal.map(|refusal| (head.show.clone(), refusal.to_string())));
                cells.push(of.cell(at, &head.show, &head.at(only)));
            }
            let printed: Vec<Vec<Text>> = beside
                .iter()
                .map(|set| {
                    let each = heads.iter().zip(&at).zip(&found);
                    each.map(|((head, at), case)| printed(set, head, rows, at, *case)).collect()
                })
                .collect();
            let planned = found.iter().any(Option::is_some);
            if !planned && printed.iter().flatten().all(cells::is_dash) {
                continue; // the study leaves it out
            }
            let there = self.elsewhere.as_ref().and_then(|elsewhere| {
                let of = cells::Table { results: &elsewhere.cases, ..of };
                let found: Vec<Text> = heads
                    .iter()
                    .zip(&at)
                    .map(|(head, at)| of.cell(at, &head.show, &head.at(only)))
                    .collect();
                (!found.iter().all(cells::is_dash)).then_some((elsewhere.name.as_str(), found))
            });
            let unprinted = printed.iter().flatten().all(cells::is_dash);
            let empty = cells[1..].iter().all(cells::is_dash);
            if counts_only && empty && unprinted && there.is_none() {
                continue; // an uninstrumented case: a row of dashes
            }
            for (published, printed) in beside.iter().zip(&printed).filter(|_| !below) {
                let shown =
                    heads.iter().zip(printed).filter(|(head, _)| stands_for(published, head));
                cells.extend(shown.map(|(_, text)| text.clone()));
            }
            let missing = found.iter().flatten().all(|case| case.status != Status::Ok);
            table.rows.push(Row::new(cells).emphasis(Emphasis::Muted.only_if(missing)));
            if let Some((name, found)) = there {
                let mut cells = vec![Text::new().muted(format!("  {name}"))];
                cells.extend(found);
                cells.resize(table.columns.len(), Text::new());
                table.rows.push(Row::new(cells).emphasis(Emphasis::Muted));
            }
            for (published, printed) in beside.iter().zip(printed).filter(|_| below) {
                if !printed.iter().all(cells::is_dash) {
                    let name = Text::new().muted(format!("  {}", published.name));
                    let cells = std::iter::once(name).chain(printed);
                    table.rows.push(Row::new(cells).emphasis(Emphasis::Muted));
                }
            }
        }
        let refusals = merged(refusals.into_iter().collect()).into_iter();
        table.notes(refusals.map(|(_, why)| format!("Not testable here: {why}.")))
    }

    /// The columns of measured values: levels of a factor, statistics, or both.
    fn heads(
        &self,
        columns: Option<Factor>,
        only: &Chosen,
        shown: &[&str],
        results: &[CaseResult],
    ) -> Vec<Head> {
        let Some(factor) = columns else {
            // A step's own name is short enough for many of them side by side.
            let name = |show: &str| show.trim_start_matches("step-").to_string();
            let head = |show: &&str| Head { name: name(show), level: None, show: show.to_string() };
            return shown.iter().map(head).collect();
        };
        let present = |level: &&String| {
            only.level(factor).is_none_or(|text| text == *level)
                && results.iter().any(|case| is_at(case, factor, level) && takes(only, case))
        };
        let mut heads = Vec::new();
        for level in self.declared.levels[&factor].iter().filter(present) {
            for show in shown {
                let name = if shown.len() == 1 { level.clone() } else { format!("{level} {show}") };
                let at = Some((factor, level.clone()));
                heads.push(Head { name, level: at, show: show.to_string() });
            }
        }
        heads
    }
}

/// A column of measured values.
struct Head {
    name: String,
    level: Option<(Factor, String)>,
    show: String,
}

impl Head {
    fn at(&self, chosen: &Chosen) -> Chosen {
        match &self.level {
            Some((factor, level)) => chosen.with(*factor, level),
            None => chosen.clone(),
        }
    }
}

/// Whether a published table has something to stand beside a column: of the same statistic.
fn stands_for(published: &Published, head: &Head) -> bool {
    published.figures.iter().any(|figure| statistic(published, figure) == head.show)
}

fn published_column(published: &Published, head: &Head, heads: usize) -> Column {
    let of = match heads {
        1 => published.name.clone(),
        _ => format!("{} {}", published.name, head.name),
    };
    Column::number(of, 0)
}

/// What its source prints at `here`, of the rows' factor.
fn printed(
    published: &Published,
    head: &Head,
    rows: Factor,
    here: &Chosen,
    case: Option<&CaseResult>,
) -> Text {
    let fits = |figure: &&PublishedFigure| {
        statistic(published, figure) == head.show
            && names(figure, rows)
            && head.level.as_ref().is_none_or(|(factor, _)| names(figure, *factor))
            && is_of(figure, here, case)
    };
    Text::from(figures_text(published, published.figures.iter().filter(fits)))
}
