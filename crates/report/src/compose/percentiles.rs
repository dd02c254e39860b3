//! Percentiles of single operations beside the median: p99 and the largest sample; and what the launches of a
//! case lack for one.

use super::open_loop;
use crate::{Column, Text, units};
use analysis::{CaseResult, PERCENTILES};

/// What the columns mean, said once under the last table.
pub const MEANING: &str = "p50 and p99 are medians over launches of each launch's own; max is the largest of all \
     launches. 81/368: a p99 takes 368 independent samples in each launch, and there were 81. batched: round trips \
     were timed in batches, which --unbatched avoids.";
/// What it means where round trips were too short for the clock.
pub const BY_THE_CLOCK: &str = "clock: the share of the clock's cost in a median; ! where a round trip is shorter than \
     20 clock reads or 50 clock steps, so that the clock is a part of each percentile.";

/// The columns of percentiles that a table of these cases has.
pub struct Columns {
    tails: bool,
    served: bool,
    clock: bool,
}

impl Columns {
    /// Those that at least one case has something for: a transfer is timed as a whole.
    pub fn of(cases: &[&CaseResult]) -> Columns {
        let single = |it: &CaseResult| it.metric.is_round_trip() || it.metric.paced;
        let timed = |it: &&CaseResult| single(it) && !it.carries.is_control();
        Columns {
            tails: cases.iter().any(timed),
            served: cases.iter().any(|it| it.rate.is_some()),
            clock: cases.iter().any(|it| it.clock_limited),
        }
    }

    /// Whether percentiles of single operations are shown.
    pub fn are_shown(&self) -> bool {
        self.tails
    }

    /// None of them goes on a narrow terminal.
    pub fn columns(&self) -> impl Iterator<Item = Column> {
        let named = [
            (self.tails, "p99"),
            (self.tails, "max"),
            (self.served, "served"),
            (self.clock, "clock"),
        ];
        named.into_iter().filter(|it| it.0).map(|it| Column::number(it.1, 0))
    }

    /// The cells of a case under these columns.
    pub fn cells(&self, case: &CaseResult) -> impl Iterator<Item = Text> {
        let served = case.rate.and_then(|it| it.served_per_sec);
        let sign = if case.clock_limited { " !" } else { "" };
        let clock = case.clock_share.map(|it| format!("{:.1} %{sign}", 100.0 * it));
        let cells = [
            (self.tails, cell(case, "p99")),
            (self.tails, largest(case)),
            (self.served, served.map_or("–".into(), |it| open_loop::per_second(it).into())),
            (self.clock, clock.unwrap_or_else(|| "–".into()).into()),
        ];
        cells.into_iter().filter(|it| it.0).map(|it| it.1)
    }
}

/// A percentile over launches; else what they lack for it.
fn cell(case: &CaseResult, name: &str) -> Text {
    let found = case.value.as_ref().and_then(|it| it.percentiles.get(name).copied().flatten());
    match (found, share(case, name)) {
        _ if !case.is_kept() => Text::new().muted("–"),
        (Some(it), _) => Text::from(units::duration(it.value)),
        (None, Some(share)) => Text::new().muted(share),
        (None, None) if case.batch == Some(1) => Text::new().muted("–"),
        (None, None) => Text::new().muted("batched"),
    }
}

/// `81/368`: the independent samples of a launch, and those that the percentile takes; None as below.
pub fn share(case: &CaseResult, name: &str) -> Option<String> {
    let [there, needed] = samples(case, name)?;
    Some(format!("{}/{}", units::count(there), units::count(needed)))
}

/// `266 of the 368 needed`: the independent samples of a launch; None where they are enough, or samples
/// are no single operations.
pub fn lacking(case: &CaseResult, name: &str) -> Option<String> {
    let [there, needed] = samples(case, name)?;
    Some(format!("{} of the {} needed", units::count(there), units::count(needed)))
}

/// The independent samples of a launch, and those that the percentile takes; None as above.
fn samples(case: &CaseResult, name: &str) -> Option<[u64; 2]> {
    let missing = *case.samples_missing.get(name)?;
    let (_, probability) = PERCENTILES.into_iter().find(|(known, _)| *known == name)?;
    let needed = stats::samples_needed(probability);
    Some([needed.saturating_sub(missing), needed])
}

fn largest(case: &CaseResult) -> Text {
    match case.largest_ns.filter(|_| case.is_kept()) {
        Some(ns) => units::duration(ns).into(),
        None => Text::new().muted("–"),
    }
}
