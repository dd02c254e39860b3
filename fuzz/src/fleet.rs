//! The launches of a fleet, as its coordinator relays between them: three agents that keep to their turn, frames
//! that are late, and beside them what an agent would never say, of any launch, lost, twice, out of turn. What
//! goes wrong at one node spoils no launch in which it has no part.

use std::collections::{HashMap, VecDeque};
use std::sync::OnceLock;

use model::launch::Outcome;
use model::peer::FarHost;
use run::launch::Stage;
use run::launch::peer::connection::{AgentHere, Frame};
use run::launch::peer::simulated::{self, Planted, SimulatedAgent, address};
use run::launch::state::{FarEnd, LaunchState, Outgoing, Wanted, dispatch};
use run::launch::wire::FrameKind;

use crate::input::Input;
use crate::messages::{far, frame, is_whole, spec, understood};

const NAMES: [&str; 3] = ["a", "b", "c"];
const NODES: usize = NAMES.len();
const MOST_LAUNCHES: usize = 5;
/// Steps of an input at most.
const MOST: usize = 120;

/// An agent, and the frames on both ways.
struct Node {
    agent: SimulatedAgent,
    to_it: VecDeque<Frame>,
    from_it: VecDeque<Frame>,
}

/// What the coordinator does next with a launch.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Go,
    End,
    Collect,
    Nothing,
}

/// A launch as it is followed here.
struct Followed {
    parts: Vec<usize>,
    between: bool,
    next: Next,
    /// Whether anything went wrong with it on purpose.
    disturbed: bool,
    /// How often each node got the command to begin, and to go.
    sent: [[usize; 2]; NODES],
}

struct Fleet {
    nodes: [Node; NODES],
    launches: HashMap<u32, LaunchState>,
    /// By their numbers, from 1 on.
    followed: Vec<Followed>,
    /// Which node said what it should not of which launch; of one that comes later too.
    forged: Vec<(usize, u32)>,
}

fn hosts() -> &'static [FarHost; NODES] {
    static HOSTS: OnceLock<[FarHost; NODES]> = OnceLock::new();
    HOSTS.get_or_init(|| std::array::from_fn(|nth| simulated::node(far(), nth, NAMES[nth])))
}

impl Fleet {
    fn new() -> Fleet {
        let node = |nth: usize| {
            let agent = SimulatedAgent::new(nth, Planted::among(NODES), hosts()[nth].clone(), 1);
            Node { agent, to_it: VecDeque::new(), from_it: VecDeque::new() }
        };
        let (launches, followed, forged) = Default::default();
        Fleet { nodes: std::array::from_fn(node), launches, followed, forged }
    }

    fn begin(&mut self, near: usize, other: usize) {
        let clock = &far().clock;
        let between = near != other;
        let end = FarEnd {
            node: other,
            at: address(other),
            clock: clock.kind,
            ns_per_tick: clock.ns_per_tick,
        };
        let far = between.then_some(end);
        let number = self.followed.len() as u32 + 1;
        let wanted = Wanted { near, far, spec: spec(), padding: 8, slot: 0 };
        let (state, first) = LaunchState::begin(wanted, number);
        self.launches.insert(number, state);
        let parts = if between { vec![near, other] } else { vec![near] };
        let disturbed = parts.iter().any(|part| self.forged.contains(&(*part, number)));
        let (sent, next) = ([[0; 2]; NODES], Next::Go);
        self.followed.push(Followed { parts, between, next, disturbed, sent });
        self.say(first.expect("random bytes for a cookie"));
    }

    fn say(&mut self, outgoing: Outgoing) {
        let followed = &mut self.followed[outgoing.number as usize - 1];
        assert!(followed.parts.contains(&outgoing.node), "a frame to a node without a part in it");
        let (frame, kind) = understood(&outgoing, followed.between);
        let count = &mut followed.sent[outgoing.node];
        count[0] += usize::from(kind == FrameKind::Begin);
        count[1] += usize::from(kind == FrameKind::Go);
        assert!(count.iter().all(|count| *count < 2), "told twice");
        self.nodes[outgoing.node].to_it.push_back(frame);
    }

    /// The next frame to a node arrives there. Returns whether there was one.
    fn tell(&mut self, node: usize) -> bool {
        let Node { agent, to_it, from_it } = &mut self.nodes[node];
        let Some((kind, payload)) = to_it.pop_front() else { return false };
        agent.hear(kind, &payload);
        while let Ok(Some(frame)) = agent.said() {
            from_it.push_back(frame);
        }
        true
    }

    /// The next frame of a node arrives at the coordinator. Returns whether there was one.
    fn hear(&mut self, node: usize) -> bool {
        let Some(frame) = self.nodes[node].from_it.pop_front() else { return false };
        let many = self.launches.len();
        let outgoing = dispatch(&mut self.launches, node, &frame);
        assert_eq!(many, self.launches.len());
        outgoing.into_iter().for_each(|outgoing| self.say(outgoing));
        true
    }

    /// The coordinator's next step with a launch, if it is that far, or loses patience. Returns whether it
    /// took one.
    fn advance(&mut self, number: u32, is_patient: bool) -> bool {
        let followed = &mut self.followed[number as usize - 1];
        let (stage, then) = match followed.next {
            Next::Go => (Stage::Ready, Next::End),
            Next::End => (Stage::Timed, Next::Collect),
            Next::Collect => (Stage::Reported, Next::Nothing),
            Next::Nothing => return false,
        };
        let state = self.launches.get_mut(&number).expect("it goes on");
        if !state.is_at(stage) {
            if is_patient {
                return false;
            }
            state.give_up(stage);
            followed.disturbed = true;
        }
        let outgoing = match followed.next {
            Next::Go if state.failed() => Vec::new(),
            Next::Go => vec![state.go()],
            Next::End => state.end(),
            _ => state.over(),
        };
        followed.next = then;
        outgoing.into_iter().for_each(|outgoing| self.say(outgoing));
        if then == Next::Nothing {
            self.finish(number);
        }
        true
    }

    fn finish(&mut self, number: u32) {
        let mut state = self.launches.remove(&number).expect("it goes on");
        let found = state.result(|node| NAMES[node]);
        is_whole(&found);
        if !self.followed[number as usize - 1].disturbed {
            let is = (&found.record.outcome, found.samples.len());
            assert!(is == (&Outcome::Ok, 3), "nobody disturbed {number}, and it is {is:?}");
        }
    }

    /// Marks the launches of a node as disturbed.
    fn disturb(&mut self, node: usize) {
        let of_it = self.followed.iter_mut().filter(|pair| pair.parts.contains(&node));
        of_it.for_each(|node| node.disturbed = true);
    }

    /// What no agent says: any frame, often of a launch that there is.
    fn forge(&mut self, input: &mut Input, node: usize) {
        let (inner, payload) = frame(input);
        let (kind, whole) = match input.below(8) {
            0 => (inner, payload),
            kind => {
                let near = 1 + input.below(MOST_LAUNCHES) as u32;
                let number = if input.below(8) == 0 { input.edge() as u32 } else { near };
                let said = [&number.to_le_bytes(), [inner as u8].as_slice(), &payload].concat();
                (if kind == 1 { FrameKind::Over } else { FrameKind::Relay }, said)
            }
        };
        if let Some(number) = whole.first_chunk::<4>().map(|bytes| u32::from_le_bytes(*bytes)) {
            self.forged.push((node, number));
            let of_it = self.followed.get_mut((number as usize).wrapping_sub(1));
            let of_it = of_it.filter(|pair| pair.parts.contains(&node));
            of_it.into_iter().for_each(|node| node.disturbed = true);
        }
        self.nodes[node].from_it.push_front((kind, whole));
    }

    /// Frames of a node are lost, come twice or in another order.
    fn garble(&mut self, input: &mut Input, node: usize) {
        let on_its_way = match input.below(2) {
            0 => &mut self.nodes[node].from_it,
            _ => &mut self.nodes[node].to_it,
        };
        if on_its_way.is_empty() {
            return;
        }
        let at = input.below(on_its_way.len());
        match input.below(3) {
            0 => drop(on_its_way.remove(at)),
            1 => on_its_way.push_back(on_its_way[at].clone()),
            _ => on_its_way.swap(0, at),
        }
        self.disturb(node);
    }

    /// A node is gone, with all that was on its way.
    fn lose(&mut self, node: usize) {
        self.disturb(node);
        for launch in self.launches.values_mut().filter(|launch| launch.is_of(node)) {
            launch.fail(format!("{} is gone", NAMES[node]));
        }
        self.nodes[node].from_it.clear();
        self.nodes[node].to_it.clear();
    }
}

pub fn run(input: &mut Input) {
    let mut fleet = Fleet::new();
    for _ in 0..MOST {
        if !input.goes_on() {
            break;
        }
        let node = input.below(NODES);
        let nth = input.below(MOST_LAUNCHES);
        match input.below(16) {
            0..3 if fleet.followed.len() < MOST_LAUNCHES => fleet.begin(node, nth % NODES),
            0..6 => drop(fleet.tell(node)),
            6..10 => drop(fleet.hear(node)),
            10..12 if nth < fleet.followed.len() => {
                let is_patient = input.below(16) > 0;
                fleet.advance(nth as u32 + 1, is_patient);
            }
            12..15 => fleet.forge(input, node),
            15 if input.below(8) == 0 => fleet.lose(node),
            15 => fleet.garble(input, node),
            _ => {}
        }
    }
    // All that is on its way arrives; what then has no end never will have one.
    let all = 1..=fleet.followed.len() as u32;
    loop {
        let mut any = false;
        for node in 0..NODES {
            while fleet.tell(node) | fleet.hear(node) {
                any = true;
            }
        }
        for number in all.clone() {
            any |= fleet.advance(number, true);
        }
        if !any {
            break;
        }
    }
    for number in all {
        while fleet.advance(number, false) {}
    }
}
