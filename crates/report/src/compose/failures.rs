//! Launches that failed, in words: how many, and who died or gave up.

use super::labels;
use crate::{Block, units};
use analysis::failures::{self, Failure};
use analysis::{Capacity, CaseResult, Judged, Status};

/// A line for each way in which launches failed, with the cases of which they did. Those of a search for a capacity are
/// told with it, and what had no time did not fail.
pub fn of_cases(judged: &Judged) -> Vec<Block> {
    let failed = |case: &&CaseResult| case.failed_launches > 0 || case.status == Status::Failed;
    let cases = judged.results.iter().filter(|_| judged.capacity.is_empty());
    let said = cases.filter(failed).filter(|case| !case.had_no_time());
    let said = said.map(|case| (of_case(case), labels::case(case)));
    let line = |(how, names): &(String, Vec<String>)| {
        Block::warning(format!("{}: {how}", labels::few_with_commas(names)))
    };
    labels::by_key(said).iter().map(line).collect()
}

fn of_case(case: &CaseResult) -> String {
    let clients = case.rate.map(|rate| rate.load.connections);
    match words(&case.failures, case.failed_launches + case.launches, clients) {
        Some(words) => words,
        None => case.reason.clone().unwrap_or_else(|| "no reason was given".into()),
    }
}

/// Of a mechanism at all rates of a search; None where no launch failed.
pub fn of_capacity(capacity: &Capacity) -> Option<String> {
    words(&capacity.failures, capacity.launches, Some(capacity.connections()))
}

/// `2 of 9 launches failed: the responder (the server) was killed by signal 9`. `clients` are those of an open loop.
fn words(failures: &[Failure], launches: u64, clients: Option<u32>) -> Option<String> {
    let failed = failures::count(failures);
    let reason = |failure: &Failure| match failures {
        [_] => by_role(&failure.reason, clients),
        _ => format!("{} ({})", by_role(&failure.reason, clients), failure.launches),
    };
    let reasons: Vec<String> = failures.iter().map(reason).collect();
    let head = match launches {
        0 => "its pilot failed".into(),
        all => format!("{failed} of {} failed", units::counted(all, "launch")),
    };
    (failed > 0).then(|| format!("{head}: {}", reasons.join("; ")))
}

/// In an open loop a worker is a server, or holds the clients.
fn by_role(reason: &str, clients: Option<u32>) -> String {
    let Some(clients) = clients else { return reason.into() };
    let holds = if clients > 1 { "the clients" } else { "the client" };
    for (role, is) in [("initiator", holds), ("responder", "the server")] {
        if let Some(rest) = reason.strip_prefix(role)
            && rest.starts_with([' ', ':'])
        {
            return format!("the {role} ({is}){rest}");
        }
    }
    reason.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_died_and_in_how_many_launches() {
        let of = |reason: &str, launches| Failure { reason: reason.into(), launches };
        let server = of("responder was killed by signal 9", 2);
        let client = of("initiator: recv: Broken pipe", 1);
        for (failures, launches, clients, expected) in [
            (vec![], 9, Some(4), None),
            (
                vec![server.clone()],
                9,
                Some(4),
                Some("2 of 9 launches failed: the responder (the server) was killed by signal 9"),
            ),
            (
                vec![server.clone(), client],
                9,
                Some(4),
                Some(
                    "3 of 9 launches failed: the responder (the server) was killed by signal 9 (2); the initiator \
                     (the clients): recv: Broken pipe (1)",
                ),
            ),
            (vec![of("why", 1)], 1, None, Some("1 of 1 launch failed: why")),
            (vec![server], 0, None, Some("its pilot failed: responder was killed by signal 9")),
        ] {
            assert_eq!(words(&failures, launches, clients).as_deref(), expected);
        }
    }
}
