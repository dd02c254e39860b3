//! Text from elsewhere, made fit to show: what a terminal would obey instead of showing is replaced by
//! a sign, and one line stays one line of bearable length.

/// Characters of a line that are shown; of a longer one its beginning and its end, where the remedy
/// stands.
const LONGEST: usize = 1000;
const END: usize = 400;

/// The text with control characters and direction overrides replaced by a sign; lines and tabs end in
/// spaces.
pub fn visible(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { ' ' } else { shown(c) }).collect()
}

/// The same of a text with lines and tabs of its own.
pub fn visible_lines(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { shown(c) }).collect()
}

/// One line for standard error, however long what it quotes is.
pub fn one_line(text: &str) -> String {
    let long = text.char_indices().nth(LONGEST).is_some();
    if !long {
        return visible(text);
    }
    let at = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().rev().nth(END - 1).map_or(0, |(at, _)| at);
    format!("{} […] {}", visible(&text[..at(LONGEST - END)]), visible(&text[end..]))
}

fn shown(c: char) -> char {
    let overrides = matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || overrides { '\u{fffd}' } else { c }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_terminal_obeys() {
        // A title, a cleared screen, 8-bit CSI, a carriage return, an override.
        let text = "a\x1b]0;title\x07\x1b[2J\u{9b}2J\r\u{202e}b\nc\td";
        assert_eq!(visible(text), "a�]0;title��[2J�2J��b c d");
        assert_eq!(visible_lines("a\x1b\nb\tc"), "a�\nb\tc");
        let all: String = (0..0x300).filter_map(char::from_u32).collect();
        assert!(!visible(&all).chars().any(char::is_control));
    }

    #[test]
    fn a_line_keeps_its_beginning_and_its_remedy() {
        let line = format!(
            "label `{}\x1b\n{}`: write one such as `before`",
            "é".repeat(5000),
            "x".repeat(5000)
        );
        let shown = one_line(&line);
        assert!(shown.starts_with("label `é") && shown.ends_with("write one such as `before`"));
        assert!(shown.chars().count() < LONGEST + 10 && shown.lines().count() == 1);
        assert_eq!(one_line("short"), "short");
    }
}
