//! The record of the machine: all that a reader needs in order to judge whether a figure would
//! hold on theirs. Read once per run, never inside a launch. What this host hides or doesn't
//! have is `None` (null in JSON), never a guess.

mod build;
mod c_library;
pub(in crate) mod cgroup;
mod container;
mod granted;
mod kernel;
pub(in crate) mod limits;
mod memory;
mod power;
mod processor;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use build::Build;
pub use c_library::CLibrary;
pub use cgroup::{Cgroup, CpuQuota};
pub use container::{Container, Hypervisor};
pub use granted::{Buffers, Granted};
pub use kernel::{ClockSource, HugePages, Kernel, Preemption};
pub use limits::{Limit, Limits, Mount, Sysctls};
pub use memory::{Cache, Memory, Node};
pub use power::{Boost, Frequency, Idle, IdleState, Smt};
pub use processor::Processor;

use super::doctor::Finding;
use super::tree;

/// What a run was measured on. Every part is read below one root, save what belongs to this
/// process: its limits, affinity and user id, what it is granted, how it was built.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
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
    #[serde(default)]
    pub granted: Granted,
    /// Compiler and flags of this program.
    #[serde(default)]
    pub build: Build,
    /// What the doctor found before the run; empty where it wasn't asked ([`Host::examined`]).
    #[serde(default)]
    pub findings: Vec<Finding>,
}

impl Host {
    /// Whether figures of the other may stand beside those of this one: the same name, CPUs, kernel and
    /// hypervisor. Boots and settings may differ.
    pub fn is_like(&self, other: &Host) -> bool {
        let known = |it: &Host| {
            let kernel = (it.kernel.release.clone(), it.hypervisor.kind.clone());
            (it.hostname.clone(), it.processor.clone(), it.cpus_online.clone(), kernel)
        };
        known(self) == known(other)
    }
}

impl Host {
    /// Describes the host below `root` (`/` for this machine). Never fails; spawns nothing; takes
    /// a few milliseconds, tens on machines with hundreds of CPUs.
    pub fn read(root: &Path) -> Host {
        let file = |path: &str| tree::text(root, path);
        let cpus = |name: &str| tree::cpus(root, &format!("sys/devices/system/cpu/{name}"));
        let online = cpus("online");
        let known = online.as_deref().unwrap_or_default();
        Host {
            hostname: file("proc/sys/kernel/hostname"),
            boot_id: file("proc/sys/kernel/random/boot_id"),
            processor: Processor::read(root),
            caches: memory::caches(root, known),
            memory: Memory::read(root),
            smt: Smt::read(root),
            frequency: Frequency::read(root, known),
            idle: Idle::read(root, known.first().copied().unwrap_or(0)),
            cpus_isolated: cpus("isolated"),
            // Where nothing was asked for at boot, the file says "(null)".
            cpus_nohz_full: match file("sys/devices/system/cpu/nohz_full").as_deref() {
                Some("(null)") => Some(Vec::new()),
                _ => cpus("nohz_full"),
            },
            cpus_online: online,
            hypervisor: Hypervisor::read(root),
            container: Container::read(root),
            cgroup: Cgroup::read(root),
            kernel: Kernel::read(root),
            clock_source: ClockSource::read(root),
            huge_pages: HugePages::read(root),
            c_library: CLibrary::read(root),
            sysctls: Sysctls::read(root),
            mounts: Mount::read(root),
            limits: Limits::of_this_process(),
            granted: Granted::to_this_process(),
            build: Build::of_this_program(),
            findings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn an_empty_root_is_a_host_of_which_nothing_is_known() {
        let host = Host::read(tempfile::tempdir().unwrap().path());
        assert_eq!((host.hostname, host.cpus_online), (None, None));
        assert!(host.caches.is_empty() && host.mounts.is_empty());
        assert_eq!(host.memory.total_bytes, None);
    }

    #[test]
    fn every_stored_machine_survives_json() {
        for name in stored::names() {
            let host = Host::read(stored::machine(&name).path());
            let json = serde_json::to_string(&host).unwrap();
            assert_eq!(serde_json::from_str::<Host>(&json).unwrap(), host, "{name}");
        }
    }

    #[test]
    fn hosts_stored_before_the_doctor_are_read() {
        let mut json = serde_json::to_value(Host::read(Path::new("/"))).unwrap();
        for field in ["findings", "granted", "build"] {
            json.as_object_mut().unwrap().remove(field).unwrap();
        }
        let host: Host = serde_json::from_value(json).unwrap();
        assert_eq!((host.findings.len(), host.build), (0, Build::default()));
    }

    #[test]
    fn this_machine_survives_json_and_knows_its_kernel() {
        let host = Host::read(Path::new("/"));
        let json = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&json).unwrap(), host);
        assert!(host.kernel.release.is_some());
        assert!(host.memory.total_bytes > Some(1 << 20));
    }

    #[test]
    fn nohz_full_without_cpus_is_an_empty_list() {
        let root = stored::unpack([("sys/devices/system/cpu/nohz_full", "  (null)")]);
        assert_eq!(Host::read(root.path()).cpus_nohz_full, Some(vec![]));
        let root = stored::unpack([("sys/devices/system/cpu/nohz_full", "2-3")]);
        assert_eq!(Host::read(root.path()).cpus_nohz_full, Some(vec![2, 3]));
    }
}
