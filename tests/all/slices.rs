//! Launches that take turns: whatever the mechanism, every message of every slice arrives; who fails between turns is
//! named; and the store says which launches took turns with each other.

use std::time::Duration;

use crate::cli_support::{Bench, number, send};
use crate::common::launching::{finish, interrupt, quick, reach, start};
use crate::common::proc::{Process, children, soon};
use mechanisms::Variant;
use model::launch::{Outcome, SampleCount, Workers};
use model::workload::Workload;
use run::launch::{Launch, LaunchResult, Spec, Stage};
use rustix::process::Signal;
use serde_json::Value;

/// Begins a launch and gives it so many turns.
fn with_turns(spec: &Spec, turns: u64) -> Launch {
    let mut launch = start(spec);
    reach(&mut launch, Stage::Ready);
    launch.go();
    for nth in 1..=turns {
        reach(&mut launch, Stage::Paused(nth));
        launch.turn();
    }
    launch
}

fn in_turns(spec: &Spec) -> LaunchResult {
    let mut launch = with_turns(spec, spec.turns());
    reach(&mut launch, Stage::Timed);
    launch.end();
    launch.collect(interrupt())
}

fn lives(pid: i32) -> bool {
    Process::living(pid).is_some()
}

#[test]
fn every_mechanism_moves_what_it_should_slice_by_slice() {
    for variant in Variant::shown() {
        let name = variant.to_string();
        for workers in [Workers::Process, Workers::Thread] {
            for (workload, samples, batch) in
                [(Workload::Latency, 20, 1), (Workload::Throughput, 6, 50)]
            {
                let spec = Spec {
                    workload,
                    workers,
                    cycles: 4,
                    samples: SampleCount::Exactly(samples),
                    batch,
                    ..quick(&name, 64)
                };
                let LaunchResult { record, samples: taken } = in_turns(&spec);
                let what = format!("{name}, {}, {}", workload.name(), workers.name());
                match &record.outcome {
                    Outcome::Ok => {}
                    Outcome::NotApplicable { .. } | Outcome::Unavailable(_) => continue,
                    other => panic!("{what}: {other:?}"),
                }
                assert_eq!(taken.len() as u64, samples, "{what}");
                let turns = record.initiator.turns.expect("it took turns");
                assert_eq!((turns.cycles, turns.call_ns.len()), (4, 5), "{what}");
                assert!(turns.call_ns.iter().all(|value| *value > 0.0), "{what}: {turns:?}");
                assert_eq!(record.responder.lost, 0, "{what}");
            }
        }
    }
}

#[test]
fn a_worker_that_dies_between_turns_is_named() {
    for victim in [0, 1] {
        let spec = Spec { cycles: 4, ..quick("pipe", 64) };
        let mut launch = with_turns(&spec, 2);
        reach(&mut launch, Stage::Paused(3));
        let worker = children(launch.pid() as i32)[victim];
        assert!(send(worker, Signal::KILL), "it lives");
        assert!(soon(Duration::from_secs(5), || !lives(worker)));
        launch.turn();
        let Outcome::Failed { reason } = finish(launch).record.outcome else {
            panic!("it worked without one");
        };
        let role = ["initiator", "responder"][victim];
        assert_eq!(reason, format!("{role} (process {worker}) was killed by signal 9"));
    }
}

#[test]
fn an_owner_that_leaves_between_turns_takes_all_of_it_along() {
    let launch = with_turns(&Spec { cycles: 4, ..quick("futex", 64) }, 2);
    let workers = children(launch.pid() as i32);
    assert_eq!(workers.len(), 2);
    drop(launch);
    let gone = || workers.iter().all(|worker| !lives(*worker));
    assert!(soon(Duration::from_secs(5), gone), "{workers:?}");
}

#[test]
fn a_run_keeps_which_launches_took_turns_and_what_cannot_is_timed_whole() {
    let bench = Bench::new();
    bench.must(
        "run pipe fifo -w latency,connect -s 64 -p same-cpu --launches 2 --samples 100 --no-wait",
    );
    let db = bench.open();
    let mut records = db
        .prepare(
            "SELECT levels ->> 'workload', record FROM launches, cases ON cases.id = case_id WHERE round > 0",
        )
        .expect("launches");
    let rows = records.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    let rows: Vec<(String, String)> = rows.map(|row| row.expect("a launch")).collect();
    assert!(rows.len() >= 8, "{rows:?}");
    for (workload, record) in rows {
        let record: Value = serde_json::from_str(&record).expect("a record");
        let turns = &record["initiator"]["turns"];
        if workload == "latency" {
            assert_eq!((turns["cycles"].as_u64(), turns["set"].as_u64()), (Some(20), Some(0)));
        } else {
            assert!(turns.is_null(), "{workload}: {turns}");
        }
    }
    // Whoever asks for it has each timed whole.
    bench.must("run pipe fifo --cycles 0 -w latency -s 64 -p same-cpu --launches 1 --samples 100 --no-wait");
    let sql = "SELECT count(*) FROM launches, cases ON cases.id = case_id
               WHERE run = 2 AND json_extract(record, '$.initiator.turns') IS NOT NULL";
    assert_eq!(number(&bench.open(), sql), 0);
}
