//! The cases of a run on many nodes while they are measured, and the launches of them that are wanted.

use crate::fleet::launch_state::Wanted;
use crate::fleet::plan::Kind;
use crate::launch::LaunchResult;
use model::launch::{Outcome, Record};
use store::{Store, StoreError};

/// A case being measured.
#[derive(Clone, Copy, Default)]
pub struct Live {
    pub id: i64,
    pub batch: u64,
    pub samples: u64,
    pub operation_ns: f64,
    pub failures: u32,
    pub worked: bool,
}

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

/// The cases as they are stored, with what their pilots found.
pub fn revive(
    store: &Store,
    run: i64,
    kinds: &[Kind],
    nodes: usize,
) -> Result<Vec<Vec<Live>>, StoreError> {
    let mut live: Vec<Vec<Live>> =
        kinds.iter().map(|kind| vec![Live::default(); kind.cases(nodes)]).collect();
    for case in store.fleet_cases(run)? {
        let Some(place) = live.get_mut(case.group).and_then(|it| it.get_mut(case.nth)) else {
            continue;
        };
        *place = Live {
            id: case.id,
            batch: case.batch.unwrap_or(0),
            samples: case.samples.unwrap_or(0),
            operation_ns: case.operation_ns.unwrap_or(0.0),
            failures: 0,
            worked: case.samples.is_some(),
        };
    }
    Ok(live)
}
