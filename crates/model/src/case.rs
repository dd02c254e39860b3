//! A case: one combination of factor levels.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::alignment::Alignment;
use crate::company::Company;
use crate::launch::Workers;
use crate::load::{Load, Server};
use crate::memory::Memory;
use crate::placement::{Placement, ResolvedPlacement};
use crate::probe::Probe;
use crate::route::Route;
use crate::total::Total;
use crate::workload::{Policy, Workload};

/// One combination of factor levels. `V` is its mechanism with options: as it is written, `tcp:nodelay=off`, or at hand
/// where it is about to be measured.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Case<V = String> {
    /// The mechanism with its options.
    pub variant: V,
    /// What is done.
    pub workload: Workload,
    /// Bytes of a message; None where the mechanism carries none, or nothing is sent.
    pub message_bytes: Option<u64>,
    /// What one transfer carries; None where no bytes are transferred.
    pub total: Option<Total>,
    /// What an open loop carries, or how many connections a closed one has; None of what has one connection.
    pub load: Option<Load>,
    /// Where the workers run.
    pub placement: Placement,
    /// The CPUs of that placement.
    pub place: ResolvedPlacement,
    /// Processes or threads.
    pub workers: Workers,
    /// What happens to the bytes.
    pub payload: Policy,
    /// Where its message buffers begin.
    pub align: Alignment,
    /// On which node of the machine its memory lies.
    #[serde(default)]
    pub memory: Memory,
    /// What is added to the niceness of its workers.
    #[serde(default)]
    pub nice: u32,
    /// Writers that share each connection; 1 of what has one.
    #[serde(default = "one")]
    pub writers: u32,
    /// Readers that do.
    #[serde(default = "one")]
    pub readers: u32,
    /// Second name of another case of the group: the pair shows the machine's own noise.
    pub twin: bool,
    /// Where client and server run.
    pub route: Route,
    /// The arm under which its launches are made; None where there are none.
    pub arm: Option<String>,
    /// The instrumentation; such a case is no result, but stands beside one.
    pub observe: Option<Probe>,
    /// What runs beside its launches; such a case is no result, but stands beside the quiet one.
    pub beside: Option<Company>,
}

/// For serde's `default`: what is shared by nobody else.
pub fn one() -> u32 {
    1
}

impl<V> Case<V> {
    /// One with the usual level of every factor but these: processes on one CPU, which the machine has yet to choose.
    pub fn usual(variant: V, workload: Workload) -> Case<V> {
        let traits = workload.traits();
        Case {
            variant,
            workload,
            message_bytes: traits.has_size.then_some(traits.size),
            total: traits.transfers.then_some(Total::Long),
            load: Load::of(workload, traits.paced.then_some(Load::USUAL)),
            placement: Placement::SameCpu,
            place: ResolvedPlacement::FREE,
            workers: Workers::Process,
            payload: Policy::Untouched,
            align: Alignment::default(),
            memory: Memory::Free,
            nice: 0,
            writers: 1,
            readers: 1,
            twin: false,
            route: Route::Local,
            arm: None,
            observe: None,
            beside: None,
        }
    }

    /// The same case of what `other` makes of its variant.
    pub fn with<W>(&self, other: impl FnOnce(&V) -> W) -> Case<W> {
        let Case { ref variant, workload, message_bytes, total, load, placement, place, .. } =
            *self;
        let Case {
            workers,
            payload,
            align,
            memory,
            nice,
            writers,
            readers,
            twin,
            observe,
            beside,
            ..
        } = *self;
        let (variant, route, arm) = (other(variant), self.route.clone(), self.arm.clone());
        Case {
            variant,
            workload,
            message_bytes,
            total,
            load,
            placement,
            place,
            workers,
            payload,
            align,
            memory,
            nice,
            writers,
            readers,
            twin,
            route,
            arm,
            observe,
            beside,
        }
    }

    /// The CPUs to which its workers are pinned on this machine, the initiator's first.
    pub fn pinned_cpus(&self) -> [Option<u32>; 2] {
        match self.place.cpus {
            Some((initiator, responder)) => [Some(initiator), Some(responder)],
            None => self.placement.named_cpus(),
        }
    }

    /// Whether its workers fork, or begin threads, while they are timed: such forks are nobody else's.
    pub fn forks(&self) -> bool {
        let traits = self.workload.traits();
        let serves = self.load.and_then(|load| load.choice());
        traits.sets_up || traits.many_connections() || serves == Some(Server::Threads)
    }

    /// Connections of each launch.
    pub fn connections(&self) -> u32 {
        self.load().connections
    }

    /// Its load; where it has none, one message at a time over one connection.
    pub fn load(&self) -> Load {
        self.load.unwrap_or(Load::USUAL)
    }

    /// Whether its launches become a result: nothing observes them, and nothing runs beside them.
    pub fn is_result(&self) -> bool {
        self.observe.is_none() && self.beside.is_none()
    }

    /// The same without its rate: what cases that seek a capacity have in common.
    pub fn without_rate(&self) -> Case<V>
    where
        V: Clone,
    {
        Case { load: self.load.map(|load| Load { per_second: 0, ..load }), ..self.clone() }
    }
}
