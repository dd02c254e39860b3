//! An interval of time: what happened between two snapshots on the CPUs that are used, and beside
//! them. A snapshot costs some 200 µs on a small machine, is taken around a round and never
//! beside a measurement, and spawns nothing.

use model::findings::CpuFrequency;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::traffic::Device;
use crate::host::{cgroup, limits};
use crate::noise::{self, CpuCounters, Load, Ticks};
use crate::{Counters, Ledger, tree};
use model::noise::Noise;
use model::process_stat;

/// The first x86 kernel whose `scaling_cur_freq` is read without interrupting the CPU and
/// sleeping 10 ms (arch/x86/kernel/cpu/aperfmperf.c).
const CHEAP_FREQUENCY: (u32, u32) = (5, 19);

/// What is watched, found once.
pub struct Watch {
    root: PathBuf,
    cpus: Vec<u32>,
    throttle_files: Option<Vec<String>>,
    heat_files: Vec<String>,
    reads_frequency: bool,
    /// The kind of file system that is mounted over /proc/stat, where one is: then it isn't the kernel's.
    over_stat: Option<String>,
    ledger: Ledger,
}

/// What is read at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at: Instant,
    counters: Counters,
    own_ticks: Option<u64>,
    throttled: Throttled,
    heat: Option<u64>,
    pace: Vec<Pace>,
    over_stat: Option<String>,
}

/// How long the quota of a control group has stopped this process's groups.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Throttled {
    /// The groups, or what they count, can't be seen.
    #[default]
    Unknown,
    /// No group that can be seen has a quota.
    NoQuota,
    /// So many µs.
    For(u64),
}

impl Throttled {
    fn since(self, earlier: Throttled) -> Throttled {
        match (self, earlier) {
            (Throttled::For(now), Throttled::For(then)) => {
                now.checked_sub(then).map_or(Throttled::Unknown, Throttled::For)
            }
            (now, then) if now == then => now,
            _ => Throttled::Unknown,
        }
    }
}

/// Why a file of the ledger says nothing of an interval; `None` where it does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Silent {
    pub stat: Option<String>,
    pub interrupts: Option<String>,
}

/// How fast a CPU runs, and may run.
#[derive(Clone, Debug, PartialEq)]
struct Pace {
    cpu: u32,
    governor: Option<String>,
    limit_khz: Option<u64>,
    khz: Option<u64>,
}

/// What happened between two snapshots. What couldn't be read is `None`.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Its length, in ns.
    pub ns: u64,
    pub cpus: Vec<u32>,
    /// The kernel's counters.
    pub noise: Noise,
    /// Steal time over all time of the watched CPUs since boot, 0 to 1; only in a look of the
    /// doctor, because it says nothing of a round.
    pub steal_since_boot: Option<f64>,
    /// Time on all CPUs of all but this process and the children it waited for, in ticks of
    /// USER_HZ (10 ms); interrupts left out.
    pub others_ticks: Option<u64>,
    /// Ticks that passed on all CPUs together.
    pub all_ticks: Option<u64>,
    /// Runnable tasks beside this one, at the beginning and at the end.
    pub runnable: Option<(u64, u64)>,
    /// How long the quota of a control group stopped this process's groups.
    pub throttled: Throttled,
    /// Why counters are `None`.
    pub silent: Silent,
    /// How often the watched CPUs were slowed down for heat.
    pub heat: Option<u64>,
    /// The frequencies of the watched CPUs. Empty without cpufreq.
    pub frequencies: Vec<CpuFrequency>,
    /// Load averages; only a look of the doctor reads them, because a run is a load itself.
    pub load: Option<Load>,
    /// The device that interrupted the watched CPUs most; only in a look of the doctor.
    pub busiest: Option<Device>,
}

impl Watch {
    /// Watches `cpus`, or all that are allowed where none is named, below `root`.
    pub fn new(root: &Path, cpus: &[u32]) -> Watch {
        let cpus = match cpus {
            [] => limits::affinity().unwrap_or_default(),
            cpus => cpus.to_vec(),
        };
        let heat = |cpu: &u32| {
            ["core_throttle_count", "package_throttle_count"]
                .map(|name| format!("sys/devices/system/cpu/cpu{cpu}/thermal_throttle/{name}"))
        };
        let heat_files: Vec<String> = cpus.iter().flat_map(heat).collect();
        Watch {
            throttle_files: cgroup::throttle_files(root),
            heat_files: heat_files
                .into_iter()
                .filter(|heat_file| root.join(heat_file).exists())
                .collect(),
            reads_frequency: frequency_is_cheap(root),
            over_stat: limits::mounted_over(root, "/proc/stat"),
            root: root.to_owned(),
            cpus,
            ledger: Ledger::open(root),
        }
    }

    pub fn cpus(&self) -> &[u32] {
        &self.cpus
    }

    pub fn look(&self) -> Snapshot {
        let root = &self.root;
        let heat = self.heat_files.iter().map(|file| noise::counter(&tree::text(root, file)?));
        let throttled = |files: &Vec<String>| {
            let counted = files.iter().map(|file| throttled_us(root, file));
            match counted.reduce(|a, b| Some(a?.max(b?))) {
                None => Throttled::NoQuota,
                Some(us) => us.map_or(Throttled::Unknown, Throttled::For),
            }
        };
        Snapshot {
            at: Instant::now(),
            counters: self.ledger.take().counters(&self.cpus),
            own_ticks: own_ticks(root),
            throttled: self.throttle_files.as_ref().map(throttled).unwrap_or_default(),
            heat: heat.reduce(|a, b| Some(a? + b?)).flatten(),
            pace: self.cpus.iter().filter_map(|cpu| self.pace(*cpu)).collect(),
            over_stat: self.over_stat.clone(),
        }
    }

    fn pace(&self, cpu: u32) -> Option<Pace> {
        let file = |name: &str| format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}");
        let limit_khz = tree::number(&self.root, &file("scaling_max_freq"));
        let governor = tree::text(&self.root, &file("scaling_governor"));
        if governor.is_none() && limit_khz.is_none() {
            return None;
        }
        let khz = self.reads_frequency.then(|| noise::frequency_khz(&self.root, cpu)).flatten();
        Some(Pace { cpu, governor, limit_khz, khz })
    }
}

impl Snapshot {
    /// What happened since an earlier snapshot of the same watch.
    pub fn since(&self, earlier: &Snapshot) -> Interval {
        let difference = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        let ticks = |of: fn(&Ticks) -> u64| {
            let at = |counters: &Counters| counters.all_ticks.as_ref().map(of);
            difference(at(&self.counters), at(&earlier.counters))
        };
        let own = difference(self.own_ticks, earlier.own_ticks);
        let busy = ticks(|ticks| ticks.user + ticks.system);
        let others = |counters: &Counters| Some(counters.running?.saturating_sub(1));
        let ns = self.at.duration_since(earlier.at).as_nanos() as u64;
        let silent = self.silent(earlier, ns);
        let mut noise = self.counters.since(&earlier.counters);
        if silent.interrupts.is_some() {
            noise = Noise { interrupts: None, device_interrupts: None, ..noise };
        }
        noise.steal_ticks = noise.steal_ticks.filter(|_| silent.stat.is_none());
        let of_stat = |count: Option<u64>| count.filter(|_| silent.stat.is_none());
        let runnable = others(&earlier.counters).zip(others(&self.counters));
        Interval {
            ns,
            cpus: self.counters.cpus.iter().map(|cpu| cpu.cpu).collect(),
            noise,
            steal_since_boot: None,
            others_ticks: of_stat(busy.zip(own).map(|(busy, own)| busy.saturating_sub(own))),
            all_ticks: of_stat(ticks(Ticks::total)),
            runnable: runnable.filter(|_| silent.stat.is_none()),
            throttled: self.throttled.since(earlier.throttled),
            silent,
            heat: difference(self.heat, earlier.heat),
            frequencies: self
                .pace
                .iter()
                .zip(&earlier.pace)
                .map(|(now, then)| now.since(then))
                .collect(),
            load: None,
            busiest: None,
        }
    }

    /// Which files of the ledger say nothing of the `ns` since an earlier snapshot, and why.
    fn silent(&self, earlier: &Snapshot, ns: u64) -> Silent {
        let (now, then) = (&self.counters, &earlier.counters);
        let still = now.stands_still(then, ns);
        let why = |file: &str, is_read: bool| {
            if is_read {
                format!("{file} stands still: nothing was counted in {} ms", ns / 1_000_000)
            } else {
                format!("{file} can't be read, or not for the CPUs used")
            }
        };
        let counts_used = |counters: &Counters, of: fn(&CpuCounters) -> bool| {
            !counters.cpus.is_empty() && counters.cpus.iter().all(of)
        };
        let stat = [now, then].map(|counters| {
            counters.all_ticks.is_some() && counts_used(counters, |cpu| cpu.ticks.is_some())
        });
        let interrupts =
            [now, then].map(|counters| counts_used(counters, |cpu| cpu.interrupts.is_some()));
        let (stat, interrupts) = (stat == [true; 2], interrupts == [true; 2]);
        let foreign = |kind: &String| {
            format!(
                "/proc/stat is not the kernel's ({kind} is mounted over it), and may tell of this container alone"
            )
        };
        Silent {
            stat: match &self.over_stat {
                Some(kind) => Some(foreign(kind)),
                None => (!stat || still.stat).then(|| why("/proc/stat", stat)),
            },
            interrupts: (!interrupts || still.interrupts)
                .then(|| why("/proc/interrupts", interrupts)),
        }
    }
}

impl Snapshot {
    /// Steal time over all time of the watched CPUs since boot, 0 to 1.
    pub fn steal_since_boot(&self) -> Option<f64> {
        let ticks: Vec<Ticks> = self.counters.cpus.iter().filter_map(|cpu| cpu.ticks).collect();
        let total: u64 = ticks.iter().map(Ticks::total).sum();
        let steal: u64 = ticks.iter().map(|tick| tick.steal).sum();
        (total > 0 && self.over_stat.is_none()).then(|| steal as f64 / total as f64)
    }
}

impl Pace {
    fn since(&self, earlier: &Pace) -> CpuFrequency {
        let changed = if self.governor != earlier.governor {
            let name = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
            Some(format!("governor {} became {}", name(&earlier.governor), name(&self.governor)))
        } else if self.limit_khz != earlier.limit_khz {
            let khz =
                |number: Option<u64>| number.map_or("none".into(), super::speed::frequency_words);
            let (from, to) = (khz(earlier.limit_khz), khz(self.limit_khz));
            Some(format!("highest frequency {from} became {to}"))
        } else {
            None
        };
        CpuFrequency { cpu: self.cpu, before_khz: earlier.khz, after_khz: self.khz, changed }
    }
}

/// User and system time of this process and of the children it waited for, in ticks of USER_HZ
/// (utime, stime, cutime, cstime of proc_pid_stat(5)).
fn own_ticks(root: &Path) -> Option<u64> {
    let text = tree::text(root, "proc/self/stat")?;
    (14..=17).map(|nth| noise::counter(process_stat::field(&text, nth)?)).sum()
}

/// `throttled_usec` (version 2) or `throttled_time`, in ns (version 1), of a cpu.stat.
fn throttled_us(root: &Path, file: &str) -> Option<u64> {
    let text = tree::text(root, file)?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<u64>().ok()
    };
    field("throttled_usec").or_else(|| Some(field("throttled_time")? / 1_000))
}

fn frequency_is_cheap(root: &Path) -> bool {
    if !cfg!(target_arch = "x86_64") {
        return true;
    }
    let release = tree::text(root, "proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    let mut next = || numbers.next().flatten();
    next().zip(next()).is_some_and(|release| release >= CHEAP_FREQUENCY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    #[test]
    fn others_are_all_but_this_process_and_its_children() {
        let stat =
            "cpu 100 0 50 1000 0 5 5 0 0 0\\ncpu0 100 0 50 1000 0 5 5 0 0 0\\nprocs_running 1";
        let own = "7 (a b) c) S 1 7 7 0 -1 0 0 0 0 0 10 5 20 5 20 0 1 0";
        let root = stored::unpack([("proc/stat", stat), ("proc/self/stat", own)]);
        let watch = Watch::new(root.path(), &[0]);
        let before = watch.look();
        assert_eq!(before.own_ticks, Some(40));
        let stat =
            "cpu 190 0 60 1000 0 9 9 0 0 0\\ncpu0 190 0 60 1000 0 9 9 0 0 0\\nprocs_running 4";
        let own = "7 (a b) c) S 1 7 7 0 -1 0 0 0 0 0 30 5 50 5 20 0 1 0";
        stored::add(root.path(), [("proc/stat", stat), ("proc/self/stat", own)]);
        let stretch = watch.look().since(&before);
        assert_eq!((stretch.others_ticks, stretch.all_ticks), (Some(50), Some(108)));
        assert_eq!((stretch.runnable, stretch.cpus.as_slice()), (Some((0, 3)), &[0][..]));
        assert_eq!((stretch.throttled, stretch.heat), (Throttled::Unknown, None));
        assert!(stretch.frequencies.is_empty());
    }

    const TABLE: &str = "  CPU0\\n 1: 5 5-edge disk\\nLOC: 900 Local timer interrupts";

    /// An interval of 100 ms over files that hold these texts at its ends.
    fn over(files: [[(&str, &str); 2]; 2], mounts: &str) -> Interval {
        let root = stored::unpack(files[0]);
        let own = "7 (a) S 1 7 7 0 -1 0 0 0 0 0 1 1 1 1 20 0 1 0";
        let group = [
            ("proc/self/stat", own),
            ("proc/self/cgroup", "0::/"),
            ("sys/fs/cgroup/cgroup.procs", ""),
        ];
        stored::add(root.path(), group);
        stored::add(root.path(), [("proc/self/mountinfo", mounts)]);
        let watch = Watch::new(root.path(), &[0]);
        let mut before = watch.look();
        before.at -= std::time::Duration::from_millis(100);
        stored::add(root.path(), files[1]);
        watch.look().since(&before)
    }

    #[test]
    fn what_stands_still_is_unknown_and_not_calm() {
        let group = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        let stat = |idle: u64| {
            format!("cpu 9 0 9 {idle} 0 0 0 0\\ncpu0 9 0 9 {idle} 0 0 0 0\\nprocs_running 1")
        };
        let table = TABLE.replace("900", "990");
        let ends = |stat: [&str; 2], table: [&str; 2]| {
            let at = |end: usize| [("proc/stat", stat[end]), ("proc/interrupts", table[end])];
            [at(0), at(1)].map(|files| files.map(|(path, text)| (path.to_owned(), text.to_owned())))
        };
        let unknown = |stat: [&str; 2], table: [&str; 2], mounts: &str| {
            let files = ends(stat, table);
            let files =
                files.each_ref().map(|end| end.each_ref().map(|(path, text)| (&**path, &**text)));
            let stretch = over(files, mounts);
            assert_eq!(stretch.marks(), []);
            stretch.unknown()
        };
        let (before, after) = (stat(100), stat(110));
        let moving = [TABLE, table.as_str()];
        assert_eq!(unknown([&before, &after], moving, group), [] as [&str; 0]);
        assert_eq!(unknown([&before, &before], moving, group), ["steal", "load"]);
        assert_eq!(unknown(["", ""], moving, group), ["steal", "load"]);
        let other_cpu = after.replace("cpu0 ", "cpu1 ");
        assert_eq!(unknown([&before, &other_cpu], moving, group), ["steal", "load"]);
        assert_eq!(unknown([&before, &after], [TABLE; 2], group), ["interrupts"]);
        assert_eq!(unknown([&before, &after], [""; 2], group), ["interrupts"]);
        let faked = format!("{group}\\n32 23 0:29 / /proc/stat rw - fuse.lxcfs lxcfs rw");
        assert_eq!(unknown([&before, &after], moving, &faked), ["steal", "load"]);
        assert_eq!(unknown([&before, &after], moving, ""), ["quota"], "its groups can't be seen");
    }

    #[test]
    fn throttling_by_either_version() {
        let files = [
            ("two", "nr_periods 9\\nnr_throttled 4\\nthrottled_usec 12345"),
            ("one", "nr_periods 9\\nnr_throttled 4\\nthrottled_time 12345678"),
            ("none", "usage_usec 1"),
        ];
        let root = stored::unpack(files);
        let of = |file| throttled_us(root.path(), file);
        assert_eq!((of("two"), of("one"), of("none")), (Some(12_345), Some(12_345), None));
    }

    #[test]
    fn frequency_governor_and_limit_at_both_ends() {
        let file = |name: &str| format!("sys/devices/system/cpu/cpu2/cpufreq/{name}");
        let (governor, limit, now) =
            (file("scaling_governor"), file("scaling_max_freq"), file("scaling_cur_freq"));
        let root = stored::unpack([
            ("proc/sys/kernel/osrelease", "6.1.0-21-amd64"),
            (&*governor, "performance"),
            (&*limit, "4000000"),
            (&*now, "3900000"),
        ]);
        let watch = Watch::new(root.path(), &[2]);
        let before = watch.look();
        assert_eq!(watch.look().since(&before).frequencies[0].changed, None);
        stored::add(root.path(), [(&*limit, "2000000"), (&*now, "1900000")]);
        let found = &watch.look().since(&before).frequencies[0];
        assert_eq!((found.before_khz, found.after_khz), (Some(3_900_000), Some(1_900_000)));
        assert_eq!(found.changed.as_deref(), Some("highest frequency 4.00 GHz became 2.00 GHz"));
        stored::add(root.path(), [(&*governor, "powersave")]);
        let found = watch.look().since(&before).frequencies.remove(0);
        assert_eq!(found.changed.as_deref(), Some("governor performance became powersave"));
    }

    #[test]
    fn old_kernels_are_not_asked_for_frequencies() {
        let cheap = |release| {
            frequency_is_cheap(stored::unpack([("proc/sys/kernel/osrelease", release)]).path())
        };
        assert!(cheap("6.18.1") && cheap("5.19.0-rc1+"));
        assert_eq!(cheap("5.10.0-28-amd64"), !cfg!(target_arch = "x86_64"));
    }

    #[test]
    fn a_look_at_this_machine_counts() {
        let watch = Watch::new(Path::new("/"), &[]);
        let before = watch.look();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let stretch = watch.look().since(&before);
        assert!(stretch.ns >= 50_000_000 && !stretch.cpus.is_empty());
        assert!(stretch.noise.context_switches > Some(0) && stretch.others_ticks.is_some());
    }
}
