//! How often something happened while a worker was timed: counters of the kernel and of the
//! processor, opened before, started and stopped around the timed loop, read after it.
//!
//! Counting has a price, so it is done in launches of its own. Nothing is multiplexed: a family
//! is small enough for the hardware, and a counter that still had to share it fails the launch.

pub(super) mod calls;
mod family;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use model::counts::{Counts, Family};
use model::probe::Refusal;

pub use family::{Counter, counters};

use crate::tree;
use sys::perf::{Count, Kernel, Perf, Reading};

/// Open counters of the calling thread.
pub struct Counting<'a> {
    perf: &'a dyn Perf,
    open: Vec<Open>,
}

struct Open {
    name: String,
    counter: Box<dyn Count>,
    before: Reading,
}

impl<'a> Counting<'a> {
    /// Opens every counter of `family`, `times` over; `root` is `/` but in tests.
    ///
    /// # Errors
    /// What is in the way, with the level found and the level needed.
    pub fn open(
        perf: &'a dyn Perf,
        family: Family,
        times: u8,
        root: &Path,
    ) -> Result<Counting<'a>, Refusal> {
        let counters = family::counters(family, root);
        if counters.is_empty() {
            return Err(no_tracepoints());
        }
        let open = |other: &Counter| match perf.open(other.event, other.mode) {
            Ok(counter) => {
                Ok(Open { name: other.name.clone(), counter, before: Reading::default() })
            }
            Err(error) => Err(refusal(other, &error, tree::number(root, PARANOID))),
        };
        let all = (0..times).flat_map(|_| &counters).map(open);
        Ok(Counting { perf, open: all.collect::<Result<_, _>>()? })
    }

    /// Counts from now on.
    ///
    /// # Errors
    /// A counter that found no room in the hardware.
    pub fn start(&mut self) -> io::Result<()> {
        for open in &mut self.open {
            open.before = open.counter.read()?;
        }
        self.perf.start();
        Ok(())
    }

    /// Counts no longer; gives what was counted since `start`, which were `operations`.
    ///
    /// # Errors
    /// A counter that shared the hardware with another one, or lost it.
    pub fn stop(&mut self, operations: u64) -> io::Result<Counts> {
        self.perf.stop();
        let mut counts = Counts { operations, ..Counts::default() };
        for Open { name, counter, before } in &mut self.open {
            let after = counter.read()?;
            let enabled = (after.enabled - before.enabled).as_secs_f64();
            let running = (after.running - before.running).as_secs_f64();
            if running < enabled {
                return Err(io::Error::other(format!(
                    "counter {name} ran {:.0} % of the time: others use the hardware too",
                    100.0 * running / enabled
                )));
            }
            // The call that stops the counters is the one call of ours that they see.
            let own = u64::from(name == "calls");
            let count = (after.count - before.count).saturating_sub(own);
            counts.events.insert(name.clone(), count);
        }
        Ok(counts)
    }
}

/// Whether this process may count `family` here.
///
/// # Errors
/// What is in the way.
pub fn available(family: Family) -> Result<(), Refusal> {
    Counting::open(&Kernel, family, 1, Path::new("/")).map(drop)
}

const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";

fn no_tracepoints() -> Refusal {
    Refusal {
        reason: "the tracepoints can't be read: tracefs is not mounted, or not for this user"
            .into(),
        remedy: Some("mount -t tracefs tracefs /sys/kernel/tracing".into()),
    }
}

fn refusal(counter: &Counter, error: &io::Error, paranoid: Option<i32>) -> Refusal {
    let name = &counter.name;
    let hardware = counter.event.is_hardware();
    let (reason, remedy) = match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) if hardware => {
            (format!("this machine has no counter of {name} (common in a virtual machine)"), None)
        }
        Some(libc::EACCES | libc::EPERM) => {
            let needed = if hardware { 1 } else { -1 };
            let found = paranoid.map_or("unknown".into(), |level| level.to_string());
            let reason = format!(
                "{name} may not be counted: kernel.perf_event_paranoid is {found}, {needed} or \
                 CAP_PERFMON is needed"
            );
            (reason, Some(format!("sysctl kernel.perf_event_paranoid={needed}")))
        }
        Some(libc::EMFILE) => {
            (format!("{name}: too many open files"), Some("ulimit -n 1024".into()))
        }
        Some(libc::ENOSYS) => ("this kernel has no perf_event_open(2)".into(), None),
        Some(libc::EBUSY) => (format!("{name}: another program uses the counters"), None),
        _ => (format!("{name}: {error}"), None),
    };
    Refusal { reason, remedy }
}
