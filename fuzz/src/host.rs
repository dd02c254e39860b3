//! /proc and /sys, one or two of whose files hold anything: the record of the machine, its topology, its
//! counters or the doctor, one of them for each input. A stored machine stands below a root in memory; opening
//! its files is most of what an input takes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use machine::{Counters, Ledger, Topology, doctor, host, noise, udp_counters};
use model::placement::Relation;
use tempfile::TempDir;

use crate::input::Input;

/// Stored machines, as the tests of `machine` have them.
const MACHINES: [&str; 3] = [
    include_str!("../../crates/machine/tests/topologies/guest-2cpu.tsv"),
    include_str!("../../crates/machine/tests/topologies/desktop-cpu5-offline.tsv"),
    include_str!("../../crates/machine/tests/topologies/arm-board.tsv"),
];

/// What such machines don't have, and is read.
const FILES: [(&str, &str); 30] = [
    (
        "proc/stat",
        "cpu  15270 1 4782 132414 2535 0 112 62 0 0\ncpu0 6913 1 1916 68268 473 2 15 29 0 0\ncpu1 1 1 1 1 1 1 1 1\nctxt 428409\nprocesses 6504\nprocs_running 2\n",
    ),
    (
        "proc/interrupts",
        "  CPU0 CPU1\n 24: 1 0 IO-APIC 5-edge ACPI:Ged\n 37: 9 7 PCI-MSI 1-edge virtio3\nERR: 7\n",
    ),
    ("proc/softirqs", "  CPU0 CPU1\nHI: 0 1\nTIMER: 5 6\n"),
    ("proc/loadavg", "0.12 0.41 1.23 3/92 6501"),
    ("proc/meminfo", "MemTotal: 24 kB\nHugePages_Total: 0\nHugepagesize: 2048 kB\n"),
    (
        "proc/cpuinfo",
        "processor : 0\nmodel name : x\nflags : tsc constant_tsc nonstop_tsc hypervisor\nmicrocode : 0x1\n",
    ),
    ("proc/cmdline", "isolcpus=1 quiet mitigations=off"),
    (
        "proc/net/snmp",
        "Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors\nUdp: 1 2 3 4 5\n",
    ),
    ("proc/net/snmp6", "Udp6InDatagrams 5\nUdp6RcvbufErrors 7\n"),
    ("proc/self/cgroup", "0::/user.slice/job\n"),
    ("proc/self/mountinfo", "36 35 98:0 / /dev/shm rw,noatime - tmpfs tmpfs rw\n"),
    ("proc/self/maps", "7f0-7f1 r-xp 0 0:0 1 /usr/lib/libc.so.6\n"),
    ("proc/self/status", "Cpus_allowed_list: 0-1\n"),
    ("proc/sys/kernel/osrelease", "6.1.0"),
    ("proc/sys/kernel/tainted", "0"),
    ("proc/sys/net/core/rmem_max", "212992"),
    ("proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456"),
    ("sys/fs/cgroup/user.slice/job/cpu.max", "50000 100000"),
    ("sys/fs/cgroup/user.slice/job/cpu.stat", "nr_periods 1\nnr_throttled 2\nthrottled_usec 3\n"),
    ("sys/fs/cgroup/user.slice/job/memory.max", "max"),
    ("sys/fs/cgroup/user.slice/job/cpuset.cpus.effective", "0-1"),
    ("sys/devices/system/cpu/isolated", ""),
    ("sys/devices/system/cpu/nohz_full", "(null)"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2600000"),
    ("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil"),
    ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
    ("sys/kernel/security/lockdown", "[none] integrity confidentiality"),
    ("sys/devices/system/node/node0/meminfo", "Node 0 MemTotal: 5 kB\n"),
    ("sys/devices/system/node/node0/distance", "10 20"),
    ("sys/kernel/debug/sched/preempt", "none voluntary (full)"),
];

struct Base {
    root: TempDir,
    files: Vec<(String, String)>,
    counters: Counters,
}

fn bases() -> &'static [Base] {
    static BASES: OnceLock<Vec<Base>> = OnceLock::new();
    BASES.get_or_init(|| {
        let unescaped = |text: &str| {
            text.replace("\\n", "\n")
                .replace("\\t", "\t")
                .replace("\\0", "\0")
                .replace("\\\\", "\\")
        };
        let machine = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            let own =
                lines.filter_map(|line| line.split_once('\t')).filter(|(key, _)| is_kept(key));
            let own = own.map(|(path, content)| (path.to_string(), unescaped(content)));
            let mut files: BTreeMap<String, String> = own.collect();
            for (path, content) in FILES {
                files.entry(path.into()).or_insert_with(|| content.into());
            }
            let root = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
            let root = root.expect("a folder");
            for (path, content) in &files {
                write(root.path(), path, content.as_bytes());
            }
            let counters = Ledger::open(root.path()).take().counters(&CPUS);
            Base { root, files: files.into_iter().collect(), counters }
        };
        MACHINES.map(machine).into()
    })
}

/// CPUs that are kept of a machine: two, and one that is offline in one of them. The others' files are read
/// alike, by the hundred.
const CPUS: [u32; 3] = [0, 1, 5];

fn is_kept(path: &str) -> bool {
    let of = path.strip_prefix("sys/devices/system/cpu/cpu").and_then(|line| line.split_once('/'));
    of.and_then(|(number, _)| number.parse().ok()).is_none_or(|cpu| CPUS.contains(&cpu))
}

fn write(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("below a root")).expect("a folder");
    fs::write(path, content).expect("room in memory");
}

pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let base = &bases()[input.below(MACHINES.len())];
    let root = base.root.path();
    let what = input.below(8);
    let mut written = Vec::new();
    for _ in 0..1 + input.below(2) {
        let (path, content) = &base.files[input.below(base.files.len())];
        write(root, path, &changed(&mut input, content.as_bytes()));
        written.push((path, content));
    }
    match what {
        0..3 => record(root, false),
        3..5 => record(root, true),
        5..7 => topology(root),
        _ => counters(root, &base.counters),
    }
    for (path, content) in written {
        write(root, path, content.as_bytes());
    }
}

/// A file's content with something in it replaced, or other content.
fn changed(input: &mut Input, content: &[u8]) -> Vec<u8> {
    let mut new = content.to_vec();
    match input.below(4) {
        0 => return input.rest().to_vec(),
        1 => {
            let at = input.below(new.len() + 1);
            new.splice(at..at, input.bytes().iter().copied());
        }
        2 => {
            // A number at an edge, in place of one that is there.
            let from = input.below(new.len() + 1);
            let digit = |byte: &u8| byte.is_ascii_digit();
            if let Some(at) = new[from..].iter().position(digit).map(|index| from + index) {
                let length = new[at..].iter().take_while(|byte| digit(byte)).count();
                new.splice(at..at + length, input.edge().to_string().bytes());
            }
        }
        _ => {
            for _ in 0..1 + input.below(4) {
                if !new.is_empty() {
                    let at = input.below(new.len());
                    new[at] = input.byte();
                }
            }
        }
    }
    new
}

fn counters(root: &Path, before: &Counters) {
    let after = Ledger::open(root).take().counters(&CPUS);
    let _ = (after.since(before), before.since(&after));
    let _ = (noise::load(root), noise::frequency_khz(root, 0));
    for ipv6 in [false, true] {
        let _ = udp_counters(root, ipv6);
    }
}

fn topology(root: &Path) {
    if let Ok(topology) = Topology::read(root) {
        let online = topology.online();
        for relation in Relation::ALL {
            match topology.pair(relation, &online) {
                Some((a, b)) => assert!(online.contains(&a) && online.contains(&b)),
                None => assert!(!topology.why_not(relation, &online).is_empty()),
            }
        }
    }
    let _ = doctor::usual_cpus(root, &[0, 1]);
}

/// What the machine is, and what the doctor finds there.
fn record(root: &Path, examined: bool) {
    let mut host = host::read(root);
    if examined {
        host.findings = doctor::examine(root, &host, &[0, 1], Duration::ZERO);
    }
    let json = serde_json::to_string(&host).expect("a host is always JSON");
    let back: model::host::Host = serde_json::from_str(&json).expect("what was written");
    assert_eq!(serde_json::to_string(&back).expect("JSON"), json);
}
