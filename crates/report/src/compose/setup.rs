//! Set-up: what it and its steps take, and the first message after it.

use super::labels;
use super::signs::{best_in_words, cell};
use crate::{Block, Table, Text, units};
use analysis::{CaseResult, ENERGY, FIRST_MESSAGE, Judged, Secondary, Status};

/// What a set-up holds, for those who read its figures.
const WHAT_IT_HOLDS: &str = "A set-up of tcp and of Unix sockets with a name (bind=…) is a connection between the two \
     workers: the initiator connects to a responder that listens already and sleeps in accept(2), until both have \
     closed it again. Of all others it is all that the initiator does to open both ends and to close them, \
     wherever its partner is. It holds the calls that ask what the kernel \
     granted. What \
     remains to do before a first message isn't in it: faulting in shared memory, and finding the \
     partner (signal, process-vm). io-uring and tcp leave some of the end to the kernel.";

const STEPS: &str = "By the responder, before, in no set-up: socket; bind (a path costs what the file \
     system of its folder takes); listen. By the initiator: connect, a socket made and connected; accept, until the \
     responder, woken in accept(2), has closed its end; close.";

const STEPS_APART: &str = "connect: a socket made, and connected. accept: the cookie shown, until the \
     far side answers. rest: what was granted.";

/// Two tables per placement: what a set-up takes, and the steps of those that have some.
pub fn tables(judged: &Judged) -> Vec<Block> {
    let measured =
        |case: &&CaseResult| case.metric.is_set_up() && case.status == Status::Ok && !case.twin;
    let cases: Vec<&CaseResult> = judged.results.iter().filter(measured).collect();
    let mut tables = Vec::new();
    for site in labels::places(&cases) {
        let here = |case: &&&CaseResult| case.site == *site;
        let here: Vec<&CaseResult> = cases.iter().filter(here).copied().collect();
        let where_ = labels::place_of(site);
        tables.push(wholes(judged, &here, &where_).into());
        tables.extend(steps(&here, &where_).map(Block::from));
    }
    tables
}

/// What is said of cases between two hosts, or else of those that two workers of one host set up.
fn said(cases: &[&CaseResult], apart: &'static str, here: &'static str) -> Option<&'static str> {
    if cases.iter().all(|case| !case.route.is_local()) {
        return Some(apart);
    }
    (!cases.iter().any(|case| is_of_one_worker(case))).then_some(here)
}

fn wholes(judged: &Judged, cases: &[&CaseResult], place: &str) -> Table {
    let caption = format!("Set-up and tear-down, {place}: median over launches [interval]");
    let open = |case: &CaseResult| {
        let before = if is_of_one_worker(case) { &[][..] } else { &LISTENING[..] };
        let opening =
            steps_of(case).filter(|step| step.name != CLOSE && !before.contains(&&*step.name));
        opening.map(|secondary| secondary.value.median).sum()
    };
    let table = Table::of_each(caption, cases)
        .words("mechanism", 0, |case| name(case))
        .numbers("both", 0, |case| cell(judged, case, labels::value(case)))
        .numbers("open", 1, |case| duration(of(case, CLOSE).map(|_| open(case))))
        .numbers("close", 1, |case| duration(of(case, CLOSE)))
        .table();
    let best = best_in_words(&table);
    table.notes(said(cases, super::peer::SET_UP, WHAT_IT_HOLDS)).notes(best)
}

/// None where no mechanism has steps.
fn steps(cases: &[&CaseResult], place: &str) -> Option<Table> {
    let cases: Vec<&CaseResult> =
        cases.iter().filter(|case| of(case, "connect").is_some()).copied().collect();
    let caption = format!("Steps of a set-up, {place}: median over launches");
    let mut table = Table::of_each(caption, &cases).words("mechanism", 0, |case| name(case));
    for step in LISTENING.into_iter().chain(["connect", "accept", "rest", CLOSE]) {
        let stands = cases.iter().any(|case| of(case, step).is_some());
        table = table.numbers_if(stands, step, 0, |case| duration(of(case, step)));
    }
    table.table().notes(said(&cases, STEPS_APART, STEPS)).unless_empty()
}

fn name(case: &CaseResult) -> Text {
    Text::new().code(&case.variant).plain(labels::conditions(&case.case))
}

/// Whether one worker connected to itself, listening included, as before two took part.
fn is_of_one_worker(case: &CaseResult) -> bool {
    of(case, "bind").is_some() && of(case, "socket").is_none()
}

const CLOSE: &str = "close";
/// What the responder does before it can accept.
const LISTENING: [&str; 3] = ["socket", "bind", "listen"];

fn of(case: &CaseResult, step: &str) -> Option<f64> {
    case.secondary(step).map(|secondary| secondary.value.median)
}

/// The steps of a set-up, in their order.
pub(super) fn steps_of(case: &CaseResult) -> impl Iterator<Item = &Secondary> {
    case.secondary.iter().filter(|secondary| ![FIRST_MESSAGE, ENERGY].contains(&&*secondary.name))
}

fn duration(ns: Option<f64>) -> Text {
    ns.map_or(Text::new(), |ns| Text::from(units::duration(ns)))
}
