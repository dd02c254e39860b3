//! Instrumentation that is unavailable here: each reason once, with the levels and the figures that it keeps
//! out.

use model::distinct::distinct;
use std::collections::BTreeSet;

use super::labels;
use crate::{Block, Text};
use analysis::{Observed, Status};
use model::counts::FIGURES;

pub fn blocks(seen: &[&Observed]) -> Vec<Block> {
    let absent =
        |observed: &&&Observed| matches!(observed.status, Status::Unavailable | Status::Failed);
    let described = |observed: &&Observed| {
        (observed.probe.to_string(), observed.reason.clone().unwrap_or_default())
    };
    let reasons = distinct(seen.iter().filter(absent).map(described));
    let lines = merged(reasons).into_iter().map(|(probes, reason)| {
        let figures = figures_of(&probes);
        let with_them = match figures.as_slice() {
            [] => String::new(),
            some => format!(", and with them {}", labels::list(some)),
        };
        not_testable(&probes, &with_them, &reason)
    });
    lines.collect()
}

/// `Not testable here: core, bus, and with them cycles per instruction. This machine has no counter of cycles.`
pub(in crate::compose) fn not_testable(what: &[String], with_them: &str, why: &str) -> Block {
    let text = Text::new().strong("Not testable here: ").code(what.join(", ")).plain(with_them);
    Block::paragraph(text.plain(format!(". {}.", labels::capital(why))))
}

/// The figures that need one of those families.
fn figures_of(probes: &[String]) -> Vec<String> {
    let affected =
        FIGURES.iter().filter(|figure| probes.iter().any(|name| name == figure.family.name()));
    affected.map(|figure| figure.name.replace('-', " ")).collect()
}

/// Reasons that differ in one word are one, with a list in the place of that word.
pub(in crate::compose) fn merged(reasons: Vec<(String, String)>) -> Vec<(Vec<String>, String)> {
    struct One {
        probes: Vec<String>,
        words: Vec<String>,
        varies: Option<(usize, Vec<String>)>,
    }
    let mut found: Vec<One> = Vec::new();
    for (probe, reason) in reasons {
        let words: Vec<String> = reason.split(' ').map(String::from).collect();
        let fits = |one: &One| {
            let same_length = one.words.len() == words.len();
            let off: Vec<usize> = (0..words.len().min(one.words.len()))
                .filter(|at| one.words[*at] != words[*at])
                .collect();
            match (off.as_slice(), &one.varies) {
                ([], _) => same_length,
                ([at], None) => same_length && *at > 0,
                ([at], Some((group, _))) => same_length && at == group,
                _ => false,
            }
        };
        match found.iter_mut().find(|one| fits(one)) {
            None => found.push(One { probes: vec![probe], words, varies: None }),
            Some(one) => {
                if let Some(at) = (0..words.len()).find(|at| one.words[*at] != words[*at]) {
                    let first = one.words[at].clone();
                    let (_, values) = one.varies.get_or_insert_with(|| (at, vec![first]));
                    values.push(words[at].clone());
                }
                one.probes.push(probe);
            }
        }
    }
    let shortened = found.into_iter().map(|mut one| {
        if let Some((at, values)) = one.varies {
            let values: BTreeSet<String> = values.into_iter().collect();
            one.words[at] = self::labels::list(&values.into_iter().collect::<Vec<_>>());
        }
        (one.probes, one.words.join(" "))
    });
    shortened.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_name_another_counter_are_one_reason() {
        let reason = |probe: &str, what: &str| {
            (probe.to_string(), format!("this machine has no counter of {what} (in a guest)"))
        };
        let lines = merged(vec![
            reason("core", "cycles:u"),
            reason("bus", "bus-cycles:u"),
            ("trace".into(), "CAP_BPF is needed".into()),
        ]);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].0, ["core", "bus"]);
        assert_eq!(
            lines[0].1,
            "this machine has no counter of bus-cycles:u and cycles:u (in a guest)"
        );
        assert_eq!(
            figures_of(&lines[0].0),
            ["cycles per instruction", "cycles per reference cycle"]
        );
    }
}
