//! What was seen beside the measurement: noise, where free workers ran.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use store::StoredLaunch;

/// What happened beside the measurement, per launch (medians over launches).
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct NoiseSeen {
    /// Times a worker lost its CPU against its will, both workers together.
    pub involuntary_switches: Option<f64>,
    /// Times a worker slept, both together.
    pub voluntary_switches: Option<f64>,
    /// Threads of both workers' processes together, of which the switches, the faults and the CPU time are; null where
    /// these are of the threads that send and receive alone.
    pub threads: Option<f64>,
    /// Page faults, both together.
    pub page_faults: Option<f64>,
    /// Interrupts on the used CPUs.
    pub interrupts: Option<f64>,
    /// Launches during which somebody forked; null where that can't be known of any.
    pub launches_with_forks: Option<u64>,
    /// Messages lost, over all launches.
    pub lost_messages: u64,
    /// The nodes on which message buffers and shared memory lay, in any launch; empty where the kernel doesn't tell.
    pub memory_nodes: BTreeSet<u32>,
    /// The same on the other host; null where all was on one.
    pub peer: Option<PeerNoise>,
}

/// What happened on the other host of launches between two, per launch (medians over launches).
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct PeerNoise {
    /// Interrupts on the responder's CPU.
    pub interrupts: Option<f64>,
    /// Softirqs there.
    pub softirqs: Option<f64>,
    /// Context switches on that machine.
    pub context_switches: Option<f64>,
    /// Launches during which somebody there forked; null where that can't be known of any.
    pub launches_with_forks: Option<u64>,
}

/// Where free workers ran.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize)]
pub struct ObservedPlacement {
    /// Share of the noted moments at which both were on one CPU.
    pub same_cpu: f64,
    /// Launches in which a worker changed its CPU.
    pub launches_with_moves: u64,
}

impl NoiseSeen {
    /// Medians and counts over the launches that were measured.
    pub(super) fn of(launches: &[&StoredLaunch]) -> NoiseSeen {
        let typical = |of: &dyn Fn(&StoredLaunch) -> Option<u64>| {
            stats::median_of(
                launches.iter().filter_map(|launch| of(launch)).map(|number| number as f64),
            )
        };
        let both =
            |launch: &StoredLaunch| [launch.record.initiator.usage, launch.record.responder.usage];
        // Several generators are threads of the launch itself.
        let own = |launch: &StoredLaunch| {
            launch.record.initiator.punctuality.is_some_and(|kept| kept.generators > 1)
        };
        let forks =
            |launch: &StoredLaunch| launch.record.noise.as_ref()?.forks.filter(|_| !own(launch));
        let far = |launch: &StoredLaunch| launch.record.far.as_ref()?.noise.clone();
        let with = |forks: &dyn Fn(&StoredLaunch) -> Option<u64>| {
            let known: Vec<u64> = launches.iter().filter_map(|launch| forks(launch)).collect();
            let some = known.iter().filter(|forks| **forks > 0).count() as u64;
            (!known.is_empty()).then_some(some)
        };
        let peer = launches.iter().any(|launch| launch.record.far.is_some()).then(|| PeerNoise {
            interrupts: typical(&|launch| far(launch)?.interrupts),
            softirqs: typical(&|launch| far(launch)?.softirqs),
            context_switches: typical(&|launch| far(launch)?.context_switches),
            launches_with_forks: with(&|launch| far(launch)?.forks),
        });
        NoiseSeen {
            involuntary_switches: typical(&|launch| {
                Some(both(launch).iter().map(|usage| usage.involuntary_switches).sum())
            }),
            voluntary_switches: typical(&|launch| {
                Some(both(launch).iter().map(|usage| usage.voluntary_switches).sum())
            }),
            threads: typical(&|launch| {
                let threads = both(launch).iter().map(|usage| usage.threads).sum();
                (threads > 0).then_some(threads)
            }),
            page_faults: typical(&|launch| {
                Some(both(launch).iter().map(|usage| usage.minor_faults + usage.major_faults).sum())
            }),
            interrupts: typical(&|launch| launch.record.noise.as_ref()?.interrupts),
            launches_with_forks: with(&forks),
            lost_messages: launches
                .iter()
                .map(|launch| launch.record.initiator.lost + launch.record.responder.lost)
                .sum(),
            memory_nodes: launches.iter().flat_map(|launch| nodes(launch)).collect(),
            peer,
        }
    }
}

/// The nodes on which memory of a launch lay.
fn nodes(launch: &StoredLaunch) -> Vec<u32> {
    let reports = [&launch.record.initiator, &launch.record.responder];
    let found = reports.into_iter().filter_map(|report| report.memory.as_ref());
    found.flat_map(|memory| memory.buffers.keys().chain(memory.shared.keys())).copied().collect()
}

impl ObservedPlacement {
    /// From the CPUs that the workers noted; None where none was.
    pub(super) fn of(launches: &[&StoredLaunch]) -> Option<ObservedPlacement> {
        let (mut together, mut noted, mut moved) = (0, 0, 0);
        for launch in launches {
            let (a, b) = (&launch.record.initiator.cpus, &launch.record.responder.cpus);
            noted += a.len().min(b.len());
            together += a.iter().zip(b).filter(|(a, b)| a == b).count();
            let moves = |cpus: &[u32]| cpus.windows(2).any(|pair| pair[0] != pair[1]);
            moved += u64::from(moves(a) || moves(b));
        }
        (noted > 0).then(|| ObservedPlacement {
            same_cpu: together as f64 / noted as f64,
            launches_with_moves: moved,
        })
    }
}
