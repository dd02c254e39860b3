//! What coordinators, agents and supervisors say to each other, often with something wrong; and what must hold of it.

use std::sync::OnceLock;

use model::host::Host;
use model::launch::{Outcome, Record, SampleCount, Warmup, WorkerReport};
use model::peer::FarHost;
use run::launch::peer::Order;
use run::launch::peer::simulated;
use run::launch::spec::BUILD;
use run::launch::state::{Message, Outgoing};
use run::launch::wire::FrameKind;
use run::launch::{LaunchResult, Spec};

use crate::input::Input;

/// A node of a simulated fleet, of whose host nothing is known: what is known of it is long.
pub fn far() -> &'static FarHost {
    static FAR: OnceLock<FarHost> = OnceLock::new();
    FAR.get_or_init(|| {
        let like = FarHost { host: Host::default(), ..simulated::host() };
        simulated::node(&like, 1, "b")
    })
}

/// What an agent says first.
fn hello() -> Vec<u8> {
    let mut hello = serde_json::to_value(far()).expect("always JSON");
    hello["build"] = BUILD.into();
    hello.to_string().into_bytes()
}

pub fn spec() -> Spec {
    Spec {
        message_bytes: 64,
        warmup: Warmup { operations: 10, ns: 1_000 },
        samples: SampleCount::Exactly(3),
        clock: far().clock.kind,
        ns_per_tick: 0.5,
        ..Spec::new("tcp")
    }
}

/// One frame: any kind, with a payload that often fits.
pub fn frame(input: &mut Input) -> (FrameKind, Vec<u8>) {
    use FrameKind::*;
    const KINDS: [FrameKind; 14] = [
        Record, Samples, Done, Ready, Timed, Going, Bound, Over, Relay, Hello, Spec, Begin, Go, End,
    ];
    let kind = KINDS[input.below(KINDS.len())];
    let payload = match input.below(8) {
        0 => input.bytes().to_vec(),
        1 => Vec::new(),
        _ => fitting(input, kind),
    };
    (kind, payload)
}

fn fitting(input: &mut Input, kind: FrameKind) -> Vec<u8> {
    match kind {
        FrameKind::Record => {
            let mut record = Record::without_samples(match input.below(4) {
                0 => Outcome::Failed { reason: "x".into() },
                1 => Outcome::NotApplicable { reason: "y".into() },
                _ => Outcome::Ok,
            });
            record.initiator.samples = match input.below(4) {
                0 => input.edge(),
                _ => input.below(5) as u64,
            };
            for _ in 0..input.below(8) / 6 {
                let samples = if input.below(4) == 0 { input.edge() } else { 1 };
                record.others.push(WorkerReport { samples, ..record.initiator.clone() });
            }
            change(input, serde_json::to_vec(&record).expect("always JSON"))
        }
        FrameKind::Samples => vec![1; 8 * input.below(5) + input.below(8) / 7],
        FrameKind::Spec => change(input, serde_json::to_vec(&spec()).expect("always JSON")),
        FrameKind::Bound => input.edge().to_le_bytes()[..2].to_vec(),
        FrameKind::Begin => {
            let mut payload = (input.edge() as u32).to_le_bytes().to_vec();
            payload.extend((input.edge() as u32).to_le_bytes());
            let spec = serde_json::to_vec(&spec()).expect("always JSON");
            payload.extend(change(input, spec));
            payload
        }
        FrameKind::Relay | FrameKind::Over => {
            let mut payload = (input.below(4) as u32).to_le_bytes().to_vec();
            payload.extend(input.bytes());
            payload
        }
        FrameKind::Hello => change(input, hello()),
        _ => Vec::new(),
    }
}

/// A JSON text, in one of four with some bytes or a number replaced.
fn change(input: &mut Input, mut text: Vec<u8>) -> Vec<u8> {
    match input.below(8) {
        0 => {
            let at = input.below(text.len());
            for (to, from) in text[at..].iter_mut().zip(input.bytes()) {
                *to = *from;
            }
        }
        1 => {
            let from = input.below(text.len());
            if let Some(at) =
                text[from..].iter().position(u8::is_ascii_digit).map(|index| from + index)
            {
                let length = text[at..].iter().take_while(|text| text.is_ascii_digit()).count();
                text.splice(at..at + length, input.edge().to_string().bytes());
            }
        }
        _ => {}
    }
    text
}

/// A message to an agent, as a frame with its payload; the agent reads back what was sent.
pub fn understood(outgoing: &Outgoing, between: bool) -> ((FrameKind, Vec<u8>), FrameKind) {
    let (kind, payload) = outgoing.frame();
    let order = Order::read(kind, &payload).expect("what an agent obeys");
    let carries = match (order, &outgoing.what) {
        (Order::Begin { number, padding: 8, spec }, Message::Begin(..)) => {
            assert_eq!((number, spec.half.is_some()), (outgoing.number, between));
            FrameKind::Begin
        }
        (Order::Relay { number, kind: Some(kind) }, Message::Tell(frame_kind)) => {
            assert_eq!((number, kind), (outgoing.number, *frame_kind));
            kind
        }
        (Order::Over { number }, Message::Over) => {
            assert_eq!(number, outgoing.number);
            FrameKind::Over
        }
        _ => panic!("{outgoing:?} is read as something else"),
    };
    ((kind, payload), carries)
}

/// As many samples as its record says, or none where it failed.
pub fn is_whole(found: &LaunchResult) {
    let LaunchResult { record, samples } = found;
    assert_eq!(samples.len() as u64, record.reported_samples());
    assert!(record.outcome == Outcome::Ok || samples.is_empty(), "samples of one that failed");
}
