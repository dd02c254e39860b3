//! Launches of several initiators and one responder, which serves them in turn: here of three, by processes
//! and threads. Every message is checked, with a pattern of each pair's own.

use std::collections::BTreeSet;

use crate::cli_support::{has, send};
use crate::common::launching::{conclude, endless, finish, quick, reach, start};
use crate::common::proc::children;
use model::launch::{Outcome, SampleCount, Workers};
use model::probe::Probe;
use model::workload::Workload;
use run::launch::{Spec, Stage};
use rustix::process::Signal;

const SAMPLES: u64 = 20;

/// Three initiators, free.
fn three(spec: Spec) -> Spec {
    Spec { others: vec![None, None], ..spec }
}

/// Why a launch has no result.
fn reason(outcome: Outcome) -> String {
    match outcome {
        Outcome::Failed { reason } => reason,
        outcome => panic!("{outcome:?}"),
    }
}

#[test]
fn one_responder_serves_three_initiators_and_each_has_its_own_samples() {
    for mechanism in ["unix-stream", "pipe", "shm-ring:wait=futex"] {
        for workers in [Workers::Process, Workers::Thread] {
            let what = format!("{mechanism}, {}", workers.name());
            let result =
                conclude(start(&three(Spec { workers, batch: 2, ..quick(mechanism, 64) })));
            let record = &result.record;
            assert_eq!(record.outcome, Outcome::Ok, "{what}");
            assert_eq!(record.others.len(), 2, "{what}");
            for report in record.initiators() {
                assert_eq!((report.samples, report.batch), (SAMPLES, 2), "{what}");
            }
            assert_eq!(result.samples.len() as u64, 3 * SAMPLES, "{what}");
            assert!(result.samples.iter().all(|ticks| *ticks > 0), "{what}: {:?}", result.samples);
            // What a launch finds out once, the first initiator does.
            assert!(record.initiator.first_ns.is_some(), "{what}");
            assert!(record.others.iter().all(|report| report.first_ns.is_none()), "{what}");
        }
    }
}

#[test]
fn a_pilot_of_three_takes_as_many_samples_of_each() {
    let samples = SampleCount::Lasting(2_000_000);
    let result = conclude(start(&three(Spec { samples, batch: 0, ..quick("pipe", 64) })));
    assert_eq!(result.record.outcome, Outcome::Ok);
    let counts: BTreeSet<u64> =
        result.record.initiators().map(|initiator| initiator.samples).collect();
    assert_eq!(counts.len(), 1, "{counts:?}");
    assert_eq!(result.samples.len() as u64, result.record.reported_samples());
}

#[test]
fn the_death_of_any_worker_ends_a_launch_of_three_and_is_reported_by_name() {
    for (nth, name) in
        ["initiator (", "initiator 2 (", "initiator 3 (", "responder ("].iter().enumerate()
    {
        let mut launch = start(&three(endless("unix-stream", Workers::Process)));
        reach(&mut launch, Stage::Ready);
        let mut workers = children(launch.pid() as i32);
        workers.sort_unstable();
        assert_eq!(workers.len(), 4);
        launch.go();
        assert!(send(workers[nth], Signal::KILL), "it lives");
        has(&reason(finish(launch).record.outcome), &[name, "killed by signal 9"]);
    }
}

#[test]
fn what_serves_one_initiator_refuses_three_in_words() {
    let refusal = |spec: Spec| reason(conclude(start(&three(spec))).record.outcome);
    let one = Spec { workload: Workload::Throughput, ..quick("pipe", 64) };
    assert!(refusal(one).contains("throughput: its responder serves one initiator"));
    let observed = Some("software".parse::<Probe>().expect("a probe"));
    assert!(refusal(Spec { observe: observed, ..quick("pipe", 64) }).contains("--observe"));
}
