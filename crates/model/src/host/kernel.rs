//! The kernel: release, boot line, preemption, tick, scheduler slice, mitigations, clock source, huge
//! pages.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The running kernel.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Kernel {
    /// `uname -r` (/proc/sys/kernel/osrelease).
    pub release: Option<String>,
    /// `uname -v` (/proc/sys/kernel/version): build number, SMP, preemption, date.
    pub version: Option<String>,
    /// /proc/cmdline. `None` in some containers.
    pub boot_line: Option<String>,
    /// When the kernel gives way to a woken task.
    pub preemption: Option<Preemption>,
    /// Timer ticks per second (CONFIG_HZ in /boot/config-RELEASE, /lib/modules/RELEASE/config or
    /// /proc/config.gz). `None` where none of them is there.
    pub hz: Option<u32>,
    /// /sys/kernel/debug/sched/base_slice_ns, before Linux 6.6 min_granularity_ns, in ns; where
    /// debugfs can't be read, what sched_getattr(2) says since Linux 6.12. `None` without either.
    pub scheduler_slice_ns: Option<u64>,
    /// Whether sessions are scheduled as groups, so that nice has no effect between them
    /// (/proc/sys/kernel/sched_autogroup_enabled). `None` in kernels built without it.
    pub autogroup: Option<bool>,
    /// What the kernel does about each flaw of the CPU (/sys/devices/system/cpu/vulnerabilities).
    pub mitigations: BTreeMap<String, String>,
    /// Flags of what tainted the kernel (/proc/sys/kernel/tainted), 0 for nothing.
    pub tainted: Option<u64>,
}

/// The preemption mode.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Preemption {
    /// `none`, `voluntary`, `full`, `lazy`, `rt`; or as much as the source tells: `dynamic` (any
    /// of the first four, chosen at boot), `none or voluntary`.
    pub mode: String,
    /// Where it was found: debugfs, the boot line, the build configuration, or `uname -v`; the
    /// first is the mode in force, the others are what it was at boot.
    pub source: String,
}

/// The clock behind clock_gettime(2) (/sys/devices/system/clocksource/clocksource0).
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct ClockSource {
    /// `current_clocksource`.
    pub current: Option<String>,
    /// `available_clocksource`, best first.
    pub available: Vec<String>,
}

/// Transparent huge pages (/sys/kernel/mm/transparent_hugepage). `None` in kernels built
/// without them.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct HugePages {
    /// `enabled`, of anonymous memory: `always`, `madvise`, `never`.
    pub enabled: Option<String>,
    /// `defrag`: what a fault does when none is at hand.
    pub defrag: Option<String>,
    /// `shmem_enabled`: of shared memory without a mount, memfd among it.
    pub shared_memory: Option<String>,
}
