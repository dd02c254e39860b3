//! What is said of command lines that ask for what there isn't: refusals.txt has the lines, tests/snapshots what is said
//! of each. After a change that is meant, or a line more: `INSTA_UPDATE=always cargo test refusals::`, and read the
//! difference.

use std::fmt::Write as _;

use super::lab::LabCommand;
use super::{Cli, Command, bare, config, explain, in_one_line, parse};
use model::visible::one_line;

const LINES: &str = include_str!("refusals.txt");

/// What is said of a command line; None where nothing is wrong with it before the machine is asked.
fn refusal<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let typed = ["ipcmark"].into_iter().chain(words).map(Into::into).collect();
    let words = bare::with_command(typed);
    match parse(&config::Config::default(), &words.all) {
        Err(error) => Some(words.misplaced().unwrap_or_else(|| in_one_line(&error))),
        Ok(Cli { command, .. }) => request(&command?).err(),
    }
}

fn request(command: &Command) -> Result<(), String> {
    match command {
        Command::Run(args) => args.request().map(drop),
        Command::Choose(args) => args.of_run().and_then(|run| args.request(&run)).map(drop),
        Command::Explain(args) => explain::asked(args).and_then(|run| run.request()).map(drop),
        Command::Fleet(args) => args.asked().map(drop),
        Command::Lab(args) => match &args.command {
            LabCommand::Up(args) => args.asked().map(drop),
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

#[test]
fn each_command_line_is_refused_as_reviewed() {
    let mut found = String::new();
    for line in LINES.lines() {
        let said = refusal(line.split_whitespace());
        let _ = writeln!(
            found,
            "{line}\n    {}",
            said.unwrap_or_else(|| panic!("`{line}` is not refused"))
        );
    }
    insta::with_settings!({ snapshot_path => "../../tests/snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("refusals", found);
    });
}

#[test]
fn what_is_quoted_is_neither_obeyed_nor_endless() {
    let (long, wild) = ("x".repeat(100_000), "x\x1b]0;title\x07\x1b[2J\u{9b}2J");
    let many = "9".repeat(100_000);
    let flags = ["--budget", "--launches", "--samples", "--seed", "--rate", "--total", "--warmup"];
    let counts = flags.map(|flag| vec!["run", "pipe", "-w", "rate,throughput", flag, &many]);
    let quoting = [&*long, wild].into_iter().flat_map(|word| {
        [
            vec![word],
            vec!["run", word],
            vec!["run", "pipe", "--label", word],
            vec!["lab", "up", "--name", word],
        ]
    });
    for words in quoting.chain(counts) {
        let said = one_line(&refusal(words.clone()).unwrap_or_else(|| panic!("{words:?}")));
        assert!(said.chars().count() < 1_100, "{}", said.chars().count());
        assert!(!said.trim_end().chars().any(char::is_control), "{said:?}");
    }
}
