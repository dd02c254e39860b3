//! Google Benchmark's JSON, for its compare.py and what else reads it: an iteration a launch, as its repetitions are,
//! so that its U test is one over launches. Times are of an operation, of transfers of a message.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{json, measured, name};
use analysis::Judged;

#[derive(Serialize)]
struct File {
    context: BTreeMap<&'static str, serde_json::Value>,
    benchmarks: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: String,
    run_name: String,
    run_type: &'static str,
    repetitions: usize,
    repetition_index: usize,
    threads: u64,
    iterations: u64,
    real_time: f64,
    /// Of both workers, over all launches: a launch alone tells too little.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_time: Option<f64>,
    time_unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_second: Option<f64>,
}

pub fn text(judged: &Judged) -> String {
    let run = &judged.run;
    let mut context: BTreeMap<&'static str, serde_json::Value> = BTreeMap::new();
    context.insert("date", run.started.as_str().into());
    context.insert("host_name", run.host.hostname.as_deref().unwrap_or_default().into());
    context.insert("executable", run.tool.as_str().into());
    context.insert("num_cpus", run.host.cpus_online.as_ref().map_or(0, Vec::len).into());
    context.insert("caches", serde_json::Value::Array(Vec::new()));
    context.insert("library_build_type", "release".into());
    let mut benchmarks = Vec::new();
    for case in measured(judged) {
        let launches: Vec<f64> = case.by_round.iter().flatten().copied().collect();
        let (name, repetitions) = (name(judged, case), launches.len());
        let iterations = case.samples * case.batch.unwrap_or(1) / repetitions.max(1) as u64;
        let rate = |ns: f64| case.metric.of_ns(ns, case.message_bytes);
        benchmarks.extend(launches.iter().enumerate().map(|(repetition_index, ns)| Row {
            run_name: name.clone(),
            name: name.clone(),
            run_type: "iteration",
            repetitions,
            repetition_index,
            threads: 1,
            iterations,
            real_time: *ns,
            cpu_time: case.cpu_ns_per_operation.as_ref().map(|cost| cost.total),
            time_unit: "ns",
            bytes_per_second: case.metric.is_transfer().then(|| rate(*ns)),
        }));
    }
    json(&File { context, benchmarks })
}
