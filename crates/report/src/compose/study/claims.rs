//! What became of each claim: as verdicts for a terminal, as one table for a paper.

use crate::compose::labels;
use crate::{Block, Emphasis, Row, Table, Text, Verdict};
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
    let mut table = Table::new(format!("{caption}{of_many}")).numbers([("no.", 0)]);
    if at_length {
        // Where pages are few the hypotheses have a table of their own.
        table = table.words([("claim", 0)]);
    }
    table =
        table.words([("verdict", 0), ("effect [interval], or the reason", 0)]).numbers([("p", 0)]);
    table.id = "claims".into();
    for (at, finding) in findings {
        let claimed = finding.claimed.as_ref().filter(|_| at_length);
        let effect = if at_length { &finding.effect } else { &finding.brief };
        let mut claim = Text::from(finding.statement.trim_end_matches('.'));
        if let Some(place) = claimed {
            claim = claim.muted(format!(" (source: {place})"));
        }
        let p = finding.p.and(finding.p_holm).map_or("–".to_string(), short_p);
        let tested = finding.decision.is_tested();
        let emphasis = if tested { Emphasis::Normal } else { Emphasis::Muted };
        let mut effect = Text::from(effect.trim_end_matches('.'));
        if let Some((name, other)) = there(*at).filter(|_| at_length) {
            let decision = other.decision.name();
            effect = effect.muted(format!(" (on {name}: {decision}: {})", other.brief));
        }
        let rest = [Text::from(finding.decision.name()), effect, Text::from(p)];
        let number = [Text::from((at + 1).to_string())].into_iter();
        let cells: Vec<Text> = number.chain(at_length.then_some(claim)).chain(rest).collect();
        table.rows.push(Row::new(cells).emphasis(emphasis));
    }
    table
}

/// What is claimed, and where, before anything is said of what became of it.
pub(super) fn hypotheses(findings: &[(usize, &Finding)]) -> Table {
    let mut table =
        Table::new("The hypotheses").numbers([("no.", 0)]).words([("hypothesis", 0), ("from", 0)]);
    table.id = "hypotheses".into();
    for (at, finding) in findings {
        let source = finding.claimed.as_deref().unwrap_or_default();
        let words = [finding.statement.trim_end_matches('.'), source];
        let number = (at + 1).to_string();
        table.rows.push(Row::new([number.as_str()].into_iter().chain(words)));
    }
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
