//! Text made safe for the three places it can stand in a page: content and attributes, JSON
//! inside a script element, and ids.

use crate::units::kept_together;

/// Text for element content and for attributes in double quotes, of a page or of a picture; what XML
/// can't hold is replaced.
///
/// Direction overrides become visible: a name must not rearrange the sentence around it.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(letter),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// The words of a sentence, escaped, with numbers kept on one line with their units.
pub(super) fn sentence(text: &str) -> String {
    escape(&kept_together(text))
}

/// JSON that can stand inside a script element: no `<` closes or opens anything, and the two
/// separators that older scripts took for line ends are written as escapes. Outside strings
/// JSON has none of these letters, so the value stays the same.
pub(super) fn json_for_script(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", letter as u32));
            }
            letter => out.push(letter),
        }
    }
    out
}

/// An id that needs no escaping: letters, digits, dashes.
pub(crate) fn slug(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let slug: String = text.chars().map(safe).collect();
    match slug.trim_matches('-') {
        "" => "section".to_string(),
        slug => slug.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_place() {
        assert_eq!(escape("a<b & \"c\" 'd'"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;");
        assert_eq!(escape("\u{1b}[2J\u{202e}"), "\u{fffd}[2J\u{fffd}");
        assert_eq!(sentence("at 64 KiB, <4 µs"), "at 64\u{a0}KiB, &lt;4\u{a0}µs");
        assert_eq!(json_for_script("\"</script>\u{2028}\""), "\"\\u003c/script\\u003e\\u2028\"");
        assert_eq!(slug("Latency: what & how?"), "latency--what---how");
        assert_eq!(slug("\"><"), "section");
    }
}
