//! Whether a mechanism carries a message here: a launch of one message, by processes of their own, which can't hang
//! and leave nothing. Opening alone doesn't tell: what a filter denies may be the call that moves the bytes.

use super::handle::{Launcher, unstarted};
use super::spec::{BUILD, Spec};
use super::state::Stage;
use machine::interrupt::Interrupt;
use mechanisms::Variant;
use model::clock::ClockKind;
use model::launch::{Outcome, SampleCount, Warmup, Workers};
use model::mechanism::{Cause, Unavailable};
use model::workload::{Arrivals, Policy, Workload};

/// How long its workers may take: on a busy machine, too.
const WITHIN_MS: u64 = 5_000;

/// Tries whether a message of `variant` arrives, and its answer.
///
/// # Errors
/// What is in the way.
pub fn carries_a_message(
    launcher: &Launcher,
    variant: &Variant,
    interrupt: &Interrupt,
) -> Result<(), Unavailable> {
    let outcome = tried(launcher, &spec(variant), interrupt);
    let none = |reason: String| {
        Err(Unavailable { cause: Cause::Other, reason, remedy: "none known".into() })
    };
    match outcome {
        Outcome::Ok => Ok(()),
        _ if interrupt.signal().is_some() => Ok(()),
        Outcome::Unavailable(why) => Err(why),
        Outcome::NotApplicable { reason } => none(reason),
        Outcome::Failed { reason } => none(format!("no message got through: {reason}")),
    }
}

/// What becomes of a launch.
pub(crate) fn tried(launcher: &Launcher, spec: &Spec, interrupt: &Interrupt) -> Outcome {
    match launcher.start(spec, 0) {
        Ok(mut launch) => {
            // Whoever is interrupted looks for the signal.
            if launch.reach(Stage::Ready, interrupt).is_ok() {
                launch.go();
                let _ = launch.reach(Stage::Timed, interrupt);
                launch.end();
            }
            launch.collect(interrupt).record.outcome
        }
        Err(error) => unstarted(&error),
    }
}

/// A launch of one message of a variant.
pub(crate) fn spec(variant: &Variant) -> Spec {
    Spec {
        build: BUILD.into(),
        mechanism: variant.to_string(),
        plugin: variant.entry.plugin.cloned().map(Box::new),
        workload: Workload::Latency,
        message_bytes: 1,
        workers: Workers::Process,
        initiator_cpu: None,
        others: Vec::new(),
        responder_cpu: None,
        generators: Vec::new(),
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
        deadline_ms: WITHIN_MS,
        buffer_offset: 0,
        seed: 1,
        observe: None,
        beside: None,
        energy: false,
        plant: None,
        half: None,
    }
}
