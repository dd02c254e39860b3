//! Bencher's metric format: benchmark, measure, value with its ends.
//!
//! `latency` is Bencher's own measure, in ns. Its `throughput` is operations per second, so
//! that bytes and wake-ups per second go under names of their own. What wasn't
//! measured is left out, as are controls' second names: a metric must be a number.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{json, name};
use analysis::{Estimate, Judged};
use model::metric::Unit;

#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

impl Metric {
    fn headline(estimate: &Estimate) -> Metric {
        Metric {
            value: estimate.median,
            lower_value: estimate.interval.low,
            upper_value: estimate.interval.high,
        }
    }

    fn percentile(estimate: &Estimate, name: &str) -> Option<Metric> {
        let over = estimate.percentile(name)?;
        Some(Metric {
            value: over.value,
            lower_value: Some(over.low),
            upper_value: Some(over.high),
        })
    }
}

pub fn text(judged: &Judged) -> String {
    let mut benchmarks = BTreeMap::new();
    for case in judged.results.iter().filter(|case| !case.twin) {
        let mut measures = BTreeMap::new();
        let mut put = |measure: String, metric: Option<Metric>| {
            if let Some(metric) = metric {
                measures.insert(measure, metric);
            }
        };
        if let Some(value) = &case.value {
            let name = match case.metric.unit {
                Unit::Nanoseconds => case.metric.name.to_string(),
                unit => format!("{}-{}", case.metric.name, unit.name().replace('_', "-")),
            };
            put(format!("{name}-p99"), Metric::percentile(value, "p99"));
            put(name, Some(Metric::headline(value)));
        }
        if !measures.is_empty() {
            benchmarks.insert(name(judged, case), measures);
        }
    }
    json(&benchmarks)
}
