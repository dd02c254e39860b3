//! OpenMetrics text, for a textfile collector or a push gateway: base units, a gauge a quantity, the case as a label.

use std::fmt::Write;

use super::{measured, name};
use analysis::{CaseResult, Judged, OverRounds};

/// A gauge: its name, unit and help, and what a case has of it: a value, and the ends of its interval.
type Gauge =
    (&'static str, &'static str, &'static str, fn(&CaseResult) -> Option<[Option<f64>; 3]>);

const NS: f64 = 1e9;

const GAUGES: [Gauge; 3] = [
    (
        "ipcmark_operation_time_seconds",
        "seconds",
        "Time of an operation: median over launches",
        |case| {
            let found = OverRounds::of(case.by_round.clone())?;
            let ends = found.interval.ends().map(|(low, high)| [low / NS, high / NS]);
            Some([Some(found.median / NS), ends.map(|ends| ends[0]), ends.map(|ends| ends[1])])
        },
    ),
    ("ipcmark_operation_p99_seconds", "seconds", "p99 of a launch: median over launches", |case| {
        let found = case.value.as_ref()?.percentile("p99")?;
        Some([found.value, found.low, found.high].map(|ns| Some(ns / NS)))
    }),
    (
        "ipcmark_throughput_bytes",
        "bytes",
        "Bytes carried in a second: median over launches",
        |case| {
            let value = case.value.as_ref().filter(|_| case.metric.is_transfer())?;
            Some([Some(value.median), value.interval.low, value.interval.high])
        },
    ),
];

pub fn text(judged: &Judged) -> String {
    let mut text = String::new();
    for (gauge, unit, help, of) in GAUGES {
        writeln!(text, "# TYPE {gauge} gauge\n# UNIT {gauge} {unit}\n# HELP {gauge} {help}.")
            .expect("memory");
        for case in measured(judged) {
            let Some(found) = of(case) else { continue };
            let name = escaped(&name(judged, case));
            for (stat, value) in ["median", "low", "high"].into_iter().zip(found) {
                let Some(value) = value else { continue };
                writeln!(text, "{gauge}{{case=\"{name}\",stat=\"{stat}\"}} {value:e}")
                    .expect("memory");
            }
        }
    }
    text.push_str("# EOF\n");
    text
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_label_is_escaped_as_the_format_has_it() {
        assert_eq!(super::escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
