//! What is measured at one time, and in which order: all of it from the seed alone.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;

use super::tournament::{self, Pair, index};
use model::alignment::Alignment;
use model::peer::FarHost;
use run::campaign::driver::{RoundOf, Sets, Turn, rng, swapped};
use store::Concurrent;

/// Launches of one node that are set up together.
const SET: usize = 12;

/// Something that is measured at one time.
enum Item {
    /// One launch of each local case on each of these nodes.
    Alone(Vec<usize>),
    /// One launch of each case between each of these pairs.
    Pairs(Concurrent, Vec<Pair>),
}

impl Item {
    /// Its cases by their place in a group of `nodes`; the second node of a pair may be the initiator.
    fn cases(&self, nodes: usize, seed: u64, round: u64) -> Vec<(usize, bool)> {
        match self {
            Item::Alone(wave) => wave.iter().map(|node| (*node, false)).collect(),
            Item::Pairs(_, pairs) => {
                let places = pairs.iter().map(|pair| index(nodes, *pair));
                places.map(|nth| (nth, swapped(seed, nth, round))).collect()
            }
        }
    }

    fn level(&self) -> Option<Concurrent> {
        match self {
            Item::Alone(_) => None,
            Item::Pairs(level, _) => Some(*level),
        }
    }
}

/// Nodes that don't disturb each other: of those under one kernel one at a time. Those that don't take part
/// have no host.
pub(super) fn waves<'a>(hosts: impl Iterator<Item = Option<&'a FarHost>>) -> Vec<Vec<usize>> {
    let mut kernels: BTreeMap<&str, usize> = BTreeMap::new();
    let mut waves: Vec<Vec<usize>> = Vec::new();
    for (nth, far) in hosts.enumerate() {
        let Some(far) = far else { continue };
        let before = kernels.entry(far.host.boot_id.as_deref().unwrap_or_default()).or_insert(0);
        if waves.len() <= *before {
            waves.push(Vec::new());
        }
        waves[*before].push(nth);
        *before += 1;
    }
    waves
}

/// A round between `nodes`: a whole tournament of every level, and every node by itself, in a random order.
pub(super) fn sets(nodes: usize, waves: Vec<Vec<usize>>, round: &RoundOf) -> Sets {
    let (seed, nth) = (round.request.seed, round.nth);
    let align = Alignment::default();
    let mut levels: BTreeMap<Option<Concurrent>, Vec<usize>> = BTreeMap::new();
    for group in round.of {
        let first = round.groups[*group].cases.first();
        let level = first.and_then(|case| case.ends).and_then(|ends| ends.concurrent);
        levels.entry(level).or_default().push(*group);
    }
    let turns = tournament::round(nodes, seed, nth);
    let mut items: Vec<Item> = Vec::new();
    for level in levels.keys() {
        match level {
            None => items.extend(waves.iter().cloned().map(Item::Alone)),
            Some(level @ Concurrent::All) => {
                items.extend(turns.iter().map(|turn| Item::Pairs(*level, turn.clone())));
            }
            Some(level @ Concurrent::One) => {
                let pairs = turns.iter().flatten();
                items.extend(pairs.map(|pair| Item::Pairs(*level, vec![*pair])));
            }
        }
    }
    items.shuffle(&mut rng(seed, 1 << 62 | nth));
    Box::new(items.into_iter().enumerate().flat_map(move |(position, item)| {
        let mut rng = rng(seed, 1 << 61 | nth << 32 | position as u64);
        let mut groups = levels[&item.level()].clone();
        groups.shuffle(&mut rng);
        let cases = item.cases(nodes, seed, nth);
        let mut set = |groups: &[usize]| -> Vec<Turn> {
            let slots = || groups.iter().enumerate();
            let each = cases.iter().flat_map(|case| slots().map(move |slot| (case, slot)));
            let turn = |((case, swapped), (slot, group)): (&(usize, bool), (usize, &usize))| {
                let (group, case, swapped) = (*group, *case, *swapped);
                Turn { group, case, position, swapped, slot, ..Turn::default() }
                    .shifted(align, &mut rng)
            };
            each.map(turn).collect()
        };
        groups.chunks(SET).map(&mut set).collect::<Vec<_>>()
    }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::rc::Rc;

    use super::*;
    use crate::plan::plan;
    use model::placement::Placement;
    use model::workload::Workload;
    use run::campaign::{LiveCase, LiveGroup};
    use store::{Ends, FleetRequest};

    fn request(nodes: usize) -> FleetRequest {
        FleetRequest {
            nodes: (0..nodes).map(|nth| format!("n{nth}")).collect(),
            launcher: Vec::new(),
            program: String::new(),
            local: vec!["pipe".into()],
            between: vec!["tcp".into(), "udp".into()],
            workloads: vec![(Workload::Latency, vec![64])],
            placements: vec![Placement::SameCpu],
            rounds: 2,
            concurrent: vec![Concurrent::One, Concurrent::All],
            samples: None,
            settle_ns: 0,
            network: None,
            floors: false,
            simulated: true,
            seed: 7,
        }
    }

    fn groups(request: &FleetRequest) -> Vec<LiveGroup> {
        let nodes = request.nodes.len();
        let plans = plan(request).unwrap().into_iter().enumerate();
        let group = |(nth, plan): (usize, crate::plan::GroupPlan)| {
            let (case, concurrent) = (Rc::new(plan.case), plan.concurrent);
            let ends: Vec<(usize, Option<usize>)> = match concurrent {
                None => (0..nodes).map(|number| (number, None)).collect(),
                Some(_) => {
                    (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, Some(b)))).collect()
                }
            };
            let live = |(near, far)| {
                let ends = Some(Ends { near, far, concurrent });
                LiveCase::new(0, Rc::clone(&case), ends, (None, None, None))
            };
            LiveGroup::new(nth, ends.into_iter().map(live).collect(), false)
        };
        plans.map(group).collect()
    }

    #[test]
    fn a_round_has_every_case_once_and_no_node_twice_at_a_time() {
        for nodes in [2, 5, 8] {
            let asked = request(nodes);
            let (groups, request) = (groups(&asked), asked.request());
            let of: Vec<usize> = (0..groups.len()).collect();
            for nth in 0..3 {
                let round = RoundOf { groups: &groups, of: &of, nth, request: &request };
                let waves = vec![(0..nodes).collect()];
                let mut made = BTreeSet::new();
                for set in sets(nodes, waves, &round) {
                    let mut busy = BTreeSet::new();
                    for turn in set {
                        assert!(made.insert((turn.group, turn.case)), "twice in a round");
                        let (near, far) = turn.nodes(&groups[turn.group].cases[turn.case]);
                        for node in [Some(near), far].into_iter().flatten() {
                            assert!(busy.insert((turn.slot, node)), "{node} twice at a time");
                        }
                    }
                }
                assert_eq!(made.len(), groups.iter().map(|group| group.cases.len()).sum::<usize>());
            }
        }
    }
}
