//! Every result of a run in one list: what a reader sorts and filters.

use super::absences::absent;
use super::{capacity, energy, labels, percentiles, ratios, signs};
use crate::document::{Listing, Value};
use crate::{Block, Unit};
use analysis::{CaseResult, Class, FIRST_MESSAGE, Judged};

const MEANING: &str = "from, to: the ends of the 95 % interval of the median; it holds by itself, and a median without one has too few launches. The median of a time is its p50; a p99 is the median \
     over launches of each launch's own, where a launch has the 368 samples that it takes, else a dash; later: the share of all messages \
     later than it; max is the largest sample of all launches. first: the very first round trip of a launch, to a partner that already \
     waits, the median over launches. CPU: time of both workers per round trip, or per message. × reference: time \
     per operation over that of the reference of the same group, paired by round. best: among the best of its \
     group. Rows stand by question, the best of each first.";

/// A column: its head, and what a case has in it.
type ColumnOf = (&'static str, fn(&Judged, &CaseResult) -> Value);

const COLUMNS: [ColumnOf; 19] = [
    ("mechanism", |_, case| Value::Words(case.variant.clone())),
    ("best", |judged, case| {
        Value::Words(if signs::is_best(judged, case) { "best" } else { "" }.into())
    }),
    // Beside the name, so that a narrow page shows it.
    ("× reference", ratio),
    ("workload", |judged, case| Value::Words(workload(judged, case))),
    ("placement", |_, case| Value::Words(labels::place_of(&case.site))),
    ("size", |_, case| {
        Value::number(Unit::Bytes, case.message_bytes.map(|message_byte| message_byte as f64))
    }),
    ("median", |_, case| median(case)),
    ("from", |_, case| end(case, |(low, _)| low)),
    ("to", |_, case| end(case, |(_, high)| high)),
    ("p99", |_, case| percentile(case, "p99")),
    ("later", |_, case| {
        let later = percentiles::over(case, "p99").map(|percentile| percentile.later_share);
        Value::number(Unit::Share, later.map(|value| (1e4 * value).round() / 1e4))
    }),
    ("max", |_, case| ns(case.largest_ns.filter(|_| case.is_kept()))),
    ("first", |_, case| ns(case.secondary(FIRST_MESSAGE).map(|secondary| secondary.value.median))),
    ("CPU", |_, case| ns(case.cpu_ns_per_operation.map(|cost| cost.total))),
    (energy::COLUMN, |_, case| energy::value(case)),
    ("× bound", |_, case| bound(case)),
    ("copies", |_, case| Value::number(Unit::Count, case.copies.map(f64::from))),
    ("class", |_, case| Value::Words(class(case))),
    ("launches", |_, case| Value::number(Unit::Count, Some(case.launches as f64))),
];

pub fn blocks(judged: &Judged) -> Vec<Block> {
    let listing = Some(listing(judged)).filter(|listing| !listing.rows.is_empty());
    let absent = absent(judged).unless_empty();
    let absent = absent.map(|table| Block::folded(table.caption.clone(), vec![table.into()]));
    listing.map(Block::from).into_iter().chain(absent).collect()
}

/// A row for each case, of each question the best first, without the columns that none has anything in.
fn listing(judged: &Judged) -> Listing {
    let mut cases: Vec<usize> = (0..judged.results.len()).collect();
    cases.retain(|at| judged.results[*at].value.is_some() && !judged.results[*at].twin);
    cases.sort_by_cached_key(|at| place_of(judged, *at));
    let measured = || cases.iter().map(|at| &judged.results[*at]);
    let empty = |value: &Value| match value {
        Value::None => true,
        Value::Words(words) => words.is_empty(),
        Value::Number { .. } => false,
    };
    let columns: Vec<ColumnOf> = COLUMNS
        .into_iter()
        .filter(|(_, of)| measured().any(|case| !empty(&of(judged, case))))
        .collect();
    let notes = [Some(MEANING.into()), energy::in_words(judged)];
    Listing {
        caption: format!("All results{}", ratios::AT_ONCE),
        columns: columns.iter().map(|(name, _)| name.to_string()).collect(),
        aside: (0..columns.len())
            .filter(|at| ["best", "× reference"].contains(&columns[*at].0))
            .collect(),
        rows: measured()
            .map(|case| columns.iter().map(|(_, of)| of(judged, case)).collect())
            .collect(),
        notes: notes.into_iter().flatten().collect(),
    }
}

/// Its question, and its place in that; what is not ranked stands behind what is.
fn place_of(judged: &Judged, result: usize) -> (usize, usize) {
    let question = judged.groups.iter().position(|group| group.members.contains(&result));
    let rank = question.and_then(|at| {
        judged.groups[at].standings.iter().position(|standing| standing.result == result)
    });
    (question.unwrap_or(usize::MAX), rank.unwrap_or(usize::MAX))
}

fn ns(value: Option<f64>) -> Value {
    Value::number(Unit::Nanoseconds, value)
}

/// A percentile over launches; nothing where they have too few samples for it.
fn percentile(case: &CaseResult, name: &str) -> Value {
    match percentiles::of(case, name) {
        Some([value, ..]) => ns(Some(value)),
        // The note says what it takes.
        None if percentiles::lacking(case, name).is_some() => Value::Words("–".into()),
        None => Value::None,
    }
}

/// `rate, 1,000 a second, at most 8 under way`: what tells one from another.
fn workload(judged: &Judged, case: &CaseResult) -> String {
    let conditions = labels::conditions(&case.case);
    format!("{}{conditions}{}", case.workload.name(), capacity::stage(judged, case))
}

fn median(case: &CaseResult) -> Value {
    if let Some(why) = labels::not_kept(case) {
        return Value::Words(why);
    }
    Value::number(labels::unit(case), case.value.as_ref().map(|value| value.median))
}

/// An end of the median's interval.
fn end(case: &CaseResult, which: fn((f64, f64)) -> f64) -> Value {
    let estimate = case.value.as_ref().filter(|_| case.is_kept());
    let ends = estimate.and_then(|estimate| estimate.interval.ends());
    Value::number(labels::unit(case), ends.map(which))
}

/// Over the floor or the yardstick of the same rounds.
fn bound(case: &CaseResult) -> Value {
    let bound = case.bound.as_ref().filter(|_| case.is_kept());
    Value::number(Unit::Ratio, bound.and_then(|bound| bound.ratio))
}

fn ratio(judged: &Judged, case: &CaseResult) -> Value {
    let Some((group, it)) = ratios::standing(judged, case) else { return Value::None };
    let own = (group.reference == Some(it.result)).then_some(1.0);
    it.ratio.or(own).map_or(Value::None, |value| Value::Number {
        unit: Unit::Ratio,
        value,
        low: it.low,
        high: it.high,
    })
}

/// What a mechanism pays for: a CPU that waits, or the bytes of a message; a control moves nothing.
fn class(case: &CaseResult) -> String {
    let waits = match (case.spins, case.class) {
        (true, _) => "busy-waits",
        (false, Class::Control) => "control",
        (false, Class::Signal) => "notifies",
        (false, _) => "blocking",
    };
    format!("{waits}{}", case.class.words())
}
