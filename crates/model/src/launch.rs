//! A launch: how it is made, and what it says of itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::counts::Counts;
use crate::cycles::Turns;
use crate::energy::Energy;
use crate::mechanism::{Datagrams, Unavailable};
use crate::memory::MemoryNodes;
use crate::named;
use crate::noise::{Noise, Traffic};
use crate::trace::{Marked, Traced};

/// How the reason of a launch begins whose time was up.
pub const DEADLINE_PASSED: &str = "deadline passed";
/// Most samples of a launch, 80 MB of them: more are a slip.
pub const MOST_SAMPLES: u64 = 10_000_000;

/// Whether the workers are processes or threads of one process.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Workers {
    /// Two forked processes.
    Process,
    /// Two threads of one process.
    Thread,
}

named!(Workers {
    Process => "process",
    Thread => "thread",
});

impl Workers {
    /// The kind of workers called `word`.
    ///
    /// # Errors
    /// The nearest right name.
    pub fn parse(word: &str) -> Result<Workers, String> {
        named::find("kind of workers", word, Workers::ALL, Workers::name)
    }
}

/// The parties of every workload: one or more initiators, and one responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Starts each exchange, and holds the clock. Numbered from 0; that one commands the others.
    Initiator(usize),
    /// Answers.
    Responder,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Role::Initiator(0) => f.write_str("initiator"),
            Role::Initiator(nth) => write!(f, "initiator {}", nth + 1),
            Role::Responder => f.write_str("responder"),
        }
    }
}

/// How long to warm up: whichever is reached first.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Warmup {
    /// Operations: round trips, or messages of a throughput.
    pub operations: u64,
    /// Time in ns.
    pub ns: u64,
}

impl Default for Warmup {
    /// A thousand operations or 5 ms, whichever is first.
    fn default() -> Warmup {
        Warmup { operations: 1000, ns: 5_000_000 }
    }
}

/// How many samples to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleCount {
    /// Exactly so many.
    Exactly(u64),
    /// As many as fit this time in ns, by the warm-up's estimate: for pilots.
    Lasting(u64),
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "status")]
pub enum Outcome {
    /// Measured.
    Ok,
    /// The mechanism can't carry this case.
    NotApplicable {
        /// Why.
        reason: String,
    },
    /// The mechanism can't be had here.
    Unavailable(Unavailable),
    /// Something went wrong: who, and how.
    Failed {
        /// The cause, naming the worker.
        reason: String,
    },
}

/// What one worker says of itself.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Resources used while timing; the responder's of round trips hold the lead too, unless the launch took turns.
    pub usage: Usage,
    /// CPUs it was seen on, between stretches of the timed part.
    pub cpus: Vec<u32>,
    /// Where its memory lay when all was timed; None of one that didn't get there, and of another language's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryNodes>,
    /// Messages known to be lost on their way to it.
    pub lost: u64,
    /// What became of the datagrams on their way to it, where it receives any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// What its end of the mechanism has counted since counting began, by name; empty where nothing
    /// can be lost.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub delivery_counts: BTreeMap<String, u64>,
    /// Initiator: ns per operation by the warm-up's last stretch.
    pub estimate_ns: f64,
    /// Initiator of a throughput: ns from a message to its acknowledgement, the shortest of the warm-up.
    pub ack_ns: f64,
    /// Initiator: operations of the warm-up.
    pub warmup_operations: u64,
    /// Initiator: ns that the warm-up took, and untimed operations right before samples. 0 in what was stored before.
    pub untimed_ns: f64,
    /// Initiator: the operations right before samples among them. Of round trips the responder's usage holds them too.
    pub lead_operations: u64,
    /// Initiator: all operations since it was told to go, the untimed ones too.
    pub operations: u64,
    /// Initiator: samples taken.
    pub samples: u64,
    /// Initiator: round trips or set-ups per sample, or messages per transfer.
    pub batch: u64,
    /// Initiator: how it was timed in turns with other launches; None of one that was timed whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<Turns>,
    /// Initiator of a latency: ns of the very first round trip after set-up, unverified and
    /// without any warm-up, to a partner that already waited for it.
    pub first_ns: Option<f64>,
    /// Initiator: the median of its samples, in ns per operation; put in where the launch is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_ns: Option<f64>,
    /// Initiator of an engine: what its loop and its clock take in ns with an empty operation in place of the mechanism; None of
    /// one that doesn't know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null_ns: Option<u64>,
    /// Parts of the metric that the workload tells by name, in their order and in the metric's unit: this worker's
    /// steps of a set-up. Empty where there are none, or where they are too short for the clock.
    pub parts: Vec<(String, f64)>,
    /// Initiator of a rate: how well it kept its schedule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub punctuality: Option<Punctuality>,
    /// Responder of a rate: what it worked over a request, where it was asked to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worked: Option<Worked>,
    /// Initiator of several connections: what became of each client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clients: Option<Clients>,
    /// What its counters said, where they were asked.
    pub counts: Option<Counts>,
    /// Where its timed part lies, for the trace that was asked to follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<Marked>,
    /// Why it stopped early.
    pub error: Option<String>,
    /// Set beside `error` where the mechanism could no longer be had.
    pub unavailable: Option<Unavailable>,
}

/// What a worker tells its supervisor.
#[derive(Serialize, Deserialize)]
pub enum Message {
    /// Pinned and faulted in; waiting for the word to go.
    Ready,
    /// The first initiator's turn is over, or its first one comes: it waits for the next.
    Paused,
    /// Finished, or stopped early.
    Report(Box<WorkerReport>),
}

/// What a launch says of itself; the samples follow.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Record {
    /// How it ended.
    pub outcome: Outcome,
    /// What the kernel granted the mechanism.
    pub effective_settings: BTreeMap<String, u64>,
    /// The first initiator's report.
    pub initiator: WorkerReport,
    /// Those of the initiators beside it; none in most launches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<WorkerReport>,
    /// The responder's report.
    pub responder: WorkerReport,
    /// What the machine did meanwhile; None where /proc couldn't be read.
    pub noise: Option<Noise>,
    /// What the kernel counted of UDP meanwhile, in the network namespace of the launch: all of its
    /// sockets together. None of mechanisms that send no datagrams over a network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// From the supervisor's first instruction to its workers being ready, in ns.
    pub setup_ns: u64,
    /// What the kernel did with the workers, where a trace was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Traced>,
    /// CPU time of what ran beside the workers meanwhile, in ns; None where nothing did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub company_ns: Option<u64>,
    /// What the packages of this machine used from right before its workers were told to go until they had
    /// reported; None where that wasn't asked, or can't be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<Energy>,
    /// The far side of a launch between two hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub far: Option<Box<FarSide>>,
}

/// What the far side of a launch says beside its worker's report.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FarSide {
    /// What the kernel there granted the mechanism.
    pub effective_settings: BTreeMap<String, u64>,
    /// What that machine did meanwhile.
    pub noise: Option<Noise>,
    /// What the kernel there counted of UDP meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// From its supervisor's first instruction to its worker being ready, in ns.
    pub setup_ns: u64,
}

impl Record {
    /// A record of a launch that never got to measure.
    pub fn without_samples(outcome: Outcome) -> Record {
        Record {
            outcome,
            effective_settings: BTreeMap::new(),
            initiator: WorkerReport::default(),
            others: Vec::new(),
            responder: WorkerReport::default(),
            noise: None,
            traffic: None,
            setup_ns: 0,
            trace: None,
            company_ns: None,
            energy: None,
            far: None,
        }
    }

    /// The reports of all initiators, in their order.
    pub fn initiators(&self) -> impl Iterator<Item = &WorkerReport> {
        std::iter::once(&self.initiator).chain(&self.others)
    }

    /// Samples that all initiators reported.
    pub fn reported_samples(&self) -> u64 {
        self.initiators().fold(0, |sum, initiator| sum.saturating_add(initiator.samples))
    }
}

impl From<Outcome> for Box<Record> {
    fn from(outcome: Outcome) -> Box<Record> {
        Box::new(Record::without_samples(outcome))
    }
}

impl Record {
    /// CPU time of the server of an open loop over how long it served; None of other workloads. Its account holds up to 16
    /// untimed messages too.
    pub fn server_cpus(&self) -> Option<f64> {
        let served = self.initiator.punctuality?.served_per_sec;
        let lasted_ns = self.initiator.samples as f64 * 1e9 / served;
        let used_ns = (self.responder.usage.user_ns + self.responder.usage.system_ns) as f64;
        (lasted_ns > 0.0 && lasted_ns.is_finite()).then_some(used_ns / lasted_ns)
    }
}

/// How well a launch kept its schedule.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Punctuality {
    /// Messages begun more than 1 µs after they were due.
    pub late: u64,
    /// Median of how late they were begun, in ns.
    pub median_ns: f64,
    /// Largest of it, in ns.
    pub max_ns: f64,
    /// Messages due per second, from when the first was due to when the last was.
    pub due_per_sec: f64,
    /// Messages answered per second, from when the first was due to when the last was begun: all others
    /// were answered by then.
    pub served_per_sec: f64,
    /// The most messages that were under way at once on one connection.
    pub deepest: u32,
    /// Messages sent more than `tolerance_ns` after they could have been: the depth allowed one more, the mechanism had
    /// room, and the sender was idle.
    pub sender_late: u64,
    /// Messages sent more than `tolerance_ns` late because their generator was serving another client. None of one
    /// connection.
    pub held: Option<u64>,
    /// Share of the time until its last message was begun in which the busiest generator of several connections had nothing
    /// to do, neither a message that was due and might go nor an answer. None of one connection, and of a generator
    /// that shares its CPU with the server.
    pub idle: Option<f64>,
    /// What counts as on time, in ns.
    pub tolerance_ns: f64,
    /// How many generators sent them; of several each has a CPU of its own.
    pub generators: u32,
}

impl Punctuality {
    /// A mechanism that serves a smaller share of what is due falls behind for good: what is due waits in
    /// a queue that grows, and its response times tell how long the launch was.
    pub const SERVED: f64 = 0.99;
    /// A sender that begins a smaller share on time offers another load than the one that was asked.
    pub const ON_TIME: f64 = 0.99;
    /// A generator with less to spare than this share of its time offers what it can, and not what was asked.
    pub const IDLE: f64 = 0.05;
    /// A server that uses so much of a CPU could not have served much more, whatever was offered.
    pub const BUSY: f64 = 0.9;

    /// Messages answered over those due.
    pub fn served_share(&self) -> f64 {
        self.served_per_sec / self.due_per_sec
    }

    /// Share of so many messages that the sender began on time.
    pub fn on_time_share(&self, messages: u64) -> f64 {
        1.0 - self.sender_late as f64 / messages.max(1) as f64
    }

    /// Share of so many messages that waited for their generator's other calls.
    pub fn held_share(&self, messages: u64) -> Option<f64> {
        self.held.map(|number| number as f64 / messages.max(1) as f64)
    }

    /// Whether the launch could not serve what was due.
    pub fn is_overloaded(&self) -> bool {
        self.served_share() < Punctuality::SERVED
    }

    /// Whether it was not offered so many messages as asked: the sender itself was late, or what was due was not
    /// served since a generator's calls took all of its time, while the server, which used so much of a CPU, had some left.
    pub fn is_void(&self, messages: u64, server_cpus: Option<f64>) -> bool {
        let late = self.on_time_share(messages) < Punctuality::ON_TIME;
        late || self.is_overloaded() && Punctuality::ends_first(self.idle, server_cpus)
    }

    /// Whether a generator that was idle for such a share of the time came to its end before a server that used so much of a
    /// CPU.
    pub fn ends_first(idle: Option<f64>, server_cpus: Option<f64>) -> bool {
        let spare = server_cpus.is_none_or(|server_cpus| server_cpus < Punctuality::BUSY);
        spare && idle.is_some_and(|value| value < Punctuality::IDLE)
    }
}

/// What a server worked over a request, in the mean of all that it answered, those before the first sample
/// included: how well its spinning is calibrated.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Worked {
    /// What was asked of it, as drawn, in ns.
    pub asked_ns: f64,
    /// What it took, in ns: longer by the clock's reads, and where it lost its CPU.
    pub took_ns: f64,
}

/// The clients of one launch: a column per quantity and in each a value per client, in the order of their
/// connections.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Clients {
    /// Requests that were due.
    pub due: Vec<u64>,
    /// Of these the ones whose answers were in when the last request of all clients was due.
    pub served: Vec<u64>,
    /// Median of its response times, in ns; None where it had no request.
    pub p50_ns: Vec<Option<u64>>,
    /// Their 99th percentile, in ns; None where it had fewer requests than that takes.
    pub p99_ns: Vec<Option<u64>>,
}

impl Clients {
    /// Adds a client of so many `served` requests, whose response times in ns are `responses`, in any order.
    pub fn push(&mut self, served: u64, mut responses: Vec<f64>) {
        responses.sort_by(f64::total_cmp);
        let count = responses.len() as u64;
        let at = |p: f64| stats::quantile(&responses, p).round() as u64;
        self.due.push(count);
        self.served.push(served);
        self.p50_ns.push((count > 0).then(|| at(0.5)));
        self.p99_ns.push((count >= stats::samples_needed(0.99)).then(|| at(0.99)));
    }

    /// Of each client that had a request, the share of them that was served.
    pub fn shares(&self) -> Vec<f64> {
        let asked = self.due.iter().zip(&self.served).filter(|(due, _)| **due > 0);
        asked.map(|(due, served)| *served as f64 / *due as f64).collect()
    }
}

/// What a thread has used since it began (getrusage(2), RUSAGE_THREAD), or a process with all its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Usage {
    /// Time in user mode, in ns (microsecond steps, and coarser where the kernel samples).
    pub user_ns: u64,
    /// Time in kernel mode, in ns.
    pub system_ns: u64,
    /// Switches because the thread slept.
    pub voluntary_switches: u64,
    /// Switches because the scheduler took the CPU away.
    pub involuntary_switches: u64,
    /// Page faults served without input or output.
    pub minor_faults: u64,
    /// Page faults that had to read from a disk.
    pub major_faults: u64,
    /// Of a process the threads that it had; 0 of a thread.
    #[serde(default, skip_serializing_if = "crate::json::is_default")]
    pub threads: u64,
}

impl Usage {
    /// What two used together, or one in two stretches: of the threads the most that there were.
    pub fn with(&self, other: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            threads: self.threads.max(other.threads),
        }
    }

    /// `part` of `whole` of it.
    pub fn part(&self, part: u64, whole: u64) -> Usage {
        let of = |count: u64| (count as f64 * part as f64 / whole.max(1) as f64).round() as u64;
        Usage {
            user_ns: of(self.user_ns),
            system_ns: of(self.system_ns),
            voluntary_switches: of(self.voluntary_switches),
            involuntary_switches: of(self.involuntary_switches),
            minor_faults: of(self.minor_faults),
            major_faults: of(self.major_faults),
            threads: self.threads,
        }
    }

    /// What was used between `earlier` and `self`.
    pub fn since(&self, earlier: &Usage) -> Usage {
        Usage {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            threads: self.threads,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_one_initiator_is_kept_as_before() {
        let record = Record::without_samples(Outcome::Ok);
        let kept = serde_json::to_value(&record).unwrap();
        assert!(kept.get("others").is_none(), "{kept}");
        assert_eq!(serde_json::from_value::<Record>(kept).unwrap(), record);
    }

    #[test]
    fn a_client_has_no_percentile_that_its_requests_cannot_support() {
        let mut clients = Clients::default();
        clients.push(3, vec![3.0, 1.0, 2.0, 4.0]);
        clients.push(0, Vec::new());
        clients.push(1_000, (0..1_001).map(f64::from).collect());
        assert_eq!((clients.due[0], clients.p50_ns[0], clients.p99_ns[0]), (4, Some(3), None));
        assert_eq!((clients.due[1], clients.p50_ns[1]), (0, None));
        assert_eq!((clients.p50_ns[2], clients.p99_ns[2]), (Some(500), Some(990)));
        assert_eq!(clients.shares(), [0.75, 1_000.0 / 1_001.0]);
    }

    #[test]
    fn a_part_is_rounded_to_the_nearest() {
        let all = Usage { user_ns: 1_000, voluntary_switches: 7, ..Usage::default() };
        let part = all.part(3, 4);
        assert_eq!((part.user_ns, part.voluntary_switches, part.major_faults), (750, 5, 0));
        assert_eq!(all.part(4, 4), all);
    }
}
