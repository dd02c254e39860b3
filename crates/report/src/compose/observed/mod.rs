//! What was counted in observed launches, and recorded in traced ones: a
//! table each for events, for system calls by what they returned, for waits, for tracing overhead.
//!
//! A terminal gets what fits 80 columns; a page all of it, with intervals. What can't be counted
//! here stands once, with its reason, and by name what depends on it.

mod events;
mod hardware;
mod overhead;
mod traces;
mod untested;

pub(super) use traces::exactly;
pub(super) use untested::{merged, not_testable};

use super::{Detail, labels};
use crate::{Block, Section, Text, units};
use analysis::{EventCount, Judged, Observed, TraceSummary};
use model::case::Case;
use model::distinct::grouped;
use model::metric::Operation;
use model::total::Total;

/// The section of a run with instrumentation; None of any other.
pub fn section(judged: &Judged, detail: Detail) -> Option<Section> {
    let seen: Vec<&Observed> = judged
        .observed
        .iter()
        .filter(|observed| observed.probe.times == 1 && !observed.probe.empty)
        .collect();
    if seen.is_empty() {
        return None;
    }
    let groups = groups(&seen);
    let of_group = |group: &CaseGroup| {
        let events = events::table(group, detail).map(Block::from);
        events.into_iter().chain(traces::tables(group, detail)).collect::<Vec<_>>()
    };
    let every = (detail == Detail::Full).then(|| events::every(&groups)).flatten();
    let mut section = Section::new("observed", "What was counted")
        .with_all(groups.iter().flat_map(of_group))
        .with_all(groups.iter().filter_map(|group| hardware::table(group, detail)))
        .with_all(groups.iter().filter_map(|group| overhead::table(group, detail)))
        .with_all(every)
        .with_all(untested::blocks(&seen));
    drop_repeats(&mut section.blocks);
    Some(section)
}

/// Rows of the table on a screen.
const ROWS: usize = 8;
/// Reasons there for which something can't be counted.
const REASONS: usize = 2;

/// The same on a screen: one table of events beside the answer, and what can't be counted here; None of a run without
/// instrumentation.
pub fn short(judged: &Judged) -> Option<Section> {
    let whole = section(judged, Detail::Summary)?;
    let (tables, others): (Vec<Block>, Vec<Block>) =
        whole.blocks.into_iter().partition(|block| matches!(block, Block::Table(_)));
    let is_of_events = |block: &&Block| matches!(block, Block::Table(table) if table.caption.starts_with(events::CAPTION));
    let events: Vec<&Block> = tables.iter().filter(is_of_events).collect();
    // Where no events were counted, what was counted or traced instead.
    let first: Vec<&Block> =
        if events.is_empty() { tables.iter().take(1).collect() } else { events };
    let more = (tables.len() - first.len()) as u64;
    let more = (more > 0).then(|| {
        let more = units::counted(more, "more table");
        Text::new().muted(format!("{more}: `ipcmark report {} -v`.", judged.run.id))
    });
    let section = Section::new("observed", "What was counted")
        .with_all(events::in_one(&first, ROWS, judged.run.id))
        .with_all(others.into_iter().take(REASONS))
        .with_all(more);
    Some(section)
}

pub fn lines(section: &Section) -> usize {
    let tall = |block: &Block| match block {
        Block::Table(table) => table.rows.len() + 4,
        _ => 2,
    };
    2 + section.blocks.iter().map(tall).sum::<usize>()
}

/// Leaves out the notes of a table that an earlier one has.
fn drop_repeats(blocks: &mut [Block]) {
    let mut earlier: Vec<Text> = Vec::new();
    for block in blocks {
        let Block::Table(table) = block else { continue };
        table.notes.retain(|note| !earlier.contains(note));
        earlier.extend(table.notes.iter().cloned());
    }
}

struct ObservedCase<'a> {
    by: Vec<&'a Observed>,
}

/// Cases that share a table: what was done, where, by whom.
struct CaseGroup<'a> {
    cases: Vec<ObservedCase<'a>>,
}

fn groups<'a>(seen: &[&'a Observed]) -> Vec<CaseGroup<'a>> {
    let key = |observed: &Observed| {
        observed.case.identity().without(&["variant", "message_bytes", "cpus"])
    };
    let groups = grouped(seen.iter().copied(), |a, b| key(a) == key(b));
    let group = |group: Vec<&'a Observed>| {
        let cases = grouped(group, |a, b| a.is_same_case(b)).into_iter();
        CaseGroup { cases: cases.map(|by| ObservedCase { by }).collect() }
    };
    groups.into_iter().map(group).collect()
}

impl<'a> ObservedCase<'a> {
    fn of(&self) -> &'a Observed {
        self.by[0]
    }

    fn event(&self, name: &str) -> Option<&'a EventCount> {
        self.by.iter().find_map(|observed| observed.event(name))
    }

    /// What the fullest of its traces recorded.
    fn trace(&self) -> Option<&'a TraceSummary> {
        let traced = self
            .by
            .iter()
            .filter_map(|observed| Some((observed.probe.scope()?, observed.trace.as_ref()?)));
        traced.max_by_key(|pair| pair.0).map(|pair| pair.1)
    }

    /// By how much counts per operation are multiplied to be shown: messages of a transfer, where
    /// that is fixed.
    fn times(&self) -> f64 {
        let of = &self.of().case;
        let messages =
            of.total.zip(of.message_bytes).and_then(|(total, size)| total.messages(size));
        messages.unwrap_or(1) as f64
    }

    /// `pipe`, `tcp, 4 KiB`.
    fn name(&self, group: &CaseGroup) -> Text {
        let of = &self.of().case;
        match of.message_bytes.filter(|_| group.size().is_none()) {
            Some(size) => Text::new().code(format!("{} {}", of.variant, units::size(size))),
            None => Text::new().code(&of.variant),
        }
    }
}

impl<'a> CaseGroup<'a> {
    fn of(&self) -> &'a Observed {
        self.cases[0].of()
    }

    fn done(&self) -> Operation {
        self.of().case.metric.operation
    }

    /// The size of all messages, if all have the same.
    fn size(&self) -> Option<u64> {
        let mut sizes = self.cases.iter().filter_map(|case| case.of().case.message_bytes);
        let first = sizes.next()?;
        sizes.all(|size| size == first).then_some(first)
    }

    /// What counts are of: `a round trip`, `a request and its response` of an open loop, `a transfer of 16 MiB`.
    fn operation(&self) -> String {
        let case = &self.of().case;
        match (self.done(), case.total) {
            (Operation::Message, Some(Total::Bytes(bytes))) => {
                format!("a transfer of {}", units::size(bytes))
            }
            (Operation::Message, Some(Total::Message)) => "a transfer of one message".into(),
            _ if case.metric.paced => "a request and its response".into(),
            (operation, _) => format!("a {}", operation.noun()),
        }
    }

    /// `a round trip of 64 B, one CPU`.
    fn caption(&self) -> String {
        let of = &self.of().case;
        let size = match (self.size(), of.total) {
            (Some(size), Some(Total::Bytes(_))) => format!(" in messages of {}", units::size(size)),
            (Some(size), _) => format!(" of {}", units::size(size)),
            (None, _) => String::new(),
        };
        // What one transfer carries stands in the operation.
        let conditions = labels::conditions(&Case { total: None, ..of.case.clone() });
        let place = labels::place_of(&of.site);
        format!("{}{size}{conditions}, {place}", self.operation())
    }

    /// How a count becomes one of a message: said under a table of counts.
    fn per_message(&self) -> &'static str {
        match (self.done(), self.of().case.total) {
            _ if self.of().case.metric.paced => {
                "A request and its response are two messages: half of each is one message's."
            }
            (Operation::RoundTrip, _) => {
                "A round trip carries two messages: half of each is one message's."
            }
            (Operation::SetUp, _) => "A set-up carries no message.",
            (_, Some(Total::Bytes(_))) => {
                "Divided by the messages of a transfer it is a message's."
            }
            _ => "",
        }
    }
}

/// A count: `2.00`, `256.0`, `<0.01`.
pub(super) fn number(count: f64) -> String {
    match count {
        0.0 => "0".into(),
        it if it < 0.005 => "<0.01".into(),
        it if it < 99.95 => format!("{it:.2}"),
        it if it < 9_999.5 => format!("{it:.1}"),
        it => units::count(it.round() as u64),
    }
}

/// A count with its interval, one number where all three read the same.
pub(super) fn with_interval(count: f64, ends: Option<(f64, f64)>) -> String {
    let value = number(count);
    match ends.map(|(low, high)| (number(low), number(high))) {
        Some((low, high)) if low != value || high != value => format!("{value} [{low}, {high}]"),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short_and_a_rare_thing_is_not_none() {
        let written = [0.0, 0.0002, 0.08, 2.0, 16.49, 256.0, 1024.04, 262_144.0].map(number);
        let expected = ["0", "<0.01", "0.08", "2.00", "16.49", "256.0", "1024.0", "262,144"];
        assert_eq!(written, expected);
        assert_eq!(with_interval(2.0, Some((2.0, 2.001))), "2.00");
        assert_eq!(with_interval(2.0, Some((1.9, 2.1))), "2.00 [1.90, 2.10]");
        assert_eq!(with_interval(2.0, None), "2.00");
    }
}
