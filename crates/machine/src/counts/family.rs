//! What is counted together: families of events, small enough that no two have to share a counter
//! of the processor.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::calls::CALLS;
use crate::tree;
use sys::perf::{Cache, Event, Mode};

/// A family of events. `l1d`, `l1i`, `l2`, `mem`, `tlb` and `bus` are those of the FreeBSD study of
/// pipes and sockets, in the kernel's generic events: its `l2` was the last level, and is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Switches, migrations, faults, time on CPUs, wake-ups, interrupts between CPUs.
    Software,
    /// System calls, by name.
    Calls,
    /// Instructions and cycles.
    Core,
    /// Branches and their misses.
    Branches,
    /// First-level cache, data.
    L1d,
    /// First-level cache, instructions.
    L1i,
    /// Last-level cache.
    L2,
    /// Memory of the node.
    Mem,
    /// Translations.
    Tlb,
    /// Bus and reference cycles.
    Bus,
}

/// Every family, those that need no hardware first.
pub const FAMILIES: &[Family] = &[
    Family::Software,
    Family::Calls,
    Family::Core,
    Family::Branches,
    Family::L1d,
    Family::L1i,
    Family::L2,
    Family::Mem,
    Family::Tlb,
    Family::Bus,
];

/// One counter of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its name: the kernel's, with `:u` or `:k` where user and kernel are told apart.
    pub name: String,
    /// What it counts.
    pub event: Event,
    /// Where.
    pub mode: Mode,
}

impl Family {
    /// The name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Family::Software => "software",
            Family::Calls => "calls",
            Family::Core => "core",
            Family::Branches => "branches",
            Family::L1d => "l1d",
            Family::L1i => "l1i",
            Family::L2 => "l2",
            Family::Mem => "mem",
            Family::Tlb => "tlb",
            Family::Bus => "bus",
        }
    }

    /// Whether it needs counters of the processor.
    pub fn is_hardware(self) -> bool {
        !matches!(self, Family::Software | Family::Calls)
    }

    /// What it counts on a kernel that has all of it, by name.
    pub fn names(self) -> Vec<String> {
        match self {
            Family::Software => {
                let plain = PLAIN.iter().map(|it| it.0);
                plain.chain(TRACED.iter().map(|it| it.0)).map(String::from).collect()
            }
            Family::Calls => {
                let named = CALLS.iter().map(|it| it.0);
                std::iter::once("calls").chain(named).map(String::from).collect()
            }
            hardware => hardware.counters(Path::new("/")).into_iter().map(|it| it.name).collect(),
        }
    }

    /// Its counters; `root` is `/` but in tests. Tracepoints that this kernel lacks are left out.
    pub fn counters(self, root: &Path) -> Vec<Counter> {
        use Event::{BranchMisses, Branches, BusCycles, Cycles, Instructions, ReferenceCycles};
        match self {
            Family::Software => software(root),
            Family::Calls => calls(root),
            Family::Core => apart(&[("instructions", Instructions), ("cycles", Cycles)]),
            Family::Branches => apart(&[("branches", Branches), ("branch-misses", BranchMisses)]),
            Family::L1d => cache("l1d", Cache::L1Data),
            Family::L1i => apart(&[("l1i-misses", Event::ReadMisses(Cache::L1Instructions))]),
            Family::L2 => cache("llc", Cache::LastLevel),
            Family::Mem => cache("node", Cache::Node),
            Family::Tlb => apart(&[
                ("dtlb-misses", Event::ReadMisses(Cache::DataTlb)),
                ("itlb-misses", Event::ReadMisses(Cache::InstructionTlb)),
            ]),
            Family::Bus => apart(&[("bus-cycles", BusCycles), ("ref-cycles", ReferenceCycles)]),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(word: &str) -> Result<Family, String> {
        let known = FAMILIES.iter().copied().find(|family| family.name() == word);
        known.ok_or_else(|| {
            let names: Vec<&str> = FAMILIES.iter().map(|family| family.name()).collect();
            format!("no family of counters `{word}`: there are {}", names.join(", "))
        })
    }
}

/// Reads and misses of a cache.
fn cache(name: &str, which: Cache) -> Vec<Counter> {
    let (reads, misses) = (format!("{name}-reads"), format!("{name}-misses"));
    apart(&[(&reads, Event::Reads(which)), (&misses, Event::ReadMisses(which))])
}

/// Each event twice: in the program, and in the kernel.
fn apart(events: &[(&str, Event)]) -> Vec<Counter> {
    let modes = [("u", Mode::User), ("k", Mode::Kernel)];
    let pairs = events.iter().flat_map(|event| modes.map(|mode| (event, mode)));
    pairs
        .map(|(&(name, event), (letter, mode))| Counter {
            name: format!("{name}:{letter}"),
            event,
            mode,
        })
        .collect()
}

/// Counted by the scheduler and the memory management, everywhere.
const PLAIN: [(&str, Event); 4] = [
    ("context-switches", Event::ContextSwitches),
    ("cpu-migrations", Event::Migrations),
    ("page-faults", Event::Faults),
    ("task-clock-ns", Event::TaskClock),
];

/// Counted by tracepoints.
const TRACED: [(&str, &str); 3] = [
    ("wake-ups", "sched/sched_wakeup"),
    ("interrupts-sent", "ipi/ipi_send_cpu"),
    ("interrupts-taken", "irq_vectors/reschedule_entry"),
];

fn software(root: &Path) -> Vec<Counter> {
    let traced = TRACED.into_iter().filter_map(|(name, tracepoint)| {
        Some((name, Event::Tracepoint(tracepoint_id(root, tracepoint)?)))
    });
    let any = |(name, event): (&str, Event)| Counter { name: name.into(), event, mode: Mode::Any };
    PLAIN.into_iter().chain(traced).map(any).collect()
}

fn calls(root: &Path) -> Vec<Counter> {
    let Some(entered) = tracepoint_id(root, "raw_syscalls/sys_enter") else {
        return Vec::new();
    };
    let all = Counter { name: "calls".into(), event: Event::Tracepoint(entered), mode: Mode::Any };
    let by_name = CALLS.iter().map(|&(name, number)| Counter {
        name: name.into(),
        event: Event::TracepointOf(entered, number),
        mode: Mode::Any,
    });
    std::iter::once(all).chain(by_name).collect()
}

/// The id of a tracepoint `group/name`, where tracefs is mounted and may be read.
fn tracepoint_id(root: &Path, tracepoint: &str) -> Option<u64> {
    ["sys/kernel/tracing", "sys/kernel/debug/tracing"]
        .into_iter()
        .find_map(|mount| tree::number(root, &format!("{mount}/events/{tracepoint}/id")))
}
