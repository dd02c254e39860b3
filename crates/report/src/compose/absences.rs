//! What wasn't measured, and why.

use super::labels;
use crate::{Table, Text};
use analysis::{CaseResult, Judged, Status};
use model::distinct::distinct;

/// What wasn't measured, and why. One row per reason.
pub(super) fn absent(judged: &Judged) -> Table {
    Table::of_each("Not measured here", &absences(judged))
        .words("what", 0, |(what, _)| Text::new().code(what))
        .words("why, and the remedy", 0, |(_, why)| why.as_str())
        .table()
}

/// What wasn't measured and why; each reason once, with all that it keeps out. Of reasons that differ in their
/// numbers alone, and keep out the same, the first stands for all.
pub fn absences(judged: &Judged) -> Vec<(String, String)> {
    let absent =
        |case: &&CaseResult| matches!(case.status, Status::NotApplicable | Status::Unavailable);
    let said = judged.results.iter().filter(absent).map(|case| {
        let placeless = case.place.cpus.is_none() && !case.placement.leaves_free();
        let what = if placeless { case.placement.to_string() } else { case.variant.clone() };
        (case.reason.clone().unwrap_or_default(), what)
    });
    let named = |(why, whats): (String, Vec<String>)| {
        let why = match whats.as_slice() {
            [one] => labels::without_name(&why, one).to_string(),
            _ => why,
        };
        (labels::list(&whats), why)
    };
    folded(labels::by_key(distinct(said)).into_iter().map(named).collect())
}

/// Fewer reasons of a kind are given in full.
const MANY: usize = 3;

fn folded(reasons: Vec<(String, String)>) -> Vec<(String, String)> {
    let kind = |(what, why): &(String, String)| {
        let words = why.split_whitespace().filter(|word| word.parse::<f64>().is_err());
        (what.clone(), words.collect::<Vec<_>>().join(" "))
    };
    let kinds: Vec<_> = reasons.iter().map(kind).collect();
    let mut kept = Vec::new();
    for (at, (what, why)) in reasons.into_iter().enumerate() {
        let alike = kinds.iter().filter(|kind| **kind == kinds[at]).count();
        if alike < MANY {
            kept.push((what, why));
        } else if !kinds[..at].contains(&kinds[at]) {
            kept.push((what, format!("{why}; {} more of other numbers", alike - 1)));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn of_reasons_that_differ_in_numbers_the_first_stands_for_all() {
        let reason = |what: &str, why: &str| (what.to_string(), why.to_string());
        let of = |total: u32| reason("pipe", &format!("a total of {total} is less than 64 bytes"));
        let others = [reason("tcp", "a total of 1 is less than 64 bytes"), reason("pipe", "none")];
        let all = || [of(1), of(2)].into_iter().chain(others.clone());
        assert_eq!(folded(all().collect()), all().collect::<Vec<_>>(), "two are given in full");
        let why = "a total of 1 is less than 64 bytes; 2 more of other numbers";
        let expected: Vec<_> = [reason("pipe", why)].into_iter().chain(others.clone()).collect();
        assert_eq!(folded(all().chain([of(3)]).collect()), expected);
    }
}
