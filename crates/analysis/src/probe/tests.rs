//! A made-up machine whose tracing overhead is known, and what is said of it.

use super::*;
use crate::testing::{COUNTER_NS, FIRING_NS, Machine, ROUNDS, SIZES, machine};

#[test]
fn the_price_of_a_firing_is_what_was_planted() {
    let effect = machine(1).judged();
    assert_eq!(effect.strands.len(), 2);
    for strand in &effect.strands {
        assert_eq!(
            strand.overheads.len(),
            2 * SIZES.len(),
            "repetitions are no overheads of their own"
        );
        for overhead in &strand.overheads {
            let planted = if overhead.probe.family().is_some() { COUNTER_NS } else { FIRING_NS };
            let each = overhead.per_firing().unwrap();
            let off = (each.estimate / planted - 1.0).abs();
            assert!(off < 0.25 && overhead.is_sure(), "{}: {each:?}", overhead.probe);
            assert_eq!(overhead.rounds, ROUNDS);
        }
    }
}

#[test]
fn a_linear_price_meets_the_unobserved_time() {
    let effect = machine(2).judged();
    let lines: Vec<&Linearity> =
        effect.strands.iter().flat_map(|strand| &strand.linearity).collect();
    assert_eq!(lines.len(), 2 * SIZES.len());
    for line in lines {
        assert_eq!(line.times, [1, 2, 4]);
        assert!((line.slope.estimate / (8.0 * FIRING_NS) - 1.0).abs() < 0.25, "{line:?}");
        assert!(matches!(line.linear, Linear::Yes | Linear::Open(_)), "{line:?}");
    }
}

#[test]
fn a_first_time_that_costs_more_is_said_so() {
    let mut machine = Machine::seeded(3);
    let at = machine.plain("pipe", 64, 4000.0);
    for (probe, ns) in [("trace", 6000.0), ("trace:times=2", 6500.0), ("trace:times=4", 7500.0)] {
        machine.under(probe, at, ns, &[]);
    }
    let effect = machine.judged();
    assert_eq!(effect.strands[0].linearity[0].linear, Linear::FirstCostsMore);
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
fn an_order_that_instrumentation_reverses_is_reported() {
    let mut machine = Machine::seeded(5);
    for (mechanism, ns, overhead) in [("pipe", 4000.0, 3000.0), ("tcp", 5000.0, 500.0)] {
        let at = machine.plain(mechanism, 64, ns);
        machine.under("trace", at, ns + overhead, &[]);
        machine.under("trace:empty", at, ns + 100.0, &[]);
    }
    let orders = machine.judged().orders;
    let kept: Vec<_> = orders.iter().map(|order| (order.probe.to_string(), order.kept)).collect();
    assert_eq!(kept, [("trace".into(), Kept::Turned), ("trace:empty".into(), Kept::Yes)]);
}

#[test]
fn a_probe_that_the_machine_refuses_is_reported_with_its_reason() {
    let untested = machine(6).judged().untested;
    assert_eq!(untested.len(), 1);
    assert_eq!(untested[0].probe.to_string(), "l1d");
    assert!(untested[0].reason.contains("no counter of l1d"), "{}", untested[0].reason);
}

#[test]
fn without_probes_there_is_nothing_to_judge() {
    let mut machine = Machine::seeded(8);
    machine.plain("pipe", 64, 4000.0);
    assert!(ProbeEffect::of(&machine.results, &machine.observed).is_none());
}
