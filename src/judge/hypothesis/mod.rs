//! The claims of a study, decided on its results.
//!
//! Each claim has the test that its author chose before anything was measured. A test works on
//! launch medians paired by round; what it says is supported, refuted, inconclusive, or not
//! testable here. The p values of a study are one family, corrected by Holm.

mod curves;
mod lost;
mod select;
mod slope;
mod tests;

use serde::Serialize;

use super::{ALPHA, CaseResult};
use crate::stats;
use crate::study::declared::Declared;
use crate::study::format::{Hypothesis, Test};

pub use curves::{PointByPoint, point_by_point};
pub use select::{level, takes};

/// What the results say of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The claim holds here, by its test.
    Supported,
    /// The opposite holds here, or a difference that was claimed isn't there.
    Refuted,
    /// These launches can't tell.
    Inconclusive,
    /// The machine, or the run, lacks what the claim is about.
    NotTestable,
}

impl Decision {
    /// Its name for a reader.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Supported => "supported",
            Decision::Refuted => "refuted",
            Decision::Inconclusive => "inconclusive",
            Decision::NotTestable => "not testable here",
        }
    }

    /// Of several parts of one claim: it holds if all of them do, and fails with any.
    fn of_all(parts: &[Decision]) -> Decision {
        let any = |it| parts.contains(&it);
        match () {
            () if parts.is_empty() => Decision::NotTestable,
            () if any(Decision::Refuted) => Decision::Refuted,
            () if any(Decision::Inconclusive) => Decision::Inconclusive,
            () if any(Decision::Supported) => Decision::Supported,
            () => Decision::NotTestable,
        }
    }
}

/// A claim, decided.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The claim, in the study's words.
    pub statement: String,
    /// Where the source makes it.
    pub claimed: Option<String>,
    /// The test that decided.
    pub test: Test,
    /// What was found.
    pub decision: Decision,
    /// The effect with its interval, or the reason, in words.
    pub effect: String,
    /// The same in a line: of many pairs their mean alone, of many parts the one that decides.
    #[serde(skip)]
    pub brief: String,
    /// Two-sided, before correction; null where the test has none.
    pub p: Option<f64>,
    /// Corrected over the study's claims.
    pub p_holm: Option<f64>,
}

/// What a test found.
pub(crate) struct Told {
    decision: Decision,
    effect: String,
    /// Where the effect can be said in fewer words.
    brief: Option<String>,
    p: Option<f64>,
}

impl Told {
    fn new(decision: Decision, effect: impl Into<String>, p: Option<f64>) -> Told {
        Told { decision, effect: effect.into(), brief: None, p }
    }

    fn in_brief(self, brief: impl Into<String>) -> Told {
        Told { brief: Some(brief.into()), ..self }
    }

    fn brief(&self) -> &str {
        self.brief.as_ref().unwrap_or(&self.effect)
    }

    fn not_testable(reason: impl Into<String>) -> Told {
        Told::new(Decision::NotTestable, reason, None)
    }
}

/// What claims are decided on.
pub struct Ground<'a> {
    /// The study.
    pub declared: &'a Declared,
    /// Its results.
    pub results: &'a [CaseResult],
    /// Bytes of the machine's last-level cache, where they are known.
    pub llc_bytes: Option<u64>,
}

/// Decides every claim of a study. A difference is only supported if its p is still below 5 %
/// after correction.
pub fn decide(on: &Ground) -> Vec<Finding> {
    let claims = &on.declared.study.hypothesis;
    let told: Vec<Told> = claims.iter().map(|claim| tests::decide(claim, on)).collect();
    let family: Vec<f64> = told.iter().filter_map(|it| it.p).collect();
    let mut corrected = stats::holm(&family).into_iter();
    claims.iter().zip(told).map(|(claim, told)| finding(claim, told, &mut corrected)).collect()
}

fn finding(claim: &Hypothesis, told: Told, corrected: &mut impl Iterator<Item = f64>) -> Finding {
    let p_holm = told.p.and_then(|_| corrected.next());
    let rests_on_p = matches!(told.decision, Decision::Supported | Decision::Refuted)
        && !matches!(
            claim.test,
            Test::Equivalent
                | Test::SameShape
                | Test::Peak
                | Test::SamePeak
                | Test::Within
                | Test::Adds
                | Test::Straight
        );
    let decision = match p_holm {
        Some(p) if rests_on_p && p >= ALPHA => Decision::Inconclusive,
        _ => told.decision,
    };
    Finding {
        statement: claim.statement.clone(),
        claimed: claim.claimed.clone(),
        test: claim.test,
        decision,
        brief: told.brief().to_string(),
        effect: told.effect,
        p: told.p,
        p_holm,
    }
}
