//! Caches (cpu*/cache/index*) and memory (/proc/meminfo, node*/). Caches of one kind are one
//! record with the CPUs of each instance: a machine with 64 cores has 64 equal L2 caches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::host::{Cache, Memory, Node};

use crate::tree;

pub(super) fn memory(root: &Path) -> Memory {
    let meminfo = tree::text(root, "proc/meminfo").unwrap_or_default();
    let dir = "sys/devices/system/node";
    let nodes = tree::numbered(root, dir, "node").into_iter().map(|id| Node {
        id,
        cpus: tree::cpus(root, &format!("{dir}/node{id}/cpulist")).unwrap_or_default(),
        total_bytes: tree::text(root, &format!("{dir}/node{id}/meminfo"))
            .and_then(|meminfo| meminfo_bytes(&meminfo, "MemTotal")),
        distances: tree::text(root, &format!("{dir}/node{id}/distance"))
            .map(|row| row.split_ascii_whitespace().flat_map(str::parse).collect())
            .unwrap_or_default(),
    });
    Memory {
        total_bytes: meminfo_bytes(&meminfo, "MemTotal"),
        available_bytes: meminfo_bytes(&meminfo, "MemAvailable"),
        swap_bytes: meminfo_bytes(&meminfo, "SwapTotal"),
        page_bytes: rustix::param::page_size() as u64,
        nodes: nodes.collect(),
    }
}

/// The value of a line such as `MemTotal:  123 kB` or `Node 0 MemTotal:  123 kB`.
fn meminfo_bytes(meminfo: &str, key: &str) -> Option<u64> {
    let mut lines = meminfo.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = lines.find(|(name, _)| name.split(' ').next_back() == Some(key))?;
    value.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// All caches of the online CPUs, ordered by level and kind; empty where none is described.
///
/// A cache that an earlier CPU's list of sharers covers is not read again from each of them:
/// that would be thousands of files on a big machine.
pub(super) fn caches(root: &Path, online: &[u32]) -> Vec<Cache> {
    let mut kinds: BTreeMap<Kind, Vec<Vec<u32>>> = BTreeMap::new();
    let mut covered = BTreeSet::new(); // index number and CPU
    for &cpu in online {
        let dir = format!("sys/devices/system/cpu/cpu{cpu}/cache");
        for index in tree::numbered(root, &dir, "index") {
            if covered.contains(&(index, cpu)) {
                continue;
            }
            let Some((kind, sharers)) = instance(root, &format!("{dir}/index{index}")) else {
                continue;
            };
            covered.extend(sharers.iter().map(|&sharer| (index, sharer)));
            let instances = kinds.entry(kind).or_default();
            if !instances.contains(&sharers) {
                instances.push(sharers);
            }
        }
    }
    kinds
        .into_iter()
        .map(|((level, kind, size_bytes, line_bytes), shared_by)| Cache {
            level,
            kind,
            size_bytes,
            line_bytes,
            shared_by,
        })
        .collect()
}

/// Level, type, size and line.
type Kind = (u32, String, Option<u64>, Option<u64>);

/// One `index` directory: what kind of cache it is, and the CPUs that share it.
fn instance(root: &Path, dir: &str) -> Option<(Kind, Vec<u32>)> {
    let level = tree::number(root, &format!("{dir}/level"))?;
    let kind = tree::text(root, &format!("{dir}/type"))?;
    let size = tree::text(root, &format!("{dir}/size")).and_then(|size| size_bytes(&size));
    let line = tree::number(root, &format!("{dir}/coherency_line_size"));
    let sharers = tree::cpus(root, &format!("{dir}/shared_cpu_list"))?;
    Some(((level, kind, size, line), sharers))
}

/// `32K`: the only unit the kernel prints here (drivers/base/cacheinfo.c), in binary.
fn size_bytes(size: &str) -> Option<u64> {
    size.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_cpu_list, stored};

    fn of(name: &str) -> Vec<Cache> {
        let root = stored::machine(name);
        let online = tree::cpus(root.path(), "sys/devices/system/cpu/online").unwrap();
        caches(root.path(), &online)
    }

    #[test]
    fn equal_caches_are_one_record() {
        let kinds: Vec<_> =
            of("epyc-ccx").iter().map(|c| (c.level, c.kind.clone(), c.shared_by.len())).collect();
        let expected =
            [(1, "Data", 8), (1, "Instruction", 8), (2, "Unified", 8), (3, "Unified", 4)];
        assert_eq!(kinds, expected.map(|(level, kind, count)| (level, kind.to_owned(), count)));
        let last = &of("guest-2cpu")[3];
        assert_eq!((last.size_bytes, last.line_bytes), (Some(32 << 20), Some(64)));
        assert_eq!(last.shared_by, [[0, 1]]);
    }

    #[test]
    fn a_hybrid_has_two_kinds_of_first_level() {
        let data: Vec<_> = of("laptop-hybrid")
            .into_iter()
            .filter(|cache| cache.kind == "Data")
            .map(|cache| (cache.size_bytes, cache.shared_by.len()))
            .collect();
        assert_eq!(data, [(Some(32 << 10), 10), (Some(48 << 10), 6)]);
        let second = of("laptop-hybrid").into_iter().find(|cache| cache.level == 2).unwrap();
        assert!(second.shared_by.contains(&parse_cpu_list("12-15").unwrap()));
        assert!(of("arm-board").is_empty());
    }

    #[test]
    fn memory_in_bytes_and_by_node() {
        let root = stored::machine("xeon-2-socket");
        stored::add(
            root.path(),
            [
                ("proc/meminfo", "MemTotal:       24684096 kB\\nMemAvailable:    1024 kB"),
                ("sys/devices/system/node/node1/meminfo", "Node 1 MemTotal:   2048 kB"),
                ("sys/devices/system/node/node1/distance", "21 10"),
            ],
        );
        let memory = memory(root.path());
        assert_eq!(memory.total_bytes, Some(24_684_096 << 10));
        assert_eq!((memory.available_bytes, memory.swap_bytes), (Some(1 << 20), None));
        assert_eq!(memory.nodes[1].total_bytes, Some(2 << 20));
        assert_eq!(memory.nodes[1].distances, [21, 10]);
        assert_eq!(memory.nodes[0].cpus, [0, 2, 4, 6, 8, 10, 12, 14]);
        assert_eq!(memory.nodes[0].total_bytes, None);
    }
}
