//! What is done over a mechanism, to which bytes, and when.

use serde::{Deserialize, Serialize};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Round trips, one at a time.
    Latency,
    /// A transfer one way, then one acknowledgement.
    Throughput,
    /// Set-up and tear-down of both ends, by one worker; nothing is sent.
    Connect,
    /// Round trips that are due at a fixed rate, timed from then on.
    Rate,
}

impl Workload {
    /// Every workload, by name.
    pub const ALL: [Workload; 4] =
        [Workload::Latency, Workload::Throughput, Workload::Connect, Workload::Rate];

    /// Those that are measured where none is named.
    pub const DEFAULT: [Workload; 2] = [Workload::Latency, Workload::Throughput];

    /// Its name on the command line and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Latency => "latency",
            Workload::Throughput => "throughput",
            Workload::Connect => "connect",
            Workload::Rate => "rate",
        }
    }

    /// Whether messages have a size in it: a set-up sends none.
    pub fn has_size(self) -> bool {
        self != Workload::Connect
    }
}

/// Which policy a case uses. Printed beside every throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// One buffer is sent again and again; nobody looks at it.
    Untouched,
    /// The sender writes every byte of every message.
    Written,
    /// The sender writes, the receiver reads every byte.
    Read,
}

impl Policy {
    /// Its name on the command line and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Untouched => "untouched",
            Policy::Written => "written",
            Policy::Read => "read",
        }
    }
}

/// How messages arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Independently of each other: the times between them are exponential.
    #[default]
    Poisson,
    /// At equal distances. A period that divides the kernel's tick meets the tick each time, or never.
    Periodic,
}

impl Arrivals {
    /// The names of all, the default first.
    pub const NAMES: [&'static str; 2] = ["poisson", "periodic"];
}
