//! The summary of a traced launch: counts and times that the kernel's programs summed up
//! while the workers were timed. Times are of CLOCK_MONOTONIC and hold the tracing overhead.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the trace of one launch says.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Traced {
    /// Of the initiator.
    pub initiator: Deeds,
    /// Of the responder, which begins a little earlier than the initiator: its first operations
    /// are untimed ones.
    pub responder: Deeds,
    /// Its round trips taken apart, where events were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trips: Option<Trips>,
    /// How often the programs ran while the initiator was timed, by tracepoint, all copies
    /// together. Empty programs don't count.
    pub firings: BTreeMap<String, Firings>,
    /// Tracepoints that were wanted and that this kernel lacks; of several that would do for one
    /// another only where it lacks all.
    pub missing: Vec<String>,
    /// Things that found no room among what is counted; 0 means that the counts are complete.
    pub lost: u64,
    /// Events that were kept for the order of things: only of latencies.
    pub events: u64,
    /// Later events, for which there was no room.
    pub events_lost: u64,
    /// How long it took to load the programs, before the workers were said to be ready, in ns.
    pub loading_ns: u64,
    /// How long to attach them: after the word to go, and before anything is timed.
    pub attaching_ns: u64,
    /// What getppid(2) cost the supervisor right before they were attached, in ns.
    pub bare_call_ns: f64,
    /// The same right after, in ns: a tracepoint of system calls makes each of them of every
    /// process take the kernel's slow way, beside what the programs do there.
    pub attached_call_ns: f64,
    /// How long to detach them: once both workers had reported.
    pub detaching_ns: u64,
}

/// What one worker did, and what was done to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Deeds {
    /// Operations meanwhile: round trips, messages of a throughput, or set-ups.
    pub operations: u64,
    /// From its first mark to its last, in ns.
    pub window_ns: u64,
    /// System calls, apart by what they returned; the most frequent first.
    pub calls: Vec<Calls>,
    /// From the wake-up's beginning (or from falling asleep, if that came later) to running.
    pub delays: Spread,
    /// From falling asleep to the wake-up's beginning.
    pub sleeps: Spread,
    /// Waiting to run though nothing but the CPU was missing: preempted, or yielding.
    pub waits: Spread,
    /// Who woke it, from which CPU, and where it then ran.
    pub woken: Vec<Woken>,
    /// Interrupts that it had sent to other CPUs.
    pub interrupts: Vec<Interrupts>,
    /// Operations of its sockets.
    pub socket: Vec<SocketBytes>,
}

/// System calls of one kind that returned the same.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Calls {
    /// The name: `read`, or `call 123` for one that mechanisms don't use.
    pub name: String,
    /// What they returned, or the negative of an error; None for addresses.
    pub returned: Option<i64>,
    /// How many.
    pub count: u64,
    /// From entering to leaving, all together, in ns; time asleep in them included.
    pub total_ns: u64,
    /// Bytes that they asked for, all together, where the third argument is a length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asked_bytes: Option<u64>,
}

/// Durations: how many, how long together, and how they lie.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Together, in ns.
    pub total_ns: u64,
    /// The longest, in ns.
    pub longest_ns: u64,
    /// How many took from 2^n to below 2^(n+1) ns, for n from 0 (which holds 0 ns too) to the
    /// longest.
    pub log2_ns: Vec<u64>,
}

/// Wake-ups of one kind.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Woken {
    /// Whether the partner was running where it was woken: else an interrupt or a stranger.
    pub by_partner: bool,
    /// CPU of the thread that woke it.
    pub from_cpu: u32,
    /// CPU where it then ran.
    pub to_cpu: u32,
    /// How many.
    pub count: u64,
}

/// Interrupts from one CPU to another.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Interrupts {
    /// The sender's.
    pub from_cpu: u32,
    /// The receiver's.
    pub to_cpu: u32,
    /// How many.
    pub count: u64,
}

/// Operations of sockets that moved the same number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SocketBytes {
    /// Sent, or received.
    pub direction: Direction,
    /// Bytes of one operation, or the negative of an error.
    pub bytes: i64,
    /// How many.
    pub count: u64,
}

/// Which way a socket's bytes go.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Out of the worker.
    Sent,
    /// Into it.
    Received,
}

/// How often programs ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Firings {
    /// For something that a worker did, or that was done to one.
    pub of_workers: u64,
    /// For others on this machine: they cost the workers only where they share a CPU.
    pub of_others: u64,
}

/// Where a worker's timed part lies, as the worker says itself.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Marked {
    /// Right after its first mark, before it stamps for the first time.
    pub begun: Instant,
    /// Right before its last mark, after it stamped for the last time.
    pub ended: Instant,
    /// Operations in between.
    pub operations: u64,
    /// Initiator of round trips: the stamp that closed each stretch of samples, in ticks. Stretches are
    /// equally long, but for the last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<u64>,
}

/// One moment by two clocks: the one that stamps samples, and the one of events. Two of them lay
/// samples onto events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Instant {
    /// By the clock that stamps, in ticks: the middle of two reads.
    pub ticks: u64,
    /// By CLOCK_MONOTONIC, in ns, read between these two.
    pub monotonic_ns: u64,
}

impl Traced {
    /// Both workers, the initiator first.
    pub fn workers(&self) -> [&Deeds; 2] {
        [&self.initiator, &self.responder]
    }
}

impl Deeds {
    /// System calls of this name, whatever they returned: for tests and tools that check counts.
    pub fn calls_of(&self, name: &str) -> u64 {
        self.calls.iter().filter(|call| call.name == name).map(|call| call.count).sum()
    }
}

/// What the holder of a message can be doing.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Runs its own code: the loop, the clock, a mechanism in shared memory, spinning.
    Program,
    /// Runs in the kernel, in a system call.
    Call,
    /// Is being woken: from the moment that somebody begins to until it stands in a queue.
    Waking,
    /// The same, while an interrupt that was sent for it isn't taken yet.
    Interrupt,
    /// Is awake, and waits for a CPU that its partner doesn't use either.
    Waiting,
    /// Has been given a CPU in the midst of a call, and has not done anything yet that can be seen:
    /// the switch, and the rest of the call in which it slept.
    Switching,
    /// Sleeps, and so does its partner or runs on: nobody that is seen has the message.
    Asleep,
}

impl Part {
    /// Every part, in the order in which a message meets them.
    pub const ALL: [Part; 7] = [
        Part::Program,
        Part::Call,
        Part::Waking,
        Part::Interrupt,
        Part::Waiting,
        Part::Switching,
        Part::Asleep,
    ];
}

/// The round trips of a launch, decomposed.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Trips {
    /// Round trips, or batches of them, that the stream of events holds whole; of very many only the
    /// first ones.
    pub of: u64,
    /// Those near the median that the means below are of: the middle half.
    pub used: u64,
    /// Their mean, in ns.
    pub mean_ns: f64,
    /// Its parts, which add up to it.
    pub parts: BTreeMap<Part, Share>,
    /// System calls that the holder entered in each.
    pub calls: f64,
    /// From leaving one system call to entering the next, in ns: the median of the quickest kind of
    /// such a way, in which the program does next to nothing. None where few trips have any.
    pub crossing_ns: Option<f64>,
}

impl Trips {
    /// The same of each of `batch` round trips that were decomposed as one.
    pub fn of_each(mut self, batch: f64) -> Trips {
        self.mean_ns /= batch;
        self.calls /= batch;
        for share in self.parts.values_mut() {
            share.ns /= batch;
            share.firings /= batch;
        }
        self
    }
}

/// A part of a mean round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Share {
    /// How long, in ns.
    pub ns: f64,
    /// How often a program fired at the beginning of such an interval, which includes its overhead.
    pub firings: f64,
}
