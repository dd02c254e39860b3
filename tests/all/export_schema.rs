//! docs/results.schema.json against what the program really writes, and what the schema can't
//! say: that the numbers agree with each other, with the command line and with the store.

use crate::cli_support::{Bench, Schema, flat, has, list, parse, results};
use serde_json::{Value, json};
use stats::median_ranks;

const PERCENTILES: [&str; 5] = ["p90", "p99", "p99.9", "p99.99", "p99.999"];

/// Mechanisms of every kind, with and without room for an interval, absent cases among them.
const MIXED: &str = "run pipe eventfd noop unix-dgram:buffer=16K -w latency -s 64,100K \
     -p same-cpu -p free --launches 7 --samples 200 --seed 20240229";

/// What must hold between the fields of any document.
pub fn assert_consistent(document: &Value) {
    for case in results(document) {
        let of = format!("{} {} {}", case["variant"], case["placement"], case["message_bytes"]);
        let ok = case["status"] == "ok";
        assert_eq!(case["samples"].as_u64().unwrap() > 0, ok, "{of}");
        assert_eq!(case["launches"].as_u64().unwrap() > 0, ok, "{of}");
        let medians: Vec<f64> =
            list(&case["launch_medians"]).iter().filter_map(Value::as_f64).collect();
        let middle = |values: &[f64]| stats::median_of(values.iter().copied());
        let half = medians.len() / 2;
        let halves = [middle(&medians[..half]), middle(&medians[medians.len() - half..])];
        // A mean of two may differ in its last digit from that of what was written and read.
        let same = |(a, b): (f64, f64)| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        for (half, of_medians) in halves.into_iter().enumerate() {
            let told = case["halves"][half].as_f64();
            assert!(told.zip(of_medians).map_or(told == of_medians, same), "{of}: {told:?}");
        }
        let serial = case["serial_correlation"].as_f64();
        let of_medians = stats::serial_correlation(&medians);
        assert!(serial.zip(of_medians).map_or(serial == of_medians, same), "{of}: {serial:?}");
        let cpu = &case["cpu_ns_per_operation"];
        if !cpu.is_null() {
            let part = |name: &str| cpu[name].as_f64().unwrap();
            assert!((part("user") + part("system") - part("total")).abs() < 1e-6, "{of}: {cpu}");
            rising(&["low", "total", "high"].map(|end| &cpu[end]), &of);
        }
        for other in list(&case["secondary"]) {
            assert_ordered(other, &of);
        }
        // The harness alone has no second worker that could be beside the first.
        let is_pair = case["workload"] != "connect" && case["variant"] != "noop";
        let is_pair = is_pair && case["route"] == "local";
        if ok && case["placement"] == "free" && is_pair {
            assert!(case["observed_placement"].is_object(), "{of}");
        }
        let carried = ["bytes", "own"].contains(&case["carries"].as_str().unwrap());
        assert_eq!(case["copies"].is_u64(), carried, "{of}");
        let name = case["variant"].as_str().unwrap();
        assert!(name.starts_with(case["mechanism"].as_str().unwrap()), "{of}");
        assert_ordered(&case["value"], &of);
        assert_percentiles(&case["value"], case["metric"]["better"] == "higher", &of);
    }
    assert_ranked(&document["observed"]);
    for comparison in list(&document["comparisons"]) {
        for standing in list(&comparison["standings"]) {
            let case = &results(document)[standing["result"].as_u64().unwrap() as usize];
            assert_eq!(case["variant"], standing["variant"]);
            assert_eq!(case["placement"], comparison["placement"]);
            assert_eq!(case["workload"], comparison["workload"]);
        }
    }
}

/// Each value with an interval by ranks has the coverage of those ranks among so many values; gives how many there are.
/// Of results an earlier analysis may have cost some; of floors and of what was observed none.
fn assert_ranked(value: &Value) -> usize {
    let mut found = 0;
    if let (Some(low), Some(ranks)) = (value.get("low"), value.get("ranks")) {
        assert_eq!(low.is_null(), ranks.is_null(), "{value}");
        assert_eq!(low.is_null(), value["coverage"].is_null(), "{value}");
        if let [Some(low), Some(high)] = [0, 1].map(|end| ranks[end].as_u64()) {
            let n = (low + high - 1) as usize;
            let expected = median_ranks(n, 0.05).expect("ranks");
            let coverage = value["coverage"].as_f64().expect("a coverage");
            assert_eq!((low as usize, high as usize), (expected.0, expected.1), "{value}");
            assert!((coverage - expected.2).abs() < 1e-12, "{value}");
            assert!(value.get("n").is_none_or(|value| value == n), "{value}");
            found += 1;
        }
    }
    let inside: Vec<&Value> = match value {
        Value::Array(all) => all.iter().collect(),
        Value::Object(all) => all.values().collect(),
        _ => Vec::new(),
    };
    found + inside.into_iter().map(assert_ranked).sum::<usize>()
}

fn rising(values: &[&Value], of: &str) {
    let known: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
    assert!(known.is_sorted(), "{of}: {values:?}");
}

fn assert_ordered(estimate: &Value, of: &str) {
    let field = |name| &estimate[name];
    rising(&["low", "median", "high"].map(field), of);
    rising(&["min", "q1", "q3", "max"].map(field), of);
    rising(&["min", "median", "max"].map(field), of);
    let ends = ["low", "high", "coverage"].map(|name| field(name).is_null());
    assert!(ends.iter().all(|null| *null == ends[0]), "{of}: {estimate}");
    if let Some(coverage) = field("coverage").as_f64() {
        assert!((0.95..=1.0).contains(&coverage), "{of}: {coverage}");
    }
}

/// Percentiles rise, each lies in its interval, and they share the unit of the estimate: a
/// rate's are rates, so a p90 can't be thousands of times away from the quartiles.
fn assert_percentiles(estimate: &Value, is_rate: bool, of: &str) {
    let all = PERCENTILES.map(|name| &estimate["percentiles"][name]);
    rising(&all.map(|percentile| &percentile["value"]), of);
    for percentile in all.into_iter().filter(|value| !value.is_null()) {
        rising(&["low", "value", "high"].map(|end| &percentile[end]), of);
    }
    if let (Some(median), Some(p90)) = (estimate["median"].as_f64(), all[0]["value"].as_f64()) {
        // Of round trips that spin any may hold a time slice.
        let apart = p90 / median;
        let right = if is_rate { (0.001..1000.0).contains(&apart) } else { apart >= 1.0 };
        assert!(right, "{of}: median {median}, p90 {p90}");
    }
}

#[test]
#[ignore = "long form"]
fn a_mixed_run_is_described_and_agrees_with_itself() {
    let (bench, schema) = (Bench::thorough(), Schema::of_results());
    let said = bench.must_lack(&format!("{MIXED} --format json"));
    let document = parse(&said.out);
    schema.must_accept(&document);
    assert_consistent(&document);

    let argv: Vec<&str> = MIXED.split_whitespace().chain(["--format", "json"]).collect();
    let words = list(&document["argv"]);
    assert!(words.iter().skip(1).eq(argv.iter()), "{words:?}");
    assert_eq!(document["seed"], 20_240_229);
    assert_eq!(document["status"], "complete");

    // Every launch that was asked for is there, with all its samples.
    for case in results(&document).iter().filter(|case| case["status"] == "ok") {
        let launches = case["launches"].as_u64().unwrap();
        assert_eq!(launches + case["failed_launches"].as_u64().unwrap(), 7, "{case:#}");
        assert_eq!(case["samples"].as_u64().unwrap(), 200 * launches, "{case:#}");
    }
    let why = |variant: &str, placement: &str, bytes: Value| {
        results(&document)
            .iter()
            .find(|case| {
                case["variant"] == variant
                    && case["placement"] == placement
                    && (bytes.is_null() || case["message_bytes"] == bytes)
            })
            .map(|case| (case["status"].clone(), case["reason"].to_string()))
            .unwrap_or_else(|| panic!("no row for {variant} {placement} {bytes}"))
    };
    let (status, reason) = why("unix-dgram:buffer=16K", "same-cpu", json!(100 << 10));
    assert_eq!(status, "not_applicable");
    assert!(reason.contains("32736"), "{reason}");
    assert_eq!(why("noop", "same-cpu", Value::Null).0, "ok");
    assert_eq!(why("pipe", "free", json!(100 << 10)).0, "ok");

    // Written again from the store, to standard output and to a file, it is the same.
    assert_eq!(bench.must("export last").out, said.out);
    assert_eq!(bench.must("export 1 -o again.json").out, "");
    assert_eq!(bench.read("again.json"), said.out);
}

#[test]
fn the_schema_refuses_documents_that_are_wrong() {
    let (bench, schema) = (Bench::new(), Schema::of_results());
    bench.must("run pipe eventfd -w latency -s 64 -p same-cpu --launches 6 --samples 200");
    let right = bench.export();
    schema.must_accept(&right);
    type Damage = (&'static str, fn(&mut Value));
    let damages: [Damage; 8] = [
        ("no seed", |value| drop(value.as_object_mut().unwrap().remove("seed"))),
        ("a missing field of a case", |value| {
            value["results"][0].as_object_mut().unwrap().remove("clock_share");
        }),
        ("a negative count", |value| value["results"][0]["samples"] = json!(-1)),
        ("half a launch", |value| value["results"][0]["launches"] = json!(1.5)),
        ("text for a number", |value| value["results"][0]["value"]["min"] = json!("NaN")),
        ("null where a number must be", |value| value["results"][0]["value"]["q1"] = Value::Null),
        ("a status that is none", |value| value["results"][0]["status"] = json!("fine")),
        ("a workload that is none", |value| value["comparisons"][0]["workload"] = json!("speed")),
    ];
    for (what, damage) in damages {
        let mut wrong = right.clone();
        damage(&mut wrong);
        assert_ne!(wrong, right, "{what}: nothing was damaged");
        assert!(!schema.accepts(&wrong), "the schema accepts {what}");
    }
}

#[test]
fn every_field_of_the_schema_is_described() {
    fn walk(at: &str, schema: &Value, seen: &mut usize) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            *seen += 1;
            let sentence = field["description"].as_str().unwrap_or_default();
            assert!(!sentence.is_empty(), "{at}.{name} needs a sentence");
            walk(&format!("{at}.{name}"), field, seen);
        }
    }
    let schema = parse(include_str!("../../docs/results.schema.json"));
    let mut seen = 0;
    walk("", &schema, &mut seen);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        walk(name, definition, &mut seen);
    }
    assert!(seen > 100, "only {seen} fields");
}

/// Sessions share the rounds, no group closes before the last one, and each round says where it belongs.
#[test]
fn undisturbed_rounds_are_waited_for_and_their_lack_is_reported() {
    let bench = Bench::new();
    let line = "run pipe -w latency -s 64 -p same-cpu --launches 2 --samples 20 --unmarked";
    let rounds = |bench: &Bench| {
        let found = bench.export();
        let rounds = list(&found["rounds"]).clone();
        let unmarked = rounds.iter().filter(|round| round["marked"].is_null()).count();
        (rounds.len(), unmarked, found["warnings"].to_string())
    };
    // There can't be so many: three times what was asked is spent, and it is said.
    bench.must(&format!("{line} 9"));
    let (all, unmarked, warnings) = rounds(&bench);
    assert_eq!(all, 6);
    assert!(unmarked <= 6 && warnings.contains("fewer than 9 rounds"), "{warnings}");
    // As many as that, unless others disturb three times as many.
    bench.must(&format!("{line} 4"));
    let (all, unmarked, warnings) = rounds(&bench);
    assert_eq!(warnings.contains("fewer than 4"), unmarked < 4, "{warnings}");
    assert!(all <= 6 && (unmarked == 4 || all == 6), "{all} {unmarked}");
}

#[test]
fn sessions_share_the_rounds_and_are_described() {
    let bench = Bench::new();
    let line = "run pipe eventfd -w latency -s 64 -p same-cpu --launches 8 --samples 50 --sessions 3 \
         --every 0s --format json";
    let document = parse(&bench.must(line).out);
    Schema::of_results().must_accept(&document);
    assert_consistent(&document);
    let rounds = list(&document["rounds"]);
    let sessions: Vec<u64> =
        rounds.iter().map(|round| round["session"].as_u64().unwrap()).collect();
    assert_eq!(sessions, [1, 1, 1, 2, 2, 2, 3, 3]);
    for case in results(&document) {
        let found = &case["sessions"];
        assert_eq!((found["sessions"].as_u64(), list(&found["medians"]).len()), (Some(3), 3));
        rising(&["low", "median", "high"].map(|end| &found[end]), "sessions");
    }
    assert_eq!(document["comparisons"][0]["closed"], "launches");
    assert_eq!(document["request"]["sessions"], json!({"count": 3, "every_ns": 0}));
}

/// A later run shows the results of earlier ones for the same case, and for no other.
#[test]
fn earlier_runs_of_the_same_case_stand_beside_it() {
    let bench = Bench::new();
    let line = |size| {
        format!(
            "run pipe -w latency -s {size} -p same-cpu --launches 6 --samples 200 --format json"
        )
    };
    let first = parse(&bench.must(&line(64)).out);
    assert!(results(&first)[0]["earlier"].is_null());
    let other = parse(&bench.must(&line(4096)).out);
    assert!(results(&other)[0]["earlier"].is_null());
    let again = parse(&bench.must(&line(64)).out);
    Schema::of_results().must_accept(&again);
    let earlier = &results(&again)[0]["earlier"];
    assert_eq!(earlier["runs"], 1);
    let before = results(&first)[0]["value"]["median"].as_f64().unwrap();
    // The clock's scale is settled at the end of a run.
    let near = |end: &str| (earlier[end].as_f64().unwrap() / before - 1.0).abs() < 0.001;
    assert!(near("low") && near("high"), "{earlier} of {before}");
    // Written again, the first knows nothing of those after it.
    assert!(results(&bench.export_of("1"))[0]["earlier"].is_null());
}

/// What others did marks rounds; the estimate stays that of all launches.
#[test]
fn marked_rounds_stand_apart_and_leave_the_estimate_alone() {
    let (bench, schema) = (Bench::new(), Schema::of_results());
    bench.must("run pipe eventfd -w latency -s 64 -p same-cpu --launches 8 --samples 50");
    let marks = |rounds: &str, marks: &str| {
        bench.edit(&format!(
            "UPDATE rounds SET noise = json_set(noise, '$.marks', json('{marks}')) WHERE {rounds};
             UPDATE rounds SET noise = json_set(noise, '$.forks', json('false'))"
        ));
    };
    marks("true", "[]");
    let quiet = bench.export();
    assert!(results(&quiet)[0]["stratified"].is_null());
    assert_eq!(quiet["comparisons"][0]["marked_rounds"], 0);
    marks("nth > 6", r#"[{"check": "load", "level": "note", "found": "others used 0.3 CPUs"}]"#);
    let some = bench.export();
    schema.must_accept(&some);
    let case = &results(&some)[0];
    let launches = ["launches", "marked_launches"].map(|key| &case["stratified"][key]);
    assert_eq!(launches, [6, 2]);
    assert_eq!(case["value"], results(&quiet)[0]["value"]);
    assert_eq!(some["rounds"][6]["marked"], "load");
    let unknown =
        "UPDATE rounds SET noise = json_set(noise, '$.unknown', json('[\"steal\"]')) WHERE nth < 3";
    bench.edit(unknown);
    let known = bench.export();
    schema.must_accept(&known);
    assert_eq!(known["comparisons"][0]["unknown_rounds"], 2);
    assert_eq!([0, 6].map(|nth| &known["rounds"][nth]["unknown"]), [&json!("steal"), &json!(null)]);
    assert_eq!(results(&known)[0]["stratified"]["launches"], 4);
    let words =
        "others disturbed 2, unknown whether others disturbed 2 of 8 rounds (steal can't be read)";
    has(&flat(&bench.must("report last").out), &[words]);
    bench.edit("UPDATE rounds SET noise = json_remove(noise, '$.unknown')");
    assert!(some["rounds"][5]["marked"].is_null());
    marks("true", r#"[{"check": "load", "level": "note", "found": "others used 0.3 CPUs"}]"#);
    let all = bench.export();
    schema.must_accept(&all);
    assert_eq!(all["comparisons"][0]["marked_rounds"], 8);
    let page = bench.must("report 1").out;
    assert!(!page.contains('✓') && !page.contains(" *"), "{page}");
    let first = "? Other programs ran during every round: what is slow may be their doing.";
    has(&flat(&page), &[first]);
    for standing in list(&all["comparisons"][0]["standings"]) {
        assert_eq!(standing["among_best"], true, "{standing:#}");
        let verdict = &standing["verdict"];
        assert!(verdict.is_null() || *verdict == "inconclusive", "{standing:#}");
        assert!(standing["slower_than_best_at_least"].is_null(), "{standing:#}");
    }
    let long = flat(&bench.must("report 1 -v").out);
    has(&long, &["? Round trips of 64 B", "Others disturbed every round."]);
    let html = bench.page_of("1");
    for words in ["Other programs ran during every round", "8 of 8 rounds disturbed by others"] {
        assert!(html.contains(words), "no `{words}` in the page");
    }
}
