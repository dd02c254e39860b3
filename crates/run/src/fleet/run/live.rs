//! The cases of a run on many nodes while they are measured, and the launches of them that are wanted.

use std::collections::{HashMap, HashSet};

use crate::fleet::plan::Kind;
use crate::launch::LaunchResult;
use crate::launch::state::Wanted;
use model::launch::{Outcome, Record};
use store::{Store, StoreError};

/// A case being measured.
#[derive(Clone, Copy, Default)]
pub struct Live {
    pub id: i64,
    pub batch: u64,
    pub samples: u64,
    pub operation_ns: f64,
    /// Launches that failed, pilots too.
    pub failed: usize,
    /// Those of rounds that worked.
    pub worked: usize,
}

/// Launches that are stored, by case and round.
pub type Done = HashSet<(i64, u64)>;

/// A launch that is wanted, and of which case.
pub struct Turn {
    pub group: usize,
    pub nth: usize,
    pub swapped: bool,
    pub wanted: Wanted,
    /// Why it can't be had.
    pub refused: Option<String>,
}

impl Turn {
    /// How it ends where it can't be had.
    pub fn not_had(&self) -> LaunchResult {
        let reason = self.refused.clone().unwrap_or_default();
        let record = Record::without_samples(Outcome::NotApplicable { reason });
        LaunchResult { record, samples: Vec::new() }
    }
}

/// The cases as they are stored, with what their pilots found; and which launches of them there are, by case
/// and round.
pub fn revive(
    store: &Store,
    run: i64,
    kinds: &[Kind],
    nodes: usize,
) -> Result<(Vec<Vec<Live>>, Done), StoreError> {
    let done = store.fleet_done(run)?;
    let mut told: HashMap<(i64, bool), usize> = HashMap::new();
    for ((case, round), ok) in &done {
        *told.entry((*case, *ok)).or_default() += usize::from(!ok || *round > 0);
    }
    let mut live: Vec<Vec<Live>> =
        kinds.iter().map(|kind| vec![Live::default(); kind.cases(nodes)]).collect();
    for case in store.fleet_cases(run)? {
        let Some(place) = live.get_mut(case.group).and_then(|it| it.get_mut(case.nth)) else {
            continue;
        };
        let of = |ok| told.get(&(case.id, ok)).copied().unwrap_or(0);
        *place = Live {
            id: case.id,
            batch: case.batch.unwrap_or(0),
            samples: case.samples.unwrap_or(0),
            operation_ns: case.operation_ns.unwrap_or(0.0),
            failed: of(false),
            worked: of(true),
        };
    }
    Ok((live, done.into_keys().collect()))
}
