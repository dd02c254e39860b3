//! What a launch is told, and what it tells: the two records that cross the process boundary.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::paced::Punctuality;
use super::plant::{self, Plant};
use mechanisms::network::Cookie;
use mechanisms::workload::schedule::Arrivals;
use mechanisms::workload::{Policy, Workload};
use mechanisms::{Datagrams, OpenSpec, Unavailable, Variant};
use model::counts::Counts;
use model::noise::{Noise, Traffic};
use model::probe::Probe;
use model::trace::{Marked, Traced};
use sys::process::Usage;

/// What both sides of the wire must agree on; another build is refused, with both named.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "/wire-5");

/// Most samples of a launch, 80 MB of them: more are a slip.
pub const MOST_SAMPLES: u64 = 10_000_000;
/// Longest launch of an open number of samples, in ns.
const LONGEST_NS: u64 = 10_000_000_000;

/// Whether the workers are processes or threads of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workers {
    /// Two forked processes.
    Process,
    /// Two threads of one process.
    Thread,
}

impl Workers {
    /// Its name on the command line and in the store.
    pub fn name(self) -> &'static str {
        match self {
            Workers::Process => "process",
            Workers::Thread => "thread",
        }
    }
}

/// The two parties of every workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Starts each exchange, and holds the clock.
    Initiator,
    /// Answers.
    Responder,
}

impl std::fmt::Display for Role {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Role::Initiator => "initiator",
            Role::Responder => "responder",
        })
    }
}

/// How long to warm up: whichever is reached first.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SampleCount {
    /// Exactly so many.
    Exactly(u64),
    /// As many as fit this time in ns, by the warm-up's estimate: for pilots.
    Lasting(u64),
}

/// One launch, completely described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// [`BUILD`] of the coordinator.
    pub build: String,
    /// The variant, as text: `tcp:nodelay=off`.
    pub mechanism: String,
    /// What is done.
    pub workload: Workload,
    /// Bytes of a message (1 where the mechanism carries none); of a connect, those of the
    /// message that it is opened for.
    pub message_bytes: usize,
    /// Processes or threads.
    pub workers: Workers,
    /// CPU of the initiator; None leaves the worker free.
    pub initiator_cpu: Option<u32>,
    /// CPU of the responder; None leaves the worker free.
    pub responder_cpu: Option<u32>,
    /// What happens to the bytes.
    pub payload: Policy,
    /// Check every message instead of following the payload policy.
    pub verify: bool,
    /// Untimed operations before the first sample.
    pub warmup: Warmup,
    /// How many samples.
    pub samples: SampleCount,
    /// Latency: round trips per sample. Connect: set-ups per sample. Throughput: messages per transfer; 0 lets the warm-up's
    /// estimate choose what lasts about 20 ms (pilots).
    pub batch: u64,
    /// Messages due per second; None of other workloads than a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// How these messages arrive.
    #[serde(default)]
    pub arrivals: Arrivals,
    /// The clock that stamps.
    pub clock: model::clock::Kind,
    /// Its scale, for durations in this spec; samples stay in ticks.
    pub ns_per_tick: f64,
    /// How long the launch may take from `go` to its reports, in ms.
    pub deadline_ms: u64,
    /// Bytes by which message buffers are shifted inside their page.
    pub buffer_offset: usize,
    /// Seed of what a launch draws: the pattern of the check, losses, when messages are due.
    pub seed: u64,
    /// What looks on while the workers are timed; a launch that is observed isn't a result.
    #[serde(default)]
    pub observe: Option<Probe>,
    /// Work in every message that a proof looks for; see [`Plant`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plant: Option<Plant>,
    /// Which half of a launch between two hosts; None of one that is all on this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<Half>,
}

/// One half of a launch between two hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Half {
    /// The initiator, which goes to the far side.
    Near {
        /// Where the far side waits.
        to: SocketAddr,
        /// What it asks for.
        cookie: Cookie,
    },
    /// The responder, which waits on one address for whoever has the cookie.
    Far {
        /// The address.
        at: IpAddr,
        /// What it asks for.
        cookie: Cookie,
    },
}

impl Spec {
    /// Whether the numbers are such that a launch can be made of them.
    ///
    /// # Errors
    /// A sentence that names the number.
    pub fn check(&self) -> Result<(), String> {
        match self.samples {
            _ if self.plant.is_some() && !plant::PLANTS => {
                Err("this build plants nothing: build it with --features plant".into())
            }
            _ if self.workload == Workload::Rate && self.rate.is_none_or(|it| it == 0) => {
                Err("an open loop needs a rate, from 1 message a second on".into())
            }
            SampleCount::Exactly(0) => Err("a launch of 0 samples measures nothing".into()),
            SampleCount::Exactly(samples) if samples > MOST_SAMPLES => {
                Err(format!("{samples} samples: a launch takes at most {MOST_SAMPLES}"))
            }
            SampleCount::Lasting(ns) if ns > LONGEST_NS => {
                Err(format!("{ns} ns: a launch lasts at most {LONGEST_NS}"))
            }
            _ => Ok(()),
        }
    }

    /// What to open for this launch.
    ///
    /// # Errors
    /// A variant that doesn't exist.
    pub fn to_open(&self) -> Result<(Variant, OpenSpec), String> {
        let variant = Variant::parse(&self.mechanism)?;
        let open = OpenSpec {
            options: variant.options.clone(),
            message_bytes: self.message_bytes,
            same_process: self.workers == Workers::Thread,
            seed: self.seed,
        };
        Ok((variant, open))
    }

    /// Whether both workers are pinned.
    pub fn pinned(&self) -> bool {
        self.initiator_cpu.is_some() && self.responder_cpu.is_some()
    }

    /// The CPUs of this host that its workers are pinned to, initiator's first.
    pub fn cpus_here(&self) -> [Option<u32>; 2] {
        match self.half {
            None => [self.initiator_cpu, self.responder_cpu],
            Some(Half::Near { .. }) => [self.initiator_cpu, None],
            Some(Half::Far { .. }) => [None, self.responder_cpu],
        }
    }
}

/// How a launch ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

impl Outcome {
    /// For a process that couldn't be started by `call`: a limit makes the case unavailable.
    pub fn not_started(call: &str, error: &std::io::Error) -> Outcome {
        match Unavailable::of_process(call, error) {
            Some(why) => Outcome::Unavailable(why),
            None => Outcome::Failed { reason: format!("{call}: {error}") },
        }
    }
}

/// What one worker says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Resources used while timing; the responder's of round trips hold the lead too.
    pub usage: Usage,
    /// CPUs it was seen on, between stretches of the timed part.
    pub cpus: Vec<u32>,
    /// Messages known to be lost on their way to it.
    pub lost: u64,
    /// What became of the datagrams on their way to it, where it receives any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// What its end of the mechanism has counted since it was told to, by name; empty where nothing
    /// can be lost.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tally: BTreeMap<String, u64>,
    /// Initiator: ns per operation by the warm-up's last stretch.
    pub estimate_ns: f64,
    /// Initiator of a throughput: ns from a message to its acknowledgement, the shortest of the warm-up.
    pub ack_ns: f64,
    /// Initiator: operations of the warm-up.
    pub warmup_operations: u64,
    /// Initiator: ns that the warm-up took, and the untimed operations right before the first sample.
    /// 0 in what was stored before it was kept.
    #[serde(default)]
    pub untimed_ns: f64,
    /// Initiator: the operations right before the first sample among them. Of round trips the
    /// responder's usage holds them too. 0 in what was stored before it was kept.
    #[serde(default)]
    pub lead_operations: u64,
    /// Initiator: samples taken.
    pub samples: u64,
    /// Initiator: round trips or set-ups per sample, or messages per transfer.
    pub batch: u64,
    /// Initiator of a latency: ns of the very first round trip after set-up, unverified and
    /// without any warm-up, to a partner that already waited for it.
    #[serde(default)]
    pub first_ns: Option<f64>,
    /// Initiator: the median of its samples, in ns per operation; put in where the launch is stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ns: Option<f64>,
    /// Initiator of a connect: the parts of a set-up in their order, and the median of each in ns.
    /// Empty where a set-up is too short for the clock.
    #[serde(default)]
    pub phases_ns: Vec<(String, f64)>,
    /// Initiator of a rate: how well it kept its schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub punctuality: Option<Punctuality>,
    /// What its counters said, where they were asked.
    #[serde(default)]
    pub counts: Option<Counts>,
    /// Where its timed part lies, for the trace that was asked to follow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<Marked>,
    /// Why it stopped early.
    pub error: Option<String>,
    /// Set beside `error` where the mechanism could no longer be had.
    #[serde(default)]
    pub unavailable: Option<Unavailable>,
}

/// What a launch says of itself; the samples follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// How it ended.
    pub outcome: Outcome,
    /// What the kernel granted the mechanism.
    pub granted: BTreeMap<String, u64>,
    /// The initiator's report.
    pub initiator: WorkerReport,
    /// The responder's report.
    pub responder: WorkerReport,
    /// What the machine did meanwhile; None where /proc couldn't be read.
    pub noise: Option<Noise>,
    /// What the kernel counted of UDP meanwhile, in the network namespace of the launch: all of its
    /// sockets together. None of mechanisms that send no datagrams over a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// From the supervisor's first instruction to its workers being ready, in ns.
    pub setup_ns: u64,
    /// What the kernel did with the workers, where a trace was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Traced>,
    /// The far side of a launch between two hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far: Option<Box<FarSide>>,
}

/// What the far side of a launch says beside its worker's report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FarSide {
    /// What the kernel there granted the mechanism.
    pub granted: BTreeMap<String, u64>,
    /// What that machine did meanwhile.
    pub noise: Option<Noise>,
    /// What the kernel there counted of UDP meanwhile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// From its supervisor's first instruction to its worker being ready, in ns.
    pub setup_ns: u64,
}

impl Record {
    /// A record of a launch that never got to measure.
    pub fn without_samples(outcome: Outcome) -> Record {
        Record {
            outcome,
            granted: BTreeMap::new(),
            initiator: WorkerReport::default(),
            responder: WorkerReport::default(),
            noise: None,
            traffic: None,
            setup_ns: 0,
            trace: None,
            far: None,
        }
    }
}

impl From<Outcome> for Box<Record> {
    fn from(outcome: Outcome) -> Box<Record> {
        Box::new(Record::without_samples(outcome))
    }
}
