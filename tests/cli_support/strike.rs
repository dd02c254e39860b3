//! A worker of a running campaign, killed in the middle of it.

use std::time::Duration;

use super::{Bench, Running, number, send, wait_for};
use crate::common::proc::{Process, children};
use rustix::process::Signal;

/// Against hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The worker that holds the clients, or the server.
#[derive(Clone, Copy, Debug)]
pub enum Half {
    Initiator,
    Responder,
}

impl Half {
    /// As a report names it in an open loop of several clients.
    pub fn named(self) -> &'static str {
        match self {
            Half::Initiator => "the initiator (the clients)",
            Half::Responder => "the responder (the server)",
        }
    }

    /// That worker of the launch which is under way, if there is one: a supervisor forks the initiator first.
    fn pid(self, running: &Running) -> Option<i32> {
        let workers =
            children(running.pid()).into_iter().map(children).find(|numbers| numbers.len() == 2)?;
        Some(workers[self as usize])
    }
}

/// Waits until a query of the store is true, or the run over.
pub fn await_store(bench: &Bench, running: &mut Running, sql: &str) {
    wait_for(sql, PATIENCE, || (running.is_over() || bench.ask(sql) > Some(0)).then_some(()));
}

/// Kills that worker of one launch under way, and returns once it is gone; false once the run is over.
fn kill_one(running: &mut Running, half: Half) -> bool {
    let found = wait_for("a launch under way", PATIENCE, || {
        if running.is_over() { Some(None) } else { half.pid(running).map(Some) }
    });
    let Some(pid) = found else { return false };
    if send(pid, Signal::KILL) {
        let gone = || Process::living(pid).is_none().then_some(());
        wait_for("the killed worker to vanish", PATIENCE, gone);
    }
    true
}

/// Once a round is stored: kills that worker of one launch a round, until a launch has failed of it.
pub fn kill_in_one_launch(bench: &Bench, running: &mut Running, half: Half) {
    const ROUNDS: &str = "SELECT count(*) FROM rounds";
    await_store(bench, running, ROUNDS);
    let failed = "SELECT count(*) FROM launches WHERE round > 0 AND status = 'failed'";
    while bench.ask(failed) == Some(0) {
        let rounds = bench.ask(ROUNDS).unwrap_or(0);
        assert!(kill_one(running, half), "the run was over before a launch was struck");
        await_store(bench, running, &format!("SELECT count(*) > {rounds} FROM rounds"));
    }
}

/// Once all pilots are stored: kills that worker of every launch that it meets.
pub fn kill_in_every_launch(bench: &Bench, running: &mut Running, half: Half) {
    let piloted = "SELECT count(*) > 0 AND min(samples_per_launch IS NOT NULL)
         FROM cases WHERE absence IS NULL";
    await_store(bench, running, piloted);
    while kill_one(running, half) {}
}

/// Launches of a mechanism that failed, and all of them, by a further condition.
pub fn failed_of(bench: &Bench, mechanism: &str, also: &str) -> (i64, i64) {
    let count = |of: &str| {
        let sql = format!(
            "SELECT count(*) FROM launches JOIN cases ON case_id = cases.id
             WHERE round > 0 AND levels ->> 'variant' = '{mechanism}' AND {of} AND {also}"
        );
        number(&bench.open(), &sql)
    };
    (count("launches.status = 'failed'"), count("1"))
}

/// Nothing of a run is left: no process, and no name in the folder for temporary files.
pub fn must_have_left_nothing(bench: &Bench) {
    assert!(bench.processes().is_empty(), "{:?} remain", bench.processes());
    let names: Vec<_> = std::fs::read_dir(bench.path("")).expect("a folder").flatten().collect();
    let ours = |name: &str| name.starts_with("ipcmark-");
    let left: Vec<_> =
        names.iter().filter(|name| name.file_name().to_str().is_some_and(ours)).collect();
    assert!(left.is_empty(), "{left:?} remain");
}
