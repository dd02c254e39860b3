//! `--store none`: nothing that is measured is kept, and no command could read it again. What is printed says so.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

static NOTHING_IS_KEPT: AtomicBool = AtomicBool::new(false);

/// From now on nothing is kept.
pub fn keep_nothing() {
    NOTHING_IS_KEPT.store(true, Ordering::Relaxed);
}

/// Whether nothing is kept.
pub fn is_nothing_kept() -> bool {
    NOTHING_IS_KEPT.load(Ordering::Relaxed)
}

/// The text, in which each command between ticks that would read the store is one that doesn't need to, where
/// nothing is kept.
pub fn adapted(text: &str) -> Cow<'_, str> {
    if is_nothing_kept() && text.contains("`ipcmark ") {
        of_no_store(text).into()
    } else {
        text.into()
    }
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
    use super::of_no_store;

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
