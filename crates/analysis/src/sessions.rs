//! Sessions of a run: how much it varies from one to the next.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::CaseResult;
use super::rounds::JudgedRound;

/// A case over the sessions of its run.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SessionsSeen {
    /// Sessions in which it was measured.
    pub sessions: u64,
    /// The median of each, in the unit of the estimate.
    pub medians: Vec<f64>,
    /// The median of those.
    pub median: f64,
    /// Lower end of the interval that holds the variance between sessions: Student's, of the logarithms.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Its coverage, where medians of sessions are log-normal.
    pub coverage: f64,
}

/// Gives each case of a run of several sessions what they come to.
pub(super) fn assign(results: &mut [CaseResult], rounds: &[JudgedRound]) {
    // Those that there are: the number of the last may be anything in a damaged store.
    let sessions: BTreeSet<_> = rounds.iter().map(|round| round.session).collect();
    if sessions.len() < 2 {
        return;
    }
    for case in results {
        let medians = sessions.iter().filter_map(|session| {
            let here = rounds
                .iter()
                .filter(|round| round.group == case.group && round.session == *session);
            let at = here.filter_map(|round| {
                *case.launch_medians.get(usize::try_from(round.round).ok()?.checked_sub(1)?)?
            });
            stats::median_of(at)
        });
        let medians: Vec<f64> = medians.collect();
        case.sessions = stats::over_sessions(&medians).map(|interval| SessionsSeen {
            sessions: medians.len() as u64,
            medians,
            median: interval.estimate,
            low: interval.low,
            high: interval.high,
            coverage: interval.coverage,
        });
    }
}
