//! Events, one JSON object a line, as a run prints them while it measures and as the export
//! prints them again: `start`, its `warning`s, a `launch` each, a `result` per case, a `claim` per claim of
//! its study, `end`.
//! docs/events.schema.json describes them.

use model::identity::Identity;
use model::request::Absence;
use schemars::JsonSchema;
use serde::Serialize;

use super::{launches, stored};
use analysis::{Accompanied, CaseResult, Claim, GroupVerdict, Judged, JudgedStudy, Observed};
use model::clock::{ClockKind, Reading, TscUnavailable};
use model::host::Host;
use store::{Concurrent, RunStatus, Store, StoreError, StoredCase, StoredRun};

/// Version of the events: grows when a reader could misread the next one.
pub const SCHEMA_VERSION: u32 = 1;

/// What happened: one line of what `--format ndjson` writes.
#[derive(JsonSchema, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event<'a> {
    /// What is about to be measured, where, and by which clock.
    Start(Line<Start<'a>>),
    /// Something that the reader of the results should know.
    Warning(Line<Warning<'a>>),
    /// One launch of a case.
    Launch(Line<OfLaunch<'a>>),
    /// A case, judged.
    Result(Line<OfCase<'a>>),
    /// A claim of the run's study, decided.
    Claim(Line<OfClaim<'a>>),
    /// The run has ended.
    End(Line<End<'a>>),
}

/// What every event has, and what is its own.
#[derive(JsonSchema, Serialize)]
pub struct Line<T> {
    /// Version of the events, a count that grows when a reader could misread the next one.
    schema_version: u32,
    /// Number of the run in its store.
    run: i64,
    #[serde(flatten)]
    body: T,
}

fn line<'a, T>(event: fn(Line<T>) -> Event<'a>, run: i64, body: T) -> String {
    let event = event(Line { schema_version: SCHEMA_VERSION, run, body });
    let mut text = serde_json::to_string(&event).expect("an event is always JSON");
    text.push('\n');
    text
}

/// Which case an event is about.
#[derive(JsonSchema, Serialize)]
pub struct Subject {
    /// Position among the planned cases and among the results, from 0.
    case: usize,
    #[serde(flatten)]
    identity: Identity,
}

impl Subject {
    fn of(case: usize, stored: &StoredCase, nodes: Vec<&str>) -> Subject {
        let nodes: Vec<String> = nodes.into_iter().map(String::from).collect();
        let concurrent = stored.ends.and_then(|ends| ends.concurrent).map(Concurrent::name);
        Subject { case, identity: Identity::of(&stored.case, &nodes, concurrent) }
    }
}

/// A run, before it begins.
#[derive(JsonSchema, Serialize)]
pub struct Start<'a> {
    /// Program and version that measures.
    tool: &'a str,
    /// The command line as it was given.
    argv: &'a [String],
    /// Seed of every random choice.
    seed: u64,
    /// When it began: UTC, RFC 3339, in seconds.
    started: &'a str,
    /// The machine.
    host: &'a Host,
    /// The clock that stamps the samples.
    clock: StartClock<'a>,
    /// Every case, in order.
    cases: Vec<Planned<'a>>,
}

/// The clock without its scale, which is known at the end.
#[derive(JsonSchema, Serialize)]
pub struct StartClock<'a> {
    /// Which clock.
    kind: ClockKind,
    /// Why it is not the time-stamp counter; null where it is.
    tsc_unavailable: &'a Option<TscUnavailable>,
    /// What reading it costs, in nanoseconds.
    cost_ns: f64,
    /// Its smallest step, in nanoseconds.
    step_ns: f64,
    /// Its readings so far beside CLOCK_MONOTONIC.
    readings: &'a [Reading],
}

/// A case of the plan, whether it can be measured or not.
#[derive(JsonSchema, Serialize)]
pub struct Planned<'a> {
    #[serde(flatten)]
    subject: Subject,
    /// Number of its group: cases with one number are compared.
    group: usize,
    /// Why it won't be measured; null where it will.
    absence: Option<Absence>,
    /// The same in words.
    reason: Option<&'a str>,
}

impl<'a> Planned<'a> {
    fn of(run: &'a StoredRun, nth: usize, group: usize, case: &'a StoredCase) -> Planned<'a> {
        Planned {
            subject: Subject::of(nth, case, run.nodes_of(case)),
            group,
            absence: case.absence,
            reason: case.reason.as_deref(),
        }
    }
}

/// What is about to be measured, where, and by which clock.
pub fn start(run: &StoredRun) -> String {
    let cases = run.results().enumerate();
    let body = Start {
        tool: &run.tool,
        argv: &run.argv,
        seed: run.request.seed,
        started: &run.started,
        host: &run.host,
        clock: StartClock {
            kind: run.clock.kind,
            tsc_unavailable: &run.clock.tsc_unavailable,
            cost_ns: run.clock.cost_ns,
            step_ns: run.clock.step_ns,
            readings: &run.clock.readings,
        },
        cases: cases.map(|(nth, (group, case))| Planned::of(run, nth, group.nth, case)).collect(),
    };
    line(Event::Start, run.id, body)
}

/// A warning, as it was shown.
#[derive(JsonSchema, Serialize)]
pub struct Warning<'a> {
    /// The warning, in words.
    text: &'a str,
}

/// Something that the reader of the results should know.
pub fn warning(run: i64, text: &str) -> String {
    line(Event::Warning, run, Warning { text })
}

/// One launch of a case.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Launch<'a> {
    /// The round, from 1.
    pub round: u64,
    /// Whether the initiator had the second CPU of the pair.
    pub swapped: bool,
    /// `ok`, `failed`, `not_applicable`, `unavailable`.
    pub status: &'a str,
    /// Why it isn't `ok`.
    pub reason: Option<&'a str>,
    /// Median of its samples, in ns per operation.
    pub median_ns: Option<f64>,
    /// Samples taken.
    pub samples: u64,
}

/// A launch, and which case it is of.
#[derive(JsonSchema, Serialize)]
pub struct OfLaunch<'a> {
    #[serde(flatten)]
    subject: Subject,
    #[serde(flatten)]
    launch: &'a Launch<'a>,
}

/// A launch of the case that is planned as number `case`; `nodes` are those of a fleet's.
pub fn launch(
    run: i64,
    (case, stored): (usize, &StoredCase),
    nodes: Vec<&str>,
    launch: &Launch,
) -> String {
    line(Event::Launch, run, OfLaunch { subject: Subject::of(case, stored, nodes), launch })
}

/// A result, and the place of its case in the plan.
#[derive(JsonSchema, Serialize)]
pub struct OfCase<'a> {
    /// Position among the planned cases of `start`, from 0.
    case: usize,
    /// The result.
    result: &'a CaseResult,
}

/// A claim, decided.
#[derive(JsonSchema, Serialize)]
pub struct OfClaim<'a> {
    /// The claim.
    claim: Claim<'a>,
}

/// What is known at the end.
#[derive(JsonSchema, Serialize)]
pub struct End<'a> {
    /// `complete`, `interrupted`.
    status: &'a str,
    /// When it ended: UTC, RFC 3339, in seconds.
    ended: Option<&'a str>,
    /// Time inside timed parts over the wall time of measuring.
    timed_share: Option<f64>,
    /// How long launches across CPUs were left alone before timing, in nanoseconds.
    settle_ns: u64,
    /// The clock, with its scale.
    clock: &'a model::clock::Record,
    /// As in the export of a run.
    observed: &'a [Observed],
    /// As in the export of a run.
    beside: &'a [Accompanied],
    /// As in the export of a run.
    comparisons: &'a [GroupVerdict],
}

/// A `result` per case, a `claim` per claim, then `end`.
pub fn conclusion(judged: &Judged) -> String {
    let run = &judged.run;
    let results = judged.results.iter().enumerate();
    let mut text: String = results
        .map(|(case, result)| line(Event::Result, run.id, OfCase { case, result }))
        .collect();
    for claim in judged.study.iter().flat_map(JudgedStudy::claims) {
        text.push_str(&line(Event::Claim, run.id, OfClaim { claim }));
    }
    let complete = run.status == RunStatus::Complete;
    let body = End {
        status: if complete { "complete" } else { "interrupted" },
        ended: run.ended.as_deref(),
        timed_share: judged.timed_share,
        settle_ns: run.settle.quiet_ns,
        clock: &run.clock,
        observed: &judged.observed,
        beside: &judged.beside,
        comparisons: &judged.groups,
    };
    text.push_str(&line(Event::End, run.id, body));
    text
}

/// The events of a stored run, in the order in which it emitted them.
pub fn text(judged: &Judged, store: &Store) -> std::result::Result<String, StoreError> {
    let run = &judged.run;
    let mut text = start(run);
    for text_of in &run.warnings {
        text.push_str(&warning(run.id, text_of));
    }
    let cases: Vec<(&StoredCase, &CaseResult)> = stored(judged).collect();
    for (nth, stored) in launches(judged, store)? {
        let (case, result) = cases[nth];
        let at = stored.round as usize - 1;
        let event = Launch {
            round: stored.round,
            swapped: stored.swapped,
            status: &stored.status,
            reason: stored.reason.as_deref(),
            median_ns: result.by_round.get(at).copied().flatten(),
            samples: stored.record.initiator.samples,
        };
        text.push_str(&launch(run.id, (nth, case), run.nodes_of(case), &event));
    }
    text.push_str(&conclusion(judged));
    Ok(text)
}
