//! Names in a row, as one speaks.

use std::borrow::Borrow;

use crate::Text;

/// `a`, `a and b`, `a, b and c`.
pub fn list<N: Borrow<str>>(names: &[N]) -> String {
    match names {
        [] => String::new(),
        [one] => one.borrow().to_string(),
        [first @ .., last] => format!("{} and {}", first.join(", "), last.borrow()),
    }
}

/// As [`list`], but of a long one only the first few and how many more there are.
pub fn few<N: Borrow<str>>(names: &[N]) -> String {
    match cut(names) {
        (named, 0) => list(named),
        (named, more) => format!("{} and {more} more", named.join(", ")),
    }
}

/// As [`few`], of names that hold commas themselves.
pub fn few_with_commas(names: &[String]) -> String {
    match cut(names) {
        (named, 0) => named.join("; "),
        (named, more) => format!("{}; and {more} more", named.join("; ")),
    }
}

/// As [`few`], after `text`, with each name as code.
pub fn few_codes(mut text: Text, names: &[String]) -> Text {
    let (named, more) = cut(names);
    for (nth, name) in named.iter().enumerate() {
        text = match nth {
            0 => text,
            _ if nth + 1 == named.len() && more == 0 => text.plain(" and "),
            _ => text.plain(", "),
        };
        text = text.code(name);
    }
    if more > 0 { text.plain(format!(" and {more} more")) } else { text }
}

/// Values by their keys, in the order in which the keys first come.
pub fn by_key<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut found: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match found.iter_mut().find(|known| known.0 == key) {
            Some((_, values)) => values.push(value),
            None => found.push((key, vec![value])),
        }
    }
    found
}

/// Those worth naming, and how many more there are: never just one.
fn cut<N>(names: &[N]) -> (&[N], usize) {
    const NAMED: usize = 4;
    match names.len().checked_sub(NAMED) {
        Some(more @ 2..) => (&names[..NAMED], more),
        _ => (names, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Run;

    #[test]
    fn names_as_code_read_as_names_do() {
        for count in 0..8 {
            let names: Vec<String> = (0..count).map(|nth| format!("m{nth}")).collect();
            let text = few_codes(Text::new(), &names);
            let read: String = text.runs.iter().map(Run::as_str).collect();
            assert_eq!(read, few(&names));
            let codes = text.runs.iter().filter(|run| matches!(run, Run::Code(_)));
            assert_eq!(codes.count(), if count < 6 { count } else { 4 }, "{read}");
        }
    }
}
