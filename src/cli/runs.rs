//! `ipcmark runs`: the runs in the store, and whether they are what was stored.

use clap::Args;
use model::words::counted;

use super::{Common, Failure, complain, print};
use ::report::{Block, Document, Row, Section, Table, Text};
use store::{RunRow, RunStatus, Store, command_line};

/// Flags of `runs`.
#[derive(Args)]
pub struct RunsArgs {
    /// Read everything, and compare it with its checksums; exit with 1 if anything is damaged
    #[arg(long)]
    check: bool,
}

/// Lists the runs.
pub fn runs(common: &Common, args: &RunsArgs) -> Result<u8, Failure> {
    let store = Store::open_existing(&common.store_path()?)?;
    if args.check { check(&store) } else { list(common, &store) }
}

fn list(common: &Common, store: &Store) -> Result<u8, Failure> {
    let mut damaged = Vec::new();
    let mut labelled = false;
    let mut table = Table::new(format!("Runs in {}", store.path().display()))
        .numbers([("run", 0)])
        .words([("label", 0), ("started (UTC)", 0), ("status", 0)])
        .numbers([("launches", 1)])
        .words([("command", 0)]);
    for id in store.run_ids()? {
        let cells = match store.run_row(id) {
            Ok(run) => {
                labelled |= run.label.is_some();
                [
                    Text::from(run.label.as_deref().unwrap_or("")),
                    Text::from(run.started.as_str()),
                    Text::from(status(&run)),
                    Text::from(run.launches.to_string()),
                    Text::new().code(command_line(&run.argv)),
                ]
            }
            Err(error) if error.is_damage() => {
                damaged.push(error.to_string());
                ["", "", "damaged", "", ""].map(Text::from)
            }
            Err(error) => return Err(error.into()),
        };
        table.rows.push(Row::new([Text::from(id.to_string())].into_iter().chain(cells)));
    }
    if !labelled {
        table.columns.remove(1);
        table.rows.iter_mut().for_each(|row| drop(row.cells.remove(1)));
    }
    let mut document = Document::new("What was measured");
    let section = Section::new("runs", "Runs");
    document.sections.push(if table.rows.is_empty() {
        section.with(Block::paragraph(Text::from(format!(
            "None yet: `ipcmark` measures, and keeps it in {}.",
            store.path().display()
        ))))
    } else {
        section.with(table)
    });
    common.show(&document)?;
    damaged.iter().for_each(|line| complain(line));
    Ok(u8::from(!damaged.is_empty()))
}

fn status(run: &RunRow) -> &'static str {
    match (run.status, run.is_claimed) {
        (RunStatus::Complete, _) => "complete",
        (RunStatus::Interrupted, _) => "interrupted",
        (RunStatus::Running, Some(true)) => "running",
        (RunStatus::Running, Some(false)) => "killed",
        (RunStatus::Running, None) => "running or killed",
    }
}

/// Says of each damaged run what is wrong with it.
fn check(store: &Store) -> Result<u8, Failure> {
    let found = store.check()?;
    let file = store.path().display();
    for line in &found.file {
        print(&format!("{file} itself is damaged: {}\n", line.replace('\n', " ")))?;
    }
    for (_, line) in &found.damaged {
        print(&format!("{line}\n"))?;
    }
    let (runs, launches) = (found.whole, found.launches);
    print(&format!("whole: {}, {}\n", counted(runs, "run"), counted(launches, "launch")))?;
    Ok(u8::from(!(found.file.is_empty() && found.damaged.is_empty())))
}
