//! What `--observe` shows, through the whole command: counts are what the loops did; what can't be
//! counted is a row with its remedy; results are the same with or without an instrument. No speed
//! is asserted.
//!
//! Needs tracefs and the right to count, or to load programs; says so aloud where it is missing.

use std::path::Path;

use crate::cli_support::{Bench, Said, has, list};
use crate::common::{can_count, can_trace, say};
use machine::counts;
use model::counts::Family;
use serde_json::Value;
use study::validated::validate;

const LAUNCHES: usize = 6;

/// Runs the words, and gives what was exported.
fn run(bench: &Bench, words: &str) -> (Said, Value) {
    let json = bench.path("run.json");
    let said = bench.must(words);
    bench.must(&format!("export last --format json -o {}", json.display()));
    let text = std::fs::read_to_string(Path::new(&json)).expect("an export");
    (said, serde_json::from_str(&text).expect("JSON"))
}

/// What `probe` saw of `variant` at `size`.
fn seen<'a>(document: &'a Value, probe: &str, variant: &str, size: u64) -> &'a Value {
    let all = list(&document["observed"]);
    let found = all.iter().find(|value| {
        value["observe"] == probe && value["variant"] == variant && value["message_bytes"] == size
    });
    found.unwrap_or_else(|| panic!("{probe} of {variant}: {all:#?}"))
}

fn named<'a>(all: &'a Value, name: &str) -> &'a Value {
    let found = list(all).iter().find(|value| value["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {all:#}"))
}

#[track_caller]
fn counts_exactly(row: &Value, count: f64) {
    for field in ["per_operation", "low", "high"] {
        assert_eq!(row[field], count, "{field}: {row:#}");
    }
}

#[test]
fn a_round_trip_over_a_pipe_is_two_reads_and_two_writes_whoever_counts() {
    let Some(()) = can_count(Family::Calls) else { return };
    let Some(()) = can_trace() else { return };
    let bench = Bench::new();
    let words = "run pipe -w latency -s 64 -p same-cpu --samples 500 --observe calls,trace";
    let (said, document) = run(&bench, &format!("{words} --launches {LAUNCHES}"));
    let counted = seen(&document, "calls", "pipe", 64);
    assert_eq!(counted["launches"], LAUNCHES);
    for call in ["read", "write"] {
        let row = named(&counted["events"], call);
        counts_exactly(row, 2.0);
        assert_eq!(row["per_message"], 1.0, "a round trip carries two messages");
        assert_eq!(row["per_byte"], 2.0 / 128.0);
    }
    // The clock may be read by a call; besides there is nothing.
    let calls = named(&counted["events"], "calls")["per_operation"].as_f64().unwrap();
    assert!((4.0..4.1).contains(&calls), "{calls}");

    let traced = &seen(&document, "trace", "pipe", 64)["trace"];
    assert_eq!((&traced["launches"], &traced["lost"]), (&LAUNCHES.into(), &0.into()));
    for call in ["read", "write"] {
        let row = named(&traced["calls"], call);
        counts_exactly(row, 2.0);
        let returned = list(&row["returned"]);
        assert_eq!((returned.len(), &returned[0]["value"]), (1, &64.into()));
        counts_exactly(&returned[0], 2.0);
        assert_eq!(row["others_per_operation"], 0.0);
        let asked = &returned[0]["asked_bytes"];
        assert!(asked.is_null() || *asked == 64.0, "{asked}");
    }
    // On one CPU each of both turns ends a wait for a wake-up, or for the CPU.
    let waits = |name: &str| traced[name]["per_operation"].as_f64().unwrap_or(0.0);
    let turns = waits("delay") + waits("displaced");
    assert!((1.9..2.5).contains(&turns), "{turns}: {traced:#}");
    let partner = |value: &&Value| value["by_partner"] == true;
    let woken = list(&traced["wake_ups"]).iter().filter(partner);
    let woken: f64 = woken.map(|value| value["per_operation"].as_f64().unwrap()).sum();
    assert!(woken > 0.0 && woken <= 2.0 + 0.5, "{woken}");

    has(&said.out, &["2.00 read, 2.00 write", "What was counted"]);
    let wide = said.out.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
}

#[test]
fn a_message_of_128_kib_comes_out_of_a_pipe_in_two_reads_of_64_kib() {
    let Some(()) = can_trace() else { return };
    let bench = Bench::new();
    let words =
        "run pipe -w throughput --total 16M -s 128K -p same-cpu --samples 3 --observe trace";
    let (_, document) = run(&bench, &format!("{words} --launches {LAUNCHES}"));
    let read = named(&seen(&document, "trace", "pipe", 128 << 10)["trace"]["calls"], "read");
    let full = &read["returned"][0];
    assert_eq!(full["value"], 64 << 10);
    counts_exactly(full, 2.0);
    let write = named(&seen(&document, "trace", "pipe", 128 << 10)["trace"]["calls"], "write");
    counts_exactly(&write["returned"][0], 1.0);
    // A transfer of 16 MiB is 128 such messages.
    let said = bench.must("report last -v");
    let row = said.out.lines().find(|line| line.contains("64 KiB") && line.contains("read"));
    assert!(row.is_some_and(|row| row.contains("256.0")), "{}", said.out);
    assert!(said.out.contains("a transfer of 16 MiB"), "{}", said.out);
}

#[test]
fn what_cannot_be_counted_is_a_row_with_its_reason_and_no_failure() {
    if counts::available(Family::L1d).is_ok() || counts::available(Family::Core).is_ok() {
        return say("skipped: this machine has hardware counters");
    }
    let bench = Bench::new();
    let words = "run pipe -w latency -s 64 -p same-cpu --samples 50 --launches 2";
    let page = bench.path("page.html");
    let line = format!("{words} --observe core,l1d --html {}", page.display());
    let (said, document) = run(&bench, &line);
    for family in ["core", "l1d"] {
        let row = seen(&document, family, "pipe", 64);
        assert_eq!(row["status"], "unavailable");
        assert!(row["reason"].as_str().is_some_and(|text| !text.is_empty()), "{row:#}");
        assert_eq!(row["events"].as_array().map(Vec::len), Some(0));
        assert!(row["trace"].is_null());
    }
    let text = said.out.replace('\n', " ");
    assert!(text.contains("Not testable here: core, l1d, and with them"), "{}", said.out);
    assert_eq!(text.matches("Not testable here").count(), 1, "{}", said.out);
    assert!(text.contains("cycles per l1d read"), "{}", said.out);
    has(&std::fs::read_to_string(page).unwrap(), &["not testable here", "cycles-per-instruction"]);
}

#[test]
fn results_are_of_the_same_cases_and_launches_whether_or_not_something_looks_on() {
    let Some(()) = can_count(Family::Software) else { return };
    let words =
        "run pipe unix-stream -w latency -s 64 -p same-cpu --samples 50 --launches 6 --seed 3";
    let results = |observe: &str| {
        let bench = Bench::new();
        let (_, document) = run(&bench, &format!("{words} {observe}"));
        let keys =
            ["variant", "message_bytes", "placement", "workers", "status", "launches", "samples"];
        let case = |value: &Value| keys.map(|key| value[key].to_string());
        let cases: Vec<_> = list(&document["results"]).iter().map(case).collect();
        let compared: Vec<usize> = list(&document["comparisons"])
            .iter()
            .map(|comparison| list(&comparison["standings"]).len())
            .collect();
        (cases, compared, list(&document["observed"]).len())
    };
    let (alone, ranked, none) = results("");
    let (beside, also_ranked, observed) = results("--observe software");
    assert_eq!((none, observed), (0, 2));
    assert_eq!(alone, beside);
    assert_eq!(ranked, also_ranked, "observed launches are in no ranking");
}

/// Beside other tests a launch may be displaced now and then: two switches, and some.
const STUDY: &str = r#"version = 1
title = "Switches counted"
question = "Is a round trip on one CPU two switches?"
[variables]
cause = { size = "bytes of a message" }
effect = { latency = "time of a round trip" }
[fixed]
mechanism = "pipe"
samples = 200
launches = 6
[vary]
size = ["64", "4K"]
observe = ["none", "software", "core"]
[observed]
size = "64"
[[hypothesis]]
statement = "A round trip is two switches"
test = "within"
left = { size = "64" }
of = "context-switches"
within = ["1.9", "2.9"]
[[hypothesis]]
statement = "It is one"
test = "within"
left = { size = "64" }
of = "context-switches"
within = ["0.9", "1.1"]
[[hypothesis]]
statement = "An instruction is a cycle"
test = "within"
left = { size = "64" }
of = "cycles-per-instruction"
within = ["0.9", "1.1"]
[[derived]]
name = "per-counted"
unit = "ns"
expression = "median / [context-switches]"
[[table]]
title = "Counted"
rows = "size"
show = ["context-switches", "cycles-per-instruction", "per-counted"]
"#;

#[test]
fn a_study_claims_and_shows_what_was_counted() {
    let Some(()) = can_count(Family::Software) else { return };
    let bench = Bench::new();
    let file = bench.put("switches.toml", STUDY);
    let said = bench.must(&format!("study run {}", file.display()));
    has(&said.out, &["✓ Supported: A round trip is two switches", "✗ Refuted: It is one"]);
    let row = said.out.lines().find(|line| line.starts_with("64  ") || line.starts_with("64 "));
    assert!(row.is_some_and(|row| row.contains("2.0") && row.contains("ns")), "{}", said.out);
    let unobserved = said.out.lines().find(|line| line.starts_with("4K"));
    has(unobserved.expect("a row"), &["–"]); // only 64 B is observed
    if counts::available(Family::Core).is_err() {
        assert!(said.out.contains("Not testable here: An instruction is a cycle"), "{}", said.out);
        assert!(row.is_some_and(|row| row.contains("not testable")), "{}", said.out);
    }
}

#[test]
fn wrong_counts_of_a_study_end_with_the_nearest_right_word() {
    let table = r#"show = ["context-switches""#;
    for (from, to, word) in [
        (table, r#"show = ["context-switch""#, "`context-switches`"),
        (
            r#"of = "cycles-per-instruction""#,
            r#"of = "cycles-per-instructon""#,
            "`cycles-per-instruction`",
        ),
        ("[context-switches]", "[contextswitches]", "`context-switches`"),
        (r#"within = ["0.9", "1.1"]"#, r#"within = ["few", "1.1"]"#, "`few`"),
        (r#"test = "within""#, r#"test = "rises""#, "within, or ratio"),
    ] {
        assert!(STUDY.contains(from), "{from}");
        let text = STUDY.replacen(from, to, 1);
        let refused = validate(&text, "wrong.toml", &workload::catalogue(&[])).expect_err(to);
        assert!(refused.lines().count() == 1 && refused.contains(word), "{to}: {refused}");
    }
}
