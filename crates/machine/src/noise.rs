//! What else happened on the used CPUs, and on the machine, between two snapshots of the kernel's
//! counters ([`Ledger`](super::Ledger)).

use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::tree;
use model::noise::{Gaps, Noise};

/// A snapshot of the kernel's counters since boot.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Counters {
    /// Processes and threads created on the whole machine (`processes` in /proc/stat).
    pub forks: Option<u64>,
    /// Context switches on the whole machine (`ctxt` in /proc/stat).
    pub context_switches: Option<u64>,
    /// Tasks that are runnable now, the reader among them (`procs_running` in /proc/stat).
    pub running: Option<u64>,
    /// The time of all CPUs together (the `cpu` line of /proc/stat).
    pub all_ticks: Option<Ticks>,
    /// Interrupts of all CPUs, all lines of /proc/interrupts together: some come on every machine that runs.
    pub all_interrupts: Option<u64>,
    /// The counters of the used CPUs, in the order they were asked for.
    pub cpus: Vec<CpuCounters>,
}

/// Which files of the ledger count nothing: those that can't be read, and those that stand still while time
/// passes, as those do that a sandbox makes up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct StandsStill {
    pub stat: bool,
    pub interrupts: bool,
}

/// In so long, in ns, every counter of a kernel that counts has moved: ten ticks pass on each CPU.
const MOVES_WITHIN: u64 = 100_000_000;

/// The counters of one CPU since boot.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct CpuCounters {
    pub cpu: u32,
    /// Its time (/proc/stat). `None` while it is offline, or where the file can't be read.
    pub ticks: Option<Ticks>,
    /// Interrupts it took, all lines of /proc/interrupts together. `None` while it is offline,
    /// or where the file can't be read.
    pub interrupts: Option<u64>,
    /// Those of devices among them: the numbered lines, but for timers. `None` as above.
    pub device_interrupts: Option<u64>,
    /// Softirqs it ran, all kinds in /proc/softirqs together. `None` as above.
    pub softirqs: Option<u64>,
}

/// Where the time of a CPU went, in ticks of USER_HZ (10 ms on every Linux there is, see
/// proc_stat(5)): too coarse for one launch, fit for a round.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Default)]
pub struct Ticks {
    /// User mode, niced or not; a guest's time is in it.
    pub user: u64,
    /// Kernel mode, interrupts and softirqs left out.
    pub system: u64,
    pub interrupt: u64,
    /// Idle, waiting for a disk included.
    pub idle: u64,
    /// Time the hypervisor gave to others while this CPU wanted to run. 0 on bare metal, and
    /// also from hypervisors that don't tell.
    pub steal: u64,
}

impl Counters {
    /// Counters from the texts of /proc/stat, /proc/interrupts and /proc/softirqs. Never fails: what isn't
    /// there is `None`.
    pub(super) fn parse([stat, interrupts, softirqs]: [Option<&str>; 3], cpus: &[u32]) -> Counters {
        let mut counters = Counters {
            cpus: cpus.iter().map(|&cpu| CpuCounters { cpu, ..Default::default() }).collect(),
            ..Default::default()
        };
        if let Some(stat) = stat {
            counters.take_stat(stat);
        }
        if let Some(table) = interrupts {
            let (sums, all) = parse_table(table, cpus);
            counters.all_interrupts = all;
            for (cpu, sum) in counters.cpus.iter_mut().zip(sums) {
                cpu.interrupts = sum.map(|sum| sum.all);
                cpu.device_interrupts = sum.map(|sum| sum.devices);
            }
        }
        if let Some(table) = softirqs {
            for (cpu, sum) in counters.cpus.iter_mut().zip(parse_table(table, cpus).0) {
                cpu.softirqs = sum.map(|sum| sum.all);
            }
        }
        counters
    }

    fn take_stat(&mut self, stat: &str) {
        for line in stat.lines() {
            let Some((name, rest)) = line.split_once(' ') else { continue };
            match name {
                "ctxt" => self.context_switches = counter(rest),
                "processes" => self.forks = counter(rest),
                "procs_running" => self.running = counter(rest),
                "cpu" => self.all_ticks = parse_ticks(rest),
                name => {
                    let number = name.strip_prefix("cpu").and_then(|id| id.parse::<u32>().ok());
                    for cpu in self.cpus.iter_mut().filter(|cpu| Some(cpu.cpu) == number) {
                        cpu.ticks = parse_ticks(rest);
                    }
                }
            }
        }
    }

    /// What happened since an earlier snapshot of the same CPUs.
    pub fn since(&self, earlier: &Counters) -> Noise {
        let same = self.cpus.iter().map(|c| c.cpu).eq(earlier.cpus.iter().map(|c| c.cpu));
        let sum = |counter: fn(&CpuCounters) -> Option<u64>| -> Option<u64> {
            let mut pairs = self.cpus.iter().zip(&earlier.cpus).filter(|_| same).peekable();
            pairs.peek()?;
            pairs.try_fold(0, |sum, (now, then)| {
                Some(sum + difference(counter(now), counter(then))?)
            })
        };
        // Whoever reads twice has slept or waited in between: a kernel that counts has counted that.
        let switches =
            difference(self.context_switches, earlier.context_switches).filter(|by| *by > 0);
        Noise {
            interrupts: sum(|cpu| cpu.interrupts),
            device_interrupts: sum(|cpu| cpu.device_interrupts),
            softirqs: sum(|cpu| cpu.softirqs),
            forks: difference(self.forks, earlier.forks).filter(|_| switches.is_some()),
            context_switches: switches,
            steal_ticks: sum(|cpu| cpu.ticks.map(|ticks| ticks.steal)),
        }
    }

    /// Which files counted nothing in the `ns` since an earlier snapshot of the same CPUs.
    pub(super) fn stands_still(&self, earlier: &Counters, ns: u64) -> StandsStill {
        let moved =
            |now: Option<u64>, then: Option<u64>| difference(now, then).is_some_and(|by| by > 0);
        let of_cpu = |cpu: &CpuCounters| cpu.ticks.map(|ticks| ticks.total());
        let of_all = |counters: &Counters| counters.all_ticks.map(|ticks| ticks.total());
        let mut cpus = self.cpus.iter().zip(&earlier.cpus);
        let long = ns >= MOVES_WITHIN;
        // In less than a tick a CPU counts nothing, and an interrupt may not have come.
        let all_move = !long || cpus.all(|(now, then)| moved(of_cpu(now), of_cpu(then)));
        StandsStill {
            stat: !moved(of_all(self), of_all(earlier)) || !all_move,
            interrupts: long && !moved(self.all_interrupts, earlier.all_interrupts),
        }
    }
}

/// A counter since boot; None of what is none. One that no kernel reaches in a century is damage: bounded, all
/// sums of them have room.
pub(super) fn counter(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|count| *count < 1 << 52)
}

fn difference(now: Option<u64>, then: Option<u64>) -> Option<u64> {
    now?.checked_sub(then?)
}

/// The columns of a `cpuN` line of /proc/stat: user nice system idle iowait irq softirq steal,
/// then guest times that user and nice already hold. Kernels before 2.6.11 have no steal.
fn parse_ticks(columns: &str) -> Option<Ticks> {
    let mut columns = columns.split_ascii_whitespace().map(counter);
    let mut next = || columns.next().flatten();
    let (user, nice, system, idle, iowait) = (next()?, next()?, next()?, next()?, next()?);
    let (irq, softirq, steal) = (next()?, next()?, next()?);
    let (user, idle, interrupt) = (user + nice, idle + iowait, irq + softirq);
    Some(Ticks { user, system, interrupt, idle, steal })
}

impl Ticks {
    pub fn total(&self) -> u64 {
        self.user + self.system + self.interrupt + self.idle + self.steal
    }
}

/// What a column of /proc/interrupts or /proc/softirqs sums up to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sum {
    all: u64,
    devices: u64,
}

/// Whether a row of /proc/interrupts is that of a device: it has a number, and is no timer
/// (of which some architectures number theirs).
pub(super) fn is_device(name: &str, rest: &str) -> bool {
    name.trim().parse::<u32>().is_ok() && !rest.contains("timer")
}

/// The sums of the asked CPUs' columns in a table such as /proc/interrupts or /proc/softirqs;
/// `None` for a CPU that has no column. Beside them the sum of all columns, `None` where there is none.
///
/// Columns go by the header's labels: offline CPUs have none, so the third column may be CPU 5.
/// Rows with fewer numbers than the header has labels (`ERR:`, `MIS:`) count for the whole
/// machine and are left out, by name too, because on one CPU they look like all others.
fn parse_table(table: &str, cpus: &[u32]) -> (Vec<Option<Sum>>, Option<u64>) {
    let mut lines = table.lines();
    let columns: Vec<u32> = lines
        .next()
        .unwrap_or("")
        .split_ascii_whitespace()
        .map_while(|label| label.strip_prefix("CPU")?.parse().ok())
        .collect();
    let wanted: Vec<Option<usize>> =
        cpus.iter().map(|cpu| columns.iter().position(|column| column == cpu)).collect();
    let mut sums: Vec<Option<Sum>> =
        wanted.iter().map(|column| column.map(|_| Sum::default())).collect();
    let mut row = Vec::with_capacity(columns.len());
    let mut of_all_cpus = (!columns.is_empty()).then_some(0);
    for line in lines {
        let Some((name, rest)) = line.split_once(':') else { continue };
        if matches!(name.trim(), "ERR" | "Err" | "MIS" | "BAD") {
            continue;
        }
        row.clear();
        let counts = rest.split_ascii_whitespace().take(columns.len());
        row.extend(counts.map_while(counter));
        if row.len() < columns.len() {
            continue;
        }
        of_all_cpus = of_all_cpus.map(|sum: u64| sum.saturating_add(row.iter().sum()));
        let device = is_device(name, rest);
        for (sum, column) in sums.iter_mut().zip(&wanted) {
            if let (Some(sum), Some(column)) = (sum, column) {
                sum.all += row[*column];
                sum.devices += if device { row[*column] } else { 0 };
            }
        }
    }
    (sums, of_all_cpus)
}

/// How busy the machine has been (/proc/loadavg, see proc_loadavg(5)).
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Tasks running or in uninterruptible sleep, averaged over one minute.
    pub one_minute: f64,
    /// The same over five minutes.
    pub five_minutes: f64,
    /// The same over fifteen minutes.
    pub fifteen_minutes: f64,
    /// Tasks that are runnable now, this one among them.
    pub runnable: u32,
    /// Tasks that exist now.
    pub tasks: u32,
}

/// Reads the load averages; `None` where /proc/loadavg can't be read.
pub fn load(root: &Path) -> Option<Load> {
    parse_load(&tree::text(root, "proc/loadavg")?)
}

fn parse_load(text: &str) -> Option<Load> {
    let mut fields = text.split_ascii_whitespace();
    let mut average =
        || fields.next()?.parse::<f64>().ok().filter(|load| load.is_finite() && *load >= 0.0);
    let (one_minute, five_minutes, fifteen_minutes) = (average()?, average()?, average()?);
    let (runnable, tasks) = fields.next()?.split_once('/')?;
    Some(Load {
        one_minute,
        five_minutes,
        fifteen_minutes,
        runnable: runnable.parse().ok()?,
        tasks: tasks.parse().ok()?,
    })
}

/// The frequency of a CPU in kHz (`cpufreq/scaling_cur_freq`): measured over the last ticks on
/// x86, last asked for elsewhere. `None` in most guests, which have no cpufreq. Reading may
/// interrupt that CPU: not between samples.
pub fn frequency_khz(root: &Path, cpu: u32) -> Option<u64> {
    tree::number(root, &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"))
}

/// A pause of a spinning loop that counts as a gap: far above a clock read, below a time slice.
const GAP: Duration = Duration::from_micros(5);

/// Spins for `time` on whichever CPU the caller has.
pub fn spin_gaps(time: Duration) -> Gaps {
    let started = Instant::now();
    let mut gaps = Gaps::default();
    let mut last = started;
    while last.duration_since(started) < time {
        let now = Instant::now();
        let pause = now.duration_since(last);
        if pause > GAP {
            let ns = pause.as_nanos() as u64;
            gaps.count += 1;
            gaps.total_ns += ns;
            gaps.longest_ns = gaps.longest_ns.max(ns);
        }
        last = now;
    }
    gaps.spun_ns = last.duration_since(started).as_nanos() as u64;
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ledger, stored};

    const STAT: &str = "cpu  15270 1 4782 132414 2535 0 112 62 0 0\n\
        cpu0 6913 1 1916 68268 473 2 15 29 0 0\n\
        cpu10 8356 0 2866 64146 2062 0 97 32 0 0\n\
        intr 241574 0 0\nctxt 428409\nbtime 1700000000\nprocesses 6504\nprocs_running 2\n";

    /// CPU 1 is offline; the numbers of line names and device names must not be counted.
    const INTERRUPTS: &str = "           CPU0       CPU2       CPU3       \n \
        24:          1          0          5  IO-APIC   5-edge      ACPI:Ged\n \
        37:        100         10          7 PCI-MSIX-0000:00:04.0   1-edge      virtio3-input.0\n\
        NMI:          0          3          0   Non-maskable interrupts\n\
        RES:       1000       2000       3000   Rescheduling interrupts\n\
        ERR:         77\nMIS:         88\nSPU:         99\n";

    #[test]
    fn columns_go_by_label_and_machine_wide_rows_are_left_out() {
        let sum = |all, devices| Some(Sum { all, devices });
        let (sums, all) = parse_table(INTERRUPTS, &[3, 0, 1, 2]);
        assert_eq!(all, Some(3012 + 1101 + 2013));
        assert_eq!(sums, [sum(3012, 12), sum(1101, 101), None, sum(2013, 10)]);
    }

    #[test]
    fn one_cpu_does_not_own_the_errors() {
        let table = "           CPU0       \n  1:   5   XT-PIC  i8042\nERR:   9\n";
        assert_eq!(parse_table(table, &[0]).0, [Some(Sum { all: 5, devices: 5 })]);
    }

    #[test]
    fn numbered_timers_are_no_devices() {
        let table = "  CPU0\n 11:  900  GICv3  27 Level  arch_timer\n 45:  3  GICv3 79 eth0\n";
        assert_eq!(parse_table(table, &[0]).0, [Some(Sum { all: 903, devices: 3 })]);
    }

    #[test]
    fn softirqs_are_the_same_kind_of_table() {
        let table = "                    CPU0       CPU1       \n          \
            HI:          0          1\n       TIMER:       8556       8764\n";
        assert_eq!(parse_table(table, &[1]).0, [Some(Sum { all: 8765, devices: 0 })]);
    }

    #[test]
    fn three_hundred_cpus_are_just_wide() {
        let header: String = (0..300).filter(|c| c % 7 != 3).map(|c| format!("CPU{c} ")).collect();
        let row: String = (0..300).filter(|c| c % 7 != 3).map(|c| format!("{c} ")).collect();
        let mut table = header + "\n";
        for line in 0..500 {
            table.push_str(&format!("{line}: {row} IR-PCI-MSI 42-edge nvme0q{line}\n"));
        }
        let sums = parse_table(&table, &[299, 3, 128]).0.into_iter().map(|sum| Some(sum?.all));
        assert_eq!(sums.collect::<Vec<_>>(), [Some(299 * 500), None, Some(128 * 500)]);
    }

    #[test]
    fn nonsense_is_not_a_count() {
        assert_eq!(parse_table("", &[0]), (vec![None], None));
        assert_eq!(parse_table("hello\nworld: 1 2\n", &[0]), (vec![None], None));
        assert_eq!(parse_ticks("1 2 three"), None);
        // Counters that no kernel ever reaches, whose sums would have no room.
        assert_eq!(parse_ticks(&format!("{0} {0} 1 {0} 2 3 4 5", u64::MAX)), None);
        let table = format!("CPU0\n1: {0} x\n2: {0} x\n3: 5 x\n", u64::MAX);
        assert_eq!(parse_table(&table, &[0]).0, [Some(Sum { all: 5, devices: 5 })]);
    }

    fn snapshot(stat: &str, interrupts: &str) -> Counters {
        let root = tempfile::tempdir().unwrap();
        stored::add(root.path(), [("proc/stat", stat), ("proc/interrupts", interrupts)]);
        Ledger::open(root.path()).take().counters(&[0, 10])
    }

    #[test]
    fn stat_gives_forks_switches_and_the_ticks_of_the_used_cpus() {
        let counters = snapshot(STAT, INTERRUPTS);
        assert_eq!((counters.forks, counters.context_switches), (Some(6504), Some(428_409)));
        let ticks = Ticks { user: 6914, system: 1916, interrupt: 17, idle: 68_741, steal: 29 };
        assert_eq!(counters.cpus[0].ticks, Some(ticks));
        assert_eq!(counters.cpus[1].ticks.unwrap().steal, 32);
        assert_eq!((counters.running, counters.all_ticks.unwrap().idle), (Some(2), 134_949));
        assert_eq!(counters.cpus[1].interrupts, None);
        assert_eq!(counters.cpus[0].softirqs, None);
    }

    #[test]
    fn the_difference_is_of_used_cpus_and_absent_where_unknown() {
        let earlier = snapshot(STAT, "CPU0 CPU10\n1: 10 20\n");
        let stat = STAT
            .replace("processes 6504", "processes 6509")
            .replace("ctxt 428409", "ctxt 428416")
            .replace("2062 0 97 32", "2062 0 97 35");
        let noise = snapshot(&stat, "CPU0 CPU10\n1: 11 24\n").since(&earlier);
        let expected = Noise {
            interrupts: Some(5),
            device_interrupts: Some(5),
            softirqs: None,
            forks: Some(5),
            context_switches: Some(7),
            steal_ticks: Some(3),
        };
        assert_eq!(noise, expected);
        let backwards = earlier.since(&snapshot(&stat, "CPU0 CPU10\n1: 11 24\n"));
        assert_eq!((backwards.forks, backwards.interrupts), (None, None));
    }

    #[test]
    fn snapshots_of_other_cpus_are_not_compared() {
        let root = stored::unpack([("proc/stat", STAT)]);
        let entry = Ledger::open(root.path()).take();
        let [a, b, none] = [&[0][..], &[10], &[]].map(|cpus| entry.counters(cpus));
        assert_eq!(a.since(&b).steal_ticks, None);
        assert_eq!(a.since(&none).steal_ticks, None);
        assert_eq!(a.since(&b).forks, None, "a counter that stands still counts nothing");
    }

    #[test]
    fn load_averages() {
        let load = parse_load("0.12 0.41 1.23 3/92 6501").unwrap();
        assert_eq!((load.one_minute, load.fifteen_minutes), (0.12, 1.23));
        assert_eq!((load.runnable, load.tasks), (3, 92));
        assert_eq!(parse_load("0.12 0.41"), None);
        assert_eq!(parse_load("nan 0 0 1/2 3"), None);
    }

    #[test]
    fn frequency_where_there_is_one() {
        let path = "sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq";
        let root = stored::unpack([(path, "2600000")]);
        assert_eq!(frequency_khz(root.path(), 3), Some(2_600_000));
        assert_eq!(frequency_khz(root.path(), 0), None);
    }

    #[test]
    fn gaps_fit_into_the_spin() {
        let gaps = spin_gaps(Duration::from_millis(2));
        assert!(gaps.spun_ns >= 2_000_000);
        assert!(gaps.longest_ns <= gaps.total_ns && gaps.total_ns <= gaps.spun_ns);
    }
}
