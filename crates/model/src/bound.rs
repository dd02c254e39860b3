//! What every round measures beside its launches, to hold them against: which of it fits a case, and what
//! was found. A floor can't be beaten; a yardstick can.

use crate::alignment::Alignment;
use crate::metric::{Metric, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something to hold results against.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// A cache line there and back between two CPUs that spin.
    CacheLine {
        /// The CPUs, the smaller first.
        cpus: [u32; 2],
    },
    /// A futex wake-up there and back between two threads that sleep.
    WakeUp {
        /// The CPUs, the smaller first; one CPU twice where both share it.
        cpus: [u32; 2],
    },
    /// Copying a message once from one buffer to another, both used again and again.
    Copy {
        /// Bytes of the message.
        bytes: u64,
        /// Where both buffers begin.
        align: Alignment,
    },
}

/// What a round found.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct RoundBound {
    /// Of what.
    pub of: Beside,
    /// Time of one: a round trip, or copying a message, in ns.
    pub ns: f64,
}

impl Beside {
    /// What fits a case of this machine; None of one that nothing here is like: an open loop, a set-up,
    /// spinning on one CPU, workers placed freely, wake-ups one way, a crowd.
    pub fn of(
        metric: &Metric,
        spins: bool,
        cpus: Option<(u32, u32)>,
        message: Option<(u64, Alignment)>,
    ) -> Option<Beside> {
        let pair = cpus.map(|(a, b)| [a.min(b), a.max(b)]);
        match (pair, message) {
            (_, Some(_)) if metric.unit == Unit::PerSecond => None,
            (_, Some((bytes, align))) if metric.is_transfer() && metric.messages == 1 => {
                Some(Beside::Copy { bytes, align })
            }
            _ if !metric.is_round_trip() => None,
            (Some([a, b]), _) if spins && a == b => None,
            (Some(cpus), _) if spins => Some(Beside::CacheLine { cpus }),
            (Some(cpus), _) => Some(Beside::WakeUp { cpus }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Operation;
    use crate::workload::Workload;

    #[test]
    fn each_case_is_compared_with_its_own_kind() {
        let round_trip = Metric::undeclared(Workload::Latency);
        let transfer = Metric { operation: Operation::Message, messages: 1, ..round_trip.clone() };
        let paced = Metric { paced: true, ..round_trip.clone() };
        let align = Alignment::Line;
        let of = |metric, spins, cpus| Beside::of(metric, spins, cpus, Some((64, align)));
        let line = Beside::CacheLine { cpus: [0, 1] };
        assert_eq!(of(&round_trip, true, Some((1, 0))), Some(line));
        assert_eq!(of(&round_trip, true, Some((1, 1))), None, "only the scheduler bounds it");
        let wake_up = Beside::WakeUp { cpus: [1, 1] };
        assert_eq!(of(&round_trip, false, Some((1, 1))), Some(wake_up));
        assert_eq!(of(&round_trip, false, None), None, "nobody knows where it ran");
        assert_eq!(of(&transfer, true, None), Some(Beside::Copy { bytes: 64, align }));
        assert_eq!(Beside::of(&transfer, false, Some((0, 1)), None), None);
        assert_eq!(of(&paced, false, Some((0, 1))), None);
        let stored = serde_json::to_string(&RoundBound { of: line, ns: 52.0 }).unwrap();
        assert_eq!(stored, r#"{"of":{"cache_line":{"cpus":[0,1]}},"ns":52.0}"#);
    }
}
