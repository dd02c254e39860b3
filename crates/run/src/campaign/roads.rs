//! The ways of a run to other hosts, while they are open.

use std::collections::BTreeMap;

use crate::launch::Way;
use crate::launch::peer::Peer;
use model::route::{LabRecord, Route};

/// The ways to other hosts that are open, by the route of the cases that take them.
#[derive(Default)]
pub struct Roads {
    /// The ways.
    pub ways: BTreeMap<Route, Way>,
    /// The laboratories among them, as they are kept with the run.
    pub labs: Vec<LabRecord>,
}

impl Roads {
    /// The host behind `--peer`, if there is one.
    pub(super) fn peer(&self) -> Option<&Peer> {
        self.ways.get(&Route::Peer).map(|it| &it.peer)
    }

    /// Why one of them ended, if one has.
    pub fn lost(&self) -> Option<String> {
        self.ways.values().find_map(|it| it.peer.lost())
    }
}
