//! `ipcmark man`: the manual in roff, one page for the program and one per subcommand.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::output::Folder;
use super::{Cli, Failure, exit_codes, print};

/// What the arguments don't say: section, then names and meanings.
const FURTHER: [(&str, &[(&str, &str)]); 3] = [
    (
        "ENVIRONMENT",
        &[
            ("IPCMARK_STORE", "The file that stores every run."),
            ("XDG_CONFIG_HOME", "Where ipcmark.toml is, instead of ~/.config."),
            ("XDG_DATA_HOME", "Where ipcmark/runs.sqlite is, without IPCMARK_STORE."),
            ("NO_COLOR", "No colours, if set and not empty."),
            ("COLUMNS", "Width of the output, in columns."),
            ("TERM", "No colours and no moving cursor if unset or dumb."),
            (
                "LC_ALL, LC_CTYPE, LANG",
                "The first that is set names the locale: text is ASCII unless the locale is UTF-8. Files and \
                 exports are always UTF-8.",
            ),
        ],
    ),
    (
        "FILES",
        &[
            ("~/.local/share/ipcmark/runs.sqlite", "The store, unless another is named."),
            (
                "~/.local/share/ipcmark/runs.sqlite-claims",
                "Locks of the runs being measured; empty.",
            ),
            (
                "~/.config/ipcmark.toml, ./ipcmark.toml",
                "Defaults for flags, by their long names (budget = \"5m\"), for every command or in a table for \
                 one ([run]); the second file wins. Never for a flag that starts a program or names a file to \
                 write. A file that another user owns or may write is not read.",
            ),
            (
                "report.html",
                "The page that ipcmark without a command writes into the working folder.",
            ),
        ],
    ),
    (
        "EXAMPLES",
        &[
            ("ipcmark", "Every mechanism of this machine, in about a minute."),
            ("ipcmark run pipe unix-stream -s 1..1M:x4", "Two mechanisms over message size."),
            ("ipcmark run --format ndjson -o events.ndjson", "Events for another program."),
            ("ipcmark export last --format csv", "The newest run as a table."),
            ("ipcmark compare last~1 last --gate 5%", "Has anything become slower since?"),
        ],
    ),
];

const ELSEWHERE: &str = "choose another folder with -o";

/// Flags of `man`.
#[derive(Args)]
pub struct ManArgs {
    /// Write ipcmark.1 and a page per subcommand into this folder, as in ~/.local/share/man/man1
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints the main page, or writes all of them.
pub fn man(args: &ManArgs) -> Result<u8, Failure> {
    let mut program = Cli::command().disable_help_subcommand(true);
    program.build();
    match &args.output {
        None => print(&page(&program, true))?,
        Some(folder) => write_all(folder, &program)?,
    }
    Ok(0)
}

fn write_all(folder: &Path, program: &Command) -> Result<(), Failure> {
    let folder = Folder::make(folder).map_err(|why| why.refused(ELSEWHERE))?;
    let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
    for command in std::iter::once(program).chain(shown) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let text = page(command, name == program.get_name());
        folder.write(&format!("{name}.1"), text, ELSEWHERE)?;
    }
    Ok(())
}

fn page(command: &Command, whole: bool) -> String {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    let man = Man::new(command.clone()).title(name.to_uppercase());
    let mut text = Vec::new();
    man.render(&mut text).expect("writing to memory");
    let path = name.replacen("ipcmark-", "", 1);
    exit_status(&path, whole).to_writer(&mut text).expect("writing to memory");
    if whole {
        further().to_writer(&mut text).expect("writing to memory");
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// The exit codes of a command and of every one; of the program all.
fn exit_status(command: &str, whole: bool) -> Roff {
    let below = format!("{command} ");
    let mut roff = Roff::default();
    roff.control("SH", ["EXIT STATUS"]);
    let is_meant = |other: &&str| other.starts_with(&below) || *other == command;
    for exit_code in exit_codes::ALL
        .iter()
        .filter(|code| whole || code.of.is_empty() || code.of.iter().any(is_meant))
    {
        entry(&mut roff, exit_code.code, &exit_code.sentence());
    }
    roff
}

fn entry(roff: &mut Roff, name: &str, meaning: &str) {
    roff.control("TP", []);
    roff.text([bold(name)]);
    roff.text([roman(meaning)]);
}

fn further() -> Roff {
    let mut roff = Roff::default();
    for (section, entries) in FURTHER {
        roff.control("SH", [section]);
        entries.iter().for_each(|(name, meaning)| entry(&mut roff, name, meaning));
    }
    roff
}
