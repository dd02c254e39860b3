//! A trace is accurate: what it records of two workers is what their loops
//! asked of it, and nothing stays behind.
//!
//! Needs the right to load programs (root, or CAP_BPF and CAP_PERFMON); says so aloud where it is
//! missing.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use crate::cli_support::has;
use crate::common::launching::{LEAD, conclude, endless, finish, quick, reach, start};
use crate::common::proc::soon;
use crate::common::{can_trace, say};
use model::launch::{Outcome, Record, SampleCount, Warmup, Workers};
use model::trace::{Deeds, Direction, Traced};
use model::workload::Workload;
use run::launch::{Launch, Launcher, Spec, Stage};
use rustix::process::{Pid, Signal, kill_process};
use sys::bpf::program_ids;

const ROUND_TRIPS: u64 = 500;

/// A launch of a fixed number of round trips, observed by `probe`.
fn observed(mechanism: &str, probe: &str) -> Spec {
    Spec {
        observe: Some(probe.parse().expect("a probe")),
        samples: SampleCount::Exactly(ROUND_TRIPS),
        verify: false,
        ..quick(mechanism, 64)
    }
}

fn on_one_cpu(spec: Spec) -> Spec {
    Spec { initiator_cpu: Some(0), responder_cpu: Some(0), ..spec }
}

fn recorded(spec: &Spec) -> Record {
    let record = conclude(start(spec)).record;
    assert_eq!(record.outcome, Outcome::Ok, "{record:?}");
    record
}

fn traced(spec: &Spec) -> Traced {
    let traced = recorded(spec).trace.expect("it was asked to trace");
    assert_eq!(traced.lost, 0, "{traced:?}");
    traced
}

/// Calls of `name` that returned `returned`.
fn returning(deeds: &Deeds, name: &str, returned: i64) -> u64 {
    let same =
        deeds.calls.iter().filter(|call| call.name == name && call.returned == Some(returned));
    same.map(|calls| calls.count).sum()
}

#[test]
fn round_trips_over_a_pipe_are_as_many_writes_and_reads_of_a_message() {
    let Some(()) = can_trace() else { return };
    for workers in [Workers::Process, Workers::Thread] {
        for probe in ["trace", "trace-calls"] {
            let traced = traced(&Spec { workers, ..observed("pipe", probe) });
            assert_eq!(traced.initiator.operations, ROUND_TRIPS);
            let lead = traced.responder.operations - ROUND_TRIPS;
            assert!(LEAD.contains(&lead), "the responder's lead is {lead}");
            for deeds in traced.workers() {
                let trips = deeds.operations;
                for name in ["write", "read"] {
                    assert_eq!(returning(deeds, name, 64), trips, "{name}: {deeds:?}");
                    assert_eq!(deeds.calls_of(name), trips, "{name}: {deeds:?}");
                    let asked =
                        deeds.calls.iter().find(|call| call.name == name).unwrap().asked_bytes;
                    assert!(asked.is_none_or(|bytes| bytes == 64 * trips), "{deeds:?}");
                }
                let spent: u64 = deeds.calls.iter().map(|call| call.total_ns).sum();
                assert!(spent > 0 && spent <= deeds.window_ns, "{deeds:?}");
                assert!(
                    deeds.calls.len() <= 2 + 1,
                    "a free worker may ask where it runs: {deeds:?}"
                );
            }
        }
    }
}

#[test]
fn a_message_larger_than_a_pipe_comes_in_pieces_that_add_up() {
    let Some(()) = can_trace() else { return };
    const MESSAGE: u64 = 128 << 10;
    const CAPACITY: i64 = 64 << 10;
    let spec = Spec { message_bytes: MESSAGE as usize, ..observed("pipe", "trace") };
    let traced = traced(&spec);
    for deeds in traced.workers() {
        let reads: Vec<_> = deeds.calls.iter().filter(|call| call.name == "read").collect();
        assert!(reads.iter().all(|calls| calls.returned.unwrap() <= CAPACITY), "{deeds:?}");
        let bytes: i64 =
            reads.iter().map(|calls| calls.returned.unwrap() * calls.count as i64).sum();
        assert_eq!(bytes as u64, MESSAGE * deeds.operations, "{deeds:?}");
        assert!(deeds.calls_of("read") >= 2 * deeds.operations, "{deeds:?}");
    }
}

#[test]
fn on_one_cpu_every_turn_is_a_sleep_and_a_delay_or_a_wait_for_the_cpu() {
    let Some(()) = can_trace() else { return };
    for probe in ["trace", "trace-scheduler"] {
        let traced = traced(&on_one_cpu(observed("pipe", probe)));
        let slept: u64 = traced.workers().iter().map(|worker| worker.delays.count).sum();
        assert!(slept + 2 >= ROUND_TRIPS, "in each round trip one sleeps at least: {traced:?}");
        for deeds in traced.workers() {
            // A partner that takes over at its wake-up answers before this side sleeps: then this
            // side only waits for its CPU. It may be out as its window begins.
            let slept = deeds.delays.count;
            assert!(slept + deeds.waits.count + 2 >= deeds.operations, "{deeds:?}");
            assert_eq!(deeds.sleeps.count, slept);
            for spread in [&deeds.delays, &deeds.sleeps] {
                assert_eq!(spread.log2_ns.iter().sum::<u64>(), slept, "{deeds:?}");
                assert!(spread.longest_ns <= spread.total_ns, "{deeds:?}");
            }
            assert_eq!(deeds.woken.iter().map(|woken| woken.count).sum::<u64>(), slept);
            assert!(deeds.woken.iter().all(|woken| woken.to_cpu == 0), "{deeds:?}");
            let by_partner =
                deeds.woken.iter().filter(|woken| woken.by_partner && woken.from_cpu == 0);
            let by_partner: u64 = by_partner.map(|woken| woken.count).sum();
            assert!(slept == 0 || by_partner > 0, "{deeds:?}");
            let together = deeds.delays.total_ns + deeds.sleeps.total_ns + deeds.waits.total_ns;
            assert!(together > 0 && together <= deeds.window_ns, "{deeds:?}");
            assert_eq!(deeds.calls.is_empty(), probe == "trace-scheduler");
        }
    }
}

#[test]
fn what_goes_through_a_socket_is_traced_operation_by_operation() {
    let Some(()) = can_trace() else { return };
    let traced = traced(&observed("unix-stream", "trace"));
    if traced.missing.iter().any(|text| text.starts_with("sock_")) {
        return say("skipped bytes of sockets: this kernel's tracepoints don't tell them");
    }
    for deeds in traced.workers() {
        for direction in [Direction::Sent, Direction::Received] {
            let moved =
                deeds.socket.iter().filter(|bytes| bytes.direction == direction && bytes.bytes > 0);
            let bytes: i64 = moved.map(|bytes| bytes.bytes * bytes.count as i64).sum();
            assert_eq!(bytes as u64, 64 * deeds.operations, "{deeds:?}");
        }
    }
}

#[test]
fn a_transfer_is_traced_where_it_is_received_too() {
    let Some(()) = can_trace() else { return };
    let (samples, batch) = (SampleCount::Exactly(5), 40);
    let workload = Workload::Throughput;
    let traced = traced(&Spec { workload, samples, batch, ..observed("unix-seqpacket", "trace") });
    let [sender, receiver] = traced.workers();
    assert_eq!((sender.operations, receiver.operations), (200, 200));
    let bytes = |deeds: &Deeds, way| {
        let same = deeds.socket.iter().filter(|bytes| bytes.direction == way && bytes.bytes == 64);
        same.map(|bytes| bytes.count).sum::<u64>()
    };
    assert_eq!(bytes(sender, Direction::Sent), 200);
    assert_eq!(bytes(receiver, Direction::Received), 200);
    assert_eq!((traced.events, traced.events_lost), (0, 0), "only a latency keeps events");
}

#[test]
fn a_set_up_is_the_initiators_alone() {
    let Some(()) = can_trace() else { return };
    let workload = Workload::Connect;
    let traced = traced(&Spec { workload, ..observed("unix-stream:bind=none", "trace") });
    let [initiator, responder] = traced.workers();
    assert_eq!(initiator.calls_of("socketpair"), ROUND_TRIPS, "{initiator:?}");
    assert_eq!(returning(initiator, "close", 0), 2 * ROUND_TRIPS, "{initiator:?}");
    assert_eq!(*responder, Deeds::default());
}

#[test]
fn what_takes_no_system_call_has_only_its_marks() {
    let Some(()) = can_trace() else { return };
    let traced = traced(&observed("noop", "trace-calls"));
    for deeds in traced.workers() {
        let own =
            Deeds { operations: deeds.operations, window_ns: deeds.window_ns, ..Deeds::default() };
        assert_eq!(*deeds, own);
        // Nobody waits for the responder of nothing: the last word may find it late.
        assert_eq!(deeds.window_ns > 0, deeds.operations > 0, "{deeds:?}");
    }
    assert_eq!(traced.initiator.operations, ROUND_TRIPS);
}

#[test]
fn twice_the_programs_fire_twice_as_often_and_hear_the_same() {
    let Some(()) = can_trace() else { return };
    let once = traced(&observed("pipe", "trace-calls"));
    let twice = traced(&observed("pipe", "trace-calls:times=2"));
    for point in ["sys_enter", "sys_exit"] {
        let (one, two) = (once.firings[point].of_workers, twice.firings[point].of_workers);
        // The initiator's are its writes and reads; of the responder's one or two fall outside of
        // the time for which firings are counted.
        assert!(one.abs_diff(4 * ROUND_TRIPS) <= 12, "{once:?}");
        assert!(two.abs_diff(8 * ROUND_TRIPS) <= 24, "{twice:?}");
    }
    assert_eq!(twice.initiator.calls_of("write"), once.initiator.calls_of("write"));
    assert!(!once.firings.contains_key("sched_switch"));
}

#[test]
fn empty_programs_learn_nothing() {
    let Some(()) = can_trace() else { return };
    let traced = traced(&observed("pipe", "trace:empty"));
    for deeds in traced.workers() {
        let nothing = Deeds { operations: deeds.operations, ..Deeds::default() };
        assert_eq!(*deeds, nothing);
    }
    assert_eq!((traced.events, traced.events_lost), (0, 0));
    assert!(
        traced.firings.values().all(|firing| firing.of_workers + firing.of_others == 0),
        "{traced:?}"
    );
    assert!(traced.attaching_ns > 0);
}

#[test]
fn a_launch_that_is_not_traced_carries_nothing() {
    for observe in [None, Some("software".parse().expect("a probe"))] {
        let record = conclude(start(&Spec { observe, ..observed("pipe", "trace") })).record;
        assert_eq!(record.trace, None);
        assert!(record.initiator.marked.is_none() && record.responder.marked.is_none());
        let text = serde_json::to_string(&record).unwrap();
        assert!(!text.contains("\"trace\"") && !text.contains("\"marked\""), "{text}");
    }
}

#[test]
fn events_that_find_no_room_are_counted() {
    let Some(()) = can_trace() else { return };
    // The responder's warm-up is traced too, and discarded: it takes no room.
    let warmup = Warmup { operations: 10_000, ns: 1_000_000_000 };
    let few = traced(&Spec { warmup, ..observed("pipe", "trace") });
    assert!(few.events > 8 * ROUND_TRIPS && few.events_lost == 0, "{few:?}");
    let samples = SampleCount::Exactly(40_000);
    let many = traced(&on_one_cpu(Spec { samples, ..observed("pipe", "trace") }));
    assert_eq!(many.events, 1 << 18);
    assert!(many.events_lost > 0, "{many:?}");
    assert_eq!(many.initiator.calls_of("read"), 40_000, "sums go on");
}

#[test]
fn both_clocks_are_recorded_at_both_ends_of_the_timed_part() {
    let Some(()) = can_trace() else { return };
    let spec = observed("pipe", "trace");
    let record = recorded(&spec);
    let traced = record.trace.expect("a trace");
    for (report, deeds) in
        [(&record.initiator, &traced.initiator), (&record.responder, &traced.responder)]
    {
        let marked = report.marked.as_ref().expect("its marks");
        assert_eq!(marked.operations, deeds.operations);
        let ns = marked.ended.monotonic_ns - marked.begun.monotonic_ns;
        let ticks = (marked.ended.ticks - marked.begun.ticks) as f64 * spec.ns_per_tick;
        assert!(ns <= deeds.window_ns, "within the marks: {ns} ns, {deeds:?}");
        assert!((ticks / ns as f64 - 1.0).abs() < 0.05, "{ticks} and {ns} ns are the same time");
    }
}

/// The number behind `field` of each descriptor of `pid` that has it, as /proc tells.
fn open_in(pid: i32, field: &str) -> BTreeSet<u32> {
    let folder = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).expect("it lives").flatten();
    let texts = folder.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let number =
        |text: String| text.lines().find_map(|line| line.strip_prefix(field)?.trim().parse().ok());
    texts.filter_map(number).collect()
}

const PROGRAM: &str = "prog_id:";
const LINK: &str = "link_id:";

#[test]
fn programs_are_attached_only_while_their_launch_is_timed() {
    let Some(()) = can_trace() else { return };
    let mut launch = start(&Spec { deadline_ms: 60_000, ..observed("pipe", "trace") });
    let supervisor = launch.pid() as i32;
    reach(&mut launch, Stage::Ready);
    assert_eq!(open_in(supervisor, PROGRAM).len(), 10, "loaded");
    assert_eq!(open_in(supervisor, LINK).len(), 0, "and hear nothing: others may be timed now");
    launch.go();
    reach(&mut launch, Stage::Timed);
    assert_eq!(open_in(supervisor, LINK).len(), 0, "nor afterwards");
    launch.end();
    let record = launch.collect(crate::common::launching::interrupt()).record;
    assert_eq!(record.trace.expect("a trace").initiator.calls_of("read"), ROUND_TRIPS);
}

#[test]
fn nothing_stays_attached_when_a_supervisor_is_killed_in_mid_launch() {
    let Some(()) = can_trace() else { return };
    for workers in [Workers::Process, Workers::Thread] {
        let observe = Some("trace:times=2".parse().expect("a probe"));
        let mut launch = start(&Spec { observe, ..endless("pipe", workers) });
        reach(&mut launch, Stage::Ready);
        let supervisor = launch.pid() as i32;
        let programs = open_in(supervisor, PROGRAM);
        assert_eq!(programs.len(), 2 * 10, "each program twice");
        for child in crate::common::proc::children(supervisor) {
            assert!(open_in(child, PROGRAM).is_empty(), "no worker holds a program");
        }
        launch.go();
        let attached = || open_in(supervisor, LINK).len() >= programs.len();
        assert!(soon(Duration::from_secs(10), attached), "it is in mid-launch");
        let loaded: BTreeSet<u32> = program_ids().expect("root may ask").into_iter().collect();
        assert!(programs.is_subset(&loaded), "{programs:?} in {loaded:?}");

        let pid = Pid::from_raw(supervisor).expect("a process id");
        kill_process(pid, Signal::KILL).expect("it lives");
        let record = finish(launch).record;
        assert!(matches!(record.outcome, Outcome::Failed { .. }), "{record:?}");
        let gone = || program_ids().expect("root may ask").iter().all(|id| !programs.contains(id));
        assert!(soon(Duration::from_secs(10), gone), "programs outlive their launch");
    }
}

/// Starts a launch of a program that gives up the right to trace first.
fn start_without_privileges(spec: &Spec) -> Launch {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("ipcmark");
    let program = env!("CARGO_BIN_EXE_ipcmark");
    let text = format!("#!/bin/sh\nexec setpriv {} {program} \"$@\"\n", WITHOUT.join(" "));
    std::fs::write(&script, text).expect("a script");
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).expect("a program");
    let mut started = None;
    // A child that another test forks may still hold the script open for writing.
    let tried = soon(Duration::from_secs(30), || {
        started = Launcher::new(script.clone()).start(spec, 0).ok();
        started.is_some()
    });
    assert!(tried, "setpriv starts");
    let mut launch = started.expect("a launch");
    // The shell reads its script to the end before the folder goes.
    reach(&mut launch, Stage::Ready);
    launch
}

const WITHOUT: [&str; 1] = ["--bounding-set=-bpf,-perfmon,-sys_admin"];

#[test]
fn without_the_privilege_a_launch_says_what_is_missing_and_the_remedy() {
    let works = Command::new("setpriv").args(WITHOUT).arg("true").output();
    let may = can_trace().is_some();
    if may && !works.is_ok_and(|output| output.status.success()) {
        return say("skipped a trace without privileges: setpriv can't give them up here");
    }
    let spec = observed("pipe", "trace");
    let launch = if may { start_without_privileges(&spec) } else { start(&spec) };
    let Outcome::Failed { reason } = conclude(launch).record.outcome else { panic!("it can't") };
    has(&reason, &["CAP_BPF and CAP_PERFMON", "root"]);
}
