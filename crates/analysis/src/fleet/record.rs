//! A run on many nodes in its export: what was asked and what the nodes are; of each result, its nodes.

use model::clock;
use model::floors::Floors;
use model::host::Host;
use model::peer::Address;
use serde::Serialize;
use store::{FleetAsked, StoredCase, StoredFleet, StoredLaunch, StoredNode};

use crate::CaseResult;

/// The nodes of a run, as an export holds them.
#[derive(Serialize)]
pub struct FleetRecord<'a> {
    asked: &'a FleetAsked,
    nodes: Vec<NodeRecord<'a>>,
}

/// A node; all but its name and `reason` are null where it never answered.
#[derive(Serialize)]
pub struct NodeRecord<'a> {
    name: &'a str,
    /// Why it takes no part (any more).
    reason: Option<&'a str>,
    host: Option<&'a Host>,
    /// What stamped the launches that it began.
    clock: Option<&'a clock::Record>,
    addresses: Option<&'a [Address]>,
    floors: Option<&'a Floors>,
}

impl<'a> FleetRecord<'a> {
    /// What is told of a fleet.
    pub fn of(fleet: &'a StoredFleet) -> FleetRecord<'a> {
        FleetRecord { asked: &fleet.asked, nodes: fleet.nodes.iter().map(NodeRecord::of).collect() }
    }
}

impl<'a> NodeRecord<'a> {
    fn of(node: &'a StoredNode) -> NodeRecord<'a> {
        let far = node.far.as_ref();
        NodeRecord {
            name: &node.name,
            reason: node.reason.as_deref(),
            host: far.map(|it| &it.host),
            clock: far.map(|it| &it.clock),
            addresses: far.map(|it| it.addresses.as_slice()),
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
        let nodes: Vec<&StoredNode> =
            [Some(ends.near), ends.far].into_iter().flatten().map(|it| &fleet.nodes[it]).collect();
        let boot = |it: &StoredNode| it.far.as_ref().and_then(|far| far.host.boot_id.clone());
        self.two_machines = nodes.len() == 2 && boot(nodes[0]) != boot(nodes[1]);
        // Which one CPU it is, each node says.
        let first = launches.iter().find_map(|it| it.record.initiator.cpus.first());
        self.cpus = self.cpus.and(first).map(|cpu| [*cpu; 2]);
        if launches.is_empty() {
            let lost = |it: &&StoredNode| Some(format!("{}: {}", it.name, it.reason.as_ref()?));
            self.reason = nodes.iter().find_map(lost);
        }
    }
}
