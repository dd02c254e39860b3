//! When the messages of an open loop are due, and how their sender waits until then. Every time is
//! drawn before the first message: that of no message depends on how long others took.

use model::clock::ClockKind;
use model::workload::Arrivals;
use std::sync::Arc;
use std::time::Duration;
use sys::clock::Now;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

/// How long before a message is due its sender stops sleeping, in ns: longer than a sleep usually
/// overshoots, where an idle CPU has to be woken through a hypervisor.
const SPUN_NS: f64 = 200_000.0;

/// What is on time, in ns: a sender that spins is off by a clock read or two, and one that lost its CPU by far
/// more than this, which is a tenth of the shortest time slice. Of long intervals it is [`ON_TIME_SHARE`]: a
/// hundredth of the distance between messages changes no queue.
const ON_TIME_NS: f64 = 10_000.0;
/// See [`ON_TIME_NS`]; of the mean interval.
const ON_TIME_SHARE: f64 = 0.01;

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
    pub arrivals: Arrivals,
    /// Messages a second, in the mean.
    pub per_second: u64,
    pub messages: u64,
    pub seed: u64,
}

/// What a schedule is kept by: the clock that was chosen; a simulated one where theory is to be met.
pub trait Timeline: Now + Copy {
    /// Lets so much time go by.
    fn sleep(self, time: Duration);
}

impl Timeline for ClockKind {
    fn sleep(self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The messages of a launch, and when each is due. A clone is of the same messages.
#[derive(Clone, Debug)]
pub struct Schedule<C = ClockKind> {
    clock: C,
    ns_per_tick: f64,
    wait: Wait,
    arrivals: Arrivals,
    /// Ticks from the first message to each.
    offsets: Arc<[u64]>,
    /// Ticks before the first.
    lead: u64,
    first: u64,
    taken: usize,
}

impl<C: Timeline> Schedule<C> {
    /// The schedule of `offered`, the first message one mean period from now; `clock` ticks every
    /// `ns_per_tick`.
    pub fn new(clock: C, offered: Offered, ns_per_tick: f64, wait: Wait) -> Schedule<C> {
        let lead = (1e9 / offered.per_second as f64 / ns_per_tick) as u64;
        let offsets = offsets(offered, ns_per_tick).into();
        let mut schedule = Schedule {
            clock,
            ns_per_tick,
            wait,
            arrivals: offered.arrivals,
            offsets,
            lead,
            first: 0,
            taken: 0,
        };
        schedule.begin();
        schedule
    }

    /// Begins again: the next message is the first, and due one mean period from now.
    pub fn begin(&mut self) {
        self.begin_at(self.soon(Duration::ZERO));
    }

    /// When a schedule that begins after so much time has its first message due, in ticks.
    pub fn soon(&self, after: Duration) -> u64 {
        self.clock.now() + (after.as_nanos() as f64 / self.ns_per_tick) as u64 + self.lead
    }

    /// Begins again: the next message is the first, and due at `first`.
    pub fn begin_at(&mut self, first: u64) {
        (self.first, self.taken) = (first, 0);
    }

    /// How long its messages take to become due, in ticks, where so many were `sent`. That of bursts ends with
    /// the part of a burst's period that the messages of the last one have: they are due at its beginning.
    pub fn lasts(&self, sent: usize) -> u64 {
        let last = sent.saturating_sub(1);
        match self.arrivals {
            Arrivals::Poisson | Arrivals::Constant => self.offsets[last],
            Arrivals::Bursts { messages, every_ns } => {
                let period = every_ns as f64 / messages as f64 / self.ns_per_tick;
                (last as f64 * period) as u64
            }
        }
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
                asleep => self.clock.sleep(asleep),
            }
        }
    }
}

/// Whether a sender keeps its schedule. What it begins late while it might have begun it is its own fault; what
/// waits for an answer, for room in the mechanism, or for a call of the mechanism to return that moves another
/// message, is late by the mechanism's: such a call may wake a CPU, which takes longer than the tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adherence {
    tolerance: u64,
    free_since: u64,
    late: u64,
    held: u64,
}

impl Adherence {
    /// That of a sender which waits so, of messages as `offered`; its clock ticks every `ns_per_tick`.
    pub fn new(offered: Offered, ns_per_tick: f64, wait: Wait) -> Adherence {
        let interval_ns = 1e9 / offered.per_second as f64;
        let least_ns = match wait {
            Wait::Spinning => ON_TIME_NS,
            // Its way out of the sleep is part of each response.
            Wait::Asleep => SPUN_NS,
        };
        let tolerance_ns = least_ns.max(ON_TIME_SHARE * interval_ns);
        Adherence {
            tolerance: (tolerance_ns / ns_per_tick) as u64,
            free_since: 0,
            late: 0,
            held: 0,
        }
    }

    /// One more message might be begun since `now`, and not before.
    #[inline(always)]
    pub fn free(&mut self, now: u64) {
        self.free_since = now;
    }

    /// Since when one more might be begun.
    pub fn free_since(&self) -> u64 {
        self.free_since
    }

    /// The message due at `due` is begun at `now`.
    #[inline(always)]
    pub fn begun(&mut self, due: u64, now: u64) {
        let might = due.max(self.free_since);
        self.late += u64::from(now.saturating_sub(might) > self.tolerance);
    }

    /// The same of one of several connections, over which one more might be under way since `free_since`.
    #[inline(always)]
    pub fn begun_after(&mut self, free_since: u64, due: u64, now: u64) {
        let might = due.max(free_since);
        let late = now.saturating_sub(might) > self.tolerance;
        let own = now.saturating_sub(might.max(self.free_since)) > self.tolerance;
        self.late += u64::from(own);
        self.held += u64::from(late && !own);
    }

    /// Messages that were late by the sender's own fault.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// Messages of several connections that were late since the sender was in other calls: one more might be under way
    /// over their own connection.
    pub fn held(&self) -> u64 {
        self.held
    }

    /// What counts as on time, in ticks.
    pub fn tolerance(&self) -> u64 {
        self.tolerance
    }
}

/// Ticks from the first message to each. Each is rounded by itself, so that roundings don't add up.
fn offsets(offered: Offered, ns_per_tick: f64) -> Vec<u64> {
    let all = 0..offered.messages;
    let period = 1e9 / offered.per_second as f64 / ns_per_tick;
    match offered.arrivals {
        Arrivals::Constant => all.map(|nth| (nth as f64 * period) as u64).collect(),
        Arrivals::Bursts { messages, every_ns } => {
            let every = every_ns as f64 / ns_per_tick;
            all.map(|nth| ((nth / messages) as f64 * every) as u64).collect()
        }
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
