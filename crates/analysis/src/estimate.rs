//! What is said of a case: its status, its quantity over launches with the interval, and whether
//! the precision that was asked was reached.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::percentile::OverLaunches;
use super::{Ranked, interval_of};

/// What became of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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

/// The interval of a median over launches; all null where there are too few launches for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct MedianInterval {
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Ranks of the ends among the launches, counted from 1; null also of a share.
    pub ranks: Option<[usize; 2]>,
    /// The coverage that it really has; of a share the one aimed at.
    pub coverage: Option<f64>,
}

impl MedianInterval {
    /// Both ends.
    pub fn ends(&self) -> Option<(f64, f64)> {
        self.low.zip(self.high)
    }
}

impl From<Option<Ranked>> for MedianInterval {
    fn from(found: Option<Ranked>) -> MedianInterval {
        MedianInterval {
            low: found.map(|ranked| ranked.interval.low),
            high: found.map(|ranked| ranked.interval.high),
            ranks: found.map(|ranked| ranked.ranks),
            coverage: found.map(|ranked| ranked.interval.coverage),
        }
    }
}

/// A quantity over launches.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Estimate {
    /// Median over launches, of a metric of the launch medians.
    pub median: f64,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
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
    /// Percentiles of single operations; null where the samples can't support one. Empty, and not
    /// exported, of what has one value a launch.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub percentiles: BTreeMap<String, Option<OverLaunches>>,
}

impl Estimate {
    /// A percentile of single operations; None where the samples can't support it.
    pub fn percentile(&self, name: &str) -> Option<OverLaunches> {
        self.percentiles.get(name).copied().flatten()
    }

    /// Over `values`, one of each launch, without percentiles; None without values.
    pub(super) fn of(mut values: Vec<f64>) -> Option<Estimate> {
        values.sort_by(f64::total_cmp);
        Some(Estimate {
            min: *values.first()?,
            max: *values.last()?,
            median: stats::median(&values),
            interval: interval_of(&values).into(),
            n: values.len() as u64,
            q1: stats::quantile(&values, 0.25),
            q3: stats::quantile(&values, 0.75),
            percentiles: BTreeMap::new(),
        })
    }
}

/// Whether the precision that was asked was reached.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Precision {
    /// Relative half-width that was asked.
    pub asked: f64,
    /// Relative half-width that was reached.
    pub half_width: Option<f64>,
    /// Whether it is enough.
    pub reached: bool,
}
