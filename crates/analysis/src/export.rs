//! A judged run as one JSON object.

use model::distinct::distinct;
use model::floors::Floors;
use model::host::Host;
use model::metric::Metric;
use model::peer::PeerRecord;
use model::request::{Aim, Request};
use model::route::LabRecord;
use schemars::JsonSchema;
use serde::Serialize;
use store::RunStatus;

use super::beside::Accompanied;
use super::capacity::Capacity;
use super::case::CaseResult;
use super::claims::{Claim, JudgedStudy};
use super::compare::ArmChanges;
use super::explain::{self, Explanation};
use super::fleet;
use super::group::GroupVerdict;
use super::inflection::Sweep;
use super::judged::Judged;
use super::observed::Observed;
use super::rounds::JudgedRound;

/// The version of exports: docs/results.schema.json.
pub const SCHEMA_VERSION: u32 = 1;

/// A run as one JSON object; docs/results.schema.json describes it.
#[derive(JsonSchema, Serialize)]
pub struct Export<'a> {
    /// Version of this format, a count that grows when a reader could misread the next one.
    schema_version: u32,
    /// Name and version of the program that measured, with the commit that it was built from in parentheses where
    /// that is known, and whether it was modified.
    tool: &'a str,
    /// Number of the run in its store.
    run: i64,
    /// What the user calls the run; null if nothing.
    label: Option<&'a str>,
    /// The command line as it was given, the program's name first.
    argv: &'a [String],
    /// What was asked, as the store keeps it: later versions may tell more.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    request: &'a Request,
    /// Seed of every random choice, a whole number below 2^53.
    seed: u64,
    /// When it began: UTC, RFC 3339, in seconds.
    started: &'a str,
    /// When it ended: UTC, RFC 3339, in seconds; null if it runs still or was killed.
    ended: Option<&'a str>,
    /// Whether every group was closed; one that runs still or was killed counts as interrupted.
    status: &'a str,
    /// Time inside timed parts over the wall time of measuring, a ratio from 0 to 1; null if it runs still or was
    /// killed.
    timed_share: Option<f64>,
    /// How long launches across CPUs were left alone before timing, in nanoseconds; 0 where there are none.
    settle_ns: u64,
    /// The machine, as far as it shows itself; what it hides or lacks is null, and later versions may tell more.
    host: &'a Host,
    /// The host on which the responders were; null where all was on one machine.
    peer: Option<&'a PeerRecord>,
    /// The nodes of a run of `ipcmark fleet`; null of others. `host` and `clock` are then the coordinator's, on which
    /// nothing was measured, and each result is of a node or of a pair of them.
    fleet: Option<fleet::FleetRecord<'a>>,
    /// The laboratories that the run made for itself; none of them is left.
    labs: &'a [LabRecord],
    /// The clock that stamped the samples.
    clock: &'a model::clock::Record,
    /// Bounds of this machine, measured by a process of their own at the start of the run; null if it ended first.
    floors: Option<&'a Floors>,
    /// What the reader of the results should know, a sentence each.
    warnings: &'a [String],
    /// What the workloads of this run yield, each once.
    metrics: Vec<&'a Metric>,
    /// One entry per case, in the order of the groups, whether it was measured or not.
    results: &'a [CaseResult],
    /// One entry per case and probe of `--observe`, whether it was observed or not: what its launches counted, which
    /// are no results, and what looking cost.
    observed: &'a [Observed],
    /// One entry per case and level of `--beside` but quiet, whether it was measured or not: launches beside a load,
    /// which are no results, over the quiet ones of the same rounds.
    beside: &'a [Accompanied],
    /// Of a run with `--arm` one entry per arm but the first, which it is held against.
    arms: &'a [ArmChanges],
    /// Of a run that seeks a capacity one entry per mechanism, message size, place and load without its rate, whether
    /// it was measured or not: between which rates it stops keeping the bound. Empty of other runs.
    capacity: &'a [Capacity],
    /// One entry per group in which something was measured; of a fleet one per node or pair of nodes, for each number
    /// of pairs at a time, on which several variants did the same.
    comparisons: &'a [GroupVerdict],
    /// Every round, in the order in which they were measured: where it belongs, and what disturbed it.
    rounds: &'a [JudgedRound],
    /// One entry per mechanism, workload and place, and of a fleet per node or pair, of which at least two message
    /// sizes were measured.
    sweeps: &'a [Sweep],
    /// Where the time of the round trips goes; null but for `ipcmark explain`.
    explanation: Option<Explanation>,
    /// The claims of the study that the run was made for, in its order; null of other runs.
    claims: Option<Vec<Claim<'a>>>,
}

impl Judged {
    fn metrics(&self) -> Vec<&Metric> {
        distinct(self.each_case().map(|case| &case.metric))
    }

    /// The run as one object for JSON.
    pub fn export(&self) -> Export<'_> {
        Export {
            schema_version: SCHEMA_VERSION,
            tool: &self.run.tool,
            run: self.run.id,
            label: self.run.label.as_deref(),
            argv: &self.run.argv,
            request: &self.run.request,
            seed: self.run.request.seed,
            started: &self.run.started,
            ended: self.run.ended.as_deref(),
            status: match self.run.status {
                RunStatus::Complete => "complete",
                // A run whose coordinator was killed never got to say so.
                RunStatus::Running | RunStatus::Interrupted => "interrupted",
            },
            timed_share: self.timed_share,
            settle_ns: self.run.settle.quiet_ns,
            host: &self.run.host,
            peer: self.run.peer.as_ref(),
            fleet: self.fleet.as_ref().map(fleet::FleetRecord::of),
            labs: &self.run.labs,
            clock: &self.run.clock,
            floors: self.run.floors.as_ref(),
            warnings: &self.run.warnings,
            metrics: self.metrics(),
            results: &self.results,
            observed: &self.observed,
            beside: &self.beside,
            arms: &self.arms,
            capacity: &self.capacity,
            comparisons: &self.groups,
            rounds: &self.rounds,
            sweeps: &self.sweeps,
            explanation: match self.run.request.aim {
                Aim::Explanation { .. } => Some(explain::explain(self)),
                _ => None,
            },
            claims: self.study.as_ref().map(JudgedStudy::claims),
        }
    }
}
