//! A simulated fleet, where none is at hand: nodes, and their agents. A node is this machine under another name, with one
//! field of one node's environment changed, so that the report has something to find. An agent decodes the bytes that one
//! would receive and returns the bytes that one would send; its results are drawn from a seed, with one slow node and one
//! slow pair planted.

use std::collections::BTreeMap;
use std::path::Path;

use rand::RngExt;
use rand::rngs::ChaCha8Rng;

use crate::campaign::driver::rng;
use crate::launch::Spec;
use crate::launch::peer::connection::{AgentHere, Frame};
use crate::launch::spec::{BUILD, Half};
use crate::launch::wire::{FrameKind, Missing, take_frame, write_frame};
use model::launch::{Outcome, Record, SampleCount, WorkerReport};
use model::peer::{Address, FarHost};

/// How much slower the planted node is, and the planted pair.
pub const SLOW_NODE: f64 = 1.25;
/// The same of the pair.
pub const SLOW_PAIR: f64 = 2.0;
/// A round trip between ordinary nodes, in ns; and a local one.
const FAR_NS: f64 = 30_000.0;
const NEAR_NS: f64 = 5_000.0;
/// Spread of launches, and of the samples in one: standard deviation of the logarithm.
const BETWEEN: f64 = 0.02;
const WITHIN: f64 = 0.05;

/// What is planted in a simulated fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planted {
    pub node: usize,
    /// The pair whose way to each other is slow.
    pub pair: (usize, usize),
}

impl Planted {
    /// In a fleet of so many.
    pub fn among(nodes: usize) -> Planted {
        Planted { node: nodes / 3, pair: (nodes / 2, nodes - 1) }
    }

    fn factor(self, a: usize, b: usize) -> f64 {
        let node = if a == self.node || b == self.node { SLOW_NODE } else { 1.0 };
        let pair = if (a.min(b), a.max(b)) == self.pair { SLOW_PAIR } else { 1.0 };
        node * pair
    }
}

/// The simulated node of a number; addresses are 10.0.0.0/8 by that number.
pub fn address(nth: usize) -> std::net::IpAddr {
    std::net::Ipv4Addr::from_bits(0x0a00_0001 + nth as u32).into()
}

/// An agent in this process that answers without measuring.
pub struct SimulatedAgent {
    nth: usize,
    planted: Planted,
    far: FarHost,
    rng: ChaCha8Rng,
    /// Bytes as they come from the coordinator, and as they go back.
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    charges: BTreeMap<u32, Spec>,
}

impl SimulatedAgent {
    /// The agent of node `nth`, which describes its host as `far`.
    pub fn new(nth: usize, planted: Planted, far: FarHost, seed: u64) -> SimulatedAgent {
        let rng = rng(seed, 1 << 40 | nth as u64);
        let (inbox, outbox, charges) = Default::default();
        SimulatedAgent { nth, planted, far, rng, inbox, outbox, charges }
    }

    fn obey(&mut self, kind: FrameKind, payload: &[u8]) {
        if kind == FrameKind::Hello {
            let mut hello = serde_json::to_value(&self.far).expect("always JSON");
            hello["build"] = BUILD.into();
            let _ = write_frame(&mut self.outbox, FrameKind::Hello, hello.to_string().as_bytes());
            return;
        }
        let Some((number, rest)) = payload.split_first_chunk::<4>() else { return };
        let number = u32::from_le_bytes(*number);
        match kind {
            FrameKind::Begin => {
                let spec = rest.get(4..).and_then(|text| serde_json::from_slice::<Spec>(text).ok());
                let Some(spec) = spec else { return };
                if matches!(spec.half, Some(Half::Far { .. })) {
                    self.tell(number, FrameKind::Bound, &9_u16.to_le_bytes());
                }
                self.tell(number, FrameKind::Ready, &[]);
                self.charges.insert(number, spec);
            }
            FrameKind::Relay => match rest.first().and_then(|byte| FrameKind::from_byte(*byte)) {
                Some(FrameKind::Go) => self.go(number),
                Some(FrameKind::End) => self.end(number),
                _ => {}
            },
            FrameKind::Over => drop(self.charges.remove(&number)),
            _ => {}
        }
    }

    fn go(&mut self, number: u32) {
        let half = self.charges.get(&number).and_then(|charge| charge.half.clone());
        if matches!(half, Some(Half::Far { .. })) {
            self.tell(number, FrameKind::Going, &[]);
        }
        self.tell(number, FrameKind::Timed, &[]);
    }

    fn end(&mut self, number: u32) {
        let Some(spec) = self.charges.get(&number).cloned() else { return };
        let mut record = Record::without_samples(Outcome::Ok);
        let mut samples = Vec::new();
        if !matches!(spec.half, Some(Half::Far { .. })) {
            let count = match spec.samples {
                SampleCount::Exactly(count) => count,
                SampleCount::Lasting(_) => 16,
            };
            samples = self.draw(&spec, count);
            record.initiator = WorkerReport {
                samples: count,
                batch: spec.batch.max(1),
                estimate_ns: FAR_NS,
                ack_ns: FAR_NS,
                ..WorkerReport::default()
            };
        }
        let text = serde_json::to_vec(&record).expect("a record is always JSON");
        self.tell(number, FrameKind::Record, &text);
        if !samples.is_empty() {
            let bytes: Vec<u8> =
                samples.iter().flat_map(|sample: &u64| sample.to_le_bytes()).collect();
            self.tell(number, FrameKind::Samples, &bytes);
        }
        self.tell(number, FrameKind::Done, &[]);
    }

    /// The samples of a launch, in ticks.
    fn draw(&mut self, spec: &Spec, count: u64) -> Vec<u64> {
        let (level, factor) = match &spec.half {
            Some(Half::Near { to, .. }) => {
                let there = match to.ip() {
                    std::net::IpAddr::V4(it) => (it.to_bits() - 0x0a00_0001) as usize,
                    std::net::IpAddr::V6(_) => 0,
                };
                (FAR_NS, self.planted.factor(self.nth, there))
            }
            _ => (NEAR_NS, if self.nth == self.planted.node { SLOW_NODE } else { 1.0 }),
        };
        let level = if spec.workload.traits().transfers { level / 10.0 } else { level };
        let launch = level * factor * self.spread(BETWEEN) * spec.batch.max(1) as f64;
        (0..count).map(|_| (launch * self.spread(WITHIN) / spec.ns_per_tick) as u64).collect()
    }

    /// e to a normal draw, by the sum of twelve even ones.
    fn spread(&mut self, by: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.rng.random::<f64>()).sum();
        (by * (sum - 6.0)).exp()
    }

    fn tell(&mut self, number: u32, kind: FrameKind, payload: &[u8]) {
        let mut whole = number.to_le_bytes().to_vec();
        whole.push(kind as u8);
        whole.extend_from_slice(payload);
        let _ = write_frame(&mut self.outbox, FrameKind::Relay, &whole);
    }
}

impl AgentHere for SimulatedAgent {
    fn hear(&mut self, kind: FrameKind, payload: &[u8]) {
        let _ = write_frame(&mut self.inbox, kind, payload);
        while let Ok(Some((kind, payload))) = take_frame(&mut self.inbox) {
            self.obey(kind, &payload);
        }
    }

    fn said(&mut self) -> Result<Option<Frame>, Missing> {
        take_frame(&mut self.outbox)
    }
}

/// The name of node `nth` of `many`.
pub fn name(nth: usize, many: usize) -> String {
    let width = many.saturating_sub(1).to_string().len();
    format!("sim{nth:0width$}")
}

/// What every simulated node is.
pub fn host() -> FarHost {
    let root = Path::new("/");
    let (kind, why_not) = sys::clock::choose(root);
    FarHost {
        host: machine::host::read(root),
        clock: sys::clock::measure(kind, why_not).1,
        addresses: Vec::new(),
        reached_at: None,
        network: None,
        allowed_cpus: vec![0, 1],
    }
}

/// Node `nth`, called `name`.
pub fn node(like: &FarHost, nth: usize, name: &str) -> FarHost {
    let mut far = like.clone();
    far.host.hostname = Some(name.into());
    far.host.boot_id = Some(format!("simulated-{nth}"));
    far.addresses = vec![Address { address: address(nth), prefix: 8 }];
    // Whatever the number of nodes, this one is there.
    if nth == Planted::among(3).node {
        far.host.kernel.release = Some("simulated-other".into());
    }
    far
}
