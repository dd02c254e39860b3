//! Real signals to a real run: whichever process gets them, nothing of ours remains, and the store keeps
//! what was finished. The moments are drawn, from fixed seeds; time limits are against hangs.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Duration;

use crate::cli_support::{
    Bench, Running, Said, flat, has, number, results, rows, say, send, strike, wait_for,
};
use crate::common::proc::Process;
use crate::long_form::is_long;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify;
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Signal, kill_process_group, pidfd_getfd, pidfd_open,
};
use serde_json::Value;

/// How soon a run must be over after a signal that asks it to end: against hangs, since a busy
/// machine may pause for seconds.
const SOON: Duration = Duration::from_secs(30);
/// How soon the processes of a run that was killed must be gone.
const GONE: Duration = Duration::from_secs(30);
/// Longer than any deadline of these launches.
const PATIENCE: Duration = Duration::from_secs(40);

/// Longer than any test waits.
const ENDLESS: &str = "run pipe eventfd -w latency -s 64 --launches 9000 --samples 200";

fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

fn wait_for_launches(bench: &Bench, count: i64) {
    bench.wait_until(&format!("SELECT count(*) >= {count} FROM launches WHERE round > 0"));
}

/// What must hold after a signal that asked a run to end.
fn assert_ended(bench: &Bench, said: &Said, code: i32, of: &str) {
    assert_eq!(said.code, Some(code), "{of}: {:?} {}", said.status, said.err);
    assert!(bench.processes().is_empty(), "{of}: {:?} remain", bench.processes());
    assert!(said.out.contains("interrupted"), "{of}: {}", said.out);
    let last = said.err.lines().last().unwrap_or_default();
    assert!(last.starts_with("ipcmark: interrupted; `ipcmark run --resume 1`"), "{of}: {last}");
    let db = bench.open();
    assert_eq!(rows(&db, "SELECT status FROM runs"), ["interrupted"], "{of}");
    let document = bench.export();
    assert_eq!(document["status"], "interrupted", "{of}");
    assert_eq!(stored_launches(&document), whole_launches(bench), "{of}");
    let report = bench.run("report");
    assert_eq!(report.out, said.out, "{of}");
    // A run that ended before its first launch answers nothing.
    assert!(matches!(report.code, Some(0 | 1)), "{of}: {}", report.err);
}

fn stored_launches(document: &Value) -> i64 {
    let cases = results(document);
    cases.iter().map(|case| case["launches"].as_i64().unwrap()).sum()
}

/// Launches that are in the store with all their samples.
fn whole_launches(bench: &Bench) -> i64 {
    number(
        &bench.open(),
        "SELECT count(*) FROM launches WHERE round > 0 AND status = 'ok'
         AND (SELECT sum(count) FROM samples WHERE launch = launches.id) = 200",
    )
}

/// Six moments from 0.05 to 3 s, one drawn from each sixth; they fall into the settle pilot,
/// the pilots, the quiet and the rounds. The short form takes every other one, from `first` on.
fn interrupt_at_six_moments(signal: Signal, code: i32, seed: u64, first: u64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    for nth in (0..6).filter(|nth| is_long() || nth % 2 == first) {
        let at = millis(50 + nth * 490 + rng.random_range(0..490));
        let placement = if nth % 2 == 0 { "-p same-cpu" } else { "-p same-cpu -p free" };
        let bench = Bench::thorough();
        let running = bench.begin(&format!("{ENDLESS} {placement}"));
        std::thread::sleep(at);
        running.signal(signal);
        let said = running.finish(SOON);
        assert_ended(&bench, &said, code, &format!("{signal:?} {placement} at {at:?}"));
    }
}

#[test]
#[ignore = "long form"]
fn sigint_ends_a_run_at_any_moment_with_130() {
    interrupt_at_six_moments(Signal::INT, 130, 1, 0);
}

#[test]
#[ignore = "long form"]
fn sigterm_ends_a_run_at_any_moment_with_143() {
    interrupt_at_six_moments(Signal::TERM, 143, 2, 1);
}

#[test]
fn a_terminal_that_hangs_up_ends_a_run_with_129() {
    let bench = Bench::new();
    let running = bench.begin(&format!("{ENDLESS} -p same-cpu"));
    wait_for_launches(&bench, 1);
    running.signal(Signal::HUP);
    assert_ended(&bench, &running.finish(SOON), 129, "SIGHUP");
}

/// Waits for the first record of what a set-up makes, which is there before the thing.
struct RecordWatch(OwnedFd);

impl RecordWatch {
    fn of(bench: &Bench) -> RecordWatch {
        // An event for each name, also of those that are gone by now.
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).expect("inotify");
        let created = inotify::WatchFlags::CREATE;
        inotify::add_watch(&watch, bench.path(""), created).expect("a watch");
        RecordWatch(watch)
    }

    /// False where the program ends without one.
    fn wait(&self, running: &mut Running) -> bool {
        let mut room = [std::mem::MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.0, &mut room);
        loop {
            let is_over = running.is_over();
            while let Ok(event) = events.next() {
                let name = event.file_name().and_then(|name| name.to_str().ok());
                if name.is_some_and(|name| name.ends_with(".record")) {
                    return true;
                }
            }
            if is_over {
                return false;
            }
            let soon = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
            let _ = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&soon));
        }
    }
}

/// Whatever opens a mechanism has taken the signals over before: also where it only tries what there is.
#[test]
fn a_signal_in_the_first_set_up_ends_every_command_in_order_and_leaves_nothing() {
    let all = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)];
    let lines = [
        "list",
        "",
        "run fifo sysv-queue:namespace=host",
        "choose fifo -s 64 --rate 100 --bound p99:1s --launches 1",
        "explain fifo -s 64",
        "study run 003",
        "study run 003 --dry-run",
    ];
    for (line, (signal, code)) in lines.into_iter().zip(all.into_iter().cycle()) {
        // Where this test waits for its CPU meanwhile, a short command may end before.
        let told = wait_for(&format!("`{line}` to be told in time"), PATIENCE, || {
            let bench = Bench::new();
            let watch = RecordWatch::of(&bench);
            let mut running = bench.start(line);
            let opens = watch.wait(&mut running);
            running.signal(signal);
            let said = running.finish(SOON);
            strike::must_have_left_nothing(&bench);
            match said.code {
                _ if !opens => Some(Err(said.err)),
                Some(0) => None,
                _ => Some(Ok(said)),
            }
        });
        match told {
            Ok(said) => {
                assert_eq!(said.code, Some(code), "`{line}`: {:?} {}", said.status, said.err)
            }
            Err(why) => say(&format!("skipped a signal to `{line}`: {}", why.trim())),
        }
    }
}

/// Kills a worker, whose record this process holds as well, which is what one that is slow to die looks like: the lock
/// is free only when both are gone. None where the run ends before; Err where no descriptor of another can be had.
fn kill_a_worker(bench: &Bench, running: &mut Running) -> Result<Option<OwnedFd>, Errno> {
    let is_record = |found: &std::fs::Metadata| {
        let records = std::fs::read_dir(bench.path("")).expect("a folder").flatten();
        let mut records = records.filter(|record| {
            record.path().extension().is_some_and(|extension| extension == "record")
        });
        records.any(|record| record.metadata().is_ok_and(|metadata| metadata.ino() == found.ino()))
    };
    let parent = |pid: i32| Process::living(pid).map(|process| process.parent);
    let own = running.pid();
    wait_for("a worker that holds a record", PATIENCE, || {
        if running.is_over() {
            return Some(Ok(None));
        }
        let all = bench.processes().into_keys();
        let mut workers = all.filter(|pid| parent(*pid).and_then(parent) == Some(own));
        workers.find_map(|pid| {
            let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
            let records = open.filter(|entry| {
                std::fs::metadata(entry.path()).is_ok_and(|metadata| is_record(&metadata))
            });
            // Its own was opened after those that it inherited.
            let numbers =
                records.filter_map(|record| record.file_name().to_str()?.parse::<i32>().ok());
            let number = numbers.max()?;
            let process = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()?;
            match pidfd_getfd(process, number, PidfdGetfdFlags::empty()) {
                Ok(held) => {
                    let held = std::fs::File::from(held);
                    // A number that has come to mean something else is no record; and one of its supervisor, which a
                    // worker inherits, is removed by that.
                    let mut text = [0; 512];
                    let _ = held.read_at(&mut text, 0);
                    let own = String::from_utf8_lossy(&text).contains(&format!("\"pid\":{pid},"));
                    if !own {
                        return None;
                    }
                    let supervisor = parent(pid)?;
                    send(pid, Signal::KILL);
                    // It tries to remove what is left, in vain, and ends.
                    let is_gone = |pid| Process::living(pid).is_none().then_some(());
                    wait_for("its end", PATIENCE, || is_gone(pid).and(is_gone(supervisor)));
                    // It may have ended in order just before.
                    let is_left = held.metadata().is_ok_and(|metadata| is_record(&metadata));
                    is_left.then(|| Ok(Some(OwnedFd::from(held))))
                }
                Err(refused @ (Errno::PERM | Errno::NOSYS)) => Some(Err(refused)),
                Err(_) => None,
            }
        })
    })
}

/// What a launch couldn't remove, since the worker that had made it took its time to die, goes with the run; where it
/// never does, the run says so.
#[test]
#[ignore = "long form"]
fn what_a_slow_dying_worker_made_goes_at_the_end_of_the_run() {
    for stays in [false, true] {
        // On a busy machine a run may be over before a launch of it is caught: the next one is tried.
        let caught = wait_for("a worker that is caught", PATIENCE, || {
            let bench = Bench::new();
            let line = "run fifo -w connect -p same-cpu --launches 8 --samples 3000";
            let mut running = bench.begin(line);
            // Where a pilot is killed nothing is measured.
            wait_for_launches(&bench, 1);
            let held = kill_a_worker(&bench, &mut running).transpose()?;
            Some(held.map(|held| (bench, running, held)))
        });
        let (bench, running, held) = match caught {
            Ok(caught) => caught,
            Err(why) => return say(&format!("skipped a worker that is slow to die: {why}")),
        };
        let kept = stays.then_some(held);
        let said = running.finish(PATIENCE);
        if kept.is_some() {
            assert!(said.err.contains("(`ipcmark clean` tries again)"), "{}", said.err);
            drop(kept);
            bench.must("clean");
        } else {
            assert!(!said.err.contains("left "), "{}", said.err);
        }
        strike::must_have_left_nothing(&bench);
    }
}

/// As nohup(1) starts it, or a shell what it leaves in the background.
#[test]
fn a_signal_that_is_ignored_ends_nothing() {
    for (name, signal) in [("HUP", Signal::HUP), ("INT", Signal::INT), ("TERM", Signal::TERM)] {
        let bench = Bench::new();
        let line = "run pipe -w latency -s 64 -p same-cpu --launches 12 --samples 200";
        let running = bench.begin_with(bench.after(&format!("trap '' {name}"), line));
        wait_for_launches(&bench, 1);
        running.signal(signal);
        running.signal(signal);
        let said = running.finish(PATIENCE);
        assert_eq!(said.code, Some(0), "{name}: {}", said.err);
        assert_eq!(whole_launches(&bench), 12, "{name}");
    }
}

/// The first signal begins the end; the others fall into it, wherever it is.
#[test]
#[ignore = "long form"]
fn further_signals_disturb_an_end_as_little_as_the_first() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let all = [Signal::INT, Signal::TERM, Signal::HUP];
    for (signals, many) in [(&all[..1], 2), (&all[1..2], 10), (&all[..], 10)] {
        let bench = Bench::new();
        let running = bench.begin(&format!("{ENDLESS} -p same-cpu --html page.html"));
        wait_for_launches(&bench, rng.random_range(1..12));
        for nth in 0..many {
            // It may have ended by now.
            send(running.pid(), signals[nth % signals.len()]);
            std::thread::sleep(millis(rng.random_range(1..40)));
        }
        let said = running.finish(SOON);
        let of = format!("{many} of {signals:?}");
        // Of those that are pending at once the kernel chooses.
        let codes: Vec<i32> = signals.iter().map(|signal| 128 + signal.as_raw()).collect();
        let code = said.code.filter(|code| codes.contains(code));
        assert_ended(&bench, &said, code.unwrap_or(codes[0]), &of);
        let page = bench.read("page.html");
        assert!(page.trim_end().ends_with("</html>"), "{of}: the page is cut short");
    }
}

/// As timeout(1) does it: the program gets the signal, and then its whole group.
#[test]
fn the_signals_of_a_timeout_end_a_run_in_order() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let bench = Bench::new();
        let running = bench.begin(&format!("{ENDLESS} -p same-cpu"));
        wait_for_launches(&bench, 3);
        running.signal(signal);
        kill_process_group(Pid::from_raw(running.pid()).unwrap(), signal).unwrap();
        assert_ended(&bench, &running.finish(SOON), code, &format!("{signal:?}"));
    }
}

/// An agent that is reached by a local command is in the same process group.
#[test]
fn a_signal_to_the_group_of_a_run_with_a_peer_ends_it_once() {
    let bench = Bench::new();
    let program = env!("CARGO_BIN_EXE_ipcmark");
    let line = format!(
        "run tcp -w latency -s 64 -p free --route peer --peer env --peer-program {program} \
         --launches 9000 --samples 200"
    );
    let running = bench.begin(&line);
    wait_for_launches(&bench, 2);
    kill_process_group(Pid::from_raw(running.pid()).unwrap(), Signal::TERM).unwrap();
    let said = running.finish(SOON).ends(143);
    let last = said.err.lines().last().unwrap_or_default();
    assert!(last.starts_with("ipcmark: interrupted; "), "{}", said.err);
    assert!(!said.err.contains("is gone"), "{}", said.err);
    bench.wait_for_silence(GONE);
    assert_eq!(rows(&bench.open(), "SELECT status FROM runs"), ["interrupted"]);
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM launches WHERE status != 'ok'"), 0);
}

/// A page goes to a reader that never reads: the run is kept, and the process leaves.
#[test]
fn an_end_that_hangs_is_given_up() {
    let bench = Bench::new();
    let made = std::process::Command::new("mkfifo").arg(bench.path("fifo")).status();
    assert!(made.expect("run mkfifo").success());
    // Somebody has it open for reading, so that the writer gets as far as a full pipe.
    let _reader = std::fs::OpenOptions::new().read(true).write(true).open(bench.path("fifo"));
    let running = bench.begin(&format!("{ENDLESS} -p same-cpu --html fifo"));
    wait_for_launches(&bench, 2);
    running.signal(Signal::INT);
    let said = running.finish(SOON).ends(130);
    has(said.err.lines().last().unwrap_or_default(), &["something stood still", "stored"]);
    assert!(said.out.contains("interrupted"), "the report came first: {}", said.out);
    bench.wait_for_silence(GONE);
    assert_eq!(rows(&bench.open(), "SELECT status FROM runs"), ["interrupted"]);
}

/// As Ctrl-C does it: the whole foreground process group gets the signal.
#[test]
fn ctrl_c_reaches_the_group_and_ends_the_run_once() {
    let bench = Bench::new();
    let running = bench.begin(&format!("{ENDLESS} -p same-cpu"));
    wait_for_launches(&bench, 4);
    kill_process_group(Pid::from_raw(running.pid()).unwrap(), Signal::INT).unwrap();
    assert_ended(&bench, &running.finish(SOON), 130, "Ctrl-C");
    // What the workers got themselves is no result.
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM launches WHERE status != 'ok'"), 0);
}

#[test]
#[ignore = "long form"]
fn an_interrupted_run_can_be_resumed_to_its_end() {
    let bench = Bench::new();
    let line = "run pipe eventfd -w latency -s 64 -p same-cpu --launches 24 --samples 200";
    let running = bench.begin(line);
    wait_for_launches(&bench, 7);
    running.signal(Signal::INT);
    assert_ended(&bench, &running.finish(SOON), 130, "SIGINT");
    assert_resumes(&bench, 24);
    // It ends as if nothing had been: the command line is the first one.
    let argv = bench.export()["argv"].to_string();
    assert!(argv.contains("--launches") && !argv.contains("--resume"), "{argv}");
}

/// `run --resume` measures what lacks, once, and leaves finished rounds alone.
fn assert_resumes(bench: &Bench, launches: i64) {
    let finished = "SELECT launches.id, case_id, launches.round FROM launches
         JOIN cases ON case_id = cases.id
         JOIN rounds ON rounds.run = cases.run AND rounds.group_nth = cases.group_nth
             AND rounds.nth = launches.round
         ORDER BY launches.id";
    let before = rows(&bench.open(), finished);
    bench.must("run --resume");
    let db = bench.open();
    let after = rows(&db, finished);
    let kept = before.iter().filter(|row| after.contains(row)).count();
    assert_eq!(kept, before.len(), "finished launches were measured again");
    assert_eq!(rows(&db, "SELECT status FROM runs"), ["complete"]);
    let per_case = "SELECT count(*), count(DISTINCT round), min(round), max(round) FROM launches
         WHERE round > 0 GROUP BY case_id";
    for case in rows(&db, per_case) {
        assert_eq!(case, format!("{launches}|{launches}|1|{launches}"));
    }
    assert_eq!(number(&db, "SELECT count(DISTINCT nth) FROM rounds"), launches);
    let lost = "SELECT count(*) FROM launches WHERE status = 'ok'
         AND NOT EXISTS (SELECT * FROM samples WHERE launch = launches.id)";
    assert_eq!(number(&db, lost), 0);
    assert!(bench.processes().is_empty());
}

#[test]
fn after_sigkill_of_the_coordinator_nothing_remains_and_the_run_can_be_resumed() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let placements = ["-p same-cpu", "-p free", "-p same-cpu", "-p same-cpu"];
    for placement in placements.into_iter().take(if is_long() { 4 } else { 2 }) {
        let bench = Bench::new();
        let rounds = 20;
        let line = "run pipe eventfd -w latency -s 64 --samples 200";
        let mut running = bench.begin(&format!("{line} {placement} --launches {rounds}"));
        wait_for_launches(&bench, rng.random_range(1..20));
        std::thread::sleep(millis(rng.random_range(0..60)));
        let stored = bench.ask("SELECT count(*) FROM launches").unwrap();
        assert!(!running.is_over(), "the run was too short to be killed");
        running.signal(Signal::KILL);
        running.finish(SOON);
        bench.wait_for_silence(GONE);

        let db = bench.open();
        assert!(number(&db, "SELECT count(*) FROM launches") >= stored, "launches were lost");
        let listed = bench.must("runs").out;
        assert!(listed.contains("killed") && !listed.contains("running"), "{listed}");
        assert_eq!(bench.export()["status"], "interrupted");
        assert_resumes(&bench, rounds);
        assert!(bench.must("runs").out.contains("complete"));
    }
}

#[test]
#[ignore = "long form"]
fn a_coordinator_killed_before_the_first_round_can_be_resumed() {
    let bench = Bench::new();
    let line = "run pipe eventfd -w latency -s 64 -p same-cpu -p free --launches 3 --samples 200";
    let running = bench.begin(line);
    bench.wait_until("SELECT count(*) = 6 FROM cases");
    running.signal(Signal::KILL);
    running.finish(SOON);
    bench.wait_for_silence(GONE);
    assert!(bench.must("runs").out.contains("killed"));
    assert_resumes(&bench, 3);
}

#[test]
fn while_it_runs_a_run_is_listed_as_running_and_not_taken_up_twice() {
    let bench = Bench::new();
    let running = bench.begin(&format!("{ENDLESS} -p same-cpu"));
    wait_for_launches(&bench, 1);
    has(&bench.must("runs").out, &["running"]);
    let said = bench.run("run --resume 1").fails(2, &[]);
    assert!(said.err.contains(&format!("process {}", running.pid())), "{}", said.err);
    running.signal(Signal::TERM);
    running.finish(SOON);
}

/// Which process gets the signal.
#[derive(Clone, Copy)]
enum Victim {
    Supervisor,
    Worker,
}

/// A process of the run in that role, now.
fn victim(bench: &Bench, running: &Running, who: Victim) -> Option<i32> {
    let all = bench.processes();
    let children = |of: i32| -> BTreeMap<i32, _> {
        all.iter()
            .filter(|(_, process)| process.parent == of)
            .map(|(pid, process)| (*pid, *process))
            .collect()
    };
    let supervisors = children(running.pid());
    match who {
        Victim::Supervisor => supervisors.into_keys().next(),
        Victim::Worker => {
            supervisors.into_keys().find_map(|number| children(number).into_keys().next())
        }
    }
}

/// Strikes at drawn moments until a launch has failed of it, then lets the run end. Gives the
/// reasons of the failed launches.
fn interrupted(bench: &Bench, who: Victim, signal: Signal, seed: u64) -> Vec<String> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let line = "run pipe eventfd -w latency -s 64 -p same-cpu --launches 14 --samples 4000";
    let mut running = bench.begin(line);
    wait_for_launches(bench, 4);
    let failed = "SELECT count(*) FROM launches WHERE status = 'failed'";
    while bench.ask(failed) == Some(0) && !running.is_over() {
        let pid = victim(bench, &running, who);
        // Not at once: the signal would always come during set-up.
        std::thread::sleep(millis(rng.random_range(1..30)));
        if let Some(pid) = pid.filter(|pid| send(*pid, signal)) {
            let struck = || Process::living(pid).is_none().then_some(());
            wait_for("the struck process to vanish", PATIENCE, struck);
        }
    }
    running.finish(PATIENCE).ends(0);
    assert!(bench.processes().is_empty());
    let db = bench.open();
    assert_eq!(rows(&db, "SELECT status FROM runs"), ["complete"]);
    // Every launch of every round has its row; those that failed have no samples.
    assert_eq!(number(&db, "SELECT count(*) FROM launches WHERE round > 0"), 14 * 3);
    let kept = "SELECT count(*) FROM samples JOIN launches ON launch = launches.id
         WHERE status != 'ok'";
    assert_eq!(number(&db, kept), 0);
    let reasons = rows(&db, "SELECT reason FROM launches WHERE status = 'failed'");
    assert!(!reasons.is_empty(), "no strike hit a launch");
    let document = bench.export();
    let cases = results(&document).iter();
    let failed: u64 = cases.map(|case| case["failed_launches"].as_u64().unwrap()).sum();
    assert_eq!(failed, reasons.len() as u64);
    reasons
}

#[test]
#[ignore = "long form"]
fn after_sigkill_of_a_supervisor_the_run_goes_on() {
    let bench = Bench::new();
    for reason in interrupted(&bench, Victim::Supervisor, Signal::KILL, 4) {
        assert_eq!(reason, "the supervisor died without a word");
    }
}

#[test]
#[ignore = "long form"]
fn after_sigkill_of_a_worker_the_run_goes_on() {
    let bench = Bench::new();
    for reason in interrupted(&bench, Victim::Worker, Signal::KILL, 5) {
        let named = reason.starts_with("initiator (") || reason.starts_with("responder (");
        assert!(named && reason.ends_with("was killed by signal 9"), "{reason}");
    }
    let said = bench.must("report").out;
    assert!(flat(&said).contains("launches failed"), "{said}");
}

#[test]
fn after_sigstop_of_a_worker_the_run_goes_on() {
    if !is_long() {
        return say("skipped: a stopped worker's deadline is of the long form");
    }
    let bench = Bench::new();
    for reason in interrupted(&bench, Victim::Worker, Signal::STOP, 6) {
        let named = reason.contains("initiator") || reason.contains("responder");
        assert!(named && reason.starts_with("deadline passed: "), "{reason}");
    }
}

#[test]
fn after_sigstop_of_a_supervisor_the_run_goes_on() {
    if !is_long() {
        return say("skipped: a stopped supervisor's deadline is of the long form");
    }
    let bench = Bench::new();
    for reason in interrupted(&bench, Victim::Supervisor, Signal::STOP, 7) {
        assert!(reason.contains("supervisor"), "{reason}");
    }
}

/// The hardest case: a worker that can't act any more, and no process left to say so.
#[test]
fn a_stopped_worker_outlives_neither_its_supervisor_nor_the_coordinator() {
    for who in [None, Some(Victim::Supervisor)] {
        let bench = Bench::new();
        let running = bench.begin(&format!("{ENDLESS} -p same-cpu"));
        wait_for_launches(&bench, 4);
        let stopped = wait_for("a stopped worker", PATIENCE, || {
            let pid = victim(&bench, &running, Victim::Worker)?;
            let parent = bench.processes().get(&pid)?.parent;
            send(pid, Signal::STOP);
            (bench.processes().get(&pid)?.state == 'T').then_some((pid, parent))
        });
        match who {
            None => running.signal(Signal::KILL),
            Some(_) => drop(send(stopped.1, Signal::KILL)),
        }
        wait_for("the stopped worker to vanish", GONE, || {
            (!bench.processes().contains_key(&stopped.0)).then_some(())
        });
        running.signal(Signal::KILL);
        running.finish(SOON);
        bench.wait_for_silence(GONE);
    }
}

/// A complete run, put back to what a kill of its coordinator leaves; `sql` says where.
fn killed_run(line: &str, sql: &str) -> Bench {
    let bench = Bench::new();
    bench.must(line);
    let undo = "UPDATE groups SET closed = NULL;
         UPDATE runs SET status = 'running', pid = 4194305, ended = NULL;";
    bench.edit(&format!("{undo} {sql}"));
    assert!(bench.must("runs").out.contains("killed"));
    bench
}

const SIX_ROUNDS: &str = "run pipe eventfd -w latency -s 64 -p same-cpu --launches 6 --samples 200";

#[test]
#[ignore = "long form"]
fn a_run_killed_after_its_last_round_is_resumed_without_another() {
    let bench = killed_run(SIX_ROUNDS, "");
    assert_resumes(&bench, 6);
}

#[test]
fn a_run_killed_inside_a_round_measures_that_round_again() {
    let cut = "DELETE FROM launches WHERE round = 6 AND position > 0;
         DELETE FROM rounds WHERE nth = 6;";
    assert_resumes(&killed_run(SIX_ROUNDS, cut), 6);
}

#[test]
#[ignore = "long form"]
fn a_case_that_was_given_up_does_not_send_a_resumed_run_back_to_its_start() {
    let given_up = "DELETE FROM rounds WHERE nth = 6; DELETE FROM launches WHERE round = 6;
         DELETE FROM launches WHERE round > 0
             AND case_id = (SELECT id FROM cases WHERE levels ->> 'variant' = 'eventfd');
         DELETE FROM samples WHERE launch IN (SELECT launches.id FROM launches
             JOIN cases ON case_id = cases.id WHERE levels ->> 'variant' = 'eventfd');
         UPDATE launches SET status = 'failed', reason = 'the pilot failed'
             WHERE case_id = (SELECT id FROM cases WHERE levels ->> 'variant' = 'eventfd');
         UPDATE cases SET batch = 1, samples_per_launch = 1, operation_ns = 0
             WHERE levels ->> 'variant' = 'eventfd';";
    let bench = killed_run(SIX_ROUNDS, given_up);
    let finished = "SELECT launches.id FROM launches JOIN cases ON case_id = cases.id
         WHERE levels ->> 'variant' = 'pipe' AND round BETWEEN 1 AND 5 ORDER BY launches.id";
    let before = rows(&bench.open(), finished);
    bench.must("run --resume");
    assert_eq!(before.len(), 10);
    assert_eq!(rows(&bench.open(), finished), before, "finished launches were measured again");
}

#[test]
#[ignore = "long form"]
fn a_resumed_run_does_not_claim_that_all_its_time_was_timed() {
    let line = "run pipe -w latency -s 64 -p same-cpu --launches 12 --samples 4000";
    let last = "DELETE FROM launches WHERE round = 12; DELETE FROM rounds WHERE nth = 12;";
    let bench = killed_run(line, last);
    bench.must("run --resume");
    if let Some(share) = bench.export()["timed_share"].as_f64() {
        assert!(share < 0.99, "{share} of the time can't have been timed");
    }
}
