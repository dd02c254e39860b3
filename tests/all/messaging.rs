//! A crowd of 20 senders and 20 receivers, or of as many as are asked for: every message of every sender arrives at every receiver, in its order;
//! who fails is named; nobody outlives the launch; what a crowd can't share says so.

use std::time::Duration;

use crate::cli_support::{Bench, must_fit_the_schema, results, send};
use crate::common::launching::{conclude, finish, quick, reach, start};
use crate::common::proc::{Process, children, soon};
use model::launch::{Outcome, SampleCount, Workers};
use model::load::Load;
use model::workload::{Policy, Workload};
use run::launch::{Launch, Spec, Stage};
use rustix::process::Signal;

/// Senders of a crowd, and receivers.
const HALF: usize = 20;
/// Two messages of each sender to each receiver, and some pairs that have one more.
const MESSAGES: u64 = 2 * 400 + 7;

fn crowd(mechanism: &str, message_bytes: usize, workers: Workers) -> Spec {
    Spec {
        workload: Workload::Messaging,
        workers,
        samples: SampleCount::Exactly(3),
        batch: MESSAGES,
        ..quick(mechanism, message_bytes)
    }
}

#[test]
fn every_message_of_every_sender_arrives_at_every_receiver() {
    let mechanisms =
        ["pipe", "pipe:mode=packet", "fifo", "unix-stream", "unix-seqpacket", "unix-dgram"];
    let mut groups = Vec::new();
    for mechanism in mechanisms {
        for (workers, message_bytes, cpu) in [
            (Workers::Process, 100, None),
            (Workers::Process, 4096, Some(0)),
            (Workers::Thread, 100, Some(0)),
            (Workers::Thread, 1, None),
        ] {
            let what = format!("{mechanism}, {}, {message_bytes} bytes", workers.name());
            let (initiator_cpu, responder_cpu) = (cpu, cpu);
            let spec = crowd(mechanism, message_bytes, workers);
            let launch = start(&Spec { initiator_cpu, responder_cpu, ..spec });
            groups.push(launch.pid() as i32);
            let result = conclude(launch);
            assert_eq!(result.record.outcome, Outcome::Ok, "{what}");
            assert_eq!(result.samples.len(), 3, "{what}");
            assert!(result.samples.iter().all(|sample| *sample > 0), "{what}");
            let report = result.record.initiator;
            assert_eq!(report.batch, MESSAGES, "{what}");
            let [(name, ns)] = &report.parts[..] else { panic!("{what}: {:?}", report.parts) };
            assert!(name == "time_ns" && *ns > 0.0, "{what}: {:?}", report.parts);
            // The senders' use is in it: each of them sleeps until it is ordered, three times.
            assert!(report.usage.voluntary_switches >= HALF as u64, "{what}: {:?}", report.usage);
        }
    }
    let left: Vec<_> =
        Process::all().into_iter().filter(|process| groups.contains(&process.group)).collect();
    assert!(left.is_empty(), "members outlived their launch: {left:?}");
}

#[test]
fn a_crowd_has_as_many_senders_and_receivers_as_are_asked_for() {
    for half in [1, 3, 40] {
        for workers in [Workers::Process, Workers::Thread] {
            let what = format!("{half} senders, {}", workers.name());
            let batch = u64::from(2 * half * half + 1);
            let load = Some(Load::closed(half));
            let spec = Spec { load, batch, ..crowd("unix-stream", 100, workers) };
            let result = conclude(start(&spec));
            assert_eq!(result.record.outcome, Outcome::Ok, "{what}");
            assert_eq!((result.samples.len(), result.record.initiator.batch), (3, batch), "{what}");
        }
    }
    let mut launch = start(&Spec {
        load: Some(Load::closed(3)),
        batch: 400_000_000,
        ..crowd("pipe", 100, Workers::Process)
    });
    reach(&mut launch, Stage::Ready);
    launch.go();
    let supervisor = launch.pid() as i32;
    let grown =
        || children(supervisor).iter().map(|child| children(*child).len()).collect::<Vec<_>>();
    assert!(soon(Duration::from_secs(10), || grown() == [3, 3]), "{:?} members", grown());
}

#[test]
fn more_members_than_a_byte_tells_apart_are_refused() {
    let load = Some(Load::closed(256));
    match conclude(start(&Spec { load, ..crowd("pipe", 100, Workers::Thread) })).record.outcome {
        Outcome::Failed { reason } => assert!(reason.contains("at most 255"), "{reason}"),
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn a_pilot_gives_every_pair_of_a_crowd_of_any_size_as_many_messages() {
    let bench = Bench::new();
    bench.must("run pipe -w messaging --connections 3,7,20 -p free --launches 1 --verify");
    let document = bench.export();
    must_fit_the_schema(&document);
    for half in [3, 7, 20] {
        let is = |value: &&serde_json::Value| value["load"]["connections"] == half;
        let case = results(&document).iter().find(is).expect("a case");
        let batch = case["batch"].as_u64().expect("a number");
        assert!(batch > 0 && batch % (half * half) == 0, "{half}: {batch}");
    }
}

#[test]
fn payload_policies_hold_in_a_crowd_too() {
    for payload in [Policy::Untouched, Policy::Written, Policy::Read] {
        let spec = crowd("unix-stream", 100, Workers::Process);
        let result = conclude(start(&Spec { payload, verify: false, ..spec }));
        assert_eq!(result.record.outcome, Outcome::Ok, "{payload:?}");
    }
}

/// A launch whose crowd is at work for long, and its workers.
fn at_work(workers: Workers) -> (Launch, Vec<i32>) {
    let spec = Spec { batch: 400_000_000, ..crowd("pipe", 100, workers) };
    let mut launch = start(&spec);
    reach(&mut launch, Stage::Ready);
    launch.go();
    let supervisor = launch.pid() as i32;
    let grown = || children(supervisor).iter().map(|child| children(*child).len()).sum::<usize>();
    if workers == Workers::Process {
        assert!(soon(Duration::from_secs(10), || grown() == 2 * HALF), "{} members", grown());
    }
    (launch, children(supervisor))
}

#[test]
fn a_member_that_dies_ends_the_launch_and_is_named() {
    for worker in [0, 1] {
        let (launch, workers) = at_work(Workers::Process);
        let group = launch.pid() as i32;
        let member = children(workers[worker])[3];
        assert!(send(member, Signal::KILL), "it lives");
        match finish(launch).record.outcome {
            Outcome::Failed { reason } => {
                assert!(reason.contains("member 4 of 20: it ended"), "{reason}");
            }
            outcome => panic!("{outcome:?}"),
        }
        let gone = soon(Duration::from_secs(5), || Process::in_group(group).is_empty());
        assert!(gone, "left: {:?}", Process::in_group(group));
    }
}

#[test]
fn a_crowd_dies_with_its_launch() {
    for workers in [Workers::Process, Workers::Thread] {
        let (launch, _) = at_work(workers);
        let group = launch.pid() as i32;
        drop(launch);
        let gone = soon(Duration::from_secs(5), || Process::in_group(group).is_empty());
        assert!(gone, "left: {:?}", Process::in_group(group));
    }
}
