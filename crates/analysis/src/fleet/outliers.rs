//! Each against the rest: nodes by their effect on every pair that they are in, pairs by what their two
//! nodes don't explain. Logarithms in, ratios out, because what slows a way multiplies its times.
//!
//! With six rounds and more a launch of every pair in a round gives one effect of a node, and the
//! rounds are the units. With fewer the pairs are: a node's N − 1 pairs against the
//! median node. Both are judged by the median of the units and its order statistics. Each table is a family of its own, corrected by Holm.

use crate::ALPHA;
use crate::EQUIVALENT_WITHIN;
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Comparison, Interval, Verdict};

/// Fewest units with which 95 % can be reached.
const LEAST: usize = 6;

/// A node or a pair against the rest.
#[derive(Clone, Debug)]
pub struct Deviation {
    /// The node, or the pair as the number of its cell.
    pub nth: usize,
    /// How many times as long it takes; an interval of no length where none can be had.
    pub ratio: Interval,
    /// p before and after the correction; None where there are too few units to test.
    pub p: Option<(f64, f64)>,
    /// What was counted.
    pub units: Units,
    /// What that says.
    pub verdict: DeviationVerdict,
}

/// What a test is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// So many rounds.
    Rounds(usize),
    /// So many pairs.
    Pairs(usize),
}

/// What a test says.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviationVerdict {
    /// It takes longer.
    Slower,
    /// It takes less.
    Faster,
    /// It is within the margin.
    Alike,
    /// Neither could be shown.
    Open,
}

/// Every node against the rest.
pub fn nodes(
    nodes: usize,
    of_pairs: bool,
    by_round: &[Vec<Option<f64>>],
    overall: &[Option<f64>],
) -> Vec<Deviation> {
    if nodes < 3 {
        return Vec::new();
    }
    if by_round.len() >= LEAST {
        let rounds: Vec<Vec<Option<f64>>> =
            by_round.iter().map(|values| centred(&levels(nodes, of_pairs, values))).collect();
        return over_rounds(nodes, &rounds);
    }
    if !of_pairs || nodes - 1 < LEAST {
        let effects = centred(&levels(nodes, of_pairs, overall));
        return untested(effects, Units::Rounds(by_round.len()));
    }
    let levels = levels(nodes, true, overall);
    let Some(middle) = stats::median_of(levels.iter().copied().flatten()) else {
        return Vec::new();
    };
    let each = (0..nodes).filter_map(|node| {
        let of_node: Vec<f64> = (0..nodes)
            .filter_map(|other| overall[cell(nodes, node, other)?])
            .map(|value| value - middle)
            .collect();
        tested(node, of_node, Units::Pairs)
    });
    decided(each.collect())
}

/// Every pair beyond its nodes; of three nodes, which explain all pairs, against the fastest one.
pub fn pairs(
    nodes: usize,
    by_round: &[Vec<Option<f64>>],
    overall: &[Option<f64>],
) -> Vec<Deviation> {
    let fastest = || {
        let known = overall.iter().enumerate().filter_map(|(nth, value)| Some((nth, (*value)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|pair| pair.0)
    };
    let left = |values: &[Option<f64>]| -> Vec<Option<f64>> {
        match nodes {
            0..=2 => Vec::new(),
            3 => match fastest().and_then(|number| values[number]) {
                Some(best) => values.iter().map(|other| other.map(|value| value - best)).collect(),
                None => vec![None; values.len()],
            },
            _ => beyond(nodes, values),
        }
    };
    if nodes < 3 {
        return Vec::new();
    }
    if by_round.len() < LEAST {
        return untested(left(overall), Units::Rounds(by_round.len()));
    }
    let rounds: Vec<Vec<Option<f64>>> = by_round.iter().map(|values| left(values)).collect();
    let mut found = over_rounds(overall.len(), &rounds);
    if nodes == 3 {
        // What all are compared with is no finding.
        found.retain(|deviation| Some(deviation.nth) != fastest());
    }
    found
}

/// What each node adds to the pairs that it is in; of local cases, its value.
fn levels(nodes: usize, of_pairs: bool, values: &[Option<f64>]) -> Vec<Option<f64>> {
    if !of_pairs {
        return values.to_vec();
    }
    let row = |node: usize| -> Vec<f64> {
        (0..nodes).filter_map(|other| values[cell(nodes, node, other)?]).collect()
    };
    if nodes == 3 {
        // The least squares of three pairs and three nodes are exact: what a node adds is half of
        // its two pairs less the third.
        let all: Option<Vec<f64>> = values.iter().copied().collect();
        let Some(all) = all else { return vec![None; 3] };
        let sum: f64 = all.iter().sum();
        return (0..3).map(|node| Some(row(node).iter().sum::<f64>() - sum / 2.0)).collect();
    }
    // A median: one bad way doesn't make its node bad.
    (0..nodes).map(|node| stats::median_of(row(node))).collect()
}

fn centred(levels: &[Option<f64>]) -> Vec<Option<f64>> {
    let middle = stats::median_of(levels.iter().copied().flatten());
    levels.iter().map(|level| Some((*level)? - middle?)).collect()
}

/// What two nodes don't explain of their pair.
fn beyond(nodes: usize, values: &[Option<f64>]) -> Vec<Option<f64>> {
    let levels = levels(nodes, true, values);
    let middle = stats::median_of(levels.iter().copied().flatten());
    let ends = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
    ends.zip(values)
        .map(|((a, b), value)| Some((*value)? - levels[a]? - levels[b]? + middle?))
        .collect()
}

fn cell(nodes: usize, a: usize, b: usize) -> Option<usize> {
    let (a, b) = (a.min(b), a.max(b));
    (a != b).then(|| a * (2 * nodes - a - 1) / 2 + b - a - 1)
}

/// One test each, with rounds as units.
fn over_rounds(many: usize, rounds: &[Vec<Option<f64>>]) -> Vec<Deviation> {
    let each = (0..many).filter_map(|nth| {
        let values: Vec<f64> = rounds.iter().filter_map(|round| round[nth]).collect();
        if values.len() < LEAST {
            return None;
        }
        tested(nth, values, Units::Rounds)
    });
    decided(each.collect())
}

/// What is compared, the log ratios of its units, and what they come to.
type Tested = (usize, Vec<f64>, Comparison, Units);

fn tested(nth: usize, log_ratios: Vec<f64>, units: fn(usize) -> Units) -> Option<Tested> {
    let found = stats::compare(&log_ratios, ALPHA)?;
    Some((nth, log_ratios, found, units(found.pairs)))
}

fn decided(tested: Vec<Tested>) -> Vec<Deviation> {
    let adjusted = stats::holm(&tested.iter().map(|entry| entry.2.p).collect::<Vec<f64>>());
    let decide = |((nth, log_ratios, found, units), p_holm): (Tested, f64)| {
        let verdict = match stats::verdict(&log_ratios, p_holm, EQUIVALENT_WITHIN, ALPHA) {
            Verdict::Equivalent => DeviationVerdict::Alike,
            Verdict::Slower => DeviationVerdict::Slower,
            Verdict::Faster => DeviationVerdict::Faster,
            Verdict::Inconclusive { .. } => DeviationVerdict::Open,
        };
        Deviation { nth, ratio: found.ratio, p: Some((found.p, p_holm)), units, verdict }
    };
    tested.into_iter().zip(adjusted).map(decide).collect()
}

/// Effects with too few units for any test.
fn untested(effects: Vec<Option<f64>>, units: Units) -> Vec<Deviation> {
    let each = effects.into_iter().enumerate().filter_map(|(nth, effect)| {
        let estimate = effect?.exp();
        let ratio = Interval { estimate, low: estimate, high: estimate, coverage: 0.0 };
        Some(Deviation { nth, ratio, p: None, units, verdict: DeviationVerdict::Open })
    });
    each.collect()
}

impl Deviation {
    /// Whether it differs from the rest.
    pub fn differs(&self) -> bool {
        matches!(self.verdict, DeviationVerdict::Slower | DeviationVerdict::Faster)
    }

    /// How far from the rest it is, either way.
    pub fn distance(&self) -> f64 {
        self.ratio.estimate.ln().abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of every pair in every round: a slow node, a slow pair, and a little that varies.
    fn values(
        many: usize,
        rounds: usize,
        node: usize,
        pair: (usize, usize),
    ) -> Vec<Vec<Option<f64>>> {
        let round = |round: usize| {
            let ends = (0..many).flat_map(|a| (a + 1..many).map(move |b| (a, b)));
            let value = |(a, b): (usize, usize)| {
                let noise = ((a * 31 + b * 17 + round * 13) % 23) as f64 / 23.0 - 0.5;
                let slow = if a == node || b == node { 0.3 } else { 0.0 };
                let far = if (a, b) == pair { 0.7 } else { 0.0 };
                Some(10.0 + slow + far + 0.004 * noise)
            };
            ends.map(value).collect()
        };
        (0..rounds).map(round).collect()
    }

    fn overall(rounds: &[Vec<Option<f64>>]) -> Vec<Option<f64>> {
        (0..rounds[0].len())
            .map(|nth| stats::median_of(rounds.iter().filter_map(|round| round[nth])))
            .collect()
    }

    fn found(deviations: &[Deviation]) -> Vec<usize> {
        deviations
            .iter()
            .filter(|deviation| deviation.differs())
            .map(|deviation| deviation.nth)
            .collect()
    }

    #[test]
    fn a_slow_node_and_a_slow_pair_are_distinguished() {
        let rounds = values(8, 12, 2, (4, 7));
        let all = overall(&rounds);
        let of_nodes = nodes(8, true, &rounds, &all);
        assert_eq!(found(&of_nodes), [2]);
        assert!((of_nodes[2].ratio.estimate - 0.3_f64.exp()).abs() < 0.01);
        let of_pairs = pairs(8, &rounds, &all);
        assert_eq!(found(&of_pairs), [cell(8, 4, 7).unwrap()]);
        assert!(
            of_nodes.iter().all(|node| node.nth == 2 || node.verdict == DeviationVerdict::Alike)
        );
    }

    #[test]
    fn one_round_of_many_nodes_tells_the_node_by_its_pairs_and_tests_no_pair() {
        let rounds = values(20, 1, 5, (3, 9));
        let all = overall(&rounds);
        let of_nodes = nodes(20, true, &rounds, &all);
        assert_eq!(found(&of_nodes), [5]);
        assert_eq!(of_nodes[5].units, Units::Pairs(19));
        let of_pairs = pairs(20, &rounds, &all);
        assert!(found(&of_pairs).is_empty() && of_pairs.iter().all(|pair| pair.p.is_none()));
        let farthest =
            of_pairs.iter().max_by(|a, b| a.distance().total_cmp(&b.distance())).unwrap();
        assert_eq!(farthest.nth, cell(20, 3, 9).unwrap());
    }

    #[test]
    fn of_three_nodes_the_one_behind_a_slow_line_is_found() {
        let rounds = values(3, 9, 2, (9, 9));
        let all = overall(&rounds);
        assert_eq!(found(&nodes(3, true, &rounds, &all)), [2]);
        assert_eq!(found(&pairs(3, &rounds, &all)), [1, 2], "against the fastest pair");
    }

    #[test]
    fn local_cases_are_compared_with_the_median_node() {
        let value = |node: usize, round: usize| {
            let slow = if node == 1 { 0.4 } else { 0.0 };
            Some(5.0 + slow + 0.001 * ((node * 7 + round * 3) % 5) as f64)
        };
        let rounds: Vec<Vec<Option<f64>>> =
            (0..10).map(|round| (0..4).map(|node| value(node, round)).collect()).collect();
        assert_eq!(found(&nodes(4, false, &rounds, &overall(&rounds))), [1]);
        assert!(nodes(2, false, &rounds, &overall(&rounds)).is_empty(), "two have no rest");
    }

    #[test]
    fn what_is_missing_drops_out_and_nothing_else() {
        let mut rounds = values(6, 12, 1, (9, 9));
        for round in &mut rounds[4..] {
            for other in [0, 1, 2, 3, 5] {
                round[cell(6, 4, other).unwrap()] = None;
            }
        }
        let all = overall(&rounds);
        let of_nodes = nodes(6, true, &rounds, &all);
        assert_eq!(found(&of_nodes), [1]);
        assert!(of_nodes.iter().all(|node| node.nth != 4), "four rounds are too few");
    }
}
