//! What a launch is to do, and what it reports: the two records that cross the process boundary.

use model::cycles::{MOST_CYCLES, slices};
use model::launch::{
    MOST_SAMPLES, Outcome, Record, Role, SampleCount, Usage, Warmup, WorkerReport, Workers,
};
use model::load::{Load, Server};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::plant::{self, Plant};
use mechanisms::network::Cookie;
use mechanisms::{OpenSpec, Variant, cause_of, unavailable};
use model::case::{Case, one};
use model::clock::ClockKind;
use model::company::Company;
use model::json::is_default;
use model::mechanism::Cause;
use model::memory::Memory;
use model::plugin::Plugin;
use model::probe::Probe;
use model::workload::{Arrivals, Policy, Workload};
use sys::process::{descendants_usage, process_usage, thread_usage};
use workload::WorkloadSpec;

/// What both sides of the wire must agree on; another build is refused, with both named.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "/wire-9");
/// Longest launch of an open number of samples, in ns.
const LONGEST_NS: u64 = 10_000_000_000;
/// Shortest sample that room is made for when a pilot's count isn't known, in ns.
const SHORTEST_NS: u64 = 15;
/// Longest deadline: more than any launch needs.
const LONGEST_DEADLINE_MS: u64 = 24 * 3600 * 1000;
/// Most initiators, as many as the most connections of a load.
const MOST_INITIATORS: usize = 4096;
/// Buffers are shifted inside a page.
const PAGE: usize = 4096;

/// One launch, completely described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    /// [`BUILD`] of the coordinator.
    pub build: String,
    /// The variant, as text: `tcp:nodelay=off`.
    pub mechanism: String,
    /// The plug-in that it is, for the process that loads it; None of what is built in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plugin: Option<Box<Plugin>>,
    pub workload: Workload,
    /// Bytes of a message (1 where the mechanism carries none), and of its answer unless the load says otherwise;
    /// of a connect, those of the message that it is opened for.
    pub message_bytes: usize,
    /// Processes or threads.
    pub workers: Workers,
    /// CPU of the first initiator; None leaves the worker free.
    pub initiator_cpu: Option<u32>,
    /// The initiators beside it, and the CPU of each; None leaves the worker free.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Option<u32>>,
    /// CPU of the responder; None leaves the worker free.
    pub responder_cpu: Option<u32>,
    /// The CPUs of the generators of an open loop, the initiator's first; see [`super::placement::generators`]. Empty
    /// where the one generator runs wherever the initiator does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<u32>,
    /// On which node of the machine its memory lies.
    #[serde(default, skip_serializing_if = "is_default")]
    pub memory: Memory,
    /// What is added to the niceness of its workers.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nice: u32,
    /// Writers and readers that share each connection, of a workload that has several.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub writers: u32,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub readers: u32,
    /// What happens to the bytes.
    pub payload: Policy,
    /// Check every message instead of following the payload policy.
    pub verify: bool,
    /// Untimed operations before the first sample.
    pub warmup: Warmup,
    pub samples: SampleCount,
    /// The cycles in which it is timed in turns with the other launches of its set; 0 times it whole.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cycles: u64,
    /// Operations per sample: round trips, set-ups, or messages of a transfer; 0 lets the workload choose by
    /// the warm-up's estimate (pilots).
    pub batch: u64,
    /// What an open loop carries, or how many connections a closed one was asked for; None of other workloads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<Load>,
    /// How these messages arrive.
    pub arrivals: Arrivals,
    pub clock: ClockKind,
    /// Its scale, for durations in this spec; samples stay in ticks.
    pub ns_per_tick: f64,
    /// How long the launch may take from `go` to its reports, in ms.
    pub deadline_ms: u64,
    /// Bytes by which message buffers are shifted inside their page.
    pub buffer_offset: usize,
    /// Seed of what a launch draws: the pattern of the check, losses, when messages are due.
    pub seed: u64,
    /// The instrumentation while the workers are timed; an observed launch isn't a result.
    pub observe: Option<Probe>,
    /// What runs beside the workers while they warm up and are timed; such a launch isn't a result either.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beside: Option<Company>,
    /// Whether the counters of the packages are read around it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub energy: bool,
    /// Work in every message that a proof looks for; see [`Plant`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plant: Option<Plant>,
    /// Which half of a launch between two hosts; None of one that is all on this host.
    #[serde(skip_serializing_if = "Option::is_none")]
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
        cookie: Cookie,
    },
    /// The responder, which waits on one address for the peer that has the cookie.
    Far { at: IpAddr, cookie: Cookie },
}

impl Spec {
    /// A launch of one round trip of one byte between processes that run anywhere, timed by the system's clock, and given up
    /// after a second.
    pub fn new(mechanism: impl ToString) -> Spec {
        Spec {
            build: BUILD.into(),
            mechanism: mechanism.to_string(),
            plugin: None,
            workload: Workload::Latency,
            message_bytes: 1,
            workers: Workers::Process,
            initiator_cpu: None,
            others: Vec::new(),
            responder_cpu: None,
            generators: Vec::new(),
            memory: Memory::Free,
            nice: 0,
            writers: 1,
            readers: 1,
            payload: Policy::Untouched,
            verify: false,
            warmup: Warmup { operations: 1, ns: 1 },
            samples: SampleCount::Exactly(1),
            cycles: 0,
            batch: 1,
            load: None,
            arrivals: Arrivals::default(),
            clock: ClockKind::MonotonicRaw,
            ns_per_tick: 1.0,
            deadline_ms: 1_000,
            buffer_offset: 0,
            seed: 1,
            observe: None,
            beside: None,
            energy: false,
            plant: None,
            half: None,
        }
    }

    /// Whether the numbers are such that a launch can be made of them.
    ///
    /// # Errors
    /// A sentence that names the number.
    pub fn check(&self) -> Result<(), String> {
        self.check_numbers()?;
        match self.samples {
            _ if self.plant.is_some() && !plant::PLANTS => {
                Err("this build plants nothing: build it with --features plant".into())
            }
            _ if self.workload.traits().paced
                && self.load.is_none_or(|load| load.per_second == 0) =>
            {
                Err("an open loop needs a rate, from 1 message a second on".into())
            }
            SampleCount::Exactly(0) => Err("a launch of 0 samples measures nothing".into()),
            SampleCount::Exactly(samples) if samples > MOST_SAMPLES => {
                Err(format!("{samples} samples: a launch takes at most {MOST_SAMPLES}"))
            }
            SampleCount::Lasting(ns) if ns > LONGEST_NS => {
                Err(format!("{ns} ns: a launch lasts at most {LONGEST_NS}"))
            }
            _ if self.cycles > 0 && !self.takes_turns() => {
                Err("only a launch of round trips or transfers on this host is timed in turns"
                    .into())
            }
            _ if self.cycles > MOST_CYCLES => {
                Err(format!("{} cycles: a launch is timed in at most {MOST_CYCLES}", self.cycles))
            }
            _ if self.beside.is_some() && self.half.is_some() => {
                Err("--beside works on local routes only".into())
            }
            _ if self.workload.traits().many_connections() => self.check_closed(),
            _ if !self.workload.traits().paced && self.load.is_some() => {
                Err("a load needs -w rate or -w capacity".into())
            }
            _ if self.load.is_some_and(|load| load.choice().is_some()) => self.check_choice(),
            _ if self.others.is_empty() => Ok(()),
            _ => self.check_many(),
        }
    }

    /// What `case` says of its launches: all but its CPUs and the bytes of its messages, which the machine and the mechanism
    /// have a say in.
    pub fn of(case: &Case<Variant>) -> Spec {
        Spec {
            plugin: case.variant.entry.plugin.cloned().map(Box::new),
            workload: case.workload,
            workers: case.workers,
            memory: case.memory,
            nice: case.nice,
            writers: case.writers,
            readers: case.readers,
            payload: case.payload,
            load: case.load,
            buffer_offset: case.align.offset(0),
            observe: case.observe,
            beside: case.beside,
            ..Spec::new(&case.variant)
        }
    }

    /// Whether its numbers are some that a coordinator sends: none is believed that memory or time depends on, nor a clock
    /// that this CPU doesn't have.
    fn check_numbers(&self) -> Result<(), String> {
        let initiators = self.initiators();
        if initiators > MOST_INITIATORS {
            return Err(format!("{initiators} initiators: a launch has at most {MOST_INITIATORS}"));
        }
        let members = self.connections() as u64 * u64::from(self.writers.max(self.readers));
        if self.writers.min(self.readers) == 0 || members > MOST_INITIATORS as u64 {
            return Err(format!(
                "{members} writers or readers: a launch has 1 to {MOST_INITIATORS}"
            ));
        }
        let shift = self.buffer_offset;
        if shift >= PAGE {
            return Err(format!("buffers shifted by {shift} bytes: less than {PAGE} are a shift"));
        }
        let deadline = self.deadline_ms;
        if deadline > LONGEST_DEADLINE_MS {
            return Err(format!("a deadline of {deadline} ms: at most {LONGEST_DEADLINE_MS}"));
        }
        if !(self.ns_per_tick.is_finite() && self.ns_per_tick > 0.0) {
            return Err(format!("{} ns a tick: that is no scale of a clock", self.ns_per_tick));
        }
        if sys::clock::is_here(self.clock) {
            Ok(())
        } else {
            Err(format!("{}: this CPU has no such clock that can be read in order", self.clock))
        }
    }

    /// Most samples that each initiator takes: what there is room for.
    pub fn most_samples(&self) -> u64 {
        match self.samples {
            SampleCount::Exactly(samples) => samples,
            SampleCount::Lasting(ns) => ns / SHORTEST_NS + 1,
        }
    }

    /// Whether it can be timed in turns with others: what sets up, keeps a schedule or has threads of its own can't be
    /// interrupted, and what counts events, energy or company would count those of the others.
    pub fn takes_turns(&self) -> bool {
        let traits = self.workload.traits();
        let steps = !(traits.sets_up || traits.paced || traits.many_connections());
        let alone = self.others.is_empty() && !self.serves_in_threads() && self.half.is_none();
        let counted = matches!(self.samples, SampleCount::Exactly(samples) if samples > 1);
        let watched = self.observe.is_some() || self.beside.is_some() || self.energy;
        steps && alone && counted && !watched
    }

    /// How often it waits for its turn: before each slice, and once all are timed. 0 where it is timed whole.
    pub fn turns(&self) -> u64 {
        match self.cycles {
            0 => 0,
            cycles => {
                1 + slices(self.most_samples(), cycles).filter(|slice| !slice.is_empty()).count()
                    as u64
            }
        }
    }

    /// A record of this launch that claims no more than was asked for: whoever wrote it decides by it how much memory
    /// its samples take.
    ///
    /// # Errors
    /// What it claims, and what was asked.
    pub fn believe(&self, record: Record) -> Result<Record, String> {
        let (claimed, asked) = (1 + record.others.len(), self.initiators());
        if claimed > asked {
            return Err(format!("its record: {claimed} initiators, and {asked} were asked for"));
        }
        let turns = |report: &WorkerReport| report.turns.as_ref().map_or(0, |turns| turns.cycles);
        if record
            .initiators()
            .any(|initiator| turns(initiator) != 0 && turns(initiator) != self.cycles)
        {
            return Err(format!("its record: other cycles than {}", self.cycles));
        }
        let most = self.most_samples();
        match record.initiators().map(|report| report.samples).max() {
            Some(claimed) if claimed > most => {
                Err(format!("its record: {claimed} samples, and at most {most} were asked for"))
            }
            _ => Ok(record),
        }
    }

    /// Whether several initiators can do what it asks.
    fn check_many(&self) -> Result<(), String> {
        let name = self.workload.name();
        match (&self.half, &self.observe) {
            _ if !self.workload.traits().many_initiators => {
                Err(format!("{name}: its responder serves one initiator"))
            }
            (Some(_), _) => Err("between two hosts a launch has one initiator".into()),
            (_, Some(_)) => Err("--observe supports a single generator".into()),
            _ => Ok(()),
        }
    }

    /// Whether a closed loop of several connections can have those that it asks for.
    fn check_closed(&self) -> Result<(), String> {
        let (traits, connections) = (self.workload.traits(), self.connections());
        if self.load.is_some_and(|load| load.has_rate()) {
            return Err("only an open loop has a rate".into());
        }
        if self.load.is_some_and(|load| load != Load::closed(load.connections)) {
            return Err("a closed loop has connections, and no other option".into());
        }
        if let Some(most) = traits.most_connections().filter(|most| connections > *most as usize) {
            return Err(format!("{}: {connections} connections, and at most {most}", traits.name));
        }
        if self.half.is_some() {
            return Err("between two hosts a launch has one connection".into());
        }
        if self.others.is_empty() { Ok(()) } else { self.check_many() }
    }

    /// Whether a responder can choose which connection it serves.
    fn check_choice(&self) -> Result<(), String> {
        if self.half.is_some() {
            return Err("between two hosts a launch has one connection".into());
        }
        if !self.others.is_empty() {
            return Err("of several connections one is the generator".into());
        }
        Ok(())
    }

    /// Whether the responder serves each connection in a thread of its own.
    pub fn serves_in_threads(&self) -> bool {
        let threads = self.load.and_then(|load| load.choice()) == Some(Server::Threads);
        threads || self.workload.traits().receivers > 0
    }

    pub fn connections(&self) -> usize {
        Load::of(self.workload, self.load).map_or(1, |load| load.connections as usize)
    }

    /// Whether it asks its ends without waiting.
    pub fn asks_without_waiting(&self) -> bool {
        let asks = self.load.is_some_and(|load| load.asks_without_waiting());
        asks || self.workload.traits().nonblocking
    }

    /// What a worker has used: its thread, which makes all calls; of a plug-in its process, where other threads of a library
    /// may do most of the work, and the broker that it has started.
    pub fn used(&self) -> Usage {
        let whole = self.plugin.is_some() && self.workers == Workers::Process;
        if !whole || self.connections() > 1 {
            return thread_usage();
        }
        match &self.plugin {
            Some(plugin) if plugin.broker => process_usage().with(&descendants_usage()),
            _ => process_usage(),
        }
    }

    pub fn initiators(&self) -> usize {
        1 + self.others.len()
    }

    /// The CPU that a worker is pinned to; None leaves it free.
    pub fn cpu_of(&self, role: Role) -> Option<u32> {
        match role {
            Role::Initiator(0) => self.initiator_cpu.or(self.generators.first().copied()),
            Role::Initiator(nth) => self.others[nth - 1],
            Role::Responder => self.responder_cpu,
        }
    }

    pub fn answer_bytes(&self) -> usize {
        let response = self.load.and_then(|load| load.response);
        response.map_or(self.message_bytes, |response| response as usize)
    }

    /// What to open for each initiator of this launch.
    ///
    /// # Errors
    /// A variant that doesn't exist.
    pub fn to_open(&self) -> Result<(Variant, OpenSpec), String> {
        if let Some(plugin) = &self.plugin {
            mechanisms::register(plugin)?;
        }
        let variant = Variant::parse(&self.mechanism)?;
        let open = OpenSpec {
            options: variant.options.clone(),
            message_bytes: self.message_bytes.max(self.answer_bytes()),
            same_process: self.workers == Workers::Thread,
            seed: self.seed,
        };
        Ok((variant, open))
    }

    /// What it asks of its workload.
    ///
    /// # Errors
    /// A variant that doesn't exist.
    pub fn asked(&self) -> Result<WorkloadSpec, String> {
        let (variant, open) = self.to_open()?;
        Ok(WorkloadSpec {
            mechanism: variant.entry.name,
            open,
            far: match self.half {
                Some(Half::Near { to, cookie }) => Some((to, cookie)),
                _ => None,
            },
            clock: self.clock,
            ns_per_tick: self.ns_per_tick,
            load: Load::of(self.workload, self.load).unwrap_or(Load::USUAL),
            arrivals: self.arrivals,
            generators: self.generators.clone(),
            one_cpu: self.shares_one_cpu(),
            seed: self.seed,
            writers: self.writers,
            readers: self.readers,
            payload: self.payload,
            verify: self.verify,
        })
    }

    /// Whether both workers run on one CPU. Where only the numbers are alike, of CPUs of two hosts, they
    /// are taken to as well: two network stacks of one machine are hosts too.
    fn shares_one_cpu(&self) -> bool {
        let alone = std::thread::available_parallelism().is_ok_and(|number| number.get() == 1);
        match (self.initiator_cpu, self.responder_cpu) {
            (Some(initiator), Some(responder)) => initiator == responder,
            _ => alone && self.half.is_none(),
        }
    }

    /// The CPUs that a free responder leaves to the generators. Placed freely these would share one with the server at
    /// times, and spin there for a time slice, which no client does.
    pub fn left_to_generators(&self) -> &[u32] {
        match self.responder_cpu {
            None if self.initiator_cpu.is_none() => &self.generators,
            _ => &[],
        }
    }

    /// Whether all workers are pinned.
    pub fn pinned(&self) -> bool {
        let all = [self.initiator_cpu, self.responder_cpu];
        all.iter().chain(&self.others).all(Option::is_some)
    }

    /// The CPUs of this host that its workers are pinned to, each once.
    pub fn cpus_here(&self) -> BTreeSet<u32> {
        let (near, far) = match self.half {
            None => (true, true),
            Some(Half::Near { .. }) => (true, false),
            Some(Half::Far { .. }) => (false, true),
        };
        let initiator = self.initiator_cpu.filter(|_| near);
        let responder = self.responder_cpu.filter(|_| far);
        // Where the server is free, they may be any of all that are looked at.
        let generators = self.generators.iter().filter(|_| responder.is_some());
        let pinned = [initiator, responder].into_iter().chain(self.others.clone()).flatten();
        pinned.chain(generators.copied()).collect()
    }
}

fn is_one(count: &u32) -> bool {
    *count == 1
}

/// For what couldn't be started by `call`: a limit, or a call that is denied, makes the case unavailable.
pub fn not_started(call: &str, error: &std::io::Error) -> Outcome {
    match cause_of(error) {
        Cause::Other => Outcome::Failed { reason: format!("{call}: {error}") },
        _ => Outcome::Unavailable(unavailable(call, error)),
    }
}
