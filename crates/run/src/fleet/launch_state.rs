//! The state of a launch that runs on one node or between two. Many are begun, timed and ended together;
//! one thread waits for all of them, and does nothing else while any is timed.
//!
//! ```text
//! begin ─▶ far: bound ─▶ begin near ─▶ both ready … quiet … go far ─▶ going ─▶ go near ─▶ timed
//!                                                                   … end ─▶ records, samples
//! ```

use std::collections::HashMap;
use std::net::SocketAddr;

use super::connection::Frame;
use crate::launch::spec::Half;
use crate::launch::wire::Kind;
use crate::launch::{LaunchResult, Spec};
use mechanisms::network::Cookie;
use model::launch::FarSide;
use model::launch::{Outcome, Record};
use model::peer::FarHost;

/// One launch, before it is started.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The node of the initiator, or of all of it.
    pub near: usize,
    /// The node of the responder, and the address at which it waits.
    pub far: Option<(usize, std::net::IpAddr)>,
    /// What is launched; its clock is that of the near node.
    pub spec: Spec,
    /// Bytes added to the environment.
    pub padding: usize,
    /// Launches of one set with the same slot are timed at the same time.
    pub slot: usize,
}

/// What one node has said of its part.
#[derive(Default)]
struct Side {
    ready: bool,
    going: bool,
    timed: bool,
    record: Option<Record>,
    samples: Vec<u64>,
    done: bool,
    /// Its supervisor died.
    over: bool,
}

impl Side {
    /// Whether it came to an early end.
    fn failed(&self) -> bool {
        let bad = self.record.as_ref().is_some_and(|it| it.outcome != Outcome::Ok);
        bad || (self.over && !self.done)
    }

    fn ended(&self) -> bool {
        self.done || self.over || self.failed()
    }

    fn outcome(&self) -> Option<Outcome> {
        match &self.record {
            Some(record) => Some(record.outcome.clone()),
            None if self.over => {
                Some(Outcome::Failed { reason: "the supervisor died without a word".into() })
            }
            None => None,
        }
    }
}

/// The state of one launch in progress.
pub struct LaunchState {
    /// The request; its spec is completed once the far half has reported its port.
    pub wanted: Wanted,
    number: u32,
    near: Side,
    far: Side,
    /// Why it failed, where no record says so.
    failure: Option<String>,
}

/// A frame to send: to which node, its kind, and its payload.
pub struct Outgoing(pub usize, pub Kind, pub Vec<u8>);

impl LaunchState {
    /// The state of a new launch, and the frames that begin it.
    pub fn begin(
        mut wanted: Wanted,
        number: u32,
        clocks: &[Option<FarHost>],
    ) -> (LaunchState, Vec<Outgoing>) {
        let mut outgoing = Vec::new();
        let mut failure = None;
        match wanted.far {
            None => outgoing.push(begin(wanted.near, number, &wanted.spec, wanted.padding)),
            Some((node, at)) => match (Cookie::drawn(), &clocks[node]) {
                (Ok(cookie), Some(there)) => {
                    let far = Spec {
                        half: Some(Half::Far { at, cookie }),
                        clock: there.clock.kind,
                        ns_per_tick: there.clock.ns_per_tick,
                        ..wanted.spec.clone()
                    };
                    // The port is to be told.
                    wanted.spec.half = Some(Half::Near { to: SocketAddr::new(at, 0), cookie });
                    outgoing.push(begin(node, number, &far, wanted.padding));
                }
                (Err(error), _) => failure = Some(format!("getrandom: {error}")),
                (_, None) => failure = Some("the other node never answered".into()),
            },
        }
        let (near, far) = Default::default();
        (LaunchState { wanted, number, near, far, failure }, outgoing)
    }

    fn is_far(&self, node: usize) -> bool {
        self.wanted.far.is_some_and(|(far, _)| far == node) && node != self.wanted.near
    }

    /// Whether `node` has a part in it.
    pub fn is_of(&self, node: usize) -> bool {
        node == self.wanted.near || self.is_far(node)
    }

    /// Takes in a frame of `node`. Returns the frame to send in reply, if any.
    pub fn hear(&mut self, node: usize, kind: Kind, payload: &[u8]) -> Option<Outgoing> {
        let (near, number, padding) = (self.wanted.near, self.number, self.wanted.padding);
        let is_far = self.is_far(node);
        let side = if is_far { &mut self.far } else { &mut self.near };
        match kind {
            Kind::Bound => {
                let port = payload.first_chunk::<2>().map(|it| u16::from_le_bytes(*it));
                if let (Some(Half::Near { to, .. }), Some(port), true) =
                    (&mut self.wanted.spec.half, port, is_far)
                {
                    to.set_port(port);
                    return Some(begin(near, number, &self.wanted.spec, padding));
                }
            }
            Kind::Ready => side.ready = true,
            Kind::Going if is_far && !side.going => {
                side.going = true;
                return Some(relay(near, number, Kind::Go));
            }
            Kind::Timed => side.timed = true,
            Kind::Record => {
                side.record = Some(serde_json::from_slice(payload).unwrap_or_else(|error| {
                    let reason = format!("its record: {error}");
                    Record::without_samples(Outcome::Failed { reason })
                }));
            }
            Kind::Samples => {
                let ticks = payload.as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it));
                side.samples.extend(ticks);
            }
            Kind::Done => side.done = true,
            Kind::Over => side.over = true,
            _ => {}
        }
        None
    }

    /// Whether it has come to an early end.
    pub fn failed(&self) -> bool {
        self.failure.is_some() || self.near.failed() || self.far.failed()
    }

    /// Whether its workers wait for the word to go, or never will.
    pub fn is_ready(&self) -> bool {
        self.failed() || (self.near.ready && (self.wanted.far.is_none() || self.far.ready))
    }

    /// Whether it has been timed, or never will be.
    pub fn is_timed(&self) -> bool {
        self.failed() || (self.near.timed && (self.wanted.far.is_none() || self.far.timed))
    }

    /// Whether every node has reported, or it has failed.
    pub fn is_told(&self) -> bool {
        let far = self.wanted.far.is_none() || self.far.ended();
        self.failure.is_some() || (self.near.ended() && far)
    }

    /// Marks it as failed, unless it is already.
    pub fn fail(&mut self, why: String) {
        if self.failure.is_none() {
            self.failure = Some(why);
        }
    }

    /// The frame that lets it go. Of two halves the far one goes first and reports that it has.
    pub fn go(&self) -> Outgoing {
        let first = self.wanted.far.map_or(self.wanted.near, |(far, _)| far);
        relay(first, self.number, Kind::Go)
    }

    /// A frame of `kind` to every node that takes part.
    pub fn to_all(&self, kind: Kind) -> Vec<Outgoing> {
        let far = self.wanted.far.map(|(far, _)| far);
        let nodes = std::iter::once(self.wanted.near).chain(far);
        nodes
            .map(|node| match kind {
                Kind::Over => Outgoing(node, Kind::Over, self.number.to_le_bytes().to_vec()),
                kind => relay(node, self.number, kind),
            })
            .collect()
    }

    /// Its result; `names` are those of the nodes.
    pub fn result(self, names: &[String]) -> LaunchResult {
        let failed = |outcome| LaunchResult {
            record: Record::without_samples(outcome),
            samples: Vec::new(),
        };
        let name = |node: usize| names[node].as_str();
        let parts = [
            Some((self.wanted.near, &self.near)),
            self.wanted.far.map(|(node, _)| (node, &self.far)),
        ];
        // What can't be had is the cause, and what failed the echo.
        let told =
            || parts.iter().flatten().filter_map(|(node, side)| Some((*node, side.outcome()?)));
        let absent = told().find_map(|(node, outcome)| match outcome {
            Outcome::NotApplicable { reason } => {
                Some(Outcome::NotApplicable { reason: format!("{}: {reason}", name(node)) })
            }
            Outcome::Unavailable(mut why) => {
                why.reason = format!("{}: {}", name(node), why.reason);
                Some(Outcome::Unavailable(why))
            }
            _ => None,
        });
        if let Some(outcome) = absent {
            return failed(outcome);
        }
        let mut reasons: Vec<String> = self.failure.iter().cloned().collect();
        reasons.extend(told().filter_map(|(node, outcome)| match outcome {
            Outcome::Failed { reason } => Some(format!("{}: {reason}", name(node))),
            _ => None,
        }));
        let Side { record: Some(mut record), samples, .. } = self.near else {
            reasons.extend(reasons.is_empty().then(|| "it ended without a word".to_string()));
            return failed(Outcome::Failed { reason: reasons.join("; ") });
        };
        if reasons.is_empty() && samples.len() as u64 != record.initiator.samples {
            reasons.push(format!("{} samples came of {}", samples.len(), record.initiator.samples));
        }
        match (self.wanted.far, self.far.record) {
            _ if !reasons.is_empty() => failed(Outcome::Failed { reason: reasons.join("; ") }),
            (None, _) => LaunchResult { record, samples },
            (Some(_), Some(far)) => {
                let Record { granted, noise, traffic, setup_ns, responder, .. } = far;
                record.responder = responder;
                record.far = Some(Box::new(FarSide { granted, noise, traffic, setup_ns }));
                LaunchResult { record, samples }
            }
            (Some((node, _)), None) => {
                let reason = format!("{}: it sent no record", name(node));
                failed(Outcome::Failed { reason })
            }
        }
    }

    /// The nodes that have neither been timed nor ended.
    pub fn waits_for(&self) -> Vec<usize> {
        let far = self.wanted.far.map(|(node, _)| (node, &self.far));
        let silent = |side: &Side| !side.ended() && !side.timed;
        let mut nodes = Vec::new();
        nodes.extend(silent(&self.near).then_some(self.wanted.near));
        nodes.extend(far.filter(|(_, side)| silent(side)).map(|(node, _)| node));
        nodes
    }
}

fn begin(node: usize, number: u32, spec: &Spec, padding: usize) -> Outgoing {
    let mut payload = number.to_le_bytes().to_vec();
    payload.extend_from_slice(&(padding as u32).to_le_bytes());
    payload.extend(serde_json::to_vec(spec).expect("a spec is always JSON"));
    Outgoing(node, Kind::Begin, payload)
}

fn relay(node: usize, number: u32, kind: Kind) -> Outgoing {
    let mut payload = number.to_le_bytes().to_vec();
    payload.push(kind as u8);
    Outgoing(node, Kind::Relay, payload)
}

/// Passes a frame of `node` to its launch. Returns the frame to send in reply, if any.
pub fn dispatch(
    launches: &mut HashMap<u32, LaunchState>,
    node: usize,
    (kind, payload): &Frame,
) -> Option<Outgoing> {
    let (number, rest) = payload.split_first_chunk::<4>()?;
    // Of a launch that nobody asks for any more nothing is kept.
    let launch = launches.get_mut(&u32::from_le_bytes(*number)).filter(|it| it.is_of(node))?;
    match kind {
        Kind::Relay => {
            let (inner, rest) = rest.split_first()?;
            launch.hear(node, Kind::from_byte(*inner)?, rest)
        }
        Kind::Over => launch.hear(node, Kind::Over, &[]),
        _ => None,
    }
}
