//! The results of a case in earlier runs of this store on this host: runs are a level of their own.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::CaseResult;
use store::{RunBefore, Store, StoreError, StoredRun};

/// Launches of a case in an earlier run, at least: fewer have no median to speak of.
const LEAST_LAUNCHES: usize = 6;

/// Medians of earlier runs of a case.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Earlier {
    /// The smallest, in the unit of the estimate.
    pub low: f64,
    /// The largest.
    pub high: f64,
    /// How many runs.
    pub runs: u64,
}

/// Gives each case its results in earlier runs on a host like this one. Those of two hosts have none:
/// neither host is all that decides.
pub(super) fn assign(
    store: &Store,
    run: &StoredRun,
    results: &mut [CaseResult],
) -> Result<(), StoreError> {
    if run.peer.is_some() || run.fleet.is_some() {
        return Ok(());
    }
    // By case, and whether messages of open loops arrived as in this run.
    let mut medians: HashMap<(String, bool), Vec<f64>> = HashMap::new();
    for RunBefore { id, host, arrivals } in store.runs_before(run.id)? {
        if !host.is_like(&run.host) {
            continue;
        }
        let alike = arrivals == run.request.arrivals;
        // A damaged run says nothing of this one.
        let Ok(values) = store.launch_values(id) else { continue };
        let mut launches: HashMap<String, Vec<f64>> = HashMap::new();
        for (key, value) in values {
            launches.entry(key).or_default().push(value);
        }
        for (key, values) in launches.into_iter().filter(|launch| launch.1.len() >= LEAST_LAUNCHES)
        {
            medians.entry((key, alike)).or_default().extend(stats::median_of(values));
        }
    }
    if medians.is_empty() {
        return Ok(());
    }
    let keys: HashMap<i64, String> = store.case_keys(run.id)?.into_iter().collect();
    for case in results.iter_mut().filter(|case| case.launches > 0) {
        let Some(key) = keys.get(&case.id) else { continue };
        let mut found = medians.get(&(key.clone(), true)).cloned().unwrap_or_default();
        if case.rate.is_none() {
            found.extend(medians.get(&(key.clone(), false)).into_iter().flatten());
        }
        let unit = case.unit();
        let values: Vec<f64> = found.into_iter().map(unit).collect();
        case.earlier = (!values.is_empty()).then(|| Earlier {
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(0.0, f64::max),
            runs: values.len() as u64,
        });
    }
    Ok(())
}
