//! Percentiles of single operations: the median, p99 and the largest, with the number of samples; and the
//! cell of a percentile, which says in words what its launches lack for it.

use std::collections::BTreeSet;

use super::{open_loop, ratios, signs, words};
use crate::{Column, Row, Table, Text, units};
use analysis::{CaseResult, Judged, PERCENTILES};

/// Round trips up to which a run's tails stand beside its medians; of more, `report -v` has them.
const FEW: usize = 12;

const MEANING: &str = "p50 and p99 are medians over launches of each launch's own; max is the largest of all \
     launches; n counts the samples of all launches.";
/// What it means where round trips were too short for the clock.
const BY_THE_CLOCK: &str = "!: a round trip is shorter than 20 clock reads or 50 clock steps, so that the \
     clock's cost and its step are a part of each percentile; clock is their share.";

/// Whether a table of tails stands beside the medians of these cases.
pub fn are_shown(judged: &Judged, cases: &[&CaseResult]) -> bool {
    let single = |it: &&&CaseResult| it.batch == Some(1) && !it.carries.is_control();
    let few = judged.run.request.unbatched || cases.len() <= FEW;
    let round_trips = cases.iter().all(|it| it.metric.is_round_trip());
    round_trips && few && cases.iter().filter(single).count() > 0
}

/// One row per case, whatever the width: its percentiles, largest sample and samples.
pub fn table(judged: &Judged, caption: String, cases: &[&CaseResult]) -> Table {
    let by_ratio = ratios::lead(judged, cases);
    let mut sizes: BTreeSet<Option<u64>> = cases.iter().map(|it| it.message_bytes).collect();
    if by_ratio {
        // One size stands in the caption.
        sizes.remove(&None);
    }
    let open_loop = cases.iter().any(|it| it.rate.is_some());
    let limited = cases.iter().any(|it| it.clock_limited);
    let number = |name: &str| Column::number(name, 0);
    let mut table = Table::new(caption);
    let cases = if by_ratio { ratios::in_order(judged, cases) } else { cases.to_vec() };
    if by_ratio {
        table.caption += ratios::AT_ONCE;
    }
    table.columns = vec![Column::text("mechanism", 0)];
    table.columns.extend(by_ratio.then(|| ratios::column(judged, &cases)));
    table.columns.extend([number("p50"), number("p99"), number("max"), number("n")]);
    if open_loop {
        table.columns.push(number("served"));
    }
    if limited {
        table.columns.push(number("clock"));
    }
    for case in cases {
        let size = case.message_bytes.filter(|_| sizes.len() > 1);
        let size = words::of_size(size);
        let sign = if case.clock_limited { " !" } else { "" };
        let name = Text::new().code(&case.variant).plain(format!("{size}{sign}"));
        let p50 = match case.rate.filter(|it| !it.is_kept()) {
            Some(rate) => Text::new().muted(open_loop::short_of(rate)),
            None if by_ratio => words::cell_value(case).into(),
            None => signs::cell(judged, case, words::cell_value(case)),
        };
        let mut cells = vec![name];
        cells.extend(by_ratio.then(|| ratios::cell(judged, case)));
        cells.extend([p50, cell(case, "p99"), largest(case)]);
        cells.push(units::count(case.samples).into());
        if let Some(rate) = case.rate.filter(|_| open_loop) {
            cells.push(rate.served_per_sec.map_or("–".into(), open_loop::per_second).into());
        }
        if limited {
            cells.push(
                case.clock_share.map_or("–".into(), |it| format!("{:.1} %", 100.0 * it)).into(),
            );
        }
        table.rows.push(Row::new(cells));
    }
    table.notes.push(MEANING.into());
    table.notes.extend(limited.then(|| BY_THE_CLOCK.into()));
    table
}

/// A percentile over launches; else what they lack for it.
pub fn cell(case: &CaseResult, name: &str) -> Text {
    let found = case.value.as_ref().and_then(|it| it.percentiles.get(name).copied().flatten());
    match (found, lacking(case, name)) {
        _ if !case.is_kept() => Text::new().muted("–"),
        (Some(it), _) => Text::from(units::duration(it.value)),
        (None, Some(words)) => Text::new().muted(words),
        (None, None) => Text::new().muted("timed in batches"),
    }
}

/// `266 of the 368 needed`: the independent samples of a launch; None where they are enough, or samples
/// are no single operations.
pub fn lacking(case: &CaseResult, name: &str) -> Option<String> {
    let missing = *case.samples_missing.get(name)?;
    let (_, probability) = PERCENTILES.into_iter().find(|(known, _)| *known == name)?;
    let needed = stats::samples_needed(probability);
    let there = needed.saturating_sub(missing);
    Some(format!("{} of the {} needed", units::count(there), units::count(needed)))
}

pub fn largest(case: &CaseResult) -> Text {
    match case.largest_ns.filter(|_| case.is_kept()) {
        Some(ns) => units::duration(ns).into(),
        None => Text::new().muted("–"),
    }
}
