//! Tracing overhead: the time of observed launches over that of the others in the same rounds.

use super::super::Detail;
use super::{CaseGroup, labels};
use crate::{Table, Text, units};
use model::distinct::distinct;

const MEANING: &str =
    "Time of an operation under that instrumentation, over its time without, paired by rounds.";

/// A column for each probe; None where no overhead is known.
pub fn table(group: &CaseGroup, detail: Detail) -> Option<Table> {
    let known =
        group.cases.iter().flat_map(|case| &case.by).filter(|observed| observed.overhead.is_some());
    let probes = distinct(known.map(|observed| observed.probe));
    let caption = format!("Tracing overhead of {}", group.caption());
    let mut table =
        Table::of_each(caption, &group.cases).words("mechanism", 0, |case| case.name(group));
    let brief = detail == Detail::Summary && probes.len() > 4;
    for (nth, probe) in probes.iter().enumerate() {
        table = table.numbers(probe.to_string(), nth as u8 / 2, |case| {
            let of = case.by.iter().find(|observed| observed.probe == *probe);
            let overhead = of.and_then(|observed| observed.overhead.as_ref());
            Text::from(overhead.map(|overhead| match brief {
                true => units::ratio(overhead.ratio),
                false => labels::over(overhead.ratio, overhead.low, overhead.high),
            }))
        });
    }
    (!probes.is_empty()).then(|| table.table().note(MEANING))
}
