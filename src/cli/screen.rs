//! What the standard streams can show: escapes, signs beyond ASCII, columns.

use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use model::hint;
use model::plain_signs::ascii;

/// Fewest and most columns that are written.
const COLUMNS: (usize, usize) = (40, 120);

/// A variable of the environment that says something.
fn set(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    (!value.is_empty()).then_some(value)
}

/// Whether a stream is a terminal that obeys escapes: one that says what it is, and not that it is dumb.
pub fn obeys_escapes(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && set("TERM").is_some_and(|term| term != "dumb")
}

/// Whether to colour without being asked.
pub fn is_colored(stream: &impl IsTerminal) -> bool {
    set("NO_COLOR").is_none() && obeys_escapes(stream)
}

/// Whether the locale knows no signs but those of ASCII, as far as it says: C and POSIX do, and where none is set it is
/// C (locale(7)).
pub fn is_ascii() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    !(locale.contains("utf-8") || locale.contains("utf8"))
}

/// Text for a person: in signs that are known here, with commands that can be typed as they stand.
pub fn readable(text: &str) -> Cow<'_, str> {
    let text = hint::typed(text);
    if is_ascii() { ascii(&text).into() } else { text }
}

/// Columns of a stream, where it is a terminal that knows its width.
pub fn columns_of(stream: &impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Columns of what is written to standard output.
pub fn width() -> usize {
    let asked = set("COLUMNS").and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    asked.or_else(|| columns_of(&io::stdout())).unwrap_or(80).clamp(COLUMNS.0, COLUMNS.1)
}
