//! What lkp-tests reads of a program's output: `key: value` lines, the time of an operation of each case in ns and,
//! where a launch has one, its p99.

use std::fmt::Write;

use super::{measured, name};
use analysis::{Judged, OverRounds};

pub fn text(judged: &Judged) -> String {
    let mut text = String::new();
    for case in measured(judged) {
        // A colon ends a key there.
        let name = name(judged, case).replace(':', "_");
        let mut line =
            |what: &str, ns: f64| writeln!(text, "{name}.{what}_ns: {ns:.1}").expect("memory");
        if let Some(found) = OverRounds::of(case.by_round.clone()) {
            line("median", found.median);
        }
        if let Some(p99) = case.value.as_ref().and_then(|value| value.percentile("p99")) {
            line("p99", p99.value);
        }
    }
    text
}
