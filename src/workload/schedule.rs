//! When the messages of an open loop are due, and how their sender waits until then. Message i is
//! due at `first + i·period`: that of no message depends on how long others took.

use std::time::Duration;

use crate::clock;

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

/// The messages of a launch, and when each is due.
#[derive(Clone, Debug)]
pub struct Schedule {
    clock: clock::Kind,
    period_ns: f64,
    ns_per_tick: f64,
    wait: Wait,
    first: u64,
    taken: u64,
}

impl Schedule {
    /// So many messages a second, the first of them one period from now; `clock` ticks every
    /// `ns_per_tick`.
    pub fn new(clock: clock::Kind, per_second: u64, ns_per_tick: f64, wait: Wait) -> Schedule {
        let period_ns = 1e9 / per_second as f64;
        let mut schedule = Schedule { clock, period_ns, ns_per_tick, wait, first: 0, taken: 0 };
        schedule.begin();
        schedule
    }

    /// Begins again: the next message is the first, and due one period from now.
    pub fn begin(&mut self) {
        self.first = self.clock.now() + (self.period_ns / self.ns_per_tick) as u64;
        self.taken = 0;
    }

    /// When the first is due, in ticks.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// When the next one is due, in ticks. Counted from the first, so that roundings don't add up.
    pub fn next_due(&mut self) -> u64 {
        self.taken += 1;
        self.due(self.taken - 1)
    }

    /// When message `nth` is due, in ticks; the first is 0.
    pub fn due(&self, nth: u64) -> u64 {
        self.first + (nth as f64 * self.period_ns / self.ns_per_tick) as u64
    }

    /// Waits until the clock shows `due`.
    pub fn wait_until(&self, due: u64) {
        let spun = if self.wait == Wait::Asleep { 0.0 } else { SPUN_NS };
        loop {
            let left = due.saturating_sub(self.clock.now());
            let asleep = left as f64 * self.ns_per_tick - spun;
            match asleep > 0.0 {
                true => std::thread::sleep(Duration::from_nanos(asleep as u64 + 1)),
                false if left == 0 => return,
                false => std::hint::spin_loop(),
            }
        }
    }
}
