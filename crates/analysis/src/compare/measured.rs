//! One side of a comparison: what an export holds of a run. A stored run is read the same way,
//! so that a file says neither more nor less than the store.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::{Judged, RoundCounts, RoundState, SCHEMA_VERSION, Status};
use crate::capacity::Found as FoundCapacity;
use crate::site::is_a_case;
use model::capacity::TailBound;
use model::case::Case;
use model::cycles::Cycles;
use model::factor;
use model::identity::Identity;
use model::mechanism::Carries;
use model::metric::{Better, Metric, Unit};
use model::workload::Arrivals;
use stats::InRound;
use store::Concurrent;

/// The version of exports that is read here.
const VERSION: u64 = SCHEMA_VERSION as u64;

/// A run, as far as a comparison needs it.
#[derive(Clone, Debug, Deserialize)]
pub struct Measured {
    /// Program and version.
    pub tool: String,
    pub run: i64,
    pub label: Option<String>,
    /// UTC, RFC 3339.
    pub started: String,
    /// `complete`, `interrupted`.
    pub status: String,
    /// What its workloads yield.
    pub metrics: Vec<Metric>,
    /// One entry per case.
    pub results: Vec<MeasuredCase>,
    /// Of a run that sought capacities one entry per capacity.
    pub capacity: Vec<MeasuredCapacity>,
    /// One entry per group.
    pub comparisons: Vec<MeasuredGroup>,
    pub rounds: Vec<MeasuredRound>,
    /// The whole of it, for the fields that tell whether two runs can be compared.
    #[serde(skip)]
    pub(super) whole: Value,
}

#[derive(Clone, Debug, Deserialize)]
pub struct MeasuredRound {
    /// The group, by its number in the run.
    pub group: usize,
    /// The round, from 1.
    pub round: u64,
    /// What others did meanwhile; None where nothing was noticed.
    pub marked: Option<String>,
    /// The checks that couldn't be made, where nothing was noticed.
    pub unknown: Option<String>,
}

impl MeasuredRound {
    fn state(&self) -> RoundState {
        RoundState::of(self.marked.is_some(), self.unknown.is_some())
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct MeasuredCase {
    /// The group that it was measured in, by its number in the run.
    pub group: usize,
    #[serde(flatten)]
    pub case: Case,
    pub carries: Carries,
    metric: Brief,
    #[serde(skip)]
    found: Option<Metric>,
    /// Of a fleet, the node that it was measured on, or the two between which it was.
    pub nodes: Vec<String>,
    /// Of a pair of nodes, how many pairs were measured at a time.
    pub concurrent: Option<Concurrent>,
    /// Of an open loop, how its schedule was kept.
    pub rate: Option<MeasuredRate>,
    /// Operations per sample.
    pub batch: Option<u64>,
    pub status: Status,
    /// Why it isn't ok.
    pub reason: Option<String>,
    /// By round, in the unit of the estimate.
    pub launch_medians: Vec<Option<f64>>,
    /// By round, the cycles of each launch that took turns with others.
    #[serde(default)]
    launch_cycles: Vec<Option<Cycles>>,
    /// The percentiles of each launch by name, by round.
    #[serde(default)]
    pub launch_percentiles: BTreeMap<String, Vec<Option<f64>>>,
    /// The largest sample of all launches, in ns; None where samples are no single operations.
    pub largest_ns: Option<f64>,
    value: Option<MeasuredValue>,
}

/// Of an estimate, what a comparison shows beside the medians.
#[derive(Clone, Debug, Deserialize)]
struct MeasuredValue {
    percentiles: BTreeMap<String, Option<MeasuredPercentile>>,
}

/// A percentile over launches.
#[derive(Clone, Copy, Debug, Deserialize)]
struct MeasuredPercentile {
    value: f64,
}

/// What a result says of its metric.
#[derive(Clone, Debug, Deserialize)]
struct Brief {
    name: String,
    unit: Unit,
}

/// The schedule of an open loop.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct MeasuredRate {
    /// How many generators sent them.
    pub generators: Option<u32>,
    /// How they were spread over time.
    pub arrivals: Arrivals,
    /// Whether less was served.
    pub overloaded: bool,
    /// Whether less was offered.
    pub void: bool,
}

/// What a capacity is of: a mechanism with everything but the rate.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Subject {
    /// What was asked, at no rate of its own.
    #[serde(flatten)]
    pub case: Case,
    /// What was asked of the response time.
    pub bound: TailBound,
}

/// A capacity of an exported run.
#[derive(Clone, Debug, Deserialize)]
pub struct MeasuredCapacity {
    #[serde(flatten)]
    pub subject: Subject,
    pub status: Status,
    pub reason: Option<String>,
    pub every_round_disturbed: bool,
    #[serde(flatten)]
    pub found: FoundCapacity,
    pub rates: Vec<TriedRate>,
}

/// A rate that was tried, with the index of its result.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct TriedRate {
    pub per_sec: u64,
    pub result: usize,
}

#[derive(Clone, Debug, Deserialize)]
pub struct MeasuredGroup {
    #[serde(flatten)]
    pub case: Case<()>,
    /// The same case under two names.
    pub twin_check: Option<MeasuredTwin>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct MeasuredTwin {
    /// What was measured twice.
    pub variant: String,
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    pub high: f64,
}

impl Measured {
    /// A run of a store, by way of its text: to the last bit what its file says.
    pub fn of(judged: &Judged) -> Measured {
        let text = serde_json::to_string(&judged.export()).expect("a run is always JSON");
        Measured::parse(&text).expect("an export of this version")
    }

    /// A file that `ipcmark export` wrote.
    ///
    /// # Errors
    /// A sentence without the file's name, that ends with the remedy.
    pub fn parse(text: &str) -> Result<Measured, String> {
        let whole: Value = serde_json::from_slice(text.as_bytes())
            .map_err(|error| format!("is not JSON ({error}); {AGAIN}"))?;
        Measured::read(whole, text)
    }

    fn read(whole: Value, text: &str) -> Result<Measured, String> {
        match whole.get("schema_version").and_then(Value::as_u64) {
            Some(VERSION) => {}
            Some(older) if older < VERSION => {
                return Err(format!(
                    "was written by an earlier ipcmark (schema_version {older}, this one reads \
                     {VERSION}); {AGAIN}"
                ));
            }
            Some(newer) if newer > VERSION => {
                return Err(format!(
                    "was written by a newer ipcmark (schema_version {newer}, this one knows \
                     {VERSION}): update"
                ));
            }
            _ => return Err(format!("is not an export of a run; {AGAIN}")),
        }
        let first = whole.pointer("/results/0");
        if first.is_some_and(|case| case.get("launch_medians").is_none()) {
            return Err(format!("was exported without its launch medians; {AGAIN}"));
        }
        let read = serde_json::from_slice::<Measured>(text.as_bytes());
        let mut read = read.map_err(|error| format!("is damaged ({error}); {AGAIN}"))?;
        read.whole = whole;
        for case in &mut read.results {
            let is = |metric: &&Metric| {
                metric.name == case.metric.name && metric.unit == case.metric.unit
            };
            case.found = read.metrics.iter().find(is).cloned();
            if case.found.is_none() {
                let name = &case.metric.name;
                return Err(format!("is damaged (no metric is called `{name}`); {AGAIN}"));
            }
        }
        Ok(read)
    }

    /// What a gate holds of a case by round, its times or a percentile of each launch, of those rounds alone that are known to be
    /// undisturbed; of a fleet, all.
    pub(super) fn undisturbed(
        &self,
        case: &MeasuredCase,
        percentile: Option<&str>,
    ) -> Vec<Option<InRound>> {
        let quiet: Vec<u64> = self.quiet(case.group).collect();
        let counts = |round: &u64| self.is_unchecked() || quiet.contains(round);
        let held: Vec<Option<InRound>> = match percentile {
            None => case.in_rounds().collect(),
            Some(name) => {
                let found = case.launch_percentiles.get(name).into_iter().flatten();
                found.map(|time| time.map(InRound::from)).collect()
            }
        };
        held.into_iter().zip(1..).map(|(time, round)| time.filter(|_| counts(&round))).collect()
    }

    /// Rounds of a group whose cases have these times, and how many of them are known to be undisturbed; of a
    /// fleet, all.
    pub(super) fn rounds_of(&self, group: usize, cases: &[Vec<Option<InRound>>]) -> [u64; 2] {
        let all = cases.iter().map(Vec::len).max().unwrap_or(0) as u64;
        let quiet = self.quiet(group).filter(|round| *round <= all).count() as u64;
        [all, if self.is_unchecked() { all } else { quiet }]
    }

    /// Of so many rounds of a group those that nobody knows of whether others disturbed them: what would tell
    /// couldn't be read, or wasn't kept.
    pub(super) fn unknown_of(&self, group: usize, all: u64) -> u64 {
        let known = |round: &&MeasuredRound| {
            round.group == group && round.round <= all && round.unknown.is_none()
        };
        all - self.rounds.iter().filter(known).count().min(all as usize) as u64
    }

    /// Rounds of which nobody knows whether others disturbed them.
    pub(super) fn unknown_rounds(&self) -> u64 {
        let unknown = self.rounds.iter().filter(|round| round.state() == RoundState::Unknown);
        unknown.count() as u64
    }

    /// Whether its rounds were never checked: those of a fleet, on whose nodes nobody looks beside the launches.
    fn is_unchecked(&self) -> bool {
        self.rounds.is_empty() && self.field("/fleet").is_object()
    }

    fn quiet(&self, group: usize) -> impl Iterator<Item = u64> {
        let is_quiet = |round: &&MeasuredRound| round.marked.is_none() && round.unknown.is_none();
        let here = self.rounds.iter().filter(move |round| round.group == group).filter(is_quiet);
        here.map(|round| round.round)
    }

    /// Whether others disturbed every round in which the case has a launch.
    pub(super) fn disturbs_all_of(&self, case: &MeasuredCase) -> bool {
        let has = |round: u64| {
            matches!(case.launch_medians.get((round as usize).wrapping_sub(1)), Some(Some(_)))
        };
        let own = self.rounds.iter().filter(|round| round.group == case.group && has(round.round));
        own.map(MeasuredRound::state).collect::<RoundCounts>().allow_no_verdict()
    }

    /// A field of the export, by its JSON pointer; null where it isn't there.
    pub fn field(&self, pointer: &str) -> &Value {
        self.whole.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// Number, label and start: `run 3 (before)`.
    pub fn name(&self) -> String {
        match &self.label {
            Some(label) => format!("run {} ({label})", self.run),
            None => format!("run {}", self.run),
        }
    }
}

const AGAIN: &str = "write it with `ipcmark export last -o run.json`";

is_a_case!(MeasuredCase);
is_a_case!(MeasuredGroup, ());
is_a_case!(Subject);

impl MeasuredCase {
    /// Whether it shows the harness and not a mechanism.
    pub fn is_control(&self) -> bool {
        self.carries.is_control()
    }

    pub fn metric(&self) -> &Metric {
        self.found.as_ref().expect("found when the export was read")
    }

    /// Its p99 over launches, in ns; None where samples are too few, or no single operations.
    pub fn p99(&self) -> Option<f64> {
        Some((*self.value.as_ref()?.percentiles.get("p99")?)?.value)
    }

    /// Whether it was measured.
    pub fn is_ok(&self) -> bool {
        self.status == Status::Ok && self.shortfall().is_none()
    }

    /// Why a schedule that was not kept is no result.
    pub(super) fn shortfall(&self) -> Option<String> {
        let rate = self.rate.filter(|rate| rate.overloaded || rate.void)?;
        let what = if rate.void { "void (the rate was not offered)" } else { "overloaded" };
        Some(format!("{what} at {} messages a second", self.load?.per_second))
    }

    /// Time per operation of each launch that was measured, up to a factor that is the same in
    /// every run: rates are turned round.
    pub(super) fn times(&self) -> Vec<f64> {
        self.by_round().flatten().collect()
    }

    /// The same by round; None where a launch failed.
    fn by_round(&self) -> impl Iterator<Item = Option<f64>> {
        let is_rate = self.metric().better == Better::Higher;
        let time = move |value: f64| if is_rate { 1.0 / value } else { value };
        self.launch_medians.iter().map(move |median| median.map(time))
    }

    /// The same, with its cycles.
    fn in_rounds(&self) -> impl Iterator<Item = Option<InRound>> {
        let cycles = self.launch_cycles.iter().chain(std::iter::repeat(&None));
        let in_round = |(time, cycles): (Option<f64>, &Option<Cycles>)| {
            Some(InRound { time: time?, in_turns: cycles.as_ref().map(Cycles::in_set) })
        };
        self.by_round().zip(cycles).map(in_round)
    }

    /// Whether it is the same case of another run; how it was done may differ.
    pub(super) fn is(&self, other: &MeasuredCase) -> bool {
        self.identity() == other.identity() && self.arrivals() == other.arrivals()
    }

    /// What tells it from the other cases of its run, on any machine.
    fn identity(&self) -> Identity {
        let concurrent = self.concurrent.map(Concurrent::name);
        let loose = factor::loose().flat_map(|row| row.columns).map(|(key, _)| *key);
        let loose: Vec<&str> = loose.chain(["cpus"]).collect();
        Identity::of(&self.case, &self.nodes, concurrent).without(&loose)
    }

    fn arrivals(&self) -> Option<Arrivals> {
        self.rate.map(|rate| rate.arrivals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_export_is_refused_with_the_remedy() {
        for (text, word) in [
            ("", "not JSON"),
            ("{", "not JSON"),
            ("[1]", "not an export"),
            ("{}", "not an export"),
            (r#"{"schema_version": 2, "results": []}"#, "newer ipcmark"),
            (r#"{"schema_version": 0, "results": []}"#, "earlier ipcmark"),
            (r#"{"schema_version": 1, "results": [{"variant": "pipe"}]}"#, "launch medians"),
            (r#"{"schema_version": 1, "results": []}"#, "damaged"),
        ] {
            let error = Measured::parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
            assert!(error.contains("ipcmark export") || error.ends_with("update"), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
