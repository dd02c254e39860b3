//! The study that a run was made for: read once, from the text that the run keeps, and its claims decided.

use serde::Serialize;
use study::declared::{Declared, declare};

use super::hypothesis::{Decision, Finding, Ground, decide};
use super::{CaseResult, Observed};
use store::StoredRun;

/// A study, and what the run says of its claims.
#[derive(Debug)]
pub struct JudgedStudy {
    /// The study.
    pub declared: Declared,
    /// One per claim, in the study's order.
    pub findings: Vec<Finding>,
}

/// A claim as other programs read it.
#[derive(Serialize)]
pub struct Claim<'a> {
    /// Its number in the study, from 1.
    id: usize,
    /// The claim, in the study's words.
    statement: &'a str,
    /// Where the source makes it.
    claimed: Option<&'a str>,
    /// What became of it.
    verdict: Decision,
    /// The effect with its interval, in words; null where there is none.
    effect: Option<&'a str>,
    /// Two-sided, before correction; null where the test has none.
    p: Option<f64>,
    /// Corrected over the study's claims.
    p_holm: Option<f64>,
    /// Why it could not be decided; null where it was tested.
    reason: Option<&'a str>,
}

impl JudgedStudy {
    /// What a run says of its study; None of a run without one.
    ///
    /// # Errors
    /// Where its text is no study of this build.
    pub(super) fn of(
        run: &StoredRun,
        results: &[CaseResult],
        observed: &[Observed],
    ) -> Result<Option<JudgedStudy>, String> {
        let Some(text) = &run.request.study else { return Ok(None) };
        let declared = declare(&text.text, &text.name, &run.catalogue)?;
        let copy = run.floors.as_ref().and_then(|floors| floors.copy.get().ok());
        let caches = copy.iter().flat_map(|copy| &copy.levels).filter_map(|it| it.cache_bytes);
        let observed = observed.iter().map(|it| it.case.clone());
        let cases: Vec<CaseResult> = results.iter().cloned().chain(observed).collect();
        let ground = Ground { declared: &declared, results: &cases, llc_bytes: caches.max() };
        let findings = decide(&ground);
        Ok(Some(JudgedStudy { declared, findings }))
    }

    /// Its claims for other programs.
    pub(super) fn claims<'a>(&'a self) -> Vec<Claim<'a>> {
        let claim = |(at, it): (usize, &'a Finding)| {
            // Of what was not tested the words say why.
            let words = Some(it.effect.as_str());
            let (effect, reason) =
                if it.decision.is_tested() { (words, None) } else { (None, words) };
            Claim {
                id: at + 1,
                statement: &it.statement,
                claimed: it.claimed.as_deref(),
                verdict: it.decision,
                effect,
                p: it.p,
                p_holm: it.p_holm,
                reason,
            }
        };
        self.findings.iter().enumerate().map(claim).collect()
    }
}
