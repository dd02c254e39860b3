//! The command line: one file per subcommand. A flag is parsed once, here at the door.

mod args;
mod clean;
mod compare;
mod completions;
mod doctor;
mod events;
mod export;
mod floor;
mod list;
mod man;
mod progress;
mod report;
mod run;
mod runs;
mod study;
mod typst;
mod written;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{Parser, Subcommand};

use crate::report::{Document, terminal};
use crate::store::{Store, StoreError};

/// Measures how processes talk to each other, and says how sure it is.
///
/// Without a command: every mechanism of this machine in about a minute, verdicts and a table
/// on the terminal, everything else in report.html.
#[derive(Parser)]
#[command(name = "ipcmark", version, max_term_width = 80, arg_required_else_help = false)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Flags of every command.
#[derive(clap::Args)]
struct Common {
    /// The file that keeps every run [default: $IPCMARK_STORE, else ~/.local/share/ipcmark]
    #[arg(long, global = true, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Whether to colour: auto (a terminal without NO_COLOR), always, never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto",
          value_parser = ["auto", "always", "never"], hide_possible_values = true)]
    color: String,
    /// No progress on standard error
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Show folded details too
    #[arg(short, long, global = true)]
    verbose: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Measure chosen mechanisms, workloads, sizes and placements
    Run(Box<args::RunArgs>),
    /// Clocks, kernel calls, copying, cache lines, wake-ups: the bounds to hold results against
    Floor(floor::FloorArgs),
    /// What this machine offers; why not, and what would enable it
    List(list::ListArgs),
    /// Is this machine fit to measure on? Advice, never a change
    Doctor(doctor::DoctorArgs),
    /// Experiments that were declared before they are run: built in, or from a TOML file
    Study(study::StudyArgs),
    /// The runs in the store
    Runs,
    /// Two runs, case by case: faster, slower, equivalent; an exit code for a gate
    Compare(compare::CompareArgs),
    /// Write up a stored run again
    Report(report::ReportArgs),
    /// A stored run for other programs
    Export(export::ExportArgs),
    /// Remove what runs that were killed left behind
    Clean,
    /// Completions for a shell, as in `source <(ipcmark completions bash)`
    Completions(completions::CompletionsArgs),
    /// The manual, as in `ipcmark man | man -l -`
    Man(man::ManArgs),
    /// The process in which floors are measured
    #[command(hide = true)]
    FloorWorker,
}

/// Why a command ended badly: the line to print, and the exit code.
pub struct Failure {
    line: String,
    code: u8,
}

impl Failure {
    /// Bad usage: exit code 2.
    fn usage(line: impl Into<String>) -> Failure {
        Failure { line: line.into(), code: 2 }
    }

    /// Anything else: exit code 1.
    fn other(line: impl Into<String>) -> Failure {
        Failure { line: line.into(), code: 1 }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::other(error.to_string())
    }
}

/// Parses the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let common = &cli.common;
    let result = match &cli.command {
        None => run::default(common),
        Some(Command::Run(args)) => run::chosen(common, args),
        Some(Command::Floor(args)) => floor::floor(common, args),
        Some(Command::List(args)) => list::list(common, args),
        Some(Command::Doctor(args)) => doctor::doctor(common, args),
        Some(Command::Study(args)) => study::study(common, args),
        Some(Command::Runs) => runs::runs(common),
        Some(Command::Compare(args)) => compare::compare(common, args),
        Some(Command::Report(args)) => report::report(common, args),
        Some(Command::Export(args)) => export::export(common, args),
        Some(Command::Clean) => clean::run(common),
        Some(Command::Completions(args)) => completions::completions(args),
        Some(Command::Man(args)) => man::man(args),
        Some(Command::FloorWorker) => Ok(crate::floor::serve()),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            complain(&failure.line);
            ExitCode::from(failure.code)
        }
    }
}

/// A wrong command line in one line; help and version as they are.
fn refuse(error: &clap::Error) -> ExitCode {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return match error.print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let text = error.render().to_string();
    let told = text.split("\n\nUsage:").next().unwrap_or_default();
    let told = told.split("\n\nFor more information").next().unwrap_or_default();
    let lines: Vec<&str> = told.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let line = lines.join("; ");
    complain(&format!("{} (see --help)", line.trim_start_matches("error: ")));
    ExitCode::from(2)
}

impl Common {
    fn store_path(&self) -> PathBuf {
        self.store.clone().unwrap_or_else(Store::default_path)
    }

    fn colored(&self, stream: &impl IsTerminal) -> bool {
        match self.color.as_str() {
            "always" => true,
            "never" => false,
            _ => {
                std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty()) && stream.is_terminal()
            }
        }
    }

    /// Shows a document on standard output.
    fn show(&self, document: &Document) -> Result<(), Failure> {
        let stdout = io::stdout();
        let style = terminal::Style {
            width: terminal_width(),
            color: self.colored(&stdout),
            unfold: self.verbose,
        };
        print(&terminal::render(document, &style))
    }
}

/// One line on standard error. Where nobody reads it, nothing is lost but the line.
fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "ipcmark: {line}");
}

/// Writes to standard output; a closed pipe is a failure, not a panic.
fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| Failure::other(format!("write to standard output: {error}")))
}

fn terminal_width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|it| it.parse().ok());
    let seen = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|it| usize::from(it.ws_col));
    asked.or(seen).filter(|width| *width >= 40).unwrap_or(80).min(120)
}
