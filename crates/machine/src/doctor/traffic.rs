//! Who else wants the CPUs: other tasks, and devices.

use model::words;
use std::collections::BTreeMap;
use std::path::Path;

use super::{Check, Finding, Interval};
use crate::{noise, tree};

const LOAD: Check = Check {
    name: "load",
    wanted: "nothing else runs: others take less than 5 % of the machine",
    effect: "Whoever shares a CPU, a core or a cache with the workers adds time slices to the \
             tail and moves the median; mechanisms that sleep wait behind others at every \
             wake-up.",
    advice: "let what runs finish, or stop it (`top` names it), then measure again.",
};

const INTERRUPTS: Check = Check {
    name: "interrupts",
    wanted: "fewer than 500 device interrupts a second on each CPU used",
    effect: "Each interrupt takes 2 to 10 µs out of the middle of an operation: from some 500 a \
             second they reach p99.9 of a 4 µs round trip, from 5,000 its p99.",
    advice: "stop what makes the device busy, name other CPUs for the workers (-p CPU,CPU), or \
             let the interrupt go elsewhere where the kernel permits it.",
};

/// Shares of the machine's time taken by others, from which on they are minor, or serious.
const LOAD_NOTED: f64 = 0.05;
const LOAD_SERIOUS: f64 = 0.25;
/// Fewer ticks are within the error of sampling.
const LOAD_TICKS: u64 = 5;
/// Device interrupts a second on each CPU used.
const INTERRUPTS_NOTED: f64 = 500.0;
const INTERRUPTS_SERIOUS: f64 = 5_000.0;
/// A load average over a minute above what a run of our own leaves behind.
const LOAD_AVERAGE: f64 = 1.5;

pub(super) fn load(stretch: &Interval) -> Finding {
    let average = stretch.load.map(|load| format!("load average {:.2}", load.one_minute));
    let others = stretch.others_ticks.zip(stretch.all_ticks).filter(|(_, all)| *all > 0);
    let waiting = stretch.runnable.map(|(before, after)| before.min(after)).unwrap_or(0);
    let Some((ticks, all)) = others else {
        let why = stretch.silent.stat.as_deref().unwrap_or("/proc/stat doesn't tell who ran");
        let average = average.map(|average| format!("; {average}")).unwrap_or_default();
        return LOAD.unknown(
            format!("{why}{average}"),
            "make the kernel's own /proc/stat readable; look at `top` before a run",
        );
    };
    let share = ticks as f64 / all as f64;
    let mut found = format!(
        "others used {:.2} CPUs, {:.0} % of the machine",
        ticks as f64 * 1e7 / stretch.ns.max(1) as f64,
        100.0 * share
    );
    if waiting > 0 {
        let tasks = words::counted(waiting, "other task");
        found += &format!("; {tasks} runnable at both ends");
    }
    if let Some(average) = average {
        found += &format!("; {average} over a minute");
    }
    let crowd = waiting as f64 > (LOAD_NOTED * cpus_of(stretch)).max(0.5);
    match share {
        share if share >= LOAD_SERIOUS && ticks >= LOAD_TICKS => LOAD.warning(found),
        share if share >= LOAD_NOTED && ticks >= LOAD_TICKS => LOAD.note(found),
        _ if crowd => LOAD.note(found),
        _ if stretch.load.is_some_and(|load| load.one_minute >= LOAD_AVERAGE) => LOAD.note(found),
        _ => LOAD.fine(found),
    }
}

/// How many CPUs the machine has: all its ticks over those of one.
fn cpus_of(stretch: &Interval) -> f64 {
    stretch.all_ticks.unwrap_or(0) as f64 * 1e7 / stretch.ns.max(1) as f64
}

pub(super) fn interrupts(stretch: &Interval) -> Finding {
    let Some(count) = stretch.noise.device_interrupts else {
        let why = stretch.silent.interrupts.as_deref();
        return INTERRUPTS.unknown(
            why.unwrap_or("/proc/interrupts doesn't tell those of the CPUs used"),
            "make /proc/interrupts readable, or name CPUs that are online",
        );
    };
    let cpus = stretch.cpus.len().max(1) as f64;
    let rate = count as f64 * 1e9 / (stretch.ns.max(1) as f64 * cpus);
    let mut found = format!("{rate:.0} a second from devices on each CPU used");
    let busiest = stretch.busiest.as_ref();
    if let Some(device) = busiest {
        found += &format!("; most from {} ({:.0} a second)", device.name, device.per_sec);
    }
    let finding = match rate {
        rate if rate >= INTERRUPTS_SERIOUS => INTERRUPTS.warning(found),
        rate if rate >= INTERRUPTS_NOTED => INTERRUPTS.note(found),
        _ => return INTERRUPTS.fine(found),
    };
    match busiest {
        Some(device) => finding.command(format!(
            "echo CPUS-NOT-USED | sudo tee /proc/irq/{}/smp_affinity_list",
            device.line
        )),
        None => finding,
    }
}

/// A line of /proc/interrupts, and how often it came.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    pub line: u32,
    /// What the kernel calls it: `virtio1-req.0`.
    pub name: String,
    /// Interrupts a second on the CPUs used.
    pub per_sec: f64,
}

/// Number and name of each device's line, and its count on `cpus`.
pub(super) fn devices(root: &Path, cpus: &[u32]) -> BTreeMap<(u32, String), u64> {
    let table = tree::text(root, "proc/interrupts").unwrap_or_default();
    let mut lines = table.lines();
    let header = lines.next().unwrap_or("").split_ascii_whitespace();
    let columns: Vec<u32> =
        header.map_while(|label| label.strip_prefix("CPU")?.parse().ok()).collect();
    let mut found = BTreeMap::new();
    for line in lines {
        let Some((number, rest)) = line.split_once(':') else { continue };
        let Ok(number) = number.trim().parse() else { continue };
        if !noise::is_device("0", rest) {
            continue;
        }
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        let count = columns.iter().zip(&words).filter(|(column, _)| cpus.contains(column));
        let count = count.filter_map(|(_, count)| noise::counter(count)).sum();
        let name = words.last().filter(|_| words.len() > columns.len());
        found
            .insert((number, name.copied().unwrap_or("a device without a name").to_owned()), count);
    }
    found
}

/// The device that interrupted most between two readings.
pub(super) fn busiest(
    before: &BTreeMap<(u32, String), u64>,
    after: &BTreeMap<(u32, String), u64>,
    ns: u64,
) -> Option<Device> {
    let came = |(key, now): (&(u32, String), &u64)| {
        let then = before.get(key).copied().unwrap_or(0);
        Some((now.checked_sub(then).filter(|count| *count > 0)?, key.clone()))
    };
    let (count, (line, name)) = after.iter().filter_map(came).max_by_key(|(count, _)| *count)?;
    Some(Device { line, name, per_sec: count as f64 * 1e9 / ns.max(1) as f64 })
}
