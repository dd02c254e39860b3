//! A wrong word is answered with the nearest right one.

/// Characters of a wrong word that are compared, and shown.
const LONGEST_WORD: usize = 80;

/// The error for a word that isn't one of `known`: names the nearest, or all of them.
pub fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    // Of a word that is longer than any, how like it is to each would take a while to tell.
    let word = &word[..word.char_indices().nth(LONGEST_WORD).map_or(word.len(), |it| it.0)];
    let nearest = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((_, candidate)) => format!("unknown {what} `{word}`: did you mean `{candidate}`?"),
        None if known.is_empty() => format!("unknown {what} `{word}`: it has none"),
        None => format!("unknown {what} `{word}`: choose one of {}", known.join(", ")),
    }
}
