//! The checks over stored machines, and over stretches of time that are made up.

use model::findings::{CpuFrequency, Fitness};
use std::collections::BTreeMap;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::noise::Load;
use crate::stored::{add, machine, unpack};
use model::host::{Buffers, DefaultBuffers, Limit};
use model::noise::Noise;

const CHECKS: [&str; 21] = [
    "calls",
    "governor",
    "boost",
    "cores",
    "smt",
    "idle",
    "clock",
    "virtualisation",
    "container",
    "cpuset",
    "isolation",
    "pipes",
    "queues",
    "sockets",
    "locked-memory",
    "steal",
    "load",
    "interrupts",
    "quota",
    "frequency",
    "thermal",
];

/// A second in which nothing happened on two CPUs of a machine with four.
fn quiet() -> Interval {
    Interval {
        ns: 1_000_000_000,
        cpus: vec![0, 1],
        noise: Noise { device_interrupts: Some(0), steal_ticks: Some(0), ..Noise::default() },
        others_ticks: Some(0),
        all_ticks: Some(400),
        runnable: Some((0, 0)),
        throttled: Throttled::NoQuota,
        ..Interval::default()
    }
}

/// The record of a stored machine, without what belongs to the process that reads it.
fn host(root: &Path) -> Host {
    let mut host = host::read(root);
    host.limits.affinity = host.cpus_online.clone();
    let locked = Limit { soft: Some(8 << 20), hard: Some(8 << 20) };
    host.limits.resources = [("MEMLOCK".to_owned(), locked)].into();
    let buffers = Buffers { send_bytes: 212_992, receive_bytes: 212_992 };
    host.default_buffers = DefaultBuffers {
        pipe_bytes: Some(64 << 10),
        unix_stream: Some(buffers),
        ..DefaultBuffers::default()
    };
    host
}

/// Every check by name, on a stored machine.
fn of(root: &TempDir, cpus: &[u32], stretch: &Interval) -> BTreeMap<String, Finding> {
    of_host(&host(root.path()), root, cpus, stretch)
}

fn of_host(
    host: &Host,
    root: &TempDir,
    cpus: &[u32],
    stretch: &Interval,
) -> BTreeMap<String, Finding> {
    let topology = Topology::read(root.path()).ok();
    let found = findings(&Seen { host, topology: topology.as_ref(), cpus, stretch, lacking: &[] });
    let names: Vec<&str> = found.iter().map(|finding| &*finding.check).collect();
    assert_eq!(names, CHECKS);
    for finding in &found {
        for words in [&finding.found, &finding.wanted, &finding.effect, &finding.advice] {
            assert!(!words.trim().is_empty() && !words.contains("  "), "{finding:?}");
        }
        assert_eq!(finding.advice == "nothing to do", finding.level == Level::Fine, "{finding:?}");
        let json = serde_json::to_string(finding).unwrap();
        assert_eq!(&serde_json::from_str::<Finding>(&json).unwrap(), finding);
    }
    found.into_iter().map(|finding| (finding.check.clone(), finding)).collect()
}

fn levels(found: &BTreeMap<String, Finding>, level: Level) -> Vec<&str> {
    found.values().filter(|finding| finding.level == level).map(|finding| &*finding.check).collect()
}

/// What a machine of bare metal shows, beside its topology.
const METAL: [(&str, &str); 9] = [
    ("proc/cpuinfo", "processor : 0\\nflags : fpu tsc constant_tsc nonstop_tsc"),
    ("proc/self/status", "Seccomp:\\t0"),
    ("proc/self/cgroup", "0::/"),
    ("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
    ("sys/devices/system/cpu/isolated", ""),
    ("proc/sys/fs/pipe-max-size", "1048576"),
    ("proc/sys/net/core/wmem_max", "212992"),
    ("proc/sys/net/core/rmem_max", "212992"),
];

const QUEUES: [(&str, &str); 4] = [
    ("proc/sys/fs/mqueue/msg_max", "10"),
    ("proc/sys/fs/mqueue/msgsize_max", "8192"),
    ("proc/sys/kernel/msgmax", "8192"),
    ("proc/sys/kernel/msgmnb", "16384"),
];

fn metal(name: &str, cpus: u32, governor: &str) -> TempDir {
    let root = machine(name);
    add(root.path(), METAL);
    add(root.path(), QUEUES);
    for cpu in 0..cpus {
        let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
        add(root.path(), [(&*file, governor)]);
    }
    root
}

#[test]
fn a_laptop_is_fit_with_reservations() {
    let root = metal("laptop-hybrid", 22, "powersave");
    let idle = "sys/devices/system/cpu/cpu0/cpuidle";
    add(
        root.path(),
        [
            ("sys/devices/system/cpu/cpu0/cpufreq/scaling_driver", "intel_pstate"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
            ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle"),
            (&*format!("{idle}/state0/name"), "POLL"),
            (&*format!("{idle}/state0/latency"), "0"),
            (&*format!("{idle}/state1/name"), "C10"),
            (&*format!("{idle}/state1/latency"), "310"),
        ],
    );
    let found = of(&root, &[2, 4], &quiet());
    assert_eq!(levels(&found, Level::Note), ["boost", "governor", "idle", "isolation", "smt"]);
    assert_eq!(levels(&found, Level::Unknown), ["frequency", "thermal"]);
    assert_eq!(found["cores"].level, Level::Fine);
    assert_eq!(levels(&found, Level::Warning), Vec::<&str>::new());
    assert_eq!(found["governor"].found, "powersave on CPUs 2,4 (driver intel_pstate)");
    assert!(found["boost"].command.as_deref().unwrap().starts_with("echo 1 |"));
    assert!(found["idle"].found.contains("leaving C10 takes up to 310 µs"));
    assert!(found["smt"].found.contains("CPUs 3,5 share cores"));
    let list: Vec<Finding> = found.into_values().collect();
    assert_eq!(Fitness::of(&list), Fitness::FitWithReservations);
    assert_eq!(
        Fitness::sentence(&list),
        "Fit to measure on, with reservations: boost, governor, idle, isolation and smt; \
         not known here: frequency and thermal"
    );
}

#[test]
fn a_server_with_two_sockets_and_threads() {
    let root = metal("xeon-2-socket", 16, "performance");
    add(root.path(), [("sys/devices/system/cpu/cpufreq/boost", "0")]);
    let topology = Topology::read(root.path()).unwrap();
    let cpus = usual_cpus(root.path(), &topology.online());
    assert!(topology.cpu(cpus[0]).unwrap().node != topology.cpu(cpus[1]).unwrap().node);
    let found = of(&root, &[2, 4], &quiet());
    assert_eq!((found["governor"].level, found["boost"].level), (Level::Fine, Level::Fine));
    assert_eq!(found["smt"].level, Level::Note);
    assert_eq!(found["virtualisation"].level, Level::Fine);
    assert!(found["steal"].found.contains("no sign of a hypervisor"));
    let siblings = &topology.cpu(2).unwrap().siblings;
    assert_eq!(of(&root, siblings, &quiet())["smt"].level, Level::Fine);

    let file = "sys/devices/system/cpu/cpu4/cpufreq/scaling_governor";
    add(root.path(), [(file, "powersave")]);
    let mixed = &of(&root, &[2, 4], &quiet())["governor"];
    assert_eq!(mixed.level, Level::Warning);
    assert_eq!(mixed.found, "performance on CPUs 2, powersave on CPUs 4");
}

#[test]
fn a_container_with_a_quota_and_few_cpus() {
    let root = metal("desktop-smt", 8, "performance");
    add(
        root.path(),
        [
            ("proc/self/cgroup", "0::/docker-8a.scope"),
            ("proc/self/status", "Seccomp:\\t2"),
            ("sys/fs/cgroup/docker-8a.scope/cpu.max", "50000 100000"),
            ("sys/fs/cgroup/docker-8a.scope/cpuset.cpus.effective", "2-3"),
        ],
    );
    let found = of(&root, &[2, 3], &quiet());
    assert_eq!(found["quota"].level, Level::Warning);
    assert!(found["quota"].found.starts_with("0.50 CPUs: 50000 µs in every 100000 µs"));
    assert_eq!(found["cpuset"].level, Level::Note);
    assert_eq!(found["cpuset"].found, "only CPUs 2-3 of 0-7 may be used");
    assert_eq!(found["container"].level, Level::Note);
    assert!(
        found["container"].found.contains("docker") && found["container"].found.contains("filter")
    );
    let found = of(&root, &[2, 5], &quiet());
    assert_eq!(found["cpuset"].level, Level::Warning);
    assert!(found["cpuset"].found.ends_with("; 5 may not"), "{:?}", found["cpuset"]);

    add(root.path(), [("sys/fs/cgroup/docker-8a.scope/cpu.max", "400000 100000")]);
    assert_eq!(of(&root, &[2, 3], &quiet())["quota"].level, Level::Note);
    let stopped = Interval { throttled: Throttled::For(70_000), ..quiet() };
    let found = of(&root, &[2, 3], &stopped);
    assert_eq!(found["quota"].level, Level::Warning);
    assert!(found["quota"].found.contains("4.00 CPUs"));
    assert!(found["quota"].found.contains("stopped for 70.0 ms of 1000 ms"));
}

#[test]
fn a_guest_without_cpufreq() {
    let root = machine("guest-2cpu");
    add(root.path(), METAL);
    add(
        root.path(),
        [
            ("proc/cpuinfo", "processor : 0\\nflags : fpu hypervisor"),
            ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc kvm-clock"),
            ("sys/devices/system/cpu/cpuidle/current_driver", "haltpoll"),
            ("sys/module/haltpoll/parameters/guest_halt_poll_ns", "200000"),
        ],
    );
    let found = of(&root, &[0, 1], &quiet());
    assert_eq!(found["virtualisation"].level, Level::Note);
    assert!(found["virtualisation"].effect.contains("topology may not be its host's"));
    let capacity = |cpu| format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity");
    add(root.path(), [(&*capacity(0), "1024"), (&*capacity(1), "1024")]);
    assert_eq!(of(&root, &[0, 1], &quiet())["cores"].level, Level::Unknown);
    for check in ["governor", "boost", "smt"] {
        assert_eq!(found[check].level, Level::Unknown, "{check}");
        assert!(found[check].found.contains("guest"), "{check}");
    }
    assert!(found["idle"].found.contains("polls 200 µs"));
    assert_eq!(found["clock"].level, Level::Fine);

    let current = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    add(root.path(), [(current, "kvm-clock")]);
    let clock = &of(&root, &[0, 1], &quiet())["clock"];
    assert_eq!(clock.level, Level::Note);
    assert!(clock.command.as_deref().unwrap().starts_with("echo tsc |"));
    add(root.path(), [(current, "hpet")]);
    assert_eq!(of(&root, &[0, 1], &quiet())["clock"].level, Level::Warning);
}

#[test]
fn isolated_cpus_are_wanted_and_must_be_named() {
    let root = metal("desktop-smt", 8, "performance");
    let isolated = |cpus: &[u32]| of(&root, cpus, &quiet()).remove("isolation").unwrap();
    assert_eq!(isolated(&[1, 2]).found, "no CPU is isolated");
    add(
        root.path(),
        [
            ("proc/cmdline", "isolcpus=2-3 nohz_full=2-3"),
            ("sys/devices/system/cpu/isolated", "2-3"),
        ],
    );
    assert_eq!(isolated(&[2, 3]).level, Level::Note);
    assert!(isolated(&[2, 3]).found.contains("keep their tick"));
    add(root.path(), [("sys/devices/system/cpu/nohz_full", "2-3")]);
    assert_eq!(isolated(&[2, 3]).level, Level::Fine);
    let elsewhere = isolated(&[0, 2]);
    assert_eq!(elsewhere.level, Level::Note);
    assert_eq!(elsewhere.command.as_deref(), Some("taskset -c 2-3 ipcmark -p 2,3"));
}

#[test]
fn a_pair_of_two_kinds_of_core_is_a_warning() {
    let root = metal("laptop-hybrid", 22, "performance");
    let of = |cpus: &[u32]| of(&root, cpus, &quiet()).remove("cores").unwrap();
    let one = of(&[2, 4]);
    assert_eq!((one.level, &*one.found), (Level::Fine, "CPUs 2,4: cpu_core, at most 4.80 GHz"));
    let mixed = of(&[2, 20]);
    assert_eq!(mixed.level, Level::Warning);
    assert_eq!(
        mixed.found,
        "of different kinds: CPU 2: cpu_core, at most 4.80 GHz; CPU 20: cpu_atom, at most 2.50 GHz"
    );
    let record = host(root.path()).cores;
    let kinds: Vec<(u32, &[u32], Option<u64>)> =
        record.iter().map(|cores| (cores.kind, &*cores.cpus, cores.max_khz)).collect();
    assert_eq!(kinds[0], (0, &(0..12).collect::<Vec<u32>>()[..], Some(4_800_000)));
    assert_eq!((kinds[1].0, kinds[2].0, kinds.len()), (1, 2, 3));
}

#[test]
fn what_is_hidden_is_said_to_be_so() {
    let root = unpack([]);
    let mut nobody = host(root.path());
    nobody.limits.resources.clear();
    nobody.default_buffers = DefaultBuffers::default();
    let found = of_host(&nobody, &root, &[0, 1], &Interval::default());
    assert_eq!(levels(&found, Level::Unknown).len(), CHECKS.len() - 1, "{found:#?}");
    let list: Vec<Finding> = found.into_values().collect();
    assert_eq!(Fitness::of(&list), Fitness::Unknown);
    let sentence = Fitness::sentence(&list);
    assert!(sentence.starts_with("Not known whether it is fit to measure on, for want of interrupts, load, quota and steal"), "{sentence}");
}

#[test]
fn limits_below_what_a_fresh_kernel_grants() {
    let root = metal("desktop-smt", 8, "performance");
    add(
        root.path(),
        [
            ("proc/sys/fs/mqueue/msg_max", "5"),
            ("proc/sys/net/core/rmem_max", "100000"),
            ("proc/sys/fs/pipe-max-size", "65536"),
        ],
    );
    let mut host = host(root.path());
    host.limits.resources.insert("MEMLOCK".into(), Limit { soft: Some(65_536), hard: None });
    let found = of_host(&host, &root, &[1, 2], &quiet());
    for check in ["pipes", "queues", "sockets", "locked-memory"] {
        assert_eq!(found[check].level, Level::Note, "{check}");
        assert!(found[check].command.is_some(), "{check}");
    }
    host.default_buffers.pipe_bytes = Some(8192);
    assert_eq!(of_host(&host, &root, &[1, 2], &quiet())["pipes"].level, Level::Warning);
    add(root.path(), [("proc/sys/net/core/busy_poll", "50")]);
    assert!(of(&root, &[1, 2], &quiet())["sockets"].found.contains("poll before they sleep"));
}

/// The marks of an interval, by check.
fn marks(stretch: &Interval) -> Vec<(String, Level)> {
    stretch.marks().into_iter().map(|mark| (mark.check, mark.level)).collect()
}

#[test]
fn a_quiet_round_has_no_mark_nor_one_of_which_nothing_is_known() {
    assert_eq!(quiet().marks(), []);
    assert_eq!(Interval::default().marks(), []);
}

#[test]
fn each_disturbance_marks_the_round_by_its_size() {
    let one = |check: &str, level| vec![(check.to_owned(), level)];
    let noise = |noise: Noise| Interval { noise: Noise { ..noise }, ..quiet() };
    let steal = |ticks| noise(Noise { steal_ticks: Some(ticks), ..quiet().noise });
    assert_eq!(marks(&steal(1)), []); // 0.5 %
    assert_eq!(marks(&steal(2)), one("steal", Level::Note));
    assert_eq!(marks(&steal(10)), one("steal", Level::Warning));
    let short = Interval { ns: 10_000_000, ..steal(1) };
    assert_eq!(marks(&short), [], "one tick may be a rounding");

    let others = |ticks| Interval { others_ticks: Some(ticks), ..quiet() };
    assert_eq!(marks(&others(19)), []);
    assert_eq!(marks(&others(20)), one("load", Level::Note));
    assert_eq!(marks(&others(100)), one("load", Level::Warning));
    let waiting = |before, after| Interval { runnable: Some((before, after)), ..quiet() };
    assert_eq!(marks(&waiting(0, 3)), []);
    assert_eq!(marks(&waiting(1, 3)), one("load", Level::Note));

    let interrupts = |count| noise(Noise { device_interrupts: Some(count), ..quiet().noise });
    assert_eq!(marks(&interrupts(999)), []);
    assert_eq!(marks(&interrupts(1_000)), one("interrupts", Level::Note));
    assert_eq!(marks(&interrupts(10_000)), one("interrupts", Level::Warning));

    let stopped = |us| Interval { throttled: Throttled::For(us), ..quiet() };
    assert_eq!(marks(&stopped(0)), []);
    assert_eq!(marks(&stopped(1)), one("quota", Level::Warning));
    assert_eq!(marks(&Interval { heat: Some(0), ..quiet() }), []);
    assert_eq!(marks(&Interval { heat: Some(2), ..quiet() }), one("thermal", Level::Warning));
}

#[test]
fn a_changed_clock_rate_marks_the_round() {
    let at = |before, after, changed: Option<&str>| Interval {
        frequencies: vec![CpuFrequency {
            cpu: 1,
            before_khz: before,
            after_khz: after,
            changed: changed.map(str::to_owned),
        }],
        ..quiet()
    };
    assert_eq!(at(Some(3_000_000), Some(3_200_000), None).marks(), []);
    assert_eq!(at(None, Some(3_200_000), None).marks(), []);
    let found = at(Some(3_400_000), Some(800_000), None).marks().remove(0);
    assert_eq!((&*found.check, found.level), ("frequency", Level::Note));
    assert_eq!(found.found, "CPU 1: 3.40 GHz, then 800 MHz");
    let found = at(None, None, Some("governor performance became powersave")).marks().remove(0);
    assert_eq!(found.level, Level::Warning);
}

#[test]
fn a_look_adds_what_a_round_can_not_know() {
    let root = metal("desktop-smt", 8, "performance");
    let load = |one_minute| Load {
        one_minute,
        five_minutes: 0.0,
        fifteen_minutes: 0.0,
        runnable: 1,
        tasks: 99,
    };
    let look = Interval { load: Some(load(0.2)), ..quiet() };
    assert_eq!(of(&root, &[1, 2], &look)["load"].level, Level::Fine);
    let look = Interval { load: Some(load(2.5)), ..quiet() };
    assert_eq!(of(&root, &[1, 2], &look)["load"].level, Level::Note);
    let look = Interval { steal_since_boot: Some(0.02), ..quiet() };
    assert!(of(&root, &[1, 2], &look)["steal"].found.ends_with("2.0 % since boot"));
    let noise = Noise { device_interrupts: Some(4_000), ..quiet().noise };
    let nic = traffic::Device { line: 45, name: "eth0".into(), per_sec: 3_900.0 };
    let look = Interval { noise, busiest: Some(nic), ..quiet() };
    let found = &of(&root, &[1, 2], &look)["interrupts"];
    assert!(found.found.contains("most from eth0 (3900 a second)"));
    assert!(found.command.as_deref().unwrap().contains("/proc/irq/45/smp_affinity_list"));
}

#[test]
fn the_busiest_device_is_that_of_the_cpus_used() {
    let table = |disk: u32, nic: u32| {
        format!(
            "      CPU0  CPU2\\n 36:  {disk}  0  PCI-MSIX  1-edge  disk\\n \
             45:  9  {nic}  PCI-MSIX  2-edge  eth0\\nLOC:  9999  9999  Local timer interrupts"
        )
    };
    let read = |text: &str, cpus: &[u32]| {
        traffic::devices(unpack([("proc/interrupts", text)]).path(), cpus)
    };
    let busiest = |cpus: &[u32]| {
        traffic::busiest(&read(&table(0, 0), cpus), &read(&table(700, 30), cpus), 500_000_000)
    };
    assert_eq!(busiest(&[0, 2]).unwrap().name, "disk");
    let nic = traffic::Device { line: 45, name: "eth0".into(), per_sec: 60.0 };
    assert_eq!(busiest(&[2]), Some(nic));
    assert_eq!(busiest(&[7]), None);
}

#[test]
fn this_machine_can_be_examined() {
    let root = Path::new("/");
    let host = examined(root, &[], Duration::from_millis(5));
    let names: Vec<&str> = host.findings.iter().map(|finding| &*finding.check).collect();
    assert_eq!(names, CHECKS);
    let cpus = usual_cpus(root, host.limits.affinity.as_deref().unwrap_or(&[0]));
    assert!(!cpus.is_empty());
}
