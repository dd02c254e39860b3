//! A case: one combination of factor levels.

use crate::company::Company;
use crate::launch::Workers;
use crate::load::Load;
use crate::placement::{Placement, ResolvedPlacement};
use crate::probe::Probe;
use crate::route::Route;
use crate::total::Total;
use crate::workload::{Policy, Workload};

/// One combination of factor levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The mechanism with its options: `tcp:nodelay=off`.
    pub variant: String,
    /// What is done.
    pub workload: Workload,
    /// Bytes of a message; None where the mechanism carries none, or nothing is sent.
    pub message_bytes: Option<u64>,
    /// What one transfer carries; None where no bytes are transferred.
    pub total: Option<Total>,
    /// What an open loop carries, or how many connections a closed one was asked for; None of other workloads.
    pub load: Option<Load>,
    /// Where the workers run.
    pub placement: Placement,
    /// The CPUs of that placement.
    pub place: ResolvedPlacement,
    /// Processes or threads.
    pub workers: Workers,
    /// What happens to the bytes.
    pub payload: Policy,
    /// Second name of another case of the group: the pair shows the machine's own noise.
    pub twin: bool,
    /// Where client and server run.
    pub route: Route,
    /// The instrumentation; such a case is no result, but stands beside one.
    pub observe: Option<Probe>,
    /// What runs beside its launches; such a case is no result, but stands beside the quiet one.
    pub beside: Option<Company>,
}

impl Case {
    /// Whether its launches become a result: nothing observes them, and nothing runs beside them.
    pub fn is_result(&self) -> bool {
        self.observe.is_none() && self.beside.is_none()
    }

    /// The same without its rate: what cases that seek a capacity have in common.
    pub fn without_rate(&self) -> Case {
        Case { load: self.load.map(|it| Load { per_second: 0, ..it }), ..self.clone() }
    }
}
