//! Commands of this program that it tells a person to type next: they name the store that this one was told to use; where
//! it keeps nothing, none reads what isn't there.

use std::borrow::Cow;
use std::sync::OnceLock;

/// The store that commands have to name.
enum Stored {
    /// As ` --store FILE`, quoted for a shell.
    In(String),
    Nowhere,
}

static STORED: OnceLock<Stored> = OnceLock::new();
const BEGINS: &str = "`ipcmark ";
/// Commands that use the store.
const READERS: [&str; 9] =
    ["choose", "compare", "explain", "export", "fleet", "report", "run", "runs", "study"];

/// From now on commands name this store, as it is to be typed. The first that is named counts.
pub fn name_store(typed: &str) {
    let _ = STORED.set(Stored::In(format!(" --store {typed}")));
}

/// From now on nothing is kept, and no command could read it again.
pub fn keep_nothing() {
    let _ = STORED.set(Stored::Nowhere);
}

pub fn is_nothing_kept() -> bool {
    matches!(STORED.get(), Some(Stored::Nowhere))
}

/// The text, in which each command between ticks can be typed as it stands.
pub fn typed(text: &str) -> Cow<'_, str> {
    match STORED.get() {
        Some(Stored::In(flag)) if text.contains(BEGINS) => named(text, flag).into(),
        _ => kept(text),
    }
}

/// The text, in which no command between ticks reads what is not kept; commands name no store in it, as in files for
/// others.
pub fn kept(text: &str) -> Cow<'_, str> {
    match is_nothing_kept() && text.contains(BEGINS) {
        true => of_no_store(text).into(),
        false => text.into(),
    }
}

fn named(text: &str, flag: &str) -> String {
    let mut parts = text.split(BEGINS);
    let mut found = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let end = part.find('`').unwrap_or(0);
        let (command, rest) = part.split_at(end);
        let first = command.split(' ').next().unwrap_or_default();
        let names =
            command.split(' ').any(|word| word == "--store" || word.starts_with("--store="));
        let flag = if READERS.contains(&first) && !names { flag } else { "" };
        found += &format!("{BEGINS}{command}{flag}{rest}");
    }
    found
}

/// What `report` and `export` would show of the run, the command that measures shows with the same flags.
fn of_no_store(text: &str) -> String {
    let mut found = String::new();
    for (nth, part) in text.split('`').enumerate() {
        let words: Vec<&str> = part.split(' ').take_while(|word| *word != "--store").collect();
        found += &match (nth % 2, words.as_slice()) {
            (1, ["ipcmark", "report" | "export", _run, flags @ ..]) if !flags.is_empty() => {
                format!("`{}` with the command that measures (nothing is stored)", flags.join(" "))
            }
            (1, _) => format!("`{part}`"),
            _ => part.to_string(),
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{named, of_no_store};

    #[test]
    fn commands_that_use_the_store_name_it_once() {
        let text =
            "next `ipcmark report 1 -v`: all; `ipcmark doctor`, `ipcmark run --store b`; `ipcmark";
        let expected = "next `ipcmark report 1 -v --store a`: all; `ipcmark doctor`, `ipcmark run --store b`; `ipcmark";
        assert_eq!(named(text, " --store a"), expected);
        assert_eq!(named(expected, " --store a"), expected);
    }

    #[test]
    fn no_command_reads_what_is_not_kept() {
        let adapted = of_no_store("next `ipcmark report 1 -v`: all; `ipcmark doctor` advises");
        assert_eq!(
            adapted,
            "next `-v` with the command that measures (nothing is stored): all; `ipcmark doctor` advises"
        );
        assert_eq!(of_no_store("no `command` here"), "no `command` here");
    }
}
