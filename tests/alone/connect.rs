//! Set-up as a workload, and the first message as a result: what connects is set up by both workers; set-ups leave nothing behind, also
//! when killed in their midst; a limit in their way is a row with its reason; every launch of
//! a latency knows its first message.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, thread};

use crate::cli_support::send;
use crate::common::launching::{conclude, endless, finish, interrupt, quick, reach, start};
use crate::common::proc::{Process, Resources, children, lying_around, soon};
use crate::common::rooms::alone;
use crate::common::{Rng, say, variants};
use analysis::{Judged, Status};
use machine::Topology;
use mechanisms::{OpenError, OpenSpec, Variant};
use model::launch::{Outcome, SampleCount, Warmup, Workers};
use model::mechanism::{Carries, Cause};
use model::request::{Request, Stopping};
use model::workload::Workload;
use run::campaign::{Campaign, Conditions, Hosts, OpenRoutes, Progress, Turn};
use run::launch::{Launcher, Spec, Stage};
use run::plan::{AvailableRoutes, Machine, plan};
use rustix::process::Signal;
use store::Store;
use workload::connect::{self, Ends};

/// What stamps the set-ups; every machine has it.
const CLOCK: model::clock::ClockKind = model::clock::ClockKind::MonotonicRaw;

/// Mechanisms whose set-up makes names or objects.
const NAMED: [&str; 6] = [
    "unix-stream:bind=path",
    "unix-seqpacket:bind=path",
    "fifo",
    "posix-queue",
    "sysv-queue",
    "sysv-sem",
];

fn to_open(variant: &Variant) -> OpenSpec {
    let options = variant.options.clone();
    OpenSpec { options, message_bytes: connect::OPENED_FOR as usize, same_process: false, seed: 0 }
}

fn connecting(mechanism: &str) -> Spec {
    Spec { workload: Workload::Connect, ..quick(mechanism, connect::OPENED_FOR as usize) }
}

/// What lies around now and didn't before. A stranger's things come and go: what stays is ours.
fn left_since(before: &std::collections::BTreeSet<String>) -> Option<String> {
    let left = || lying_around().difference(before).next().cloned();
    if soon(Duration::from_secs(30), || left().is_none()) { None } else { left() }
}

#[test]
fn a_thousand_set_ups_leave_nothing_behind() {
    let _alone = alone();
    for variant in variants() {
        let (before, names) = (Resources::now(), lying_around());
        let sample = [AtomicU64::new(0)];
        let name = variant.entry.name;
        match connect::initiate(name, &to_open(&variant), Ends::Both, CLOCK, &sample, 1_000) {
            Ok(()) => assert!(sample[0].load(Ordering::Relaxed) > 0, "{variant} took no time"),
            Err(OpenError::Unavailable(why)) => {
                say(&format!("skipped {variant}: {}", why.reason));
                continue;
            }
            // gso and gro are for messages of several datagrams.
            Err(OpenError::NotApplicable(_)) if !variant.options.chosen().is_empty() => continue,
            Err(error) => panic!("{variant}: {error}"),
        }
        assert_eq!(before, Resources::now(), "{variant}: left something open or mapped");
        assert_eq!(left_since(&names), None, "{variant}: left a name or an object behind");
    }
}

#[test]
fn a_set_up_has_the_parts_that_its_mechanism_takes() {
    let _alone = alone();
    let none: &[&str] = &[];
    for workers in [Workers::Process, Workers::Thread] {
        let parts = |text: &str| {
            let record = conclude(start(&Spec { workers, ..connecting(text) })).record;
            assert_eq!(record.outcome, Outcome::Ok, "{text}");
            [record.initiator, record.responder].map(|report| {
                assert!(report.parts.iter().all(|(_, ns)| *ns > 0.0), "{text}: {:?}", report.parts);
                report.parts.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
            })
        };
        for text in ["tcp", "tcp:family=6", "unix-stream:bind=path", "unix-seqpacket:bind=abstract"]
        {
            let of_both = parts(text);
            assert_eq!(of_both[0], ["connect", "accept", "close"], "{text}");
            assert_eq!(of_both[1], ["socket", "bind", "listen"], "{text}");
        }
        for text in ["pipe", "unix-stream", "shm-ring", "udp"] {
            let of_both = parts(text);
            assert_eq!(of_both[0], ["open", "close"], "{text}");
            assert_eq!(of_both[1], none, "{text}");
        }
    }
}

#[test]
#[ignore = "long form"]
fn a_connection_wakes_a_responder_that_sleeps_and_nothing_else_does() {
    let _alone = alone();
    // Both workers on one CPU: whoever waits leaves it to the other.
    let allowed = rustix::thread::sched_getaffinity(None).expect("sched_getaffinity");
    let cpu = (0..1024).find(|cpu| allowed.is_set(*cpu)).map(|cpu| cpu as u32);
    let slept = |text: &str| {
        let pinned = Spec { initiator_cpu: cpu, responder_cpu: cpu, ..connecting(text) };
        let samples = SampleCount::Exactly(200);
        let record = conclude(start(&Spec { samples, batch: 4, ..pinned })).record;
        assert_eq!(record.outcome, Outcome::Ok, "{text}");
        record.responder.usage.voluntary_switches
    };
    for text in ["tcp", "unix-stream:bind=path"] {
        // The initiator needs no sleep: what it wakes may take the CPU from it, and be done when it goes on.
        assert!(slept(text) > 0, "{text}: its responder never slept");
    }
    assert_eq!(slept("unix-stream"), 0, "it has no part in it");
}

#[test]
#[ignore = "long form"]
fn parts_come_with_a_launch_unless_set_ups_are_batched() {
    let _alone = alone();
    for mechanism in ["tcp", "pipe"] {
        let record = conclude(start(&Spec { batch: 4, ..connecting(mechanism) })).record;
        assert_eq!(record.outcome, Outcome::Ok);
        assert!(record.initiator.parts.is_empty() && record.responder.parts.is_empty());
    }
}

// ---- killed in the midst ------------------------------------------------------------------

#[test]
#[ignore = "long form"]
fn killed_in_the_midst_of_set_ups_nothing_is_left_after_cleaning() {
    let _alone = alone();
    let mut rng = Rng(21);
    for mechanism in NAMED {
        for workers in [Workers::Process, Workers::Thread] {
            for whole_launch in [true, false] {
                let names = lying_around();
                let spec = Spec { workload: Workload::Connect, ..endless(mechanism, workers) };
                let mut launch = start(&spec);
                reach(&mut launch, Stage::Ready);
                let group = launch.pid() as i32;
                let worker_ids = children(group);
                launch.go();
                thread::sleep(Duration::from_millis(10 + rng.below(20)));
                let what = format!("{mechanism}, {}, whole launch: {whole_launch}", workers.name());
                send(if whole_launch { group } else { worker_ids[0] }, Signal::KILL);
                let outcome = finish(launch).record.outcome;
                assert!(matches!(outcome, Outcome::Failed { .. }), "{what}: {outcome:?}");
                let gone = soon(Duration::from_secs(30), || Process::in_group(group).is_empty());
                assert!(gone, "{what}: something lives on");
                if whole_launch {
                    mechanisms::clean();
                }
                assert_eq!(left_since(&names), None, "{what}: left behind");
            }
        }
    }
}

// ---- limits -------------------------------------------------------------------------------

/// A program that starts ours with at most `files` open files.
fn limited(folder: &Path, files: u32) -> PathBuf {
    let path = folder.join(format!("limited-{files}"));
    let program = env!("CARGO_BIN_EXE_ipcmark");
    let text = format!("#!/bin/sh\nulimit -n {files}\nexec '{program}' \"$@\"\n");
    fs::write(&path, text).expect("write a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("chmod");
    path
}

/// Threads hold both ends in one process: it runs out of descriptors before its supervisor does.
fn by_threads(mechanism: &str) -> Spec {
    Spec { workers: Workers::Thread, ..connecting(mechanism) }
}

/// The fewest open files with which a launch gets ready, and yet can't set up another time.
fn too_few_for(mechanism: &str, folder: &Path) -> Option<u32> {
    (4..40).find(|files| {
        let launcher = Launcher::new(limited(folder, *files));
        let mut launch = launcher.start(&by_threads(mechanism), 0).expect("it starts");
        reach(&mut launch, Stage::Ready);
        let ready = !launch.is_over();
        launch.go();
        let outcome = finish(launch).record.outcome;
        ready && matches!(outcome, Outcome::Unavailable(_))
    })
}

#[test]
#[ignore = "long form"]
fn a_limit_that_only_the_worker_meets_is_reported_as_data() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    for mechanism in ["tcp", "pipe", "unix-stream:bind=abstract"] {
        let files = too_few_for(mechanism, folder.path()).expect("some limit is too low");
        let launcher = Launcher::new(limited(folder.path(), files));
        let launch = launcher.start(&by_threads(mechanism), 0).expect("it starts");
        let Outcome::Unavailable(why) = conclude(launch).record.outcome else {
            panic!("{mechanism}: available with {files} files after all");
        };
        assert_eq!(why.cause, Cause::Limit, "{mechanism}: {why:?}");
        assert!(why.reason.contains(&format!("the limit on open files is {files}")), "{why:?}");
        assert!(why.remedy.contains("ulimit -n"), "{why:?}");
    }
}

struct Silent;

impl Progress for Silent {
    fn stage(&mut self, _text: &str) {}
    fn round(&mut self, _status: &run::campaign::Status) {}
    fn warning(&mut self, _text: &str) {}
    fn done(&mut self) {}
}

#[test]
#[ignore = "long form"]
fn a_limit_on_open_files_makes_a_row_that_is_unavailable_with_the_reason() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    let files = too_few_for("tcp", folder.path()).expect("some limit is too low");
    let request = Request {
        mechanisms: vec!["futex".into(), "tcp".into()],
        workloads: vec![(Workload::Connect, vec![connect::OPENED_FOR])],
        levels: [("workers".to_string(), vec!["thread".to_string()])].into(),
        warmup: Warmup { operations: 2, ns: 1_000_000 },
        samples: Some(10),
        stopping: Stopping { launches: Some(2), ..Stopping::default() },
        seed: 5,
        ..Request::default()
    };
    let topology = Topology::read(Path::new("/")).expect("a topology");
    let set = rustix::thread::sched_getaffinity(None).expect("sched_getaffinity");
    let allowed: Vec<u32> =
        topology.online().into_iter().filter(|cpu| set.is_set(*cpu as usize)).collect();
    let plan = plan(
        &request,
        &Machine { topology: &topology, allowed: &allowed, routes: &AvailableRoutes::default() },
    )
    .expect("a plan");
    let mut store = Store::open(&folder.path().join("runs.sqlite")).expect("a store");
    let hosts = Hosts {
        launcher: Launcher::new(limited(folder.path(), files)),
        arms: Vec::new(),
        routes: OpenRoutes::default(),
        turn: Turn::wait(true, interrupt(), |_| {}),
    };
    let with = Conditions { store: &mut store, interrupt: interrupt(), progress: &mut Silent };
    let campaign = Campaign::begin(with, hosts, &request, &plan, &[]).expect("it begins");
    let (id, _) = campaign.run().expect("it ends");
    let judged = Judged::of(&store, id).expect("it is judged");
    let of =
        |name: &str| judged.results.iter().find(|result| result.variant == name).expect("a row");
    assert_eq!(of("futex").status, Status::Ok);
    assert!(of("futex").value.is_some());
    assert_eq!(of("tcp").status, Status::Unavailable);
    let reason = of("tcp").reason.as_deref().unwrap_or_default();
    assert!(reason.contains(&format!("the limit on open files is {files}")), "{reason}");
}

#[test]
#[ignore = "long form"]
fn with_only_a_few_descriptors_every_mechanism_says_which_limit_is_in_the_way() {
    let _alone = alone();
    let folder = tempfile::tempdir().expect("a folder");
    for mechanism in ["tcp", "pipe", "fifo", "unix-stream:bind=path", "io-uring", "eventfd"] {
        let mut refused = 0;
        for files in 4..16 {
            let what = format!("{mechanism} with {files} open files");
            let launcher = Launcher::new(limited(folder.path(), files));
            match conclude(launcher.start(&connecting(mechanism), 0).expect("it starts")) {
                ending if ending.record.outcome == Outcome::Ok => continue,
                ending => match ending.record.outcome {
                    Outcome::Unavailable(why) => {
                        let limit = format!("the limit on open files is {files}");
                        assert!(why.reason.contains(&limit), "{what}: {why:?}");
                        refused += 1;
                    }
                    outcome => panic!("{what}: {outcome:?}"),
                },
            }
        }
        assert!(refused > 0, "{mechanism} was never refused");
    }
}

// ---- the first message --------------------------------------------------------------------

// Of every variant: tests/conformance.rs.

#[test]
#[ignore = "long form"]
fn other_workloads_and_controls_have_no_first_message_to_tell() {
    let _alone = alone();
    for workload in [Workload::Throughput, Workload::Connect] {
        let ending = conclude(start(&Spec { workload, ..quick("pipe", 64) }));
        assert_eq!(ending.record.outcome, Outcome::Ok);
        assert_eq!(ending.record.initiator.first_ns, None, "{}", workload.name());
    }
    // Each worker reads back its own: the responder has nothing to answer.
    let control = Variant::parse("unix-stream:wiring=self").expect("a variant");
    assert_eq!(control.traits().carries, Carries::Own);
    assert_eq!(conclude(start(&quick(&control.to_string(), 64))).record.outcome, Outcome::Ok);
}
