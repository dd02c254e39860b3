//! `ipcmark runs`: the runs in the store.

use super::{Common, Failure};
use crate::campaign::alive;
use crate::report::{Block, Column, Document, Row, Section, Table, Text};
use crate::store::{RunRow, RunStatus, Store, command_line};

/// Lists the runs.
pub fn runs(common: &Common) -> Result<u8, Failure> {
    let store = Store::open_existing(&common.store_path())?;
    let runs = store.runs()?;
    let labelled = runs.iter().any(|run| run.label.is_some());
    let mut table = Table {
        caption: format!("Runs in {}", store.path().display()),
        columns: vec![
            Column::number("run", 0),
            Column::text("label", 0),
            Column::text("started (UTC)", 0),
            Column::text("status", 0),
            Column::number("launches", 1),
            Column::text("command", 0),
        ],
        ..Default::default()
    };
    for run in runs {
        table.rows.push(Row::new([
            Text::from(run.id.to_string()),
            Text::from(run.label.as_deref().unwrap_or("")),
            Text::from(run.started.as_str()),
            Text::from(status(&run)),
            Text::from(run.launches.to_string()),
            Text::new().code(command_line(&run.argv)),
        ]));
    }
    if !labelled {
        table.columns.remove(1);
        table.rows.iter_mut().for_each(|row| drop(row.cells.remove(1)));
    }
    let mut document = Document::new("What was measured");
    let section = Section::new("runs", "Runs");
    document.sections.push(match table.rows.is_empty() {
        true => section.with(Block::paragraph(Text::from(format!(
            "None yet: `ipcmark` measures, and keeps it in {}.",
            store.path().display()
        )))),
        false => section.with(table),
    });
    common.show(&document)?;
    Ok(0)
}

fn status(run: &RunRow) -> &'static str {
    match run.status {
        RunStatus::Complete => "complete",
        RunStatus::Interrupted => "interrupted",
        RunStatus::Running if alive(run.pid) => "running",
        RunStatus::Running => "killed",
    }
}
