//! What became of each claim: as verdicts for a terminal, as one table for a paper.

use crate::compose::labels;
use crate::{Block, Emphasis, Table, Text, Verdict};
use analysis::hypothesis::Finding;

/// `there`: what became of it on another machine, with that one's name.
pub(super) fn verdict(finding: &Finding, there: Option<(&str, &Finding)>) -> Block {
    let kind = labels::kind(finding.decision);
    let head = Text::new()
        .strong(format!("{}: ", labels::capital(finding.decision.name())))
        .plain(finding.statement.trim_end_matches('.'))
        .plain(".");
    let p = match (finding.p, finding.p_holm) {
        (Some(_), Some(corrected)) => format!(" Corrected p = {}.", short_p(corrected)),
        _ => String::new(),
    };
    let claimed = finding.claimed.as_ref().map(|text| format!(" Claimed: {text}."));
    let there = there.map_or(String::new(), |(name, finding)| {
        let effect = finding.effect.trim_end_matches('.');
        format!(" On {name}: {}: {effect}.", finding.decision.name())
    });
    let effect = finding.effect.trim_end_matches('.');
    let detail = format!("{effect}.{p}{there}{}", claimed.unwrap_or_default());
    Block::Verdict(Verdict::new(kind, head, detail))
}

/// Claims by their numbers from 0; at length with the place where each is made, and with what an
/// effect over many pairs is a mean of.
pub(super) fn table<'a>(
    findings: &[(usize, &Finding)],
    at_length: bool,
    there: impl Fn(usize) -> Option<(&'a str, &'a Finding)>,
) -> Table {
    let caption = "The claims, what became of each, and its p corrected over all of them";
    let of_many = if at_length {
        ""
    } else {
        ". Effects are how many times as fast (or as much): of many pairs the geometric mean, of an \
             order the first step that fails it"
    };
    let mut table = Table::of_each(format!("{caption}{of_many}"), findings)
        .numbers("no.", 0, |(at, _)| (at + 1).to_string())
        // Where pages are few the hypotheses have a table of their own.
        .words_if(at_length, "claim", 0, |(_, finding)| {
            let claim = Text::from(finding.statement.trim_end_matches('.'));
            match &finding.claimed {
                Some(place) => claim.muted(format!(" (source: {place})")),
                None => claim,
            }
        })
        .words("verdict", 0, |(_, finding)| finding.decision.name())
        .words("effect [interval], or the reason", 0, |(at, finding)| {
            let effect = if at_length { &finding.effect } else { &finding.brief };
            let effect = Text::from(effect.trim_end_matches('.'));
            match there(*at).filter(|_| at_length) {
                Some((name, other)) => {
                    let decision = other.decision.name();
                    effect.muted(format!(" (on {name}: {decision}: {})", other.brief))
                }
                None => effect,
            }
        })
        .numbers("p", 0, |(_, finding)| finding.p.and(finding.p_holm).map(short_p))
        .emphasis(|(_, finding)| Emphasis::Muted.only_if(!finding.decision.is_tested()))
        .table();
    table.id = "claims".into();
    table
}

/// What is claimed, and where, before anything is said of what became of it.
pub(super) fn hypotheses(findings: &[(usize, &Finding)]) -> Table {
    let mut table = Table::of_each("The hypotheses", findings)
        .numbers("no.", 0, |(at, _)| (at + 1).to_string())
        .words("hypothesis", 0, |(_, finding)| finding.statement.trim_end_matches('.'))
        .words("from", 0, |(_, finding)| finding.claimed.as_deref().unwrap_or_default())
        .table();
    table.id = "hypotheses".into();
    table
}

/// Three digits are more than a p of a few dozen launches has.
fn short_p(p: f64) -> String {
    match p {
        p if p >= 0.9995 => "1".into(),
        p if p >= 0.001 => format!("{p:.3}"),
        _ => format!("{p:.1e}"),
    }
}
