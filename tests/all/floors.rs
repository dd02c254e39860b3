//! `ipcmark floor`, and the floors of a run: every part is there or says why not, a process
//! that measures them may die or hang, and nothing remains. Never how fast anything is.

use std::time::Duration;

use crate::cli_support::{
    Bench, Running, Said, has, list, must_fit, number, output, results, say, send, wait_for,
};
use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

const PARTS: [&str; 5] = ["clocks", "calls", "line", "wake_up", "copy"];
const SHORT: &str = "run pipe noop -w latency -s 64 -p same-cpu --launches 1 --samples 50";
/// Against hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// Beyond the 10 s after which a run takes the process for hung.
const HUNG: Duration = Duration::from_secs(90);

fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).expect("the affinity of this process");
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

/// The floors of `ipcmark floor --format json`.
fn floors(said: &Said) -> Value {
    assert_eq!(said.code, Some(0), "{}{}", said.out, said.err);
    let document: Value = serde_json::from_str(&said.out).expect("nothing but JSON");
    assert_eq!(document["schema_version"], 1);
    document["floors"].clone()
}

/// Every summary of repeats in `value`, wherever it is.
fn repeats(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) if fields.contains_key("n") => vec![value],
        Value::Object(fields) => fields.values().flat_map(repeats).collect(),
        Value::Array(items) => items.iter().flat_map(repeats).collect(),
        _ => Vec::new(),
    }
}

#[test]
#[ignore = "long form"]
fn every_part_is_there_with_its_spread() {
    let bench = Bench::thorough();
    let floors = floors(&bench.must("floor --format json"));
    must_fit("#/$defs/Floors", &floors);
    assert_eq!(floors["extent"], "full");
    for part in PARTS {
        let found = &floors[part]["measured"];
        let why = floors[part]["unavailable"]["reason"].as_str();
        assert!(
            found.is_object() != why.is_some_and(|text| !text.is_empty()),
            "{part}: {floors:#}"
        );
    }
    let all = repeats(&floors);
    assert!(all.len() > 15, "{floors:#}");
    for one in all {
        let n = one["n"].as_u64().unwrap();
        let [low, median, high] = ["low", "median", "high"].map(|text| one[text].as_f64());
        assert!(n >= 6, "{one}");
        assert!(median.is_some() != one["modes"].is_object(), "{one}");
        assert!(low <= median && median <= high, "{one}");
    }
    let clocks = &floors["clocks"]["measured"];
    assert!(clocks["compared_over_ns"].as_u64() >= Some(1_000_000_000), "a second: {clocks:#}");
    let calls = list(&floors["calls"]["measured"]["calls"]);
    let bare = calls.iter().filter(|call| call["by"] == "syscall(2)").count();
    assert_eq!((bare, calls.len()), (4, 6));
    let levels = list(&floors["copy"]["measured"]["levels"]);
    let names: Vec<&Value> = levels.iter().map(|level| &level["level"]).collect();
    assert_eq!(names, ["L1", "L2", "L3", "memory"]);
    assert!(!bench.store().exists(), "floors alone are stored nowhere");
}

#[test]
#[ignore = "long form"]
fn every_pair_of_a_small_machine_is_measured() {
    let cpus = allowed().len();
    if !(2..=16).contains(&cpus) {
        say(&format!("skipped: {cpus} CPUs are allowed, not 2 to 16"));
        return;
    }
    let floors = floors(&Bench::thorough().must("floor --format json -q"));
    let lines = &floors["line"]["measured"];
    let pairs = list(&lines["pairs"]);
    assert_eq!(pairs.len(), cpus * (cpus - 1) / 2);
    assert_eq!(lines["pairs_in_all"], pairs.len());
    assert!(pairs.iter().all(|pair| pair["cpus"][0].as_u64() < pair["cpus"][1].as_u64()));
    let wake_ups = list(&floors["wake_up"]["measured"]["wake_ups"]);
    let relations: Vec<&Value> = wake_ups.iter().map(|wake_up| &wake_up["relation"]).collect();
    assert_eq!(relations, ["same-cpu", "smt-sibling", "same-llc", "cross-llc", "cross-node"]);
    let across = wake_ups[1..].iter().filter(|wake_up| wake_up["found"]["measured"].is_object());
    assert!(across.count() >= 1, "{wake_ups:#?}");
}

/// Runs the program where it may use only the first of this process's CPUs.
fn on_one_cpu(bench: &Bench, line: &str) -> Said {
    let first = allowed()[0];
    let mut command = bench.line(line);
    // The affinity of this thread alone, which its children inherit.
    let before = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set(first);
    sched_setaffinity(None, &one).unwrap();
    let said = output(&mut command);
    sched_setaffinity(None, &before).unwrap();
    said
}

#[test]
#[ignore = "long form"]
fn on_one_cpu_pairs_are_absent_with_the_reason() {
    let bench = Bench::thorough();
    let floors = floors(&on_one_cpu(&bench, "floor --format json"));
    must_fit("#/$defs/Floors", &floors);
    has(floors["line"]["unavailable"]["reason"].as_str().unwrap(), &["only one CPU"]);
    let wake_ups = list(&floors["wake_up"]["measured"]["wake_ups"]);
    assert!(wake_ups[0]["found"]["measured"].is_object(), "{wake_ups:#?}");
    for wake_up in &wake_ups[1..] {
        has(wake_up["found"]["unavailable"]["reason"].as_str().unwrap(), &["only one CPU"]);
    }
    has(&on_one_cpu(&bench, "floor -q").out, &["Not measured: only one CPU"]);
}

#[test]
fn the_hidden_process_is_not_for_people() {
    let bench = Bench::thorough();
    bench.run("floor-worker").fails(2, &["`ipcmark floor` starts it"]);
    assert!(!bench.must("--help").out.contains("floor-worker"));
}

/// Starts the program and waits for its floor process; gives both.
fn begun(bench: &Bench, line: &str) -> (Running, i32) {
    let running = bench.start(line);
    let worker = wait_for("the floor process", PATIENCE, || {
        bench.processes().into_iter().find(|(pid, _)| is_worker(*pid)).map(|(pid, _)| pid)
    });
    assert_ne!(worker, running.pid());
    (running, worker)
}

fn is_worker(pid: i32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(b"floor-worker".as_slice())
}

#[test]
fn a_floor_process_that_is_killed_keeps_what_it_reported() {
    let bench = Bench::thorough();
    let (running, worker) = begun(&bench, "floor --format json");
    // A partner is there from the cache line on: clocks and calls have been reported by then.
    wait_for("a second thread", PATIENCE, || {
        let threads = std::fs::read_dir(format!("/proc/{worker}/task")).ok()?.count();
        (threads > 1).then_some(())
    });
    assert!(send(worker, Signal::KILL));
    let floors = floors(&running.finish(PATIENCE));
    must_fit("#/$defs/Floors", &floors);
    assert!(floors["clocks"]["measured"].is_object(), "{floors:#}");
    assert!(floors["calls"]["measured"].is_object(), "{floors:#}");
    has(floors["copy"]["unavailable"]["reason"].as_str().unwrap(), &["killed by signal 9"]);
    assert!(bench.processes().is_empty());
}

#[test]
fn signals_end_it_and_nothing_remains() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let bench = Bench::thorough();
        let (running, worker) = begun(&bench, "floor");
        // Stopped, it would be waited for until its deadline, half a minute later.
        assert!(send(worker, Signal::STOP));
        std::thread::sleep(Duration::from_millis(100)); // the owner waits for a word by then
        running.signal(signal);
        assert_eq!(running.finish(Duration::from_secs(15)).ends(code).out, "");
        assert!(bench.processes().is_empty(), "{:?}", bench.processes());
    }
    let bench = Bench::thorough();
    let (running, _) = begun(&bench, "floor");
    running.signal(Signal::KILL);
    running.finish(PATIENCE);
    bench.wait_for_silence(PATIENCE);
}

#[test]
#[ignore = "long form"]
fn a_run_keeps_its_floors_and_shows_them_beside_each_result() {
    let bench = Bench::thorough();
    let line = format!("{SHORT} -w throughput --total 64");
    bench.must(&line.replace("--launches 1", "--launches 7"));
    let document = bench.export();
    must_fit("#/$defs/Floors", &document["floors"]);
    assert_eq!(document["floors"]["extent"], "quick");
    assert_eq!(number(&bench.open(), "SELECT count(*) FROM runs WHERE floors <> '{}'"), 1);
    for case in results(&document) {
        let bound = &case["bound"];
        let name = bound["name"].as_str();
        if name.is_some() {
            let [low, value, high] = ["low", "value", "high"].map(|text| bound[text].as_f64());
            assert!(bound["rounds"].as_u64() >= Some(6), "in each of the first rounds: {case:#}");
            assert!(low.is_some() && low <= value && value <= high, "{case:#}");
            assert!(bound["coverage"].as_f64() >= Some(0.95), "{case:#}");
        }
        match (case["variant"].as_str(), case["workload"].as_str()) {
            (Some("pipe"), Some("latency")) => {
                assert_eq!(name, Some("futex wake-up round trip, one CPU"));
                assert_eq!(bound["kind"], "yardstick");
                let ends = ["ratio_low", "ratio", "ratio_high"].map(|text| bound[text].as_f64());
                assert!(ends[0].is_some() && ends.is_sorted(), "{case:#}");
            }
            (Some("pipe"), _) => {
                assert_eq!(name, Some("copying once, 64 B messages"));
                assert!(bound["ratio"].is_null(), "64 bytes are no matter of copying: {case:#}");
            }
            _ => assert_eq!(name, None, "{case:#}"),
        }
    }
    // One value a round, in the round's own row.
    let stored = "SELECT count(*) FROM rounds WHERE json_array_length(noise, '$.bounds') = 1";
    assert!(number(&bench.open(), stored) >= 12, "six rounds of both groups at least");
    // The table of the machine's bounds says the same as what stands beside the results.
    let wake_up = &document["floors"]["wake_up"]["measured"]["wake_ups"][0]["found"]["measured"];
    let results = results(&document);
    let beside = results.iter().find(|result| result["bound"]["kind"] == "yardstick").unwrap();
    assert_eq!(wake_up["round_trip_ns"]["n"], beside["bound"]["rounds"], "{wake_up:#}");
}

#[test]
fn a_run_survives_the_death_of_its_floor_process() {
    let bench = Bench::thorough();
    let (running, worker) = begun(&bench, SHORT);
    assert!(send(worker, Signal::KILL));
    running.finish(PATIENCE).ends(0);
    let document = bench.export();
    assert_eq!(document["status"], "complete");
    must_fit("#/$defs/Floors", &document["floors"]);
    let reason = document["floors"]["copy"]["unavailable"]["reason"].as_str().unwrap();
    assert!(reason.contains("killed by signal 9"), "{reason}");
    assert!(bench.processes().is_empty());
}

#[test]
#[ignore = "long form"]
fn a_run_survives_a_floor_process_that_hangs() {
    let bench = Bench::thorough();
    let (running, worker) = begun(&bench, SHORT);
    assert!(send(worker, Signal::STOP));
    running.finish(HUNG).ends(0);
    let document = bench.export();
    assert_eq!(document["status"], "complete");
    let case = results(&document).iter().find(|result| result["variant"] == "pipe");
    let case = case.expect("a row");
    let warnings = document["warnings"].to_string();
    assert!(case["bound"].is_object(), "another process measures in the rounds: {warnings}");
    has(document["floors"]["copy"]["unavailable"]["reason"].as_str().unwrap(), &["more than 10 s"]);
    assert!(bench.processes().is_empty());
}
