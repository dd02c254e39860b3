//! From a stored run to results and verdicts: what the numbers say, and how sure they are.
//!
//! Everything here is made again from the store whenever it is asked for; nothing is measured.
//! Pilots (round 0) are kept in the store and left out here.

pub mod beside;
mod blank;
pub mod capacity;
mod case;
pub mod choose;
mod claims;
mod clients;
pub mod compare;
mod conditions;
mod connections;
mod counted;
mod cpu;
mod datagrams;
mod delivery;
mod derived;
mod earlier;
mod energy;
mod estimate;
pub mod explain;
pub mod failures;
pub mod fleet;
pub(crate) mod floor;
pub mod floor_rows;
mod group;
pub mod hypothesis;
mod inflection;
mod observed;
mod over_rounds;
mod paired;
mod per_launch;
mod percentile;
mod pool;
pub mod probe;
pub mod quantity;
mod rate;
mod rounds;
mod screening;
mod sessions;
mod site;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod time_series;
mod unmeasured;

use model::distinct::distinct;
use schemars::JsonSchema;
use serde::Serialize;

pub use claims::{Claim, JudgedStudy};
use model::floors::Floors;
use model::host::Host;
pub use model::mechanism::{Carries, Class};
use model::metric::Metric;
pub use model::noise::Traffic;
use model::peer::PeerRecord;
use model::request::{Aim, Request};
use model::route::LabRecord;
pub use model::route::Route;
pub use model::total::Total;
use stats::Interval;
use store::{RunStatus, Store, StoreError, StoredRun};

pub use beside::Accompanied;
pub use capacity::Capacity;
pub use case::{CaseResult, NULL_NS};
pub use choose::Choice;
pub use clients::{ClientsSeen, OverClients, OverLaunches};
use compare::ArmChanges;
pub use conditions::{NoiseSeen, ObservedPlacement, PeerNoise};
pub use counted::Counted;
pub use cpu::CpuCost;
pub use datagrams::{DatagramsSeen, LaunchDatagrams};
pub use delivery::DeliveryCounters;
pub use derived::Derived;
pub use earlier::Earlier;
pub use energy::ENERGY;
pub use estimate::{Estimate, MedianInterval, Status};
use explain::Explanation;
pub use floor::{Bound, BoundKind};
pub use group::{GroupVerdict, Standing, TwinCheck};
pub use inflection::{Candidate, Change, Inflection, Sweep, sweeps};
pub use observed::{
    Beyond, CallStats, CallSummary, CountFigure, EventCount, InterruptSummary, Observed, Returned,
    SocketSummary, TraceSummary, Wait, WakeUps, Worker,
};
pub use over_rounds::OverRounds;
pub use paired::CaseRatio;
pub use per_launch::{FIRST_MESSAGE, Secondary};
pub use percentile::{Curve, OverLaunches as Percentile, PERCENTILES};
pub use rate::RateSeen;
pub use rounds::{JudgedRound, RoundCounts, RoundState, Stratified};
pub use screening::LeftOut;
pub use sessions::SessionsSeen;
pub use site::Site;
pub use stats::Share;
pub use time_series::{DRAWN as TIME_SERIES_DRAWN, Slice, TimeSeries};

/// Error probability of every family of claims.
pub const ALPHA: f64 = 0.05;
/// Ratios within this distance of 1 are called equivalent.
pub const EQUIVALENT_WITHIN: f64 = 0.02;

/// The version of exports: docs/results.schema.json.
pub const SCHEMA_VERSION: u32 = 1;

const NO_FLOORS: &str = "no floors: the run ended before they were measured";

/// A judged run.
pub struct Judged {
    /// As stored.
    pub run: StoredRun,
    /// One per case, in the order of the groups; absent cases included.
    pub results: Vec<CaseResult>,
    /// The launches that were instrumented, by case; absent ones included.
    pub observed: Vec<Observed>,
    /// The launches beside a load, by case; absent ones included.
    pub beside: Vec<Accompanied>,
    /// Every further arm held against the first; none where there are no arms.
    pub arms: Vec<ArmChanges>,
    /// One per mechanism and load without its rate, where a bound was asked; else none.
    pub capacity: Vec<Capacity>,
    /// One per group that was measured.
    pub groups: Vec<GroupVerdict>,
    /// Every round, in the order in which they were measured.
    pub rounds: Vec<JudgedRound>,
    /// One per curve over at least two message sizes.
    pub sweeps: Vec<Sweep>,
    /// Sum over launches of the timed parts, over the wall time of measuring.
    pub timed_share: Option<f64>,
    /// Of a run on many nodes, which of them differ from the rest; None of other runs.
    pub fleet: Option<fleet::FleetJudged>,
    /// The study that it was made for, with its claims decided; None of other runs.
    pub study: Option<JudgedStudy>,
    /// Another machine's run of the same study, to be shown beside; nothing here is compared with it.
    pub elsewhere: Option<Box<Judged>>,
}

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
    /// Judges run `id`.
    pub fn of(store: &Store, id: i64) -> Result<Judged, StoreError> {
        Judged::against(store, id, None)
    }

    /// Judges run `id`, its ratios to `reference` where that is given, else to what the run was made with.
    pub fn against(store: &Store, id: i64, reference: Option<&str>) -> Result<Judged, StoreError> {
        let mut run = store.run(id)?;
        if let Some(reference) = reference {
            run.request.reference = Some(reference.to_string());
        }
        let mut results = Vec::new();
        let mut observed = Vec::new();
        let mut accompanied = Vec::new();
        let mut groups = Vec::new();
        let mut timed_ns = 0.0;
        let mut beside = Vec::new();
        let slices = time_series::slices_each(launches_drawn(&run));
        for group in &run.groups {
            let first = results.len();
            for case in &group.cases {
                let (result, timed) = CaseResult::of(store, &run, group, case, slices)?;
                timed_ns += timed;
                let plain = &results[first..];
                if let Some(probe) = case.case.observe {
                    let launches = store.launches(case.id)?;
                    observed.push(Observed::of(probe, result, &launches, plain, first));
                } else if case.case.beside.is_some() {
                    accompanied.push(Accompanied::of(result, plain, first));
                } else {
                    results.push(result);
                }
            }
            if run.fleet.is_some() {
                continue; // its cases are nodes and pairs: `fleet` holds each against the rest
            }
            beside.push(store.round_bounds(id, group.nth)?);
            let found = beside.last().map(|pairs| floor::assign(&mut results[first..], pairs));
            run.warnings.extend(found.into_iter().flatten());
            if run.request.bound.is_some() {
                continue; // rates of one mechanism are no rivals: `capacity` compares them with the bound
            }
            groups.extend(GroupVerdict::of_each_site(
                group,
                first,
                &results,
                run.request.reference.as_deref(),
            ));
        }
        run.warnings.extend(floor::demote(&mut results));
        run.warnings = distinct(std::mem::take(&mut run.warnings));
        group::assign_precision(&mut results, &groups);
        let observed_cases = observed.iter_mut().map(|observed| &mut observed.case);
        let other_cases =
            observed_cases.chain(accompanied.iter_mut().map(|accompanied| &mut accompanied.case));
        if run.fleet.is_some() {
            let asked = run.request.reference.as_deref();
            groups = GroupVerdict::of_each_node(&run, &results, asked);
        }
        let rounds = rounds::assign(&run, results.iter_mut().chain(other_cases), &mut groups);
        sessions::assign(&mut results, &rounds);
        earlier::assign(store, &run, &mut results)?;
        observed::assign(&mut observed);
        beside::assign(&mut accompanied, &results);
        counted::assign(&mut results, &mut observed);
        match &mut run.floors {
            Some(floors) => floor::refresh(floors, &beside),
            None if run.fleet.is_none() => run.warnings.push(NO_FLOORS.into()),
            None => {}
        }
        derived::assign(&mut results, &run);
        let one_at_a_time = run.fleet.is_none() && run.measuring_ns > 0;
        let timed_share = one_at_a_time.then(|| (timed_ns / run.measuring_ns as f64).min(1.0));
        let capacity = capacity::capacities(&results, run.request.bound);
        let sweeps = sweeps(&results, &run.catalogue, |case| run.host_of(&case.nodes));
        let (study, fleet) = (None, fleet::FleetJudged::of(store, id)?);
        let mut judged = Judged {
            run,
            results,
            observed,
            beside: accompanied,
            arms: Vec::new(),
            capacity,
            groups,
            rounds,
            sweeps,
            timed_share,
            fleet,
            study,
            elsewhere: None,
        };
        judged.decide_claims()?;
        judged.arms = ArmChanges::of(&judged);
        Ok(judged)
    }

    /// With the last run of the same study in another store beside it.
    ///
    /// # Errors
    /// That there is none, in words; or that the store can't be read.
    pub fn beside_run_of(self, store: &Store) -> Result<Result<Judged, String>, StoreError> {
        let Some(own) = self.run.request.study.as_ref() else {
            return Ok(Err(format!("run {} is of no study: name one that is", self.run.id)));
        };
        let mut others = Vec::new();
        for id in store.run_ids()?.into_iter().rev() {
            let Some(study) = store.run(id)?.request.study else { continue };
            if study.text == own.text {
                let other = Judged::of(store, id)?;
                return Ok(Ok(Judged { elsewhere: Some(Box::new(other)), ..self }));
            }
            others.push(study.name);
        }
        others.dedup();
        let holds = match others.as_slice() {
            [] => "it holds no run of a study".to_string(),
            names if names.contains(&own.name) => {
                format!("its runs of {} are of another version of that study", own.name)
            }
            names => format!("it holds runs of {}", names.join(", ")),
        };
        Ok(Err(format!(
            "no run of the study {}: {holds}; measure it there with this version",
            own.name
        )))
    }

    /// Reads the study that the run was made for, and decides its claims on the results as they are.
    ///
    /// # Errors
    /// Where its text is no study of this build.
    pub fn decide_claims(&mut self) -> Result<(), StoreError> {
        let found = JudgedStudy::of(&self.run, &self.cases());
        self.study = found.map_err(|why| {
            let (id, tool) = (self.run.id, &self.run.tool);
            StoreError::unreadable(format!(
                "run {id}: this build can't read its study: {why}; read it with the build that measured it, {tool}"
            ))
        })?;
        Ok(())
    }

    /// The results, then the cases that were observed or had company, which are none.
    pub fn cases(&self) -> Vec<CaseResult> {
        self.each_case().cloned().collect()
    }

    fn each_case(&self) -> impl Iterator<Item = &CaseResult> {
        let observed = self.observed.iter().map(|observed| &observed.case);
        self.results
            .iter()
            .chain(observed)
            .chain(self.beside.iter().map(|accompanied| &accompanied.case))
    }

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

/// How many launches a run has, by its rounds and the usual size of a group.
fn launches_drawn(run: &StoredRun) -> u64 {
    let cases =
        run.groups.iter().flat_map(|group| &group.cases).filter(|case| case.absence.is_none());
    (cases.count().min(time_series::DRAWN) * run.rounds.len() / run.groups.len().max(1)) as u64
}

/// The median of one value per launch, with its interval and the ranks of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The ends, and what they cover.
    pub interval: Interval,
    /// Ranks of the ends among the sorted values, counted from 1.
    pub ranks: [usize; 2],
}

impl From<(Interval, [usize; 2])> for Ranked {
    fn from((interval, ranks): (Interval, [usize; 2])) -> Ranked {
        Ranked { interval, ranks }
    }
}

/// The interval of `values`, of which each launch gave one; None where there are too few.
pub fn interval_of(values: &[f64]) -> Option<Ranked> {
    let (low, high, _) = stats::median_ranks(values.len(), ALPHA)?;
    Some(Ranked { interval: stats::median_interval(values, ALPHA)?, ranks: [low, high] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_the_ranks_and_the_coverage_of_so_many_launches() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        let of = |n: usize| {
            let found = interval_of(&values[..n]).unwrap();
            let [low, high] = found.ranks;
            assert_eq!((found.interval.low, found.interval.high), (low as f64, high as f64));
            (found.ranks, (found.interval.coverage * 1e4).round())
        };
        assert_eq!(of(12), ([3, 10], 9614.0));
        assert_eq!(of(22), ([6, 17], 9831.0));
        assert_eq!(of(100), ([40, 61], 9648.0));
        assert_eq!(interval_of(&values[..4]), None, "four can't support 95 %");
    }
}
