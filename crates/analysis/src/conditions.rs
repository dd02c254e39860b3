//! What was seen beside the measurement: modes, steadiness, noise, where free workers ran.

use serde::{Deserialize, Serialize};

use store::StoredLaunch;

/// Two modes among the launches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModesSeen {
    /// Median of the launches in the mode of smaller values.
    pub low: f64,
    /// How many launches that are.
    pub low_launches: u64,
    /// Median of the launches in the mode of larger values.
    pub high: f64,
    /// How many launches that are.
    pub high_launches: u64,
}

/// Whether the launches were steady inside.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SteadySeen {
    /// Launches with a steady tail of at least half their length.
    pub launches: u64,
    /// Launches long enough to tell.
    pub of: u64,
}

/// What happened beside the measurement, per launch (medians over launches).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NoiseSeen {
    /// Times a worker lost its CPU against its will, both workers together.
    pub involuntary_switches: Option<f64>,
    /// Times a worker slept, both together.
    pub voluntary_switches: Option<f64>,
    /// Page faults, both together.
    pub page_faults: Option<f64>,
    /// Interrupts on the used CPUs.
    pub interrupts: Option<f64>,
    /// Launches during which somebody forked.
    pub launches_with_forks: u64,
    /// Messages lost, over all launches.
    pub lost_messages: u64,
    /// The same on the other host; null where all was on one.
    pub peer: Option<PeerNoise>,
}

/// What happened on the other host of launches between two, per launch (medians over launches).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PeerNoise {
    /// Interrupts on the responder's CPU.
    pub interrupts: Option<f64>,
    /// Softirqs there.
    pub softirqs: Option<f64>,
    /// Context switches on that machine.
    pub context_switches: Option<f64>,
    /// Launches during which somebody there forked.
    pub launches_with_forks: u64,
}

/// Where free workers ran.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
            stats::median_of(launches.iter().filter_map(|it| of(it)).map(|it| it as f64))
        };
        let both =
            |launch: &StoredLaunch| [launch.record.initiator.usage, launch.record.responder.usage];
        // Several generators are threads of the launch itself.
        let own = |it: &StoredLaunch| {
            it.record.initiator.punctuality.is_some_and(|kept| kept.generators > 1)
        };
        let forks = |it: &&&StoredLaunch| {
            !own(it) && it.record.noise.as_ref().and_then(|noise| noise.forks).unwrap_or(0) > 0
        };
        let far = |it: &StoredLaunch| it.record.far.as_ref()?.noise.clone();
        let forks_there =
            |it: &&&StoredLaunch| far(it).and_then(|noise| noise.forks).unwrap_or(0) > 0;
        let peer = launches.iter().any(|it| it.record.far.is_some()).then(|| PeerNoise {
            interrupts: typical(&|it| far(it)?.interrupts),
            softirqs: typical(&|it| far(it)?.softirqs),
            context_switches: typical(&|it| far(it)?.context_switches),
            launches_with_forks: launches.iter().filter(forks_there).count() as u64,
        });
        NoiseSeen {
            involuntary_switches: typical(&|it| {
                Some(both(it).iter().map(|usage| usage.involuntary_switches).sum())
            }),
            voluntary_switches: typical(&|it| {
                Some(both(it).iter().map(|usage| usage.voluntary_switches).sum())
            }),
            page_faults: typical(&|it| {
                Some(both(it).iter().map(|usage| usage.minor_faults + usage.major_faults).sum())
            }),
            interrupts: typical(&|it| it.record.noise.as_ref()?.interrupts),
            launches_with_forks: launches.iter().filter(forks).count() as u64,
            lost_messages: launches
                .iter()
                .map(|it| it.record.initiator.lost + it.record.responder.lost)
                .sum(),
            peer,
        }
    }
}

impl ObservedPlacement {
    /// From the CPUs that the workers noted.
    pub(super) fn of(launches: &[&StoredLaunch]) -> ObservedPlacement {
        let (mut together, mut noted, mut moved) = (0, 0, 0);
        for launch in launches {
            let (a, b) = (&launch.record.initiator.cpus, &launch.record.responder.cpus);
            noted += a.len().min(b.len());
            together += a.iter().zip(b).filter(|(a, b)| a == b).count();
            let moves = |cpus: &[u32]| cpus.windows(2).any(|pair| pair[0] != pair[1]);
            moved += u64::from(moves(a) || moves(b));
        }
        ObservedPlacement {
            same_cpu: together as f64 / noted.max(1) as f64,
            launches_with_moves: moved,
        }
    }
}
