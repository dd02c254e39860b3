//! The study that a run was made for: read once, from the text that the run keeps, and its claims decided.

use schemars::JsonSchema;
use serde::Serialize;
use study::format::Test;
use study::size_bound::Caches;
use study::validated::{ValidatedStudy, validate};

use super::CaseResult;
use super::hypothesis::{Decision, Finding, Ground, decide};
use store::StoredRun;

/// A study, and what the run says of its claims.
#[derive(Debug)]
pub struct JudgedStudy {
    /// The study.
    pub declared: ValidatedStudy,
    /// One per claim, in the study's order.
    pub findings: Vec<Finding>,
}

/// A claim as other programs read it.
#[derive(JsonSchema, Serialize)]
pub struct Claim<'a> {
    /// Its number in the study, from 1.
    pub id: usize,
    /// The claim, in the study's words.
    pub statement: &'a str,
    /// Where the source makes it.
    pub claimed: Option<&'a str>,
    /// The test that decided.
    pub test: Test,
    /// What became of it.
    pub verdict: Decision,
    /// The effect, in its `unit`; null where it is no number, or has no interval. Of a claim of several parts that
    /// of the one which decides.
    pub effect: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// What the effect is in: see [`super::hypothesis::Effect`].
    pub unit: Option<&'a str>,
    /// The effect with its interval, in words; null where nothing was tested.
    pub words: Option<&'a str>,
    /// Two-sided, before correction; null where the test has none.
    pub p: Option<f64>,
    /// Corrected over the study's claims.
    pub p_holm: Option<f64>,
    /// Why it could not be decided; null where it was tested.
    pub reason: Option<&'a str>,
}

impl JudgedStudy {
    /// What the `cases` of a run say of its study; None of a run without one.
    ///
    /// # Errors
    /// Where its text is no study of this build.
    pub(super) fn of(run: &StoredRun, cases: &[CaseResult]) -> Result<Option<JudgedStudy>, String> {
        let Some(text) = &run.request.study else { return Ok(None) };
        let declared = validate(&text.text, &text.name, &run.catalogue)?;
        let copy = run.floors.as_ref().and_then(|floors| floors.copy.get().ok());
        let levels = || copy.iter().flat_map(|copy| &copy.levels);
        let second =
            levels().find(|level| level.level == "L2").and_then(|levels| levels.cache_bytes);
        let caches = Caches { second, last: levels().filter_map(|level| level.cache_bytes).max() };
        let floors = run.floors.as_ref();
        let ground = Ground { declared: &declared, results: cases, floors, caches };
        let findings = decide(&ground);
        Ok(Some(JudgedStudy { declared, findings }))
    }

    /// Its claims for other programs.
    pub fn claims<'a>(&'a self) -> Vec<Claim<'a>> {
        let claim = |(at, finding): (usize, &'a Finding)| {
            // Of what was not tested the words say why.
            let words = Some(finding.effect.as_str());
            let tested = finding.measured.as_ref().filter(|_| finding.decision.is_tested());
            let (words, reason) =
                if finding.decision.is_tested() { (words, None) } else { (None, words) };
            Claim {
                id: at + 1,
                statement: &finding.statement,
                claimed: finding.claimed.as_deref(),
                test: finding.test,
                verdict: finding.decision,
                effect: tested.map(|effect| effect.value),
                low: tested.map(|effect| effect.low),
                high: tested.map(|effect| effect.high),
                unit: tested.map(|effect| &*effect.unit),
                words,
                p: finding.p,
                p_holm: finding.p_holm,
                reason,
            }
        };
        self.findings.iter().enumerate().map(claim).collect()
    }
}
