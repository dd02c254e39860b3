//! What holds of every search for a capacity, and of every choice.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::strike::{Half, failed_of};
use super::{Bench, list, say};
use serde_json::Value;

/// A bound that any launch keeps which served what was due, and one that none does.
pub const WIDE: &str = "p50:10s";
pub const NARROW: &str = "p50:1ns";

pub fn capacities(document: &Value) -> &Vec<Value> {
    list(&document["capacity"])
}

/// Tests of this program take turns: a sender that shares its CPU with another test's is late.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What holds of any capacity, whatever was measured.
pub fn must_be_consistent(value: &Value) {
    let rates = list(&value["rates"]);
    let number = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("a number: {value:#}"));
    let each: Vec<u64> = rates.iter().map(|rate| number(&rate["per_sec"])).collect();
    assert!(each.is_sorted_by(|a, b| a < b), "{value:#}");
    for rate in rates {
        let parts = ["passed", "broke", "void"].map(|part| number(&rate[part]));
        assert!(parts.iter().sum::<u64>() <= number(&rate["launches"]), "{rate:#}");
    }
    let [low, high] = ["at_least_per_sec", "below_per_sec"].map(|end| value[end].as_u64());
    assert!(low.zip(high).is_none_or(|(low, high)| low < high), "{value:#}");
    for (end, verdict) in [(low, "holds"), (high, "fails")] {
        let Some(end) = end else { continue };
        let rate = rates.iter().find(|rate| rate["per_sec"] == end).expect("a rate that was tried");
        assert!(rate["verdict"] == verdict && rate["decides"] == true, "{rate:#}");
        assert!(number(&rate["launches"]) >= 6, "{rate:#}");
    }
}

/// Whether other tests took the time of these: the sender was late, or a launch broke a bound that only what wasn't
/// served breaks. It says nothing of the program, and is said aloud.
pub fn was_disturbed(value: &Value) -> bool {
    let mut rates = list(&value["rates"]).iter();
    let late = rates.clone().any(|rate| rate["void"].as_u64() > Some(0));
    let held_up = value["bound"] == WIDE && rates.any(|rate| rate["broke"].as_u64() > Some(0));
    let by_others = value["every_round_disturbed"] == true;
    if late || held_up || by_others {
        say("skipped a verdict: others took the time of the sender or of the server");
    }
    late || held_up || by_others
}

/// The line of a mechanism whose launches failed.
pub fn line_of(bench: &Bench, mechanism: &str, half: Half) -> Option<String> {
    let (failed, all) = failed_of(bench, mechanism, "1");
    let words =
        format!("{failed} of {all} launches failed: {} was killed by signal 9", half.named());
    (failed > 0).then_some(words)
}
