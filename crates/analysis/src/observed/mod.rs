//! What was counted in the launches of a case that were instrumented, and tracing overhead.
//!
//! Events are summed over both workers, each divided by what that worker did; the overhead is the
//! time of the observed launches over that of the others, paired within rounds.

mod decode;
mod figures;
mod trace_summary;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::rounds::{by_round, put};
use super::{CaseRatio, CaseResult, MedianInterval, OverRounds, Status};
use model::case::Case;
use model::counts::{Counts, FIGURES, Family};
use model::probe::{Instrument, Probe};
use model::trace::{Traced, Trips};
use store::{Concurrent, StoredLaunch};

pub(super) use figures::assign;
pub use trace_summary::{
    Beyond, CallStats, CallSummary, InterruptSummary, Returned, SocketSummary, TraceSummary, Wait,
    WakeUps, Worker,
};

/// A case under a probe.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Observed {
    /// Its launches, judged as if they were results; in exports what was asked.
    #[serde(flatten, serialize_with = "asked")]
    #[schemars(with = "Asked")]
    pub case: CaseResult,
    /// Instrumentation, which is a level of the case.
    #[serde(skip)]
    pub probe: Probe,
    /// What became of it.
    pub status: Status,
    /// Why it isn't ok, with the remedy.
    pub reason: Option<String>,
    /// Launches that were observed.
    pub launches: u64,
    /// What was counted, by name.
    pub events: Vec<EventCount>,
    /// Figures of hardware counters: sums of user and kernel, and one count over another, of any
    /// family of the same case; empty of software and traces.
    pub figures: Vec<CountFigure>,
    /// What a trace recorded; null of counters.
    pub trace: Option<TraceSummary>,
    /// Tracing overhead; null where too few rounds have both.
    #[serde(rename = "price")]
    pub overhead: Option<CaseRatio>,
    /// How often the instrumentation ran for the workers, per operation of the initiator: programs of a trace, events of
    /// `software`, calls entered of `calls`. The processor's counters don't run, and empty programs don't count.
    #[serde(skip)]
    pub(super) firings: Option<OverRounds>,
    /// The round trips of each traced launch, decomposed, by round from 1; empty of counters.
    #[serde(skip)]
    pub trips: Vec<Option<Trips>>,
    /// What getppid(2) cost before and while programs were attached, in ns, by round.
    #[serde(skip)]
    pub call_ns: Vec<Option<[f64; 2]>>,
    /// Index of the result that it is compared with.
    #[serde(skip)]
    pub beside: Option<usize>,
}

/// What an export says of a case whose launches are no results: what was asked, and where.
#[derive(JsonSchema, Serialize)]
pub(super) struct Asked<'a> {
    #[serde(flatten)]
    case: &'a Case,
    /// As of a result.
    nodes: &'a [String],
    /// As of a result.
    concurrent: Option<Concurrent>,
}

/// Writes of a result what was asked of it.
pub(super) fn asked<S: Serializer>(result: &CaseResult, to: S) -> Result<S::Ok, S::Error> {
    let CaseResult { case, nodes, concurrent, .. } = result;
    Asked { case, nodes, concurrent: *concurrent }.serialize(to)
}

/// How often something happened per operation: a round trip, a message, a set-up.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct EventCount {
    /// The event; `…-ns` for a time.
    pub name: String,
    /// Median over launches of the count per operation, both workers together.
    pub per_operation: f64,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
    /// The same per message: a round trip carries two. Null of a set-up.
    pub per_message: Option<f64>,
    /// The same per byte of the message, over every way that it went; null where there is none.
    pub per_byte: Option<f64>,
    /// By round, from 1; null where it wasn't counted.
    #[serde(skip)]
    pub by_round: Vec<Option<f64>>,
}

/// A figure made of hardware counts.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct CountFigure {
    /// `instructions` for those of user and kernel together, `cycles-per-instruction:k`.
    pub name: String,
    /// Median over launches; a sum is per operation, both workers together.
    pub value: f64,
    /// Its interval.
    #[serde(flatten)]
    pub interval: MedianInterval,
    /// By round, from 1.
    #[serde(skip)]
    pub by_round: Vec<Option<f64>>,
}

impl CountFigure {
    /// Whether it adds user and kernel up, and divides nothing.
    pub fn is_sum(&self) -> bool {
        let name = self.name.split(':').next().unwrap_or_default();
        FIGURES.iter().all(|figure| figure.name != name)
    }
}

/// What an operation carries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    /// Messages, or wake-ups where the mechanism carries only those.
    messages: Option<f64>,
    /// Bytes of them.
    bytes: Option<f64>,
}

impl Observed {
    /// Judges the launches of `case` under `probe`; `plain` are the results of its group, whose
    /// first has the index `first`.
    pub(super) fn of(
        probe: Probe,
        case: CaseResult,
        launches: &[StoredLaunch],
        plain: &[CaseResult],
        first: usize,
    ) -> Observed {
        let beside = plain.iter().position(|other| is_beside(other, &case));
        Observed {
            probe,
            status: case.status,
            reason: case.reason.clone(),
            launches: case.launches,
            events: events(&case, launches),
            figures: Vec::new(),
            trace: if probe.empty { None } else { TraceSummary::of(launches) },
            overhead: beside.and_then(|at| CaseRatio::of(&case.log_ratios_to(&plain[at]))),
            beside: beside.map(|at| first + at),
            firings: OverRounds::of(firings(probe, launches)),
            trips: of_traces(launches, |traced| traced.trips.clone()),
            call_ns: of_traces(launches, |traced| {
                Some([traced.bare_call_ns, traced.attached_call_ns])
            }),
            case,
        }
    }

    /// Whether both are of the same case, whatever the instrumentation.
    pub fn is_same_case(&self, other: &Observed) -> bool {
        self.case.identity() == other.case.identity()
    }

    /// What was counted of the event called `name`.
    pub fn event(&self, name: &str) -> Option<&EventCount> {
        self.events.iter().find(|event| event.name == name)
    }
}

/// Whether `plain` is the result of what `case` is, but for its instrumentation and what runs beside.
pub(super) fn is_beside(plain: &CaseResult, case: &CaseResult) -> bool {
    !plain.twin && plain.identity() == case.identity()
}

/// Something of the trace of each launch, by round.
fn of_traces<T: Clone>(
    launches: &[StoredLaunch],
    what: impl Fn(&Traced) -> Option<T>,
) -> Vec<Option<T>> {
    let launches = launches.iter().filter(|launch| launch.round > 0);
    by_round(launches.map(|launch| (launch.round, launch.record.trace.as_ref().and_then(&what))))
}

/// Firings per operation of each launch, by round.
fn firings(probe: Probe, launches: &[StoredLaunch]) -> Vec<Option<f64>> {
    let fired = |launch: &StoredLaunch| {
        let mut counts = counted(launch);
        // Of a counter that is attached several times one says what it counted.
        let all = |count: f64| count * f64::from(probe.times);
        match probe.instrument {
            Instrument::Counters(Family::Calls) => counts.remove("calls").map(all),
            Instrument::Counters(Family::Software) if !counts.is_empty() => {
                counts.retain(|name, _| !name.ends_with("-ns"));
                Some(all(counts.values().sum()))
            }
            Instrument::Counters(_) => None,
            Instrument::Trace(_) => launch.record.trace.as_ref().and_then(|trace| {
                let fired: u64 = trace.firings.values().map(|firing| firing.of_workers).sum();
                let operations = trace.initiator.operations;
                (fired > 0 && operations > 0).then(|| fired as f64 / operations as f64)
            }),
        }
    };
    let launches = launches.iter().filter(|launch| launch.round > 0);
    by_round(launches.map(|launch| (launch.round, fired(launch))))
}

/// Every event that some launch counted, in the order of their names.
fn events(case: &CaseResult, launches: &[StoredLaunch]) -> Vec<EventCount> {
    let mut by_name: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for launch in launches.iter().filter(|launch| launch.round > 0 && launch.status == "ok") {
        let at = launch.round as usize - 1;
        for (name, count) in counted(launch) {
            put(by_name.entry(name).or_default(), at, Some(count));
        }
    }
    let load = Load::of(case);
    let counts =
        by_name.into_iter().filter_map(|(name, by_round)| EventCount::of(name, by_round, load));
    counts.collect()
}

impl Load {
    fn of(case: &CaseResult) -> Load {
        let messages = match case.messages() {
            0 => return Load::default(),
            messages => messages as f64,
        };
        let bytes =
            case.message_bytes.map(|bytes| match case.load.and_then(|load| load.response) {
                None => bytes as f64 * messages,
                Some(answer) => (bytes + answer) as f64,
            });
        Load { messages: Some(messages), bytes }
    }
}

/// What a launch counted per operation, both workers together.
fn counted(launch: &StoredLaunch) -> BTreeMap<String, f64> {
    let record = &launch.record;
    let mut sums = BTreeMap::new();
    let workers = [&record.initiator, &record.responder];
    for Counts { operations, events } in
        workers.into_iter().filter_map(|worker| worker.counts.as_ref())
    {
        for (name, count) in events.iter().filter(|_| *operations > 0) {
            *sums.entry(name.clone()).or_insert(0.0) += *count as f64 / *operations as f64;
        }
    }
    sums
}

impl EventCount {
    /// One event by round; None where no round has it.
    pub(super) fn of(name: String, by_round: Vec<Option<f64>>, load: Load) -> Option<EventCount> {
        let count = OverRounds::of(by_round)?;
        Some(EventCount {
            name,
            per_operation: count.median,
            interval: count.interval,
            per_message: load.messages.map(|messages| count.median / messages),
            per_byte: load.bytes.map(|bytes| count.median / bytes),
            by_round: count.by_round,
        })
    }
}
