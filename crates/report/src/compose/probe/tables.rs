//! Tables of overheads: one for each size, one for the lines through multiples of a level, one for
//! levels that are unavailable.

use super::{operation, percent, percents, strand_name};
use crate::compose::labels;
use crate::document::ASIDE;
use crate::{Block, Emphasis, Row, Table, Text, Unit, units};
use analysis::probe::{Linear, Linearity, ProbeEffect, ProbeOverhead, Strand, Untested};
use analysis::{ALPHA, EQUIVALENT_WITHIN};
use model::distinct::grouped;
use stats::{Interval, smallest_holm_n};

/// A table for each size.
pub(super) fn overheads(strand: &Strand) -> Vec<Block> {
    let mut sizes: Vec<Option<u64>> =
        strand.overheads.iter().map(|overhead| overhead.message_bytes).collect();
    sizes.dedup();
    let last = sizes.len().saturating_sub(1);
    let table = |(nth, size): (usize, Option<u64>)| {
        let here: Vec<&ProbeOverhead> =
            strand.overheads.iter().filter(|overhead| overhead.message_bytes == size).collect();
        let mut table = Table::new(caption(strand, size, &here))
            .words([("level", 0)])
            .numbers([("added [95 %]", 0), ("share", 0), ("its [95 %]", ASIDE), ("p, Holm", 1)])
            .numbers([("firings", 2), ("a firing", 1), ("its [95 %]", ASIDE)])
            .rows(here.iter().map(|overhead| row(overhead)));
        if nth == last {
            table.notes = notes(strand);
        }
        Block::from(table)
    };
    sizes.into_iter().enumerate().map(table).collect()
}

fn caption(strand: &Strand, size: Option<u64>, here: &[&ProbeOverhead]) -> String {
    let size = labels::of_size(size);
    let plain = here.first().map_or(f64::NAN, |overhead| overhead.plain_ns);
    format!(
        "{}{size}: a {} takes {} unobserved",
        strand_name(&strand.of),
        operation(&strand.of),
        units::duration(plain)
    )
}

fn row(overhead: &ProbeOverhead) -> Row {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let each = overhead.per_firing();
    let cells = [
        Text::new().code(overhead.probe.to_string()),
        or_dash(overhead.shift.as_ref().map(added)).into(),
        or_dash(overhead.ratio.map(|ratio| percent(ratio.estimate))).into(),
        or_dash(overhead.ratio.as_ref().map(percents)).into(),
        or_dash(overhead.p_holm.map(units::p_value)).into(),
        or_dash(overhead.firings.map(|firing| format!("{firing:.1}"))).into(),
        or_dash(each.map(|interval| units::duration(interval.estimate))).into(),
        or_dash(each.map(|interval| {
            Unit::Nanoseconds.interval(interval.estimate, interval.low, interval.high)
        }))
        .into(),
    ];
    let emphasis =
        if overhead.is_sure() || overhead.is_less() { Emphasis::Normal } else { Emphasis::Muted };
    Row::new(cells).emphasis(emphasis)
}

/// `+1.23 µs [1.20, 1.26]`.
fn added(interval: &Interval) -> String {
    let sign = if interval.estimate > 0.0 { "+" } else { "" };
    format!("{sign}{}", Unit::Nanoseconds.interval(interval.estimate, interval.low, interval.high))
}

fn notes(strand: &Strand) -> Vec<Text> {
    let family = strand.overheads.iter().filter(|overhead| overhead.p.is_some()).count();
    let rounds = strand.overheads.iter().map(|overhead| overhead.rounds).min().unwrap_or(0);
    let mut notes = vec![Text::from(format!(
        "added: median difference of {rounds} paired launches; p: exact sign test, corrected \
         over the {family} overheads of these tables."
    ))];
    if strand.overheads.iter().any(|overhead| overhead.firings.is_some()) {
        notes.push(
            "firings: per operation, both workers, counted in launches of their own. a firing: the \
             overhead divided by them, with what switching counters costs."
                .into(),
        );
    }
    let needed = smallest_holm_n(family, ALPHA);
    if rounds < needed {
        notes.push(
            format!(
                "With {} no p of so many survives: --launches {needed}.",
                units::counted(rounds as u64, "round")
            )
            .into(),
        );
    }
    notes
}

/// Lines through once, twice, four times over.
pub(super) fn linearity(strand: &Strand) -> Option<Block> {
    let row = |linearity: &Linearity| {
        let interval = |interval: &Interval| {
            Unit::Nanoseconds.interval(interval.estimate, interval.low, interval.high)
        };
        let times: Vec<String> = linearity.times.iter().map(ToString::to_string).collect();
        Row::new([
            Text::from(linearity.message_bytes.map_or("–".into(), units::size)),
            Text::new().code(linearity.probe.to_string()),
            times.join(", ").into(),
            interval(&linearity.slope).into(),
            interval(&linearity.at_none).into(),
            units::duration(linearity.plain_ns).into(),
            linear(linearity),
        ])
    };
    if strand.linearity.is_empty() {
        return None;
    }
    let margin = 100.0 * EQUIVALENT_WITHIN;
    let caption = format!(
        "{}: a line through the levels, extended to none, beside what was measured there",
        strand_name(&strand.of)
    );
    let note = format!(
        "at it: within {margin:.0} % of the unobserved time, so that the overhead is linear and may be \
         subtracted. above: the first level costs more than each further one; below: less. open <x: a \
         miss smaller than x could not have been seen."
    );
    let table = Table::new(caption)
        .numbers([("size", 0)])
        .words([("level", 0), ("levels", ASIDE)])
        .numbers([("a level [95 %]", 1), ("at none [95 %]", ASIDE), ("measured", ASIDE)])
        .words([("the line ends", 0)])
        .rows(strand.linearity.iter().map(row))
        .note(note);
    Some(table.into())
}

fn linear(linearity: &Linearity) -> Text {
    let by = format!(", {}", percent(1.0 + linearity.miss.estimate));
    match linearity.linear {
        Linear::Yes => "at it".into(),
        Linear::FirstCostsMore => Text::new().strong(format!("above{by}")),
        Linear::FirstCostsLess => Text::new().strong(format!("below{by}")),
        Linear::Open(effect) => Text::new().muted(format!("open <{:.0} %", 100.0 * effect)),
    }
}

/// Levels that could not be tried, each with its reason; those with the same in one row.
pub(super) fn untested(effect: &ProbeEffect) -> Option<Block> {
    let reasons = grouped(&effect.untested, |a, b| a.reason == b.reason);
    let row = |alike: Vec<&Untested>| {
        let probes: Vec<String> = alike.iter().map(|untested| untested.probe.to_string()).collect();
        Row::new([Text::new().code(probes.join(", ")), Text::from(alike[0].reason.as_str())])
            .emphasis(Emphasis::Muted)
    };
    let table = Table::new("Levels that are unavailable here, and why")
        .words([("level", 0), ("not testable here", 0)])
        .rows(reasons.into_iter().map(row));
    (!effect.untested.is_empty()).then(|| table.into())
}
