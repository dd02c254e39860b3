//! Counters tell the truth: what a launch counts is what its loops did.
//!
//! Needs tracefs and the right to count; says so aloud where either is missing.

use crate::common::launching::{LEAD, conclude, quick};
use crate::common::{can_count, say};
use model::counts::{Counts, Family};
use model::launch::{Outcome, SampleCount, WorkerReport, Workers};
use model::probe::Probe;
use model::workload::Workload;
use run::launch::Spec;

const ROUND_TRIPS: u64 = 500;

/// A launch's reports: initiator and responder.
fn counted(spec: Spec) -> [WorkerReport; 2] {
    let record = conclude(crate::common::launching::start(&spec)).record;
    assert_eq!(record.outcome, Outcome::Ok, "{record:?}");
    [record.initiator, record.responder]
}

fn observed(mechanism: &str, family: Family, workers: Workers) -> Spec {
    let samples = SampleCount::Exactly(ROUND_TRIPS);
    Spec {
        observe: Some(Probe::counters(family)),
        samples,
        workers,
        verify: false,
        ..quick(mechanism, 64)
    }
}

fn counts(report: &WorkerReport) -> &Counts {
    report.counts.as_ref().expect("it was asked to count")
}

#[test]
fn round_trips_over_a_pipe_are_as_many_writes_and_reads_in_each_worker() {
    let Some(()) = can_count(Family::Calls) else { return };
    for workers in [Workers::Process, Workers::Thread] {
        let [initiator, responder] = counted(observed("pipe", Family::Calls, workers));
        assert_eq!(counts(&initiator).operations, ROUND_TRIPS);
        let lead = counts(&responder).operations - ROUND_TRIPS;
        assert!(LEAD.contains(&lead), "the responder's lead is {lead}");
        for (who, report) in [("initiator", &initiator), ("responder", &responder)] {
            let counts = counts(report);
            let trips = counts.operations;
            assert_eq!(counts.events["write"], trips, "{who}");
            assert_eq!(counts.events["read"], trips, "{who}");
            for other in ["sendto", "recvfrom", "futex", "splice"] {
                assert_eq!(counts.events[other], 0, "{who}: {other}");
            }
            let extra = counts.events["calls"] - 2 * trips;
            assert!(extra <= 4 * 16, "{who}: {extra} calls are neither a read nor a write");
        }
    }
}

#[test]
fn a_transfer_is_counted_where_it_is_received() {
    let Some(()) = can_count(Family::Calls) else { return };
    let spec = Spec {
        workload: Workload::Throughput,
        samples: SampleCount::Exactly(5),
        batch: 40,
        ..observed("unix-seqpacket", Family::Calls, Workers::Process)
    };
    let [initiator, responder] = counted(spec);
    let (sent, taken) = (counts(&initiator), counts(&responder));
    assert_eq!((sent.operations, taken.operations), (200, 200));
    let of = |counts: &Counts, names: &[&str]| -> u64 {
        names.iter().map(|name| counts.events[*name]).sum()
    };
    // One message a call, and one acknowledgement for each of five transfers the other way.
    assert_eq!(of(sent, &["write", "sendto", "sendmsg"]), 200);
    assert_eq!(of(sent, &["read", "recvfrom", "recvmsg"]), 5);
    assert_eq!(of(taken, &["read", "recvfrom", "recvmsg"]), 200);
    assert_eq!(of(taken, &["write", "sendto", "sendmsg"]), 5);
}

#[test]
fn workers_that_take_turns_on_one_cpu_switch_every_time_and_wake_at_most_so_often() {
    let Some(()) = can_count(Family::Software) else { return };
    let spec = Spec {
        initiator_cpu: Some(0),
        responder_cpu: Some(0),
        ..observed("pipe", Family::Software, Workers::Process)
    };
    let both = counted(spec);
    let woken = |report: &WorkerReport| counts(report).events.get("wake-ups").copied();
    if let [Some(one), Some(other)] = both.each_ref().map(woken) {
        assert!(one + other > 0, "both sleep until they are woken: {both:?}");
    }
    for report in &both {
        let counts = counts(report);
        // The last message of a worker may find it awake, and the first one too.
        assert!(counts.events["context-switches"] + 2 >= counts.operations, "{counts:?}");
        // A partner that took over at its wake-up answers before this side sleeps: then no answer
        // wakes anybody. What else is woken meanwhile is the machine's.
        match counts.events.get("wake-ups") {
            Some(woken) => {
                assert!(*woken <= counts.operations + 100, "{counts:?}");
            }
            None => say("skipped: wake-ups: no tracefs is mounted"),
        }
        assert_eq!(counts.events["cpu-migrations"], 0, "{counts:?}");
    }
}

#[test]
fn without_hardware_a_launch_says_what_is_missing() {
    if can_count(Family::Core).is_some() {
        let [initiator, _] = counted(observed("pipe", Family::Core, Workers::Process));
        assert!(counts(&initiator).events["instructions:u"] > 0);
        return;
    }
    let spec = observed("pipe", Family::Core, Workers::Process);
    let record = conclude(crate::common::launching::start(&spec)).record;
    let Outcome::Failed { reason } = record.outcome else { panic!("{record:?}") };
    assert!(reason.contains("instructions"), "{reason}");
}

#[test]
#[ignore = "long form"]
fn a_launch_that_is_not_asked_counts_nothing() {
    let spec = Spec { observe: None, ..observed("pipe", Family::Calls, Workers::Process) };
    assert!(counted(spec).iter().all(|report| report.counts.is_none()));
}
