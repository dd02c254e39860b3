//! A contest: two loops of doing the same round trips, alternating within one pair of worker
//! processes on the same CPUs, in pairs whose order is drawn; and beside each pair another of
//! the bare loop against itself, which shows what such a comparison can resolve.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};

use model::launch::Warmup;
use sys::shared::Mapping;

use super::workers::{Loop, Orders, Signals, Workers};

/// Untimed round trips right before the timed ones, as a launch has them: the responder's
/// wake-up from its order falls here.
const LEAD: u64 = 16;
/// How long both workers are left alone after the forks where no pilot says it: more than the
/// 70 ms for which a fork was seen to change sleeping round trips across CPUs.
pub const SETTLE: Duration = Duration::from_millis(120);
/// A contest that takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(120);

/// One worker's side of both loops.
pub trait Side {
    /// Called once in the worker, after pinning and before the quiet: whatever maps, faults in
    /// or frees memory belongs here. A launch does none of it once it is let go, but for faulting
    /// in its samples, and it may disturb round trips across CPUs as a fork does.
    fn start(&mut self) -> io::Result<()>;
    /// Does `lead` untimed and `count` timed round trips; gives the ticks of the timed ones.
    fn time(&mut self, which: Loop, lead: u64, count: u64) -> io::Result<u64>;
    /// Answers `count` round trips.
    fn respond(&mut self, which: Loop, count: u64) -> io::Result<()>;
}

/// What every contest must know.
#[derive(Clone, Copy)]
pub struct Setting {
    /// So many pairs of halves, and as many of the bare loop against itself.
    pub pairs: usize,
    /// What each half should last, in ns.
    pub lasting_ns: f64,
    /// CPUs of initiator and responder.
    pub cpus: (u32, u32),
    /// How long each loop is warmed up.
    pub warmup: Warmup,
    /// The scale of the clock.
    pub ns_per_tick: f64,
    /// Decides the order of the halves.
    pub seed: u64,
}

/// Mean round trips in ns, each number a half; all four are equally many and paired by index.
#[derive(Default)]
pub struct Blocks {
    /// The tool's loop.
    pub tool: Vec<f64>,
    /// The bare loop beside it.
    pub bare: Vec<f64>,
    /// The bare loop against itself: one name,
    pub left: Vec<f64>,
    /// and the other.
    pub right: Vec<f64>,
}

impl Blocks {
    /// Adds those of another pair of workers.
    pub fn extend(&mut self, other: Blocks) {
        self.tool.extend(other.tool);
        self.bare.extend(other.bare);
        self.left.extend(other.left);
        self.right.extend(other.right);
    }
}

/// A pair of workers, asleep until [`Contest::run`].
pub struct Contest {
    workers: Workers,
    results: Arc<Mapping>,
    pairs: usize,
}

impl Contest {
    /// Forks the workers, and waits until both are ready.
    pub fn spawn<S: Side + 'static>(
        initiator: S,
        responder: S,
        setting: Setting,
    ) -> io::Result<Contest> {
        let results = Arc::new(Mapping::with_wide_words(setting.pairs * 4 * 8, 0)?);
        let orders = Orders::new()?;
        let (theirs, taken) = (results.clone(), orders.clone());
        let workers = Workers::spawn(
            setting.cpus,
            move |signals| Leader { side: initiator, orders, setting }.lead(signals, &theirs),
            move |signals| follow(responder, signals, &taken),
        )?;
        Ok(Contest { workers, results, pairs: setting.pairs })
    }

    /// Lets the workers run, who should have [settled](SETTLE), and waits for them.
    pub fn run(&mut self) -> io::Result<()> {
        self.workers.go()?;
        self.workers.wait(DEADLINE)
    }

    fn result(&self, at: usize) -> f64 {
        f64::from_bits(self.results.words(0)[at].load(Ordering::Relaxed))
    }

    /// The results.
    pub fn blocks(&self) -> Blocks {
        let column = |nth| (0..self.pairs).map(|pair| self.result(4 * pair + nth)).collect();
        Blocks { tool: column(0), bare: column(1), left: column(2), right: column(3) }
    }
}

fn follow<S: Side>(mut side: S, mut signals: Signals, orders: &Orders) -> io::Result<()> {
    side.start()?;
    signals.ready()?;
    for taken in 0.. {
        let (which, count) = orders.take(taken);
        side.respond(which, count)?;
    }
    Ok(())
}

/// The initiator.
struct Leader<S> {
    side: S,
    orders: Orders,
    setting: Setting,
}

impl<S: Side> Leader<S> {
    fn lead(mut self, mut signals: Signals, results: &Mapping) -> io::Result<()> {
        self.side.start()?;
        results.populate(results.bytes())?;
        signals.ready()?;
        signals.await_go()?;
        let operation_ns = self.warm_up(Loop::Bare)?;
        self.warm_up(Loop::Tool)?;
        self.alternate(operation_ns, results)?;
        signals.finish()
    }

    /// One half: mean round trip in ns.
    fn half(&mut self, which: Loop, lead: u64, count: u64) -> io::Result<f64> {
        self.orders.issue(which, lead + count);
        let ticks = self.side.time(which, lead, count)?;
        Ok(ticks as f64 * self.setting.ns_per_tick / count as f64)
    }

    /// As a launch warms up: stretches double until operations or time are used up. Gives the
    /// round trip of the last, in ns.
    fn warm_up(&mut self, which: Loop) -> io::Result<f64> {
        let Warmup { operations, ns } = self.setting.warmup;
        let (mut stretch, mut done, mut left_ns) = (1, 0, ns as f64);
        loop {
            let mean = self.half(which, 0, stretch)?;
            done += stretch;
            left_ns -= mean * stretch as f64;
            if done >= operations || left_ns <= 0.0 {
                return Ok(mean);
            }
            stretch = (2 * stretch).min(operations - done).min((left_ns / mean) as u64).max(1);
            if stretch < done / 8 {
                return Ok(mean);
            }
        }
    }

    fn alternate(&mut self, mut operation_ns: f64, results: &Mapping) -> io::Result<()> {
        let Setting { pairs, lasting_ns, seed, .. } = self.setting;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for pair in 0..pairs {
            let mut contests = [(0, Loop::Tool), (2, Loop::Bare)];
            if rng.random() {
                contests.reverse();
            }
            // A mechanism may change its mode: the count follows, the same for a whole pair.
            for (at, which) in contests {
                let count = (lasting_ns / operation_ns).ceil().max(1.0) as u64;
                let mut halves = [(at, which), (at + 1, Loop::Bare)];
                if rng.random() {
                    halves.reverse();
                }
                for (at, which) in halves {
                    operation_ns = self.half(which, LEAD, count)?;
                    let result = &results.words(0)[4 * pair + at];
                    result.store(operation_ns.to_bits(), Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }
}
