//! Percentiles of single operations beside the median: p99 and the largest sample; and what the launches of a
//! case lack for one.

use super::labels;
use crate::{Table, TableOfEach, Text, Unit, units};
use analysis::{CaseResult, Judged, PERCENTILES, Percentile};

/// What the columns mean, said once under the last table.
pub const MEANING: &str = "p50 and p99 are medians over launches of each launch's own, p50 by the ends of its 95 % interval, p99 with the share of all \
     messages that were later; max is the largest of all launches. –: a p99 takes 368 samples in each launch, and there were fewer. batched: round trips \
     were timed in batches, which --unbatched avoids.";
/// What it means where round trips were too short for the clock.
pub const BY_THE_CLOCK: &str = "clock: the share of the clock's cost in a median; ! where a round trip is shorter than \
     20 clock reads or 50 clock steps, so that the clock is a part of each percentile.";

/// Whether any of `cases` has percentiles of single operations: a transfer is timed as a whole.
pub fn are_shown(cases: &[&CaseResult]) -> bool {
    let single = |case: &CaseResult| case.metric.is_round_trip() || case.metric.paced;
    cases.iter().any(|case| single(case) && !case.carries.is_control())
}

/// With the columns of percentiles that at least one of `cases` has something for. None of them goes on a narrow
/// terminal but the largest, where the table has more than usual.
pub fn columns<'a, T>(
    table: TableOfEach<'a, T>,
    of: fn(&T) -> &CaseResult,
    cases: &[&CaseResult],
    has_more: bool,
) -> TableOfEach<'a, T> {
    let tails = are_shown(cases);
    table
        .numbers_if(tails, "p99", 0, |row| cell(of(row), "p99"))
        .numbers_if(tails, "max", u8::from(has_more), |row| largest(of(row)))
        .numbers_if(cases.iter().any(|case| case.rate.is_some()), "served", 0, |row| {
            of(row).rate.and_then(|rate| rate.served_per_sec).map(units::per_second)
        })
        .numbers_if(cases.iter().any(|case| case.clock_limited), "clock", 0, |row| {
            let sign = if of(row).clock_limited { " !" } else { "" };
            of(row).clock_share.map(|share| format!("{:.1} %{sign}", 100.0 * share))
        })
}

/// A percentile over launches; a dash where they have too few samples for it.
fn cell(case: &CaseResult, name: &str) -> Text {
    match over(case, name) {
        Some(it) => {
            format!("{} ({})", units::duration(it.value), labels::later(it.later_share)).into()
        }
        None if case.batch == Some(1) || !case.is_kept() => "–".into(),
        None => Text::new().muted("batched"),
    }
}

/// A percentile over launches with the ends of its interval, where each launch has the samples that it takes.
pub fn of(case: &CaseResult, name: &str) -> Option<[f64; 3]> {
    over(case, name).map(|percentile| [percentile.value, percentile.low, percentile.high])
}

/// The same, with the share of all samples that took longer.
pub fn over(case: &CaseResult, name: &str) -> Option<Percentile> {
    case.value.as_ref().filter(|_| case.is_kept())?.percentile(name)
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
    let mut table = Table::of_each("Tails: p99.9 and p99.99", &rows)
        .words("mechanism", 0, |case| Text::new().code(&case.variant))
        .words("of", 0, |case| labels::what(case));
    for name in DEEP {
        table = table.numbers(name, 0, |case| {
            Text::from(over(case, name).map(|tail| {
                let time = Unit::Nanoseconds.interval(tail.value, tail.low, tail.high);
                format!("{time}, {}", labels::later(tail.later_share))
            }))
        });
    }
    table.table().note(DEEP_MEANING).unless_empty()
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
    Text::from(case.largest_ns.filter(|_| case.is_kept()).map(units::duration))
}
