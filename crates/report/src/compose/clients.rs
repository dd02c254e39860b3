//! What each client of a server with several connections got.

use super::labels;
use crate::{Block, Row, Table, Text, Unit, units};
use analysis::{CaseResult, Judged, OverLaunches, Status};

/// The two measures of how evenly clients were served.
pub const EVENNESS: &str = "Worst share: of the requests due to the client that got least, those answered before the \
     schedule ended. Jain's index of the clients' shares is 1 where all got the same, 1/n where one of n got all";

const REST: &str = "both with an interval over launches. p50 and p99: of the median client, and of the client that \
     waits longest.";

/// Who drives the connections, each of a client of its own.
fn driven_by(generators: u32) -> String {
    match generators {
        0 | 1 => "One generator drives all connections, each of a client of its own".into(),
        many => format!(
            "Up to {many} generators, each on a CPU of its own, drive the connections, each of a client of its own"
        ),
    }
}

/// A table of every measured case with several connections.
pub fn tables(judged: &Judged) -> Vec<Block> {
    let measured = |case: &&CaseResult| case.status == Status::Ok && !case.twin;
    let cases = || judged.results.iter().filter(measured).filter(|case| case.clients.is_some());
    let generators = cases().filter_map(|case| case.rate?.generators).max().unwrap_or(1);
    let mut table = Table::new("What each client got")
        .words([("case", 0)])
        .numbers([("served", 0), ("worst share", 0), ("Jain", 0)])
        .numbers([("p50, median", 1), ("worst", 1), ("p99, median", 2), ("worst", 2)])
        .note(format!(
            "{}; the server waits for whichever has a request. {EVENNESS}; {REST}",
            driven_by(generators)
        ));
    for case in cases() {
        let Some(seen) = &case.clients else { continue };
        let time = |ns: Option<f64>| ns.map_or("–".into(), units::duration);
        let served = case.rate.and_then(|rate| rate.served_per_sec);
        let cells = [
            Text::new().code(labels::case(case)),
            served.map_or("–".into(), super::open_loop::per_second).into(),
            share(seen.worst_share).into(),
            Unit::Number.with_ends(seen.jain.median, seen.jain.interval.ends()).into(),
            time(Some(seen.p50_ns.median)).into(),
            time(Some(seen.p50_ns.largest)).into(),
            time(seen.p99_ns.map(|clients| clients.median)).into(),
            time(seen.p99_ns.map(|clients| clients.largest)).into(),
        ];
        table.rows.push(Row::new(cells));
    }
    if table.rows.is_empty() { Vec::new() } else { vec![table.into()] }
}

/// With its interval where there is one.
fn share(seen: OverLaunches) -> String {
    match seen.interval.ends() {
        Some((low, high)) => Unit::Share.interval(seen.median, low, high),
        None => format!("{:.1} %", 100.0 * seen.median),
    }
}
