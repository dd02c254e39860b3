//! Quantities of which each launch gives one value, beside its metric: the first message after set-up, and
//! the steps of a set-up.

use serde::Serialize;

use super::headline;
use model::metric::{Better, Metric, Unit};
use store::{StoredGroup, StoredLaunch};

/// A time over launches, one value each, in ns. The ends and the coverage of the interval of the
/// median are null where there are too few launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PerLaunch {
    /// Median over launches.
    pub median: f64,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Ranks of the ends among the launches, counted from 1.
    pub ranks: Option<[usize; 2]>,
    /// The coverage that the interval really has, the group's other analysis counted.
    pub coverage: Option<f64>,
    /// Launches that tell one.
    pub n: u64,
    /// Smallest launch.
    pub min: f64,
    /// First quartile of the launches.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
    /// Largest launch.
    pub max: f64,
}

/// The name of the first round trip after set-up, among secondary quantities.
pub const FIRST_MESSAGE: &str = "first_message";

/// A quantity of a case beside its metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Secondary {
    /// `first_message`; of a set-up its steps: `open`, or `bind`, `connect`, `accept`, `rest`, then `close`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// One value of each launch, over launches.
    #[serde(flatten)]
    pub value: PerLaunch,
}

impl PerLaunch {
    /// None without values.
    fn of(mut values: Vec<f64>, group: &StoredGroup) -> Option<PerLaunch> {
        if values.is_empty() {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let found = headline(&values, group);
        let interval = found.map(|it| it.interval);
        Some(PerLaunch {
            median: stats::median(&values),
            low: interval.map(|it| it.low),
            high: interval.map(|it| it.high),
            ranks: found.map(|it| it.ranks),
            coverage: interval.map(|it| it.coverage),
            n: values.len() as u64,
            min: values[0],
            q1: stats::quantile(&values, 0.25),
            q3: stats::quantile(&values, 0.75),
            max: values[values.len() - 1],
        })
    }
}

/// What launches tell beside the metric: their very first round trip, where one was made and kept, and the
/// steps of a set-up, in their order.
pub(super) fn secondary(
    metric: &Metric,
    launches: &[&StoredLaunch],
    group: &StoredGroup,
) -> Vec<Secondary> {
    let told = |name: &str, values: Vec<f64>, unit: Unit, better: Better| {
        let value = PerLaunch::of(values, group)?;
        Some(Secondary { name: name.into(), unit, better, value })
    };
    let first = launches.iter().filter_map(|it| it.record.initiator.first_ns).collect();
    let steps = launches.first().map_or(&[][..], |it| &it.record.initiator.parts);
    let step = |(name, _): &(String, f64)| {
        let all = launches.iter().flat_map(|it| &it.record.initiator.parts);
        told(
            name,
            all.filter(|it| it.0 == *name).map(|it| it.1).collect(),
            metric.unit,
            metric.better,
        )
    };
    let first = told(FIRST_MESSAGE, first, Unit::Nanoseconds, Better::Lower);
    first.into_iter().chain(steps.iter().filter_map(step)).collect()
}
