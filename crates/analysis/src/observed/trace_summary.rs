//! What the traces of a case's launches show: system calls by what they returned, waits, who woke
//! whom, interrupts, bytes of sockets. Counts are per operation, both workers together: each
//! worker's are divided by what that worker did.
//!
//! Times are those of traced launches and hold the tracing overhead.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::MedianInterval;
use model::trace::Direction;

/// What was traced of a case.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct TraceSummary {
    /// Launches that were traced.
    pub launches: u64,
    /// System calls by name, the most frequent first.
    pub calls: Vec<CallSummary>,
    /// From a wake-up to running; null where nobody was woken.
    pub delay: Option<Wait>,
    /// From falling asleep to the wake-up.
    pub asleep: Option<Wait>,
    /// Waiting for the CPU though nothing else was missing: preempted, or yielding.
    pub displaced: Option<Wait>,
    /// Who was woken, by whom, from which CPU, and where it then ran.
    pub wake_ups: Vec<WakeUps>,
    /// Interrupts that the workers had sent.
    pub interrupts: Vec<InterruptSummary>,
    /// Operations of sockets by their bytes.
    pub socket: Vec<SocketSummary>,
    /// Things that found no room among what is counted, all launches together; 0 means that the
    /// counts are complete.
    pub lost: u64,
    /// Tracepoints that the kernel lacks: what they tell is missing above.
    pub missing: Vec<String>,
    /// What counters count too, by round from 1, under the names of [`study::counted::TRACED_EVENTS`].
    #[serde(skip)]
    pub events: BTreeMap<&'static str, Vec<Option<f64>>>,
    /// Whether a round was traced, from 1.
    #[serde(skip)]
    pub rounds: Vec<bool>,
}

/// How often system calls were made, and how long each took.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CallStats {
    /// How many per operation: the median over launches.
    pub per_operation: f64,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
    /// From entering to leaving, time asleep included: the median over launches of their means.
    pub mean_ns: f64,
    /// Bytes that a call asks for, on average; null where that isn't known.
    pub asked_bytes: Option<f64>,
    /// How many per operation, by round from 1.
    #[serde(skip)]
    pub by_round: Vec<Option<f64>>,
}

/// System calls of one name.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CallSummary {
    /// The name: `read`.
    pub name: String,
    /// All of them, whatever they returned.
    #[serde(flatten)]
    pub stats: CallStats,
    /// What a call returned on average, where it was no error and no address.
    pub mean_returned: Option<f64>,
    /// Apart by what they returned, the most frequent first.
    pub returned: Vec<Returned>,
    /// All that returned something rarer, per operation.
    pub others_per_operation: f64,
    /// Of `mean_returned`, by round from 1.
    #[serde(skip)]
    pub returned_by_round: Vec<Option<f64>>,
    /// How many returned each value, per operation, by round from 0; the rare ones too.
    #[serde(skip)]
    pub every: BTreeMap<i64, BTreeMap<usize, f64>>,
}

impl CallSummary {
    /// Those that returned `value`, by round from 1.
    pub(crate) fn returning(&self, value: i64) -> Vec<Option<f64>> {
        let counts = self.every.get(&value);
        let at =
            |round: usize| counts.and_then(|counts| counts.get(&round)).copied().unwrap_or(0.0);
        self.stats.by_round.iter().enumerate().map(|(round, all)| all.map(|_| at(round))).collect()
    }
}

/// System calls of one name that returned the same.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Returned {
    /// What they returned, or the negative of an error; null for addresses.
    pub value: Option<i64>,
    /// Those that returned it.
    #[serde(flatten)]
    pub stats: CallStats,
}

/// Waits of one kind.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Wait {
    /// How many per operation: the median over launches.
    pub per_operation: f64,
    /// The median over launches of their means.
    pub mean_ns: f64,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
    /// The longest of all launches.
    pub longest_ns: u64,
    /// How many of all launches took longer than a power of two.
    pub beyond: Vec<Beyond>,
    /// Of `mean_ns`, by round from 1.
    #[serde(skip)]
    pub by_round: Vec<Option<f64>>,
}

/// The share of waits that took so long, or longer.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Beyond {
    /// A power of two.
    pub ns: u64,
    /// From 0 to 1.
    pub share: f64,
}

/// One of the two workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Worker {
    /// Who begins each operation.
    Initiator,
    /// Who answers.
    Responder,
}

/// Wake-ups of one kind.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct WakeUps {
    /// Who was woken.
    pub woken: Worker,
    /// Whether by its partner: else by an interrupt, or by a stranger.
    pub by_partner: bool,
    /// CPU of the thread that woke it.
    pub from_cpu: u32,
    /// CPU where it then ran.
    pub to_cpu: u32,
    /// How many per operation, all launches together.
    pub per_operation: f64,
}

/// Interrupts from one CPU to another.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct InterruptSummary {
    /// The sender's.
    pub from_cpu: u32,
    /// The receiver's.
    pub to_cpu: u32,
    /// How many per operation, all launches together.
    pub per_operation: f64,
}

/// Operations of sockets that moved the same number of bytes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SocketSummary {
    /// Sent, or received.
    pub direction: Direction,
    /// Bytes of one, or the negative of an error; null for all that are rarer than those with a row.
    pub bytes: Option<i64>,
    /// How many per operation, all launches together.
    pub per_operation: f64,
}

impl TraceSummary {
    /// Something of the calls of a name, by round; 0 in every round where there were none.
    pub(crate) fn rounds_of(
        &self,
        name: &str,
        of: impl Fn(&CallSummary) -> Vec<Option<f64>>,
    ) -> Vec<Option<f64>> {
        match self.call(name) {
            Some(call) => of(call),
            None => self.rounds.iter().map(|traced| traced.then_some(0.0)).collect(),
        }
    }

    /// The calls of this name.
    pub fn call(&self, name: &str) -> Option<&CallSummary> {
        self.calls.iter().find(|call| call.name == name)
    }
}
