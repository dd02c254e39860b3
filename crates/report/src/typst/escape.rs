//! Text made safe for the three places it can stand in Typst source: markup, strings, labels.

use crate::units::kept_together;

/// Words of markup in which nothing is markup. A backslash before a sign makes it that sign.
pub(super) fn words(text: &str) -> String {
    const SIGNS: &str = "\\#*_`$<>@[]~/=+\"{}";
    let mut out = String::with_capacity(text.len() + 8);
    let letters: Vec<char> = kept_together(text).chars().map(plain).collect();
    for (at, letter) in letters.iter().copied().enumerate() {
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1).copied();
        let in_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
        let escapes = match letter {
            // Between letters it is a hyphen; elsewhere it could be a list, a dash, a minus.
            '-' => !(in_word(before) && in_word(after)),
            // `1.` and `1)` begin a list.
            '.' | ')' => letters[..at].iter().all(char::is_ascii_digit) && at > 0,
            sign => SIGNS.contains(sign),
        };
        if escapes {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

pub(super) fn string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            letter => out.push(plain(letter)),
        }
    }
    out.push('"');
    out
}

/// A label that needs no escaping: letters, digits, dashes.
pub(super) fn label(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    text.chars().map(safe).collect()
}

/// A letter that neither ends a line nor turns the direction of the text around it.
fn plain(letter: char) -> char {
    match letter {
        '\n' | '\t' | '\r' => ' ',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        letter if letter.is_control() => '\u{fffd}',
        letter => letter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_place() {
        assert_eq!(words("#let x = $1$ *b* _c_"), "\\#let x \\= \\$1\\$ \\*b\\* \\_c\\_");
        assert_eq!(words("[a] <b> @c //d \\"), "\\[a\\] \\<b\\> \\@c \\/\\/d \\\\");
        assert_eq!(words("1. same-cpu -- -5\n= x"), "1\\. same-cpu \\-\\- \\-5 \\= x");
        assert_eq!(words("a \u{1b}[2J\u{202e}"), "a \u{fffd}\\[2J\u{fffd}");
        assert_eq!(words("4 µs, 3 pipes"), "4\u{a0}µs, 3 pipes");
        assert_eq!(string("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
        assert_eq!(label("Über <x>"), "-ber--x-");
    }
}
