//! Quantities of which each launch gives one value, beside its metric: the first message after set-up, the
//! steps of a set-up, and the energy.

use schemars::JsonSchema;
use serde::Serialize;

use super::Estimate;
use super::energy::{self, ENERGY};
use model::metric::{Better, Metric, Unit};
use store::{StoredLaunch, StoredRound};

/// The name of the first round trip after set-up, among secondary quantities.
pub const FIRST_MESSAGE: &str = "first_message";

/// A quantity of a case beside its metric.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Secondary {
    /// `first_message`; of a set-up its steps: `open` and `close`; of a connection the responder's `socket`, `bind`
    /// and `listen`, then the initiator's `connect`, `accept` and `close`; `rest` before it between two hosts; of a
    /// crowd `time_ns`; `energy_per_operation`.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better.
    pub better: Better,
    /// One value of each launch, over launches.
    #[serde(flatten)]
    pub value: Estimate,
}

/// What launches have beside the metric: their very first round trip, where one was made and kept, and the
/// steps of a set-up, in their order: the responder listens before the initiator connects; then the energy, where
/// it was read, with what `rounds` of the run used while idle.
pub(super) fn secondary(
    metric: &Metric,
    launches: &[&StoredLaunch],
    group: usize,
    rounds: &[StoredRound],
) -> Vec<Secondary> {
    let secondary = |name: &str, values: Vec<f64>, unit: Unit, better: Better| {
        let value = Estimate::of(values)?;
        Some(Secondary { name: name.into(), unit, better, value })
    };
    let first = launches.iter().filter_map(|launch| launch.record.initiator.first_ns).collect();
    let parts = |launch: &&StoredLaunch| {
        let StoredLaunch { record, .. } = launch;
        record.responder.parts.iter().chain(&record.initiator.parts).cloned().collect::<Vec<_>>()
    };
    let steps = launches.first().map_or_else(Vec::new, parts);
    let step = |(name, _): &(String, f64)| {
        let all = launches.iter().flat_map(parts);
        // A time beside a rate has its unit in its name.
        let (unit, better) = if name.ends_with("_ns") {
            (Unit::Nanoseconds, Better::Lower)
        } else {
            (metric.unit, metric.better)
        };
        secondary(
            name,
            all.filter(|pair| pair.0 == *name).map(|pair| pair.1).collect(),
            unit,
            better,
        )
    };
    let first = secondary(FIRST_MESSAGE, first, Unit::Nanoseconds, Better::Lower);
    let joules = energy::of_launches(launches, rounds, group);
    let energy = secondary(ENERGY, joules, Unit::Joules, Better::Lower);
    first.into_iter().chain(steps.iter().filter_map(step)).chain(energy).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::energy::Energy;
    use model::launch::{Outcome, Record};
    use model::noise::RoundNoise;
    use model::workload::Workload;

    /// Watts of the idle machine in a round, which drifts.
    fn idle_watts(round: u64) -> f64 {
        10.0 + 0.5 * round as f64
    }

    /// Joules of an operation in a round, which differ around 20 µJ.
    fn joules(round: u64) -> f64 {
        (20.0 + [0.0, -3.0, 1.0, 2.0][round as usize % 4]) * 1e-6
    }

    /// A round: 100 ms of an idle machine.
    fn round(group: usize, nth: u64, watts: f64) -> StoredRound {
        let idle = Some(Energy { microjoules: (watts * 1e5) as u64, ns: 100_000_000 });
        StoredRound { group, nth, noise: RoundNoise { idle, ..RoundNoise::default() } }
    }

    /// A launch of 1,003 operations in 40 ms.
    fn launch(round: u64) -> StoredLaunch {
        let mut record = Record::without_samples(Outcome::Ok);
        record.initiator.operations = 1_003;
        let joules = idle_watts(round) * 0.04 + joules(round) * 1_003.0;
        let microjoules = (joules * 1e6).round() as u64;
        record.energy = Some(Energy { microjoules, ns: 40_000_000 });
        StoredLaunch {
            id: round as i64,
            round,
            swapped: false,
            status: "ok".into(),
            reason: None,
            record,
        }
    }

    fn judged(launches: &[StoredLaunch], rounds: &[StoredRound]) -> Vec<Secondary> {
        let metric = Metric::undeclared(Workload::Latency);
        secondary(&metric, &launches.iter().collect::<Vec<_>>(), 3, rounds)
    }

    #[test]
    fn an_energy_is_that_of_each_launch_less_its_own_rounds_idle_power() {
        let launches: Vec<StoredLaunch> = (1..=12).map(launch).collect();
        let idle = (1..=12).map(|nth| round(3, nth, idle_watts(nth)));
        // Another group's rounds have other powers.
        let rounds: Vec<StoredRound> =
            (1..=12).map(|nth| round(2, nth, 90.0)).chain(idle).collect();
        let found = judged(&launches, &rounds);
        let [energy] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(
            (&*energy.name, energy.unit, energy.better),
            (ENERGY, Unit::Joules, Better::Lower)
        );
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
        let mut expected: Vec<f64> = (1..=12).map(joules).collect();
        expected.sort_by(f64::total_cmp);
        assert!(near(energy.value.median, stats::median(&expected)), "{energy:?}");
        let (low, high) = energy.value.interval.ends().expect("twelve launches have an interval");
        assert!(near(low, expected[2]) && near(high, expected[9]), "{low} {high}");
        assert_eq!(energy.value.n, 12);
    }

    /// Studies ask for the same in microjoules, by round.
    #[test]
    fn a_study_has_the_energy_of_each_round() {
        let launches: Vec<StoredLaunch> = (1..=12).map(launch).collect();
        let rounds: Vec<StoredRound> = (1..=12).map(|nth| round(3, nth, idle_watts(nth))).collect();
        let mut case = crate::testing::case("pipe", "same-cpu", None);
        (case.group, case.by_round) = (3, vec![None; 12]);
        let of = crate::delivery::by_round(&case, &launches.iter().collect::<Vec<_>>(), &rounds);
        let found = &of["microjoules"].by_round;
        for (at, found) in found.iter().enumerate() {
            let expected = 1e6 * joules(at as u64 + 1);
            assert!(found.is_some_and(|found| (found - expected).abs() < 1e-3), "{at}: {found:?}");
        }
        assert_eq!(found.len(), 12);
    }

    #[test]
    fn an_idle_machine_that_used_more_leaves_less_than_nothing() {
        let launches: Vec<StoredLaunch> = (1..=3).map(launch).collect();
        let rounds: Vec<StoredRound> = (1..=3).map(|nth| round(3, nth, 40.0)).collect();
        let energy = &judged(&launches, &rounds)[0].value;
        assert!(energy.max < 0.0 && energy.interval.ends().is_none(), "{energy:?}");
    }

    #[test]
    fn what_was_not_read_is_no_energy_and_no_zero() {
        let unread = |launch: StoredLaunch| {
            let record = Record { energy: None, ..launch.record };
            StoredLaunch { record, ..launch }
        };
        let uncounted = |mut launch: StoredLaunch| {
            launch.record.initiator.operations = 0;
            launch
        };
        let launches = [launch(1), unread(launch(2)), uncounted(launch(3)), launch(4)];
        let found = judged(&launches, &[round(3, 1, 10.5), round(3, 2, 11.0), round(3, 3, 11.5)]);
        assert_eq!(found[0].value.n, 1, "the fourth has no idle stretch");
        assert_eq!(judged(&launches[1..3], &[round(3, 2, 11.0), round(3, 3, 11.5)]), []);
    }
}
