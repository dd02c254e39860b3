use std::collections::BTreeMap;

use super::*;
use crate::testing::case;
use model::trace::{Calls, Deeds, Direction, SocketBytes, Spread, Traced, Woken};

const ROUNDS: usize = 12;

/// What was counted in a case of a made-up machine, each event the same in every launch.
fn counted(variant: &str, probe: &str, events: &[(&str, f64)]) -> Observed {
    let case = case(variant, "same-cpu", None);
    let load = Load::of(&case);
    let count = |(name, count): &(&str, f64)| {
        EventCount::of((*name).into(), vec![Some(*count); ROUNDS], load).unwrap()
    };
    let mut observed = Observed::of(probe.parse().unwrap(), case, &[], &[], 0);
    observed.events = events.iter().map(count).collect();
    observed
}

fn figure<'a>(observed: &'a Observed, name: &str) -> Option<&'a CountFigure> {
    observed.figures.iter().find(|figure| figure.name == name)
}

#[test]
fn counts_are_given_per_message_and_per_byte_of_both_directions() {
    let observed = counted("pipe", "calls", &[("read", 2.0)]);
    let read = observed.event("read").unwrap();
    assert_eq!((read.per_message, read.per_byte), (Some(1.0), Some(2.0 / 128.0)));
    let mut set_up = case("pipe", "same-cpu", None);
    crate::testing::redo(&mut set_up, model::workload::Workload::Connect);
    let read = EventCount::of("read".into(), vec![Some(2.0)], Load::of(&set_up)).unwrap();
    assert_eq!((read.per_message, read.per_byte), (None, None));
}

#[test]
fn figures_bring_families_together_user_and_kernel_apart_and_as_one() {
    let core = [
        ("cycles:u", 100.0),
        ("cycles:k", 900.0),
        ("instructions:u", 200.0),
        ("instructions:k", 300.0),
    ];
    let l1d = [
        ("l1d-reads:u", 50.0),
        ("l1d-reads:k", 150.0),
        ("l1d-misses:u", 0.0),
        ("l1d-misses:k", 3.0),
    ];
    let mut all = vec![
        counted("pipe", "core", &core),
        counted("tcp", "core", &core),
        counted("pipe", "l1d", &l1d),
        counted("pipe", "software", &[("context-switches", 2.0)]),
    ];
    assign(&mut all);
    let value = |at: usize, name: &str| figure(&all[at], name).map(|figure| figure.value);
    assert_eq!(value(0, "instructions"), Some(500.0));
    assert_eq!(value(0, "cycles-per-instruction:u"), Some(0.5));
    assert_eq!(value(0, "cycles-per-instruction:k"), Some(3.0));
    assert_eq!(value(0, "cycles-per-instruction"), Some(2.0), "not the mean of both");
    assert_eq!(value(2, "cycles-per-l1d-read:k"), Some(6.0));
    assert_eq!(value(2, "cycles-per-l1d-read"), Some(5.0));
    assert_eq!(value(2, "misses-per-l1d-read"), Some(3.0 / 200.0));
    assert_eq!(value(1, "cycles-per-l1d-read"), None, "of another case");
    assert!(all[3].figures.is_empty());
    let quotient = figure(&all[0], "cycles-per-instruction").unwrap();
    assert_eq!((quotient.interval.low, quotient.interval.high), (Some(2.0), Some(2.0)));
}

#[test]
fn figures_are_of_their_own_rate_depth_and_number_of_connections() {
    let usual = model::load::Load::USUAL;
    let loads = [
        usual,
        model::load::Load { per_second: 2 * usual.per_second, ..usual },
        model::load::Load { depth: 8, ..usual },
        model::load::Load { connections: 4, ..usual },
    ];
    let at = |(cycles, load): (u64, &model::load::Load)| {
        let events = [("cycles:u", cycles as f64), ("instructions:u", 1.0)];
        let mut case = case("pipe", "same-cpu", None);
        crate::testing::redo(&mut case, model::workload::Workload::Rate);
        case.load = Some(*load);
        let seen = Observed::of("core".parse().unwrap(), case, &[], &[], 0);
        Observed { events: counted("pipe", "core", &events).events, ..seen }
    };
    let mut all: Vec<Observed> = (1..).zip(&loads).map(at).collect();
    assign(&mut all);
    let found = all
        .iter()
        .map(|observed| figure(observed, "cycles-per-instruction:u").map(|figure| figure.value));
    assert_eq!(found.collect::<Vec<_>>(), [Some(1.0), Some(2.0), Some(3.0), Some(4.0)]);
}

#[test]
fn a_figure_of_two_families_takes_the_rounds_that_both_have() {
    let mut core = counted("pipe", "core", &[("cycles:u", 1.0)]);
    let mut l1d = counted("pipe", "l1d", &[("l1d-reads:u", 1.0)]);
    core.events[0].by_round = vec![Some(10.0), None, Some(30.0), Some(40.0)];
    l1d.events[0].by_round = vec![Some(5.0), Some(1.0), Some(10.0), Some(0.0)];
    let mut all = vec![core, l1d];
    assign(&mut all);
    let quotient = figure(&all[1], "cycles-per-l1d-read:u").unwrap();
    assert_eq!(quotient.by_round, [Some(2.0), None, Some(3.0), None], "and none over nothing");
    assert_eq!(quotient.value, 2.5);
}

/// A worker that did so many operations, each with a full read and some with a short one.
fn worker(operations: u64, short: u64) -> Deeds {
    let read = |returned: i64, count: u64| Calls {
        name: "read".into(),
        returned: Some(returned),
        count,
        total_ns: 2_000 * count,
        asked_bytes: Some(131_072 * count),
    };
    Deeds {
        operations,
        calls: vec![read(65_536, 2 * operations), read(4_096, short), read(-11, 1)],
        delays: Spread {
            count: operations,
            total_ns: 3_000 * operations,
            longest_ns: 70_000,
            log2_ns: [vec![0; 11], vec![operations - 1, 0, 0, 0, 0, 1]].concat(),
        },
        woken: vec![Woken { by_partner: true, from_cpu: 0, to_cpu: 1, count: operations }],
        socket: vec![SocketBytes { direction: Direction::Sent, bytes: 64, count: operations }],
        ..Deeds::default()
    }
}

fn traced(lost: u64) -> Traced {
    let missing = vec!["ipi_send_cpu".to_owned()];
    let (initiator, responder) = (worker(1000, 1), worker(1016, 250));
    Traced { initiator, responder, missing, lost, firings: BTreeMap::new(), ..Traced::default() }
}

#[test]
fn what_a_trace_recorded_is_per_operation_of_each_worker_and_summed() {
    let traces: Vec<Traced> = (0..ROUNDS as u64).map(traced).collect();
    let trace = TraceSummary::over((1..).zip(&traces)).unwrap();
    let read = trace.call("read").unwrap();
    let expected = 2002.0 / 1000.0 + (2.0 * 1016.0 + 250.0 + 1.0) / 1016.0;
    assert!((read.stats.per_operation - expected).abs() < 1e-9, "{read:?}");
    assert_eq!(
        read.stats.interval.low,
        Some(read.stats.per_operation),
        "every launch did the same"
    );
    let full = &read.returned[0];
    assert_eq!(
        (full.value, full.stats.per_operation, full.stats.mean_ns),
        (Some(65_536), 4.0, 2_000.0)
    );
    assert_eq!(read.returned[1].value, Some(4_096));
    assert_eq!(read.returned.len(), 2, "an error in a thousand is among the others");
    assert!((read.others_per_operation - (1.0 / 1000.0 + 1.0 / 1016.0)).abs() < 1e-9);
    assert_eq!(read.stats.asked_bytes, Some(131_072.0));
    assert!(
        read.mean_returned.is_some_and(|value| value > 60_000.0 && value < 65_536.0),
        "{read:?}"
    );
    let delay = trace.delay.as_ref().unwrap();
    assert_eq!((delay.per_operation, delay.mean_ns, delay.longest_ns), (2.0, 3_000.0, 70_000));
    let beyond: Vec<f64> = delay.beyond.iter().map(|beyond| beyond.share).collect();
    assert_eq!(beyond[..2], [1.0, 2.0 / 2016.0], "from 2 µs on, and one each beyond 64 µs");
    assert_eq!((delay.beyond[3].ns, beyond[3], beyond[4]), (65_536, 2.0 / 2016.0, 0.0));
    assert!(trace.asleep.is_none(), "nobody slept");
    assert_eq!(trace.wake_ups.len(), 2);
    // Counted as counters do, but for what its kernel has no tracepoint of.
    assert!(trace.events["wake-ups"].iter().all(|value| *value == Some(2.0)), "{:?}", trace.events);
    assert!(trace.events.contains_key("context-switches"));
    assert!(!trace.events.contains_key("interrupts-sent"), "missing is not none");
    assert!(
        trace.wake_ups.iter().all(|wake_up| wake_up.per_operation == 1.0 && wake_up.to_cpu == 1)
    );
    assert_eq!((trace.socket[0].bytes, trace.socket[0].per_operation), (Some(64), 2.0));
    assert_eq!(trace.missing, ["ipi_send_cpu"]);
    assert_eq!(trace.lost, (0..12).sum::<u64>());
}

#[test]
fn rare_values_are_summed_and_no_launch_has_no_trace() {
    let mut one = traced(0);
    let calls = |returned: i64| Calls {
        name: "write".into(),
        returned: Some(returned),
        count: 1,
        total_ns: 10,
        asked_bytes: None,
    };
    one.initiator.calls = (0..50).map(calls).collect();
    let trace = TraceSummary::over([(3, &one)].into_iter()).unwrap();
    let write = trace.call("write").unwrap();
    let shown: f64 = write.returned.iter().map(|returned| returned.stats.per_operation).sum();
    assert!(
        (shown + write.others_per_operation - write.stats.per_operation).abs() < 1e-9,
        "{write:?}"
    );
    assert!(write.returned.len() < 10, "{write:?}");
    assert_eq!(write.stats.by_round[..2], [None, None]);
    assert_eq!(write.stats.interval.low, None, "one launch has no interval");
    assert!(TraceSummary::over(std::iter::empty()).is_none());
}
