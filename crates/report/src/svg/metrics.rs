//! How wide text is, and how it is cut and broken to fit.

use unicode_width::UnicodeWidthChar;

/// The size of plain text.
pub(super) const TEXT: f64 = 8.0;

/// How wide a text is at most, in the widest of the faces that may be at hand.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    let advance = |letter: char| match letter {
        'i' | 'j' | 'l' | '|' | '\'' | '.' | ',' | ':' | ';' | '!' | ' ' => 0.33,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.40,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 0.95,
        'A'..='Z' => 0.70,
        letter if letter.width() == Some(2) => 1.1,
        letter if letter.is_ascii() => 0.62,
        _ => 0.68,
    };
    size * text.chars().map(advance).sum::<f64>()
}

/// A text cut to a width, with a sign that it was.
pub(super) fn shorten(text: &str, room: f64, size: f64) -> String {
    if width_of(text, size) <= room {
        return text.to_string();
    }
    let mut kept = String::new();
    for letter in text.chars() {
        if width_of(&kept, size) + width_of("m…", size) > room {
            break;
        }
        kept.push(letter);
    }
    kept + "…"
}

/// A text on as many lines as it takes, up to `most`, broken where words and options end.
pub(super) fn wrap(text: &str, room: f64, size: f64, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for piece in text.split_inclusive([' ', ':', '-', ',', '_', '=']) {
        let line = lines.last_mut().expect("there is always one");
        let fits = width_of(&format!("{line}{}", piece.trim_end()), size) <= room;
        if fits || line.is_empty() || lines.len() == most {
            lines.last_mut().expect("there is always one").push_str(piece);
        } else {
            lines.push(piece.to_string());
        }
    }
    lines.iter().map(|line| shorten(line.trim_end(), room, size)).collect()
}

/// As [`wrap`], in the largest of a few sizes in which no name must be cut.
pub(super) fn fit<'a>(
    names: impl Iterator<Item = &'a String> + Clone,
    room: f64,
    most: usize,
) -> (f64, Vec<Vec<String>>) {
    let at = |size: f64| {
        let lines = names.clone().map(|name| wrap(name, room, size, most)).collect::<Vec<_>>();
        (size, lines)
    };
    let whole = |(_, lines): &(f64, Vec<Vec<String>>)| {
        lines.iter().flatten().all(|line| !line.ends_with('…'))
    };
    let sizes = [TEXT, TEXT - 1.0, TEXT - 2.0];
    sizes.into_iter().map(at).find(whole).unwrap_or_else(|| at(TEXT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_broken_where_options_begin_and_cut_where_nothing_else_helps() {
        assert_eq!(wrap("shm-ring:wait=futex", 60.0, 8.0, 3), ["shm-ring:", "wait=futex"]);
        assert_eq!(wrap("pipe", 60.0, 8.0, 3), ["pipe"]);
        let cut = wrap(&"x".repeat(90), 60.0, 8.0, 2);
        assert!(cut[0].ends_with('…') && width_of(&cut[0], 8.0) <= 60.0);
    }
}
