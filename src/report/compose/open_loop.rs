//! Open loops: how the schedule was kept beside the response times, and who could not serve it.

use super::words;
use crate::judge::{CaseResult, Judged, RateSeen, Status};
use crate::report::{Block, Column, Row, Table, Text, Unit, units};

/// What the table means.
const MEANING: &str = "Response times count from when a message was due by its schedule, so that a wait \
     behind others is in them. Served: one connection, one round trip at a time. Late: begun more than \
     1 µs after it was due; begun: by how much, the median and the largest of all launches. On one CPU \
     the sender sleeps until a message is due, and its way out of sleep is in the response.";

/// A case that kept a schedule, and how.
fn cases(judged: &Judged) -> impl Iterator<Item = (&CaseResult, RateSeen)> {
    let results = judged.results.iter().filter(|it| it.status == Status::Ok && !it.twin);
    results.filter_map(|case| Some((case, case.rate?)))
}

/// One table for all places.
pub fn tables(judged: &Judged) -> Vec<Block> {
    let text = |name: &str| Column::text(name, 0);
    let number = |name: &str, priority| Column::number(name, priority);
    let mut table = Table {
        caption: "How the schedule was kept".into(),
        columns: vec![
            text("case"),
            number("asked", 0),
            number("served", 0),
            number("p99 of responses", 1),
            number("late", 0),
            number("begun, median", 2),
            number("largest", 1),
        ],
        notes: vec![Text::from(MEANING)],
        ..Default::default()
    };
    for (case, rate) in cases(judged) {
        let time = |ns: Option<f64>| ns.map_or("–".into(), units::duration);
        let share = rate.late_share.map_or("–".into(), |it| format!("{:.1} %", 100.0 * it));
        let percentiles = case.response_ns.as_ref().map(|it| &it.percentiles);
        let p99 = percentiles.and_then(|it| it.get("p99").copied().flatten());
        let cells = [
            Text::new().code(words::case(case)),
            per_second(rate.asked_per_sec as f64).into(),
            rate.served_per_sec.map_or("–".into(), per_second).into(),
            time(p99.map(|it| it.value)).into(),
            share.into(),
            time(rate.lateness_median_ns).into(),
            time(rate.lateness_max_ns).into(),
        ];
        table.rows.push(Row::new(cells));
    }
    if table.rows.is_empty() { Vec::new() } else { vec![table.into()] }
}

/// A sentence for each case that fell behind for good.
pub fn remarks(judged: &Judged) -> Vec<Block> {
    let overloaded = cases(judged).filter(|(_, rate)| rate.overloaded);
    let told = overloaded.map(|(case, rate)| {
        Block::warning(format!(
            "{}: overloaded: asked {}, served {}; what was due waited longer and longer, and its \
             response times say how long a launch was: ask for a lower --rate",
            words::case(case),
            per_second(rate.asked_per_sec as f64),
            rate.served_per_sec.map_or("–".into(), per_second)
        ))
    });
    told.collect()
}

fn per_second(rate: f64) -> String {
    Unit::PerSecond.format(rate)
}
