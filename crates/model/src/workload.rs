//! What is done over a mechanism, to which bytes, and when.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::arrivals::Arrivals;
use crate::named;

/// What is done.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// Round trips, one at a time.
    Latency,
    /// A transfer one way, then one acknowledgement.
    Throughput,
    /// A transfer each way at once, then one acknowledgement each way.
    Duplex,
    /// Set-up and tear-down: of a connection by both workers, of what needs none by one; nothing is sent.
    Connect,
    /// Round trips that are due at a fixed rate, timed from then on.
    Rate,
    /// Many senders to many receivers at once, as in hackbench.
    Messaging,
    /// Each message to several receivers, until all have acknowledged it.
    FanOut,
    /// A transfer from several writers to several readers that share a connection.
    Shared,
}

impl Workload {
    /// Every workload, by name.
    pub const ALL: [Workload; 8] = [
        Workload::Latency,
        Workload::Throughput,
        Workload::Duplex,
        Workload::Connect,
        Workload::Rate,
        Workload::Messaging,
        Workload::FanOut,
        Workload::Shared,
    ];

    /// Those that are measured where none is named.
    pub const DEFAULT: [Workload; 2] = [Workload::Latency, Workload::Throughput];

    /// The workload called `word`.
    ///
    /// # Errors
    /// The nearest right name.
    pub fn parse(word: &str) -> Result<Workload, String> {
        named::find("workload", word, Workload::ALL, Workload::name)
    }

    /// What it says of itself as data. The one place where workloads are told apart by name: whoever
    /// plans, sizes, times or stores asks here.
    pub const fn traits(self) -> WorkloadTraits {
        const ROUND_TRIPS: WorkloadTraits = WorkloadTraits {
            name: "latency",
            summary: "",
            has_size: true,
            size: 64,
            sizes: &[64, 4 << 10],
            transfers: false,
            paced: false,
            sets_up: false,
            back_to_back: true,
            many_initiators: true,
            nonblocking: false,
            crowd: 0,
            shares: false,
            receivers: 0,
        };
        match self {
            Workload::Latency => ROUND_TRIPS,
            Workload::Throughput => WorkloadTraits {
                name: "throughput",
                size: 64 << 10,
                sizes: &[64, 64 << 10],
                transfers: true,
                back_to_back: false,
                many_initiators: false,
                ..ROUND_TRIPS
            },
            Workload::Duplex => WorkloadTraits {
                name: "duplex",
                summary: "a transfer each way at once",
                nonblocking: true,
                ..Workload::Throughput.traits()
            },
            Workload::Connect => WorkloadTraits {
                name: "connect",
                summary: "set-up and tear-down: of connections in both workers, of all else in one",
                has_size: false,
                sizes: &[64],
                sets_up: true,
                back_to_back: false,
                many_initiators: false,
                ..ROUND_TRIPS
            },
            Workload::Rate => WorkloadTraits {
                name: "rate",
                summary: "round trips that are due at a fixed --rate, timed from then on",
                sizes: &[64],
                paced: true,
                back_to_back: false,
                many_initiators: false,
                ..ROUND_TRIPS
            },
            Workload::Messaging => WorkloadTraits {
                name: "messaging",
                summary: "20 senders, or --connections, to each of as many receivers, as hackbench",
                size: 100,
                sizes: &[100],
                nonblocking: true,
                crowd: 20,
                ..Workload::Throughput.traits()
            },
            Workload::Shared => WorkloadTraits {
                name: "shared",
                summary: "a transfer over one connection, or --connections, which --writers and --readers share",
                size: 64,
                sizes: &[64, 4 << 10],
                crowd: 1,
                shares: true,
                ..Workload::Messaging.traits()
            },
            Workload::FanOut => WorkloadTraits {
                name: "fan-out",
                summary: "each message to 8 receivers, or --connections, until all have acknowledged it",
                sizes: &[64],
                back_to_back: false,
                many_initiators: false,
                nonblocking: true,
                receivers: 8,
                ..ROUND_TRIPS
            },
        }
    }

    /// Its name on the command line and in the store.
    pub const fn name(self) -> &'static str {
        self.traits().name
    }

    /// Whether messages have a size in it: a set-up sends none.
    pub const fn has_size(self) -> bool {
        self.traits().has_size
    }
}

/// What a workload says of itself, for those who don't see its loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkloadTraits {
    /// Its name on the command line and in the store.
    pub name: &'static str,
    /// What it is, for `--help`; empty of what its name says.
    pub summary: &'static str,
    /// Whether messages have a size in it: a set-up sends none.
    pub has_size: bool,
    /// The message size where none is asked for, in bytes. Without a size of its own, the one that
    /// mechanisms are opened for.
    pub size: u64,
    /// The message sizes where more is asked for than one (`--full`).
    pub sizes: &'static [u64],
    /// Whether a sample is a transfer of a batch of messages, which has a total and which what carries
    /// no bytes can't make. A sample is a batch of single operations else.
    pub transfers: bool,
    /// Whether messages are due at a rate that must be asked for. Then they are never batched.
    pub paced: bool,
    /// Whether operations are set-ups, so that nothing is sent.
    pub sets_up: bool,
    /// Whether it is round trips back to back: the stamp that closes a sample opens the next, so that a
    /// trace can be laid on them, and the very first one since set-up is timed by itself.
    pub back_to_back: bool,
    /// Whether its responder can serve several initiators.
    pub many_initiators: bool,
    /// Whether it asks the ends without waiting, so that a mechanism which blocks can't be measured.
    pub nonblocking: bool,
    /// How many processes or threads each worker has of its own, and how many connections both share among them,
    /// where no load says how many; 0 where the workers are all there is.
    pub crowd: u32,
    /// Whether its writers and readers, of which the case says how many, share each connection, and messages may come in pieces.
    pub shares: bool,
    /// How many receivers the responder has, each in a thread of its own, where no load says how many; 0 where it is
    /// the one.
    pub receivers: u32,
}

impl WorkloadTraits {
    /// Whether it has as many connections as it is asked for, without a schedule.
    pub const fn many_connections(&self) -> bool {
        self.crowd > 0 || self.receivers > 0
    }

    /// The most connections that it can have; None where nothing of its own limits them. One byte of a message says
    /// which member of a crowd sent it.
    pub const fn most_connections(&self) -> Option<u32> {
        if self.crowd > 0 { Some(u8::MAX as u32) } else { None }
    }

    /// Connections of a launch, where no load says how many.
    pub const fn connections(&self) -> u32 {
        if self.crowd > 0 {
            self.crowd
        } else if self.receivers > 0 {
            self.receivers
        } else {
            1
        }
    }
}

/// Which policy a case uses. Printed beside every throughput.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// One buffer is sent again and again; nothing reads it.
    Untouched,
    /// The sender writes every byte of every message.
    Written,
    /// The sender writes, the receiver reads every byte.
    Read,
}

named!(Policy {
    Untouched => "untouched",
    Written => "written",
    Read => "read",
});

impl Policy {
    /// The policy called `word`.
    ///
    /// # Errors
    /// The nearest right name.
    pub fn parse(word: &str) -> Result<Policy, String> {
        named::find("payload policy", word, Policy::ALL, Policy::name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workload_has_a_name_of_its_own_which_is_its_word_in_the_store() {
        for workload in Workload::ALL {
            let kept = serde_json::to_value(workload).unwrap();
            assert_eq!(kept, workload.name());
            let named = Workload::ALL.into_iter().filter(|other| other.name() == workload.name());
            assert_eq!(named.count(), 1);
            assert!(!workload.traits().sizes.is_empty());
        }
    }
}
