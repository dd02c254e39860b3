//! What the options of a reliability ask for, and the ends that are made of it.

use std::time::Duration;

use super::fec::{Guard, Windows};
use super::flipped::TRUTH;
use super::path::{Mishaps, Path};
use super::shape::Shape;
use super::timer::Timer;
use super::wire::{ACK, HEADER};
use super::{ArqEnd, DatagramSocket, FecEnd, arq};
use crate::network::EffectiveSettings;
use crate::{Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Options, Visitor};
use codes::{Coder, FlipTrace, LossModel, LossTrace, Scheme, Shield};
use model::catalogue;

/// The option `reliability`.
pub const RELIABILITY: OptionSpec = OptionSpec {
    name: catalogue::RECOVERY,
    summary: "what becomes of lost datagrams: window ends the launch, none counts them, the others \
              send again or repair",
    words: &[
        "window",
        "none",
        "stop-and-wait",
        "selective-repeat",
        "hamming-7-4",
        "hamming-8-4",
        "golay-24-12",
        "reed-solomon-K-M",
        "raptorq",
        "hamming-7-4+arq",
        "hamming-8-4+arq",
        "golay-24-12+arq",
        "reed-solomon-K-M+arq",
        "raptorq+arq",
    ],
    takes_size: false,
};
/// The option `loss`.
pub const LOSS: OptionSpec = OptionSpec {
    name: catalogue::LOSS,
    summary: "share of datagrams lost at the receiver, acknowledgements too, by a seeded trace",
    words: &["0%", "PERCENT%"],
    takes_size: false,
};
/// The option `burst`.
pub const BURST: OptionSpec = OptionSpec {
    name: catalogue::BURST,
    summary: "how many are lost in a row in the mean; 1 is each by itself",
    words: &["1", "DATAGRAMS"],
    takes_size: false,
};
/// The option `flips`.
pub const FLIPS: OptionSpec = OptionSpec {
    name: "flips",
    summary: "share of bits that flip: checksums off, the code inside each datagram, CRC-32C outside",
    words: &["0", "SHARE"],
    takes_size: false,
};
/// The option `deadline`.
pub const DEADLINE_OPTION: OptionSpec = OptionSpec {
    name: "deadline",
    summary: "of none and codes: after so long without an answer ask whether it was lost, or as it learns",
    words: &["learned", "MICROSECONDS"],
    takes_size: false,
};
/// The option `resend-after`.
pub const RESEND_AFTER: OptionSpec = OptionSpec {
    name: "resend-after",
    summary: "of what sends again: after so long without an acknowledgement, or as it learns",
    words: &["learned", "MICROSECONDS"],
    takes_size: false,
};

/// The option `window`.
pub const WINDOW_OPTION: OptionSpec = OptionSpec {
    name: "window",
    summary: "datagrams under way at most: as many as the receiver's buffer surely holds, or all of a \
              message at once",
    words: &["receiver", "none"],
    takes_size: false,
};

/// How lost datagrams are recovered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Strategy {
    /// Nothing is retransmitted: forward error correction, or none.
    Fec,
    /// Retransmission (automatic repeat request), with at most `window` datagrams in flight.
    Arq { window: u64 },
}

#[derive(Clone, Debug)]
pub struct Plan {
    scheme: Option<Scheme>,
    pub(super) strategy: Strategy,
    losses: Option<LossModel>,
    flips: Option<f64>,
    /// Whether no more is under way than the receiver's buffer holds.
    bounded: bool,
    /// After so long without an answer the initiator asks for it; learned where none is named.
    deadline: Option<Duration>,
    resend_after: Option<Duration>,
    payload: usize,
}

impl Plan {
    /// What these options of `M` ask for, over datagrams of at most so many bytes; None where a lost
    /// datagram ends the launch, as without them.
    ///
    /// # Errors
    /// What doesn't go together, and the remedy.
    pub fn of<M: Mechanism>(options: &Options, datagram: usize) -> Result<Option<Plan>, OpenError> {
        Plan::checked(M::OPTIONS, options, datagram)
            .map_err(|error| OpenError::NotApplicable(format!("{}: {error}", M::NAME)))
    }

    fn checked(
        specs: &'static [OptionSpec],
        options: &Options,
        datagram: usize,
    ) -> Result<Option<Plan>, String> {
        let text = |name| options.text(specs, name);
        let word = text("reliability");
        if word == "window" {
            let only = ["loss", "burst", "flips", "deadline", "resend-after", "window"];
            return match only.iter().find(|text| options.chosen().contains_key(**text)) {
                Some(name) => Err(format!(
                    "{name}={} is for a reliability that counts losses: add reliability=none, or \
                     another",
                    text(name)
                )),
                None => Ok(None),
            };
        }
        let (name, arq) = match word.strip_suffix("+arq") {
            Some(name) => (name, true),
            None => (word, matches!(word, "stop-and-wait" | "selective-repeat")),
        };
        let scheme = match name {
            "none" | "stop-and-wait" | "selective-repeat" => None,
            name => Some(Scheme::parse(name)?),
        };
        let strategy = match (arq, name) {
            (false, _) => Strategy::Fec,
            (true, "stop-and-wait") => Strategy::Arq { window: 1 },
            (true, _) => Strategy::Arq { window: arq::WINDOW },
        };
        let number = |name| options.number(specs, name);
        let micros = |name| number(name).map(|number| Duration::from_micros(number.into()));
        let flips = Some(text("flips")).filter(|_| options.chosen().contains_key("flips"));
        let flips: Option<f64> = flips.map(|flip| flip.parse().expect("checked at the door"));
        check_flips(flips, scheme, arq)?;
        let bounded = text("window") == "receiver";
        if !bounded && matches!(strategy, Strategy::Arq { window: 1 }) {
            return Err("stop-and-wait has one datagram under way: choose window=none with \
                        reliability=selective-repeat, or reliability=none"
                .into());
        }
        let own = HEADER + if arq { arq::own_bytes(flips.is_some()) } else { 0 };
        let payload = datagram.saturating_sub(own);
        let plan = Plan {
            scheme: scheme.filter(|_| flips.is_none()),
            strategy,
            losses: losses(text("loss"), text("burst"))?,
            flips,
            bounded,
            deadline: micros("deadline"),
            resend_after: micros("resend-after"),
            payload,
        };
        Ok(Some(plan.sound(scheme)?))
    }

    /// This plan, with the scheme where bits flip, if its numbers are such that it can be had.
    fn sound(self, scheme: Option<Scheme>) -> Result<Plan, String> {
        let least = |what, option| Err(format!("{what} of 0 µs: choose at least {option}=1"));
        match (self.deadline, self.resend_after) {
            (Some(Duration::ZERO), _) => least("a deadline", "deadline"),
            (_, Some(Duration::ZERO)) => least("a wait", "resend-after"),
            _ if Shape::new(self.scheme, self.payload).is_none() => {
                Err("datagrams too small for a header and some data: choose a larger `datagram=`"
                    .into())
            }
            _ => Ok(Plan { scheme, ..self }),
        }
    }

    fn shape(&self) -> Shape {
        let scheme = self.scheme.filter(|_| self.flips.is_none());
        Shape::new(scheme, self.payload).expect("checked when planned")
    }

    /// What protects a message that goes once: what is sent again protects each datagram.
    fn guard(&self) -> Option<Guard> {
        self.flips.filter(|_| !self.is_arq())?;
        Some(match self.scheme.map(Shield::new) {
            Some(shield) => Guard::Shield(Box::new(shield.expect("checked when planned"))),
            None => Guard::Checksum,
        })
    }

    /// Bytes of a message of `bytes` with what guards it.
    fn guarded(&self, bytes: usize) -> usize {
        match self.guard() {
            None => bytes,
            Some(Guard::Checksum) => bytes + TRUTH + 4,
            Some(Guard::Shield(shield)) => TRUTH + shield.datagram_bytes(bytes),
        }
    }

    pub fn largest(&self) -> usize {
        // One datagram holds all of what is guarded.
        let room = self.payload.saturating_sub(TRUTH);
        match self.guard() {
            None => self.shape().largest(),
            Some(Guard::Checksum) => room.saturating_sub(4),
            Some(Guard::Shield(_)) => {
                let scheme = self.scheme.expect("a shield is of a scheme");
                (room / scheme.total_shards() * scheme.data_shards()).saturating_sub(4)
            }
        }
    }

    /// The most bytes of a datagram for messages of at most so many.
    pub fn datagram_bytes(&self, message_bytes: usize) -> usize {
        let own = match self.strategy {
            Strategy::Fec => HEADER,
            Strategy::Arq { .. } => HEADER + arq::own_bytes(self.flips.is_some()),
        };
        own + self.shape().datagram_bytes(self.guarded(message_bytes))
    }

    /// The path to `socket`, with the mishaps asked for.
    pub(super) fn path<S: DatagramSocket>(
        &self,
        socket: S,
        answers: bool,
        seed: u64,
    ) -> Result<Path<S>, OpenError> {
        if self.flips.is_some() {
            socket.without_checksums()?;
        }
        // Each direction has a trace of its own.
        let seed = (seed << 1) | u64::from(answers);
        let flips = self.flips.map(|share| {
            let flips = FlipTrace::new(share, seed).expect("checked when planned");
            let behind = if self.is_arq() { ACK } else { 0 };
            (flips, behind + TRUTH)
        });
        let losses = self.losses.map(|model| LossTrace::new(model, seed));
        let failed = OpenError::call("getsockname");
        Path::new(socket, Mishaps { losses, flips }).map_err(failed)
    }

    /// How many datagrams may be under way to `socket`, for messages of at most so many bytes: of what is
    /// unbounded, where all of them must arrive.
    pub(super) fn window(
        &self,
        socket: &impl DatagramSocket,
        message_bytes: usize,
    ) -> Result<u64, OpenError> {
        let room = socket.window(self.datagram_bytes(message_bytes))?;
        Ok(match self.strategy {
            Strategy::Fec => room.into(),
            Strategy::Arq { window } if self.bounded => window.min(room.into()),
            Strategy::Arq { window } => window,
        })
    }

    /// Opens both ends over two connected sockets, of which `effective_settings` is known.
    ///
    /// # Errors
    /// As the calls that set them up.
    pub fn open<S: DatagramSocket, V: Visitor>(
        &self,
        spec: &OpenSpec,
        (near, far, mut effective_settings): (S, S, EffectiveSettings),
        visitor: V,
    ) -> Result<V::Output, OpenError> {
        let window = self.window(&near, spec.message_bytes)?;
        effective_settings.extend(self.path_settings(window, spec.message_bytes));
        let near = self.path(near, false, spec.seed)?;
        let far = self.path(far, true, spec.seed)?;
        Ok(match self.strategy {
            Strategy::Fec => {
                let near = self.fec_end(near, false, window);
                visitor.visit(
                    Opened::new(near, self.fec_end(far, true, window))
                        .effective_settings(effective_settings),
                )
            }
            Strategy::Arq { .. } => {
                let near = self.arq_end(near, false, window);
                visitor.visit(
                    Opened::new(near, self.arq_end(far, true, window))
                        .effective_settings(effective_settings),
                )
            }
        })
    }

    /// The effective settings of a launch beside its sockets'.
    pub(super) fn path_settings(&self, window: u64, message_bytes: usize) -> Vec<(String, u64)> {
        let bytes = self.guarded(message_bytes);
        let window = (self.bounded || self.is_arq()).then(|| ("window_datagrams".into(), window));
        let datagrams = [
            ("datagram_bytes".into(), self.datagram_bytes(message_bytes) as u64),
            ("datagrams_per_message".into(), self.shape().datagrams(bytes) as u64),
        ];
        window.into_iter().chain(datagrams).collect()
    }

    /// Whether it retransmits what is lost.
    pub fn is_arq(&self) -> bool {
        matches!(self.strategy, Strategy::Arq { .. })
    }

    fn coders(&self) -> Option<[Coder; 2]> {
        let scheme = self.scheme.filter(|_| self.flips.is_none())?;
        Some([Coder::new(scheme), Coder::new(scheme)])
    }

    pub(super) fn fec_end<S: DatagramSocket>(
        &self,
        path: Path<S>,
        answers: bool,
        window: u64,
    ) -> FecEnd<S> {
        let (shape, coders) = (self.shape(), self.coders());
        let windows =
            Windows { untimed: window, timed: if self.bounded { window } else { u64::MAX } };
        FecEnd::new(
            path,
            shape,
            coders,
            self.guard(),
            answers,
            (Timer::new(self.deadline), windows),
        )
    }

    pub(super) fn arq_end<S: DatagramSocket>(
        &self,
        path: Path<S>,
        answers: bool,
        window: u64,
    ) -> ArqEnd<S> {
        let timer = Timer::new(self.resend_after);
        ArqEnd::new(
            path,
            self.shape(),
            self.coders(),
            self.flips.is_some(),
            answers,
            (timer, window),
        )
    }
}

fn check_flips(flips: Option<f64>, scheme: Option<Scheme>, arq: bool) -> Result<(), String> {
    let Some(share) = flips else { return Ok(()) };
    FlipTrace::new(share, 0)?;
    if arq && scheme.is_some() {
        return Err(
            "bits flip with a code or with what sends again, not with both: choose a code \
                    without +arq, or selective-repeat"
                .into(),
        );
    }
    scheme.map_or(Ok(()), |scheme| Shield::new(scheme).map(drop))
}

fn losses(loss: &str, burst: &str) -> Result<Option<LossModel>, String> {
    let percent: f64 = loss.trim_end_matches('%').parse().expect("checked at the door");
    let burst: f64 = burst.parse().expect("checked at the door");
    if percent == 0.0 {
        return Ok(None);
    }
    LossModel::new(percent / 100.0, burst).map(Some)
}
