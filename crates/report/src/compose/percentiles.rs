//! Percentiles of single operations beside the median: p99 and the largest sample; and what the launches of a
//! case lack for one.

use super::{labels, loads};
use crate::{Column, Row, Table, Text, Unit, units};
use analysis::{CaseResult, Judged, PERCENTILES, Percentile};

/// What the columns mean, said once under the last table.
pub const MEANING: &str = "p50 and p99 are medians over launches of each launch's own, p50 by the ends of its 95 % interval, p99 with the share of all \
     messages that were later; max is the largest of all launches. –: a p99 takes 368 samples in each launch, and there were fewer. batched: round trips \
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
        let single = |case: &CaseResult| case.metric.is_round_trip() || case.metric.paced;
        let timed = |case: &&CaseResult| single(case) && !case.carries.is_control();
        Columns {
            tails: cases.iter().any(timed),
            served: cases.iter().any(|case| case.rate.is_some()),
            clock: cases.iter().any(|case| case.clock_limited),
        }
    }

    /// Whether percentiles of single operations are shown.
    pub fn are_shown(&self) -> bool {
        self.tails
    }

    /// None of them goes on a narrow terminal but the largest, where the table has more than usual.
    pub fn columns(&self, has_more: bool) -> impl Iterator<Item = Column> {
        let named = [
            (self.tails, "p99", 0),
            (self.tails, "max", u8::from(has_more)),
            (self.served, "served", 0),
            (self.clock, "clock", 0),
        ];
        named.into_iter().filter(|entry| entry.0).map(|entry| Column::number(entry.1, entry.2))
    }

    /// The cells of a case under these columns.
    pub fn cells(&self, case: &CaseResult) -> impl Iterator<Item = Text> {
        let served = case.rate.and_then(|rate| rate.served_per_sec);
        let sign = if case.clock_limited { " !" } else { "" };
        let clock =
            case.clock_share.map(|clock_share| format!("{:.1} %{sign}", 100.0 * clock_share));
        let cells = [
            (self.tails, cell(case, "p99")),
            (self.tails, largest(case)),
            (self.served, served.map_or("–".into(), |value| loads::per_second(value).into())),
            (self.clock, clock.unwrap_or_else(|| "–".into()).into()),
        ];
        cells.into_iter().filter(|cell| cell.0).map(|cell| cell.1)
    }
}

/// A percentile over launches; a dash where they have too few samples for it.
fn cell(case: &CaseResult, name: &str) -> Text {
    match over(case, name) {
        Some(it) => {
            format!("{} ({})", units::duration(it.value), labels::later(it.later_share)).into()
        }
        None if case.batch == Some(1) || !case.is_kept() => Text::new().muted("–"),
        None => Text::new().muted("batched"),
    }
}

/// A percentile over launches with the ends of its interval, where each launch has the samples that it takes.
pub fn of(case: &CaseResult, name: &str) -> Option<[f64; 3]> {
    over(case, name).map(|percentile| [percentile.value, percentile.low, percentile.high])
}

/// The same, with the share of all samples that took longer.
pub fn over(case: &CaseResult, name: &str) -> Option<Percentile> {
    let percentiles = &case.value.as_ref().filter(|_| case.is_kept())?.percentiles;
    percentiles.get(name).copied().flatten()
}

/// Percentiles beyond the 99th.
const DEEP: [&str; 2] = ["p99.9", "p99.99"];

const DEEP_MEANING: &str = "Medians over launches of each launch's own, with their intervals, and the share of all \
     messages that were later. –: a launch has too few \
     samples: a p99.9 takes 3,688 of them, a p99.99 36,887.";

/// Percentiles beyond the 99th, a row for each case that has one; None where none has.
pub fn deep(judged: &Judged) -> Option<Table> {
    let all = judged.results.iter().filter(|result| !result.twin);
    let rows: Vec<&CaseResult> =
        all.filter(|case| DEEP.iter().any(|name| of(case, name).is_some())).collect();
    let mut table = Table::new("Tails: p99.9 and p99.99")
        .words([("mechanism", 0), ("of", 0)])
        .note(DEEP_MEANING);
    table.columns.extend(DEEP.map(|name| Column::number(name, 0)));
    for case in &rows {
        let value = |name: &str| match over(case, name) {
            Some(it) => {
                let time = Unit::Nanoseconds.interval(it.value, it.low, it.high);
                format!("{time}, {}", labels::later(it.later_share)).into()
            }
            None => Text::new().muted("–"),
        };
        let [name, what] = labels::named(case);
        table.rows.push(Row::new([name, what].into_iter().chain(DEEP.map(value))));
    }
    (!rows.is_empty()).then_some(table)
}

/// `266 of the 368 needed`: the samples of a launch; None where they are enough, or samples
/// are no single operations.
pub fn lacking(case: &CaseResult, name: &str) -> Option<String> {
    let [there, needed] = samples(case, name)?;
    Some(format!("{} of the {} needed", units::count(there), units::count(needed)))
}

/// The samples of a launch, and those that the percentile takes; None as above.
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
