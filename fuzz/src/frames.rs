//! Frames between a coordinator, its launches and an agent: in any order, out of turn, of nodes that have no part
//! in a launch, cut off, in pieces with silence between. A launch is only whole if its records say so and as
//! many samples came as its own says. Those of a fleet: `fleet.rs`.

use std::io::{Read, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::time::Instant;

use model::launch::{Outcome, Record};
use run::launch::peer::Order;
use run::launch::peer::address::between;
use run::launch::peer::connection::read_hello;
use run::launch::state::{FarEnd, LaunchState, Outgoing, Wanted};
use run::launch::wire::{FrameKind, Missing, Reader, take_frame, write_frame, write_frame_line};
use run::launch::{Spec, Stage};

use crate::fleet;
use crate::input::Input;
use crate::messages::{far, frame, is_whole, spec, understood};

/// Frames of an input at most.
const MOST: usize = 200;

pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(8) {
        0 => stream(&mut input),
        1 => stalls(&mut input),
        2 => whole_stream(&mut input),
        3..5 => out_of_turn(&mut input),
        _ => fleet::run(&mut input),
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
    let mut buffer = Vec::new();
    // It comes in two pieces.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    for piece in [first, second] {
        buffer.extend_from_slice(piece);
        loop {
            match take_frame(&mut buffer) {
                Ok(Some((kind, payload))) => obey(kind, &payload),
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
}

/// Frames in pieces, with silence or the word of another between them: a reader gives what a whole stream holds,
/// as far as it has come, and says why it gives no more. It waits for nothing here: its deadline has passed.
fn stalls(input: &mut Input) {
    let (from, mut to) = std::io::pipe().expect("a pipe");
    let (mut other, mut wakes) = std::io::pipe().expect("a pipe");
    let mut reader = Reader::new(from);
    let mut bytes = Vec::new();
    for _ in 0..input.below(6) {
        let (kind, payload) = frame(input);
        let _ = write_frame(&mut bytes, kind, &payload);
    }
    bytes.extend(input.bytes());
    let (mut rest, mut sent) = (bytes.as_slice(), Vec::new());
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(1 + input.below(rest.len().min(600)));
        rest = later;
        to.write_all(piece).expect("room in a pipe");
        sent.extend_from_slice(piece);
        if input.below(8) == 0 {
            // Another ready source comes first, and nothing is lost of what has come.
            wakes.write_all(&[0]).expect("room in a pipe");
            let is = reader.next(None, Some(other.as_fd()));
            assert!(matches!(is, Err(Missing::Interrupted)), "{is:?}");
            other.read_exact(&mut [0]).expect("what was written");
        }
        loop {
            match (take_frame(&mut sent), reader.next(Some(Instant::now()), None)) {
                (Ok(Some(ought)), Ok(is)) => assert!(ought == is, "{ought:?} came as {is:?}"),
                (Ok(None), Err(Missing::Late)) => break,
                (Err(_), Err(Missing::Broken(_))) => return,
                (ought, is) => panic!("{ought:?} came as {is:?}"),
            }
        }
    }
    drop(to);
    loop {
        match (take_frame(&mut sent), reader.next(None, None)) {
            (Ok(Some(ought)), Ok(is)) => assert!(ought == is, "{ought:?} came as {is:?}"),
            (Ok(None), Err(Missing::Closed)) | (Err(_), Err(Missing::Broken(_))) => break,
            (ought, is) => panic!("{ought:?} came as {is:?}"),
        }
    }
}

fn obey(kind: FrameKind, payload: &[u8]) {
    if kind == FrameKind::Hello
        && let Ok(host) = read_hello(payload)
    {
        let _ = (between(far(), &host, None, false), between(&host, far(), None, true));
    }
    if let Ok(Order::Begin { padding, spec, .. }) = Order::read(kind, payload) {
        assert!(padding <= 1 << 16);
        check(&spec);
    }
    if kind == FrameKind::Spec
        && let Ok(spec) = serde_json::from_slice::<Spec>(payload)
    {
        check(&spec);
    }
}

fn check(spec: &Spec) {
    let _ = (spec.check(), spec.to_open(), spec.cpus_here());
}

const NEAR: usize = 0;
const FAR: usize = 1;
const NUMBER: u32 = 7;

/// A launch, and what its nodes have said last of how it went.
struct Driven {
    state: LaunchState,
    said: [Option<Outcome>; 2],
    between: bool,
    /// How often its near end got the command to begin, and to go.
    begun: usize,
    gone: usize,
}

impl Driven {
    fn new(between: bool) -> Driven {
        let clock = &far().clock;
        let at = IpAddr::from([10, 0, 0, 2]);
        let end = FarEnd { node: FAR, at, clock: clock.kind, ns_per_tick: clock.ns_per_tick };
        let far = between.then_some(end);
        let wanted = Wanted { near: NEAR, far, spec: spec(), padding: 8, slot: 0 };
        let (state, first) = LaunchState::begin(wanted, NUMBER);
        let mut driven = Driven { state, said: [None, None], between, begun: 0, gone: 0 };
        driven.says(first.expect("random bytes for a cookie"));
        driven
    }

    fn hear(&mut self, node: usize, kind: FrameKind, payload: &[u8]) {
        assert_eq!(self.state.is_of(node), node == NEAR || self.between && node == FAR);
        if !self.state.is_of(node) {
            return;
        }
        if kind == FrameKind::Record {
            let record = serde_json::from_slice::<Record>(payload);
            self.said[node] = record.ok().map(|record| record.outcome);
        }
        if let Some(outgoing) = self.state.hear(node, kind, payload) {
            self.says(outgoing);
        }
    }

    /// What is said is understood where it goes, and not said twice.
    fn says(&mut self, outgoing: Outgoing) {
        assert!(self.state.is_of(outgoing.node), "a frame to a node that has no part in it");
        let (_, kind) = understood(&outgoing, self.between);
        if outgoing.node == NEAR {
            self.begun += usize::from(kind == FrameKind::Begin);
            self.gone += usize::from(kind == FrameKind::Go);
        }
        assert!(self.begun < 2 && self.gone < 2, "told twice");
    }

    /// It ends, whatever it has come to.
    fn end(mut self) {
        let ends = self.state.end();
        ends.into_iter().chain(self.state.over()).for_each(|end| self.says(end));
        let found = self.state.result(|node| ["a", "b"][node]);
        is_whole(&found);
        if found.record.outcome == Outcome::Ok {
            let sides = &self.said[..1 + usize::from(self.between)];
            assert!(sides.iter().all(|side| *side == Some(Outcome::Ok)), "{sides:?}");
        }
    }
}

/// What a supervisor sends, as one stream that may stop in the middle.
fn whole_stream(input: &mut Input) {
    let mut written = Vec::new();
    while input.goes_on() && written.len() < 32 << 10 {
        let (kind, payload) = frame(input);
        let _ = write_frame(&mut written, kind, &payload);
        if input.below(32) == 0 {
            written.truncate(written.len() - 1);
            break;
        }
    }
    let mut driven = Driven::new(false);
    while let Ok(Some((kind, payload))) = take_frame(&mut written) {
        driven.hear(NEAR, kind, &payload);
    }
    driven.end();
}

/// A launch here or between two nodes, what these and a third say, and a coordinator that loses patience.
fn out_of_turn(input: &mut Input) {
    let mut driven = Driven::new(input.below(4) > 0);
    for _ in 0..MOST {
        if !input.goes_on() {
            break;
        }
        match input.below(16) {
            0 => {
                const STAGES: [Stage; 4] =
                    [Stage::Bound, Stage::Ready, Stage::Timed, Stage::Reported];
                driven.state.give_up(input.pick(&STAGES));
            }
            1 if input.below(4) == 0 => driven.state.fail("it is gone".into()),
            _ => {
                let node = input.below(8) % 3;
                let (kind, payload) = frame(input);
                driven.hear(node, kind, &payload);
            }
        }
    }
    driven.end();
}
