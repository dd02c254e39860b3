//! Quantities of which each launch gives one value, beside its metric: the first message after set-up, and
//! the steps of a set-up.

use serde::Serialize;

use super::Estimate;
use model::metric::{Better, Metric, Unit};
use store::{StoredGroup, StoredLaunch};

/// The name of the first round trip after set-up, among secondary quantities.
pub const FIRST_MESSAGE: &str = "first_message";

/// A quantity of a case beside its metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Secondary {
    /// `first_message`; of a set-up its steps: `open` and `close`; of a connection the responder's `socket`, `bind`
    /// and `listen`, then the initiator's `connect`, `accept` and `close`; `rest` before it between two hosts; of a
    /// crowd `time_ns`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// One value of each launch, over launches.
    #[serde(flatten)]
    pub value: Estimate,
}

/// What launches have beside the metric: their very first round trip, where one was made and kept, and the
/// steps of a set-up, in their order: the responder listens before the initiator connects.
pub(super) fn secondary(
    metric: &Metric,
    launches: &[&StoredLaunch],
    group: &StoredGroup,
) -> Vec<Secondary> {
    let secondary = |name: &str, values: Vec<f64>, unit: Unit, better: Better| {
        let value = Estimate::of(values, group)?;
        Some(Secondary { name: name.into(), unit, better, value })
    };
    let first = launches.iter().filter_map(|it| it.record.initiator.first_ns).collect();
    let parts = |it: &&StoredLaunch| {
        let StoredLaunch { record, .. } = it;
        record.responder.parts.iter().chain(&record.initiator.parts).cloned().collect::<Vec<_>>()
    };
    let steps = launches.first().map_or_else(Vec::new, parts);
    let step = |(name, _): &(String, f64)| {
        let all = launches.iter().flat_map(parts);
        // A time beside a rate has its unit in its name.
        let (unit, better) = if name.ends_with("_ns") {
            (Unit::Nanoseconds, Better::Lower)
        } else {
            (metric.unit, metric.better)
        };
        secondary(name, all.filter(|it| it.0 == *name).map(|it| it.1).collect(), unit, better)
    };
    let first = secondary(FIRST_MESSAGE, first, Unit::Nanoseconds, Better::Lower);
    first.into_iter().chain(steps.iter().filter_map(step)).collect()
}
