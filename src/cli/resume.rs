//! `--resume`: nothing that a store says is executed. What starts a program is given again on the command
//! line, and compared with what the run was begun with.

use super::Failure;
use model::hint;
use store::{FleetRequest, StoredRun, command_line, resume_fleet, resume_run};

/// The command that goes on with a run, as it is typed.
pub fn line(run: &StoredRun) -> String {
    match &run.fleet {
        Some(fleet) => fleet_line(run.id, &fleet.asked),
        None => command_line(&resume_run(run.id, &run.request)),
    }
}

/// The same of a run on many nodes.
pub fn fleet_line(run: i64, asked: &FleetRequest) -> String {
    command_line(&resume_fleet(run, asked))
}

/// What is said at the end of a run that isn't complete.
pub fn how(run: i64, line: &str) -> String {
    if hint::is_nothing_kept() {
        return "nothing of it is stored".into();
    }
    format!("`{line}` goes on with run {run}")
}

/// The command wasn't given again, or another one was.
pub fn refused(run: i64, line: &str) -> Failure {
    Failure::usage(format!(
        "run {run} starts a program by a command, and none is taken from a store: if you trust it, `{line}` \
         goes on with the run"
    ))
}
