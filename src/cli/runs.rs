//! `ipcmark runs`: the runs in the store, as a list or as pages, and whether they are what was stored; which of them to
//! remove.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::{Args, Subcommand};
use model::words::counted;
use serde_json::json;

use super::output::Folder;
use super::{Common, Failure, complain, print, report, say};
use ::report::compose::index::{Indexed, index, page_name};
use ::report::html;
use ::report::{Block, Document, Row, Section, Table, Text, units};
use analysis::Judged;
use model::visible::one_line;
use store::{RunRow, RunStatus, Store, command_line};

/// Flags of `runs`.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RunsArgs {
    /// Check everything against its checksums; exit with 1 if anything is damaged
    #[arg(long)]
    check: bool,
    /// text, or json: one object with every run
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = ["text", "json"],
          hide_possible_values = true, conflicts_with = "check")]
    format: String,
    /// Write index.html into this folder, with a row for each run and the history of cases, and a page of each run
    #[arg(long, value_name = "DIR", conflicts_with_all = ["check", "format"])]
    html: Option<PathBuf>,
    /// Then open index.html with $BROWSER, else with xdg-open
    #[arg(long, requires = "html")]
    open: bool,
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Remove runs from the store, for good, and nothing else
    Rm {
        /// Each run: its number, label, `last`, or `last~1` for the one before it
        #[arg(value_name = "RUN", required = true)]
        runs: Vec<String>,
    },
}

/// Lists the runs.
pub fn runs(common: &Common, args: &RunsArgs) -> Result<u8, Failure> {
    if let Some(What::Rm { runs }) = &args.what {
        return remove(common, runs);
    }
    let store = Store::open_existing(&common.store_path()?)?;
    if let Some(folder) = &args.html {
        let code = write_pages(&store, folder)?;
        let index = folder.join(INDEX);
        return match args.open && index.is_file() {
            true => shown_by_browser(&index).map(|()| code),
            false => Ok(code),
        };
    }
    match args.format.as_str() {
        _ if args.check => check(&store),
        "json" => list_json(&store),
        _ => list(common, &store),
    }
}

/// Removes the runs that are named, all of them or none.
fn remove(common: &Common, names: &[String]) -> Result<u8, Failure> {
    let mut store = Store::reopen(&common.store_path()?)?;
    let mut ids = Vec::new();
    for name in names {
        // Before any is gone: `last~1` means what it meant.
        let id = store.find_run(name).map_err(|error| Failure::usage(error.to_string()))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let lines: Vec<String> = ids.iter().map(|id| removed(&store, *id)).collect();
    store.remove_runs(&ids)?;
    lines.iter().try_for_each(|line| say(&format!("{}\n", one_line(line))))?;
    Ok(0)
}

/// What is said of a run that is gone.
fn removed(store: &Store, id: i64) -> String {
    match store.run_row(id) {
        Err(_) => format!("removed run {id}, which was damaged"),
        Ok(run) => format!(
            "removed run {id}{} of {}, {}: {}",
            run.label.as_ref().map_or(String::new(), |label| format!(" ({label})")),
            run.started,
            units::counted(run.launches, "launch"),
            command_line(&run.argv)
        ),
    }
}

/// The page that leads to all others.
const INDEX: &str = "index.html";

/// Starts what shows a page, and leaves it to itself.
fn shown_by_browser(page: &Path) -> Result<(), Failure> {
    let browser = std::env::var_os("BROWSER").filter(|name| !name.is_empty());
    let browser = browser.unwrap_or_else(|| "xdg-open".into());
    let page = page.canonicalize().unwrap_or_else(|_| page.into());
    let mut command = Command::new(&browser);
    command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(|error| {
        let (browser, page) = (Path::new(&browser).display(), page.display());
        Failure::usage(format!("--open: start {browser}: {error}: set $BROWSER, or open {page}"))
    })
}

/// Writes the page of each run, and the one that leads to them.
fn write_pages(store: &Store, path: &Path) -> Result<u8, Failure> {
    const OTHER: &str = "name another folder with --html";
    let ids = store.run_ids()?;
    if ids.is_empty() {
        return say(&format!("{}\n", none_yet(store))).map(|()| 0);
    }
    let folder = Folder::make(path).map_err(|why| why.refused(OTHER))?;
    folder.try_out().map_err(|why| why.refused(OTHER))?;
    for name in ids.iter().map(|id| page_name(*id)).chain([INDEX.into()]) {
        if !folder.takes_page(&name).map_err(|why| why.refused(OTHER))? {
            let file = path.join(name);
            return Err(Failure::usage(format!(
                "{} is not a page of ipcmark: move it, or {OTHER}",
                file.display()
            )));
        }
    }
    let mut runs = Vec::new();
    let mut unreadable = Vec::new();
    for id in ids {
        let read = store.run_row(id).and_then(|row| Ok((row, Judged::of(store, id)?)));
        runs.push(match read {
            Ok((row, judged)) => {
                folder.write(&page_name(id), report::page(&judged), OTHER)?;
                Indexed::of(&judged, &row, status(&row))
            }
            Err(error) if error.is_unusable() => {
                unreadable.push(error.to_string());
                Indexed::unreadable(id, error.to_string())
            }
            Err(error) => return Err(error.into()),
        });
    }
    let page = html::render(&index(&store.path().display().to_string(), &runs));
    folder.write(INDEX, page, OTHER)?;
    let written = counted((runs.len() - unreadable.len()) as u64, "run");
    say(&format!(
        "{}: {written}, with a page of each beside it\n",
        one_line(&path.join(INDEX).display().to_string())
    ))?;
    unreadable.iter().for_each(|line| complain(line));
    Ok(u8::from(!unreadable.is_empty()))
}

fn none_yet(store: &Store) -> String {
    format!("None yet: `ipcmark` measures, and keeps it in {}.", store.path().display())
}

/// Lists the runs for a program.
fn list_json(store: &Store) -> Result<u8, Failure> {
    let (mut runs, mut damaged) = (Vec::new(), Vec::new());
    for id in store.run_ids()? {
        runs.push(match store.run_row(id) {
            Ok(run) => json!({
                "run": id,
                "label": run.label,
                "started": run.started,
                "status": status(&run),
                "launches": run.launches,
                "argv": run.argv,
                "reason": null,
            }),
            Err(error) if error.is_damage() => {
                damaged.push(error.to_string());
                json!({
                    "run": id,
                    "label": null,
                    "started": null,
                    "status": "damaged",
                    "launches": null,
                    "argv": null,
                    "reason": error.to_string(),
                })
            }
            Err(error) => return Err(error.into()),
        });
    }
    let store = store.path().display().to_string();
    let tool = model::tool::name();
    print(&format!(
        "{:#}\n",
        json!({ "schema_version": 1, "tool": tool, "store": store, "runs": runs })
    ))?;
    damaged.iter().for_each(|line| complain(line));
    Ok(u8::from(!damaged.is_empty()))
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
        section.with(Block::paragraph(none_yet(store)))
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
        say(&format!("{file} itself is damaged: {}\n", line.replace('\n', " ")))?;
    }
    for (_, line) in &found.damaged {
        say(&format!("{line}\n"))?;
    }
    let (runs, launches) = (found.whole, found.launches);
    say(&format!("whole: {}, {}\n", counted(runs, "run"), counted(launches, "launch")))?;
    Ok(u8::from(!(found.file.is_empty() && found.damaged.is_empty())))
}
