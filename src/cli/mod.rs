//! The command line: one file per subcommand. A flag is parsed once, here at the door.

mod ab;
mod args;
mod arms;
mod awaited;
mod bare;
mod capacity;
mod choice;
mod choose;
mod clean;
mod compare;
mod completions;
mod config;
mod doctor;
mod document_output;
mod engine;
mod events;
mod examples;
mod exit_codes;
mod explain;
mod export;
mod factors;
mod fleet;
mod fleet_report;
mod floor;
mod forecast;
mod input;
mod lab;
mod list;
mod lookup;
mod man;
mod open_loop;
mod output;
mod own_engines;
mod peer;
mod plugins;
#[cfg(test)]
mod printed;
mod progress;
#[cfg(test)]
mod refusals;
mod report;
mod request;
mod resume;
mod routes;
mod run;
mod runs;
mod schema;
mod screen;
mod shown;
mod signals;
mod step_summary;
mod study;
mod typst;
mod undone;
mod value_parsers;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use ::report::{Document, terminal};
use ::study::builtin;
use mechanisms::MECHANISMS;
use model::hint;
use model::visible::{one_line, visible_lines};
use serde::Serialize;
use store::{Store, StoreError};
use sys::process;

pub use arms::{WATCH, watch};
pub use exit_codes::UNAVAILABLE;
/// This program, whatever became of its file since.
const PROGRAM: &str = "/proc/self/exe";
/// What the program was built from (build.rs); empty where nobody knows.
pub const BUILT_FROM: &str = env!("IPCMARK_BUILT_FROM");

/// What `--version` says: `-V` leaves out what the program was built from.
fn long_version() -> String {
    let built_from = match BUILT_FROM.split_once(", ") {
        Some((commit, _)) => format!("commit {commit}, with changes that are in no commit"),
        None if BUILT_FROM.is_empty() => "commit unknown: not built in a checkout of git".into(),
        None if BUILT_FROM.contains(' ') => format!("commit unknown: a {BUILT_FROM}"),
        None => format!("commit {BUILT_FROM}, without changes"),
    };
    format!("{}\n{built_from}", env!("CARGO_PKG_VERSION"))
}

/// Measures how processes talk to each other, and says how sure it is.
///
/// Without a command: every mechanism of this machine in about a minute, the answer on the
/// terminal, everything else in report.html. It takes the flags of `run`, as in
/// `ipcmark --budget 10m`: see `ipcmark run --help`.
#[derive(Parser)]
#[command(name = "ipcmark", version, long_version = long_version(), max_term_width = 80, arg_required_else_help = false)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Flags of every command.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Options of every command")]
struct Common {
    /// The file that stores every run; none stores nothing [default: $IPCMARK_STORE, else
    /// ~/.local/share/ipcmark/runs.sqlite]
    #[arg(long, global = true, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Whether to colour: auto (a terminal without NO_COLOR), always, never
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto",
          value_parser = ["auto", "always", "never"], hide_possible_values = true)]
    color: String,
    /// No progress on standard error
    #[arg(short, long, global = true)]
    quiet: bool,
    /// Show every result; twice: all that the page shows
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Defaults that files gave.
    #[arg(skip)]
    config: config::Config,
    /// Those of them that stand for flags which the command line doesn't have.
    #[arg(skip)]
    defaults: Vec<config::Setting>,
}

#[derive(Subcommand)]
enum Command {
    /// Measure chosen mechanisms, workloads, sizes and placements
    Run(Box<args::RunArgs>),
    /// Compare two command prefixes, settings or builds in the same rounds: faster, slower, equivalent
    Ab(Box<ab::AbArgs>),
    /// Measure the bounds of results: clocks, kernel calls, copying, cache lines, wake-ups
    Floor(floor::FloorArgs),
    /// List the mechanisms of this machine; for each that it lacks, why, and what would enable it
    List(list::ListArgs),
    /// Is this machine fit to measure on? Advice, never a change
    Doctor(doctor::DoctorArgs),
    /// Recommend a mechanism for a load and a latency bound
    Choose(Box<choose::ChooseArgs>),
    /// Show where a message's time goes: calls, copying, waking, waiting, switching
    Explain(Box<explain::ExplainArgs>),
    /// Run a study, an experiment declared in advance: built in, or a TOML file
    Study(study::StudyArgs),
    /// List the runs in the store
    Runs(runs::RunsArgs),
    /// Compare two stored runs, case by case: faster, slower, equivalent; with an exit code for a gate
    Compare(compare::CompareArgs),
    /// Show a stored run, or write it up
    Report(report::ReportArgs),
    /// Write a stored run in a format for other programs
    Export(export::ExportArgs),
    /// Print the JSON Schema of what ipcmark writes for other programs
    Schema(schema::SchemaArgs),
    /// Measure on every node of a Slurm allocation, and between all pairs of nodes
    Fleet(Box<fleet::FleetArgs>),
    /// Make hosts, switches and routers from network namespaces, with a line that can be impaired
    Lab(lab::LabArgs),
    /// Add your own mechanism: write a skeleton, check that it is correct
    Engine(engine::EngineArgs),
    /// Remove what killed runs left behind
    Clean,
    /// Print completions for a shell, as in `source <(ipcmark completions bash)`
    Completions(completions::CompletionsArgs),
    /// Print the manual, as in `ipcmark man | man -l -`
    Man(man::ManArgs),
    /// The process in which floors are measured
    #[command(hide = true)]
    FloorWorker,
    /// The runs of the store and their labels, for the completions of a shell
    #[command(hide = true)]
    CompleteRuns,
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

    /// Nobody reads standard output any more: the exit code of a program that SIGPIPE ends. Without a line nothing is
    /// said.
    fn closed(line: &str) -> Failure {
        Failure { line: line.into(), code: exit_codes::CLOSED }
    }

    /// Anything else: exit code 1.
    fn other(line: impl Into<String>) -> Failure {
        Failure { line: line.into(), code: 1 }
    }
}

impl From<StoreError> for Failure {
    /// An unusable store is a usage error.
    fn from(error: StoreError) -> Failure {
        if error.is_unusable() {
            return Failure::usage(error.to_string());
        }
        // SQLite reports a write beyond the limit like any other failed write.
        if process::has_hit_file_size_limit() {
            return Failure::other(format!(
                "{error}; a write exceeded {}: raise it, or choose another --store",
                process::FILE_SIZE_LIMIT
            ));
        }
        Failure::other(error.to_string())
    }
}

/// Parses the command line, does what it says, gives the exit code.
pub fn main() -> ExitCode {
    let words = bare::with_command(std::env::args_os().collect());
    let code = answer(&words);
    // Whatever goes wrong before the comparison or in it is no verdict on a commit.
    ExitCode::from(if compare::asks_for_bisect(&words.all) {
        compare::for_bisect(code)
    } else {
        code
    })
}

fn answer(words: &bare::Words) -> u8 {
    // A process that this program started for itself has all its settings from it.
    let own =
        std::env::args_os().skip(1).take(2).any(|text| text == "floor-worker" || text == "relay");
    let read =
        if own { Ok(config::Config::default()) } else { config::Config::read(&Cli::command()) };
    let (config, broken) = match read {
        Ok(config) => (config, None),
        Err(line) => (config::Config::default(), Some(line)),
    };
    let parsed = parse(&config, &words.all);
    // Whoever asks for help, or tidies up, needs no defaults.
    if needs_defaults(&parsed) {
        if let Some(line) = broken {
            return give_up(&Failure::usage(line));
        }
        config.unread.iter().for_each(|line| complain(line));
    }
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return refuse(&error, words),
    };
    match dispatch(words, &cli) {
        Ok(code) => code,
        Err(failure) => give_up(&failure),
    }
}

/// Does what a command line says. A command that opens mechanisms, or makes anything else that could outlive it, asks
/// for the signals: they are taken over before its first step. The others end at once.
fn dispatch(words: &bare::Words, cli: &Cli) -> Result<u8, Failure> {
    let common = &cli.common;
    if common.store_path().is_ok_and(|path| path == std::path::Path::new(store::NONE)) {
        hint::keep_nothing();
    } else if let Some(store) = common.store.as_ref().and_then(|path| path.to_str()) {
        hint::name_store(&shlex::try_quote(store).unwrap_or(store.into()));
    }
    // Where nobody reads what it says, it is told to no one.
    if !matches!(&cli.command, Some(Command::CompleteRuns | Command::FloorWorker)) {
        undone::tell();
    }
    let signals = signals::take_over;
    match &cli.command {
        Some(Command::Run(args)) if words.is_bare => bare::run(common, args, &signals()?),
        Some(Command::Run(args)) => run::chosen(common, args, &signals()?),
        Some(Command::Ab(args)) => ab::ab(common, args, &signals()?),
        Some(Command::Floor(args)) => floor::floor(common, args, &signals()?),
        Some(Command::List(args)) => list::list(common, args, &signals()?),
        Some(Command::Doctor(args)) => doctor::doctor(common, args),
        Some(Command::Choose(args)) => choose::choose(common, args, &signals()?),
        Some(Command::Explain(args)) => explain::explain(common, args, &signals()?),
        Some(Command::Study(args)) => study::study(common, args),
        Some(Command::Runs(args)) => runs::runs(common, args),
        Some(Command::Compare(args)) => compare::compare(common, args),
        Some(Command::Report(args)) => report::report(common, args),
        Some(Command::Export(args)) => export::export(common, args),
        Some(Command::Schema(args)) => schema::schema(args),
        Some(Command::Fleet(args)) => fleet::fleet(common, args, &signals()?),
        Some(Command::Lab(args)) => lab::lab(common, args),
        Some(Command::Engine(args)) => engine::engine(common, args, &signals()?),
        Some(Command::Clean) => clean::run(common),
        Some(Command::Completions(args)) => completions::completions(args),
        Some(Command::Man(args)) => man::man(args),
        Some(Command::CompleteRuns) => completions::runs(common),
        Some(Command::FloorWorker) => Ok(::run::floor::serve()),
        None => unreachable!("without a command it is `run`"),
    }
}

fn give_up(failure: &Failure) -> u8 {
    complain(&failure.line);
    failure.code
}

/// Whether files of defaults could say anything to this command.
fn needs_defaults(parsed: &Result<Cli, clap::Error>) -> bool {
    match parsed {
        Ok(cli) => !matches!(
            cli.command,
            Some(Command::Clean | Command::Completions(_) | Command::Man(_) | Command::FloorWorker)
        ),
        Err(error) => !matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion),
    }
}

/// A command line, with defaults from files.
fn parse(config: &config::Config, words: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = config.apply(examples::put(Cli::command())).try_get_matches_from(words)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    cli.common.defaults = config.used(&matches);
    cli.common.config = config.clone();
    Ok(cli)
}

/// A wrong command line in one line; help and version as they are.
fn refuse(error: &clap::Error, words: &bare::Words) -> u8 {
    let done = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render();
            let colored = match words.color().as_deref() {
                Some("always") => true,
                Some("never") => false,
                _ => screen::is_colored(&io::stdout()),
            };
            let text = if colored { text.ansi().to_string() } else { text.to_string() };
            print_raw(&screen::readable(&text))
        }
        _ => Err(Failure::usage(words.misplaced().unwrap_or_else(|| in_one_line(error)))),
    };
    match done {
        Ok(()) => 0,
        Err(failure) => give_up(&failure),
    }
}

/// What is wrong with a command line, without what clap wraps around it.
fn in_one_line(error: &clap::Error) -> String {
    let said = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        _ => String::new(),
    };
    let word = said(ContextKind::InvalidSubcommand);
    let line = match error.kind() {
        // Of a command that needs another, clap tells the whole help.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "no command given".into(),
        ErrorKind::InvalidSubcommand
            if MECHANISMS.iter().any(|mechanism| mechanism.is_meant(&word)) =>
        {
            format!("`{word}` is no command: `ipcmark run {word}` measures it")
        }
        ErrorKind::InvalidSubcommand if builtin::find(&word).is_ok() => {
            format!("`{word}` is no command but a study: `ipcmark study run {word}` measures it")
        }
        _ => {
            let text = error.render().to_string();
            let message = text.split("\n\nUsage:").next().unwrap_or_default();
            let message = message.split("\n\nFor more information").next().unwrap_or_default();
            let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
            // No word of a command begins with a dash, and `--` before one helps nobody.
            let lines: Vec<&str> = lines.filter(|line| !line.contains("as a value, use")).collect();
            let line = lines.join("; ").replace(":; ", ": ").replace("; [", " [");
            line.trim_start_matches("error: ").to_string()
        }
    };
    format!("{line} (see --help)")
}

impl Common {
    fn store_path(&self) -> Result<PathBuf, StoreError> {
        self.store.clone().map_or_else(Store::default_path, Ok)
    }

    fn colored(&self, stream: &impl IsTerminal) -> bool {
        match self.color.as_str() {
            "always" => true,
            "never" => false,
            _ => screen::is_colored(stream),
        }
    }

    /// Shows a document on standard output.
    fn show(&self, document: &Document) -> Result<(), Failure> {
        let stdout = io::stdout();
        let style = terminal::Style {
            width: screen::width(),
            color: self.colored(&stdout),
            unfold: self.verbose > 1,
            ascii: screen::is_ascii(),
        };
        print_raw(&terminal::render(document, &style))
    }
}

/// An answer in JSON, as text.
fn pretty(answer: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(answer);
    text.map(|text| text + "\n").map_err(|error| Failure::other(format!("write JSON: {error}")))
}

/// One line on standard error, fit for a terminal whatever it quotes. Where nobody reads it, nothing is
/// lost but the line.
fn complain(line: &str) {
    if !line.is_empty() {
        tell(&format!("ipcmark: {line}"));
    }
}

/// Writes a line to standard error, on a terminal broken between words.
fn tell(line: &str) {
    let line = one_line(line);
    let mut err = io::stderr();
    let columns = screen::columns_of(&err).filter(|_| err.is_terminal());
    let _ = match columns {
        Some(columns) => write!(err, "{}", terminal::broken(&line, columns, screen::is_ascii())),
        None => writeln!(err, "{}", screen::readable(&line)),
    };
}

/// Writes words for a person to standard output.
fn say(text: &str) -> Result<(), Failure> {
    print(&screen::readable(text))
}

/// Writes to standard output as it is where a program reads; a terminal obeys nothing of it.
fn print(text: &str) -> Result<(), Failure> {
    if io::stdout().is_terminal() { print_raw(&visible_lines(text)) } else { print_raw(text) }
}

/// Writes what was rendered for a terminal to standard output; a closed pipe is a failure, not a panic.
fn print_raw(text: &str) -> Result<(), Failure> {
    let mut out = output::standard()?.lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| output::Unwritten::to_standard_output(&error).into())
}
