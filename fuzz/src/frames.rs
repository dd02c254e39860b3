//! Frames between a coordinator, its launches, an agent and a fleet: in any order, out of turn, of launches
//! that nobody asked for, cut off, and a stream that stalls. A launch is only whole if its record says so and
//! as many samples came as it says.

use std::collections::HashMap;
use std::io::Write;
use std::sync::OnceLock;
use std::time::Duration;

use model::launch::{Outcome, Record, SampleCount, Warmup, Workers};
use model::peer::FarHost;
use model::workload::{Arrivals, Policy, Workload};
use run::fleet::launch_state::{LaunchState, Wanted, dispatch};
use run::fleet::simulated;
use run::launch::peer::Order;
use run::launch::spec::BUILD;
use run::launch::wire::{Kind, Reader, take_frame, write_frame, write_frame_line};
use run::launch::{Interrupt, LaunchResult, Spec, read_result};

use crate::input::Input;

/// Frames of an input at most.
const MOST: usize = 200;

pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(4) {
        0 => stream(&mut input),
        1 => result(&mut input),
        _ => fleet(&mut input),
    }
}

fn far() -> &'static FarHost {
    static FAR: OnceLock<FarHost> = OnceLock::new();
    FAR.get_or_init(|| simulated::node(&simulated::host(), 1, "b"))
}

fn spec() -> Spec {
    Spec {
        build: BUILD.into(),
        mechanism: "tcp".into(),
        workload: Workload::Latency,
        message_bytes: 64,
        workers: Workers::Process,
        initiator_cpu: None,
        responder_cpu: None,
        payload: Policy::Untouched,
        verify: false,
        warmup: Warmup { operations: 10, ns: 1_000 },
        samples: SampleCount::Exactly(3),
        batch: 1,
        rate: None,
        arrivals: Arrivals::default(),
        clock: far().clock.kind,
        ns_per_tick: 0.5,
        deadline_ms: 1_000,
        buffer_offset: 0,
        seed: 1,
        observe: None,
        plant: None,
        half: None,
    }
}

/// Bytes as they come from a coordinator to an agent or a supervisor: frames, then anything.
fn stream(input: &mut Input) {
    let mut bytes = Vec::new();
    for _ in 0..input.below(8) {
        let (kind, payload) = frame(input);
        let _ = write_frame_line(&mut bytes, kind, &payload);
    }
    bytes.extend(input.rest());
    let mut held = Vec::new();
    // It comes in two pieces.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    for piece in [first, second] {
        held.extend_from_slice(piece);
        loop {
            match take_frame(&mut held) {
                Ok(Some((kind, payload))) => obey(kind, &payload),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

fn obey(kind: Kind, payload: &[u8]) {
    if let Ok(Order::Begin { padding, spec, .. }) = Order::read(kind, payload) {
        assert!(padding <= 1 << 16);
        check(&spec);
    }
    if kind == Kind::Spec
        && let Ok(spec) = serde_json::from_slice::<Spec>(payload)
    {
        check(&spec);
    }
}

fn check(spec: &Spec) {
    let _ = (spec.check(), spec.to_open(), spec.cpus_here());
}

/// One frame: any kind, with a payload that often fits.
fn frame(input: &mut Input) -> (Kind, Vec<u8>) {
    use Kind::*;
    const KINDS: [Kind; 14] = [
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

fn fitting(input: &mut Input, kind: Kind) -> Vec<u8> {
    match kind {
        Kind::Record => {
            let mut record = Record::without_samples(match input.below(4) {
                0 => Outcome::Failed { reason: "x".into() },
                1 => Outcome::NotApplicable { reason: "y".into() },
                _ => Outcome::Ok,
            });
            record.initiator.samples = match input.below(4) {
                0 => input.edge(),
                _ => input.below(5) as u64,
            };
            change(input, serde_json::to_vec(&record).expect("always JSON"))
        }
        Kind::Samples => vec![1; 8 * input.below(5) + input.below(8) / 7],
        Kind::Spec => change(input, serde_json::to_vec(&spec()).expect("always JSON")),
        Kind::Bound => input.edge().to_le_bytes()[..2].to_vec(),
        Kind::Begin => {
            let mut payload = (input.edge() as u32).to_le_bytes().to_vec();
            payload.extend((input.edge() as u32).to_le_bytes());
            let spec = serde_json::to_vec(&spec()).expect("always JSON");
            payload.extend(change(input, spec));
            payload
        }
        Kind::Relay | Kind::Over => {
            let mut payload = (input.below(4) as u32).to_le_bytes().to_vec();
            payload.extend(input.bytes());
            payload
        }
        Kind::Hello => serde_json::to_vec(far()).expect("always JSON"),
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
            if let Some(at) = text[from..].iter().position(u8::is_ascii_digit).map(|it| from + it) {
                let length = text[at..].iter().take_while(|it| it.is_ascii_digit()).count();
                text.splice(at..at + length, input.edge().to_string().bytes());
            }
        }
        _ => {}
    }
    text
}

/// What a supervisor sends once it is told to end; it may stop in the middle, or hold its end open.
fn result(input: &mut Input) {
    static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();
    let interrupt = INTERRUPT.get_or_init(|| Interrupt::install().expect("signals"));
    let (from, mut to) = std::io::pipe().expect("a pipe");
    let stalls = input.below(4) == 0;
    let mut written = Vec::new();
    while input.goes_on() && written.len() < 32 << 10 {
        let (kind, payload) = frame(input);
        let _ = write_frame(&mut written, kind, &payload);
        if input.below(32) == 0 {
            written.truncate(written.len() - 1);
            break;
        }
    }
    // Less than a pipe holds: nothing waits for a reader.
    written.truncate(60 << 10);
    to.write_all(&written).expect("room in a pipe");
    let held = stalls.then_some(to);
    if let Ok(found) = read_result(&mut Reader::new(from), Duration::ZERO, interrupt) {
        is_whole(&found);
    }
    drop(held);
}

fn is_whole(found: &LaunchResult) {
    let ok = found.record.outcome == Outcome::Ok;
    let all = found.samples.len() as u64 == found.record.initiator.samples;
    assert!(!ok || all, "{} samples of {}", found.samples.len(), found.record.initiator.samples);
    assert!(ok || found.samples.is_empty(), "samples of a launch that failed");
}

/// Three launches of two nodes, and what these say.
fn fleet(input: &mut Input) {
    let clocks = [Some(far().clone()), Some(far().clone())];
    let address = std::net::IpAddr::from([10, 0, 0, 2]);
    let wanted = |far| Wanted { near: 0, far, spec: spec(), padding: 0, slot: 0 };
    let mut launches = HashMap::new();
    for (number, far) in [(1, None), (2, Some((1, address))), (3, Some((0, address)))] {
        let (launch, outgoing) = LaunchState::begin(wanted(far), number, &clocks);
        assert!(!outgoing.is_empty());
        launches.insert(number, launch);
    }
    for _ in 0..MOST {
        if !input.goes_on() {
            break;
        }
        let (node, number) = (input.below(3), input.below(5) as u32);
        let (kind, payload) = frame(input);
        let mut whole = number.to_le_bytes().to_vec();
        let outer = if input.below(8) == 0 { kind } else { Kind::Relay };
        if outer == Kind::Relay {
            whole.push(kind as u8);
        }
        whole.extend(payload);
        if let Some(outgoing) = dispatch(&mut launches, node, &(outer, whole)) {
            assert!(outgoing.0 < 2, "a frame to a node that there isn't");
            assert!(outgoing.2.len() >= 4);
        }
        if input.below(16) == 0
            && let Some(launch) = launches.get_mut(&number)
        {
            launch.fail("it is gone".into());
        }
    }
    let names = ["a".to_string(), "b".to_string()];
    for launch in launches.into_values() {
        let told = launch.is_told();
        let waits = launch.waits_for();
        assert!(
            launch.is_ready() && launch.is_timed() && told || !waits.is_empty(),
            "nothing to wait for"
        );
        let found = launch.result(&names);
        is_whole(&found);
    }
}
