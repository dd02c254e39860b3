//! Real launches: specs that are quick, and a coordinator's steps from start to result.

use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::OnceLock;

use model::launch::{SampleCount, Warmup, Workers};
use run::launch::{Interrupt, Launch, LaunchResult, Launcher, Spec, Stage};

/// Untimed operations right before the first sample, which the responder's window holds too: fewer
/// where they take long.
pub const LEAD: RangeInclusive<u64> = 1..=16;

/// A launcher of the program under test.
pub fn launcher() -> Launcher {
    super::enter();
    Launcher::new(env!("CARGO_BIN_EXE_ipcmark").into())
}

/// The signals of this test binary, taken over once.
pub fn interrupt() -> &'static Interrupt {
    static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();
    INTERRUPT.get_or_init(|| Interrupt::install().expect("install signal handlers"))
}

fn measured_clock() -> &'static model::clock::Record {
    static CLOCK: OnceLock<model::clock::Record> = OnceLock::new();
    CLOCK.get_or_init(|| {
        let (kind, why) = sys::clock::choose(Path::new("/"));
        sys::clock::measure(kind, why).1
    })
}

/// A latency launch of free processes: 20 samples of one round trip each, all verified.
pub fn quick(mechanism: &str, message_bytes: usize) -> Spec {
    super::enter();
    let clock = measured_clock();
    Spec {
        message_bytes,
        verify: true,
        warmup: Warmup { operations: 2, ns: 1_000_000 },
        samples: SampleCount::Exactly(20),
        clock: clock.kind,
        ns_per_tick: clock.ns_per_tick,
        deadline_ms: 60_000,
        seed: 7,
        ..Spec::new(mechanism)
    }
}

/// A launch that is still timing when any test is done with it.
pub fn endless(mechanism: &str, workers: Workers) -> Spec {
    super::enter();
    let samples = SampleCount::Exactly(20_000);
    let (batch, deadline_ms) = (100_000, 60_000);
    Spec { workers, samples, batch, deadline_ms, verify: false, ..quick(mechanism, 64) }
}

/// Starts a launch.
pub fn start(spec: &Spec) -> Launch {
    launcher().start(spec, 0).expect("the program starts")
}

/// Waits for a stage.
pub fn reach(launch: &mut Launch, stage: Stage) {
    launch.reach(stage, interrupt()).expect("nobody interrupts a test");
}

/// Brings `launch` from wherever it is before timing to its result.
pub fn conclude(mut launch: Launch) -> LaunchResult {
    reach(&mut launch, Stage::Ready);
    launch.go();
    finish(launch)
}

/// Brings a timing launch to its result.
pub fn finish(mut launch: Launch) -> LaunchResult {
    reach(&mut launch, Stage::Timed);
    launch.end();
    launch.collect(interrupt())
}
