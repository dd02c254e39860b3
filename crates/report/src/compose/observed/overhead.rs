//! Tracing overhead: the time of observed launches over that of the others in the same rounds.

use super::super::Detail;
use super::CaseGroup;
use crate::{Column, Row, Table, Text, units};
use model::distinct::distinct;
use model::probe::Probe;

const MEANING: &str =
    "Time of an operation under that instrumentation, over its time without, paired by rounds.";

/// A column for each probe; None where no overhead is known.
pub fn table(group: &CaseGroup, detail: Detail) -> Option<Table> {
    let known =
        group.cases.iter().flat_map(|case| &case.by).filter(|observed| observed.overhead.is_some());
    let probes = distinct(known.map(|observed| observed.probe));
    let mut table = Table::new(format!("Tracing overhead of {}", group.caption()))
        .words([("mechanism", 0)])
        .note(MEANING);
    for (nth, probe) in probes.iter().enumerate() {
        table.columns.push(Column::number(probe.to_string(), nth as u8 / 2));
    }
    for case in &group.cases {
        let overhead = |probe: &Probe| {
            let of = case.by.iter().find(|observed| observed.probe == *probe);
            let Some(overhead) = of.and_then(|observed| observed.overhead.as_ref()) else {
                return Text::new().muted("–");
            };
            let ends = format!("[{:.2}, {:.2}]", overhead.low, overhead.high);
            match (detail, probes.len()) {
                (Detail::Summary, 5..) => units::ratio(overhead.ratio).into(),
                _ => Text::from(format!("{} {ends}", units::ratio(overhead.ratio))),
            }
        };
        let cells: Vec<Text> =
            std::iter::once(case.name(group)).chain(probes.iter().map(overhead)).collect();
        table.rows.push(Row::new(cells));
    }
    (!probes.is_empty()).then_some(table)
}
