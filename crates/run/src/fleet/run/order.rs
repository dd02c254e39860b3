//! What is measured at one time, and in which order: all of it from the seed alone.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::Fleet;
use crate::fleet::tournament::{self, Pair};
use store::Concurrent;

/// Something that is measured at one time.
pub enum Item {
    /// One launch of each local case on each of these nodes.
    Alone(Vec<usize>),
    /// One launch of each case between each of these pairs.
    Pairs(Concurrent, Vec<Pair>),
}

impl Fleet<'_> {
    /// Nodes that don't disturb each other: of those under one kernel one at a time.
    pub(super) fn waves(&self) -> Vec<Vec<usize>> {
        let mut kernels: BTreeMap<String, usize> = BTreeMap::new();
        let mut waves: Vec<Vec<usize>> = Vec::new();
        for nth in (0..self.asked.nodes.len()).filter(|it| self.agents.is_here(*it)) {
            let boot = self.agents.far[nth].as_ref().and_then(|it| it.host.boot_id.clone());
            let before = kernels.entry(boot.unwrap_or_default()).or_insert(0);
            if waves.len() <= *before {
                waves.push(Vec::new());
            }
            waves[*before].push(nth);
            *before += 1;
        }
        waves
    }

    /// Everything of a round, in its random order.
    pub(super) fn items(&self, round: u64) -> Vec<Item> {
        let mut items: Vec<Item> = Vec::new();
        if self.kinds.iter().any(|it| it.concurrent.is_none()) {
            items.extend(self.waves().into_iter().map(Item::Alone));
        }
        let turns = tournament::round(self.asked.nodes.len(), self.asked.seed, round);
        for level in &self.asked.concurrent {
            if !self.kinds.iter().any(|it| it.concurrent == Some(*level)) {
                continue;
            }
            match level {
                Concurrent::All => {
                    items.extend(turns.iter().map(|it| Item::Pairs(*level, it.clone())))
                }
                Concurrent::One => {
                    let pairs = turns.iter().flatten();
                    items.extend(pairs.map(|pair| Item::Pairs(*level, vec![*pair])));
                }
            }
        }
        let mut rng = tournament::of_round(self.asked.seed, 1 << 62 | round);
        items.shuffle(&mut rng);
        items
    }

    /// Which node of a pair is the initiator: one each way in a block of two rounds.
    pub(super) fn swapped(&self, pair: usize, round: u64) -> bool {
        let mut rng = ChaCha8Rng::seed_from_u64(self.asked.seed);
        rng.set_stream(1 << 63 | round.div_ceil(2) << 24 | pair as u64);
        rng.random::<bool>() ^ round.is_multiple_of(2)
    }
}
