//! A case that is about to be measured: with its mechanism at hand.

use mechanisms::Variant;
use mechanisms::workload::connect;
use model::company::Company;
use model::launch::Workers;
use model::load::{Load, Server};
use model::placement::{Placement, ResolvedPlacement};
use model::probe::Probe;
use model::route::Route;
use model::total::Total;
use model::workload::{Policy, Workload};

/// One combination of factor levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The mechanism with its options.
    pub variant: Variant,
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
    /// The CPUs of that placement here.
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
    /// What runs beside its launches; such a case is no result either.
    pub beside: Option<Company>,
}

impl Case {
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
        let serves = self.load.and_then(|it| it.choice());
        traits.sets_up || traits.many_connections() || serves == Some(Server::Threads)
    }

    /// The same, as it is kept.
    pub fn kept(&self) -> model::case::Case {
        model::case::Case {
            variant: self.variant.to_string(),
            workload: self.workload,
            message_bytes: self.message_bytes,
            total: self.total,
            load: self.load,
            placement: self.placement,
            place: self.place,
            workers: self.workers,
            payload: self.payload,
            twin: self.twin,
            route: self.route.clone(),
            observe: self.observe,
            beside: self.beside,
        }
    }

    /// A case as it was kept; None where its variant is none of this build's.
    pub fn of_kept(kept: &model::case::Case) -> Option<Case> {
        Some(Case {
            variant: Variant::parse(&kept.variant).ok()?,
            workload: kept.workload,
            message_bytes: kept.message_bytes,
            total: kept.total,
            load: kept.load,
            placement: kept.placement,
            place: kept.place,
            workers: kept.workers,
            payload: kept.payload,
            twin: kept.twin,
            route: kept.route.clone(),
            observe: kept.observe,
            beside: kept.beside,
        })
    }

    /// Connections of each launch.
    pub fn connections(&self) -> u32 {
        Load::of(self.workload, self.load).map_or(1, |it| it.connections)
    }

    /// Bytes of the largest message that the mechanism is opened for: a request, or its answer.
    pub fn opened_for(&self) -> usize {
        let response = self.load.and_then(|it| it.response).unwrap_or(0);
        self.request_bytes().max(response as usize)
    }

    /// Bytes of a message that is sent, and of its answer unless the load says otherwise; of a set-up, those that
    /// the mechanism is opened for. 1 where messages have no size.
    pub fn request_bytes(&self) -> usize {
        let sized = self.variant.traits().carries.has_size();
        match self.message_bytes {
            Some(bytes) => bytes as usize,
            None if sized && self.workload.traits().sets_up => connect::OPENED_FOR as usize,
            None => 1,
        }
    }
}
