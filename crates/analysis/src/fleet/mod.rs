//! A run on many nodes, judged: what is typical of each group, which nodes differ from the rest, which
//! pairs differ from what their two nodes explain, and where the nodes' environments differ.

mod environment;
mod outliers;
mod record;

use std::collections::BTreeMap;

use super::{GroupVerdict, Judged, interval_of};
use model::metric::Metric;
use store::{FleetGroup, FleetLaunch, Store, StoreError, StoredFleet, StoredRun};

pub use environment::{Differing, differing};
pub use outliers::{
    Deviation, DeviationVerdict, Units, nodes as nodes_against_the_rest,
    pairs as pairs_beyond_nodes,
};
pub use record::{Finding, FleetRecord, NodeRecord};

pub struct FleetJudged {
    /// As stored, without groups and rounds.
    pub run: StoredRun,
    pub fleet: StoredFleet,
    /// What is done, and what came of it.
    pub groups: Vec<GroupResult>,
    /// Launches that measured, pilots left out.
    pub launches: u64,
    /// Fields of the environment in which nodes differ.
    pub environment: Vec<Differing>,
}

pub struct GroupResult {
    pub group: FleetGroup,
    pub metric: Metric,
    pub nodes: usize,
    pub rounds: usize,
    /// One cell per node, or per pair row by row.
    pub cells: Vec<Cell>,
    /// The median over cells of their medians, in ns per operation.
    pub typical_ns: Option<f64>,
    /// Nodes against the rest; empty where there are too few.
    pub of_nodes: Vec<Deviation>,
    /// Pairs beyond what their nodes explain; of three nodes, against the fastest pair.
    pub of_pairs: Vec<Deviation>,
    /// Launches that failed: why, how often, and of which cell for example.
    pub failures: Vec<(String, u64, usize)>,
}

/// A node, or a pair, in one group.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Launches of either direction: median with its interval, in ns per operation.
    pub both: Option<Summary>,
    /// Those that the first node of the pair began.
    pub forward: Option<Summary>,
    /// Those that the second one began.
    pub backward: Option<Summary>,
    /// Why launches of it failed.
    pub failed: Option<String>,
    /// Launch values by round, in ns per operation.
    values: Vec<(u32, bool, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Their median, in ns per operation.
    pub median: f64,
    /// The interval of it; None where they are too few for 95 %.
    pub interval: Option<(f64, f64)>,
    pub launches: usize,
}

impl Summary {
    fn of(values: impl Iterator<Item = f64>) -> Option<Summary> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let interval = interval_of(&values).map(|interval| interval.interval);
        let interval = interval.map(|interval| (interval.low, interval.high));
        (!values.is_empty()).then(|| Summary {
            median: stats::median(&values),
            interval,
            launches: values.len(),
        })
    }
}

impl GroupResult {
    /// Whether its cells are pairs.
    pub fn is_of_pairs(&self) -> bool {
        self.group.concurrent.is_some()
    }

    /// Whether an operation goes one way, so that each direction of a pair has a value of its own.
    pub fn is_one_way(&self) -> bool {
        self.metric.messages == 1
    }

    /// The two nodes of a cell, the same one twice where it is a node's.
    pub fn ends(&self, nth: usize) -> (usize, usize) {
        if !self.is_of_pairs() {
            return (nth, nth);
        }
        let (mut row, mut left) = (0, nth);
        while left >= self.nodes - 1 - row {
            left -= self.nodes - 1 - row;
            row += 1;
        }
        (row, row + 1 + left)
    }

    pub fn cell(&self, a: usize, b: usize) -> Option<&Cell> {
        let (a, b) = (a.min(b), a.max(b));
        if !self.is_of_pairs() {
            return self.cells.get(a);
        }
        if a == b {
            return None;
        }
        self.cells.get(a * (2 * self.nodes - a - 1) / 2 + b - a - 1)
    }

    /// The launches from `a` to `b`; of round trips also those from `b` to `a`, which are as long.
    pub fn from_to(&self, a: usize, b: usize) -> Option<Summary> {
        let cell = self.cell(a, b)?;
        match (self.is_one_way(), a < b) {
            (true, true) => cell.forward,
            (true, false) => cell.backward,
            (false, _) => cell.both,
        }
    }
}

impl FleetJudged {
    /// Judges run `id` as [`FleetJudged::of`], with the comparisons of its variants, ratios to `reference` where
    /// that is given. Where each is alone in what it does no case is judged for them.
    ///
    /// # Errors
    /// Where the store can't be read.
    pub fn against(
        store: &Store,
        id: i64,
        reference: Option<&str>,
    ) -> Result<Option<(FleetJudged, Vec<GroupVerdict>)>, StoreError> {
        let groups = store.fleet_groups(id)?;
        let what = |group: &FleetGroup| {
            (group.case.workload, group.case.message_bytes, group.case.placement, group.concurrent)
        };
        let are_compared = |a: &FleetGroup, b: &FleetGroup| a.nth < b.nth && what(a) == what(b);
        if !groups.iter().any(|a| groups.iter().any(|b| are_compared(a, b))) {
            return Ok(FleetJudged::of(store, id)?.map(|judged| (judged, Vec::new())));
        }
        let judged = Judged::against(store, id, reference)?;
        Ok(judged.fleet.map(|fleet| (fleet, judged.groups)))
    }

    /// Judges run `id` from the store; None where it was not measured on many nodes.
    ///
    /// # Errors
    /// Where the store can't be read.
    pub fn of(store: &Store, id: i64) -> Result<Option<FleetJudged>, StoreError> {
        let Some((run, fleet)) = store.fleet(id)? else { return Ok(None) };
        let scales: Vec<f64> = fleet
            .nodes
            .iter()
            .map(|node| node.far.as_ref().map_or(1.0, |far| far.clock.ns_per_tick))
            .collect();
        let mut groups = Vec::new();
        for group in store.fleet_groups(id)? {
            let metric = run.catalogue.metric(group.case.workload, &group.case.variant);
            groups.push(result(store, id, (group, metric), &scales)?);
        }
        let launches =
            groups.iter().flat_map(|group| &group.cells).map(|cell| cell.values.len() as u64).sum();
        let environment = differing(&fleet.nodes);
        Ok(Some(FleetJudged { run, fleet, groups, launches, environment }))
    }
}

fn result(
    store: &Store,
    run: i64,
    (group, metric): (FleetGroup, Metric),
    scales: &[f64],
) -> Result<GroupResult, StoreError> {
    let nodes = scales.len();
    let many = if group.concurrent.is_some() { nodes * (nodes - 1) / 2 } else { nodes };
    let (nth, cells) = (group.nth, vec![Cell::default(); many]);
    let mut found = GroupResult {
        group,
        metric,
        nodes,
        rounds: 0,
        cells,
        typical_ns: None,
        of_nodes: Vec::new(),
        of_pairs: Vec::new(),
        failures: Vec::new(),
    };
    let ends: Vec<(usize, usize)> = (0..many).map(|nth| found.ends(nth)).collect();
    let mut failures: BTreeMap<String, (u64, usize)> = BTreeMap::new();
    store.fleet_launches(run, nth, |launch| {
        let FleetLaunch { nth, round, swapped, batch, found: outcome } = launch;
        let Some(cell) = found.cells.get_mut(nth) else { return };
        let scale = scales[if swapped { ends[nth].1 } else { ends[nth].0 }];
        match outcome {
            Ok(mut ticks) if round > 0 && !ticks.is_empty() => {
                ticks.sort_unstable();
                let value = stats::mid_quantile(&ticks, 0.5) * scale / batch as f64;
                cell.values.push((round as u32, swapped, value));
            }
            Ok(_) => {}
            Err(why) => {
                failures.entry(why.clone()).or_insert((0, nth)).0 += 1;
                cell.failed = Some(why);
            }
        }
    })?;
    found.failures = failures.into_iter().map(|(why, (many, nth))| (why, many, nth)).collect();
    found.failures.sort_by_key(|failure| std::cmp::Reverse(failure.1));
    for cell in &mut found.cells {
        let of = |wanted: Option<bool>| {
            let values = cell.values.iter();
            Summary::of(
                values.filter(|value| wanted.is_none_or(|way| value.1 == way)).map(|value| value.2),
            )
        };
        (cell.both, cell.forward, cell.backward) = (of(None), of(Some(false)), of(Some(true)));
    }
    let medians = found.cells.iter().filter_map(|cell| Some(cell.both?.median));
    found.typical_ns = stats::median_of(medians.filter(|median| *median > 0.0));
    let by_round = by_round(&found.cells);
    found.rounds = by_round.len();
    let overall: Vec<Option<f64>> = found
        .cells
        .iter()
        .map(|cell| cell.both.map(|summary| summary.median.ln()).filter(|value| value.is_finite()))
        .collect();
    found.of_nodes = nodes_against_the_rest(nodes, found.is_of_pairs(), &by_round, &overall);
    if found.is_of_pairs() {
        found.of_pairs = pairs_beyond_nodes(nodes, &by_round, &overall);
    }
    Ok(found)
}

/// Logarithms of launch values, round by round; None where there is none.
fn by_round(cells: &[Cell]) -> Vec<Vec<Option<f64>>> {
    let mut rounds: BTreeMap<u32, Vec<Option<f64>>> = BTreeMap::new();
    for (nth, cell) in cells.iter().enumerate() {
        for (round, _, value) in cell.values.iter().filter(|value| value.2 > 0.0) {
            rounds.entry(*round).or_insert_with(|| vec![None; cells.len()])[nth] = Some(value.ln());
        }
    }
    rounds.into_values().collect()
}
