//! How long a study and the texts in it may be. Checked before any word: what isn't known is
//! looked for among all that is, and a title of a megabyte is wrapped wherever it is shown.

use super::format::line_at;

/// Most bytes of a study: the longest that comes with the program has 54,000.
pub const LONGEST: u64 = 1 << 20;
/// Most characters of a title, and of any other text in a study: what is more is no sentence.
const LONGEST_TITLE: usize = 300;
const LONGEST_TEXT: usize = 10_000;

/// Refuses texts that are longer than any that is read.
///
/// # Errors
/// One line: file, line, key, and how long it may be.
pub(super) fn check(
    text: &str,
    file: &str,
    key: Option<&str>,
    value: &toml::Value,
) -> Result<(), String> {
    match value {
        toml::Value::String(it) => {
            let most = if key == Some("title") { LONGEST_TITLE } else { LONGEST_TEXT };
            if it.chars().nth(most).is_none() {
                return Ok(());
            }
            let start = it.lines().next().and_then(|line| text.find(line)).unwrap_or(0);
            let line = line_at(text, start);
            let key = key.unwrap_or("a text");
            Err(format!("{file}:{line}: {key} is longer than {most} characters: shorten it"))
        }
        toml::Value::Array(all) => all.iter().try_for_each(|value| check(text, file, key, value)),
        toml::Value::Table(all) => {
            all.iter().try_for_each(|(key, value)| check(text, file, Some(key), value))
        }
        _ => Ok(()),
    }
}
