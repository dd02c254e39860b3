//! The instrumentation of a worker while it is timed: its own counters, and the marks by which a trace
//! follows it. Neither makes a system call in a launch that isn't observed.

use std::io;
use std::path::Path;
use sys::clock::Now;

use rustix::time::{ClockId, clock_gettime};

use super::spec::Spec;
use machine::counts::Counting;
use machine::trace::{Marking, Marks, Who, offset_ns};
use model::launch::{Role, WorkerReport};
use model::probe::{Instrument, Probe};
use model::trace::{Instant, Marked};
use sys::perf::Kernel;

/// The counters and trace marks of one worker.
pub struct Instrumentation {
    counting: Option<Counting<'static>>,
    marking: Option<Marking>,
    clock: model::clock::ClockKind,
    /// How far this process reads CLOCK_MONOTONIC ahead of the clock of the events.
    offset_ns: i64,
    begun: Option<Instant>,
}

impl Instrumentation {
    /// Opens what `spec` asks for. The worker itself must call it. `marks` identify the worker in a trace.
    ///
    /// # Errors
    /// Why counters can't be opened, and the remedy.
    pub fn open(spec: &Spec, role: Role, marks: Option<&Marks>) -> io::Result<Instrumentation> {
        let counting = match spec.observe {
            Some(Probe { instrument: Instrument::Counters(family), times, .. }) => {
                Counting::open(&Kernel, family, times, Path::new("/")).map(Some)
            }
            _ => Ok(None),
        };
        if marks.is_some() {
            // The first look at a system clock asks the kernel where it lies.
            instant(spec.clock, 0);
        }
        Ok(Instrumentation {
            counting: counting.map_err(|refusal| io::Error::other(refusal.to_string()))?,
            marking: marks.map(|marks| Marking::of(marks.clone(), who(role))),
            clock: spec.clock,
            offset_ns: marks.map_or(0, |_| offset_ns(Path::new("/"))),
            begun: None,
        })
    }

    /// Starts counting and marks the start of the timed part.
    ///
    /// # Errors
    /// A counter did not fit into the hardware.
    pub fn start(&mut self) -> io::Result<()> {
        if let Some(marking) = &self.marking {
            marking.begin()?;
            self.begun = Some(instant(self.clock, self.offset_ns));
        }
        self.counting.as_mut().map_or(Ok(()), Counting::start)
    }

    /// Stops counting, marks the end of the timed part, and stores both in `report`. `operations` is how
    /// many were timed; `closed` holds the closing stamp of each stretch of them.
    ///
    /// # Errors
    /// A counter had to share the hardware.
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
            let ended = instant(self.clock, self.offset_ns);
            marking.end()?;
            report.marked = self.begun.map(|begun| Marked { begun, ended, operations, closed });
        }
        Ok(())
    }
}

pub fn who(role: Role) -> Who {
    match role {
        Role::Initiator(_) => Who::Initiator,
        Role::Responder => Who::Responder,
    }
}

/// Now, by both clocks, that of the events as the kernel has it: of a few readings the one that took least.
fn instant(clock: model::clock::ClockKind, offset_ns: i64) -> Instant {
    let reading = |_| {
        let before = clock.now();
        let time = clock_gettime(ClockId::Monotonic);
        let took = clock.now() - before;
        let own_ns = time.tv_sec * 1_000_000_000 + time.tv_nsec;
        let monotonic_ns = own_ns.saturating_sub(offset_ns).max(0) as u64;
        (took, Instant { ticks: before + took / 2, monotonic_ns })
    };
    (0..5).map(reading).min_by_key(|(took, _)| *took).expect("five readings").1
}
