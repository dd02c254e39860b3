//! Frames go in, and frames to send come out; no process is started.

use std::net::Ipv4Addr;

use super::*;
use model::launch::{SampleCount, Warmup, WorkerReport};
use model::mechanism::{Cause, Unavailable};

const NEAR: usize = 3;
const FAR: usize = 5;

/// A launch of two samples.
pub fn wanted(far: Option<FarEnd>) -> Wanted {
    let spec = Spec {
        message_bytes: 64,
        warmup: Warmup::default(),
        samples: SampleCount::Exactly(2),
        deadline_ms: 100,
        seed: 7,
        ..Spec::new("tcp")
    };
    Wanted { near: NEAR, far, spec, padding: 32, slot: 0 }
}

fn here() -> LaunchState {
    let (state, begin) = LaunchState::begin(wanted(None), 9);
    let Some(Outgoing { node: NEAR, number: 9, what: Message::Begin(spec, 32) }) = begin else {
        panic!("{begin:?}");
    };
    assert_eq!(spec.half, None, "all of it is there");
    state
}

/// A launch between two, and what is said to the far one first.
fn between() -> (LaunchState, Spec) {
    let at = Ipv4Addr::new(10, 1, 0, 2).into();
    let far = FarEnd { node: FAR, at, clock: model::clock::ClockKind::Tsc, ns_per_tick: 0.5 };
    let (state, begin) = LaunchState::begin(wanted(Some(far)), 9);
    let Some(Outgoing { node: FAR, what: Message::Begin(spec, 32), .. }) = begin else {
        panic!("{begin:?}");
    };
    (state, *spec)
}

fn record(outcome: Outcome, samples: u64) -> Vec<u8> {
    let mut record = Record::without_samples(outcome);
    record.initiator.samples = samples;
    record.setup_ns = 42;
    serde_json::to_vec(&record).unwrap()
}

fn failed(reason: &str) -> Vec<u8> {
    record(Outcome::Failed { reason: reason.into() }, 0)
}

/// Frames of a node, none of which is answered.
fn hear<const N: usize>(state: &mut LaunchState, node: usize, frames: [(FrameKind, &[u8]); N]) {
    for (kind, payload) in frames {
        assert!(state.hear(node, kind, payload).is_none(), "{kind:?}");
    }
}

fn result(state: &mut LaunchState) -> LaunchResult {
    state.result(|node| if node == FAR { "far" } else { "" })
}

fn reason(state: &mut LaunchState) -> String {
    match result(state).record.outcome {
        Outcome::Failed { reason } => reason,
        other => panic!("{other:?}"),
    }
}

fn ticks(values: [u64; 2]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn a_launch_in_one_place_is_ready_goes_is_timed_and_tells() {
    let mut state = here();
    assert!(state.is_at(Stage::Bound) && !state.is_at(Stage::Ready));
    hear(&mut state, NEAR, [(FrameKind::Ready, &[])]);
    assert!(state.is_at(Stage::Ready) && !state.is_at(Stage::Timed));
    let go = state.go();
    assert!(
        matches!(go, Outgoing { node: NEAR, what: Message::Tell(FrameKind::Go), .. }),
        "{go:?}"
    );
    hear(&mut state, NEAR, [(FrameKind::Timed, &[])]);
    assert!(state.is_at(Stage::Timed) && !state.is_at(Stage::Reported));
    let (record, ticks) = (record(Outcome::Ok, 2), ticks([10, 11]));
    hear(
        &mut state,
        NEAR,
        [(FrameKind::Record, &record), (FrameKind::Samples, &ticks), (FrameKind::Done, &[])],
    );
    assert!(state.is_at(Stage::Reported) && !state.failed());
    let found = result(&mut state);
    assert_eq!((found.record.outcome, found.samples), (Outcome::Ok, vec![10, 11]));
}

#[test]
fn of_two_halves_the_far_one_begins_and_goes_first() {
    let (mut state, far) = between();
    assert_eq!((far.clock, far.ns_per_tick), (model::clock::ClockKind::Tsc, 0.5), "its own clock");
    let reply = state.hear(FAR, FrameKind::Bound, &4711_u16.to_le_bytes());
    let Some(Outgoing { node: NEAR, what: Message::Begin(near, 32), .. }) = reply else {
        panic!("{reply:?}");
    };
    let (Some(Half::Far { at, cookie }), Some(Half::Near { to, cookie: shown })) =
        (far.half, near.half)
    else {
        panic!("two halves");
    };
    assert_eq!((SocketAddr::new(at, 4711), cookie), (to, shown));
    assert!(state.hear(FAR, FrameKind::Bound, &1_u16.to_le_bytes()).is_none(), "it begins once");
    hear(&mut state, FAR, [(FrameKind::Ready, &[])]);
    assert!(!state.is_at(Stage::Ready));
    hear(&mut state, NEAR, [(FrameKind::Ready, &[])]);
    assert!(state.is_at(Stage::Ready));
    assert_eq!(state.go().node, FAR);
    let reply = state.hear(FAR, FrameKind::Going, &[]);
    let to_near =
        matches!(reply, Some(Outgoing { node: NEAR, what: Message::Tell(FrameKind::Go), .. }));
    assert!(to_near, "{reply:?}");
    let ticks = ticks([10, 11]);
    for (node, samples) in [(NEAR, 2), (FAR, 0)] {
        hear(
            &mut state,
            node,
            [(FrameKind::Timed, &[]), (FrameKind::Record, &record(Outcome::Ok, samples))],
        );
        if node == NEAR {
            hear(&mut state, node, [(FrameKind::Samples, &ticks)]);
        }
        assert!(!state.is_at(Stage::Reported));
        hear(&mut state, node, [(FrameKind::Done, &[])]);
    }
    assert!(state.is_at(Stage::Reported));
    let found = result(&mut state);
    assert_eq!((found.record.outcome, found.samples.len()), (Outcome::Ok, 2));
    assert_eq!(found.record.far.map(|side| side.setup_ns), Some(42));
}

#[test]
fn what_can_not_be_had_is_the_cause_and_failures_are_joined() {
    let (mut state, _) = between();
    let (cause, remedy) = (Cause::Denied, "load it".into());
    let why = Unavailable { cause, reason: "no tcp".into(), remedy };
    hear(&mut state, FAR, [(FrameKind::Record, &record(Outcome::Unavailable(why), 0))]);
    hear(&mut state, NEAR, [(FrameKind::Record, &failed("its partner is gone"))]);
    let Outcome::Unavailable(why) = result(&mut state).record.outcome else { panic!("the cause") };
    assert_eq!(why.reason, "far: no tcp");

    let (mut state, _) = between();
    hear(&mut state, NEAR, [(FrameKind::Record, &failed("it broke"))]);
    hear(&mut state, FAR, [(FrameKind::Record, &failed("it broke too"))]);
    let found = result(&mut state).record;
    let reason = "it broke; far: it broke too".to_string();
    assert_eq!(found.outcome, Outcome::Failed { reason });
    assert_eq!(found.far.map(|side| side.setup_ns), Some(42), "what it counted is kept");
}

#[test]
fn a_node_that_was_asked_to_end_is_no_cause() {
    let (mut state, _) = between();
    hear(&mut state, NEAR, [(FrameKind::Record, &failed(OWNER_GONE))]);
    hear(&mut state, FAR, [(FrameKind::Record, &failed("it broke"))]);
    assert_eq!(reason(&mut state), "far: it broke");
}

#[test]
fn who_dies_or_says_nothing_in_time_is_named() {
    let mut state = here();
    hear(&mut state, NEAR, [(FrameKind::Over, &[])]);
    assert!(state.failed() && state.is_at(Stage::Reported));
    assert_eq!(reason(&mut state), "the supervisor died without a word");

    let (mut state, _) = between();
    state.give_up(Stage::Ready);
    assert!(state.is_at(Stage::Reported), "the near half was never begun");
    assert_eq!(reason(&mut state), "far: the supervisor missed its deadline");

    let mut state = here();
    let (record, ticks) = (record(Outcome::Ok, 2), ticks([1, 2]));
    hear(
        &mut state,
        NEAR,
        [(FrameKind::Record, &record), (FrameKind::Samples, &ticks[..8]), (FrameKind::Done, &[])],
    );
    assert_eq!(reason(&mut state), "1 sample came of 2");

    let mut state = here();
    state.fail("n3 is gone".into());
    state.fail("later".into());
    assert_eq!(reason(&mut state), "n3 is gone");
}

#[test]
fn three_failures_and_none_that_worked_give_a_case_up() {
    let given_up = [(2, 0), (3, 0), (9, 1), (3, 3)].map(|(failed, ok)| is_given_up(failed, ok));
    assert_eq!(given_up, [false, true, false, false]);
}

/// By its record a peer would decide how much memory its samples take here.
#[test]
fn a_record_that_claims_more_than_was_asked_for_makes_no_room_and_no_result() {
    let mut forged = Record::without_samples(Outcome::Ok);
    forged.others = vec![WorkerReport { samples: 2, ..WorkerReport::default() }; 2_313];
    let others = serde_json::to_vec(&forged).unwrap();
    for (claimed, why) in [
        (
            record(Outcome::Ok, u64::MAX),
            "its record: 18446744073709551615 samples, and at most 2 were asked for",
        ),
        (record(Outcome::Ok, 3), "its record: 3 samples, and at most 2 were asked for"),
        (others.clone(), "its record: 2314 initiators, and 1 were asked for"),
    ] {
        let mut state = here();
        hear(&mut state, NEAR, [(FrameKind::Record, &claimed)]);
        for _ in 0..100 {
            hear(&mut state, NEAR, [(FrameKind::Samples, &[7; 8 * 1_000])]);
        }
        assert!(state.near.samples.capacity() <= 4, "{}", state.near.samples.capacity());
        hear(&mut state, NEAR, [(FrameKind::Done, &[])]);
        assert_eq!(reason(&mut state), why);
    }
    // Of the far half nobody uses any.
    let (mut state, _) = between();
    assert!(state.hear(FAR, FrameKind::Bound, &4711_u16.to_le_bytes()).is_some());
    let (claimed, ticks) = (record(Outcome::Ok, 2), ticks([10, 11]));
    hear(&mut state, FAR, [(FrameKind::Record, &claimed), (FrameKind::Samples, &ticks)]);
    assert_eq!(state.far.samples.capacity(), 0);
    hear(&mut state, FAR, [(FrameKind::Record, &others)]);
    assert_eq!(reason(&mut state), "far: its record: 2314 initiators, and 1 were asked for");
}

#[test]
fn a_spec_of_numbers_that_no_coordinator_sends_is_refused() {
    let spec = wanted(None).spec;
    assert_eq!(spec.check(), Ok(()));
    for (forged, named) in [
        (Spec { others: vec![None; 5_000], ..spec.clone() }, "5001 initiators"),
        (Spec { buffer_offset: 1 << 40, ..spec.clone() }, "shifted by"),
        (Spec { deadline_ms: u64::MAX, ..spec.clone() }, "a deadline"),
        (Spec { ns_per_tick: 0.0, ..spec.clone() }, "ns a tick"),
        (Spec { ns_per_tick: f64::INFINITY, ..spec.clone() }, "ns a tick"),
    ] {
        let why = forged.check().unwrap_err();
        assert!(why.contains(named), "{why}");
    }
    if !sys::clock::is_here(model::clock::ClockKind::Tsc) {
        let forged = Spec { clock: model::clock::ClockKind::Tsc, ..spec };
        assert!(forged.check().unwrap_err().contains("no such clock"));
    }
}

#[test]
fn samples_beyond_those_that_were_reported_take_no_memory_and_make_no_result() {
    let mut state = here();
    let record = record(Outcome::Ok, 2);
    hear(
        &mut state,
        NEAR,
        [(FrameKind::Ready, &[]), (FrameKind::Timed, &[]), (FrameKind::Record, &record)],
    );
    let many = [7; 8 * 1_000];
    for _ in 0..100 {
        hear(&mut state, NEAR, [(FrameKind::Samples, &many)]);
    }
    assert!(state.near.samples.len() <= 3, "{}", state.near.samples.len());
    hear(&mut state, NEAR, [(FrameKind::Done, &[])]);
    assert_eq!(reason(&mut state), "3 samples came of 2");
}

#[test]
fn an_agents_frame_is_of_the_launch_that_it_names_if_the_agent_has_a_part_in_it() {
    let mut launches = HashMap::from([(9, here()), (10, between().0)]);
    let relay = |number: u32, inner: u8| {
        let payload = [number.to_le_bytes().as_slice(), &[inner]].concat();
        (FrameKind::Relay, payload)
    };
    let ready = FrameKind::Ready as u8;
    let others = [
        (FAR, relay(9, ready)),
        (NEAR, relay(8, ready)),
        (NEAR, relay(9, b'?')),
        (NEAR, (FrameKind::Ready, 9_u32.to_le_bytes().into())),
        (NEAR, (FrameKind::Relay, vec![9])),
    ];
    for (node, frame) in others {
        assert!(dispatch(&mut launches, node, &frame).is_none());
        assert!(launches.len() == 2 && !launches[&9].is_at(Stage::Ready), "{node} {frame:?}");
    }
    assert!(dispatch(&mut launches, NEAR, &relay(9, ready)).is_none());
    assert!(launches[&9].is_at(Stage::Ready) && !launches[&10].is_at(Stage::Ready));
    assert!(
        dispatch(&mut launches, FAR, &(FrameKind::Over, 10_u32.to_le_bytes().into())).is_none()
    );
    assert!(launches[&10].failed() && !launches[&9].failed());
}
