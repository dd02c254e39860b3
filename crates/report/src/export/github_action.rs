//! What github-action-benchmark takes as `customSmallerIsBetter`: the time of an operation of each case, of transfers
//! of a message, so that one file holds all of a run.

use serde::Serialize;

use super::{json, measured, name};
use analysis::{CaseResult, Judged, OverRounds};

#[derive(Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

pub fn text(judged: &Judged) -> String {
    let entry = |case: &CaseResult| {
        let found = OverRounds::of(case.by_round.clone())?;
        let range = found.interval.ends().map(|(low, high)| format!("{low:.1} to {high:.1}"));
        let extra = format!("{} launches, {}", case.launches, judged.run.tool);
        Some(Entry { name: name(judged, case), unit: "ns", value: found.median, range, extra })
    };
    let entries: Vec<Entry> = measured(judged).filter_map(entry).collect();
    json(&entries)
}
