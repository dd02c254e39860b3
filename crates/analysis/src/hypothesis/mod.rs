//! The claims of a study, decided on its results.
//!
//! Each claim has the test that its author chose before anything was measured. A test works on
//! launch medians paired by round; what it says is supported, refuted, inconclusive, or that the
//! run or the machine lacks what the test needs. The p values of a study are one family, corrected
//! by Holm.

mod bounds;
mod curves;
mod decide;
mod lost;
mod needed;
mod parts;
mod ratio;
mod select;
mod slope;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::floor_rows::Floors;
use super::{ALPHA, CaseResult};
use model::words::counted;
use stats::Interval;
use study::format::{Hypothesis, Test};
use study::size_bound::Caches;
use study::validated::ValidatedStudy;

pub use curves::{PointByPoint, point_by_point};
pub use needed::{Needed, needed};
pub use ratio::{Gain, gain};
pub use select::{level, quantity, takes};

/// What the results say of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The claim holds here, by its test.
    Supported,
    /// The opposite holds here, or a difference that was claimed isn't there.
    Refuted,
    /// These launches can't tell.
    Inconclusive,
    /// Too few rounds were measured for any launches to tell.
    TooFewRounds,
    /// The launches hold too few samples for that percentile.
    TooFewSamples,
    /// The run ended before what the claim is about was measured.
    NoTime,
    /// The machine lacks what the claim is about.
    NotTestable,
}

impl Decision {
    /// Every one, those that tell most first.
    pub const ALL: [Decision; 7] = [
        Decision::Supported,
        Decision::Refuted,
        Decision::Inconclusive,
        Decision::TooFewRounds,
        Decision::TooFewSamples,
        Decision::NoTime,
        Decision::NotTestable,
    ];

    /// Its name for a reader.
    pub fn name(self) -> &'static str {
        match self {
            Decision::Supported => "supported",
            Decision::Refuted => "refuted",
            Decision::Inconclusive => "inconclusive",
            Decision::TooFewRounds => "not enough rounds",
            Decision::TooFewSamples => "not enough samples",
            Decision::NoTime => "no time left",
            Decision::NotTestable => "not testable here",
        }
    }

    /// Whether a test could be made at all.
    pub fn is_tested(self) -> bool {
        matches!(self, Decision::Supported | Decision::Refuted | Decision::Inconclusive)
    }
}

/// A claim, decided.
#[derive(Clone, Debug, JsonSchema, Serialize)]
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
    /// The effect as numbers; null where it is none, or has no interval.
    pub measured: Option<Effect>,
    /// Two-sided, before correction; null where the test has none.
    pub p: Option<f64>,
    /// Corrected over the study's claims.
    pub p_holm: Option<f64>,
}

/// The effect that a claim is about, with its interval.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Effect {
    /// What was found.
    pub value: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// `ratio`: how many times as fast the left side is, more than 1 where it is better, or along a curve the later
    /// level over the earlier; `ratio_of_values`: left over right as they are, of times more than 1 where the left takes
    /// longer; `share`; `bytes`, of the place of a peak; else of the quantity: `ns`, `bytes_per_sec`, `per_sec`, `count`,
    /// or the study's own of a derived column.
    pub unit: Cow<'static, str>,
}

/// What a test found.
pub(crate) struct TestResult {
    decision: Decision,
    effect: String,
    /// The same as numbers; of several parts that of the one which decides.
    measured: Option<Box<Effect>>,
    /// Where the effect can be said in fewer words.
    brief: Option<String>,
    p: Option<f64>,
    /// The smallest p that so many rounds can give.
    least_p: Option<f64>,
    /// Of a test without a p: how far the effect is from the bound that it might cross, in widths of its interval.
    clearance: Option<f64>,
}

impl TestResult {
    fn new(decision: Decision, effect: impl Into<String>, p: Option<f64>) -> TestResult {
        TestResult {
            decision,
            effect: effect.into(),
            measured: None,
            brief: None,
            p,
            least_p: None,
            clearance: None,
        }
    }

    /// With its effect as numbers.
    fn measuring(self, interval: &Interval, unit: impl Into<Cow<'static, str>>) -> TestResult {
        let (low, high) = (interval.low, interval.high);
        self.with(Effect { value: interval.estimate, low, high, unit: unit.into() })
    }

    /// An effect and its interval, of which `least` and `most` are claimed or asked, on a scale on which distances
    /// count alike.
    fn clear_of(self, [value, low, high]: [f64; 3], [least, most]: [f64; 2]) -> TestResult {
        let distance = (value - least).abs().min((value - most).abs());
        let clearance = distance / (high - low).max(f64::MIN_POSITIVE);
        TestResult { clearance: Some(clearance).filter(|clear| !clear.is_nan()), ..self }
    }

    fn with(self, measured: Effect) -> TestResult {
        TestResult { measured: Some(Box::new(measured)), ..self }
    }

    fn in_brief(self, brief: impl Into<String>) -> TestResult {
        TestResult { brief: Some(brief.into()), ..self }
    }

    /// Its p is that of a sign test over so many rounds.
    fn over_rounds(self, rounds: usize) -> TestResult {
        TestResult { least_p: Some(needed::least_p(rounds)), ..self }
    }

    fn brief(&self) -> &str {
        self.brief.as_ref().unwrap_or(&self.effect)
    }

    fn not_testable(reason: impl Into<String>) -> TestResult {
        TestResult::new(Decision::NotTestable, reason, None)
    }

    /// Of a case that wasn't measured: the machine lacks something, or the clock cut it.
    fn not_measured(case: &CaseResult, reason: impl Into<String>) -> TestResult {
        let cut = case.was_cut_short();
        let decision = if cut { Decision::NoTime } else { Decision::NotTestable };
        TestResult::new(decision, reason, None)
    }

    fn too_few_rounds(of: impl std::fmt::Display, rounds: usize) -> TestResult {
        let many = counted(rounds as u64, "round");
        let text = format!("{of}: {many}, of at least {} needed", needed::LEAST_ROUNDS);
        TestResult::new(Decision::TooFewRounds, text, None)
    }
}

/// What claims are decided on.
pub struct Ground<'a> {
    /// The study.
    pub declared: &'a ValidatedStudy,
    /// Its results.
    pub results: &'a [CaseResult],
    /// What the machine can do at best; None of a run without.
    pub floors: Option<&'a Floors>,
    /// The machine's caches.
    pub caches: Caches,
}

/// Decides every claim of a study. What rests on a p stands only if that is still below 5 % after
/// correction.
pub fn decide(on: &Ground) -> Vec<Finding> {
    let claims = &on.declared.study.hypothesis;
    let result: Vec<TestResult> = claims.iter().map(|claim| decide::decide(claim, on)).collect();
    let family: Vec<f64> = result.iter().filter_map(|result| result.p).collect();
    let mut corrected = stats::holm(&family).into_iter();
    let of_family = |(claim, result)| finding(claim, result, family.len(), &mut corrected);
    claims.iter().zip(result).map(of_family).collect()
}

fn finding(
    claim: &Hypothesis,
    mut result: TestResult,
    family: usize,
    corrected: &mut impl Iterator<Item = f64>,
) -> Finding {
    let p_holm = result.p.and_then(|_| corrected.next());
    let firm = matches!(result.decision, Decision::Supported | Decision::Refuted);
    if firm && p_holm.is_some_and(|p| p >= ALPHA) {
        result.decision = Decision::Inconclusive;
        if let Some(more) =
            result.least_p.and_then(|value| needed::more_rounds(value * family as f64))
        {
            result.decision = Decision::TooFewRounds;
            let (claims, more) = (counted(family as u64, "claim"), counted(more as u64, "round"));
            let why = format!("; {claims} together need {more} more");
            result.brief = Some(format!("{}{why}", result.brief()));
            result.effect.push_str(&why);
        }
    }
    Finding {
        statement: claim.statement.clone(),
        claimed: claim.claimed.clone(),
        test: claim.test,
        decision: result.decision,
        brief: result.brief().to_string(),
        effect: result.effect,
        measured: result.measured.map(|effect| *effect),
        p: result.p,
        p_holm,
    }
}
