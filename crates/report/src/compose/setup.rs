//! Set-up: what it and its steps take, and the first message after it.

use super::labels;
use super::signs::{best_in_words, cell};
use crate::{Block, Column, Row, Table, Text, units};
use analysis::{CaseResult, FIRST_MESSAGE, Judged, Secondary, Status};

/// What a set-up holds, for those who read its figures.
const WHAT_IT_HOLDS: &str = "A set-up is all that one process does to open both ends, and to \
     close them again: bind, listen, connect, accept and close for tcp and for Unix sockets with \
     a name (bind=…), open and close for all others; with the calls that ask what the kernel \
     granted. A path costs what the file system of its folder takes, and making the folder. What \
     remains to do before a first message isn't in it: faulting in shared memory, and finding the \
     partner (signal, process-vm). io-uring and tcp leave some of the end to the kernel.";

const STEPS: &str = "bind: a socket made, bound, and listening. connect: another one made, and \
     connected to it. accept: with the check that the peer is our own. rest: options, what was \
     granted, the listener closed, the name removed.";

const STEPS_APART: &str = "connect: a socket made, and connected. accept: the cookie shown, until the \
     far side answers. rest: what was granted.";

/// Two tables per placement: what a set-up takes, and the steps of those that have some.
pub fn tables(judged: &Judged) -> Vec<Block> {
    let measured = |it: &&CaseResult| it.metric.is_set_up() && it.status == Status::Ok && !it.twin;
    let cases: Vec<&CaseResult> = judged.results.iter().filter(measured).collect();
    let mut tables = Vec::new();
    for (workers, placement) in labels::places(&cases) {
        let here = |it: &&&CaseResult| it.workers == workers && it.site == placement;
        let here: Vec<&CaseResult> = cases.iter().filter(here).copied().collect();
        let where_ = alone(placement) + labels::threads(workers);
        tables.push(wholes(judged, &here, &where_).into());
        tables.extend(steps(&here, &where_).map(Block::from));
    }
    tables
}

/// Whether each of them is between two hosts.
fn apart(cases: &[&CaseResult]) -> bool {
    cases.iter().all(|it| !it.route.is_local())
}

fn wholes(judged: &Judged, cases: &[&CaseResult], place: &str) -> Table {
    let mut table =
        Table::new(format!("Set-up and tear-down, {place}: median over launches [interval]"))
            .words([("mechanism", 0)])
            .numbers([("both", 0), ("open", 1), ("close", 1)])
            .note(if apart(cases) { super::peer::SET_UP } else { WHAT_IT_HOLDS });
    for case in cases {
        let opening = steps_of(case).filter(|it| it.name != CLOSE);
        let open: f64 = opening.map(|it| it.value.median).sum();
        let close = of(case, CLOSE);
        table.rows.push(Row::new([
            Text::new().code(&case.variant),
            cell(judged, case, labels::cell_value(case)),
            told(close.map(|_| open)),
            told(close),
        ]));
    }
    let best = best_in_words(&table);
    table.notes.extend(best);
    table
}

/// None where no mechanism has steps.
fn steps(cases: &[&CaseResult], place: &str) -> Option<Table> {
    const NAMES: [&str; 5] = ["bind", "connect", "accept", "rest", CLOSE];
    let mut table = Table::new(format!("Steps of a set-up, {place}: median over launches"))
        .words([("mechanism", 0)])
        .note(if apart(cases) { STEPS_APART } else { STEPS });
    table.columns.extend(NAMES.map(|name| Column::number(name, 0)));
    for case in cases.iter().filter(|case| of(case, NAMES[1]).is_some()) {
        let cells = NAMES.map(|name| told(of(case, name)));
        table.rows.push(Row::new([Text::new().code(&case.variant)].into_iter().chain(cells)));
    }
    (!table.rows.is_empty()).then_some(table)
}

const CLOSE: &str = "close";

fn of(case: &CaseResult, step: &str) -> Option<f64> {
    case.secondary(step).map(|it| it.value.median)
}

/// The steps of a set-up, in their order.
pub(super) fn steps_of(case: &CaseResult) -> impl Iterator<Item = &Secondary> {
    case.secondary.iter().filter(|it| it.name != FIRST_MESSAGE)
}

fn told(ns: Option<f64>) -> Text {
    ns.map_or(Text::new(), |ns| Text::from(units::duration(ns)))
}

/// Where the worker ran that sets up: its partner's place doesn't matter.
pub fn alone(placement: &str) -> String {
    match placement {
        "free" => labels::place(placement),
        between if between.contains('/') => labels::place(between),
        _ => "one pinned worker".into(),
    }
}
