//! When the messages of an open loop are due, and how their sender waits until then. Every time is
//! drawn before the first message: that of no message depends on how long others took.

use clock::Now;
use model::workload::Arrivals;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How long before a message is due its sender stops sleeping, in ns: longer than a sleep usually
/// overshoots, where an idle CPU has to be woken through a hypervisor.
const SPUN_NS: f64 = 200_000.0;

/// How the sender waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Asleep until the message is due: the responder may need the CPU, which both share.
    Asleep,
    /// Asleep until shortly before; it spins the rest, or all of a short period.
    Spinning,
}

/// How messages come: their number, how many a second, and how they are spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// How they are spread.
    pub arrivals: Arrivals,
    /// Messages a second, in the mean.
    pub per_second: u64,
    /// Messages in all.
    pub messages: u64,
    /// Seed of what is drawn.
    pub seed: u64,
}

/// The messages of a launch, and when each is due.
#[derive(Clone, Debug)]
pub struct Schedule {
    clock: model::clock::ClockKind,
    ns_per_tick: f64,
    wait: Wait,
    /// Ticks from the first message to each.
    offsets: Vec<u64>,
    /// Ticks before the first.
    lead: u64,
    first: u64,
    taken: usize,
}

impl Schedule {
    /// The schedule of `offered`, the first message one mean period from now; `clock` ticks every
    /// `ns_per_tick`.
    pub fn new(
        clock: model::clock::ClockKind,
        offered: Offered,
        ns_per_tick: f64,
        wait: Wait,
    ) -> Schedule {
        let period_ns = 1e9 / offered.per_second as f64;
        let lead = (period_ns / ns_per_tick) as u64;
        let offsets = offsets(offered, period_ns / ns_per_tick);
        let mut schedule = Schedule { clock, ns_per_tick, wait, offsets, lead, first: 0, taken: 0 };
        schedule.begin();
        schedule
    }

    /// Begins again: the next message is the first, and due one mean period from now.
    pub fn begin(&mut self) {
        self.first = self.clock.now() + self.lead;
        self.taken = 0;
    }

    /// When the first is due, in ticks.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// When the next one is due, in ticks.
    pub fn next_due(&mut self) -> u64 {
        self.taken += 1;
        self.due(self.taken - 1)
    }

    /// When message `nth` is due, in ticks; the first is 0.
    pub fn due(&self, nth: usize) -> u64 {
        self.first + self.offsets[nth]
    }

    /// How the sender waits.
    pub fn waits(&self) -> Wait {
        self.wait
    }

    /// How long the sender may sleep now whose next message is at `due`.
    pub fn asleep(&self, due: u64) -> Duration {
        let spun = if self.wait == Wait::Asleep { 0.0 } else { SPUN_NS };
        let asleep = due.saturating_sub(self.clock.now()) as f64 * self.ns_per_tick - spun;
        if asleep > 0.0 { Duration::from_nanos(asleep as u64 + 1) } else { Duration::ZERO }
    }

    /// Waits until the clock shows `due`.
    pub fn wait_until(&self, due: u64) {
        while self.clock.now() < due {
            match self.asleep(due) {
                Duration::ZERO => std::hint::spin_loop(),
                asleep => std::thread::sleep(asleep),
            }
        }
    }
}

/// Ticks from the first message to each. Each is rounded by itself, so that roundings don't add up.
fn offsets(offered: Offered, period: f64) -> Vec<u64> {
    let all = 0..offered.messages;
    match offered.arrivals {
        Arrivals::Periodic => all.map(|nth| (nth as f64 * period) as u64).collect(),
        Arrivals::Poisson => {
            let mut rng = ChaCha8Rng::seed_from_u64(offered.seed);
            let mut at = 0.0;
            let next = |_| {
                let offset = at as u64;
                // 1 - u is in (0, 1], whose logarithm is a number.
                at -= (1.0 - rng.random::<f64>()).ln() * period;
                offset
            };
            all.map(next).collect()
        }
    }
}
