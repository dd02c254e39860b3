//! Whichever process is killed, at whichever moment: nothing of ours remains, nothing of others is touched,
//! and the store opens with every finished launch in it.
//!
//! 20 drawn moments, so that every process gets every signal twice; 40 in the long form (200 with
//! IPCMARK_LONG=5). The counts are said aloud. Mechanisms are those that could leave something: names, System V objects in the
//! machine's own namespace, rings, memory of each other's processes.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use crate::cli_support::{Bench, Running, number, send, wait_for};
use crate::common::inventory::Inventory;
use crate::long_form::many;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rustix::process::Signal;

/// Moments, and those of the long form; two threads share them.
const MOMENTS: (u64, u64) = (20, 40);
/// How soon a run must be over after a signal that asks it to end: against hangs.
const SOON: Duration = Duration::from_secs(30);
/// How soon everything must be gone: against hangs as well, since a busy machine may pause
/// for seconds.
const GONE: Duration = Duration::from_secs(30);

const MECHANISMS: [&str; 12] = [
    "sysv-queue:namespace=host",
    "sysv-sem:namespace=host",
    "sysv-queue",
    "fifo",
    "posix-queue",
    "unix-stream:bind=path",
    "process-vm",
    "io-uring:op=msg-ring",
    "signal",
    "pty",
    "vmsplice",
    "shm-ring:wait=eventfd",
];

/// Which process is killed, and with what.
const STRIKES: [(Victim, Signal, &str); 10] = [
    (Victim::Coordinator, Signal::INT, "SIGINT"),
    (Victim::Coordinator, Signal::TERM, "SIGTERM"),
    (Victim::Coordinator, Signal::HUP, "SIGHUP"),
    (Victim::Coordinator, Signal::KILL, "SIGKILL of the coordinator"),
    (Victim::Supervisor, Signal::KILL, "SIGKILL of a supervisor"),
    (Victim::Initiator, Signal::KILL, "SIGKILL of an initiator"),
    (Victim::Responder, Signal::KILL, "SIGKILL of a responder"),
    (Victim::Supervisor, Signal::STOP, "SIGSTOP of a supervisor"),
    (Victim::Initiator, Signal::STOP, "SIGSTOP of an initiator"),
    (Victim::Responder, Signal::STOP, "SIGSTOP of a responder"),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Victim {
    Coordinator,
    Supervisor,
    Initiator,
    Responder,
}

impl Victim {
    /// The process in that role, if there is one now.
    fn pid(self, bench: &Bench, running: &Running) -> Option<i32> {
        let all = bench.processes();
        let children = |of: i32| -> Vec<i32> {
            all.iter().filter(|(_, process)| process.parent == of).map(|(pid, _)| *pid).collect()
        };
        let supervisors = children(running.pid());
        let worker =
            |nth| supervisors.iter().find_map(|supervisor| children(*supervisor).get(nth).copied());
        match self {
            Victim::Coordinator => Some(running.pid()),
            Victim::Supervisor => supervisors.first().copied(),
            Victim::Initiator => worker(0),
            Victim::Responder => worker(1),
        }
    }
}

/// Gives the calling thread, and what it will start, an IPC namespace of its own, so that every
/// System V object in sight is the test's; says aloud where that is not allowed.
fn ipc_namespace_of_its_own() -> bool {
    let got = sys::system_v::enter_private_namespace().is_ok();
    if !got {
        let line = "skipped the inventory of System V objects: no IPC namespace without root";
        let _ = writeln!(std::io::stderr(), "{line}");
    }
    got
}

/// Removes by hand what was made the moment before a kill, too late to be noted: `clean` names it and
/// leaves it. Gives how many there were.
fn unnoted(bench: &Bench, what: &str) -> u64 {
    let mut clean = bench.command(["clean"]);
    let said = crate::cli_support::output(clean.env("TMPDIR", bench.path("tmp")));
    let mut count = 0;
    // Not the laboratories of others on this machine, which may be of another version.
    let of_others = said.err.lines().all(|line| line.contains("ipcmark-lab"));
    assert!(said.code == Some(0) || said.code == Some(1) && of_others, "{what}: {}", said.err);
    let ours = |line: &&str| !line.starts_with("laboratory ");
    for line in said.out.lines().filter_map(|line| line.strip_prefix("left ")).filter(ours) {
        assert!(line.contains("was killed before it noted"), "{what}: {line}");
        let word = |nth| line.split_whitespace().nth(nth).expect("a word");
        let kind = if word(0) == "message" { "-q" } else { "-s" };
        let removed = std::process::Command::new("ipcrm").args([kind, word(2)]).status();
        assert!(removed.expect("ipcrm").success(), "{what}: {line}");
        count += 1;
    }
    if count > 0 {
        // Now that nothing is there, nothing has to be named.
        let again = crate::cli_support::output(clean.env("TMPDIR", bench.path("tmp")));
        let of_others = |line: &str| line.starts_with("left laboratory ");
        let is_clean = |line: &str| line == "nothing was left behind" || of_others(line);
        assert!(again.out.lines().all(is_clean), "{what}: {}", again.out);
    }
    count
}

/// Names of ours in the folder for temporary files, which each bench has to itself, and in
/// /dev/mqueue and /dev/shm.
fn names(bench: &Bench) -> Vec<String> {
    let folders = [bench.path("tmp"), "/dev/mqueue".into(), "/dev/shm".into()];
    let entries = folders.into_iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
    let names = entries.flatten().map(|entry| entry.path().display().to_string());
    names.filter(|name| name.contains("/ipcmark-")).collect()
}

/// Rounds stored so far.
fn rounds(bench: &Bench) -> i64 {
    let db = rusqlite::Connection::open(bench.store()).expect("the store is there");
    db.query_row("SELECT count(*) FROM rounds", [], |row| row.get(0)).unwrap_or(0)
}

/// One moment: begins a run, sends the signal, lets it end; gives the launches kept, and those that
/// failed.
fn moment(rng: &mut ChaCha8Rng, nth: u64, sees_objects: bool) -> (&'static str, i64, i64, u64) {
    let (victim, signal, title) = STRIKES[nth as usize % STRIKES.len()];
    let mut mechanisms = MECHANISMS;
    mechanisms.shuffle(rng);
    let mechanisms = &mechanisms[..3];
    let what = format!("moment {nth}, {title}, {}", mechanisms.join(" "));
    let bench = Bench::thorough();
    fs::create_dir(bench.path("tmp")).expect("a folder");
    let line = format!(
        "run {} -w latency -s 64 -p same-cpu --launches 9000 --samples 100 --seed {nth}",
        mechanisms.join(" ")
    );
    let mut command = bench.line(&line);
    command.env("TMPDIR", bench.path("tmp"));
    let running = bench.begin_with(command);
    // Some signals to the coordinator fall before the first launch: into floors and pilots.
    if victim != Victim::Coordinator || rng.random_range(0..4) > 0 {
        wait_for(&format!("{what}: a first round"), SOON, || (rounds(&bench) > 0).then_some(()));
    }
    std::thread::sleep(Duration::from_micros(rng.random_range(0..400_000)));
    // Between two batches there is no process to kill: the next one comes soon.
    let until = Instant::now() + SOON;
    let mut found = victim.pid(&bench, &running);
    while found.is_none() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(1));
        found = victim.pid(&bench, &running);
    }
    let struck = found.is_some_and(|pid| send(pid, signal));
    if victim != Victim::Coordinator {
        // It goes on without the one that was killed, until it is asked to end.
        std::thread::sleep(Duration::from_millis(rng.random_range(0..150)));
        running.signal(Signal::TERM);
    }
    let killed = victim == Victim::Coordinator && signal == Signal::KILL;
    let said = running.finish(SOON);
    if !killed {
        assert!(said.code.is_some_and(|code| code > 128), "{what}: {:?} {}", said.status, said.err);
    }
    bench.wait_for_silence(GONE);
    // The run that sees a supervisor die removes what it left, but for what it had no time to note.
    let named = names(&bench);
    let late = if killed || !named.is_empty() { unnoted(&bench, &what) } else { 0 };
    assert!(killed || named.len() as u64 == late, "{what}: these stay: {named:?}");
    assert_eq!(names(&bench), Vec::<String>::new(), "{what}");
    if sees_objects {
        assert_eq!(Inventory::of(None, &[]), Inventory::default(), "{what}");
    }
    let db = bench.open();
    let whole = "SELECT count(*) FROM launches WHERE round > 0 AND status = 'ok'
         AND (SELECT sum(count) FROM samples WHERE launch = launches.id) = 100";
    let kept = number(&db, "SELECT count(*) FROM launches WHERE round > 0 AND status = 'ok'");
    assert_eq!(number(&db, whole), kept, "{what}: a launch without all of its samples");
    let failed = number(&db, "SELECT count(*) FROM launches WHERE status = 'failed'");
    (if struck { title } else { "too late: nobody was there" }, kept, failed, late)
}

/// Half of the moments: two threads of cargo's take one each.
fn half(first: u64) {
    let all = many(MOMENTS.0, MOMENTS.1);
    let mut rng = ChaCha8Rng::seed_from_u64(first);
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut kept, mut failed, mut unnoted) = (0, 0, 0);
    let sees_objects = ipc_namespace_of_its_own();
    for nth in (first..all).step_by(2) {
        // Strikes alternate by pairs, so that each half meets all of them.
        let (title, some, lost, late) = moment(&mut rng, nth / 2 + first * 7, sees_objects);
        *counts.entry(title).or_default() += 1;
        (kept, failed, unnoted) = (kept + some, failed + lost, unnoted + late);
    }
    let lines: Vec<String> =
        counts.iter().map(|(title, count)| format!("{count} {title}")).collect();
    // Unlike println!, also when the test passes.
    let text = format!(
        "{} moments: {}; {kept} launches kept whole, {failed} stored as failed; nothing remained, \
         and {unnoted} objects were named",
        counts.values().sum::<u64>(),
        lines.join(", ")
    );
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[test]
#[ignore = "long form"]
fn nothing_is_lost_and_nothing_is_left_at_any_moment() {
    half(0);
}

#[test]
#[ignore = "long form"]
fn nothing_is_lost_and_nothing_is_left_at_any_other_moment() {
    half(1);
}

/// A process that starts a program is blocked until that has begun, and handles no signal meanwhile.
#[test]
#[ignore = "long form"]
fn a_supervisor_that_is_stopped_before_it_has_begun_holds_nobody() {
    let bench = Bench::new();
    let running =
        bench.begin("run pipe -w latency -s 64 -p same-cpu --launches 9000 --samples 100");
    wait_for("a first round", SOON, || (rounds(&bench) > 0).then_some(()));
    // Until it has begun it bears the arguments of the one that starts it. That takes too short a
    // time to look through all processes for it.
    let arguments = |pid: i32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let of_coordinator = arguments(running.pid());
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let all = || fs::read_to_string(&children).unwrap_or_default();
    let parsed = |all: &str| -> Vec<i32> {
        all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    };
    // What measures bounds beside the rounds lives as long as the run.
    let stays = |pid: &i32| arguments(*pid).windows(12).any(|window| window == b"floor-worker");
    let staying: Vec<i32> = parsed(&all()).into_iter().filter(stays).collect();
    let child = || parsed(&all()).into_iter().find(|pid| !staying.contains(pid));
    let until = Instant::now() + SOON;
    loop {
        assert!(Instant::now() < until, "no supervisor was met that had not begun");
        let Some(found) = child() else { continue };
        if send(found, Signal::STOP) && arguments(found) == of_coordinator {
            break;
        }
        send(found, Signal::CONT);
        while child() == Some(found) {}
    }
    running.signal(Signal::TERM);
    assert_eq!(running.finish(SOON).code, Some(128 + Signal::TERM.as_raw()));
    bench.wait_for_silence(GONE);
}

/// What a killed coordinator and a killed supervisor left together is found by `clean`.
#[test]
fn what_was_left_is_removed_by_clean() {
    let sees_objects = ipc_namespace_of_its_own();
    let bench = Bench::new();
    fs::create_dir(bench.path("tmp")).expect("a folder");
    let line = "run sysv-queue:namespace=host -w latency -s 64 -p same-cpu --launches 9000";
    let mut command = bench.line(line);
    command.env("TMPDIR", bench.path("tmp"));
    let running = bench.begin_with(command);
    let supervisor = wait_for("a supervisor with workers", SOON, || {
        Victim::Initiator.pid(&bench, &running)?;
        Victim::Supervisor.pid(&bench, &running)
    });
    // The coordinator first: it can't see the supervisor die.
    running.signal(Signal::KILL);
    send(supervisor, Signal::KILL);
    bench.wait_for_silence(GONE);
    unnoted(&bench, "after `clean`");
    assert_eq!(names(&bench), Vec::<String>::new());
    if sees_objects {
        assert_eq!(Inventory::of(None, &[]), Inventory::default());
    }
}
