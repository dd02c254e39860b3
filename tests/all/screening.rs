//! A run of which nobody named the mechanisms screens them, and is judged by what came after.

use crate::cli_support::{Bench, list, must_fit_the_schema, results, say};
use serde_json::Value;

const ASKED: &str = "run -w latency -s 64 -p same-cpu --samples 20 --warmup 5 --precision 50% -q";

fn numbers(of: &Value) -> Vec<Option<f64>> {
    list(of).iter().map(Value::as_f64).collect()
}

#[test]
#[ignore = "long form"]
fn what_is_slow_has_four_launches_and_the_others_are_judged_without_these() {
    let bench = Bench::new();
    bench.must(ASKED);
    let run = bench.export();
    must_fit_the_schema(&run);
    let results = results(&run);
    let all = || results.iter().filter(|result| result["status"] == "ok");
    let (out, on): (Vec<&Value>, Vec<&Value>) =
        all().partition(|value| value["screened_out"] == true);
    let names =
        |of: &[&Value]| of.iter().map(|value| value["variant"].to_string()).collect::<Vec<_>>();
    if out.is_empty() {
        // Where each round trip waits for somebody else's turn, none is slower than the others.
        say("skipped what is screened out: others took the time of all mechanisms alike");
    }
    assert!(on.len() > 3, "{:?} {:?}", names(&out), names(&on));
    assert!(on.iter().any(|value| value["variant"] == "pipe" && value["twin"] == false));
    assert!(on.iter().any(|value| value["twin"] == true), "{:?}", names(&on));
    for case in &on {
        let (first, medians) = (numbers(&case["screening"]), numbers(&case["launch_medians"]));
        // Where none is slower than the others, none was screened: all rounds count.
        match out.is_empty() {
            true => assert!(first.is_empty(), "{case:#}"),
            false => assert!(first.len() == 4 && medians[..4] == [None; 4], "{case:#}"),
        }
        let n = medians.iter().flatten().count();
        let (low, high, coverage) = stats::median_ranks(n, 0.05).expect("twelve at least");
        assert!(n >= 12 && case["launches"] == n, "{case:#}");
        assert_eq!(case["value"]["ranks"], serde_json::json!([low, high]), "{case:#}");
        let told = case["value"]["coverage"].as_f64().expect("a share");
        assert!((told - coverage).abs() < 1e-12, "{case:#}");
    }
    for case in &out {
        assert!(case["launches"] == 4 && case["value"]["coverage"].is_null(), "{case:#}");
        assert!(case["precision_reached"].is_null() && numbers(&case["screening"]).is_empty());
    }
    let standings = list(&run["comparisons"])
        .iter()
        .flat_map(|comparison| list(&comparison["standings"]).iter());
    for standing in standings {
        let case = &results[standing["result"].as_u64().unwrap() as usize];
        let left = &standing["screened_out"];
        assert_eq!(left.is_null(), case["screened_out"] == false, "{standing:#}");
        if !left.is_null() {
            assert!(standing["ratio"].is_null() && standing["verdict"].is_null());
            assert!(left["coverage"] == 0.875 && left["low"].as_f64() <= left["high"].as_f64());
        }
    }
    let told = bench.must("report 1 -v").out;
    assert!(out.is_empty() || told.contains(" n "), "{told}");
}

#[test]
#[ignore = "long form"]
fn what_a_user_names_has_every_round() {
    let bench = Bench::new();
    bench.must("run pipe tcp pty fifo unix-stream -w latency -s 64 -p same-cpu --samples 20 --precision 50% -q");
    let run = bench.export();
    for case in results(&run) {
        assert!(case["screened_out"] == false && case["launches"].as_u64() >= Some(12), "{case:#}");
        assert!(numbers(&case["screening"]).is_empty(), "{case:#}");
    }
}
