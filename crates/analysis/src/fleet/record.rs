//! A run on many nodes in its export: what was asked, what the nodes are, and which differ from the rest; of
//! each result, its nodes.

use model::clock;
use model::floors::Floors;
use model::host::Host;
use model::peer::Address;
use schemars::JsonSchema;
use serde::Serialize;
use store::{FleetRequest, StoredCase, StoredFleet, StoredLaunch, StoredNode};

use super::{Deviation, DeviationVerdict, FleetJudged, GroupResult, Units};
use crate::CaseResult;

/// The nodes of a run, as an export holds them.
#[derive(JsonSchema, Serialize)]
pub struct FleetRecord<'a> {
    /// What was asked.
    asked: &'a FleetRequest,
    /// Its nodes.
    nodes: Vec<NodeRecord<'a>>,
    /// What each is beside the rest.
    findings: Vec<Finding<'a>>,
}

/// A node; all but its name and `reason` are null where it never answered.
#[derive(JsonSchema, Serialize)]
pub struct NodeRecord<'a> {
    /// As it was named.
    name: &'a str,
    /// Why it takes no part (any more).
    reason: Option<&'a str>,
    /// That machine, like `host` of the run.
    host: Option<&'a Host>,
    /// What stamped the launches that it began.
    clock: Option<&'a clock::Record>,
    /// Its addresses, but for those of loopback.
    addresses: Option<&'a [Address]>,
    /// Its bounds; null where they weren't measured.
    floors: Option<&'a Floors>,
}

/// A node, or a pair of them, compared with the rest of its group.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "NodeFinding")]
pub struct Finding<'a> {
    /// The group of its results.
    group: usize,
    /// One node, or the two of a pair.
    nodes: Vec<&'a str>,
    /// How many times as long it takes.
    ratio: f64,
    /// Lower end of the interval; the ratio itself where none can be had.
    low: f64,
    /// Upper end.
    high: f64,
    /// Sign test over rounds, or over pairs; null where there are too few to test.
    p: Option<f64>,
    /// Corrected by Holm over all nodes, or all pairs, of the group.
    p_holm: Option<f64>,
    /// What was counted: `rounds`, `pairs`.
    over: &'static str,
    /// How many.
    units: usize,
    /// What that says.
    verdict: DeviationVerdict,
}

impl<'a> FleetRecord<'a> {
    /// A fleet in its export.
    pub fn of(judged: &'a FleetJudged) -> FleetRecord<'a> {
        let fleet = &judged.fleet;
        let name = |nth: usize| fleet.nodes[nth].name.as_str();
        let finding = |group: &GroupResult, nodes: Vec<&'a str>, deviation: &Deviation| {
            let (over, units) = match deviation.units {
                Units::Rounds(units) => ("rounds", units),
                Units::Pairs(units) => ("pairs", units),
            };
            Finding {
                group: group.group.nth,
                nodes,
                ratio: deviation.ratio.estimate,
                low: deviation.ratio.low,
                high: deviation.ratio.high,
                p: deviation.p.map(|pair| pair.0),
                p_holm: deviation.p.map(|pair| pair.1),
                over,
                units,
                verdict: deviation.verdict,
            }
        };
        let mut findings = Vec::new();
        for group in &judged.groups {
            let nodes =
                group.of_nodes.iter().map(|node| finding(group, vec![name(node.nth)], node));
            findings.extend(nodes);
            findings.extend(group.of_pairs.iter().map(|pair| {
                let (near, far) = group.ends(pair.nth);
                finding(group, vec![name(near), name(far)], pair)
            }));
        }
        let nodes = fleet.nodes.iter().map(NodeRecord::of).collect();
        FleetRecord { asked: &fleet.asked, nodes, findings }
    }
}

impl<'a> NodeRecord<'a> {
    fn of(node: &'a StoredNode) -> NodeRecord<'a> {
        let far = node.far.as_ref();
        NodeRecord {
            name: &node.name,
            reason: node.reason.as_deref(),
            host: far.map(|host| &host.host),
            clock: far.map(|host| &host.clock),
            addresses: far.map(|host| host.addresses.as_slice()),
            floors: node.floors.as_ref(),
        }
    }
}

impl CaseResult {
    /// Takes in which nodes it is of, and why it has no launches where one of them was lost.
    pub(crate) fn stand_between(
        &mut self,
        fleet: &StoredFleet,
        case: &StoredCase,
        launches: &[&StoredLaunch],
    ) {
        let Some(ends) = case.ends else { return };
        let nodes: Vec<&StoredNode> = [Some(ends.near), ends.far]
            .into_iter()
            .flatten()
            .map(|number| &fleet.nodes[number])
            .collect();
        let boot = |node: &StoredNode| node.far.as_ref().and_then(|far| far.host.boot_id.clone());
        self.two_machines = nodes.len() == 2 && boot(nodes[0]) != boot(nodes[1]);
        // Which one CPU it is, each node says.
        let first = launches.iter().find_map(|launch| launch.record.initiator.cpus.first());
        self.place.cpus = self.place.cpus.and(first).map(|cpu| (*cpu, *cpu));
        if launches.is_empty() {
            let lost =
                |node: &&StoredNode| Some(format!("{}: {}", node.name, node.reason.as_ref()?));
            self.reason = nodes.iter().find_map(lost);
        }
    }
}
