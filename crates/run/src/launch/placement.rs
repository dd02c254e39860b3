//! Where on this machine a placement puts the workers.

use std::collections::BTreeSet;

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
    if let Some(responder) = responder.filter(|responder| !allowed_there.contains(responder)) {
        let list = machine::format_cpu_list(allowed_there);
        return Err(format!("CPU {responder} is not the peer's to use: choose from {list}"));
    }
    Ok(ResolvedPlacement {
        cpus: initiator.zip(responder),
        apart: !one_kernel,
        ..ResolvedPlacement::FREE
    })
}

/// The CPUs of the generators of an open loop, at most one to a client, the initiator's first: each has one for itself,
/// since it spins to keep the schedule. Pinned they stand to the server's CPU as the initiator does, on cores of their
/// own; where the initiator is on that CPU, it is the only one. Placed freely they take at most half of the cores with
/// `allowed` CPUs, drawn by `seed`, one CPU of each, and leave the others to the server. Empty where one worker alone is pinned, or there is one CPU.
pub fn generators(
    [initiator, responder]: [Option<u32>; 2],
    clients: usize,
    seed: u64,
    topology: &Topology,
    allowed: &[u32],
) -> Vec<u32> {
    match (initiator, responder) {
        (Some(first), Some(server)) => topology.alike(first, server, clients, allowed),
        (None, None) if allowed.len() > 1 => {
            let mut cores = BTreeSet::new();
            let core = |cpu: &u32| topology.cpu(*cpu).map_or(*cpu, |cpu| cpu.core);
            let one: Vec<u32> =
                allowed.iter().copied().filter(|number| cores.insert(core(number))).collect();
            let drawn = (seed % one.len() as u64) as usize;
            let from_there = one.iter().cycle().skip(drawn);
            from_there.take(clients.clamp(1, (one.len() / 2).max(1))).copied().collect()
        }
        _ => Vec::new(),
    }
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
    if topology.cpu(cpu).is_none() && !topology.is_known {
        return Err(format!(
            "CPU {cpu} is outside this process's affinity, or does not exist: choose from {}",
            list()
        ));
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

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Cpu;

    fn of(cores: u32) -> Topology {
        let one = |id| Cpu {
            id,
            package: None,
            core: id,
            node: 0,
            llc: 0,
            llc_known: true,
            siblings: vec![id],
            kind: 0,
        };
        Topology { cpus: (0..cores).map(one).collect(), offline: Vec::new(), is_known: true }
    }

    #[test]
    fn a_generator_for_each_free_cpu_and_at_most_one_to_a_client() {
        let drawn = |workers, clients, seed, cores| {
            let topology = of(cores);
            generators(workers, clients, seed, &topology, &topology.online())
        };
        let pinned = [Some(3), Some(1)];
        assert_eq!(drawn(pinned, 16, 7, 4), [3, 0, 2]);
        assert_eq!(drawn(pinned, 2, 7, 4), [3, 0]);
        assert_eq!(drawn(pinned, 1, 7, 4), [3]);
        assert_eq!(drawn([Some(0), Some(1)], 16, 7, 2), [0], "the other is the server's");
        assert_eq!(drawn([Some(1), Some(1)], 16, 7, 4), [1]);
        // Placed freely: at most half, drawn.
        let free = [None, None];
        assert_eq!(drawn(free, 16, 6, 8), [6, 7, 0, 1]);
        assert_eq!(drawn(free, 3, 6, 8), [6, 7, 0]);
        assert_eq!(drawn(free, 16, 3, 2), [1]);
        assert_eq!(drawn(free, 1, 4, 3), [1]);
        assert!(drawn(free, 16, 6, 1).is_empty());
        // Of two threads of a core one: the server has whole cores for itself.
        let mut smt = of(8);
        smt.cpus.iter_mut().for_each(|cpu| cpu.core = cpu.id % 4);
        assert_eq!(generators(free, 16, 3, &smt, &smt.online()), [3, 0]);
        assert_eq!(generators(free, 16, 0, &smt, &[0, 4]), [0]);
        assert!(drawn([Some(0), None], 16, 6, 8).is_empty());
    }
}
