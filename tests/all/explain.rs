//! `ipcmark explain`: what it launches, what it shows, and what it refuses. That the parts are the
//! right ones is proved by planted work (`benches/explain.rs`); no time is asserted here.

use crate::cli_support::{Bench, flat, has, list, rows};
use crate::common::can_trace;
use crate::common::launching::{conclude, quick, start};
use model::launch::{Outcome, SampleCount};
use run::launch::Spec;
use run::launch::plant::Plant;
use serde_json::Value;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

#[test]
fn a_round_trip_is_taken_apart_and_written_up_again() {
    let Some(()) = can_trace() else { return };
    let bench = Bench::new();
    let line = "-q explain pipe unix-stream -s 64 -p same-cpu --launches 6 --teach";
    let said = bench.must(&format!("{line} --html page.html"));
    has(&said.out, &["Where the time goes", "What the parts are"]);
    // A line for each mechanism, with its whole behind it, and what each sign of a part is. It has bars unless the
    // parts are noise.
    for mechanism in ["pipe", "unix-stream"] {
        let bar = said.out.lines().find(|line| line.starts_with(mechanism) && line.contains('◆'));
        assert!(bar.is_some_and(|bar| bar.ends_with('s')), "{mechanism}: {}", said.out);
    }
    has(&said.out, &["█ entering and leaving calls", "◆ unobserved round trip"]);
    assert!(!said.out.contains("The parts add up"), "sentences are behind -v: {}", said.out);
    let more = bench.must("report last -v").out;
    has(
        &more,
        &[
            "Where the time goes",
            "Where the differences come from",
            "Tracing overhead",
            "What the parts are",
            "pipe, 64 B, one CPU: ",
            "Copying of pipe is not separated from the rest: 3 sizes",
        ],
    );
    for text in [&said.out, &more] {
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
    assert_eq!(bench.must("report last").out, said.out, "from the store alone");
    has(&bench.read("page.html"), &["figure-explained-same-cpu-process"]);

    let explained = &bench.export()["explanation"];
    let cases = list(&explained["cases"]);
    assert_eq!(cases.len(), 2, "{explained}");
    for case in cases {
        // Two writes and two reads of a round trip, whichever end waits.
        assert_eq!(number(&case["calls"]).round(), 4.0, "{case}");
        assert!(number(&case["firings"]) >= 8.0, "{case}");
        assert!(!case["overlaps"].as_bool().unwrap());
    }
    assert_eq!(explained["differences"].as_array().map(Vec::len), Some(1));
    let each = "SELECT ifnull(levels ->> 'observe', 'none') AS level, count(*) FROM launches
                JOIN cases ON case_id = cases.id WHERE round > 0 AND NOT levels ->> 'twin'
                GROUP BY level ORDER BY level";
    assert_eq!(rows(&bench.open(), each), ["none|12", "trace|12", "trace:times=2|12"]);
}

#[test]
#[ignore = "long form"]
fn three_sizes_tell_copying_from_the_rest() {
    let Some(()) = can_trace() else { return };
    let bench = Bench::new();
    bench.must("-q explain pipe -p same-cpu --launches 2");
    let said = bench.must("report last -v");
    assert!(!said.out.contains("is not separated from the rest"), "{}", said.out);
    let explained = &bench.export()["explanation"];
    for case in list(&explained["cases"]) {
        assert_eq!(case["copying_unknown"], Value::Null);
        let parts = list(&case["parts"]);
        assert!(parts.iter().any(|part| part["cost"] == "copying"), "{case}");
    }
    assert_eq!(bench.export()["explanation"]["cases"].as_array().map(Vec::len), Some(3));
}

#[test]
fn what_was_not_asked_to_explain_explains_nothing() {
    let bench = Bench::new();
    bench.must("-q run pipe -w latency -s 64 -p same-cpu --launches 1 --samples 10");
    assert_eq!(bench.export()["explanation"], Value::Null);
}

#[test]
#[ignore = "long form"]
fn what_was_asked_and_cannot_be_taken_apart_exits_with_5_and_nothing_else_does() {
    let Some(()) = can_trace() else { return };
    let rest = "--no-wait --launches 1 --seed 7";
    let no_siblings = !machine_has("smt-sibling");
    for (line, code, words) in [
        ("explain seqlock -s 64 -p same-cpu", 5, "seqlock: spinning on one CPU"),
        ("explain pipe posix-queue -s 64,64K -p same-cpu", 5, "posix-queue: carries at most"),
        // Of the places that it tries by itself any will do.
        ("explain pipe -s 64", 0, ""),
        ("explain noop -s 64 -p same-cpu", 2, "name a mechanism that carries messages"),
        ("explain pipe -s 64 -p smt-sibling", if no_siblings { 5 } else { 0 }, ""),
    ] {
        let said = Bench::new().run(&format!("{line} {rest}"));
        assert_eq!(said.code, Some(code), "{line}: {}{}", said.out, said.err);
        assert!(flat(&format!("{}{}", said.out, said.err)).contains(words), "{line}: {}", said.out);
    }
}

#[test]
#[ignore = "long form"]
fn where_others_disturbed_every_round_no_difference_is_firm() {
    let Some(()) = can_trace() else { return };
    let bench = Bench::new();
    let line = "explain pipe unix-stream -s 64 -p same-cpu --launches 6 --no-wait";
    bench.must(&format!("-q {line}"));
    bench.edit("UPDATE rounds SET noise = json_set(noise, '$.forks', json('true'))");
    for form in ["report last", "report last -v"] {
        let said = bench.must(form).out;
        let words = "? Other programs ran during every round: no verdict is firm.";
        assert!(flat(&said).contains(words), "{form}: no `{words}`: {said}");
        let firm = |line: &&str| ["= ", "✓", "✗"].iter().any(|sign| line.starts_with(sign));
        assert_eq!(said.lines().find(firm), None, "{form}: {said}");
    }
}

/// Whether this machine has such a pair of CPUs.
fn machine_has(placement: &str) -> bool {
    let line = format!("run pipe -w latency -s 64 -p {placement} --launches 1 --samples 10");
    Bench::new().run(&line).code == Some(0)
}

#[test]
fn planted_work_is_traced_where_it_is_done() {
    let Some(()) = can_trace() else { return };
    let launched = |plant: Option<Plant>| {
        let spec = Spec {
            plant,
            observe: Some("trace".parse().unwrap()),
            samples: SampleCount::Exactly(400),
            verify: false,
            initiator_cpu: Some(0),
            responder_cpu: Some(0),
            ..quick("pipe", 64)
        };
        let record = conclude(start(&spec)).record;
        assert_eq!(record.outcome, Outcome::Ok, "{record:?}");
        let trace = record.trace.expect("it was traced");
        let trips = trace.trips.expect("taken apart");
        let sum: f64 = trips.parts.values().map(|share| share.ns).sum();
        assert!((sum / trips.mean_ns - 1.0).abs() < 1e-6, "the parts are the whole: {trips:?}");
        trips.calls.round()
    };
    let calls = launched(None);
    assert_eq!(calls, 4.0);
    let calls = launched(Some(Plant::Call));
    assert_eq!(calls, 6.0, "one more before each of two messages");
    let calls = launched(Some(Plant::Copy));
    assert_eq!(calls, 4.0, "a copy in the program is no call");
}
