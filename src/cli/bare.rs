//! `ipcmark` without a command: `run`, with its flags, and a page.

use std::ffi::OsString;
use std::path::Path;

use clap::{Command, CommandFactory};

use super::args::RunArgs;
use super::awaited::Awaited;
use super::{Cli, Common, Failure, complain, run};
use ::run::launch::Interrupt;

/// The page that it leaves in the working directory.
const PAGE: &str = "report.html";

/// The words of a command line, among which a command is.
pub struct Words {
    pub all: Vec<OsString>,
    /// Whether none was typed.
    pub is_bare: bool,
}

/// The words that were typed, with `run` before them where they name no command.
pub fn with_command(mut typed: Vec<OsString>) -> Words {
    if typed.is_empty() {
        typed.push("ipcmark".into());
    }
    let is_bare = names_no_command(&Cli::command(), &typed[1..]);
    if is_bare {
        typed.insert(1, "run".into());
    }
    Words { all: typed, is_bare }
}

/// Whether flags alone are typed, or one first that is not for every command.
fn names_no_command(program: &Command, typed: &[OsString]) -> bool {
    let mut words = typed.iter().map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if ["-h", "--help", "-V", "--version"].contains(&&*word) {
            return false;
        }
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let known = program.get_arguments().find(|arg| arg.get_long() == Some(name));
            let Some(arg) = known else { return true };
            if arg.get_action().takes_values() && value.is_none() {
                words.next();
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            let known = |letter| program.get_arguments().any(|arg| arg.get_short() == Some(letter));
            if !letters.chars().all(known) {
                return true;
            }
        } else {
            return false;
        }
    }
    true
}

impl Words {
    /// What was said of colours, where the words were not parsed.
    pub fn color(&self) -> Option<String> {
        let words = || self.all.iter().map(|word| word.to_string_lossy());
        let joined = words().filter_map(|word| word.strip_prefix("--color=").map(str::to_string));
        let apart = words().zip(words().skip(1)).filter(|(flag, _)| flag == "--color");
        joined.chain(apart.map(|(_, when)| when.into_owned())).next_back()
    }

    /// What is wrong where a command stands behind flags that are its own.
    pub fn misplaced(&self) -> Option<String> {
        let program = Cli::command();
        let typed = self.all.iter().skip(2).filter(|_| self.is_bare);
        let command =
            typed.filter_map(|word| program.find_subcommand(word)).next()?.get_name().to_string();
        Some(format!("the flags of `{command}` follow it: begin with `ipcmark {command}`"))
    }
}

/// Measures every mechanism, and writes a page.
pub fn run(common: &Common, args: &RunArgs, interrupt: &Interrupt) -> Result<u8, Failure> {
    if let Some(name) = args.mechanisms.first() {
        return Err(Failure::usage(format!(
            "without a command every mechanism is measured: name some behind `run`, as in `ipcmark run {name}`"
        )));
    }
    let mut html = args.to.html.clone();
    if html.is_none() {
        // Nobody named the page: a folder that takes none is no reason to measure nothing.
        match Awaited::beside_store(common).file("--html", Some(Path::new(PAGE))) {
            Ok(()) => html = Some(PAGE.into()),
            Err(failure) => complain(&format!("{}; goes on without the page", failure.line)),
        }
    }
    let mut args = args.clone();
    args.to.html = html;
    run::chosen(common, &args, interrupt)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Words {
        with_command(line.split(' ').map(OsString::from).collect())
    }

    #[test]
    fn flags_without_a_command_are_those_of_run() {
        for bare in [
            "ipcmark",
            "ipcmark -v",
            "ipcmark -qv --store x --color=never",
            "ipcmark --budget 10m",
            "ipcmark -q --no-wait --store list",
            "ipcmark -s 64 -p same-cpu",
            "ipcmark --full --format json",
            "ipcmark --nonsense",
        ] {
            let words = words(bare);
            assert!(words.is_bare && words.all[1] == "run", "{bare}");
        }
        for named in [
            "ipcmark run --budget 10m",
            "ipcmark -v report",
            "ipcmark --store x runs",
            "ipcmark --help",
            "ipcmark -v --version",
            "ipcmark pipe",
        ] {
            let words = words(named);
            assert!(!words.is_bare && words.misplaced().is_none(), "{named}");
        }
    }

    #[test]
    fn a_command_behind_its_own_flags_is_named() {
        assert!(
            words("ipcmark --budget 1m run pipe").misplaced().unwrap().contains("`ipcmark run`")
        );
        assert!(words("ipcmark --budget 1m -q").misplaced().is_none());
    }
}
