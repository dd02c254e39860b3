//! What looks on while a worker is timed: its own counters, and the marks by which a trace follows
//! it. Neither makes a call in a launch that isn't observed.

use clock::Now;
use std::io;
use std::path::Path;

use rustix::time::{ClockId, clock_gettime};

use super::spec::Spec;
use machine::counts::Counting;
use machine::trace::{Marking, Marks, Who};
use model::launch::{Role, WorkerReport};
use model::probe::{Onlooker, Probe};
use model::trace::{Instant, Marked};
use sys::perf::Kernel;

/// The onlookers of one worker.
pub struct Onlookers {
    counting: Option<Counting<'static>>,
    marking: Option<Marking>,
    clock: model::clock::Kind,
    begun: Option<Instant>,
}

impl Onlookers {
    /// Opens what `spec` asks for, in the worker itself; a trace knows it by its `marks`.
    ///
    /// # Errors
    /// What is in the way of counting, and the way out.
    pub fn open(spec: &Spec, role: Role, marks: Option<&Marks>) -> io::Result<Onlookers> {
        let counting = match spec.observe {
            Some(Probe { onlooker: Onlooker::Counters(family), times, .. }) => {
                Counting::open(&Kernel, family, times, Path::new("/")).map(Some)
            }
            _ => Ok(None),
        };
        if marks.is_some() {
            // The first look at a system clock asks the kernel where it lies.
            instant(spec.clock);
        }
        Ok(Onlookers {
            counting: counting.map_err(|refusal| io::Error::other(refusal.to_string()))?,
            marking: marks.map(|marks| Marking::of(marks.clone(), who(role))),
            clock: spec.clock,
            begun: None,
        })
    }

    /// The timed part begins.
    ///
    /// # Errors
    /// A counter that found no room in the hardware.
    pub fn start(&mut self) -> io::Result<()> {
        if let Some(marking) = &self.marking {
            marking.begin()?;
            self.begun = Some(instant(self.clock));
        }
        self.counting.as_mut().map_or(Ok(()), Counting::start)
    }

    /// It ended, after so many `operations`, of which stretches were `closed` by these stamps: `report` is
    /// told what was counted, and where it lies.
    ///
    /// # Errors
    /// A counter that had to share the hardware.
    pub fn stop(
        &mut self,
        operations: u64,
        closed: Vec<u64>,
        report: &mut WorkerReport,
    ) -> io::Result<()> {
        if let Some(counting) = &mut self.counting {
            report.counts = Some(counting.stop(operations)?);
        }
        if let Some(marking) = &self.marking {
            let ended = instant(self.clock);
            marking.end()?;
            report.marked = self.begun.map(|begun| Marked { begun, ended, operations, closed });
        }
        Ok(())
    }
}

/// The trace's word for a role.
pub fn who(role: Role) -> Who {
    match role {
        Role::Initiator => Who::Initiator,
        Role::Responder => Who::Responder,
    }
}

/// Now, by both clocks: of a few readings the one that took least.
fn instant(clock: model::clock::Kind) -> Instant {
    let reading = |_| {
        let before = clock.now();
        let time = clock_gettime(ClockId::Monotonic);
        let took = clock.now() - before;
        let monotonic_ns = time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64;
        (took, Instant { ticks: before + took / 2, monotonic_ns })
    };
    (0..5).map(reading).min_by_key(|(took, _)| *took).expect("five readings").1
}
