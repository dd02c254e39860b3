//! The energy of an operation, where the counters of the packages were read.

use super::quantities;
use crate::document::Value;
use crate::{Table, Text, Unit, units};
use analysis::quantity::Topic;
use analysis::{CaseResult, ENERGY, Estimate, Judged};

/// The head of its column.
pub const COLUMN: &str = "energy";

const MEANING: &str = "energy: of all packages of the machine, beyond what they use while idle, per round trip, \
     message of a transfer, or set-up: the median over launches with its interval.";

/// As a cell of a listing.
pub fn value(case: &CaseResult) -> Value {
    of(case).map_or(Value::None, |estimate| Value::Number {
        unit: Unit::Joules,
        value: estimate.median,
        low: estimate.interval.low,
        high: estimate.interval.high,
    })
}

/// A row for each case; None where no case has one.
pub fn table(judged: &Judged) -> Option<Table> {
    let caption = "Energy of an operation: median over launches [95 %]";
    quantities::table(judged, Topic::Energy, caption).map(|table| table.note(MEANING))
}

/// What it is; None where no case has one.
pub fn in_words(judged: &Judged) -> Option<Text> {
    found(judged).next().map(|_| MEANING.into())
}

/// All of a run in a line: one with its interval, several from the least to the most; None where there is none.
pub fn in_short(judged: &Judged) -> Option<String> {
    let found: Vec<&Estimate> = found(judged).map(|pair| pair.1).collect();
    let medians = || found.iter().map(|estimate| estimate.median);
    let words = match found.as_slice() {
        [only] => written(only),
        all => {
            let (least, most) = (medians().reduce(f64::min)?, medians().reduce(f64::max)?);
            let results = units::counted(all.len() as u64, "result");
            format!("{}, medians of {results}", Unit::Joules.range(least, most))
        }
    };
    Some(format!("{words}, per operation beyond idle"))
}

fn found(judged: &Judged) -> impl Iterator<Item = (&CaseResult, &Estimate)> {
    let results = judged.results.iter().filter(|result| !result.twin);
    results.filter_map(|result| Some((result, of(result)?)))
}

fn of(case: &CaseResult) -> Option<&Estimate> {
    case.secondary(ENERGY).map(|secondary| &secondary.value)
}

fn written(energy: &Estimate) -> String {
    Unit::Joules.with_ends(energy.median, energy.interval.ends())
}
