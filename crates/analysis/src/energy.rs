//! What an operation costs in energy, of all packages of the machine together.
//!
//! Over a whole launch, from right before its workers are told to go until they have reported: all that was done
//! meanwhile is counted, warm-up included. Off that is taken what the packages used in as much time of the same
//! round's idle stretch. What is left may be less than nothing, where the launch used less than its noise. The
//! counters are of the whole machine: what others do during either is in it.

use model::energy::Energy;
use model::launch::Record;
use store::{StoredLaunch, StoredRound};

/// The name of the energy of an operation, among secondary quantities.
pub const ENERGY: &str = "energy_per_operation";

/// Joules per operation of each launch of a case in `group` for which the counters of both stretches were read.
pub(super) fn of_launches(
    launches: &[&StoredLaunch],
    rounds: &[StoredRound],
    group: usize,
) -> Vec<f64> {
    launches.iter().filter_map(|launch| of_launch(launch, rounds, group)).collect()
}

/// The same of one of them.
pub(super) fn of_launch(
    launch: &StoredLaunch,
    rounds: &[StoredRound],
    group: usize,
) -> Option<f64> {
    let its = rounds.iter().find(|round| (round.group, round.nth) == (group, launch.round))?;
    per_operation(&launch.record, its.noise.idle.as_ref()?)
}

fn per_operation(record: &Record, idle: &Energy) -> Option<f64> {
    let joules = record.energy?.beyond(idle)?;
    let operations: f64 = record.initiators().map(|initiator| initiator.operations as f64).sum();
    (operations > 0.0).then(|| joules / operations)
}
