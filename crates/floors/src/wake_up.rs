//! Wake-ups: the round trip of two threads of one process that sleep while they wait, by
//! futex(2) alone. Every mechanism whose workers sleep pays this, and its own work on top.
//!
//! A partner that is quick may be found awake, and then nobody was woken: the share of round
//! trips in which the first thread left its CPU is counted and reported. Across CPUs the process is left alone before
//! timing, for as long as a fork was seen to change how idle CPUs behave (METHOD: quiet).

use model::floors::{RoundTrip, WakeUp, WakeUps};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::setting::{Found, Setting, repeat, together};
use model::placement::Relation;
use sys::parking::{self, Parking};
use sys::shared::{LINE, Mapping};

/// Quiet before timing across CPUs: what a run assumes where its pilot can't find out.
const QUIET: Duration = Duration::from_millis(70);
/// Time that the repeats of one relation may take on a machine that lets its threads run.
const WITHIN: Duration = Duration::from_millis(800);

const NOTHING: u32 = 0;
const TOKEN: u32 = 1;
const STOP: u32 = 2;

/// Measures a pair of each relation that matters.
pub fn measure(setting: &Setting) -> Result<WakeUps, String> {
    let wake_up = |(relation, pair): (Relation, Found)| WakeUp {
        relation,
        found: pair.and_then(|cpus| round_trip(setting, cpus)).into(),
    };
    let wake_ups = setting.relations().into_iter().map(wake_up).collect();
    Ok(WakeUps { wake_ups, quiet_ns: QUIET.as_nanos() as u64 })
}

/// One direction: what is waited for, and where the waiter sleeps.
struct Bell<'a> {
    word: &'a AtomicU32,
    parking: Parking<'a>,
}

impl<'a> Bell<'a> {
    fn new(memory: &'a Mapping, at: usize) -> Bell<'a> {
        let parking = Parking::new(memory.word(at + LINE), parking::flags(true));
        Bell { word: memory.word(at), parking }
    }

    #[inline(always)]
    fn ring(&self, what: u32) {
        self.word.store(what, Ordering::SeqCst);
        self.parking.wake();
    }

    #[inline(always)]
    fn hear(&self) -> u32 {
        let token = || {
            let what = self.word.load(Ordering::SeqCst);
            (what != NOTHING).then_some(what)
        };
        let what = self.parking.wait_for(token);
        self.word.store(NOTHING, Ordering::SeqCst);
        what
    }
}

/// The two bells of a pair: there, and back.
fn bells(memory: &Mapping) -> (Bell<'_>, Bell<'_>) {
    (Bell::new(memory, 0), Bell::new(memory, 2 * LINE))
}

/// So many round trips with the answering thread.
pub(super) fn ask(memory: &Mapping, count: u64) {
    let (there, back) = bells(memory);
    for _ in 0..count {
        there.ring(TOKEN);
        back.hear();
    }
}

/// Answers until `stop`.
pub(super) fn answer(memory: &Mapping) {
    let (there, back) = bells(memory);
    while there.hear() == TOKEN {
        back.ring(TOKEN);
    }
}

/// Stops the answering thread.
pub(super) fn stop(memory: &Mapping) {
    bells(memory).0.ring(STOP);
}

fn round_trip(setting: &Setting, cpus: (u32, u32)) -> Result<RoundTrip, String> {
    let memory = Mapping::new(4 * LINE).map_err(|error| format!("mmap: {error}"))?;
    let across = cpus.0 != cpus.1;
    let (repeats, lasting) = if across {
        (setting.by_extent(12, 20), setting.by_extent(10e6, 20e6))
    } else {
        (setting.by_extent(12, 30), setting.by_extent(3e6, 5e6))
    };
    let follow = || answer(&memory);
    let lead = || {
        let exchange = |count| ask(&memory, count);
        if across {
            std::thread::sleep(QUIET);
        }
        let count = setting.watch.filling(lasting, exchange);
        let before = sys::process::thread_usage();
        let round_trip_ns =
            repeat(repeats, WITHIN, |_| setting.watch.per_operation(count, exchange));
        let used = sys::process::thread_usage().since(&before);
        stop(&memory);
        let switches = (used.voluntary_switches + used.involuntary_switches) as f64;
        let switched_share = (switches / (count * round_trip_ns.n) as f64).min(1.0);
        RoundTrip { cpus: [cpus.0, cpus.1], round_trip_ns, switched_share }
    };
    together(cpus, follow, lead)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ring_arrives_and_the_last_one_ends_it() {
        let memory = Mapping::new(4 * LINE).unwrap();
        let (there, back) = (Bell::new(&memory, 0), Bell::new(&memory, 2 * LINE));
        std::thread::scope(|scope| {
            let rings = scope.spawn(|| {
                let mut rings = 0;
                while there.hear() == TOKEN {
                    rings += 1;
                    back.ring(TOKEN);
                }
                rings
            });
            for _ in 0..2_000 {
                there.ring(TOKEN);
                assert_eq!(back.hear(), TOKEN);
            }
            there.ring(STOP);
            assert_eq!(rings.join().unwrap(), 2_000);
        });
    }
}
