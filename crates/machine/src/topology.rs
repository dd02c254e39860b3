//! Which CPUs share a core, a last-level cache, a memory node: from /sys/devices/system/{cpu,node}.
//! Cores and caches are named by the smallest online CPU that belongs to them, because the
//! kernel's own ids are neither unique across packages nor there on every machine.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::{cores, tree};
use sys::affinity::Affinity;

const CPU_DIR: &str = "sys/devices/system/cpu";
const NODE_DIR: &str = "sys/devices/system/node";

/// The CPUs of a machine and what they share.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Topology {
    /// The online CPUs, by ascending id.
    pub cpus: Vec<Cpu>,
    /// CPUs that are present but offline. The kernel says nothing of their place, so nothing
    /// is recorded of it.
    pub offline: Vec<u32>,
    /// Whether the kernel says who shares what. Where it doesn't, a CPU stands in no relation to another.
    pub is_known: bool,
}

/// One online CPU (a hardware thread) and its place.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq)]
pub struct Cpu {
    /// The kernel's number of it, as in `cpu3`.
    pub id: u32,
    /// `topology/physical_package_id`: the socket. `None` where the kernel doesn't know (it
    /// says -1 on some boards).
    pub package: Option<u32>,
    /// Its core, named by the core's smallest online CPU: unique on the machine.
    pub core: u32,
    /// Its memory node (`node/node*/cpulist`). 0 where there is no node directory: a kernel
    /// without NUMA has one node.
    pub node: u32,
    /// Its last-level cache, named by the smallest online CPU that shares it.
    pub llc: u32,
    /// Whether the kernel describes the caches of this CPU (`cache/index*`). Where it doesn't,
    /// `llc` stands for the CPU's cluster or, without one, its package within its node.
    pub llc_known: bool,
    /// The online CPUs of its core, itself among them, ascending.
    pub siblings: Vec<u32>,
    /// The kind of its core, 0 the fastest, as in [`model::host::Cores`].
    pub kind: u32,
}

impl Topology {
    /// This machine's. Where sysfs doesn't show it, the CPUs that this thread may run on, of which nothing else is
    /// known.
    ///
    /// # Errors
    /// Neither tells.
    pub fn here() -> io::Result<Topology> {
        Topology::read(Path::new("/")).or_else(|error| match Affinity::here() {
            Ok(set) => Ok(Topology::unknown(&set.cpus())),
            Err(_) => Err(error),
        })
    }

    /// CPUs of which nothing is known.
    fn unknown(cpus: &[u32]) -> Topology {
        let alone = |&id: &u32| Cpu {
            id,
            package: None,
            core: id,
            node: 0,
            llc: id,
            llc_known: false,
            siblings: vec![id],
            kind: 0,
        };
        Topology { cpus: cpus.iter().map(alone).collect(), ..Topology::default() }
    }

    /// Reads the topology below `root` (`/` for this machine). Fails only where sysfs shows no
    /// CPU at all.
    pub fn read(root: &Path) -> io::Result<Topology> {
        let present = tree::numbered(root, CPU_DIR, "cpu");
        // A list may name 65,536 CPUs; of one without a directory there is nothing to read.
        let described = |cpu: &u32| present.is_empty() || present.binary_search(cpu).is_ok();
        let named = tree::cpus(root, &format!("{CPU_DIR}/online")).unwrap_or_default();
        let online: Vec<u32> = named.into_iter().filter(described).collect();
        let online = if online.is_empty() { present.clone() } else { online };
        if online.is_empty() {
            // Where no file can be opened at all, sysfs is there all the same.
            if let Err(error) = std::fs::read_dir(root.join(CPU_DIR))
                && matches!(Errno::from_io_error(&error), Some(Errno::MFILE | Errno::NFILE))
            {
                let line = format!(
                    "open /{CPU_DIR}: {error}; raise the limit on open files: ulimit -n 1024"
                );
                return Err(io::Error::new(error.kind(), line));
            }
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                format!("no CPU is described in /{CPU_DIR}; mount sysfs on /sys"),
            ));
        }
        let offline =
            present.into_iter().filter(|cpu| online.binary_search(cpu).is_err()).collect();
        let nodes = nodes(root);
        let places: Vec<CpuIds> = online
            .iter()
            .map(|&id| CpuIds::read(root, id, nodes.get(&id).copied().unwrap_or(0)))
            .collect();
        let caches = last_level_caches(root, &online);
        let is_known = !caches.is_empty() || places.iter().any(CpuIds::is_placed);
        let mut cpus = assemble(places, caches);
        let kinds = cores::read(root, &online);
        let kinds: BTreeMap<u32, u32> =
            kinds.iter().flat_map(|kind| kind.cpus.iter().map(|cpu| (*cpu, kind.kind))).collect();
        for cpu in &mut cpus {
            cpu.kind = kinds.get(&cpu.id).copied().unwrap_or(cpu.kind);
        }
        Ok(Topology { cpus, offline, is_known })
    }

    /// The CPU with this number, if it is online.
    pub fn cpu(&self, id: u32) -> Option<&Cpu> {
        let at = self.cpus.binary_search_by_key(&id, |cpu| cpu.id).ok()?;
        Some(&self.cpus[at])
    }

    /// Those of them that this thread may run on (sched_getaffinity(2)); all, where the kernel doesn't say.
    pub fn allowed(&self) -> Vec<u32> {
        let online = self.online();
        match Affinity::here() {
            Ok(set) => {
                let may_use: BTreeSet<u32> = set.cpus().into_iter().collect();
                online.into_iter().filter(|cpu| may_use.contains(cpu)).collect()
            }
            Err(_) => online,
        }
    }

    /// The numbers of the online CPUs, ascending.
    pub fn online(&self) -> Vec<u32> {
        self.cpus.iter().map(|cpu| cpu.id).collect()
    }
}

/// What sysfs says of one CPU, before cores and caches get their names.
struct CpuIds {
    id: u32,
    package: Option<u32>,
    node: u32,
    core: CoreKey,
    cluster: Option<u32>,
}

/// What tells one core from another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum CoreKey {
    /// The smallest CPU of the kernel's list of the core's threads.
    Threads(u32),
    /// package, die and core id, where there is no such list.
    Ids(Option<u32>, Option<u32>, u32),
    /// Nothing is said: the CPU is a core of its own.
    Alone(u32),
}

impl CpuIds {
    fn read(root: &Path, id: u32, node: u32) -> CpuIds {
        let file = |name: &str| format!("{CPU_DIR}/cpu{id}/topology/{name}");
        // -1, and 65535 for clusters, mean "not known"; u16 leaves out the one, the filter the other.
        let known = |name: &str| tree::number::<u16>(root, &file(name)).filter(|&n| n < u16::MAX);
        let package = known("physical_package_id").map(u32::from);
        let threads = tree::cpus(root, &file("core_cpus_list"))
            .or_else(|| tree::cpus(root, &file("thread_siblings_list")))
            .and_then(|threads| threads.first().copied());
        let core = match (threads, known("core_id")) {
            (Some(first), _) => CoreKey::Threads(first),
            (None, Some(core)) => {
                CoreKey::Ids(package, known("die_id").map(u32::from), u32::from(core))
            }
            (None, None) => CoreKey::Alone(id),
        };
        let cluster = known("cluster_id")
            .and_then(|_| tree::cpus(root, &file("cluster_cpus_list")))
            .and_then(|cluster| cluster.first().copied());
        CpuIds { id, package, node, core, cluster }
    }

    /// Whether the kernel says anything of its place.
    fn is_placed(&self) -> bool {
        let core = !matches!(self.core, CoreKey::Alone(_));
        core || self.package.is_some() || self.cluster.is_some()
    }
}

/// The node of each CPU. CPUs without a node directory are absent from the map.
fn nodes(root: &Path) -> BTreeMap<u32, u32> {
    let mut of = BTreeMap::new();
    for node in tree::numbered(root, NODE_DIR, "node") {
        let cpus = tree::cpus(root, &format!("{NODE_DIR}/node{node}/cpulist"));
        of.extend(cpus.unwrap_or_default().into_iter().map(|cpu| (cpu, node)));
    }
    of
}

/// The smallest sharer of each CPU's last-level cache. CPUs without cache description are absent.
///
/// Reading four files for each cache of each CPU takes tens of milliseconds on big machines, so
/// a CPU that an already read list of sharers names at the same level is not asked again.
fn last_level_caches(root: &Path, online: &[u32]) -> BTreeMap<u32, u32> {
    let mut of: BTreeMap<u32, u32> = BTreeMap::new();
    for &cpu in online {
        if of.contains_key(&cpu) {
            continue;
        }
        let dir = format!("{CPU_DIR}/cpu{cpu}/cache");
        let last = tree::numbered(root, &dir, "index")
            .into_iter()
            .filter(|index| {
                let kind = tree::text(root, &format!("{dir}/index{index}/type"));
                kind.as_deref() != Some("Instruction")
            })
            .filter_map(|index| {
                let level = tree::number::<u32>(root, &format!("{dir}/index{index}/level"))?;
                let sharers = tree::cpus(root, &format!("{dir}/index{index}/shared_cpu_list"))?;
                Some((level, sharers))
            })
            .max_by_key(|(level, _)| *level);
        if let Some((_, sharers)) = last {
            let name = sharers.first().copied().unwrap_or(cpu).min(cpu);
            of.insert(cpu, name);
            of.extend(sharers.into_iter().map(|sharer| (sharer, name)));
        }
    }
    of
}

/// Gives cores, and the caches that the kernel doesn't describe, the name of their smallest CPU.
fn assemble(places: Vec<CpuIds>, caches: BTreeMap<u32, u32>) -> Vec<Cpu> {
    let mut cores: BTreeMap<CoreKey, Vec<u32>> = BTreeMap::new();
    let mut stand_ins = BTreeMap::new();
    for place in &places {
        cores.entry(place.core.clone()).or_default().push(place.id);
        if !caches.contains_key(&place.id) {
            let key = (place.package, place.node, place.cluster);
            stand_ins.entry(key).or_insert(place.id);
        }
    }
    places
        .into_iter()
        .map(|place| {
            let siblings = cores[&place.core].clone();
            let known = caches.get(&place.id).copied();
            let llc =
                known.unwrap_or_else(|| stand_ins[&(place.package, place.node, place.cluster)]);
            Cpu {
                id: place.id,
                package: place.package,
                core: siblings[0],
                node: place.node,
                llc,
                llc_known: known.is_some(),
                siblings,
                kind: 0,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;
    use model::placement::Relation;

    fn read(name: &str) -> Topology {
        Topology::read(stored::machine(name).path()).unwrap()
    }

    fn each<T>(topology: &Topology, key: fn(&Cpu) -> T) -> Vec<T> {
        topology.cpus.iter().map(key).collect()
    }

    #[test]
    fn the_guest_has_two_cores_and_one_cache() {
        let guest = read("guest-2cpu");
        assert_eq!(each(&guest, |c| c.core), [0, 1]);
        assert_eq!(each(&guest, |c| c.llc), [0, 0]);
        assert_eq!(each(&guest, |c| c.package), [Some(0), Some(0)]);
        assert!(guest.cpus.iter().all(|c| c.llc_known && c.siblings == [c.id]));
    }

    #[test]
    fn a_cpu_that_is_online_without_a_directory_is_none() {
        let guest = stored::machine("guest-2cpu");
        std::fs::write(guest.path().join(CPU_DIR).join("online"), "0-65535").unwrap();
        assert_eq!(Topology::read(guest.path()).unwrap(), read("guest-2cpu"));
    }

    #[test]
    fn threads_of_a_core_are_siblings() {
        let desktop = read("desktop-smt");
        assert_eq!(each(&desktop, |c| c.core), [0, 1, 2, 3, 0, 1, 2, 3]);
        assert_eq!(desktop.cpu(6).unwrap().siblings, [2, 6]);
    }

    #[test]
    fn cores_are_unique_across_sockets_whose_core_ids_repeat() {
        let xeon = read("xeon-2-socket");
        let cores: Vec<u32> = (0..16).map(|cpu| cpu % 8).collect();
        assert_eq!(each(&xeon, |c| c.core), cores);
        assert!(xeon.cpus.iter().all(|c| c.node == c.id % 2 && c.llc == c.id % 2));
        assert_eq!(xeon.cpu(9).unwrap().package, Some(1));
    }

    #[test]
    fn core_complexes_have_caches_of_their_own() {
        let epyc = read("epyc-ccx");
        let caches = [0, 0, 2, 2, 4, 4, 6, 6, 0, 0, 2, 2, 4, 4, 6, 6];
        assert_eq!(each(&epyc, |c| c.llc), caches);
        assert!(epyc.cpus.iter().all(|c| c.node == 0));
    }

    #[test]
    fn the_last_level_differs_among_the_cores_of_a_hybrid() {
        let laptop = read("laptop-hybrid");
        let llc = |cpu| laptop.cpu(cpu).unwrap().llc;
        assert_eq!((llc(0), llc(11), llc(12), llc(19)), (0, 0, 0, 0));
        assert_eq!((llc(20), llc(21)), (20, 20));
        assert!(laptop.cpus.iter().all(|c| c.llc_known));
        assert_eq!(laptop.cpu(12).unwrap().siblings, [12]);
    }

    #[test]
    fn a_board_without_caches_and_nodes_says_so() {
        let board = read("arm-board");
        assert_eq!(each(&board, |c| c.core), [0, 1, 2, 3]);
        assert!(board.cpus.iter().all(|c| c.package.is_none() && !c.llc_known));
        assert!(board.cpus.iter().all(|c| c.llc == 0 && c.node == 0));
    }

    #[test]
    fn an_offline_cpu_is_named_and_nothing_is_made_up_of_it() {
        let desktop = read("desktop-cpu5-offline");
        assert_eq!(desktop.online(), [0, 1, 2, 3, 4, 6, 7]);
        assert_eq!(desktop.offline, [5]);
        assert_eq!(desktop.cpu(1).unwrap().siblings, [1]);
        assert_eq!(desktop.cpu(5), None);
    }

    #[test]
    fn clusters_stand_in_for_caches_that_are_not_described() {
        let file = |cpu: u32, name| format!("{CPU_DIR}/cpu{cpu}/topology/{name}");
        let root = stored::machine("arm-board");
        for cpu in 0..4 {
            let (id, list) = if cpu < 2 { ("0", "0-1") } else { ("1", "2-3") };
            let files = [(file(cpu, "cluster_id"), id), (file(cpu, "cluster_cpus_list"), list)];
            stored::add(root.path(), files.iter().map(|(path, text)| (path.as_str(), *text)));
        }
        let board = Topology::read(root.path()).unwrap();
        assert_eq!(each(&board, |c| c.llc), [0, 0, 2, 2]);
        assert!(board.cpus.iter().all(|c| !c.llc_known));
    }

    #[test]
    fn directories_alone_are_enough() {
        let root = stored::unpack([
            ("sys/devices/system/cpu/cpu0/uevent", ""),
            ("sys/devices/system/cpu/cpu1/uevent", ""),
        ]);
        let topology = Topology::read(root.path()).unwrap();
        assert_eq!(topology.online(), [0, 1]);
        assert_eq!(each(&topology, |c| c.core), [0, 1]);
        assert!(!topology.is_known, "of their places nothing is said");
        assert_eq!(topology.relation(0, 1), None);
        assert_eq!(topology.relation(1, 1), Some(Relation::SameCpu));
        assert_eq!(topology.pair(Relation::SameLlc, &[0, 1]), None);
        assert_eq!(topology.pair(Relation::SameCpu, &[0, 1]), Some((1, 1)));
        let why = topology.why_not(Relation::SameLlc, &[0, 1]);
        assert!(why.contains("mount sysfs on /sys") && why.contains("-p 0,1"), "{why}");
        assert!(stored::names().iter().all(|name| read(name).is_known));
    }

    #[test]
    fn without_sysfs_the_cpus_are_those_that_may_be_used() {
        let bare = Topology::unknown(&[1, 4]);
        assert_eq!((bare.online(), bare.is_known), (vec![1, 4], false));
        assert_eq!(bare.pair(Relation::SameCpu, &[1, 4]), Some((4, 4)));
        assert_eq!(Topology::here().unwrap(), Topology::read(Path::new("/")).unwrap());
    }

    #[test]
    fn no_sysfs_is_an_error_with_the_remedy() {
        let error = Topology::read(tempfile::tempdir().unwrap().path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().ends_with("mount sysfs on /sys"), "{error}");
    }

    #[test]
    fn survives_json() {
        for name in stored::names() {
            let topology = read(&name);
            let json = serde_json::to_string(&topology).unwrap();
            assert_eq!(serde_json::from_str::<Topology>(&json).unwrap(), topology);
        }
    }

    #[test]
    fn reads_this_machine() {
        let here = Topology::read(Path::new("/")).unwrap();
        assert!(!here.cpus.is_empty());
        assert!(here.cpus.iter().all(|c| c.siblings.contains(&c.id) && c.core <= c.id));
    }
}
