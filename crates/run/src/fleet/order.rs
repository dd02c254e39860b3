//! What is measured at one time, and in which order: all of it from the seed alone.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::tournament::{self, Pair, index};
use crate::campaign::driver::{RoundOf, Sets, Turn};
use model::peer::FarHost;
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
    let mut levels: BTreeMap<Option<Concurrent>, Vec<usize>> = BTreeMap::new();
    for group in round.of {
        let first = round.groups[*group].cases.first();
        let level = first.and_then(|it| it.ends).and_then(|it| it.concurrent);
        levels.entry(level).or_default().push(*group);
    }
    let turns = tournament::round(nodes, seed, nth);
    let mut items: Vec<Item> = Vec::new();
    for level in levels.keys() {
        match level {
            None => items.extend(waves.iter().cloned().map(Item::Alone)),
            Some(level @ Concurrent::All) => {
                items.extend(turns.iter().map(|it| Item::Pairs(*level, it.clone())));
            }
            Some(level @ Concurrent::One) => {
                let pairs = turns.iter().flatten();
                items.extend(pairs.map(|pair| Item::Pairs(*level, vec![*pair])));
            }
        }
    }
    items.shuffle(&mut tournament::of_round(seed, 1 << 62 | nth));
    Box::new(items.into_iter().enumerate().flat_map(move |(position, item)| {
        let mut rng = tournament::of_round(seed, 1 << 61 | nth << 32 | position as u64);
        let mut groups = levels[&item.level()].clone();
        groups.shuffle(&mut rng);
        let cases = item.cases(nodes, seed, nth);
        let mut set = |groups: &[usize]| -> Vec<Turn> {
            let slots = || groups.iter().enumerate();
            let each = cases.iter().flat_map(|it| slots().map(move |slot| (it, slot)));
            let turn = |((case, swapped), (slot, group)): (&(usize, bool), (usize, &usize))| Turn {
                group: *group,
                case: *case,
                position,
                swapped: *swapped,
                padding: 16 * rng.random_range(0..256),
                offset: 64 * rng.random_range(0..64),
                slot,
            };
            each.map(turn).collect()
        };
        groups.chunks(SET).map(&mut set).collect::<Vec<_>>()
    }))
}

/// Which node of a pair is the initiator: one each way in a block of two rounds.
fn swapped(seed: u64, pair: usize, round: u64) -> bool {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(1 << 63 | round.div_ceil(2) << 24 | pair as u64);
    rng.random::<bool>() ^ round.is_multiple_of(2)
}
