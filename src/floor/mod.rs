//! Floors, which no mechanism of this machine can beat, and yardsticks, which one may beat: measured
//! beside the results.
//!
//! What a clock costs and how fine it is, what entering the kernel costs, how fast memory is
//! copied, how long a cache line takes to another CPU and back, how long waking a sleeping
//! thread takes. A result then reads as "1.3 × the wake-up" and needs no folklore.
//!
//! The coordinator never measures: `owner` starts this program anew, and `worker` measures in
//! that process, single-threaded until a part needs a partner, each thread pinned. `rounds` measures in
//! every round of a run what its cases are held against.
//!
//! | file | what it measures | in the quick set | in full |
//! | --- | --- | --- | --- |
//! | `clocks.rs` | cost, smallest step, disagreement of clocks | 20 ms | 1.1 s |
//! | `calls.rs` | trivial system calls | 10 ms | 40 ms |
//! | `line.rs` | round trip of a cache line between CPUs | the pairs of the run | all pairs, or 1.5 s of them |
//! | `wake_up.rs` | round trip of two threads that sleep | 0.2 s a relation | 0.5 s a relation |
//! | `copy.rs` | copying inside each cache, and memory | 0.3 s | 0.6 s |

mod owner;
mod repeats;
mod rounds;
mod worker;

pub mod calls;
pub mod clocks;
pub mod copy;
pub mod line;
pub mod wake_up;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use calls::{Call, Calls};
pub use clocks::{ClockFloor, Clocks};
pub use copy::{Copied, Copy, CopyLevel};
pub use line::{LinePair, Lines};
pub use owner::{measure, measure_by};
pub use repeats::{Modes, Repeats};
pub use rounds::Rounds;
pub use wake_up::{RoundTrip, WakeUp, WakeUps};
pub use worker::serve;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// What every run measures at its start: under 1.5 s.
    Quick,
    /// What `ipcmark floor` measures: under 6 s.
    Full,
}

/// What is asked of the floor process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// How much.
    pub extent: Extent,
    /// Quick: the CPU pairs that the run's cases use; a pair may be one CPU twice.
    pub pairs: Vec<(u32, u32)>,
    /// Quick: whether workers may be anywhere, so that each relation between CPUs matters.
    pub anywhere: bool,
}

impl Order {
    /// Everything.
    pub fn full() -> Order {
        Order { extent: Extent::Full, pairs: Vec::new(), anywhere: true }
    }
}

/// Why a floor is missing: a sentence that ends with the way out where there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FloorsUnavailable {
    /// The reason.
    pub reason: String,
}

impl FloorsUnavailable {
    /// For this reason.
    pub fn because(reason: impl Into<String>) -> FloorsUnavailable {
        FloorsUnavailable { reason: reason.into() }
    }
}

impl fmt::Display for FloorsUnavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// A part of the floors: measured, or the reason why not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part<T> {
    /// What was found.
    Measured(T),
    /// Why there is nothing.
    Unavailable(FloorsUnavailable),
}

impl<T> Part<T> {
    /// Absent, for this reason.
    pub fn absent(reason: impl Into<String>) -> Part<T> {
        Part::Unavailable(FloorsUnavailable::because(reason))
    }

    /// What was found, or why nothing was.
    pub fn get(&self) -> Result<&T, &FloorsUnavailable> {
        match self {
            Part::Measured(it) => Ok(it),
            Part::Unavailable(why) => Err(why),
        }
    }
}

impl<T> From<Result<T, String>> for Part<T> {
    fn from(result: Result<T, String>) -> Part<T> {
        result.map_or_else(Part::absent, Part::Measured)
    }
}

/// The floors of a machine, as one process found them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Floors {
    /// How much was measured.
    pub extent: Extent,
    /// The CPU on which everything was measured that needs only one; None before it is known.
    pub cpu: Option<u32>,
    /// How long the process took, in ns.
    pub took_ns: u64,
    /// The clocks of this machine.
    pub clocks: Part<Clocks>,
    /// Trivial system calls.
    pub calls: Part<Calls>,
    /// Round trips of a cache line.
    pub line: Part<Lines>,
    /// Round trips of two threads that sleep.
    pub wake_up: Part<WakeUps>,
    /// Copying.
    pub copy: Part<Copy>,
}

/// The reason of a part that comes later, until it is measured.
const NOT_YET: &str = "the floor process ended before it was measured";

impl Floors {
    /// Floors of which nothing is known, for this reason.
    pub fn unavailable(extent: Extent, reason: &str) -> Floors {
        Floors {
            extent,
            cpu: None,
            took_ns: 0,
            clocks: Part::absent(reason),
            calls: Part::absent(reason),
            line: Part::absent(reason),
            wake_up: Part::absent(reason),
            copy: Part::absent(reason),
        }
    }

    /// Every part that is missing, by name, with the reason.
    pub fn missing(&self) -> Vec<(&'static str, &FloorsUnavailable)> {
        let parts = [
            ("clocks", self.clocks.get().err()),
            ("kernel calls", self.calls.get().err()),
            ("cache line", self.line.get().err()),
            ("wake-ups", self.wake_up.get().err()),
            ("copy", self.copy.get().err()),
        ];
        parts.into_iter().filter_map(|(name, why)| Some((name, why?))).collect()
    }

    /// Whether no part was measured.
    pub fn is_empty(&self) -> bool {
        self.missing().len() == 5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_floors_name_every_part_and_survive_json() {
        let floors = Floors::unavailable(Extent::Quick, "killed by signal 9");
        assert!(floors.is_empty());
        assert!(floors.missing().iter().all(|(_, why)| why.reason == "killed by signal 9"));
        let text = serde_json::to_string(&floors).unwrap();
        assert!(
            text.contains(r#""copy":{"unavailable":{"reason":"killed by signal 9"}}"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Floors>(&text).unwrap(), floors);
    }
}
