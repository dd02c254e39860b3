//! What is asked of many nodes, and what is kept of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use model::case::Case;
use model::floors::Floors;
use model::peer::FarHost;
use model::placement::Placement;
use model::request::{Request, Stopping};
use model::route::Route;
use model::workload::Workload;

/// How many pairs of a turn are measured at a time.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Concurrent {
    /// One, and every other node is idle.
    One,
    /// All, so that they share what they have in common.
    All,
}

impl Concurrent {
    /// Its name in the store.
    pub fn name(self) -> &'static str {
        match self {
            Concurrent::One => "one",
            Concurrent::All => "all",
        }
    }
}

/// What was asked of many nodes.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FleetRequest {
    /// The nodes, in their order.
    pub nodes: Vec<String>,
    /// The words of the command that starts something on a node, with `{node}` for its name.
    pub launcher: Vec<String>,
    /// Where this program lies on every node.
    pub program: String,
    /// Variants that are measured on every node by itself.
    pub local: Vec<String>,
    /// Variants that are measured between all pairs.
    pub between: Vec<String>,
    /// Workloads and message sizes.
    pub workloads: Vec<(Workload, Vec<u64>)>,
    /// Where the workers of local cases run.
    pub placements: Vec<Placement>,
    /// Tournaments.
    pub rounds: u64,
    /// Levels of how many pairs are measured at a time.
    pub concurrent: Vec<Concurrent>,
    /// Samples per launch; None lets a pilot choose.
    pub samples: Option<u64>,
    /// Quiet between set-up and timing, in ns.
    pub settle_ns: u64,
    /// The network whose addresses are used, as in 10.1.0.0/16; None takes the first that both have.
    pub network: Option<String>,
    /// Whether bounds of the nodes are measured first.
    pub floors: bool,
    /// Nothing was measured: every answer is a stub's.
    pub simulated: bool,
    /// Seed of every random choice.
    pub seed: u64,
}

impl FleetRequest {
    /// The same as what is asked of a run, as far as it can be said without the nodes.
    pub fn request(&self) -> Request {
        let routes = [(Route::Local, &self.local), (Route::Peer, &self.between)];
        let asked = routes.into_iter().filter(|(_, variants)| !variants.is_empty());
        Request {
            mechanisms: self.local.iter().chain(&self.between).cloned().collect(),
            workloads: self.workloads.clone(),
            placements: self.placements.clone(),
            samples: self.samples,
            routes: asked.map(|(route, _)| route).collect(),
            stopping: Stopping { launches: Some(self.rounds), ..Stopping::default() },
            seed: self.seed,
            ..Request::default()
        }
    }
}

/// The node that a case of a fleet is of, or the pair of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// The node, or the first of the pair.
    pub near: usize,
    /// The second of the pair.
    pub far: Option<usize>,
    /// How many pairs at a time; None of a node's own cases.
    pub concurrent: Option<Concurrent>,
}

/// What is a fleet's alone of its run.
#[derive(Clone, Debug)]
pub struct StoredFleet {
    /// What was asked.
    pub asked: FleetRequest,
    /// The nodes.
    pub nodes: Vec<StoredNode>,
}

/// A node of a fleet.
#[derive(Clone, Debug)]
pub struct StoredNode {
    /// As it was named.
    pub name: String,
    /// What it is; None where it never answered.
    pub far: Option<FarHost>,
    /// Its bounds, where they were measured.
    pub floors: Option<Floors>,
    /// Why it takes no part (any more).
    pub reason: Option<String>,
}

/// What all cases of a group do.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetGroup {
    /// Its number.
    pub nth: usize,
    /// What is done.
    pub case: Case,
    /// How many pairs at a time; None of local cases.
    pub concurrent: Option<Concurrent>,
}

/// A launch in one row; its samples are gone through, and not kept.
#[derive(Clone, Debug)]
pub struct FleetLaunch {
    /// Which case of the group.
    pub nth: usize,
    /// The round; 0 is the pilot's.
    pub round: u64,
    /// Whether the second node of the pair was the initiator.
    pub swapped: bool,
    /// Operations per sample.
    pub batch: u64,
    /// Its samples, in ticks; or why there are none.
    pub found: Result<Vec<u64>, String>,
}
