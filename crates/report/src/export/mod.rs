//! A judged run in the formats of other tools: one file per format, each a pure function of
//! the run, and of the store where single samples are needed. docs/FORMAT.md describes them.

mod bmf;
mod csv;
mod data;
pub mod gate;
mod github_action;
mod google_benchmark;
mod hgrm;
mod latex;
mod lkp;
mod matrix;
pub mod ndjson;
mod openmetrics;

use crate::compose::{self, Detail};
use analysis::{CaseResult, Judged};
use model::case::Case;
use model::factor::{FACTORS, Factor, Row};
use model::load::{Load, Service};
use model::metric::Operation;
use model::request::Request;
use model::size;
use model::total::Total;
use model::workload::Arrivals;
use serde::Serialize;
use store::{Concurrent, Store, StoreError, StoredCase, StoredLaunch};

pub use crate::markdown::render as markdown;
pub use data::{Container, DataError, Rows, write as write_data};
pub use hgrm::spectra;
pub use matrix::files as matrices;

/// A format that a run can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One object: docs/results.schema.json.
    Json,
    /// One event a line: docs/events.schema.json.
    Ndjson,
    /// One row per case and metric, RFC 4180.
    Csv,
    /// One row per launch or per sample.
    Data(Rows),
    /// A square matrix by CPU for each thing measured between pairs of CPUs, RFC 4180.
    CpuMatrix,
    /// One row per claim of the run's study, RFC 4180.
    ClaimsCsv,
    /// Verdicts and tables as GitHub shows them.
    Markdown,
    /// HdrHistogram's percentile spectrum, one per case.
    Hgrm,
    /// One that another tool reads, by its place among `TOOLS`.
    Tool(usize),
}

/// A format of another tool: its name, and how a run is written in it.
type Tool = (&'static str, fn(&Judged) -> String);

/// What other tools read, a file of `export/` each: Bencher, Google Benchmark's compare.py, github-action-benchmark,
/// Prometheus and its kin, lkp-tests, LaTeX.
const TOOLS: [Tool; 6] = [
    ("bmf", bmf::text),
    ("google-benchmark", google_benchmark::text),
    ("github-action-benchmark", github_action::text),
    ("openmetrics", openmetrics::text),
    ("lkp", lkp::text),
    ("latex", latex::text),
];

impl Format {
    /// Those of ipcmark itself, and those that it shares with others.
    const OWN: [(&'static str, Format); 9] = [
        ("json", Format::Json),
        ("ndjson", Format::Ndjson),
        ("csv", Format::Csv),
        ("launches", Format::Data(Rows::Launches)),
        ("samples", Format::Data(Rows::Samples)),
        ("cpu-matrix", Format::CpuMatrix),
        ("claims-csv", Format::ClaimsCsv),
        ("markdown", Format::Markdown),
        ("hgrm", Format::Hgrm),
    ];

    /// Every format, as the command line names it.
    pub fn names() -> impl Iterator<Item = (&'static str, Format)> {
        let tools = TOOLS.iter().enumerate().map(|(at, (name, _))| (*name, Format::Tool(at)));
        Format::OWN.into_iter().chain(tools)
    }

    /// How the command line names it.
    pub fn name(self) -> &'static str {
        Format::names().find(|(_, format)| *format == self).map_or("json", |name| name.0)
    }

    /// The format called `name`.
    pub fn named(name: &str) -> Option<Format> {
        Format::names().find(|pair| pair.0 == name).map(|name| name.1)
    }
}

/// A run in a format; `store` is the one that it was judged from.
///
/// # Errors
/// Where samples, or launches, can't be read.
pub fn text(format: Format, judged: &Judged, store: &Store) -> Result<String, StoreError> {
    Ok(match format {
        Format::Json => json(&judged.export()),
        Format::Ndjson => ndjson::text(judged, store)?,
        Format::Csv => csv::text(judged),
        Format::CpuMatrix => matrix::text(judged),
        Format::Data(rows) => {
            let mut text = Vec::new();
            match write_data(rows, Container::Csv, judged, store, &mut text) {
                Err(DataError::Store(error)) => return Err(error),
                written => written.expect("memory takes whatever is written"),
            }
            String::from_utf8(text).expect("a table of text is text")
        }
        Format::ClaimsCsv => csv::claims(judged),
        Format::Markdown => markdown(&match &judged.fleet {
            Some(fleet) => compose::fleet::compose(fleet, &judged.groups, Detail::Summary),
            None => compose::compose(judged, Detail::Summary),
        }),
        Format::Hgrm => hgrm::text(judged, store)?,
        Format::Tool(at) => TOOLS[at].1(judged),
    })
}

/// One name per case, the same in every run that asks for the same:
/// `pipe/latency/64B/same-cpu/process`, of a fleet `tcp/latency/64B/peer/n1..n2/one-pair/free/process`. It
/// holds no space and no comma.
pub(crate) fn name(judged: &Judged, case: &CaseResult) -> String {
    // Names of runs without a total of their own stay as they were before there were any.
    let asked = !judged.run.request.totals.is_empty();
    let arrivals = case.rate.map(|rate| rate.arrivals);
    let mut parts = parts(&case.case, (arrivals, asked), (&case.nodes, case.concurrent));
    parts.extend(judged.run.request.verify.then(|| "verify".to_string()));
    parts.extend(case.twin.then(|| "twin".to_string()));
    parts.extend(is_repeated(judged, case).then(|| "again".to_string()));
    joined(parts)
}

/// The name that a case will have in every format, once it is measured as `request` asks.
pub fn planned_name(case: &Case, request: &Request) -> String {
    let paced = case.load.is_some_and(|load| load.has_rate());
    let arrivals = paced.then_some(request.arrivals);
    let mut parts = parts(case, (arrivals, !request.totals.is_empty()), (&[], None));
    parts.extend(request.verify.then(|| "verify".to_string()));
    parts.extend(case.twin.then(|| "twin".to_string()));
    joined(parts)
}

/// Without a comma, which parts the cells of a table.
fn joined(parts: Vec<String>) -> String {
    parts.join("/").replace(',', "+")
}

/// The name of a case of two runs that are compared.
fn case_name(case: &Case, nodes: &[String]) -> String {
    joined(parts(case, (None, false), (nodes, None)))
}

/// The parts of a name; with totals that every run has only where they were `asked`.
fn parts(
    case: &Case,
    (arrivals, asked): (Option<Arrivals>, bool),
    (nodes, concurrent): (&[String], Option<Concurrent>),
) -> Vec<String> {
    let mut parts = vec![case.variant.clone(), case.workload.name().to_string()];
    parts.extend(case.message_bytes.map(|bytes| {
        let size = size::format(bytes);
        let unit = if size.ends_with(|size: char| size.is_ascii_digit()) { "B" } else { "iB" };
        format!("{size}{unit}")
    }));
    let load = case.load.filter(Load::has_rate);
    parts.extend(load.map(|load| format!("{}-a-second", load.per_second)));
    parts.extend(load.filter(|load| load.depth > 1).map(|load| format!("depth-{}", load.depth)));
    let arrivals = arrivals.filter(|arrivals| *arrivals != Arrivals::default());
    parts.extend(arrivals.map(|arrivals| arrivals.to_string()));
    let answer = load.and_then(|load| load.response);
    parts.extend(answer.map(|bytes| format!("answers-{bytes}B")));
    let service = load.map(|load| load.service).filter(|service| *service != Service::None);
    parts.extend(service.map(|service| format!("service-{service}")));
    let served = load.and_then(|load| Some((load.connections, load.choice()?)));
    parts.extend(served.into_iter().flat_map(|(connections, server)| {
        [format!("connections-{connections}"), format!("server-{}", server.name())]
    }));
    // Those that a workload has by itself are in no name.
    let closed =
        case.load.filter(|load| !load.has_rate() && Load::of(case.workload, None) != Some(*load));
    parts.extend(closed.map(|load| format!("connections-{}", load.connections)));
    let total = case.total.filter(|total| asked || *total != Total::Long);
    parts.extend(total.map(|total| format!("of-{total}")));
    parts.extend((!case.route.is_local()).then(|| case.route.to_string()));
    parts.extend((!nodes.is_empty()).then(|| nodes.join("..")));
    parts.extend(concurrent.map(|concurrent| match concurrent {
        Concurrent::One => "one-pair".into(),
        Concurrent::All => "all-pairs".into(),
    }));
    parts.extend([case.placement.to_string(), case.workers.name().to_string()]);
    let unusual = |row: &&Row| {
        let plain = row.plain.is_some() && row.factor != Factor::Workers;
        plain || row.factor == Factor::Arm
    };
    for row in FACTORS.iter().filter(unusual) {
        let level = row.factor.of(case).filter(|level| row.usual != Some(level));
        parts.extend(level.map(|level| format!("{}-{level}", row.key)));
    }
    parts
}

/// The cases that were measured, each under one name.
fn measured(judged: &Judged) -> impl Iterator<Item = &CaseResult> {
    judged.results.iter().filter(|case| !case.twin && case.value.is_some())
}

/// As indented JSON.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("a run and its numbers are always JSON") + "\n"
}

/// A title with nothing in it that a name of a file can't have.
fn file_name(title: &str) -> String {
    let fit = |c: char| if c.is_alphanumeric() || "-=.+".contains(c) { c } else { '_' };
    title.chars().map(fit).collect()
}

/// Whether an earlier group has the same case: a rate that chose others, and was measured again with them.
fn is_repeated(judged: &Judged, case: &CaseResult) -> bool {
    let same = |other: &CaseResult| other.group < case.group && other.case == case.case;
    judged.run.request.bound.is_some() && judged.results.iter().any(same)
}

/// Whether each sample of a case is one round trip, so that it has percentiles of one.
fn single(case: &CaseResult) -> bool {
    case.metric.operation == Operation::RoundTrip && case.batch == Some(1)
}

/// Why a latency case is missing where percentiles are shown; None where it isn't.
fn without_percentiles(judged: &Judged, case: &CaseResult) -> Option<String> {
    let why = match (case.metric.operation, case.launches, case.batch) {
        (Operation::RoundTrip, 0, _) => "not measured".to_string(),
        (Operation::RoundTrip, _, Some(1)) => return None,
        (Operation::RoundTrip, _, batch) => format!(
            "timed in batches of {} round trips, which have no percentiles of a single one",
            batch.unwrap_or(0)
        ),
        (operation, ..) => format!("a {} is no round trip", operation.noun()),
    };
    Some(format!("{}: {why}", name(judged, case)))
}

/// The stored side of each result, in the order of the results.
fn stored(judged: &Judged) -> impl Iterator<Item = (&StoredCase, &CaseResult)> {
    judged.run.results().map(|(_, case)| case).zip(&judged.results)
}

/// Every launch that is a result, with the index of its result, in the order in which they were
/// stored, which is the order in which they were timed.
fn launches(judged: &Judged, store: &Store) -> Result<Vec<(usize, StoredLaunch)>, StoreError> {
    let mut found = Vec::new();
    for (nth, (case, _)) in stored(judged).enumerate() {
        let launches = store.launches(case.id)?.into_iter();
        found.extend(launches.filter(|launch| launch.round > 0).map(|launch| (nth, launch)));
    }
    found.sort_by_key(|(_, launch)| launch.id);
    Ok(found)
}
