//! What makes a CPU fast or slow to wake: frequency, idle states, threads on a core, and how long an idle
//! guest polls before it gives the CPU away.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Simultaneous multithreading (/sys/devices/system/cpu/smt).
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Smt {
    /// `control`: `on`, `off`, `forceoff`, `notsupported`, `notimplemented`.
    pub control: Option<String>,
    /// `active`: whether any core runs two threads now.
    pub active: Option<bool>,
}

/// Frequency scaling (cpu*/cpufreq). Maps are empty where there is none, as in most guests.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Frequency {
    /// `scaling_driver` of the first CPU.
    pub driver: Option<String>,
    /// The online CPUs under each `scaling_governor`.
    pub governors: BTreeMap<String, Vec<u32>>,
    /// The online CPUs under each `energy_performance_preference`, where the driver has it.
    pub energy_preferences: BTreeMap<String, Vec<u32>>,
    /// `cpuinfo_max_freq` of the first CPU, kHz.
    pub hardware_max_khz: Option<u64>,
    /// `scaling_min_freq` of the first CPU, kHz: the lowest the governor may choose.
    pub lowest_khz: Option<u64>,
    /// `scaling_max_freq` of the first CPU, kHz: the highest the governor may choose.
    pub highest_khz: Option<u64>,
    /// Whether frequencies above the nominal one are allowed.
    pub boost: Option<Boost>,
}

/// Online CPUs whose cores the kernel describes alike.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Cores {
    /// Those with the same number are of one kind; 0 is the fastest. Figures of one kind say nothing of another.
    pub kind: u32,
    /// The CPUs.
    pub cpus: Vec<u32>,
    /// Whose event counters they have (/sys/devices/*/cpus): `cpu_core`, `cpu_atom`, `armv8_cortex_a72`.
    pub family: Option<String>,
    /// `cpu_capacity`: their speed, where the fastest has 1024.
    pub capacity: Option<u32>,
    /// `cpuinfo_max_freq`, kHz.
    pub max_khz: Option<u64>,
}

/// Whether boost is on, and the file that says so.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Boost {
    /// On or off.
    pub on: bool,
    /// The file: `cpufreq/boost`, or `intel_pstate/no_turbo`, whose sense is the reverse.
    pub source: String,
}

/// How CPUs idle (/sys/devices/system/cpu/cpuidle).
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Idle {
    /// `current_driver`; `none` where the architecture's own idle loop is used.
    pub driver: Option<String>,
    /// `current_governor` (older kernels: `current_governor_ro`).
    pub governor: Option<String>,
    /// The states of the first online CPU, shallowest first. Empty without a driver.
    pub states: Vec<IdleState>,
    /// What an idle guest polls before it gives its CPU to the host: the files of
    /// /sys/module/haltpoll/parameters. Empty where the module is not there.
    pub guest_halt_polling: BTreeMap<String, String>,
    /// What this machine, as a host, polls when a guest idles
    /// (/sys/module/kvm/parameters/halt_poll_ns).
    pub host_halt_polling_ns: Option<u64>,
}

/// One idle state (cpu*/cpuidle/state*).
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct IdleState {
    /// `name`, such as `POLL`, `C1E`, `C6`.
    pub name: String,
    /// `latency`: the declared time to leave it, µs.
    pub exit_latency_us: Option<u64>,
    /// `residency`: how long it must last to pay, µs.
    pub residency_us: Option<u64>,
    /// `disable`: switched off by hand.
    pub disabled: Option<bool>,
}
