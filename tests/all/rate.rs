//! The workload `rate`: an open loop by processes and threads, on one CPU and freely, here and to
//! another host; what it says of a schedule that can't be kept; what it refuses. The schedule's own
//! arithmetic is proved beside it, in crates/mechanisms/src/workload/rate.

use crate::cli_support::{
    Bench, flat, has, list, must_fit_the_schema, number, of, parse, results, rows, say,
};
use serde_json::Value;

/// What must hold of every measured case, however slow the machine is.
fn assert_kept(case: &Value, asked: u64, launches: u64, samples: u64) {
    assert_eq!(case["status"], "ok", "{case:#}");
    assert_eq!(case["samples"], launches * samples, "{case:#}");
    assert_eq!(case["batch"], 1);
    let rate = &case["rate"];
    assert_eq!(case["load"]["per_second"], asked);
    assert!(case["metric"]["name"] == "response" && case["bound"].is_null());
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("a number: {case:#}"));
    assert!((0.0..=1.0).contains(&number(&rate["late_share"])));
    let on_time = number(&rate["on_time_share"]);
    assert_eq!(rate["void"], on_time < 0.99, "{case:#}");
    let least = if case["placement"] == "same-cpu" { 200e3 } else { 10e3 };
    let tolerance = number(&rate["tolerance_ns"]);
    let expected = f64::max(least, 1e7 / asked as f64);
    // Or 200 µs where one CPU is all there is; in whole ticks.
    assert!((tolerance - expected).abs() < 2.0 || tolerance.round() == 200e3, "{case:#}");
    assert!(number(&rate["lateness_median_ns"]) <= number(&rate["lateness_max_ns"]));
    // Nobody is served before a message is due.
    assert!((0.0..=1.0).contains(&number(&rate["served_share"])), "{case:#}");
    assert!(number(&rate["served_per_sec"]) > 0.0, "{case:#}");
    assert!(number(&case["largest_ns"]) >= number(&case["value"]["max"]), "{case:#}");
    let late = number(&rate["lateness_median_ns"]);
    assert!(number(&case["value"]["max"]) >= late, "lateness is in the response: {case:#}");
}

#[test]
#[ignore = "long form"]
fn processes_and_threads_keep_a_schedule_here() {
    let bench = Bench::new();
    bench.must(
        "run pipe eventfd tcp -w rate --rate 2k -s 64 -p same-cpu,free --workers both --launches 6 \
         --samples 20 --seed 5",
    );
    let document = bench.export();
    must_fit_the_schema(&document);
    for workers in ["process", "thread"] {
        for (variant, bytes) in [("pipe", Some(64)), ("eventfd", None), ("tcp", Some(64))] {
            for placement in ["same-cpu", "free"] {
                let case = of(&document, variant, workers, placement);
                assert_kept(case, 2_000, 6, 20);
                assert_eq!(case["message_bytes"].as_u64(), bytes);
            }
        }
    }
    let db = bench.open();
    let others = "SELECT count(*) FROM cases WHERE levels ->> '$.load.per_second' IS NOT 2000";
    assert_eq!(number(&db, others), 0);
    let query = "SELECT count(*) FROM launches
                WHERE json_extract(record, '$.initiator.punctuality.median_ns') IS NULL";
    assert_eq!(number(&db, query), 0);
}

#[test]
fn several_messages_are_under_way_where_a_mechanism_can_and_answers_are_of_their_own_message() {
    let bench = Bench::new();
    // All are due nearly at once: the pipeline fills, whatever the machine does meanwhile.
    bench.must(
        "run pipe unix-stream tcp shm-ring:wait=futex eventfd posix-queue -w rate --rate 10M --depth 1,8 -s 64 \
         -p free --launches 3 --samples 200 --verify",
    );
    let document = bench.export();
    must_fit_the_schema(&document);
    let results = results(&document);
    let at = |variant: &str, depth: u64| {
        let is = |value: &&Value| value["variant"] == variant && value["load"]["depth"] == depth;
        results.iter().find(is).unwrap_or_else(|| panic!("no {variant} at {depth}"))
    };
    for variant in ["pipe", "unix-stream", "tcp", "shm-ring:wait=futex", "eventfd"] {
        for depth in [1, 8] {
            let case = at(variant, depth);
            assert!(case["status"] == "ok" && case["samples"] == 600, "{case:#}");
            let deepest = case["rate"]["deepest"].as_f64().expect("a depth");
            assert!(deepest >= 1.0 && deepest <= depth as f64, "{case:#}");
        }
        assert_eq!(at(variant, 8)["rate"]["deepest"], 8.0);
    }
    assert_eq!(at("posix-queue", 1)["status"], "ok");
    assert_eq!(at("posix-queue", 8)["status"], "not_applicable");
    let mixed = "SELECT count(*) FROM (SELECT 1 FROM cases GROUP BY group_nth HAVING count(DISTINCT levels ->> 'load') > 1)";
    assert_eq!(number(&bench.open(), mixed), 0, "those at one load are compared");
}

#[test]
fn a_rate_that_cannot_be_served_is_said_to_be_overloaded() {
    let bench = Bench::new();
    // 100 ns a message: no pipe switches twice in that.
    bench.must("run pipe -w rate --rate 10M -s 64 -p same-cpu --launches 3 --samples 400");
    let document = bench.export();
    must_fit_the_schema(&document);
    let case = of(&document, "pipe", "process", "same-cpu");
    assert_kept(case, 10_000_000, 3, 400);
    assert_eq!(case["rate"]["overloaded"], true);
    let report = bench.must("report last");
    has(&flat(&report.out), &["pipe can't serve 10.0 M/s here ("]);
}

#[test]
#[ignore = "long form"]
fn what_is_overloaded_is_ranked_nowhere() {
    let bench = Bench::new();
    // Nobody switches twice in 100 ns; `noop` does nothing, and is a control.
    for _ in 0..2 {
        bench.must("run pipe tcp -w rate --rate 10M -s 64 -p same-cpu --launches 6 --samples 400");
    }
    let document = bench.export();
    must_fit_the_schema(&document);
    for group in list(&document["comparisons"]) {
        assert_eq!(group["standings"], Value::Array(Vec::new()), "{group:#}");
    }
    for form in ["report last -v", "report last", "report last --format markdown"] {
        let said = bench.must(form).out;
        // A busy machine may hold the sender itself up.
        let words = flat(&said);
        let marked = ["serve 10.0 M/s here", "the load generator was late", "At 10.0 M/s"];
        assert!(marked.iter().any(|text| words.contains(text)), "{form}: {said}");
        for word in ["✓ ", "smallest median", "busy-wait"] {
            let at = said.find(word).map(|at| said[at..].chars().take(200).collect::<String>());
            assert!(at.is_none(), "{form}: {at:?}");
        }
    }
    assert!(bench.page_of("last").contains("Not ranked: pipe"));
    let found = parse(&bench.run("compare 1 2 --format json").out);
    for case in list(&found["cases"]) {
        assert!(case["ratio"].is_null(), "{case:#}");
        let reason = case["reason"].as_str().expect("a reason");
        assert!(reason.starts_with("not measured in A: "), "{reason}");
        assert!(reason.ends_with(" at 10000000 messages a second"), "{reason}");
    }
}

#[test]
fn arrivals_are_poisson_unless_asked_otherwise_and_stored() {
    let bench = Bench::new();
    let line = "run pipe -w rate --rate 2k -s 64 -p same-cpu --launches 3 --samples 20 -q";
    bench.must(line);
    bench.must(&format!("{line} --arrivals constant"));
    let stored = rows(&bench.open(), "SELECT json_extract(request, '$.arrivals') FROM runs");
    assert_eq!(stored, ["poisson", "constant"]);
    let document = bench.export();
    assert_eq!(of(&document, "pipe", "process", "same-cpu")["rate"]["arrivals"], "constant");
    let found = bench.run("compare 1 2 --format json").out;
    assert!(found.contains("no case of B"), "they are not the same case: {found}");
    // The schedule's length is the same each time where it is constant, and drawn where it is not.
    let due = |run: u8| {
        let spans = rows(
            &bench.open(),
            &format!(
                "SELECT DISTINCT round(json_extract(record, '$.initiator.punctuality.due_per_sec'), 1)
                 FROM launches JOIN cases ON cases.id = case_id
                 WHERE run = {run} AND round > 0 AND levels ->> 'twin' = 0"
            ),
        );
        spans.len()
    };
    assert_eq!((due(1), due(2)), (3, 1));
}

#[test]
#[ignore = "long form"]
fn unbatched_round_trips_of_a_spinning_mechanism_have_a_tail() {
    let bench = Bench::new();
    let line = "run shm-ring:wait=spin -w latency -s 64 -p free --launches 6 --samples 400 -q";
    bench.must(line);
    bench.must(&format!("{line} --unbatched"));
    let batches =
        rows(&bench.open(), "SELECT batch FROM cases WHERE levels ->> 'twin' = 0 ORDER BY run");
    assert_eq!(batches.last().map(String::as_str), Some("1"), "{batches:?}");
    let document = bench.export();
    must_fit_the_schema(&document);
    let case = of(&document, "shm-ring:wait=spin", "process", "free");
    assert!(case["largest_ns"].as_f64() >= case["value"]["max"].as_f64(), "{case:#}");
    assert!(case["clock_share"].as_f64().is_some());
    let said = bench.must("report last -v").out;
    assert!(said.contains("p99") && said.contains("max"), "{said}");
    assert!(!said.contains(" batched "), "{said}");
    if case["clock_limited"] == true {
        assert!(said.contains("clock"), "{said}");
    } else {
        say("skipped that the clock is marked: round trips are long enough for it here");
    }
}

#[test]
fn a_pilot_bounds_the_time_of_a_launch() {
    let bench = Bench::new();
    bench.must("run pipe -w rate --rate 50 -s 64 -p same-cpu --launches 1 -q");
    let samples =
        rows(&bench.open(), "SELECT samples_per_launch FROM cases WHERE levels ->> 'twin' = 0");
    assert_eq!(samples, ["10"], "200 ms at 50 a second");
}

#[test]
fn a_schedule_is_kept_to_another_host() {
    let bench = Bench::new();
    bench.must("run tcp udp -w rate --rate 500 -s 64 --launches 3 --samples 20 --peer env -q");
    let document = bench.export();
    must_fit_the_schema(&document);
    for variant in ["tcp", "udp"] {
        let case = of(&document, variant, "process", "free");
        assert_eq!(case["route"], "peer");
        assert_kept(case, 500, 3, 20);
    }
}
