//! A made-up machine whose price of looking is known, and what the judge says of it.

use std::f64::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::judge::floor::tests::case;
use crate::judge::hypothesis::Decision;
use crate::judge::{EventCount, Price};

const ROUNDS: usize = 12;
const SIZES: [u64; 5] = [64, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
/// What each system call entered or left costs under `trace-calls`, and each under `calls`.
const FIRING_NS: f64 = 150.0;
const COUNTER_NS: f64 = 700.0;

/// A machine with noise of 1 % in each launch, and 5 % in each round.
pub struct Machine {
    rng: ChaCha8Rng,
    rounds: Vec<f64>,
    results: Vec<CaseResult>,
    observed: Vec<Observed>,
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

    /// The same while `probe` looks on, with what it counted per operation.
    pub fn under(&mut self, probe: &str, beside: usize, ns: f64, events: &[(&str, f64)]) {
        let mut case = self.results[beside].clone();
        case.by_round = self.launches(ns);
        let seen = self.seen(probe, case, Some(beside));
        let count = |(name, count): &(&str, f64)| {
            EventCount::of((*name).into(), vec![Some(*count); ROUNDS], Default::default()).unwrap()
        };
        self.observed.push(Observed { events: events.iter().map(count).collect(), ..seen });
    }

    /// A probe that this machine refuses.
    pub fn refuses(&mut self, probe: &str, beside: usize, reason: &str) {
        let mut case = self.results[beside].clone();
        case.by_round = Vec::new();
        let seen = self.seen(probe, case, Some(beside));
        let (status, reason) = (Status::Unavailable, Some(reason.to_string()));
        self.observed.push(Observed { status, reason, launches: 0, ..seen });
    }

    fn seen(&self, probe: &str, case: CaseResult, beside: Option<usize>) -> Observed {
        Observed {
            probe: probe.parse().unwrap(),
            variant: case.variant.clone(),
            workload: case.workload.clone(),
            message_bytes: case.message_bytes,
            total: case.total,
            placement: case.placement.clone(),
            workers: case.workers.clone(),
            status: case.status,
            reason: None,
            launches: ROUNDS as u64,
            events: Vec::new(),
            figures: Vec::new(),
            heard: None,
            price: None::<Price>,
            firings: None,
            trips: Vec::new(),
            call_ns: Vec::new(),
            case,
            beside,
        }
    }

    /// What the judge says of it.
    pub fn judged(&self) -> ProbeEffect {
        ProbeEffect::of(&self.results, &self.observed).unwrap()
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    let (u, v): (f64, f64) = (1.0 - rng.random::<f64>(), rng.random());
    (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
}

/// Pipes and sockets whose calls cost what the constants say, under linear probes; a pipe takes
/// four calls a round trip, and time by its size. No counters of the processor.
pub fn machine(seed: u64) -> Machine {
    let mut machine = Machine::seeded(seed);
    for size in SIZES {
        for (mechanism, ns) in [("pipe", 4000.0), ("unix-stream", 8000.0)] {
            let ns = ns + size as f64 / 10.0;
            let at = machine.plain(mechanism, size, ns);
            let calls = [("calls", 4.0), ("read", 2.0), ("write", 2.0)];
            machine.under("calls", at, ns + 4.0 * COUNTER_NS, &calls);
            for (probe, dose) in
                [("trace-calls", 1.0), ("trace-calls:times=2", 2.0), ("trace-calls:times=4", 4.0)]
            {
                machine.under(probe, at, ns + 8.0 * FIRING_NS * dose, &[]);
            }
            machine.refuses("l1d", at, "this machine has no counter of l1d-reads:u");
        }
    }
    machine
}

#[test]
fn the_price_of_a_firing_is_what_was_planted() {
    let effect = machine(1).judged();
    assert_eq!(effect.strands.len(), 2);
    for strand in &effect.strands {
        assert_eq!(strand.charges.len(), 2 * SIZES.len(), "doses are no prices");
        for charge in &strand.charges {
            let planted = if charge.probe.family().is_some() { COUNTER_NS } else { FIRING_NS };
            let each = charge.per_firing().unwrap();
            let off = (each.estimate / planted - 1.0).abs();
            assert!(off < 0.25 && charge.is_sure(), "{}: {each:?}", charge.probe);
            assert_eq!(charge.rounds, ROUNDS);
        }
    }
}

#[test]
fn a_linear_price_meets_the_unobserved_time() {
    let effect = machine(2).judged();
    let doses: Vec<&Dose> = effect.strands.iter().flat_map(|it| &it.doses).collect();
    assert_eq!(doses.len(), 2 * SIZES.len());
    for dose in doses {
        assert_eq!(dose.doses, [1, 2, 4]);
        assert!((dose.slope.estimate / (8.0 * FIRING_NS) - 1.0).abs() < 0.25, "{dose:?}");
        assert!(matches!(dose.linear, Linear::Yes | Linear::Open(_)), "{dose:?}");
    }
}

#[test]
fn a_first_dose_that_costs_more_is_said_so() {
    let mut machine = Machine::seeded(3);
    let at = machine.plain("pipe", 64, 4000.0);
    for (probe, ns) in [("trace", 6000.0), ("trace:times=2", 6500.0), ("trace:times=4", 7500.0)] {
        machine.under(probe, at, ns, &[]);
    }
    let effect = machine.judged();
    assert_eq!(effect.strands[0].doses[0].linear, Linear::FirstCostsMore);
}

#[test]
fn a_fixed_price_bends_a_curve_and_a_factor_does_not() {
    let mut machine = Machine::seeded(4);
    for (nth, size) in SIZES.into_iter().enumerate() {
        let ns = 1000.0 * 4f64.powi(nth as i32);
        let at = machine.plain("pipe", size, ns);
        machine.under("trace-calls", at, ns + 1000.0, &[]);
        machine.under("trace", at, 1.5 * ns, &[]);
    }
    let effect = machine.judged();
    let [bent, rescaled] = effect.strands[0].curves.as_slice() else { panic!("two curves") };
    assert!(bent.is_bent() && bent.rescaled.as_ref().unwrap().farthest == 0, "{bent:?}");
    assert!(!rescaled.is_bent(), "{rescaled:?}");
    assert!(rescaled.most_off().unwrap() < 0.1);
    // Divided by a mean of times, which is that of the largest sizes, some points look alike.
    let [published, holm, by_maximum] = bent.points();
    assert!(by_maximum == 5 && holm <= published && holm >= 3, "{:?}", bent.points());
    assert!(!bent.has_peak(), "a time that only grows has its best at the smallest size");
}

#[test]
fn an_order_that_looking_turns_is_told() {
    let mut machine = Machine::seeded(5);
    for (mechanism, ns, price) in [("pipe", 4000.0, 3000.0), ("tcp", 5000.0, 500.0)] {
        let at = machine.plain(mechanism, 64, ns);
        machine.under("trace", at, ns + price, &[]);
        machine.under("trace:empty", at, ns + 100.0, &[]);
    }
    let orders = machine.judged().orders;
    let kept: Vec<_> = orders.iter().map(|it| (it.probe.to_string(), it.kept)).collect();
    assert_eq!(kept, [("trace".into(), Kept::Turned), ("trace:empty".into(), Kept::Yes)]);
}

#[test]
fn surprises_are_decided_or_say_what_they_lack() {
    let effect = machine(6).judged();
    let told: Vec<_> = effect.surprises.iter().map(|it| it.decision).collect();
    // Of the processor nothing can be told; of the kernel's counters, for both mechanisms.
    use Decision::{NotTestable, Supported};
    assert_eq!(told, [NotTestable, Supported, Supported, NotTestable]);
    for it in effect.surprises.iter().filter(|it| it.decision == NotTestable) {
        assert!(it.reason.as_ref().unwrap().contains("no counter of l1d"), "{it:?}");
    }
    let untested = &effect.untested;
    assert_eq!(untested.len(), 1);
    assert_eq!(untested[0].probe.to_string(), "l1d");
}

#[test]
fn with_hardware_both_surprises_get_their_verdicts() {
    let mut machine = Machine::seeded(7);
    for size in SIZES {
        let at = machine.plain("pipe", size, 4000.0);
        for (probe, ns) in [("l1d", 4200.0), ("l1i", 4800.0), ("trace-calls", 5500.0)] {
            machine.under(probe, at, ns, &[]);
        }
    }
    let surprises = machine.judged().surprises;
    let told: Vec<_> = surprises.iter().map(|it| it.decision).collect();
    assert_eq!(told, [Decision::Refuted, Decision::NotTestable, Decision::Refuted]);
}

#[test]
fn without_probes_there_is_nothing_to_judge() {
    let mut machine = Machine::seeded(8);
    machine.plain("pipe", 64, 4000.0);
    assert!(ProbeEffect::of(&machine.results, &machine.observed).is_none());
}
