//! The record of the machine: all that a reader needs in order to judge whether a figure would
//! hold on theirs. What a host hides or doesn't have is `None` (null in JSON), never a guess.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Make and model of the CPUs. Fields that an architecture doesn't have are `None`.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Processor {
    /// The architecture this program was built for, as Rust names it (`x86_64`, `aarch64`).
    pub architecture: String,
    /// x86 `vendor_id`, ARM `CPU implementer` (0x41 is Arm).
    pub vendor: Option<String>,
    /// x86 `model name`, RISC-V `uarch`; on ARM usually absent, see `parts`.
    pub name: Option<String>,
    /// x86 `cpu family`.
    pub family: Option<u32>,
    /// x86 `model`.
    pub model: Option<u32>,
    /// x86 `stepping`.
    pub stepping: Option<u32>,
    /// x86 `microcode`, of the first CPU; hypervisors may make it up.
    pub microcode: Option<String>,
    /// ARM: the distinct cores as `implementer/part/variant/revision`, in the order of their
    /// first CPU. Empty on x86. At most the CPUs in the first 32 KiB of the file, some fifty.
    pub parts: Vec<String>,
    /// The board, from the device tree (/sys/firmware/devicetree/base/model). `None` on x86.
    pub board: Option<String>,
    /// Flags on which the clock and wake-ups hinge, of those the first CPU has: `constant_tsc`,
    /// `nonstop_tsc`, `tsc_known_freq`, `tsc_reliable`, `rdtscp`, `waitpkg`, `monitor`, `erms`,
    /// `fsrm`, `atomics`, `evtstrm`, `wfxt`. Empty also where there is no list of flags.
    pub flags: Vec<String>,
}

/// Compiler and flags of this program. `None` in what was stored before it was recorded, and
/// where cargo didn't tell.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Build {
    /// `rustc --version`.
    pub compiler: Option<String>,
    /// The target, such as `x86_64-unknown-linux-gnu`.
    pub target: Option<String>,
    /// Cargo's profile: `release` or `debug`, or what a custom one inherits from.
    pub profile: Option<String>,
    /// Optimisation level: `0` to `3`, `s`, `z`.
    pub optimisation: Option<String>,
    /// RUSTFLAGS, from the environment or cargo's configuration; `none` where there are none.
    pub flags: Option<String>,
    /// Instruction sets that the compiler may use, as cargo names them: `fxsr,sse,sse2`.
    pub target_features: Option<String>,
}

/// The C library of this program.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct CLibrary {
    /// What Rust calls the target's environment: `gnu`, `musl`.
    pub name: String,
    /// Whether it is linked into the program.
    pub linked_in: bool,
    /// The file that is mapped (/proc/self/maps). `None` where it is linked in.
    pub path: Option<String>,
    /// glibc's release, such as `2.36`. `None` for others.
    pub version: Option<String>,
    /// Who built it, such as `Debian GLIBC 2.36-9+deb12u10`, as its file says. `None` where it is linked in.
    pub build: Option<String>,
}

/// The signs of a hypervisor below this kernel.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Hypervisor {
    /// The `hypervisor` flag of /proc/cpuinfo. `None` off x86, which has no such flag.
    pub flag: Option<bool>,
    /// /sys/hypervisor/type (`xen`), or the device tree's `hypervisor/compatible`. `None` where
    /// neither is there: most guests have neither.
    pub kind: Option<String>,
    /// DMI system vendor (/sys/class/dmi/id/sys_vendor). `None` without DMI: ARM boards, small
    /// virtual machines.
    pub vendor: Option<String>,
    /// DMI product name (/sys/class/dmi/id/product_name). `None` as above.
    pub product: Option<String>,
    /// The device of the paravirtual clock is offered (`kvm-clock`, `xen`, `hyperv…` among the
    /// clock sources): its name.
    pub clock: Option<String>,
}

/// The signs of a container.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Container {
    /// The first sign's name: `docker`, `podman`, `kubernetes`, `lxc`, … `None` without a sign.
    pub kind: Option<String>,
    /// What was found and where, such as `docker (/.dockerenv)`; empty outside containers.
    pub signs: Vec<String>,
    /// `Seccomp` of /proc/self/status: 0 for no filter, 1 strict, 2 filters, each of which every
    /// system call runs through. `None` in kernels built without it.
    pub seccomp: Option<u32>,
}

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

impl Processor {
    /// Its name for a reader.
    pub fn name_or_unknown(&self) -> &str {
        self.name.as_deref().unwrap_or("unknown CPU")
    }
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
    /// The scheduler that runs as a program (sched_ext; /sys/kernel/sched_ext/root/ops). `None` where none does.
    pub sched_ext: Option<String>,
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

/// Kernel settings by path below /proc/sys, such as `fs/pipe-max-size`. Values are the kernel's
/// text, columns parted by one space; null where the setting is not in this kernel, not in this
/// namespace, or not readable for this user.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
#[serde(transparent)]
pub struct Sysctls(pub BTreeMap<String, Option<String>>);

impl Sysctls {
    /// The text of a setting; `None` where it is absent or not one of those recorded.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.as_deref()
    }

    /// A setting that is one number. Signed ones exist (`kernel/perf_event_paranoid`), and ones
    /// that only an unsigned type holds (`kernel/shmmax`).
    pub fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }
}

/// The file system that a place belongs to.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Mount {
    /// The place: `/dev/shm` (shared memory, named semaphores), `/dev/mqueue`, `/dev/hugepages`,
    /// `/tmp` (FIFOs, socket names).
    pub path: String,
    /// Where the file system is mounted: another path than `path` where nothing is mounted there.
    pub mount_point: String,
    /// Its type, such as `tmpfs`.
    pub file_system: String,
    /// Mount options and the file system's own, as in /proc/self/mountinfo.
    pub options: String,
    /// Size in bytes. `None` where the path doesn't exist; 0 for file systems without a size.
    pub size_bytes: Option<u64>,
    /// Bytes free for this user. `None` as above.
    pub free_bytes: Option<u64>,
}

/// Limits, affinity and user of this process, whatever root is described.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Resource limits by their name in getrlimit(2): NOFILE, NPROC, MEMLOCK (bytes), MSGQUEUE
    /// (bytes), SIGPENDING, RTPRIO, STACK (bytes).
    pub resources: BTreeMap<String, Limit>,
    /// The CPUs this thread may run on (sched_getaffinity(2)). `None` where neither that call nor /proc tells.
    pub affinity: Option<Vec<u32>>,
    /// How this process is scheduled. `None` where /proc can't be read.
    pub scheduling: Option<Scheduling>,
    /// Effective user id.
    pub effective_uid: u32,
}

/// How a process is scheduled (proc_pid_stat(5)).
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
pub struct Scheduling {
    /// Its scheduling class: `other`, `fifo`, `rr`, `batch`, `idle`, `deadline`, `ext`.
    pub policy: String,
    /// Its priority in a real-time class; 0 elsewhere.
    pub priority: u32,
    /// Its nice value.
    pub nice: i32,
}

/// One resource limit; `None` is no limit.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// What is enforced.
    pub soft: Option<u64>,
    /// How far the process may raise it.
    pub hard: Option<u64>,
}

/// Sizes in bytes that fresh objects have. `None` where one can't be made (no descriptors left,
/// a filter forbids it), and in what was stored before this was recorded.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct DefaultBuffers {
    /// Capacity of a pipe (F_GETPIPE_SZ): 64 KiB, or less for a user who holds many (pipe(7)).
    pub pipe_bytes: Option<u64>,
    /// Buffers of one end of a Unix stream pair.
    pub unix_stream: Option<Buffers>,
    /// Buffers of a TCP socket before it is connected; the kernel grows them later.
    pub tcp: Option<Buffers>,
    /// Buffers of a UDP socket.
    pub udp: Option<Buffers>,
}

/// The buffers of a socket as getsockopt tells them: twice what may be filled (socket(7)).
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct Buffers {
    /// SO_SNDBUF.
    pub send_bytes: u64,
    /// SO_RCVBUF.
    pub receive_bytes: u64,
}

/// One kind of cache: level, type, size and line.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Cache {
    /// 1 is closest to the core.
    pub level: u32,
    /// `Data`, `Instruction` or `Unified`, as the kernel says.
    pub kind: String,
    /// Bytes. `None` where the firmware doesn't tell (ARM).
    pub size_bytes: Option<u64>,
    /// `coherency_line_size`, bytes. `None` as above.
    pub line_bytes: Option<u64>,
    /// The CPUs of each instance; as many entries as there are such caches with an online CPU.
    pub shared_by: Vec<Vec<u32>>,
}

/// Size and nodes of the memory.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Memory {
    /// `MemTotal` of /proc/meminfo, bytes: of the machine, whatever the control group allows.
    pub total_bytes: Option<u64>,
    /// `MemAvailable`, bytes.
    pub available_bytes: Option<u64>,
    /// `SwapTotal`, bytes.
    pub swap_bytes: Option<u64>,
    /// The page size of this process's memory, bytes.
    pub page_bytes: u64,
    /// Memory nodes (/sys/devices/system/node). Empty in kernels without NUMA.
    pub nodes: Vec<Node>,
}

/// One memory node.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Node {
    /// The number in `node0`.
    pub id: u32,
    /// Its online CPUs; empty for a node of memory only.
    pub cpus: Vec<u32>,
    /// `MemTotal` of its meminfo, bytes.
    pub total_bytes: Option<u64>,
    /// Distances to all nodes, 10 being its own (ACPI SLIT).
    pub distances: Vec<u32>,
}

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
