//! Results as they might have been measured, for tests here and in `report`.

use crate::{CaseResult, Estimate, MedianInterval, Observed};
use model::case::Case;
use model::catalogue::{Catalogue, Described};
use model::mechanism::{Carries, Framing, Traits, Waits};
use model::metric::{Measured, Metric, Unit};
use model::placement::{Placement, ResolvedPlacement};
use model::workload::Workload;
use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use std::f64::consts::TAU;
use store::StoredCase;

/// A case of round trips of 64 B, 9 µs each in twelve rounds.
pub fn case(mechanism: &str, placement: &str, cpus: Option<(u32, u32)>) -> CaseResult {
    let mut result = CaseResult::blank(
        &StoredCase {
            id: 1,
            case: Case {
                placement: Placement::parse(placement).unwrap(),
                place: ResolvedPlacement { cpus, swappable: true, apart: false },
                ..Case::usual(mechanism.into(), Workload::Latency)
            },
            ends: None,
            absence: None,
            reason: None,
            batch: None,
            samples_per_launch: None,
            operation_ns: None,
        },
        &described(mechanism),
    );
    result.value = Some(estimate(9_000.0));
    result.by_round = vec![Some(9_000.0); 12];
    result.launches = 12;
    result
}

/// The properties of a mechanism, as far as its name shows them.
fn described(mechanism: &str) -> Catalogue {
    let carries = if mechanism == "noop" { Carries::Nothing } else { Carries::Bytes };
    let spins = mechanism.contains("wait=spin");
    let described = Described {
        variant: mechanism.into(),
        traits: Traits::host(carries, Framing::Stream),
        waits: if spins { Waits::Spinning } else { Waits::Asleep },
        bends: Vec::new(),
    };
    Catalogue { mechanisms: Vec::new(), variants: vec![described], metrics: metrics() }
}

/// What workloads yield, in few words.
fn metrics() -> Vec<Measured> {
    let of = |workload| {
        let bytes = Metric::undeclared(workload);
        let unit = if bytes.is_transfer() { Unit::PerSecond } else { bytes.unit };
        Measured { workload, signals: Metric { unit, ..bytes.clone() }, bytes }
    };
    Workload::ALL.into_iter().map(of).collect()
}

/// A case that yields something else: its metric with it, and no value yet.
pub fn redo(case: &mut CaseResult, workload: Workload) {
    case.workload = workload;
    case.metric = described(&case.variant).metric(workload, &case.variant);
    case.value = None;
}

/// A median with an interval of 1 %.
pub fn estimate(median: f64) -> Estimate {
    Estimate {
        median,
        interval: MedianInterval {
            low: Some(0.99 * median),
            high: Some(1.01 * median),
            ranks: None,
            coverage: Some(0.96),
        },
        n: 12,
        min: median,
        q1: median,
        q3: median,
        max: median,
        percentiles: Default::default(),
    }
}

const ROUNDS: usize = 12;

/// A machine with noise of 1 % in each launch, and 5 % in each round.
pub struct Machine {
    rng: ChaCha8Rng,
    rounds: Vec<f64>,
    pub results: Vec<CaseResult>,
    pub observed: Vec<Observed>,
}

impl Machine {
    /// Noise from `seed`.
    pub fn seeded(seed: u64) -> Machine {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rounds = (0..ROUNDS).map(|_| (0.05 * normal(&mut rng)).exp()).collect();
        Machine { rng, rounds, results: Vec::new(), observed: Vec::new() }
    }

    fn launches(&mut self, ns: f64) -> Vec<Option<f64>> {
        let rounds = self.rounds.clone();
        let rng = &mut self.rng;
        rounds.into_iter().map(|round| Some(ns * round * (0.01 * normal(rng)).exp())).collect()
    }

    /// A case of `mechanism` that takes `ns`, and its index.
    pub fn plain(&mut self, mechanism: &str, bytes: u64, ns: f64) -> usize {
        let mut result = case(mechanism, "same-cpu", Some((0, 0)));
        result.message_bytes = Some(bytes);
        result.by_round = self.launches(ns);
        self.results.push(result);
        self.results.len() - 1
    }

    /// The same under `probe`.
    pub fn under(&mut self, probe: &str, beside: usize, ns: f64) {
        let mut case = self.results[beside].clone();
        case.by_round = self.launches(ns);
        let probe = probe.parse().unwrap();
        case.observe = Some(probe);
        self.observed
            .push(Observed { beside: Some(beside), ..Observed::of(probe, case, &[], &[], 0) });
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
}
