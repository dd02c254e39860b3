//! Claims that made-up launches bear out, or not, or can't.

use super::*;
use crate::testing::case;
use crate::{RateSeen, Status};
use model::load::Load;
use study::size_bound::Caches;
use study::validated::{ValidatedStudy, validate};

/// A case at `placement` whose launches take about so many ns, and in their tail `tail`.
pub fn measured(placement: &str, ns: f64, tail: f64) -> CaseResult {
    let mut made = case("pipe", placement, None);
    let around = |level: f64| {
        (0..12).map(|nth| Some(level * (1.0 + 0.002 * f64::from(nth % 5 - 2)))).collect()
    };
    made.by_round = around(ns);
    made.others_by_round.insert("p99", around(tail));
    made
}

fn study(claim: &str) -> ValidatedStudy {
    let text = format!(
        "version = 1\ntitle = \"t\"\nquestion = \"q\"\n[variables]\ncause = {{}}\neffect = {{}}\n\
         [vary]\nmechanism = \"pipe\"\nplacement = [\"free\", \"same-cpu\", \"same-llc\"]\n\
         [[hypothesis]]\nstatement = \"s\"\n{claim}"
    );
    validate(&text, "s.toml", &workload::catalogue(&[])).unwrap()
}

fn decided(claim: &str, results: &[CaseResult]) -> (Decision, String) {
    let declared = study(claim);
    let on = Ground { declared: &declared, results, floors: None, caches: Caches::default() };
    let result = decide(&declared.study.hypothesis[0], &on);
    (result.decision, result.effect)
}

const EITHER: &str = "test = \"near-either\"\nmargin = \"10%\"\n\
    left = { placement = \"free\" }\nright = { placement = \"same-cpu\" }\n\
    or = { placement = \"same-llc\" }\n";

#[test]
fn near_either_says_near_which() {
    let results = |free: f64, far: f64| {
        [("free", free), ("same-cpu", 4000.0), ("same-llc", far)]
            .map(|(placement, ns)| measured(placement, ns, ns))
    };
    let (decision, effect) = decided(EITHER, &results(40_000.0, 41_000.0));
    assert_eq!(decision, Decision::Supported, "{effect}");
    assert!(effect.starts_with("near same-llc; against same-cpu: "), "{effect}");
    let (decision, effect) = decided(EITHER, &results(4000.0, 4100.0));
    assert_eq!(decision, Decision::Supported, "{effect}");
    assert!(effect.starts_with("near same-cpu and same-llc; "), "{effect}");
    let (decision, effect) = decided(EITHER, &results(20_000.0, 41_000.0));
    assert_eq!(decision, Decision::Refuted, "{effect}");
    assert!(effect.starts_with("near neither; "), "{effect}");
}

#[test]
fn near_either_is_not_refuted_by_a_level_that_the_machine_lacks() {
    let two = [measured("free", 20_000.0, 0.0), measured("same-cpu", 4000.0, 0.0)];
    assert_eq!(decided(EITHER, &two).0, Decision::NotTestable);
    let near = [measured("free", 4000.0, 0.0), measured("same-cpu", 4000.0, 0.0)];
    assert_eq!(decided(EITHER, &near).0, Decision::Supported);
}

#[test]
fn what_was_overloaded_is_named_and_decides_nothing() {
    let overloaded = |mut case: CaseResult| {
        case.rate = Some(RateSeen {
            served_per_sec: Some(13_000.0),
            served_share: Some(0.26),
            overloaded: true,
            ..RateSeen::of(Load { per_second: 50_000, ..Load::USUAL })
        });
        case
    };
    let faster = "test = \"faster\"\nleft = { placement = \"same-cpu\" }\n\
        right = { placement = \"free\" }\n";
    let results = [measured("same-cpu", 4000.0, 0.0), overloaded(measured("free", 8000.0, 0.0))];
    let (decision, effect) = decided(faster, &results);
    assert_eq!(decision, Decision::NotTestable, "{effect}");
    assert!(effect.contains("overloaded at 50000/s"), "{effect}");
    // Others of its side are judged without it.
    let all =
        "test = \"within\"\nleft = { mechanism = \"pipe\" }\nwithin = [\"8000\", \"10000\"]\n";
    let (decision, effect) = decided(all, &results);
    assert_eq!(decision, Decision::Supported, "{effect}");
    assert!(effect.ends_with("; without pipe 64 free (overloaded at 50000/s)"), "{effect}");
}

#[test]
fn where_others_disturbed_every_round_of_a_case_no_claim_is_supported_or_refuted() {
    let claim = |left: &str, right: &str| {
        let of = |text: &str| format!("{{ placement = \"{text}\" }}");
        format!("test = \"faster\"\nleft = {}\nright = {}\n", of(left), of(right))
    };
    let (quick, slow) = ("same-cpu", "free");
    let of = |disturbed| {
        let slow = CaseResult { disturbed, ..measured(slow, 8000.0, 0.0) };
        [measured(quick, 4000.0, 0.0), slow]
    };
    assert_eq!(decided(&claim(quick, slow), &of(false)).0, Decision::Supported);
    assert_eq!(decided(&claim(slow, quick), &of(false)).0, Decision::Refuted);
    for claim in [claim(quick, slow), claim(slow, quick)] {
        let (decision, effect) = decided(&claim, &of(true));
        assert_eq!(decision, Decision::Inconclusive, "{effect}");
        assert!(
            effect.ends_with("; others disturbed every round of some of its cases"),
            "{effect}"
        );
    }
}

#[test]
fn a_ranking_tells_each_step_by_what_its_two_sides_do_not_share() {
    let order = |first: &str, second: &str| {
        format!(
            "test = \"ranking\"\nleft = {{ mechanism = \"pipe\" }}\norder = [{{ mechanism = \"pipe\", placement = \"{first}\" }}, \
             {{ mechanism = \"pipe\", placement = \"{second}\" }}]\n"
        )
    };
    let results = [measured("same-cpu", 4000.0, 0.0), measured("free", 8000.0, 0.0)];
    let (decision, effect) = decided(&order("same-cpu", "free"), &results);
    assert_eq!(decision, Decision::Supported, "{effect}");
    assert!(effect.starts_with("same-cpu over free: "), "{effect}");
    assert_eq!(decided(&order("free", "same-cpu"), &results).0, Decision::Refuted);
}

#[test]
fn a_ranking_by_a_percentile_asks_it_of_what_is_in_the_order_alone() {
    let claim = "test = \"ranking\"\nof = \"p99\"\nleft = { mechanism = \"pipe\" }\norder = [\
                 { mechanism = \"pipe\", placement = \"same-cpu\" }, { mechanism = \"pipe\", placement = \"free\" }]\n";
    let mut other = measured("same-llc", 4000.0, 9000.0);
    other.samples_missing.insert("p99".into(), 9);
    let ordered = [measured("same-cpu", 4000.0, 9000.0), measured("free", 8000.0, 90_000.0)];
    let results: Vec<CaseResult> = ordered.into_iter().chain([other]).collect();
    let (decision, effect) = decided(claim, &results);
    assert_eq!(decision, Decision::Supported, "{effect}");
}

#[test]
fn a_ratio_with_zero_is_not_testable_and_says_of_which() {
    let claim = |test: &str| {
        format!(
            "test = \"{test}\"\nof = \"p99\"\nleft = {{ placement = \"same-cpu\" }}\n\
             right = {{ placement = \"free\" }}\nwithin = [\"1\", \"2\"]\n"
        )
    };
    for (left, right, zero) in [(0.0, 0.0, "same-cpu"), (7.0, 0.0, "free")] {
        let results = [measured("same-cpu", 4.0, left), measured("free", 8.0, right)];
        for test in ["ratio", "faster", "equivalent"] {
            let (decision, effect) = decided(&claim(test), &results);
            assert_eq!(decision, Decision::NotTestable, "{test}: {effect}");
            assert!(effect.contains(&format!("{zero} is 0")), "{test}: {effect}");
        }
    }
}

#[test]
fn a_claim_of_a_percentile_is_decided_by_the_percentiles_of_launches() {
    let by = |of: &str| {
        format!(
            "test = \"faster\"\n{of}\nleft = {{ placement = \"same-cpu\" }}\n\
             right = {{ placement = \"free\" }}\n"
        )
    };
    let mut results = [measured("same-cpu", 4000.0, 90_000.0), measured("free", 8000.0, 9000.0)];
    assert_eq!(decided(&by(""), &results).0, Decision::Supported);
    assert_eq!(decided(&by("of = \"p99\""), &results).0, Decision::Refuted);
    let (decision, effect) = decided(&by("of = \"p99.9\""), &results);
    assert_eq!(decision, Decision::NotTestable);
    assert!(effect.contains("aren't single operations"), "{effect}");
    results[1].samples_missing.insert("p99".into(), 1200);
    let (decision, effect) = decided(&by("of = \"p99\""), &results);
    assert_eq!(decision, Decision::TooFewSamples);
    assert!(effect.contains("1200 more samples"), "{effect}");
}

#[test]
fn within_is_decided_by_the_interval_that_the_looks_left() {
    let claim = |of: &str| {
        format!(
            "test = \"within\"\nof = \"{of}\"\nleft = {{ placement = \"free\" }}\n\
             within = [\"3980\", \"4020\"]\n"
        )
    };
    let mut results = [measured("free", 4000.0, 4000.0)];
    let mut estimate = results[0].value.clone().unwrap();
    (estimate.median, estimate.interval.low, estimate.interval.high) =
        (4000.0, Some(3900.0), Some(4100.0));
    results[0].value = Some(estimate.clone());
    assert_eq!(decided(&claim("median"), &results).0, Decision::Inconclusive);
    (estimate.interval.low, estimate.interval.high) = (Some(3995.0), Some(4005.0));
    results[0].value = Some(estimate);
    assert_eq!(decided(&claim("median"), &results).0, Decision::Supported);
    assert_eq!(decided(&claim("p99"), &results).0, Decision::Supported);
}

#[test]
fn a_share_of_failed_launches_is_that_of_all_chosen_cases() {
    let claim = "test = \"within\"\nof = \"failed-launches\"\nleft = { placement = \"free\" }\n\
                 within = [\"0.1\", \"1\"]\n";
    let with = |failed: usize, launches: usize| {
        let mut made = measured("free", 4000.0, 0.0);
        let launch = |nth: usize| crate::LaunchDatagrams {
            round: nth as u64 + 1,
            status: if nth < failed { "failed" } else { "ok" }.into(),
            initiator: None,
            responder: None,
            here: None,
            peer: None,
        };
        made.datagrams = Some(crate::DatagramsSeen {
            wire_bytes_per_payload_byte: None,
            queue_overflows: None,
            fragments: None,
            here: None,
            peer: None,
            launches: (0..launches).map(launch).collect(),
        });
        made
    };
    let (decision, effect) = decided(claim, &[with(0, 24), with(0, 24)]);
    assert_eq!(decision, Decision::Refuted, "{effect}");
    assert!(effect.starts_with("0 of 48 launches failed: 0.0 % [0.0, 7.4]"), "{effect}");
    assert_eq!(decided(claim, &[with(0, 12)]).0, Decision::Inconclusive);
    let mut all_failed = with(12, 12);
    all_failed.status = Status::Failed;
    assert_eq!(decided(claim, &[all_failed, with(0, 12)]).0, Decision::Supported);
    assert_eq!(decided(claim, &[measured("free", 4000.0, 0.0)]).0, Decision::NotTestable);
}

#[test]
fn a_difference_is_that_of_each_round() {
    let claim = |within: &str| {
        format!(
            "test = \"difference\"\nleft = {{ placement = \"same-llc\" }}\n\
             right = {{ placement = \"same-cpu\" }}\nwithin = [{within}]\n"
        )
    };
    let results = [measured("same-llc", 5000.0, 0.0), measured("same-cpu", 4000.0, 0.0)];
    let (decision, effect) = decided(&claim("\"900\", \"1100\""), &results);
    assert_eq!(decision, Decision::Supported, "{effect}");
    assert!(effect.ends_with(" ns more; claimed 900 to 1100"), "{effect}");
    assert_eq!(decided(&claim("\"2000\", \"3000\""), &results).0, Decision::Refuted);
    // Of the rounds' own differences: both sides slow down together, and the medians' wouldn't be as narrow.
    let mut drifting = results.clone();
    for case in &mut drifting {
        for (nth, ns) in case.by_round.iter_mut().enumerate() {
            *ns = ns.map(|value| value + 5000.0 * (nth % 2) as f64);
        }
    }
    assert_eq!(decided(&claim("\"900\", \"1100\""), &drifting).0, Decision::Supported);
}

#[test]
fn a_derived_column_is_claimed_of_by_round() {
    let claim = "test = \"within\"\nof = \"share\"\nleft = { placement = \"free\" }\n\
                 within = [\"9\", \"11\"]\n[[derived]]\nname = \"share\"\nunit = \"%\"\n\
                 expression = \"100 * 400 / median\"\n";
    let mut made = measured("free", 4000.0, 0.0);
    made.derived_by_round.insert("share".into(), vec![None; 12]);
    assert_eq!(
        decided(claim, &[made.clone()]).0,
        Decision::NotTestable,
        "the machine lacks a part"
    );
    let shares = (0..12).map(|nth| Some(10.0 + 0.01 * f64::from(nth))).collect();
    made.derived_by_round.insert("share".into(), shares);
    assert_eq!(decided(claim, &[made]).0, Decision::Supported);
}

#[test]
fn a_claim_about_the_machine_is_compared_with_its_bounds() {
    use model::floors::{Call, Calls, FloorDetail, Floors, Part, Repeats};
    let mut floors = Floors::unavailable(FloorDetail::Quick, "not asked");
    let cost_ns = Repeats {
        median: Some(60.0),
        low: Some(58.0),
        high: Some(61.0),
        ranks: None,
        coverage: None,
        n: 20,
        modes: None,
    };
    let half = |cost: &Repeats| Repeats {
        median: cost.median.map(|ns| ns / 2.0),
        low: cost.low.map(|ns| ns / 2.0),
        high: cost.high.map(|ns| ns / 2.0),
        ..cost.clone()
    };
    let getpid = Call { call: "getpid".into(), by: "syscall(2)".into(), cost_ns: half(&cost_ns) };
    let call = Call { call: "getuid".into(), by: "syscall(2)".into(), cost_ns };
    floors.calls = Part::Measured(Calls { calls: vec![call, getpid], messages: Vec::new() });
    let decided = |floor: &str, within: &str| {
        let floor = floor.replace(" over ", "\"\nfloor-per = \"");
        let claim = format!("test = \"within\"\nfloor = \"{floor}\"\nwithin = [{within}]\n");
        let declared = study(&claim);
        let caches = Caches::default();
        let on = Ground { declared: &declared, results: &[], floors: Some(&floors), caches };
        decide(&declared.study.hypothesis[0], &on).decision
    };
    assert_eq!(decided("getuid", "\"23\", \"80\""), Decision::Supported);
    assert_eq!(decided("getuid", "\"100\", \"200\""), Decision::Refuted);
    assert_eq!(decided("getuid", "\"60\", \"80\""), Decision::Inconclusive);
    assert_eq!(decided("getppid", "\"23\", \"80\""), Decision::NotTestable);
    assert_eq!(decided("getuid over getpid", "\"1.8\", \"2.2\""), Decision::Supported);
    assert_eq!(decided("getuid over getpid", "\"3\", \"4\""), Decision::Refuted);
    assert_eq!(decided("getuid over getppid", "\"1\", \"4\""), Decision::NotTestable);
}
