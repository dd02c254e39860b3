//! What is read from a store: runs, groups, cases, launches, as they were stored.

use super::{Closed, Ends, RunStatus, Settle, StoredFleet};
use model::case::Case;
use model::catalogue::Catalogue;
use model::distinct::distinct;
use model::floors::Floors;
use model::host::Host;
use model::launch::Record;
use model::noise::RoundNoise;
use model::peer::PeerRecord;
use model::request::{Absence, Request};
use model::route::{LabRecord, Route};

/// A line of `ipcmark runs`.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    pub id: i64,
    pub label: Option<String>,
    /// UTC, RFC 3339.
    pub started: String,
    pub status: RunStatus,
    /// Whether a process measures it now; None where that can't be known.
    pub is_claimed: Option<bool>,
    /// The command line.
    pub argv: Vec<String>,
    pub launches: u64,
}

/// A run, without its launches.
#[derive(Clone, Debug)]
pub struct StoredRun {
    pub id: i64,
    pub label: Option<String>,
    /// UTC, RFC 3339.
    pub started: String,
    /// UTC, RFC 3339; None while it runs, or if it was killed.
    pub ended: Option<String>,
    pub status: RunStatus,
    /// Version and build that measured.
    pub tool: String,
    /// The command line.
    pub argv: Vec<String>,
    pub request: Request,
    /// The machine; of a fleet the coordinator's, on which nothing was measured.
    pub host: Host,
    /// The clock; of a fleet see [`StoredRun::clock_of`].
    pub clock: model::clock::Record,
    /// The host on which the responders were; None where all was on one.
    pub peer: Option<PeerRecord>,
    /// What was asked of many nodes, and what they are; None of other runs.
    pub fleet: Option<StoredFleet>,
    pub labs: Vec<LabRecord>,
    /// What the build that measured can measure, and what the variants of the run are.
    pub catalogue: Catalogue,
    /// The quiet before timing.
    pub settle: Settle,
    /// The bounds of the machine; None where the run ended before they were measured.
    pub floors: Option<Floors>,
    /// Wall time of measuring, in ns.
    pub measuring_ns: u64,
    pub warnings: Vec<String>,
    pub groups: Vec<StoredGroup>,
    /// The rounds, in the order in which they were measured.
    pub rounds: Vec<StoredRound>,
}

#[derive(Clone, Debug)]
pub struct StoredRound {
    pub group: usize,
    /// The round, from 1.
    pub nth: u64,
    /// What the machine did during it.
    pub noise: RoundNoise,
}

impl StoredRun {
    /// The clock that stamped a launch of a case: of a fleet, its initiator's node's.
    pub fn clock_of(&self, case: &StoredCase, swapped: bool) -> &model::clock::Record {
        let node = case.ends.map(|ends| ends.far.filter(|_| swapped).unwrap_or(ends.near));
        let far =
            node.zip(self.fleet.as_ref()).and_then(|(nth, fleet)| fleet.nodes[nth].far.as_ref());
        far.map_or(&self.clock, |host| &host.clock)
    }

    /// How many rounds of a group screened its cases; 0 where none did.
    pub fn screening(&self, group: usize) -> u64 {
        let of = |round: &&StoredRound| round.group == group && round.noise.contenders;
        self.rounds.iter().filter(of).map(|round| round.nth - 1).min().unwrap_or(0)
    }

    /// The names of the nodes that a case is of; none where the run is no fleet's.
    pub fn nodes_of(&self, case: &StoredCase) -> Vec<&str> {
        let nodes = case.ends.zip(self.fleet.as_ref()).map(|(ends, fleet)| {
            let name = |nth: usize| fleet.nodes[nth].name.as_str();
            [Some(ends.near), ends.far].into_iter().flatten().map(name).collect()
        });
        nodes.unwrap_or_default()
    }

    /// The host on which what the first of `nodes` began was measured; this run's own where there are none.
    pub fn host_of(&self, nodes: &[String]) -> &Host {
        let named = |first: &String| {
            self.fleet.iter().flat_map(|fleet| &fleet.nodes).find(|node| node.name == *first)
        };
        let far = nodes.first().and_then(named).and_then(|node| node.far.as_ref());
        far.map_or(&self.host, |host| &host.host)
    }

    /// The cases that become results, each with its group: those at which nothing looks, and beside which nothing runs.
    pub fn results(&self) -> impl Iterator<Item = (&StoredGroup, &StoredCase)> {
        let cases =
            self.groups.iter().flat_map(|group| group.cases.iter().map(move |case| (group, case)));
        cases.filter(|(_, case)| case.case.is_result())
    }

    /// Where the halves of its cases were, each once.
    pub fn routes(&self) -> Vec<&Route> {
        let cases = self.groups.iter().flat_map(|group| &group.cases);
        distinct(cases.map(|case| &case.case.route))
    }
}

/// Cases that are compared with each other.
#[derive(Clone, Debug)]
pub struct StoredGroup {
    pub nth: usize,
    /// Why it was closed; None while open.
    pub closed: Option<Closed>,
    pub cases: Vec<StoredCase>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct StoredCase {
    pub id: i64,
    pub case: Case,
    /// The nodes that it is of; None where the run is no fleet's.
    pub ends: Option<Ends>,
    /// Which kind of absence, if it isn't measured.
    pub absence: Option<Absence>,
    /// Why it isn't measured.
    pub reason: Option<String>,
    /// Operations per sample, fixed by the pilot.
    pub batch: Option<u64>,
    /// Samples per launch, fixed by the pilot.
    pub samples_per_launch: Option<u64>,
    /// The pilot's estimate of one operation, in ns.
    pub operation_ns: Option<f64>,
}

/// A launch that was made, as far as resuming its run needs it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MadeLaunch {
    /// The round; 0 is the pilot's.
    pub round: u64,
    pub worked: bool,
    /// The median of its samples, in ns per operation; None of a pilot, and of one that didn't work.
    pub median_ns: Option<f64>,
}

/// A launch, without its samples.
#[derive(Clone, Debug)]
pub struct StoredLaunch {
    pub id: i64,
    pub round: u64,
    /// Whether the initiator had the second CPU.
    pub swapped: bool,
    /// `ok`, `failed`, …
    pub status: String,
    /// Why it isn't `ok`.
    pub reason: Option<String>,
    pub record: Record,
}
