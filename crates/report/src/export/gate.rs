//! A comparison as test results: JUnit's XML and KTAP, a test a case. A case that is slower by more than the gate, or
//! slower at all without one, fails; what couldn't be decided is skipped, with why.

use std::fmt::Write;

use super::case_name;
use crate::compose::capacity::interval_of;
use analysis::compare::{CapacityVerdict, CaseChange, Change, Gate, RunComparison, Side};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Result {
    Passed,
    Failed,
    Skipped,
}

fn result(gate: Option<Gate>, verdict: Change) -> Result {
    match (gate, verdict) {
        (Some(Gate::Beyond), _) => Result::Failed,
        (Some(Gate::Within), _) => Result::Passed,
        (Some(Gate::Open), _) => Result::Skipped,
        (None, Change::Slower) => Result::Failed,
        (None, Change::Faster | Change::Equivalent) => Result::Passed,
        (None, Change::Inconclusive | Change::Incomparable) => Result::Skipped,
    }
}

/// The ratio with its interval, and why nothing follows, or why there is none: `1.08 [1.05, 1.11] times the time`.
fn words(case: &CaseChange) -> String {
    let gated = case.gated.as_ref().map(|moved| (moved.ratio, Some(moved.low), Some(moved.high)));
    let found = gated.or(case.ratio.map(|ratio| (ratio, case.low, case.high)));
    let ratio = match found {
        Some((ratio, Some(low), Some(high))) => {
            format!("{ratio:.3} [{low:.3}, {high:.3}] times the time")
        }
        Some((ratio, ..)) => format!("{ratio:.3} times the time, without an interval"),
        None => {
            return case
                .reason
                .clone()
                .unwrap_or_else(|| "too few launches for an interval".into());
        }
    };
    case.reason.iter().fold(ratio, |words, reason| words + "; " + reason)
}

/// The cases that are judged: a control shows the harness alone.
fn judged(found: &RunComparison) -> impl Iterator<Item = (String, Result, String)> {
    let cases = found.cases.iter().filter(|case| !case.control);
    let cases = cases.map(|case| {
        (case_name(&case.case, &case.nodes), result(case.gate, case.verdict), words(case))
    });
    cases.chain(found.capacities.iter().map(|change| {
        let verdict = match change.verdict {
            CapacityVerdict::Higher => Change::Faster,
            CapacityVerdict::Lower => Change::Slower,
            CapacityVerdict::NotSeparated => Change::Inconclusive,
            CapacityVerdict::Incomparable => Change::Incomparable,
        };
        let side = |side: Option<Side>| {
            side.map_or("none".into(), |side| interval_of(&side.found, side.lowest_per_sec))
        };
        let words = change
            .reason
            .clone()
            .unwrap_or_else(|| format!("{} after {}", side(change.b), side(change.a)));
        (case_name(&change.subject.case, &[]), result(change.gate, verdict), words)
    }))
}

/// A suite of one comparison.
pub fn junit(found: &RunComparison) -> String {
    let count = |wanted| judged(found).filter(|(_, result, _)| *result == wanted).count();
    let tests = judged(found).count();
    let (failed, skipped) = (count(Result::Failed), count(Result::Skipped));
    let suite = escaped(&format!("{} against {}", found.b.given, found.a.given));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{tests}\" failures=\"{failed}\">\n  \
         <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\">\n"
    );
    for (name, result, words) in judged(found) {
        let (name, words) = (escaped(&name), escaped(&words));
        let inner = match result {
            Result::Passed => format!("<system-out>{words}</system-out>"),
            Result::Failed => format!("<failure message=\"{words}\"/>"),
            Result::Skipped => format!("<skipped message=\"{words}\"/>"),
        };
        writeln!(text, "    <testcase classname=\"ipcmark\" name=\"{name}\">{inner}</testcase>")
            .expect("memory");
    }
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// The kernel's test protocol (Documentation/dev-tools/ktap.rst).
pub fn ktap(found: &RunComparison) -> String {
    let mut text = format!("KTAP version 1\n1..{}\n", judged(found).count());
    for (nth, (name, result, words)) in judged(found).enumerate() {
        // A `#` begins a directive there.
        let (name, words) = (name.replace('#', "_"), words.replace('#', "_"));
        let line = match result {
            Result::Passed => format!("ok {} {name} - {words}", nth + 1),
            Result::Failed => format!("not ok {} {name} - {words}", nth + 1),
            Result::Skipped => format!("ok {} {name} # SKIP {words}", nth + 1),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

fn escaped(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for letter in words.chars() {
        match letter {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '>' => text.push_str("&gt;"),
            '"' => text.push_str("&quot;"),
            letter if letter < ' ' => text.push(' '),
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_word_breaks_out_of_an_attribute() {
        assert_eq!(super::escaped("a<b & \"c\"\n"), "a&lt;b &amp; &quot;c&quot; ");
    }
}
