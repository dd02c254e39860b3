//! Which kinds of core a machine has: performance and efficiency cores, big and little ones.
//!
//! What is measured on one kind says nothing of another: a CPU of 2.5 GHz beside one of 4.8 GHz makes "one CPU"
//! slower than "two CPUs", if the one is of the one kind and the two are of the other.

use std::collections::BTreeMap;
use std::path::Path;

use model::host::Cores;

use super::tree;

const DEVICES: &str = "sys/devices";
const CPU_DIR: &str = "sys/devices/system/cpu";
/// Cores that have so much of the speed of another are of its kind: the fastest cores of a chip are a little faster
/// than their neighbours by choice of their maker.
const ALIKE: f64 = 0.8;

/// The online CPUs by what the kernel says of their cores: the event counters that they have (Intel's `cpu_core` and
/// `cpu_atom`, ARM's `armv8_cortex_a72`), `cpu_capacity`, and `cpuinfo_max_freq`. The fastest kind first.
pub(super) fn read(root: &Path, online: &[u32]) -> Vec<Cores> {
    let mut families: BTreeMap<u32, String> = BTreeMap::new();
    for name in tree::names(root, DEVICES) {
        let cpus = tree::cpus(root, &format!("{DEVICES}/{name}/cpus")).unwrap_or_default();
        families.extend(cpus.into_iter().map(|cpu| (cpu, name.clone())));
    }
    let mut found: Vec<Cores> = Vec::new();
    for &cpu in online {
        let file = |name: &str| format!("{CPU_DIR}/cpu{cpu}/{name}");
        let cores = Cores {
            kind: 0,
            cpus: Vec::new(),
            family: families.get(&cpu).cloned(),
            capacity: tree::number(root, &file("cpu_capacity")),
            max_khz: tree::number(root, &file("cpufreq/cpuinfo_max_freq")),
        };
        let same = |known: &&mut Cores| {
            (&known.family, known.capacity, known.max_khz)
                == (&cores.family, cores.capacity, cores.max_khz)
        };
        match found.iter_mut().find(same) {
            Some(known) => known.cpus.push(cpu),
            None => found.push(Cores { cpus: vec![cpu], ..cores }),
        }
    }
    numbered(found)
}

/// Gives those that are alike one number, from 0 for the fastest.
fn numbered(mut all: Vec<Cores>) -> Vec<Cores> {
    // Stable: where nothing is said of the speed, by their first CPU.
    all.sort_by_key(|cores| std::cmp::Reverse((cores.capacity, cores.max_khz)));
    let mut firsts: Vec<Cores> = Vec::new();
    for cores in &mut all {
        match firsts.iter().find(|first| are_alike(first, cores)) {
            Some(first) => cores.kind = first.kind,
            None => {
                cores.kind = firsts.len() as u32;
                firsts.push(cores.clone());
            }
        }
    }
    all.sort_by_key(|cores| (cores.kind, cores.cpus.first().copied()));
    all
}

fn are_alike(faster: &Cores, other: &Cores) -> bool {
    let near = |a: Option<u64>, b: Option<u64>| match (a, b) {
        (Some(a), Some(b)) => a.min(b) as f64 >= ALIKE * a.max(b) as f64,
        _ => true,
    };
    let capacity = |cores: &Cores| cores.capacity.map(u64::from);
    faster.family == other.family
        && near(capacity(faster), capacity(other))
        && near(faster.max_khz, other.max_khz)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    fn kinds(files: &[(String, &str)], online: &[u32]) -> Vec<(u32, Vec<u32>)> {
        let root = stored::unpack(files.iter().map(|(path, text)| (path.as_str(), *text)));
        read(root.path(), online).into_iter().map(|cores| (cores.kind, cores.cpus)).collect()
    }

    #[test]
    fn kinds_go_by_counters_capacity_and_frequency() {
        let capacity = |cpu| format!("{CPU_DIR}/cpu{cpu}/cpu_capacity");
        let khz = |cpu| format!("{CPU_DIR}/cpu{cpu}/cpufreq/cpuinfo_max_freq");
        // Little cores first, as many ARM boards number them.
        let big_little = [(capacity(0), "446"), (capacity(1), "446"), (capacity(2), "1024")];
        assert_eq!(kinds(&big_little, &[0, 1, 2]), [(0, vec![2]), (1, vec![0, 1])]);
        // A favoured core of the same kind.
        let favoured = [(khz(0), "4800000"), (khz(1), "5000000"), (khz(2), "4800000")];
        assert_eq!(kinds(&favoured, &[0, 1, 2]), [(0, vec![0, 2]), (0, vec![1])]);
        let slow = [(khz(0), "4800000"), (khz(1), "2500000")];
        assert_eq!(kinds(&slow, &[0, 1]), [(0, vec![0]), (1, vec![1])]);
        let named = [
            (format!("{DEVICES}/cpu_core/cpus"), "0-1"),
            (format!("{DEVICES}/cpu_atom/cpus"), "2-3"),
        ];
        assert_eq!(kinds(&named, &[0, 1, 2, 3]), [(0, vec![0, 1]), (1, vec![2, 3])]);
    }

    #[test]
    fn nothing_is_made_up_of_a_machine_that_says_nothing() {
        let root = stored::machine("guest-2cpu");
        let found = read(root.path(), &[0, 1]);
        let unknown =
            Cores { kind: 0, cpus: vec![0, 1], family: None, capacity: None, max_khz: None };
        assert_eq!(found, [unknown]);
    }
}
