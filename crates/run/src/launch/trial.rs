//! Whether a mechanism carries a message here: a launch of one message, by processes of their own, which can't hang
//! and leave nothing. Opening alone doesn't tell: what a filter denies may be the call that moves the bytes.

use super::launcher::{Launcher, unstarted};
use super::spec::Spec;
use super::state::Stage;
use machine::interrupt::Interrupt;
use mechanisms::Variant;
use model::launch::Outcome;
use model::mechanism::{Cause, Unavailable};

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
        plugin: variant.entry.plugin.cloned().map(Box::new),
        deadline_ms: WITHIN_MS,
        ..Spec::new(variant)
    }
}
