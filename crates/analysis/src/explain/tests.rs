//! A made-up machine whose round trips are known part by part, traced at a known overhead.

use super::*;
use crate::testing::case;
use model::trace::Share;

const ROUNDS: usize = 12;
/// What a firing adds to the part that it is in.
const FIRING_NS: f64 = 50.0;
/// Leaving one call and entering the next, four times a round trip.
const CROSSING_NS: f64 = 100.0;
const CALLS: f64 = 4.0;

/// A round trip's parts: what each takes, what a byte adds, and the firings in it.
type Made = [(Part, f64, f64, f64)];

const PIPE: &Made = &[
    (Part::Program, 600.0, 0.0, 4.0),
    (Part::Call, 800.0, 0.10, 6.0),
    (Part::Waking, 200.0, 0.0, 2.0),
    (Part::Switching, 500.0, 0.05, 2.0),
];
const SOCKET: &Made = &[
    (Part::Program, 600.0, 0.0, 4.0),
    (Part::Call, 1700.0, 0.10, 6.0),
    (Part::Waking, 300.0, 0.0, 2.0),
    (Part::Switching, 500.0, 0.05, 2.0),
];

#[derive(Default)]
struct Machine {
    results: Vec<CaseResult>,
    observed: Vec<Observed>,
}

impl Machine {
    /// A case, unobserved, traced, and traced twice over; `unseen` is in no part.
    fn with(mut self, variant: &str, bytes: u64, parts: &Made, unseen: f64) -> Machine {
        let all = |times: f64| -> f64 {
            let ns = |entry: &(Part, f64, f64, f64)| {
                entry.1 + entry.2 * bytes as f64 + times * FIRING_NS * entry.3
            };
            parts.iter().map(ns).sum()
        };
        let middle = |times: f64| {
            let mut result = case(variant, "same-cpu", Some((0, 0)));
            result.message_bytes = Some(bytes);
            let rounds = vec![Some(all(times) + unseen); ROUNDS];
            result.others_by_round.insert("middle", rounds);
            result
        };
        let beside = Some(self.results.len());
        self.results.push(middle(0.0));
        for (times, probe) in [(1.0, "trace"), (2.0, "trace:times=2")] {
            let share = |entry: &(Part, f64, f64, f64)| {
                let ns = entry.1 + entry.2 * bytes as f64 + times * FIRING_NS * entry.3;
                (entry.0, Share { ns, firings: entry.3 })
            };
            let trips = Trips {
                of: 100,
                used: 50,
                mean_ns: all(times),
                parts: parts.iter().map(share).collect(),
                calls: CALLS,
                crossing_ns: Some(CROSSING_NS + times * FIRING_NS),
            };
            let call_ns = [90.0, 90.0 + times * 2.0 * FIRING_NS];
            self.observed.push(Observed {
                trips: vec![Some(trips); ROUNDS],
                call_ns: vec![Some(call_ns); ROUNDS],
                ..Observed::of(probe.parse().unwrap(), middle(times), &[], &self.results, 0)
            });
            self.observed.last_mut().unwrap().beside = beside;
        }
        self
    }

    fn explained(&self) -> Explanation {
        decompose(&self.results, &self.observed)
    }
}

/// Asserts the costs of a case, to a thousandth of a nanosecond.
fn costs(case: &Explained, expected: &[(Cost, f64)]) {
    for (cost, ns) in expected {
        let found =
            case.parts.iter().find(|part| part.cost == *cost).map_or(0.0, |part| part.ns.median);
        assert!((found - ns).abs() < 1e-3, "{cost:?}: {found} and not {ns}");
    }
}

#[test]
fn the_parts_are_those_without_a_trace_and_add_up() {
    let machine = Machine::default().with("pipe", 64, PIPE, 0.0);
    let found = machine.explained();
    let [case] = found.cases.as_slice() else { panic!("{found:?}") };
    let in_call = 800.0 + 6.4;
    costs(case, &[(Cost::Calls, 400.0), (Cost::Program, 200.0), (Cost::Transport, in_call)]);
    costs(case, &[(Cost::Waking, 200.0), (Cost::Switching, 503.2), (Cost::Copying, 0.0)]);
    assert!(case.adds_up && case.residual_ns.median.abs() < 1e-3, "{case:?}");
    assert!((case.firing_ns.as_ref().unwrap().median - FIRING_NS).abs() < 1e-3);
    assert_eq!((case.firings, case.calls, case.slow_call_ns), (14.0, 4.0, 0.0));
    assert!(case.copying_unknown.as_ref().unwrap().contains("--size 1,4K,64K"));
}

#[test]
fn three_sizes_tell_copying_from_what_each_message_costs() {
    let sizes = [64, 4096, 65536];
    let machine = sizes
        .iter()
        .fold(Machine::default(), |machine, size| machine.with("pipe", *size, PIPE, 0.0));
    for (case, bytes) in machine.explained().cases.iter().zip(sizes) {
        assert_eq!(case.copying_unknown, None);
        costs(case, &[(Cost::Copying, 0.15 * bytes as f64)]);
        costs(case, &[(Cost::Transport, 800.0), (Cost::Switching, 500.0), (Cost::Calls, 400.0)]);
    }
}

#[test]
fn what_no_part_holds_is_the_residual_and_is_said() {
    let found = Machine::default().with("pipe", 64, PIPE, 300.0).explained();
    let case = &found.cases[0];
    assert!((case.residual_ns.median - 300.0).abs() < 1e-3 && !case.adds_up, "{case:?}");
    let found = Machine::default().with("pipe", 64, PIPE, 20.0).explained();
    assert!(found.cases[0].adds_up, "less than a twentieth of it");
}

#[test]
fn a_difference_is_named_by_its_parts_the_largest_first() {
    let machine =
        Machine::default().with("unix-stream", 64, SOCKET, 0.0).with("pipe", 64, PIPE, 0.0);
    let found = machine.with("pipe", 4096, PIPE, 0.0).explained();
    let [difference] = found.differences.as_slice() else { panic!("{found:?}") };
    assert_eq!((difference.quicker, difference.slower), (1, 0));
    assert_eq!(difference.whole_ns.median, 1000.0);
    let costs: Vec<(Cost, f64)> =
        difference.parts.iter().take(2).map(|part| (part.cost, part.ns.median.round())).collect();
    assert_eq!(costs, [(Cost::Transport, 900.0), (Cost::Waking, 100.0)]);
}

#[test]
fn what_was_not_traced_is_missing_with_its_reason() {
    let mut machine = Machine::default().with("pipe", 64, PIPE, 0.0);
    machine.observed[0].status = Status::Unavailable;
    machine.observed[0].reason = Some("the trace is refused".into());
    let found = machine.explained();
    assert!(found.cases.is_empty());
    assert_eq!(found.missing[0].reason, "the trace is refused");
}

/// Of the pipe's 2,100 ns: three ways from one call into the next, of four calls, 200 of waking, 500 of switching.
#[test]
fn a_claim_about_calls_and_wake_ups_goes_by_the_parts_and_not_where_they_do_not_add_up() {
    let machine = Machine::default().with("pipe", 8, PIPE, 0.0).with("tcp", 8, PIPE, 5_000.0);
    let parts = machine.explained().cases[0].parts.clone();
    let expected: f64 = parts
        .iter()
        .filter(|part| part.cost == Cost::Calls || part.cost.wakes())
        .map(|part| part.ns.median)
        .sum();
    let whole = machine.explained().cases[0].whole_ns.median;
    let found = shares_of_parts(&machine.results, &machine.observed);
    assert_eq!(
        found.iter().map(|pair| pair.0).collect::<Vec<_>>(),
        [0],
        "what doesn't add up has none"
    );
    let share = &found[0].1[CALLS_AND_WAKE_UPS];
    assert!((share.median - expected / whole).abs() < 1e-9);
    assert!((0.4..0.6).contains(&share.median), "{share:?}");
    let work =
        parts.iter().find(|part| part.cost == Cost::Transport).map_or(0.0, |part| part.ns.median);
    let with_work = found[0].1[WHOLE_CALLS_AND_WAKE_UPS].median;
    assert!(work > 0.0 && (with_work - share.median - work / whole).abs() < 1e-9, "{with_work}");
    // Once alone says nothing of what tracing adds.
    let mut once = machine;
    once.observed.retain(|observed| observed.probe == ONCE);
    assert!(shares_of_parts(&once.results, &once.observed).is_empty());
}
