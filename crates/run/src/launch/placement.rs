//! Where on this machine a placement puts the workers.

use machine::Topology;
use mechanisms::Variant;
use model::mechanism::Waits;
use model::placement::{Placement, Relation, ResolvedPlacement};

/// Where both workers run, or why this machine has no such place.
pub fn resolve(
    placement: Placement,
    topology: &Topology,
    allowed: &[u32],
) -> Result<ResolvedPlacement, String> {
    let relation = match placement {
        Placement::Free => return Ok(ResolvedPlacement::FREE),
        Placement::InitiatorCpu(cpu) | Placement::ResponderCpu(cpu) => {
            check_cpu(cpu, topology, allowed)?;
            return Ok(ResolvedPlacement::FREE);
        }
        Placement::Cpus(initiator, responder) => {
            for cpu in [initiator, responder] {
                check_cpu(cpu, topology, allowed)?;
            }
            return Ok(ResolvedPlacement {
                cpus: Some((initiator, responder)),
                ..ResolvedPlacement::FREE
            });
        }
        Placement::SameCpu => Relation::SameCpu,
        Placement::SmtSibling => Relation::SmtSibling,
        Placement::SameLlc => Relation::SameLlc,
        Placement::CrossLlc => Relation::CrossLlc,
        Placement::CrossNode => Relation::CrossNode,
    };
    let cpus =
        topology.pair(relation, allowed).ok_or_else(|| topology.why_not(relation, allowed))?;
    Ok(ResolvedPlacement {
        cpus: Some(cpus),
        swappable: cpus.0 != cpus.1,
        ..ResolvedPlacement::FREE
    })
}

/// Where the initiator runs here, and the responder on another host, which may use the CPUs
/// `allowed_there`; `one_kernel` says that both hosts have the same CPUs.
pub fn resolve_apart(
    placement: Placement,
    topology: &Topology,
    allowed: &[u32],
    allowed_there: &[u32],
    one_kernel: bool,
) -> Result<ResolvedPlacement, String> {
    let [initiator, responder] = placement.named_cpus();
    if !placement.leaves_free() && initiator.is_none() {
        return Err(format!(
            "{placement} is a relation of one machine's CPUs: with --peer choose free, or a CPU here \
             and one there as in 0,1"
        ));
    }
    if let Some(initiator) = initiator {
        check_cpu(initiator, topology, allowed)?;
    }
    if let Some(responder) = responder.filter(|it| !allowed_there.contains(it)) {
        let list = machine::format_cpu_list(allowed_there);
        return Err(format!("CPU {responder} is not the peer's to use: choose from {list}"));
    }
    Ok(ResolvedPlacement {
        cpus: initiator.zip(responder),
        apart: !one_kernel,
        ..ResolvedPlacement::FREE
    })
}

/// Why `variant` isn't measured at `place` unless that is asked for explicitly.
pub fn objection(place: ResolvedPlacement, variant: &Variant) -> Option<String> {
    (place.shares_one_cpu() && variant.waits() == Waits::Spinning).then(|| {
        "spinning on one CPU costs a time slice per message; --spin-on-one-cpu measures it anyway".into()
    })
}

/// The error for a CPU that isn't there, is offline, or may not be used.
pub fn check_cpu(cpu: u32, topology: &Topology, allowed: &[u32]) -> Result<(), String> {
    let list = || machine::format_cpu_list(allowed);
    if topology.offline.contains(&cpu) {
        return Err(format!("CPU {cpu} is offline: choose from {}", list()));
    }
    if topology.cpu(cpu).is_none() {
        return Err(format!("CPU {cpu} does not exist: choose from {}", list()));
    }
    if !allowed.contains(&cpu) {
        return Err(format!(
            "CPU {cpu} is outside this process's affinity: choose from {}",
            list()
        ));
    }
    Ok(())
}
