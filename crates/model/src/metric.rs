//! What a workload yields: the quantity, its unit, which way is better, and the words for it. A
//! workload declares it beside its loops; the catalogue of a run keeps it, and analysis and report
//! ask it instead of the workload's name.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::units::Unit;
use crate::workload::{Workload, WorkloadTraits};

/// A text that a build declares, and a stored run brings back.
pub type Word = Cow<'static, str>;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// A time: less of it.
    Lower,
    /// A rate: more of it.
    Higher,
}

/// What is done once, and timed or counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// A message and its answer.
    RoundTrip,
    /// A message one way; many make a transfer, which is a sample.
    Message,
    /// Both ends opened and closed; nothing is sent.
    SetUp,
}

impl Operation {
    /// What one is called: `round trip`.
    pub fn noun(self) -> &'static str {
        match self {
            Operation::RoundTrip => "round trip",
            Operation::Message => "message",
            Operation::SetUp => "set-up",
        }
    }
}

/// The quantity that a workload yields.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Metric {
    /// Its name in exports: `latency`.
    pub name: Word,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// What is done once.
    pub operation: Operation,
    /// Messages that one operation carries, both ways together.
    pub messages: u64,
    /// Whether operations are due by a schedule, and timed from then on.
    pub paced: bool,
    /// The heading of its figures: `Latency`.
    pub section: Word,
    /// The head of a table or a row: `Round trip`.
    pub title: Word,
    /// Many of what is measured: `Round trips`.
    pub plural: Word,
    /// What follows `plural` where a size is given, `{}` for it: ` of {}`.
    pub of: Word,
    /// The label of its axis: `round trip`.
    pub axis: Word,
    /// What tells a case of it from that of another workload, behind a comma; empty of the usual ones.
    pub qualifier: Word,
    /// What it is, in one sentence.
    pub definition: Word,
}

impl Metric {
    /// That of a workload which a catalogue doesn't know, as far as its traits tell, under its own name.
    pub fn undeclared(workload: Workload) -> Metric {
        let WorkloadTraits { name, transfers, paced, sets_up, .. } = workload.traits();
        let name = Cow::Borrowed(name);
        let (unit, better, operation, messages) = if transfers {
            (Unit::BytesPerSecond, Better::Higher, Operation::Message, 1)
        } else if sets_up {
            (Unit::Nanoseconds, Better::Lower, Operation::SetUp, 0)
        } else {
            (Unit::Nanoseconds, Better::Lower, Operation::RoundTrip, 2)
        };
        Metric {
            unit,
            better,
            operation,
            messages,
            paced,
            section: name.clone(),
            title: name.clone(),
            plural: name.clone(),
            of: Cow::Borrowed(" of {}"),
            axis: name.clone(),
            qualifier: name.clone(),
            definition: Cow::Borrowed(""),
            name,
        }
    }

    /// Whether it is a time: then a sample may be a single operation, and has percentiles.
    pub fn is_time(&self) -> bool {
        self.unit == Unit::Nanoseconds
    }

    /// Whether it is the time of round trips that follow each other.
    pub fn is_round_trip(&self) -> bool {
        self.operation == Operation::RoundTrip && !self.paced
    }

    /// Whether operations move messages one way, as many as a transfer holds.
    pub fn is_transfer(&self) -> bool {
        self.operation == Operation::Message
    }

    /// Whether it is a set-up: no message is sent, and nothing has a size.
    pub fn is_set_up(&self) -> bool {
        self.operation == Operation::SetUp
    }

    /// Many of them, of messages of a size in words; `Round trips of 64 B`, `Wake-ups one way`.
    pub fn many(&self, size: &str) -> String {
        format!("{}{}", self.plural, self.of.replace("{}", size))
    }

    /// From ns per operation to its unit, for messages of so many bytes.
    pub fn of_ns(&self, ns: f64, message_bytes: Option<u64>) -> f64 {
        match self.unit {
            Unit::Nanoseconds => ns,
            Unit::BytesPerSecond => {
                self.messages as f64 * message_bytes.unwrap_or(1) as f64 * 1e9 / ns
            }
            Unit::PerSecond => self.messages as f64 * 1e9 / ns,
            // A time says nothing of them.
            _ => f64::NAN,
        }
    }
}

/// What a workload yields.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Measured {
    /// Which workload.
    pub workload: Workload,
    /// Of mechanisms that carry bytes.
    pub bytes: Metric,
    /// Of those that carry wake-ups, or nothing.
    pub signals: Metric,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(unit: Unit) -> Metric {
        let declared = Metric::undeclared(Workload::Throughput);
        let operation = Operation::Message;
        Metric { unit, better: Better::Higher, operation, messages: 1, ..declared }
    }

    #[test]
    fn a_time_stays_and_a_rate_is_of_what_a_second_holds() {
        assert_eq!(metric(Unit::Nanoseconds).of_ns(500.0, Some(64)), 500.0);
        assert_eq!(metric(Unit::BytesPerSecond).of_ns(500.0, Some(64)), 64.0 * 2e6);
        assert_eq!(metric(Unit::PerSecond).of_ns(500.0, None), 2e6);
    }

    #[test]
    fn what_is_stored_comes_back() {
        let all = metric(Unit::PerSecond);
        let text = serde_json::to_string(&all).unwrap();
        assert!(text.contains(r#""unit":"per_sec","better":"higher","operation":"message""#));
        assert_eq!(serde_json::from_str::<Metric>(&text).unwrap(), all);
    }
}
