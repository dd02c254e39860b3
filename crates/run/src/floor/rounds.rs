//! Bounds measured again in every round of a run: a process that stays, asleep until it is asked.
//!
//! It is there before the first launch ([`floors::Bench`] says why).

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::Order;
use super::owner::{PROGRAM, Process};
use crate::launch::Interrupt;
use crate::launch::wire::{FrameKind, Missing, Reader, write_frame};
use floors::Bench;
use model::alignment::Alignment;
use model::bound::{Beside, RoundBound};

/// How long an answer may take before the process is taken for hung.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// The owner's hold on the process.
pub struct Rounds(Process);

impl Rounds {
    /// Starts it.
    ///
    /// # Errors
    /// Why it could not be started.
    pub fn start() -> Result<Rounds, String> {
        let order = Order::quick(Alignment::default());
        let process = Process::start(Path::new(PROGRAM), &order, true);
        process.map(Rounds).map_err(|error| format!("start the floor process: {error}"))
    }

    /// Measures each of `wanted` once; what this machine can't measure is left out.
    ///
    /// # Errors
    /// What became of the process. It is of no use any more.
    pub fn measure(
        &mut self,
        wanted: &[Beside],
        interrupt: &Interrupt,
    ) -> Result<Vec<RoundBound>, String> {
        let text = serde_json::to_vec(wanted).expect("what is wanted is always JSON");
        // If the process died already, the end of its output says so.
        let _ = write_frame(&self.0.stdin, FrameKind::Spec, &text);
        let deadline = Instant::now() + ANSWERS_WITHIN;
        match self.0.stdout.next(Some(deadline), Some(interrupt.fd())) {
            Ok((FrameKind::Record, text)) => serde_json::from_slice(&text)
                .map_err(|error| format!("the floor process said what is no answer: {error}")),
            Ok((kind, _)) => Err(format!("the floor process said {kind:?} out of turn")),
            Err(Missing::Interrupted) => Err("interrupted".into()),
            Err(Missing::Late) => {
                Err(format!("the floor process took more than {} s", ANSWERS_WITHIN.as_secs()))
            }
            Err(Missing::Closed) => Err(self.0.death()),
            Err(Missing::Broken(error)) => Err(format!("the floor process's stream: {error}")),
        }
    }
}

/// Answers until its owner is gone.
pub(super) fn serve(order: Order, owner: &mut Reader<io::Stdin>) -> io::Result<()> {
    let mut bench = Bench::new(order).map_err(io::Error::other)?;
    while let Ok((FrameKind::Spec, text)) = owner.next(None, None) {
        let wanted: Vec<Beside> = serde_json::from_slice(&text)?;
        let found =
            wanted.into_iter().filter_map(|of| Some(RoundBound { of, ns: bench.find(of)? }));
        let text = serde_json::to_vec(&found.collect::<Vec<_>>())?;
        write_frame(io::stdout(), FrameKind::Record, &text)?;
    }
    Ok(())
}
