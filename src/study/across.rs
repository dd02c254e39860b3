//! Two hosts: what a plan must know of the other one, and what can't be had between them.

use std::net::IpAddr;

use super::{Case, Machine};
use crate::launch::peer::Peer;
use crate::launch::placement::Place;
use crate::launch::{Placement, Workers};
use crate::mechanism::{OpenError, OpenSpec, check_over_network};
use crate::observe::Host;

/// What the planner must know of the other host.
pub struct Across {
    /// The CPUs that it may use.
    pub allowed: Vec<u32>,
    /// Whether its CPUs are those of this machine.
    pub one_kernel: bool,
    /// Its address over IPv4, or why there is none.
    pub ipv4: Result<IpAddr, String>,
    /// The same over IPv6.
    pub ipv6: Result<IpAddr, String>,
}

impl Across {
    /// Of `peer`, seen from `here`.
    pub fn of(peer: &Peer, here: &Host) -> Across {
        Across {
            allowed: peer.far().allowed_cpus.clone(),
            one_kernel: peer.far().is_on(here),
            ipv4: peer.address(false),
            ipv6: peer.address(true),
        }
    }
}

/// Where the workers of `placement` run, on this machine or on two hosts.
pub(super) fn resolve(placement: Placement, machine: &Machine) -> Result<Place, String> {
    let Machine { topology, allowed, across } = machine;
    match across {
        None => placement.resolve(topology, allowed),
        Some(it) => placement.resolve_apart(topology, allowed, &it.allowed, it.one_kernel),
    }
}

/// Whether a case can be had between two hosts, as far as can be said without trying.
pub(super) fn reached(case: &Case, across: &Across) -> Result<(), OpenError> {
    let open = OpenSpec {
        options: case.variant.options.clone(),
        message_bytes: case.opened_for(),
        same_process: case.workers == Workers::Thread,
        seed: 0,
    };
    check_over_network(case.variant.entry.name, &open)?;
    let address = if case.variant.is_ipv6() { &across.ipv6 } else { &across.ipv4 };
    address.clone().map(drop).map_err(OpenError::NotApplicable)
}
