//! Text in ASCII, for a terminal or a reader that knows nothing else.

/// The text with a sign of ASCII, or several, for each of its others; `?` where there is none.
pub fn ascii(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            letter if letter.is_ascii() => found.push(letter),
            letter => found.push_str(instead(letter)),
        }
    }
    found
}

fn instead(letter: char) -> &'static str {
    match letter {
        '─' | '━' | '┄' | '–' | '−' | '‐' | '‑' | '⋯' => "-",
        '—' => "--",
        '│' | '┃' | '┊' | '├' | '┤' => "|",
        '┴' => "+",
        '±' => "+/-",
        'µ' | 'μ' => "u",
        '×' => "x",
        '÷' => "/",
        '…' => "...",
        '→' => "->",
        '←' => "<-",
        '▶' | '▸' | '›' => ">",
        '◀' | '‹' => "<",
        '▾' => "v",
        '≈' => "~",
        '≥' => ">=",
        '≤' => "<=",
        '✓' | '•' | '●' => "*",
        '✗' => "x",
        '·' => ".",
        '○' => "o",
        '◆' => "@",
        '◇' => "%",
        '■' | '█' => "#",
        '□' => "&",
        '░' => ":",
        '▓' => "%",
        '╱' => "/",
        '▒' => "o",
        '═' => "=",
        '▚' => "\\",
        '▤' => "+",
        '“' | '”' | '„' => "\"",
        '’' | '‘' => "'",
        '\u{a0}' | '\u{2009}' | '\u{202f}' => " ",
        'ⁿ' => "^n",
        '²' => "^2",
        '³' => "^3",
        '§' => "section ",
        _ => "?",
    }
}

#[cfg(test)]
mod tests {
    use super::ascii;

    #[test]
    fn signs_are_spelt_in_ascii() {
        assert_eq!(ascii("✓ 4.2 µs ±1 % − 3× … →"), "* 4.2 us +/-1 % - 3x ... ->");
        assert_eq!(ascii("plain\n\ttext"), "plain\n\ttext");
        assert!(ascii("é日\u{fffd}").is_ascii());
    }
}
