//! Quantities of which each launch gives one value: the first message after set-up, and the
//! parts of a set-up.

use serde::Serialize;

use super::headline;
use store::{StoredGroup, StoredLaunch};

/// A time over launches, one value each, in ns. The ends and the coverage of the interval of the
/// median are null where there are too few launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OncePerLaunch {
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
    /// Smallest launch.
    pub min: f64,
    /// First quartile of the launches.
    pub q1: f64,
    /// Third quartile.
    pub q3: f64,
    /// Largest launch.
    pub max: f64,
}

/// A part of a set-up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SetupPhase {
    /// `open`; or `bind`, `connect`, `accept`, `rest`; then `close`.
    pub phase: String,
    /// What it took: the median of a launch, over launches.
    #[serde(flatten)]
    pub time: OncePerLaunch,
}

impl OncePerLaunch {
    /// None without values.
    fn of(mut values: Vec<f64>, group: &StoredGroup) -> Option<OncePerLaunch> {
        if values.is_empty() {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let found = headline(&values, group);
        let interval = found.map(|it| it.interval);
        Some(OncePerLaunch {
            median: stats::median(&values),
            low: interval.map(|it| it.low),
            high: interval.map(|it| it.high),
            ranks: found.map(|it| it.ranks),
            coverage: interval.map(|it| it.coverage),
            min: values[0],
            q1: stats::quantile(&values, 0.25),
            q3: stats::quantile(&values, 0.75),
            max: values[values.len() - 1],
        })
    }
}

/// The very first round trip of each launch; None where none was made, or it wasn't kept.
pub(super) fn first_message(
    launches: &[&StoredLaunch],
    group: &StoredGroup,
) -> Option<OncePerLaunch> {
    let values = launches.iter().filter_map(|it| it.record.initiator.first_ns);
    OncePerLaunch::of(values.collect(), group)
}

/// The parts of a set-up, in their order.
pub(super) fn setup_phases(launches: &[&StoredLaunch], group: &StoredGroup) -> Vec<SetupPhase> {
    let Some(first) = launches.first() else { return Vec::new() };
    let of = |name: &str| {
        let phases = launches.iter().flat_map(|it| &it.record.initiator.phases_ns);
        phases.filter(|it| it.0 == name).map(|it| it.1).collect()
    };
    let phase = |(name, _): &(String, f64)| {
        let time = OncePerLaunch::of(of(name), group)?;
        Some(SetupPhase { phase: name.clone(), time })
    };
    first.record.initiator.phases_ns.iter().filter_map(phase).collect()
}
