//! Is this machine fit to measure on? Each check is a pure function of what was read before: the
//! record of the machine ([`Host`]), and a [`Interval`] of time. It says what was found, what is
//! wanted, what the difference does to the figures, and what to do. Advice only: nothing here
//! changes a setting. The checks of an interval run around each round too, and mark it.
//!
//! | file | checks |
//! | --- | --- |
//! | `speed.rs` | governor, boost, frequency, thermal, smt, idle, clock |
//! | `concerns.rs` | none: which findings a run is to warn of |
//! | `cores.rs` | cores |
//! | `guest.rs` | virtualisation, container, steal |
//! | `traffic.rs` | load, interrupts |
//! | `share.rs` | quota, cpuset, isolation |
//! | `limits.rs` | pipes, queues, sockets, locked-memory |
//! | here | calls |
//! | `watch.rs` | nothing: it reads what happened in an interval |

mod concerns;
mod cores;
mod guest;
mod limits;
mod share;
mod speed;
mod traffic;
mod watch;

use std::path::Path;
use std::time::Duration;

use model::distinct::ascending;
use model::findings::{Finding, Level, Mark};
use model::host::Host;

use super::needs::{self, LEAST_KERNEL, Lacking};
use super::{Relation, Topology, host, noise};

pub use concerns::{Measured, named_mechanisms, warnings};
pub use watch::{Interval, Snapshot, Throttled, Watch};

/// What the checks look at.
struct Seen<'a> {
    host: &'a Host,
    topology: Option<&'a Topology>,
    /// The CPUs that are, or would be, used.
    cpus: &'a [u32],
    stretch: &'a Interval,
    /// What every launch needs and isn't there.
    lacking: &'a [Lacking],
}

/// Looks at the machine below `root` for `time`, during which the caller sleeps, and runs every
/// check for the CPUs that are to be used: all that are allowed, where none is named.
pub fn examine(root: &Path, host: &Host, cpus: &[u32], time: Duration) -> Vec<Finding> {
    let topology = Topology::read(root).ok().filter(|topology| topology.is_known);
    let watch = Watch::new(root, cpus);
    let cpus = &watch.cpus().to_vec();
    let devices = traffic::devices(root, cpus);
    let before = watch.look();
    std::thread::sleep(time);
    let after = watch.look();
    let mut stretch = after.since(&before);
    stretch.steal_since_boot = after.steal_since_boot();
    stretch.busiest = traffic::busiest(&devices, &traffic::devices(root, cpus), stretch.ns);
    stretch.load = noise::load(root);
    let lacking = &needs::lacking(root);
    findings(&Seen { host, topology: topology.as_ref(), cpus, stretch: &stretch, lacking })
}

/// Every check, in the order of the table above.
fn findings(seen: &Seen) -> Vec<Finding> {
    let checks = [
        calls,
        speed::governor,
        speed::boost,
        cores::cores,
        speed::smt,
        speed::idle,
        speed::clock,
        guest::virtualisation,
        guest::container,
        share::cpuset,
        share::isolation,
        limits::pipes,
        limits::queues,
        limits::sockets,
        limits::locked_memory,
    ];
    let of_stretch =
        passing(seen.stretch).into_iter().map(|finding| known_from_the_host(finding, seen));
    checks.iter().map(|check| check(seen)).chain(of_stretch).collect()
}

const CALLS: Check = Check {
    name: "calls",
    wanted: "proc is mounted on /proc, and pidfd_open(2), waitid(2) by pidfd, pidfd_send_signal(2) and socketpair(2) \
             may be called",
    effect: "Launches can't be started, watched or ended: nothing can be measured.",
    advice: "see what each needs.",
};

fn calls(seen: &Seen) -> Finding {
    if seen.lacking.is_empty() {
        return CALLS.fine(format!("all that a launch needs ({LEAST_KERNEL}, /proc)"));
    }
    let remedies: Vec<&str> = seen.lacking.iter().map(|call| &*call.remedy).collect();
    let found: Vec<String> =
        seen.lacking.iter().map(|call| format!("{}: {}", call.what, call.found)).collect();
    CALLS.warning(found.join("; ")).advice(remedies.join("; "))
}

/// The checks of an interval of time; the same for `doctor` and for a round.
fn passing(stretch: &Interval) -> Vec<Finding> {
    vec![
        guest::steal(stretch),
        traffic::load(stretch),
        traffic::interrupts(stretch),
        share::quota(stretch),
        speed::frequency(stretch),
        speed::thermal(stretch),
    ]
}

/// Adds what only the record of the machine knows.
fn known_from_the_host(finding: Finding, seen: &Seen) -> Finding {
    match finding.check.as_str() {
        "quota" => share::quota_of(finding, seen),
        "steal" => guest::steal_of(finding, seen),
        _ => finding,
    }
}

impl Interval {
    /// What was not as it should be during it.
    pub fn marks(&self) -> Vec<Mark> {
        let marked = passing(self).into_iter().filter(|finding| finding.level >= Level::Note);
        marked
            .map(|finding| Mark {
                check: finding.check,
                level: finding.level,
                found: finding.found,
            })
            .collect()
    }

    /// The checks that must know before it can be said that nobody disturbed it, and that don't.
    pub fn unknown(&self) -> Vec<String> {
        let unknown = passing(self).into_iter().filter(Finding::leaves_open);
        unknown.map(|finding| finding.check).collect()
    }
}

/// The host below `root`, with what the doctor finds in `time` for the CPUs to be used.
pub fn examined(root: &Path, cpus: &[u32], time: Duration) -> Host {
    let mut host = host::read(root);
    host.findings = examine(root, &host, cpus, time);
    host
}

/// The CPUs that a run uses if nothing else is said: those of every pinned placement that the
/// allowed CPUs offer. All the allowed ones where the topology can't be read.
pub fn usual_cpus(root: &Path, allowed: &[u32]) -> Vec<u32> {
    let Ok(topology) = Topology::read(root) else { return allowed.to_vec() };
    let pairs = Relation::ALL.iter().filter_map(|relation| topology.pair(*relation, allowed));
    ascending(pairs.flat_map(|(a, b)| [a, b]))
}

/// The words of a check that don't depend on what it finds.
struct Check {
    name: &'static str,
    wanted: &'static str,
    effect: &'static str,
    advice: &'static str,
}

impl Check {
    fn finding(&self, level: Level, found: String, advice: &str) -> Finding {
        Finding {
            check: self.name.into(),
            level,
            found,
            wanted: self.wanted.into(),
            effect: self.effect.into(),
            advice: advice.into(),
            command: None,
        }
    }

    fn fine(&self, found: impl Into<String>) -> Finding {
        self.finding(Level::Fine, found.into(), "nothing to do")
    }

    fn note(&self, found: impl Into<String>) -> Finding {
        self.finding(Level::Note, found.into(), self.advice)
    }

    fn warning(&self, found: impl Into<String>) -> Finding {
        self.finding(Level::Warning, found.into(), self.advice)
    }

    /// For what can't be read; `advice` is where else the answer may be.
    fn unknown(&self, found: impl Into<String>, advice: &str) -> Finding {
        self.finding(Level::Unknown, found.into(), advice)
    }
}

#[cfg(test)]
mod tests;
