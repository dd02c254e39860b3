//! A claim of several parts: the steps of an order, the levels of a factor, the curves of several
//! mechanisms. It holds where every part does, at the error of each (intersection–union), and is
//! refuted where any part is, at an error that is split over the parts (Bonferroni).

use super::{ALPHA, Decision, TestResult};

/// Parts that are named one by one where a claim has many.
const NAMED: usize = 3;

/// The error at which one of so many parts may refute the whole.
pub fn refuting(parts: usize) -> f64 {
    ALPHA / parts.max(1) as f64
}

/// A claim that holds if all of its parts do, with the words of each.
pub fn together(parts: Vec<TestResult>) -> TestResult {
    let text: Vec<&str> = parts.iter().map(|result| result.effect.as_str()).collect();
    let result = whole(&parts, text.join("; "));
    let one = parts.iter().find(|part| part.decision == result.decision);
    match (one, parts.len()) {
        (Some(one), 1) => result.in_brief(one.brief()),
        (Some(_), many) => {
            let decision = result.decision;
            let alike = parts.iter().filter(|part| part.decision == decision).count();
            let Some(at) = deciding(&parts, decision) else { return result };
            let which = match decision {
                Decision::Supported => format!("the least sure of {many}"),
                Decision::Refuted => format!("fails in {alike} of {many}"),
                _ => format!("open in {alike} of {many}"),
            };
            result.in_brief(format!("{}; {which}", parts[at].brief()))
        }
        (None, _) => result,
    }
}

/// The same of the levels of a factor, which are named where the claim fails or stays open; `without`
/// says which are left out.
pub fn at_every_level(parts: Vec<(String, TestResult)>, without: &str) -> TestResult {
    let (names, parts): (Vec<String>, Vec<TestResult>) = parts.into_iter().unzip();
    let decision = decided(&parts);
    let of = |wanted: Decision| {
        let found: Vec<usize> =
            (0..parts.len()).filter(|at| parts[*at].decision == wanted).collect();
        let result: Vec<String> = found
            .iter()
            .take(NAMED)
            .map(|at| format!("{}: {}", names[*at], parts[*at].brief()))
            .collect();
        let more = found.len().saturating_sub(NAMED);
        let more = if more == 0 { String::new() } else { format!(", and {more} more") };
        (found.len(), format!("{}{more}", result.join("; ")))
    };
    let holds = format!("at {} of {} levels", of(Decision::Supported).0, parts.len());
    let text = match decision {
        Decision::Supported => {
            format!("at each of {} levels: {}", parts.len(), of(Decision::Supported).1)
        }
        Decision::Refuted => format!("fails at {}; holds {holds}", of(Decision::Refuted).1),
        Decision::Inconclusive => {
            format!("open at {}; holds {holds}", of(Decision::Inconclusive).1)
        }
        other => format!("holds {holds}; {}", of(other).1),
    };
    let result = whole(&parts, format!("{text}{without}"));
    let (many, all) = (of(decision).0, parts.len());
    let brief = match (deciding(&parts, decision), decision) {
        (Some(at), Decision::Supported) => {
            format!("at each of {all} levels, the least sure: {}, {}", names[at], parts[at].brief())
        }
        (Some(at), Decision::Refuted) => {
            format!("fails at {many} of {all}, the surest: {}, {}", names[at], parts[at].brief())
        }
        (Some(at), Decision::Inconclusive) => {
            format!("open at {many} of {all}, as at {}: {}", names[at], parts[at].brief())
        }
        _ => text,
    };
    result.in_brief(brief)
}

/// What becomes of the whole, with the p that decides.
fn whole(parts: &[TestResult], text: String) -> TestResult {
    let decision = decided(parts);
    let refuted: Vec<&TestResult> =
        parts.iter().filter(|result| result.decision == Decision::Refuted).collect();
    let split = parts.len() as f64;
    let (p, least_p) = match decision {
        // A refutation that rests on an interval at the split error needs no p.
        Decision::Refuted if refuted.iter().any(|result| result.p.is_none()) => (None, None),
        Decision::Refuted => {
            let least = refuted.iter().min_by(|a, b| a.p.partial_cmp(&b.p).expect("numbers"));
            let corrected = |p: f64| (split * p).min(1.0);
            (
                least.and_then(|result| result.p).map(corrected),
                least.and_then(|result| result.least_p).map(corrected),
            )
        }
        // All must hold: the largest p decides.
        _ => (
            parts.iter().filter_map(|result| result.p).reduce(f64::max),
            parts.iter().filter_map(|result| result.least_p).reduce(f64::max),
        ),
    };
    TestResult {
        least_p,
        measured: deciding(parts, decision).and_then(|at| parts[at].measured.clone()),
        ..TestResult::new(decision, text, p)
    }
}

/// The part of a decided whole that decides it, among those with a number: of a refutation the surest, else the least
/// sure. By p, and where tests have none by how far from its bound a part is, in widths of its interval.
fn deciding(parts: &[TestResult], decision: Decision) -> Option<usize> {
    let unsure = |at: &usize| {
        let part = &parts[*at];
        part.p.unwrap_or_else(|| part.clearance.map_or(1.0, |clearance| (-clearance).exp()))
    };
    let measured = (0..parts.len())
        .filter(|at| parts[*at].decision == decision && parts[*at].measured.is_some());
    match decision {
        Decision::Refuted => measured.min_by(|a, b| unsure(a).total_cmp(&unsure(b))),
        _ => measured.max_by(|a, b| unsure(a).total_cmp(&unsure(b))),
    }
}

/// It fails with any part, and holds only with all: a part that can't be tested is no support.
fn decided(parts: &[TestResult]) -> Decision {
    let order = [
        Decision::Refuted,
        Decision::Inconclusive,
        Decision::TooFewRounds,
        Decision::TooFewSamples,
        Decision::NoTime,
        Decision::NotTestable,
        Decision::Supported,
    ];
    let any = |wanted: &Decision| parts.iter().any(|result| result.decision == *wanted);
    order.into_iter().find(any).unwrap_or(Decision::NotTestable)
}
