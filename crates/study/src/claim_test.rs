//! The tests that decide claims: what each wants of its claim, and by what it decides. How it does is
//! `analysis::hypothesis`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tests that decide claims.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// The left takes less time, or carries more, than the right.
    Faster,
    /// The left is slower than the right by no more than the margin.
    NotSlower,
    /// The left is faster than the right by no more than the margin.
    NotFaster,
    /// One of both is faster by more than the margin.
    Differs,
    /// Left and right are within the margin of each other.
    Equivalent,
    /// The left is within the margin of one or the other of two.
    NearEither,
    /// The measure itself lies within the claimed interval.
    Within,
    /// Left over right lies within the claimed interval.
    Ratio,
    /// Left less right lies within the claimed interval.
    Difference,
    /// Along the factor the measure never falls.
    Rises,
    /// Along the factor the measure never rises.
    Falls,
    /// Along the factor no step falls by more than the margin.
    NearlyRises,
    /// Along the factor no step rises by more than the margin.
    NearlyFalls,
    /// Along the factor the measure rises to a peak and falls after it.
    RisesThenFalls,
    /// The peak along the factor lies within the claimed interval.
    Peak,
    /// The left's peak along the factor comes before the right's.
    PeaksEarlier,
    /// The left's peak along the factor lies where the right's does.
    SamePeak,
    /// The cases of `order` stand in that order, best first.
    Ranking,
    /// Along the factor left and right differ by a constant factor only.
    SameShape,
    /// Each step along the factor, which counts, adds something, or as much as is claimed.
    Adds,
    /// Each step along the factor adds less than one of the right along `than`.
    AddsLess,
    /// Each step along the factor adds the same.
    Straight,
}

/// What a test wants of its claim, and by what it decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// `left` and `right` are compared with each other case by case: then `levels` goes with it.
    pub pairs: bool,
    /// It wants `right`.
    pub right: bool,
    /// It wants `along`.
    pub along: bool,
    /// It wants `than`.
    pub than: bool,
    /// It wants `or`.
    pub or: bool,
    /// It wants `order`.
    pub order: bool,
    /// Whether it wants `within`, and what its ends are.
    pub within: Option<Interval>,
    /// It does without `within`, too.
    pub within_optional: bool,
    /// Its p is one of the family that is corrected together; else an interval decides.
    pub rests_on_p: bool,
}

/// What the ends of a claimed interval are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Numbers from 0 on.
    Numbers,
    /// Places along the factor.
    Places,
}

impl Test {
    /// What it wants.
    pub fn needs(self) -> Needs {
        let none = Needs::default();
        let pair = Needs { pairs: true, right: true, ..none };
        let curve = Needs { along: true, ..none };
        let curves = Needs { right: true, ..curve };
        let numbers = Some(Interval::Numbers);
        match self {
            Test::Faster | Test::NotSlower | Test::NotFaster | Test::Differs => {
                Needs { rests_on_p: true, ..pair }
            }
            Test::Equivalent => pair,
            Test::NearEither => Needs { or: true, ..pair },
            Test::Ratio | Test::Difference => Needs { within: numbers, ..pair },
            Test::Within => Needs { within: numbers, ..none },
            Test::Ranking => Needs { pairs: true, order: true, rests_on_p: true, ..none },
            Test::Rises | Test::Falls | Test::RisesThenFalls => Needs { rests_on_p: true, ..curve },
            Test::Peak => Needs { within: Some(Interval::Places), ..curve },
            Test::PeaksEarlier => Needs { rests_on_p: true, ..curves },
            Test::SamePeak | Test::SameShape => curves,
            Test::Adds => Needs { within: numbers, within_optional: true, ..curve },
            Test::AddsLess => Needs { than: true, rests_on_p: true, ..curves },
            Test::Straight | Test::NearlyRises | Test::NearlyFalls => curve,
        }
    }
}
