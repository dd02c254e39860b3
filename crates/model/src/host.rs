//! The record of the machine: all that a reader needs in order to judge whether a figure would
//! hold on theirs. What a host hides or doesn't have is `None` (null in JSON), never a guess.

mod build;
mod c_library;
mod cgroup;
mod container;
mod default_buffers;
mod kernel;
mod limits;
mod memory;
mod power;
mod processor;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use build::Build;
pub use c_library::CLibrary;
pub use cgroup::{Cgroup, CpuQuota};
pub use container::{Container, Hypervisor};
pub use default_buffers::{Buffers, DefaultBuffers};
pub use kernel::{ClockSource, HugePages, Kernel, Preemption};
pub use limits::{Limit, Limits, Mount, Sysctls};
pub use memory::{Cache, Memory, Node};
pub use power::{Boost, Cores, Frequency, Idle, IdleState, Smt};
pub use processor::Processor;

use crate::findings::Finding;

/// What a run was measured on. Every part is read below one root, save what belongs to this
/// process: its limits, affinity and user id, what it is granted, how it was built.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// /proc/sys/kernel/hostname.
    pub hostname: Option<String>,
    /// /proc/sys/kernel/random/boot_id: two runs with the same one saw the same boot.
    pub boot_id: Option<String>,
    /// Model, stepping and microcode of the CPUs.
    pub processor: Processor,
    /// The online CPUs (/sys/devices/system/cpu/online).
    pub cpus_online: Option<Vec<u32>>,
    /// CPUs kept from the scheduler's balancing (`isolcpus=`; /sys/devices/system/cpu/isolated).
    pub cpus_isolated: Option<Vec<u32>>,
    /// CPUs whose tick stops with one runnable task (/sys/devices/system/cpu/nohz_full). `None`
    /// in kernels built without it.
    pub cpus_nohz_full: Option<Vec<u32>>,
    /// Every kind of cache, with the CPUs that share each one.
    pub caches: Vec<Cache>,
    /// Memory size and nodes.
    pub memory: Memory,
    /// Whether cores run two threads.
    pub smt: Smt,
    /// Governors, drivers, boost.
    pub frequency: Frequency,
    /// The kinds of core, with the highest frequency of each, the fastest first.
    pub cores: Vec<Cores>,
    /// Idle driver, governor, states, guest halt polling.
    pub idle: Idle,
    /// Whether this is a guest, and of what.
    pub hypervisor: Hypervisor,
    /// Whether this is a container, and the signs of it.
    pub container: Container,
    /// What the control groups leave of the machine.
    pub cgroup: Cgroup,
    /// Release, preemption, tick, scheduler, mitigations, boot line.
    pub kernel: Kernel,
    /// The clock behind the system calls.
    pub clock_source: ClockSource,
    /// Transparent huge pages.
    pub huge_pages: HugePages,
    /// The C library this program uses.
    pub c_library: CLibrary,
    /// Kernel settings of pipes, sockets and IPC, among others.
    pub sysctls: Sysctls,
    /// File systems that mechanisms keep their objects in.
    pub mounts: Vec<Mount>,
    /// Resource limits, affinity and user of this process.
    pub limits: Limits,
    /// What fresh objects get.
    pub default_buffers: DefaultBuffers,
    /// Compiler and flags of this program.
    pub build: Build,
    /// What the doctor found before the run; empty where it wasn't asked .
    pub findings: Vec<Finding>,
}

impl Host {
    /// Whether figures of the other may stand beside those of this one: the same name, CPUs, kernel and
    /// hypervisor. Boots and settings may differ.
    pub fn is_like(&self, other: &Host) -> bool {
        let known = |host: &Host| {
            let kernel = (host.kernel.release.clone(), host.hypervisor.kind.clone());
            (host.hostname.clone(), host.processor.clone(), host.cpus_online.clone(), kernel)
        };
        known(self) == known(other)
    }
}
