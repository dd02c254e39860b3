//! Who meets whom, and when. A round is a whole tournament: every pair of nodes once, in turns in
//! which no node takes part twice (the circle method: N − 1 turns for even N, N for odd, one node
//! resting in each). Seats, turns and the pairs within a turn are drawn anew for every round, from
//! the seed alone, so that a round that was cut short goes on as it began.

use rand::seq::SliceRandom;

use run::campaign::driver::rng;

/// Two nodes by their numbers, the smaller one first.
pub type Pair = (usize, usize);

/// The turns of one tournament of `nodes`, unshuffled.
pub fn turns(nodes: usize) -> Vec<Vec<Pair>> {
    // With an odd number an empty seat joins the circle, and the node that would meet it rests.
    let seats = nodes + nodes % 2;
    if nodes < 2 {
        return Vec::new();
    }
    let around = seats - 1;
    let turn = |nth: usize| {
        // The last seat stays; the others sit in a circle and face each other across it.
        let faced =
            (1..seats / 2).map(|step| ((nth + step) % around, (nth + around - step) % around));
        let all = std::iter::once((nth, around)).chain(faced);
        all.filter(|(a, b)| *a < nodes && *b < nodes).map(ordered).collect()
    };
    (0..around).map(turn).collect()
}

/// The turns of round `round`, from the seed alone: seats, turns and pairs in random order.
pub fn round(nodes: usize, seed: u64, round: u64) -> Vec<Vec<Pair>> {
    let mut rng = rng(seed, round);
    let mut seated: Vec<usize> = (0..nodes).collect();
    seated.shuffle(&mut rng);
    let mut turns = turns(nodes);
    for turn in &mut turns {
        for pair in &mut *turn {
            *pair = ordered((seated[pair.0], seated[pair.1]));
        }
        turn.shuffle(&mut rng);
    }
    turns.shuffle(&mut rng);
    turns
}

fn ordered((a, b): Pair) -> Pair {
    (a.min(b), a.max(b))
}

/// Where the pair stands among all pairs of `nodes`, counted row by row.
pub fn index(nodes: usize, (a, b): Pair) -> usize {
    a * (2 * nodes - a - 1) / 2 + b - a - 1
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn holds(nodes: usize, turns: &[Vec<Pair>]) {
        let wanted = match nodes {
            0 | 1 => 0,
            even if even % 2 == 0 => even - 1,
            odd => odd,
        };
        assert_eq!(turns.len(), wanted, "turns of {nodes}");
        let mut met = BTreeSet::new();
        for turn in turns {
            let mut busy = BTreeSet::new();
            assert_eq!(turn.len(), nodes / 2);
            for (a, b) in turn {
                assert!(a < b && *b < nodes);
                assert!(busy.insert(*a) && busy.insert(*b), "a node twice in a turn of {nodes}");
                assert!(met.insert((*a, *b)), "{a} and {b} of {nodes} meet twice");
            }
        }
        assert_eq!(met.len(), pairs(nodes));
    }

    fn pairs(nodes: usize) -> usize {
        nodes * nodes.saturating_sub(1) / 2
    }

    #[test]
    fn everybody_meets_everybody_once_and_nobody_is_in_two_places() {
        for nodes in 0..=65 {
            holds(nodes, &turns(nodes));
            for seed in 0..3 {
                holds(nodes, &round(nodes, seed, seed + 1));
            }
        }
    }

    #[test]
    fn a_round_follows_from_the_seed_and_no_two_are_alike() {
        assert_eq!(round(9, 4, 2), round(9, 4, 2));
        assert_ne!(round(9, 4, 2), round(9, 4, 3));
        assert_ne!(round(9, 4, 2), round(9, 5, 2));
    }

    #[test]
    fn pairs_are_counted_without_a_gap() {
        for nodes in 2..20 {
            let all = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
            let counted: Vec<usize> = all.map(|pair| index(nodes, pair)).collect();
            assert_eq!(counted, (0..pairs(nodes)).collect::<Vec<_>>());
        }
    }
}
