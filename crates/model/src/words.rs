//! Numbers of things in words: the one place that knows singular and plural.

/// A number of things, digits in threes: `count(36_887)` is `36,887`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// So many of them, in words: `1 case`, `2 cases`, `3 launches`, `4 capacities`.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {}", count(number), plural(number, noun))
}

/// A noun as it stands behind a number: `case`, `cases`, `launches`, `capacities`.
pub fn plural(number: u64, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if number == 1 => noun.to_string(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with("ch") => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// `was` of one, `were` of more.
pub fn were(number: u64) -> &'static str {
    if number == 1 { "was" } else { "were" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_all_else_is_plural() {
        for (noun, one, two) in [
            ("round", "1 round", "2 rounds"),
            ("launch", "1 launch", "2 launches"),
            ("capacity", "1 capacity", "2 capacities"),
            ("way", "1 way", "2 ways"),
            ("more case", "1 more case", "2 more cases"),
        ] {
            assert_eq!((counted(1, noun), counted(2, noun)), (one.into(), two.into()));
        }
        assert_eq!(
            (counted(0, "case"), counted(36_887, "case")),
            ("0 cases".into(), "36,887 cases".into())
        );
        assert_eq!((were(1), were(2)), ("was", "were"));
    }
}
