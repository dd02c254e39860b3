//! How two CPUs stand to each other, and which pair stands for a placement.
//! The pair is always the same on the same machine with the same allowed CPUs; it avoids CPU 0
//! and its core where it can, because device interrupts tend to go there.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use model::placement::Relation;

use super::cpu_list::format_cpu_list;
use super::topology::{Cpu, Topology};

fn relation_of(a: &Cpu, b: &Cpu) -> Relation {
    #[cfg(test)]
    tests::COMPARED.set(tests::COMPARED.get() + 1);
    if a.id == b.id {
        Relation::SameCpu
    } else if a.core == b.core {
        Relation::SmtSibling
    } else if a.node != b.node {
        Relation::CrossNode
    } else if a.llc == b.llc {
        Relation::SameLlc
    } else {
        Relation::CrossLlc
    }
}

impl Topology {
    /// How two online CPUs stand to each other; `None` if one of them is not online, or nobody knows. Where
    /// [`Cpu::llc_known`] is false, same-llc and cross-llc rest on the stand-in described there.
    pub fn relation(&self, a: u32, b: u32) -> Option<Relation> {
        let relation = relation_of(self.cpu(a)?, self.cpu(b)?);
        (self.is_known || a == b).then_some(relation)
    }

    /// A pair for a relation, among the CPUs that are both allowed and online; smaller CPU first. All of a machine's
    /// pairs are of one kind of core, that of `Topology::of_one_kind`: what differs between them is where they are.
    ///
    /// Of several, the pair that keeps furthest from CPU 0 (neither it nor its core, then its
    /// sibling, then itself), then the lowest numbers. `SameCpu` gives the highest-numbered CPU
    /// twice. [`Topology::why_not`] says why there is none.
    pub fn pair(&self, relation: Relation, allowed: &[u32]) -> Option<(u32, u32)> {
        let usable = self.of_one_kind(allowed);
        if relation == Relation::SameCpu {
            return usable.last().map(|cpu| (cpu.id, cpu.id));
        }
        if !self.is_known {
            return None;
        }
        (0..=2).find_map(|most| {
            let away = usable.iter().copied().filter(|cpu| nearness(cpu) <= most);
            first_pair(relation, &away.collect::<Vec<_>>())
        })
    }

    /// `first`, and of the `allowed` CPUs others that stand to `server` as it does, each on a core of its own: at most
    /// `most` in all. `first` alone where it is `server`.
    pub fn alike(&self, first: u32, server: u32, most: usize, allowed: &[u32]) -> Vec<u32> {
        let mut found = vec![first];
        let Some(relation) = self.relation(first, server) else { return found };
        let mut cores: BTreeSet<u32> = self.cpu(first).map(|cpu| cpu.core).into_iter().collect();
        let kind = self.cpu(first).map(|cpu| cpu.kind);
        for cpu in self.usable(allowed) {
            if found.len() < most
                && Some(cpu.kind) == kind
                && self.relation(cpu.id, server) == Some(relation)
                && cores.insert(cpu.core)
            {
                found.push(cpu.id);
            }
        }
        found
    }

    /// Why [`Topology::pair`] has no pair, in words, with the remedy where there is one.
    pub fn why_not(&self, relation: Relation, allowed: &[u32]) -> String {
        let usable = self.usable(allowed);
        let mut reason = match usable.as_slice() {
            [] => format!("none of the allowed CPUs ({}) is online", format_cpu_list(allowed)),
            [_] if self.cpus.len() == 1 => "only one CPU is online".to_owned(),
            [_] => "only one CPU is allowed (affinity mask)".to_owned(),
            [a, b, ..] if !self.is_known => {
                return format!(
                    "which CPUs share a core or a cache isn't known here: name two, as in -p {},{}, or mount sysfs \
                     on /sys",
                    a.id, b.id
                );
            }
            _ => match self.of_one_kind(allowed).as_slice() {
                alike if alike.len() == usable.len() => self.why_not_among(relation, alike),
                _ => match first_pair(relation, &usable) {
                    Some((a, b)) => {
                        return format!(
                            "only CPUs of different kinds of core stand so to each other: name them, as in -p {a},{b}"
                        );
                    }
                    None => self.why_not_among(relation, &usable),
                },
            },
        };
        if let Some((a, b)) = self.pair(relation, &self.online()) {
            let pair = format_cpu_list(&[a, b]);
            reason.push_str(&format!("; allow CPUs {pair} (taskset -c {pair})"));
        }
        reason
    }

    fn why_not_among(&self, relation: Relation, usable: &[&Cpu]) -> String {
        let one = |key: fn(&Cpu) -> u32| usable.iter().all(|cpu| key(cpu) == key(usable[0]));
        let assumed = usable.iter().any(|cpu| !cpu.llc_known);
        let text = match relation {
            Relation::SameCpu => "no allowed CPU is online",
            Relation::SmtSibling if self.cpus.iter().all(|cpu| cpu.siblings.len() == 1) => {
                "no core here runs two threads (SMT off or absent)"
            }
            Relation::SmtSibling => "no two allowed CPUs are threads of one core",
            Relation::SameLlc if one(|cpu| cpu.core) => "all allowed CPUs are threads of one core",
            Relation::SameLlc => "no two allowed cores share a last-level cache",
            Relation::CrossLlc if one(|cpu| cpu.llc) && assumed => {
                "the kernel describes no caches here, and all allowed CPUs are of one package"
            }
            Relation::CrossLlc if one(|cpu| cpu.llc) => {
                "all allowed CPUs share one last-level cache"
            }
            Relation::CrossLlc => "the allowed CPUs of each memory node share one last-level cache",
            Relation::CrossNode if self.cpus.iter().all(|cpu| cpu.node == self.cpus[0].node) => {
                "one memory node"
            }
            Relation::CrossNode => "all allowed CPUs are on one memory node",
        };
        text.to_owned()
    }

    /// Of the allowed CPUs those of one kind of core: the fastest of which there are two cores, or the fastest.
    fn of_one_kind(&self, allowed: &[u32]) -> Vec<&Cpu> {
        let usable = self.usable(allowed);
        let mut cores: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for cpu in &usable {
            cores.entry(cpu.kind).or_default().insert(cpu.core);
        }
        let two = cores.iter().find(|(_, cores)| cores.len() > 1);
        let kind = two.or(cores.first_key_value()).map(|(kind, _)| *kind);
        usable.into_iter().filter(|cpu| Some(cpu.kind) == kind).collect()
    }

    fn usable(&self, allowed: &[u32]) -> Vec<&Cpu> {
        let allowed: BTreeSet<u32> = allowed.iter().copied().collect();
        self.cpus.iter().filter(|cpu| allowed.contains(&cpu.id)).collect()
    }
}

/// The first of `cpus` to which another stands so, and the first of those: they come after it. Whether there
/// is one is counted, not searched: a list may name 65,536 CPUs.
fn first_pair(relation: Relation, cpus: &[&Cpu]) -> Option<(u32, u32)> {
    let mut shared = Shared::default();
    cpus.iter().for_each(|cpu| shared.add(cpu));
    let at = cpus.iter().position(|cpu| shared.others(relation, cpu) > 0)?;
    let (a, after) = cpus[at..].split_first()?;
    let b = after.iter().find(|b| relation_of(a, b) == relation)?;
    Some((a.id, b.id))
}

/// How many CPUs have this core, node and cache; where one of these is None, any.
#[derive(Default)]
struct Shared(HashMap<[Option<u32>; 3], usize>);

impl Shared {
    fn add(&mut self, cpu: &Cpu) {
        for core in [None, Some(cpu.core)] {
            for (node, llc) in
                [(None, None), (Some(cpu.node), None), (Some(cpu.node), Some(cpu.llc))]
            {
                *self.0.entry([core, node, llc]).or_default() += 1;
            }
        }
    }

    /// How many others stand so to `cpu`.
    fn others(&self, relation: Relation, cpu: &Cpu) -> usize {
        let count = |core, node, llc| self.0.get(&[core, node, llc]).copied().unwrap_or(0);
        // On another core, and on this node, or on it and at this cache.
        let elsewhere = |node, llc| count(None, node, llc) - count(Some(cpu.core), node, llc);
        let (node, llc) = (Some(cpu.node), Some(cpu.llc));
        match relation {
            Relation::SameCpu => 0,
            Relation::SmtSibling => count(Some(cpu.core), None, None) - 1,
            Relation::SameLlc => elsewhere(node, llc),
            Relation::CrossLlc => elsewhere(node, None) - elsewhere(node, llc),
            Relation::CrossNode => elsewhere(None, None) - elsewhere(node, None),
        }
    }
}

/// 0 away from CPU 0, 1 on its core, 2 for itself.
fn nearness(cpu: &Cpu) -> u32 {
    match cpu {
        Cpu { id: 0, .. } => 2,
        Cpu { core: 0, .. } => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::Relation::*;
    use super::*;
    use crate::stored;

    thread_local! {
        /// Pairs that were looked at.
        pub static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    #[test]
    fn those_alike_stand_to_the_server_as_the_first_does_each_on_a_core_of_its_own() {
        // Four cores of two threads each: 0 and 4 are one.
        let desktop = read("desktop-smt");
        let all = desktop.online();
        assert_eq!(desktop.alike(1, 0, 9, &all), [1, 2, 3]);
        assert_eq!(desktop.alike(5, 0, 9, &all), [5, 2, 3], "1 is a thread of the core of 5");
        assert_eq!(desktop.alike(1, 0, 2, &all), [1, 2]);
        assert_eq!(desktop.alike(1, 0, 9, &[0, 1, 3]), [1, 3]);
        assert_eq!(desktop.alike(4, 0, 9, &all), [4], "its core has no third thread");
        assert_eq!(desktop.alike(0, 0, 9, &all), [0]);
        assert_eq!(desktop.alike(99, 0, 9, &all), [99]);
    }

    #[test]
    fn a_pair_that_there_is_not_takes_no_look_at_every_pair() {
        let alone = |id| Cpu {
            id,
            package: None,
            core: id,
            node: 0,
            llc: 0,
            llc_known: false,
            siblings: vec![id],
            kind: 0,
        };
        let cpus = (0..2_000).map(alone).collect();
        let topology = Topology { cpus, offline: Vec::new(), is_known: true };
        let online = topology.online();
        for (relation, expected) in
            [(SmtSibling, None), (SameLlc, Some((1, 2))), (CrossLlc, None), (CrossNode, None)]
        {
            COMPARED.set(0);
            assert_eq!(topology.pair(relation, &online), expected);
            assert!(COMPARED.get() <= online.len(), "{relation}: {}", COMPARED.get());
        }
    }

    fn read(name: &str) -> Topology {
        Topology::read(stored::machine(name).path()).unwrap()
    }

    /// Every relation's pair when all online CPUs are allowed.
    fn pairs(name: &str) -> [Option<(u32, u32)>; 5] {
        let topology = read(name);
        Relation::ALL.map(|relation| topology.pair(relation, &topology.online()))
    }

    #[test]
    fn names_are_what_serde_writes() {
        for relation in Relation::ALL {
            let json = serde_json::to_string(&relation).unwrap();
            assert_eq!(json, format!("{:?}", relation.name()));
        }
        assert_eq!(format!("{:>9}", SameCpu), " same-cpu");
    }

    #[test]
    fn pairs_keep_away_from_cpu_0_and_its_core() {
        let some = |a, b| Some((a, b));
        assert_eq!(pairs("guest-2cpu"), [some(1, 1), None, some(0, 1), None, None]);
        assert_eq!(pairs("desktop-smt"), [some(7, 7), some(1, 5), some(1, 2), None, None]);
        assert_eq!(
            pairs("xeon-2-socket"),
            [some(15, 15), some(1, 9), some(1, 3), None, some(1, 2)]
        );
        assert_eq!(pairs("epyc-ccx"), [some(15, 15), some(1, 9), some(2, 3), some(1, 2), None]);
        assert_eq!(pairs("laptop-hybrid"), [some(11, 11), some(2, 3), some(2, 4), None, None]);
        assert_eq!(pairs("arm-board"), [some(3, 3), None, some(1, 2), None, None]);
        assert_eq!(pairs("desktop-cpu5-offline"), [some(7, 7), some(2, 6), some(1, 2), None, None]);
    }

    #[test]
    fn one_cpu_and_two_are_of_one_kind_of_core() {
        let capacity = |cpu| format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity");
        let board = stored::machine("arm-board");
        // Two fast cores, and two slow ones with the highest numbers.
        for (cpu, speed) in [(0, "1024"), (1, "1024"), (2, "446"), (3, "446")] {
            stored::add(board.path(), [(&*capacity(cpu), speed)]);
        }
        let board = Topology::read(board.path()).unwrap();
        assert_eq!(board.pair(SameCpu, &board.online()), Some((1, 1)));
        assert_eq!(board.pair(SameLlc, &board.online()), Some((0, 1)));
        assert_eq!(board.pair(SameLlc, &[1, 2, 3]), Some((2, 3)), "of the fast ones there is one");
        assert_eq!(board.pair(SameCpu, &[1, 2, 3]), Some((3, 3)));
        assert_eq!(board.pair(SameCpu, &[1, 2]), Some((1, 1)));
        assert_eq!(board.pair(SameLlc, &[1, 2]), None);
        assert_eq!(board.alike(1, 0, 9, &board.online()), [1], "a slow generator would be late");
    }

    #[test]
    fn the_sibling_of_cpu_0_is_taken_before_cpu_0() {
        let desktop = read("desktop-smt");
        assert_eq!(desktop.pair(SameLlc, &[0, 1, 4]), Some((1, 4)));
        assert_eq!(desktop.pair(SmtSibling, &[0, 4]), Some((0, 4)));
    }

    /// The lowest pair of all, found without the order `pair` relies on.
    fn by_exhaustion(
        topology: &Topology,
        relation: Relation,
        allowed: &[u32],
    ) -> Option<(u32, u32)> {
        let key = |&(a, b): &(u32, u32)| {
            let near = [a, b].map(|id| match topology.cpu(id).unwrap().core {
                0 => 1 + u32::from(id == 0),
                _ => 0,
            });
            (near[0].max(near[1]), a, b)
        };
        let all = allowed.iter().flat_map(|&a| allowed.iter().map(move |&b| (a, b)));
        let alike: Vec<u32> = topology.of_one_kind(allowed).iter().map(|cpu| cpu.id).collect();
        all.filter(|(a, b)| alike.contains(a) && alike.contains(b))
            .filter(|&(a, b)| a < b && topology.relation(a, b) == Some(relation))
            .min_by_key(key)
    }

    #[test]
    fn a_pair_has_its_relation_and_none_is_missed() {
        for name in stored::names() {
            let topology = read(&name);
            for mask in (1_u32..2048).step_by(7) {
                let allowed: Vec<u32> = (0..22).filter(|cpu| mask >> (cpu % 11) & 1 == 1).collect();
                let online: Vec<u32> =
                    allowed.iter().copied().filter(|&c| topology.cpu(c).is_some()).collect();
                for relation in [SmtSibling, SameLlc, CrossLlc, CrossNode] {
                    let pair = topology.pair(relation, &allowed);
                    let expected = by_exhaustion(&topology, relation, &online);
                    assert_eq!(pair, expected, "{name} {relation} among {allowed:?}");
                    if pair.is_none() {
                        assert!(!topology.why_not(relation, &allowed).is_empty());
                    }
                }
            }
        }
    }

    #[test]
    fn relation_is_symmetric_and_silent_about_offline_cpus() {
        let desktop = read("desktop-cpu5-offline");
        assert_eq!(desktop.relation(1, 5), None);
        assert_eq!(desktop.relation(0, 99), None);
        let laptop = read("laptop-hybrid");
        for (a, b, relation) in
            [(0, 0, SameCpu), (0, 1, SmtSibling), (0, 12, SameLlc), (12, 20, CrossLlc)]
        {
            assert_eq!(laptop.relation(a, b), Some(relation));
            assert_eq!(laptop.relation(b, a), Some(relation));
        }
    }

    #[test]
    fn says_why_there_is_no_pair() {
        let (guest, desktop, xeon) =
            (read("guest-2cpu"), read("desktop-smt"), read("xeon-2-socket"));
        let why = |topology: &Topology, relation, allowed: &[u32]| {
            assert_eq!(topology.pair(relation, allowed), None);
            topology.why_not(relation, allowed)
        };
        assert_eq!(
            why(&guest, SmtSibling, &[0, 1]),
            "no core here runs two threads (SMT off or absent)"
        );
        assert_eq!(why(&guest, CrossLlc, &[0, 1]), "all allowed CPUs share one last-level cache");
        assert_eq!(why(&guest, CrossNode, &[0, 1]), "one memory node");
        assert_eq!(
            why(&desktop, SameLlc, &[3]),
            "only one CPU is allowed (affinity mask); allow CPUs 1-2 (taskset -c 1-2)"
        );
        assert_eq!(
            why(&desktop, SameLlc, &[3, 7]),
            "all allowed CPUs are threads of one core; allow CPUs 1-2 (taskset -c 1-2)"
        );
        assert_eq!(
            why(&desktop, SmtSibling, &[0, 1]),
            "no two allowed CPUs are threads of one core; allow CPUs 1,5 (taskset -c 1,5)"
        );
        assert_eq!(
            why(&xeon, CrossNode, &[0, 2, 4]),
            "all allowed CPUs are on one memory node; allow CPUs 1-2 (taskset -c 1-2)"
        );
        assert_eq!(
            why(&xeon, CrossLlc, &xeon.online()),
            "the allowed CPUs of each memory node share one last-level cache"
        );
        assert!(why(&read("arm-board"), CrossLlc, &[0, 1]).starts_with("the kernel describes no"));
        let laptop = read("laptop-hybrid");
        assert_eq!(
            why(&laptop, CrossLlc, &laptop.online()),
            "only CPUs of different kinds of core stand so to each other: name them, as in -p 0,20"
        );
        assert_eq!(
            why(&guest, SameCpu, &[7]),
            "none of the allowed CPUs (7) is online; allow CPUs 1 (taskset -c 1)"
        );
    }
}
