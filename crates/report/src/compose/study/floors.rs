//! A study's tables of the machine's bounds, with the published figures beside.

use super::Written;
use super::published::{self, NOTHING};
use crate::{Column, Emphasis, Row, Table, Text, units};
use analysis::Judged;
use analysis::floor_rows::{FloorRow, Repeats, rows};
use study::format::{FloorSpec, Published};

impl Written<'_> {
    /// The table that `spec` asks for; a run without floors has none of its rows.
    pub(super) fn floor(&self, spec: &FloorSpec, judged: &Judged) -> Table {
        let study = &self.declared.study;
        let floors = judged.run.floors.as_ref();
        let beside = published::named(study, &spec.beside).into_iter().next();
        let mut table = Table::new(spec.title.clone());
        table.columns = vec![Column::text("bound", 0), Column::number("here", 0)];
        if let Some(beside) = beside {
            table.columns.push(Column::text(&beside.name, 0));
            table.notes.push(published::note(beside));
            let same = |floor_spec: &&FloorSpec| floor_spec.beside.as_ref() == spec.beside.as_ref();
            let last = study.floor.iter().rfind(same).is_some_and(|last| std::ptr::eq(last, spec));
            let of_all = beside.figures.iter().filter(|figure| figure.floor.is_none());
            let of_all = published::figures_text(beside, of_all).filter(|_| last);
            table.notes.extend(
                of_all.map(|text| Text::from(format!("Without a bound of that name: {text}."))),
            );
        }
        let Some(floors) = floors else {
            table.notes.push(Text::from("The run holds no floors."));
            return table;
        };
        for name in &spec.of {
            for row in rows(floors, name.get_ref()) {
                let printed = beside.map(|published| printed(published, name.get_ref()));
                let mut cells = vec![Text::from(row.what.as_str()), found(&row)];
                cells.extend(printed.map(Text::from));
                let emphasis = Emphasis::Muted.only_if(row.found.is_err());
                table.rows.push(Row::new(cells).emphasis(emphasis));
            }
            let there = self.elsewhere.as_ref().and_then(|there| Some((there, there.floors?)));
            if let Some((there, floors)) = there {
                for row in rows(floors, name.get_ref()) {
                    let name = format!("  {}: {}", there.name, row.what);
                    let mut cells = vec![Text::new().muted(name), found(&row)];
                    cells.resize(table.columns.len(), Text::new());
                    table.rows.push(Row::new(cells).emphasis(Emphasis::Muted));
                }
            }
        }
        table
    }
}

/// The median with its interval; of two modes both; or why there is nothing.
fn found(row: &FloorRow) -> Text {
    let found = match &row.found {
        Ok(found) => found,
        Err(why) => return Text::new().muted(why.as_str()),
    };
    let of = |value: f64| match row.unit {
        "ns" => units::duration(value),
        _ => units::Unit::BytesPerSecond.format(value),
    };
    match found {
        Repeats { median: Some(median), low: Some(low), high: Some(high), .. } => {
            Text::from(format!("{} [{}, {}]", of(*median), of(*low), of(*high)))
        }
        Repeats { median: Some(median), .. } => Text::from(of(*median)),
        Repeats { modes: Some(modes), .. } => {
            Text::from(format!("{} and {} (two modes)", of(modes.low), of(modes.high)))
        }
        _ => "–".into(),
    }
}

fn printed(published: &Published, name: &str) -> String {
    let figures = published.figures.iter().filter(|figure| figure.floor.as_deref() == Some(name));
    published::figures_text(published, figures).unwrap_or_else(|| NOTHING.into())
}
