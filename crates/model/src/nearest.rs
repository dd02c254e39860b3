//! A wrong word is answered with the nearest right one, or with none: a word that is merely as short is
//! worse than the list.

/// Characters of a wrong word that are compared, and shown.
const LONGEST_WORD: usize = 80;
/// Most words that are offered beside each other.
const MOST_OFFERED: usize = 3;

/// The error for a word that isn't one of `known`: names the nearest, or all of them.
pub fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    // Of a word that is longer than any, how like it is to each would take a while to tell.
    let word = &word[..word.char_indices().nth(LONGEST_WORD).map_or(word.len(), |pair| pair.0)];
    let quoted: Vec<String> = nearest(word, known).iter().map(|text| format!("`{text}`")).collect();
    match known {
        [] => format!("unknown {what} `{word}`: it has none"),
        _ if quoted.is_empty() => {
            format!("unknown {what} `{word}`: choose one of {}", known.join(", "))
        }
        _ => format!("unknown {what} `{word}`: did you mean {}?", quoted.join(" or ")),
    }
}

/// The words that `word` may stand for, at most three: those that it begins, or whose parts it has (`sem`
/// of `posix-sem`, also in another order); else those that the fewest slips turn into it, one slip for each three letters.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let word = word.to_ascii_lowercase();
    let letters = word.chars().count();
    let offer = |found: Vec<&'a str>| if found.len() > MOST_OFFERED { Vec::new() } else { found };
    let holds = |text: &str| word.split('-').all(|part| text.split('-').any(|other| other == part));
    let begun = |text: &&&str| text.starts_with(&word) || holds(text);
    let begun: Vec<&str> = known.iter().filter(begun).copied().collect();
    if letters >= 3 && !begun.is_empty() {
        return offer(begun);
    }
    let most = (letters / 3).max(1);
    let slips = |text: &str| strsim::osa_distance(&word, &text.to_ascii_lowercase());
    let close = |text: &str| slips(text) <= most && slips(text) < letters;
    let least = known.iter().map(|text| slips(text)).min();
    let found = known.iter().filter(|text| Some(slips(text)) == least && close(text));
    offer(found.copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 7] = ["pipe", "udp", "tcp", "posix-sem", "sysv-sem", "eventfd", "shm-ring"];

    #[test]
    fn a_slip_or_a_part_is_understood() {
        for (word, expected) in [
            ("pip", vec!["pipe"]),
            ("Pipe", vec!["pipe"]),
            ("ppie", vec!["pipe"]),
            ("sem", vec!["posix-sem", "sysv-sem"]),
            ("ring", vec!["shm-ring"]),
            ("sem-posix", vec!["posix-sem"]),
            ("evntfdd", vec!["eventfd"]),
            ("tdp", vec!["udp", "tcp"]),
        ] {
            assert_eq!(nearest(word, &KNOWN), expected, "{word}");
        }
        assert_eq!(
            unknown("mechanism", "sem", &KNOWN),
            "unknown mechanism `sem`: did you mean `posix-sem` or `sysv-sem`?"
        );
    }

    #[test]
    fn what_is_merely_as_short_is_not_offered() {
        for word in ["http", "grpc", "dbus", "zzz", "u", "", "socketpair"] {
            assert!(nearest(word, &KNOWN).is_empty(), "{word}");
        }
        assert!(unknown("mechanism", "http", &KNOWN).contains("choose one of pipe, udp"));
    }
}
