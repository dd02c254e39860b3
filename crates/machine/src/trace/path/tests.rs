use super::*;
use Who::{Initiator, Responder};

fn event(at_ns: u64, who: Who, kind: EventKind) -> Event {
    Event { at_ns, cpu: 0, who, kind }
}

/// A round trip over a pipe on one CPU that begins at `t` and takes 100 ns.
fn on_one_cpu(t: u64) -> Vec<Event> {
    let (write, read) = (EventKind::Enter(1), EventKind::Enter(0));
    let waking = EventKind::Waking { by_partner: true };
    vec![
        event(t + 5, Initiator, write),
        event(t + 15, Responder, waking),
        event(t + 18, Responder, EventKind::Awake),
        event(t + 22, Initiator, EventKind::Exit(64)),
        event(t + 24, Initiator, read),
        event(t + 30, Initiator, EventKind::Out { asleep: true }),
        event(t + 30, Responder, EventKind::In),
        event(t + 40, Responder, EventKind::Exit(64)),
        event(t + 42, Responder, write),
        event(t + 55, Initiator, waking),
        event(t + 59, Initiator, EventKind::Awake),
        event(t + 64, Responder, EventKind::Exit(64)),
        event(t + 66, Responder, read),
        event(t + 75, Responder, EventKind::Out { asleep: true }),
        event(t + 75, Initiator, EventKind::In),
        event(t + 90, Initiator, EventKind::Exit(64)),
    ]
}

fn launch(trips: u64, trip: impl Fn(u64) -> Vec<Event>) -> (Vec<Event>, Vec<f64>) {
    // The responder has gone to sleep in its read before the first message.
    let mut events = vec![
        event(0, Initiator, EventKind::Begin),
        event(0, Responder, EventKind::Begin),
        event(1, Responder, EventKind::Enter(0)),
        event(2, Responder, EventKind::Out { asleep: true }),
    ];
    events.extend((0..trips).flat_map(|nth| trip(1000 + 100 * nth)));
    events.push(event(1000 + 100 * trips, Initiator, EventKind::End));
    (events, (0..=trips).map(|nth| (1000 + 100 * nth) as f64).collect())
}

fn ns(trips: &Trips, part: Part) -> f64 {
    trips.parts.get(&part).map_or(0.0, |share| share.ns)
}

#[test]
fn on_one_cpu_every_nanosecond_belongs_to_one_part() {
    let (events, starts) = launch(8, on_one_cpu);
    let trips = decompose(&events, &starts).unwrap();
    assert_eq!((trips.of, trips.used, trips.mean_ns), (8, 4, 100.0));
    // What the one still does while the other is awake, the other waits for.
    assert_eq!(ns(&trips, Part::Program), 5.0 + 2.0 + 10.0 + 2.0 + 2.0);
    assert_eq!(ns(&trips, Part::Call), 10.0 + 13.0 + 10.0 + 14.0);
    assert_eq!(ns(&trips, Part::Waking), 3.0 + 4.0);
    assert_eq!(ns(&trips, Part::Waiting), 0.0);
    assert_eq!(trips.calls, 4.0);
    assert_eq!(ns(&trips, Part::Switching), 10.0 + 15.0);
    assert_eq!(trips.parts.values().map(|share| share.ns).sum::<f64>(), 100.0);
    // From writing into reading; from reading into the next writing it takes longer.
    assert_eq!(trips.crossing_ns, Some(2.0));
}

#[test]
fn a_firing_is_priced_where_it_delays() {
    let (events, starts) = launch(8, on_one_cpu);
    let trips = decompose(&events, &starts).unwrap();
    let firings: f64 = trips.parts.values().map(|share| share.firings).sum();
    // On one CPU also those of the worker that isn't the holder: leaving its call, going to sleep.
    assert_eq!(firings, 16.0);
    assert_eq!(trips.parts[&Part::Waking].firings, 2.0);
    assert_eq!(trips.parts[&Part::Call].firings, 2.0 + 2.0 + 2.0);
}

#[test]
fn a_partner_that_answers_before_the_other_sleeps_passes_the_message_by_sleeping() {
    let (write, read) = (EventKind::Enter(1), EventKind::Enter(0));
    let at_once = |t: u64| {
        vec![
            event(t + 5, Initiator, write),
            event(t + 15, Responder, EventKind::Waking { by_partner: true }),
            event(t + 18, Responder, EventKind::Awake),
            event(t + 20, Initiator, EventKind::Out { asleep: false }),
            event(t + 20, Responder, EventKind::In),
            event(t + 30, Responder, EventKind::Exit(64)),
            event(t + 32, Responder, write),
            event(t + 42, Responder, EventKind::Exit(64)),
            event(t + 44, Responder, read),
            event(t + 54, Responder, EventKind::Out { asleep: true }),
            event(t + 54, Initiator, EventKind::In),
            event(t + 64, Initiator, EventKind::Exit(64)),
            event(t + 66, Initiator, read),
            event(t + 95, Initiator, EventKind::Exit(64)),
        ]
    };
    let (events, starts) = launch(4, at_once);
    let trips = decompose(&events, &starts).unwrap();
    assert_eq!(ns(&trips, Part::Call), 10.0 + 2.0 + 10.0 + 10.0 + 29.0);
    assert_eq!(ns(&trips, Part::Waiting), 0.0);
    assert_eq!(ns(&trips, Part::Asleep), 0.0);
    assert_eq!(trips.calls, 4.0);
}

#[test]
fn who_is_woken_on_its_way_to_sleep_waits_no_longer_than_until_it_leaves_its_call() {
    let (write, read) = (EventKind::Enter(1), EventKind::Enter(0));
    let waking = EventKind::Waking { by_partner: true };
    let still_awake = |t: u64| {
        vec![
            event(t + 5, Initiator, write),
            event(t + 15, Responder, waking),
            event(t + 18, Responder, EventKind::Awake),
            event(t + 20, Initiator, EventKind::Exit(64)),
            event(t + 22, Initiator, read),
            event(t + 25, Responder, EventKind::Exit(64)),
            event(t + 27, Responder, write),
            event(t + 35, Initiator, waking),
            event(t + 38, Initiator, EventKind::Awake),
            event(t + 40, Responder, EventKind::Exit(64)),
            event(t + 42, Responder, read),
            event(t + 45, Initiator, EventKind::Exit(64)),
        ]
    };
    let (mut events, starts) = launch(4, still_awake);
    events.iter_mut().filter(|event| event.who == Responder).for_each(|event| event.cpu = 1);
    let trips = decompose(&events, &starts).unwrap();
    assert_eq!(ns(&trips, Part::Waking), 3.0 + 3.0);
    assert_eq!(ns(&trips, Part::Waiting), 7.0 + 7.0);
    assert_eq!(ns(&trips, Part::Call), 10.0 + 8.0);
    assert_eq!(ns(&trips, Part::Program), 5.0 + 2.0 + 55.0);
}

#[test]
fn across_cpus_what_the_other_does_meanwhile_counts_nowhere() {
    let (write, read) = (EventKind::Enter(1), EventKind::Enter(0));
    let across = |t: u64| {
        vec![
            event(t + 5, Initiator, write),
            event(t + 10, Responder, EventKind::Waking { by_partner: true }),
            event(t + 12, Initiator, EventKind::Interrupts(1)),
            event(t + 20, Initiator, EventKind::Exit(64)),
            event(t + 22, Initiator, read),
            event(t + 28, Initiator, EventKind::Out { asleep: true }),
            event(t + 32, Initiator, EventKind::Interrupted),
            event(t + 36, Responder, EventKind::Awake),
            event(t + 40, Responder, EventKind::In),
            event(t + 50, Responder, EventKind::Exit(64)),
            event(t + 52, Responder, write),
            event(t + 60, Initiator, EventKind::Waking { by_partner: true }),
            event(t + 61, Responder, EventKind::Exit(64)),
            event(t + 63, Responder, read),
            event(t + 68, Responder, EventKind::Out { asleep: true }),
            event(t + 70, Initiator, EventKind::Awake),
            event(t + 75, Initiator, EventKind::In),
            event(t + 90, Initiator, EventKind::Exit(64)),
        ]
    };
    let (mut events, starts) = launch(4, across);
    let there = |event: &Event| match event.kind {
        EventKind::Waking { .. } => event.who == Initiator,
        _ => event.who == Responder,
    };
    events.iter_mut().filter(|event| there(event)).for_each(|event| event.cpu = 1);
    let trips = decompose(&events, &starts).unwrap();
    // Not what the initiator does after its message, nor the responder after its answer.
    assert_eq!(trips.parts.values().map(|share| share.firings).sum::<f64>(), 18.0 - 6.0);
    assert_eq!(ns(&trips, Part::Interrupt), 20.0);
    assert_eq!(ns(&trips, Part::Waking), 2.0 + 4.0 + 10.0);
    assert_eq!(ns(&trips, Part::Call), 5.0 + 8.0);
    assert_eq!(ns(&trips, Part::Waiting), 4.0 + 5.0);
    assert_eq!(trips.parts.values().map(|share| share.ns).sum::<f64>(), 100.0);
}

#[test]
fn a_program_that_was_interrupted_goes_on_with_what_it_did() {
    let spinning = |t: u64| match t {
        1300 => vec![
            event(t + 10, Initiator, EventKind::Out { asleep: false }),
            event(t + 30, Initiator, EventKind::In),
        ],
        _ => Vec::new(),
    };
    let (events, starts) = launch(8, spinning);
    let trips = decompose(&events, &starts).unwrap();
    // One of the four in the middle waited for 20 ns.
    assert_eq!((trips.of, ns(&trips, Part::Program)), (8, 100.0 - 5.0));
    assert_eq!(ns(&trips, Part::Waiting), 5.0);
    assert_eq!(trips.of_each(10.0).mean_ns, 10.0);
}

#[test]
fn what_the_stream_does_not_hold_whole_is_left_out() {
    let (mut events, starts) = launch(8, on_one_cpu);
    events.truncate(4 + 16 * 5 + 3);
    assert_eq!(decompose(&events, &starts).unwrap().of, 5);
    assert!(decompose(&events[..3], &starts).is_none());
    assert!(decompose(&[], &starts).is_none());
}

#[test]
fn a_trip_that_was_delayed_does_not_affect_the_others() {
    let delayed = |t: u64| on_one_cpu(t);
    let (mut events, mut starts) = launch(8, delayed);
    // The sixth trip lasts a microsecond longer, in a call.
    for event in events.iter_mut().filter(|event| event.at_ns > 1500 + 10) {
        event.at_ns += 1000;
    }
    starts[6..].iter_mut().for_each(|start| *start += 1000.0);
    let trips = decompose(&events, &starts).unwrap();
    assert_eq!((trips.mean_ns, ns(&trips, Part::Call)), (100.0, 47.0));
}
