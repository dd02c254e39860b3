//! What the control groups leave of the machine: the tightest limit on the way from the process's
//! group to the root of what is mounted, in version 2 and in version 1 (cgroups(7)).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits by control groups. `None` means that no visible group limits it.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Cgroup {
    /// The process's group in the version 2 hierarchy (`0::` in /proc/self/cgroup). `None`
    /// where there is only version 1.
    pub v2_path: Option<String>,
    /// The controllers that version 1 has, with the process's group in each: `cpu:/a`.
    pub v1_paths: Vec<String>,
    /// CPU time per period: `cpu.max`, or `cpu.cfs_quota_us` and `cpu.cfs_period_us`.
    pub cpu_quota: Option<CpuQuota>,
    /// CPUs that may be used: `cpuset.cpus.effective`, or `cpuset.effective_cpus`. `None` where
    /// the controller is off.
    pub cpus_effective: Option<Vec<u32>>,
    /// Memory, bytes: `memory.max`, or `memory.limit_in_bytes`.
    pub memory_max_bytes: Option<u64>,
}

/// A share of CPU time: once it is used up, all threads of the group stop until the period ends.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct CpuQuota {
    /// CPU time in each period, µs, over all CPUs.
    pub quota_us: u64,
    /// The period, µs.
    pub period_us: u64,
}

impl CpuQuota {
    /// The quota as a number of CPUs.
    pub fn cpus(self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }

    /// Itself, unless its period is 0.
    pub fn valid(self) -> Option<CpuQuota> {
        (self.period_us > 0).then_some(self)
    }
}
