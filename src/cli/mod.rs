//! The command line: one file per subcommand. A flag is parsed once, here at the door.

mod args;
mod awaited;
mod capacity;
mod choose;
mod clean;
mod compare;
mod completions;
mod config;
mod doctor;
mod document_output;
mod events;
mod examples;
mod explain;
mod export;
mod fleet;
mod fleet_report;
mod floor;
mod forecast;
mod input;
mod lab;
mod list;
mod lookup;
mod man;
mod named;
mod open_loop;
mod output;
mod own_args;
mod peer;
mod probe_effect;
mod progress;
mod report;
mod resume;
mod routes;
mod run;
mod runs;
mod signals;
mod study;
mod typst;
mod value_parsers;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use ::report::{Document, terminal};
use ::run::launch::Interrupt;
use mechanisms::MECHANISMS;
use model::visible::{one_line, visible_lines};
use store::{Store, StoreError};
use sys::process;

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
/// terminal, everything else in report.html.
#[derive(Parser)]
#[command(name = "ipcmark", version, long_version = long_version(), max_term_width = 80, arg_required_else_help = false)]
struct Cli {
    #[command(flatten)]
    common: Common,
    /// Without a command: more sizes, which take longer
    #[arg(long)]
    full: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Flags of every command.
#[derive(clap::Args, Clone)]
#[command(next_help_heading = "Options of every command")]
struct Common {
    /// The file that keeps every run; none keeps nothing [default: $IPCMARK_STORE, else
    /// ~/.local/share/ipcmark]
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
    /// Clocks, kernel calls, copying, cache lines, wake-ups: the bounds to compare results with
    Floor(floor::FloorArgs),
    /// The mechanisms of this machine; of the others, why not and what would enable them
    List(list::ListArgs),
    /// Is this machine fit to measure on? Advice, never a change
    Doctor(doctor::DoctorArgs),
    /// Recommends a mechanism for a load and a latency bound
    Choose(Box<choose::ChooseArgs>),
    /// Where a message's time goes: calls, copying, waking, waiting, switching
    Explain(Box<explain::ExplainArgs>),
    /// Experiments declared before they are run: built in, or from a TOML file
    Study(study::StudyArgs),
    /// Tracing overhead: per operation, per firing, and whether a curve keeps its shape
    ProbeEffect(Box<probe_effect::ProbeEffectArgs>),
    /// The runs in the store
    Runs(runs::RunsArgs),
    /// Two runs, case by case: faster, slower, equivalent; an exit code for a gate
    Compare(compare::CompareArgs),
    /// Write up a stored run again
    Report(report::ReportArgs),
    /// A stored run for other programs
    Export(export::ExportArgs),
    /// The same experiment on every node of a Slurm allocation, and between all pairs of them
    Fleet(Box<fleet::FleetArgs>),
    /// Hosts, switches and routers on this machine, as network namespaces; a line to impair
    Lab(lab::LabArgs),
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
    /// A store that can't be used is as wrong a word on the command line as any.
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
    // A process that this program started for itself has all its settings from it.
    let own = std::env::args_os().skip(1).take(2).any(|it| it == "floor-worker" || it == "relay");
    let read =
        if own { Ok(config::Config::default()) } else { config::Config::read(&Cli::command()) };
    let (config, broken) = match read {
        Ok(config) => (config, None),
        Err(line) => (config::Config::default(), Some(line)),
    };
    let parsed = parse(&config, std::env::args_os());
    // Whoever asks for help, or tidies up, needs no defaults.
    if needs_defaults(&parsed) {
        if let Some(line) = broken {
            return give_up(&Failure::usage(line));
        }
        config.unread.iter().for_each(|line| complain(line));
    }
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    match dispatch(&config, &cli) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => give_up(&failure),
    }
}

/// Does what a command line says. A command that opens mechanisms, or makes anything else that could outlive it, asks
/// for the signals: they are taken over before its first step. The others end at once.
fn dispatch(config: &config::Config, cli: &Cli) -> Result<u8, Failure> {
    let common = &cli.common;
    if common.store_path().is_ok_and(|path| path == std::path::Path::new(store::NONE)) {
        model::unkept::keep_nothing();
    }
    let signals = signals::take_over;
    match &cli.command {
        None => main_job(config, cli, &signals()?),
        Some(Command::Run(args)) => run::chosen(common, args, &signals()?),
        Some(Command::Floor(args)) => floor::floor(common, args, &signals()?),
        Some(Command::List(args)) => list::list(common, args, &signals()?),
        Some(Command::Doctor(args)) => doctor::doctor(common, args),
        Some(Command::Choose(args)) => choose::choose(common, args, &signals()?),
        Some(Command::Explain(args)) => explain::explain(common, args, &signals()?),
        Some(Command::Study(args)) => study::study(common, args),
        Some(Command::ProbeEffect(args)) => probe_effect::probe_effect(common, args, &signals()?),
        Some(Command::Runs(args)) => runs::runs(common, args),
        Some(Command::Compare(args)) => compare::compare(common, args),
        Some(Command::Report(args)) => report::report(common, args),
        Some(Command::Export(args)) => export::export(common, args),
        Some(Command::Fleet(args)) => fleet::fleet(common, args, &signals()?),
        Some(Command::Lab(args)) => lab::lab(common, args),
        Some(Command::Clean) => clean::run(common),
        Some(Command::Completions(args)) => completions::completions(args),
        Some(Command::Man(args)) => man::man(args),
        Some(Command::FloorWorker) => Ok(::run::floor::serve()),
    }
}

fn give_up(failure: &Failure) -> ExitCode {
    complain(&failure.line);
    ExitCode::from(failure.code)
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
fn parse(
    config: &config::Config,
    words: impl IntoIterator<Item = OsString>,
) -> Result<Cli, clap::Error> {
    let matches = config.apply(examples::put(Cli::command())).try_get_matches_from(words)?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    cli.common.defaults = config.used(&matches);
    cli.common.config = config.clone();
    Ok(cli)
}

/// What is done without a command: `run`, with its defaults.
fn main_job(config: &config::Config, asked: &Cli, interrupt: &Interrupt) -> Result<u8, Failure> {
    let words = ["ipcmark", "run"].map(OsString::from);
    let found = parse(config, words).map_err(|error| Failure::usage(in_one_line(&error)))?;
    match (&found.command, asked.full) {
        (Some(Command::Run(args)), full) => {
            let common = Common { defaults: found.common.defaults, ..asked.common.clone() };
            run::default(&common, args, full, interrupt)
        }
        _ => unreachable!("`run` was parsed"),
    }
}

/// A wrong command line in one line; help and version as they are.
fn refuse(error: &clap::Error) -> ExitCode {
    let done = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let text = error.render();
            let colored = io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
            let text = if colored { text.ansi().to_string() } else { text.to_string() };
            print_raw(&text)
        }
        _ => Err(Failure::usage(in_one_line(error))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
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
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            "what is to be done? a command is missing".into()
        }
        ErrorKind::InvalidSubcommand if MECHANISMS.iter().any(|it| it.is_meant(&word)) => {
            format!("`{word}` is no command: `ipcmark run {word}` measures it")
        }
        _ => {
            let text = error.render().to_string();
            let message = text.split("\n\nUsage:").next().unwrap_or_default();
            let message = message.split("\n\nFor more information").next().unwrap_or_default();
            let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
            // No word of a command begins with a dash, and `--` before one helps nobody.
            let lines: Vec<&str> = lines.filter(|line| !line.contains("as a value, use")).collect();
            let line = lines.join("; ").replace(":; ", ": ");
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
            unfold: self.verbose > 1,
        };
        print_raw(&terminal::render(document, &style))
    }
}

/// One line on standard error, fit for a terminal whatever it quotes. Where nobody reads it, nothing is
/// lost but the line.
fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "ipcmark: {}", one_line(line));
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

fn terminal_width() -> usize {
    let asked = std::env::var("COLUMNS").ok().and_then(|it| it.parse().ok());
    let seen = rustix::termios::tcgetwinsize(io::stdout()).ok().map(|it| usize::from(it.ws_col));
    // Zero columns are a terminal that doesn't know its width.
    asked.or(seen).filter(|width| *width > 0).unwrap_or(80).clamp(40, 120)
}
