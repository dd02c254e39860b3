//! What is counted together: families of events, small enough that no two have to share a counter
//! of the processor.

use std::path::Path;

use model::counts::Family;

use super::calls::CALLS;
use crate::tree;
use sys::perf::{Cache, Event, Mode};

/// One counter of a family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Its name: the kernel's, with `:u` or `:k` where user and kernel are counted separately.
    pub name: String,
    /// What it counts.
    pub event: Event,
    /// Where.
    pub mode: Mode,
}

/// What a family counts here; `root` is `/` but in tests. Tracepoints that this kernel lacks are left out.
pub fn counters(family: Family, root: &Path) -> Vec<Counter> {
    use Event::{BranchMisses, Branches, BusCycles, Cycles, Instructions, ReferenceCycles};
    match family {
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
