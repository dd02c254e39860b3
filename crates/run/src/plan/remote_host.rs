//! Other hosts: what a plan must know of the routes to them, and what can't be had over those.

use crate::launch::placement;
use std::collections::BTreeMap;

use super::{Case, Machine, WithMechanism};
use crate::launch::peer::Peer;
use mechanisms::{OpenError, OpenSpec, check_over_network};
use model::host::Host;
use model::launch::Workers;
use model::placement::{Placement, ResolvedPlacement};
use model::route::Route;

/// Why nothing is measured to the other host where there is none.
const NO_PEER: &str = "its responder is on another host: add --peer 'ssh HOST'";

/// What the planner must know of the other host.
#[derive(Clone)]
pub struct RemoteHost {
    /// The CPUs that it may use.
    pub allowed: Vec<u32>,
    /// Whether its CPUs are those of this machine.
    pub one_kernel: bool,
    /// Whether it can be reached over IPv4, or why not.
    pub ipv4: Result<(), String>,
    /// The same over IPv6.
    pub ipv6: Result<(), String>,
}

impl RemoteHost {
    /// Of `peer`, seen from `here`.
    pub fn of(peer: &Peer, here: &Host) -> RemoteHost {
        RemoteHost {
            allowed: peer.far().allowed_cpus.clone(),
            one_kernel: peer.far().is_on(here),
            ipv4: peer.address(false).map(drop),
            ipv6: peer.address(true).map(drop),
        }
    }
}

/// The routes to other hosts that this run has.
#[derive(Clone, Default)]
pub struct AvailableRoutes {
    /// To the host behind `--peer`, if there is one.
    pub peer: Option<RemoteHost>,
    /// Laboratories that can't be had, and why not; every other one can.
    pub no_lab: BTreeMap<Route, String>,
}

impl AvailableRoutes {
    /// Why there is no way of that kind, if there is none.
    fn lacks(&self, route: &Route) -> Option<String> {
        match route {
            Route::Local => None,
            Route::Peer => self.peer.is_none().then(|| NO_PEER.to_string()),
            Route::Lab(_) => self.no_lab.get(route).cloned(),
        }
    }
}

/// The placements of cases of `route`, of those that are asked for: named ones are relations of one
/// machine's CPUs, and a host elsewhere is placed freely instead.
pub(super) fn placements(route: &Route, asked: Vec<Placement>) -> Vec<Placement> {
    let fits =
        |placement: &&Placement| placement.leaves_free() || placement.named_cpus()[0].is_some();
    match route {
        Route::Peer if asked.iter().any(|asked| fits(&asked)) => {
            asked.iter().filter(fits).copied().collect()
        }
        Route::Peer => vec![Placement::Free],
        _ => asked,
    }
}

/// Where the workers of `placement` run, on this machine or on two hosts.
pub(super) fn resolve(
    placement: Placement,
    route: &Route,
    machine: &Machine,
) -> Result<ResolvedPlacement, String> {
    let Machine { topology, allowed, routes } = machine;
    match (route, &routes.peer) {
        (Route::Peer, Some(it)) => {
            placement::resolve_apart(placement, topology, allowed, &it.allowed, it.one_kernel)
        }
        // Without a host there, nothing can be said of its CPUs.
        (Route::Peer, None) => Ok(ResolvedPlacement::FREE),
        // The hosts of a laboratory have the CPUs of this one.
        (Route::Local | Route::Lab(_), _) => placement::resolve(placement, topology, allowed),
    }
}

/// Whether a case can be had between two hosts, as far as can be said without trying.
pub(super) fn reached(case: &Case, routes: &AvailableRoutes) -> Result<(), OpenError> {
    if let Some(reason) = routes.lacks(&case.route) {
        return Err(OpenError::NotApplicable(reason));
    }
    let open = OpenSpec {
        options: case.variant.options.clone(),
        message_bytes: case.opened_for(),
        same_process: case.workers == Workers::Thread,
        seed: 0,
    };
    check_over_network(case.variant.entry.name, &open)?;
    let Some(host) = routes.peer.as_ref().filter(|_| case.route == Route::Peer) else {
        return Ok(());
    };
    let address = if case.variant.is_ipv6() { &host.ipv6 } else { &host.ipv4 };
    address.clone().map_err(OpenError::NotApplicable)
}
