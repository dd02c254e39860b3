//! What is said of a case: how it stands, its quantity over launches, and whether
//! the precision that was asked was reached.

use std::collections::BTreeMap;

use serde::Serialize;

use super::percentile::OverLaunches;

/// How a case stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Measured.
    Ok,
    /// It makes no sense here, or the machine lacks the place.
    NotApplicable,
    /// The mechanism can't be had here.
    Unavailable,
    /// Its launches failed, or none was made before the end.
    Failed,
}

/// A quantity over launches. Ends are null where there are too few launches for an interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Median over launches of the launch medians.
    pub median: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Ranks of the ends among the launch medians, counted from 1.
    pub ranks: Option<[usize; 2]>,
    /// The coverage that the interval really has, the group's other analysis counted.
    pub coverage: Option<f64>,
    /// Launches that it is made of.
    pub n: u64,
    /// Smallest launch.
    pub min: f64,
    /// First quartile of the launches.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
    /// Largest launch.
    pub max: f64,
    /// Percentiles of single operations; null where the samples can't support one.
    pub percentiles: BTreeMap<String, Option<OverLaunches>>,
}

/// Whether the precision that was asked was reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Precision {
    /// Relative half-width that was asked.
    pub asked: f64,
    /// Relative half-width that was reached.
    pub half_width: Option<f64>,
    /// Whether it is enough.
    pub reached: bool,
}
