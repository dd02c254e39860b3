//! What each client of a server with several connections got.

use super::labels;
use crate::{Block, Row, Table, Text, Unit, units};
use analysis::{CaseResult, Judged, OverLaunches, Status};

const MEANING: &str = "One generator drives all connections, each of a client of its own; the server waits for \
     whichever has a request. Worst share: of the requests due to the client that got least, those answered before \
     the schedule ended. Jain's index of the clients' shares is 1 where all got the same, 1/n where one of n got all; \
     both with an interval over launches. p50 and p99: of the median client, and of the client that waits longest.";

/// A table of every measured case with several connections.
pub fn tables(judged: &Judged) -> Vec<Block> {
    let mut table = Table::new("What each client got")
        .words([("case", 0)])
        .numbers([("served", 0), ("worst share", 0), ("Jain", 0)])
        .numbers([("p50, median", 1), ("worst", 1), ("p99, median", 2), ("worst", 2)])
        .note(MEANING);
    let measured = |case: &&CaseResult| case.status == Status::Ok && !case.twin;
    for case in judged.results.iter().filter(measured) {
        let Some(seen) = &case.clients else { continue };
        let time = |ns: Option<f64>| ns.map_or("–".into(), units::duration);
        let served = case.rate.and_then(|it| it.served_per_sec);
        let cells = [
            Text::new().code(labels::case(case)),
            served.map_or("–".into(), super::open_loop::per_second).into(),
            over(Unit::Share, seen.worst_share).into(),
            over(Unit::Number, seen.jain).into(),
            time(Some(seen.p50_ns.median)).into(),
            time(Some(seen.p50_ns.largest)).into(),
            time(seen.p99_ns.map(|it| it.median)).into(),
            time(seen.p99_ns.map(|it| it.largest)).into(),
        ];
        table.rows.push(Row::new(cells));
    }
    if table.rows.is_empty() { Vec::new() } else { vec![table.into()] }
}

/// With its interval where there is one.
fn over(unit: Unit, seen: OverLaunches) -> String {
    unit.with_ends(seen.median, seen.interval.ends())
}
