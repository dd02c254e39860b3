//! Launches that failed: of what, and how many of each reason.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::StoredLaunch;

/// A reason for which launches failed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Failure {
    /// Who died or gave up, without the process's id, which differs from launch to launch.
    pub reason: String,
    /// Launches that failed of it.
    pub launches: u64,
}

/// The reasons of some failed launches, the most frequent first.
pub(super) fn of<'a>(reasons: impl Iterator<Item = (&'a str, u64)>) -> Vec<Failure> {
    let mut all: Vec<Failure> = Vec::new();
    for (reason, launches) in reasons {
        let reason = without_process(reason);
        match all.iter_mut().find(|failure| failure.reason == reason) {
            Some(known) => known.launches += launches,
            None => all.push(Failure { reason, launches }),
        }
    }
    all.sort_by_key(|failure| std::cmp::Reverse(failure.launches));
    all
}

/// The reasons of a case's launches; of a case that `failed` as a whole, before any round, those of its pilots.
pub(super) fn of_launches(launches: &[StoredLaunch], failed: bool) -> Vec<Failure> {
    let reasons = |rounds: bool| {
        let all = launches
            .iter()
            .filter(move |launch| (launch.round > 0) == rounds && launch.status != "ok");
        of(all.map(|launch| (launch.reason.as_deref().unwrap_or("no reason was given"), 1)))
    };
    let found = reasons(true);
    if failed && found.is_empty() { reasons(false) } else { found }
}

/// How many launches failed, for whatever reason.
pub fn count(failures: &[Failure]) -> u64 {
    failures.iter().map(|failure| failure.launches).sum()
}

/// `responder was killed by signal 9` of `responder (process 4711) was killed by signal 9`.
fn without_process(reason: &str) -> String {
    let Some((before, rest)) = reason.split_once(" (process ") else { return reason.into() };
    match rest.split_once(')') {
        Some((id, after)) if id.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{before}{after}")
        }
        _ => reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_differ_in_the_process_alone_are_one() {
        let reasons = [
            ("deadline passed: initiator (process x)", 1),
            ("responder (process 12) was killed by signal 9", 1),
            ("responder (process 7) was killed by signal 9", 2),
        ];
        let found: Vec<_> = of(reasons.into_iter())
            .into_iter()
            .map(|failure| (failure.reason, failure.launches))
            .collect();
        assert_eq!(found[0], ("responder was killed by signal 9".to_string(), 3));
        assert_eq!(found[1], ("deadline passed: initiator (process x)".to_string(), 1));
    }
}
