//! What became of each claim: as verdicts for a terminal, as one table for a paper.

use crate::compose::labels;
use crate::{Block, Emphasis, Row, Table, Text, Verdict};
use analysis::hypothesis::Finding;

pub(super) fn verdict(finding: &Finding) -> Block {
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
    let detail =
        format!("{}.{p}{}", finding.effect.trim_end_matches('.'), claimed.unwrap_or_default());
    Block::Verdict(Verdict::new(kind, head, detail))
}

/// Claims by their numbers from 0; at length with the place where each is made, and with what an
/// effect over many pairs is a mean of.
pub(super) fn table(findings: &[(usize, &Finding)], at_length: bool) -> Table {
    let caption = "The claims, what became of each, and its p corrected over all of them";
    let of_many = if at_length {
        ""
    } else {
        ". Effects are how many times as fast (or as much): of many pairs the geometric mean, of an \
             order the first step that fails it"
    };
    let mut table = Table::new(format!("{caption}{of_many}"))
        .numbers([("no.", 0)])
        .words([("claim", 0), ("verdict", 0), ("effect [interval], or the reason", 0)])
        .numbers([("p", 0)]);
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
        let cells = [
            Text::from((at + 1).to_string()),
            claim,
            Text::from(finding.decision.name()),
            Text::from(effect.trim_end_matches('.')),
            Text::from(p),
        ];
        table.rows.push(Row::new(cells).emphasis(emphasis));
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
