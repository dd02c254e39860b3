//! What is counted together, families of events small enough that no two have to share a counter of the
//! processor; what one launch counted; and the figures that are made of it.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A family of events. `l1d`, `l1i`, `l2`, `mem`, `tlb` and `bus` are those of the FreeBSD study of
/// pipes and sockets, in the kernel's generic events: its `l2` was the last level, and is here.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
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

// Those that need no hardware first.
crate::named!(Family {
    Software => "software",
    Calls => "calls",
    Core => "core",
    Branches => "branches",
    L1d => "l1d",
    L1i => "l1i",
    L2 => "l2",
    Mem => "mem",
    Tlb => "tlb",
    Bus => "bus",
});

impl Family {
    /// Whether it needs counters of the processor.
    pub fn is_hardware(self) -> bool {
        !matches!(self, Family::Software | Family::Calls)
    }

    /// What it counts on a kernel that has all of it, without the mode.
    fn events(self) -> &'static [&'static str] {
        match self {
            Family::Software => &[
                "context-switches",
                "cpu-migrations",
                "page-faults",
                "task-clock-ns",
                "wake-ups",
                "interrupts-sent",
                "interrupts-taken",
            ],
            Family::Calls => CALLS,
            Family::Core => &["instructions", "cycles"],
            Family::Branches => &["branches", "branch-misses"],
            Family::L1d => &["l1d-reads", "l1d-misses"],
            Family::L1i => &["l1i-misses"],
            Family::L2 => &["llc-reads", "llc-misses"],
            Family::Mem => &["node-reads", "node-misses"],
            Family::Tlb => &["dtlb-misses", "itlb-misses"],
            Family::Bus => &["bus-cycles", "ref-cycles"],
        }
    }

    /// What it counts on a kernel that has all of it, by name.
    pub fn names(self) -> Vec<String> {
        let events = self.events().iter();
        if self.is_hardware() {
            return events.flat_map(|event| MODES.map(|mode| format!("{event}:{mode}"))).collect();
        }
        let all = (self == Family::Calls).then_some("calls");
        all.into_iter().chain(events.copied()).map(String::from).collect()
    }
}

/// The system calls that are counted by name: those of the mechanisms, and of setting them up.
pub const CALLS: &[&str] = &[
    "read",
    "write",
    "readv",
    "writev",
    "pread64",
    "sendto",
    "recvfrom",
    "sendmsg",
    "recvmsg",
    "futex",
    "poll",
    "ppoll",
    "epoll_wait",
    "epoll_ctl",
    "splice",
    "vmsplice",
    "tee",
    "msgsnd",
    "msgrcv",
    "msgctl",
    "semop",
    "semtimedop",
    "semctl",
    "mq_timedsend",
    "mq_timedreceive",
    "process_vm_readv",
    "process_vm_writev",
    "rt_sigtimedwait",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "kill",
    "tgkill",
    "pidfd_send_signal",
    "sched_yield",
    "io_uring_enter",
    "socket",
    "socketpair",
    "connect",
    "accept4",
    "bind",
    "listen",
    "shutdown",
    "close",
    "openat",
    "pipe2",
    "eventfd2",
    "mmap",
    "munmap",
    "clock_gettime",
    "getrusage",
];

impl FromStr for Family {
    type Err = String;

    fn from_str(word: &str) -> Result<Family, String> {
        let known = Family::ALL.into_iter().find(|family| family.name() == word);
        known.ok_or_else(|| {
            let names = Family::ALL.map(Family::name).join(", ");
            format!("no family of counters `{word}`: there are {names}")
        })
    }
}

/// What one worker's counters said.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Counts {
    /// Operations of the worker while they ran: round trips, or messages of throughput.
    pub operations: u64,
    /// Events by name.
    pub events: BTreeMap<String, u64>,
}

/// A figure that hardware counters are asked for: one count divided by another, of the same family or of
/// two, which are then counted in different launches of the same round. It is given of user and kernel apart, and of both together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// `cycles-per-instruction`.
    pub name: &'static str,
    /// The family whose result it stands with.
    pub family: Family,
    /// What is divided.
    pub top: &'static str,
    /// By what.
    pub bottom: &'static str,
}

const fn figure(
    name: &'static str,
    family: Family,
    top: &'static str,
    bottom: &'static str,
) -> Figure {
    Figure { name, family, top, bottom }
}

/// Every figure, by family.
pub const FIGURES: &[Figure] = &[
    figure("cycles-per-instruction", Family::Core, "cycles", "instructions"),
    figure("misses-per-branch", Family::Branches, "branch-misses", "branches"),
    figure("cycles-per-l1d-read", Family::L1d, "cycles", "l1d-reads"),
    figure("misses-per-l1d-read", Family::L1d, "l1d-misses", "l1d-reads"),
    figure("l1i-misses-per-instruction", Family::L1i, "l1i-misses", "instructions"),
    figure("cycles-per-llc-read", Family::L2, "cycles", "llc-reads"),
    figure("misses-per-llc-read", Family::L2, "llc-misses", "llc-reads"),
    figure("misses-per-node-read", Family::Mem, "node-misses", "node-reads"),
    figure("dtlb-misses-per-instruction", Family::Tlb, "dtlb-misses", "instructions"),
    figure("itlb-misses-per-instruction", Family::Tlb, "itlb-misses", "instructions"),
    figure("cycles-per-reference-cycle", Family::Bus, "cycles", "ref-cycles"),
];

/// Where events of hardware are counted apart: in the program, and in the kernel.
pub const MODES: [&str; 2] = ["u", "k"];
