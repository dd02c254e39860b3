//! Where floors are measured, by which clock, and how often.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::Order;
use machine::Topology;
use model::clock::ClockKind;
use model::floors::{FloorDetail, Repeats};
use model::host::Host;
use model::placement::Relation;
use sys::clock::Now;

/// Repeats below which an interval isn't worth its name: no time limit cuts below them.
const FEWEST: usize = 6;

/// Measures by the clock that the run uses.
pub struct Stopwatch {
    pub kind: ClockKind,
    pub ns_per_tick: f64,
    /// Shortest batch that the clock tells well, in ns.
    shortest_ns: f64,
}

/// A pair of CPUs, or why there is none.
pub type Found = Result<(u32, u32), String>;

/// Where and how thoroughly floors are measured.
pub struct Setting {
    pub order: Order,
    pub topology: Topology,
    /// CPUs that this process may use.
    pub allowed: Vec<u32>,
    /// The CPU of whatever needs only one.
    pub home: u32,
    pub host: Host,
    pub clock: model::clock::Record,
    pub watch: Stopwatch,
}

impl Setting {
    /// Looks around, pins this process, and calibrates the clock.
    pub fn find(order: Order) -> Result<Setting, String> {
        let root = Path::new("/");
        let topology = Topology::here().map_err(|error| format!("read the topology: {error}"))?;
        let allowed = topology.allowed();
        let (home, _) = topology
            .pair(Relation::SameCpu, &allowed)
            .ok_or_else(|| topology.why_not(Relation::SameCpu, &allowed))?;
        let host = machine::host::read(root);
        pin(home)?;
        let (kind, why_not) = sys::clock::choose(root);
        let (_, clock) = sys::clock::measure(kind, why_not);
        let watch =
            Stopwatch { kind, ns_per_tick: clock.ns_per_tick, shortest_ns: clock.shortest_ns() };
        Ok(Setting { order, topology, allowed, home, host, clock, watch })
    }

    /// Whether everything is asked for.
    pub fn is_full(&self) -> bool {
        self.order.extent == FloorDetail::Full
    }

    /// `quick` or `full`, by what is asked for.
    pub fn by_extent<T>(&self, quick: T, full: T) -> T {
        if self.is_full() { full } else { quick }
    }

    /// A pair for each relation that matters, and the reasons of those that have none here.
    pub fn relations(&self) -> Vec<(Relation, Found)> {
        let pair = |relation| {
            let asked = self
                .order
                .pairs
                .iter()
                .find(|(a, b)| self.topology.relation(*a, *b) == Some(relation));
            match (asked, self.order.anywhere) {
                (Some(pair), _) => Some(Ok(*pair)),
                (None, true) => Some(
                    self.topology
                        .pair(relation, &self.allowed)
                        .ok_or_else(|| self.topology.why_not(relation, &self.allowed)),
                ),
                (None, false) => None,
            }
        };
        Relation::ALL.into_iter().filter_map(|relation| Some((relation, pair(relation)?))).collect()
    }
}

impl Stopwatch {
    /// Nanoseconds per operation of `work`, whose argument is their number.
    pub fn per_operation(&self, count: u64, work: impl FnOnce(u64)) -> f64 {
        let start = self.kind.now();
        work(count);
        (self.kind.now() - start) as f64 * self.ns_per_tick / count as f64
    }

    /// How many operations last `ns`, or the shortest batch that the clock tells well; found
    /// by doubling, which warms up too.
    pub fn filling(&self, ns: f64, mut work: impl FnMut(u64)) -> u64 {
        let ns = ns.max(self.shortest_ns);
        let mut count = 1;
        loop {
            let each = self.per_operation(count, &mut work).max(0.01);
            if each * count as f64 >= ns / 4.0 {
                return (ns / each).ceil().max(1.0) as u64;
            }
            count *= 2;
        }
    }
}

/// Takes up to `wanted` repeats of `one`, fewer once `within` is over; never fewer than six.
pub(super) fn repeat(
    wanted: usize,
    within: Duration,
    mut one: impl FnMut(usize) -> f64,
) -> Repeats {
    let began = Instant::now();
    let mut values = Vec::with_capacity(wanted);
    while values.len() < wanted && (values.len() < FEWEST || began.elapsed() < within) {
        values.push(one(values.len()));
    }
    Repeats::of(&values)
}

/// Pins the calling thread.
pub fn pin(cpu: u32) -> Result<(), String> {
    sys::affinity::pin(cpu).map_err(|error| error.to_string())
}

/// Runs `follow` on a thread pinned to the second CPU, and `lead` here, on the first; `lead`
/// must make `follow` return.
pub(super) fn together<T>(
    (first, second): (u32, u32),
    follow: impl FnOnce() + Send,
    lead: impl FnOnce() -> T,
) -> Result<T, String> {
    pin(first)?;
    let (sender, ready) = mpsc::channel();
    std::thread::scope(|scope| {
        let follower = move || {
            let pinned = pin(second);
            let begins = pinned.is_ok();
            // The leader waits for this word, and can't be gone.
            let _ = sender.send(pinned);
            if begins {
                follow();
            }
        };
        std::thread::Builder::new()
            .spawn_scoped(scope, follower)
            .map_err(|error| format!("start a thread: {error}"))?;
        ready.recv().map_err(|_| "the second thread died".to_string())??;
        Ok(lead())
    })
}
