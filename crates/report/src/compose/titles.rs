//! What a run is called, and what stands below its name.

use super::host;
use crate::units;
use analysis::Judged;
use model::request::Aim;
use store::StoredRun;

pub fn headline(run: &StoredRun) -> &'static str {
    match run.request.aim {
        Aim::Comparison if run.peer.is_some() => "How processes talk to each other on two hosts",
        Aim::Comparison => "How processes talk to each other on this machine",
        Aim::Explanation { .. } => "Where the time of a message goes",
        Aim::Choice(_) => "What to use for a need",
    }
}

pub fn subtitle(judged: &Judged) -> String {
    format!("{}; {}", machine(judged), measured(judged))
}

/// `92 cases, 1104 launches`.
pub fn measured(judged: &Judged) -> String {
    counts(judged).join(", ")
}

/// `92 cases` and `1104 launches`: twins are cases, too.
pub fn counts(judged: &Judged) -> [String; 2] {
    let launches: u64 = judged.results.iter().map(|case| case.launches).sum();
    let cases = judged.results.iter().filter(|case| case.launches > 0).count() as u64;
    [units::counted(cases, "case"), units::counted(launches, "launch")]
}

/// `Intel(R) Xeon(R) Processor, 2 CPUs, Linux 6.18`.
pub fn machine(judged: &Judged) -> String {
    host::in_short(&judged.run.host)
}
