//! `shm-ring`: two single-producer single-consumer rings in shared memory, one each way.
//!
//! A slot starts with a word that holds the message's number and length, in the same cache
//! line as its first 56 bytes: a small message crosses between CPUs as one line, and where the reader lags several
//! of up to 24 bytes do. The protocol is in `sys::ring`; how a worker waits is in `waiting`.

use std::borrow::Cow::Borrowed;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags};

use super::socket::wrong_length;
use super::waiting::{Eventfd, Futex, Hybrid, SPIN, Spin, Waiting, Yield, spin_is_of_hybrid};
use super::{
    Carries, Choice, Deadline, Endpoint, Framing, Mechanism, Nonblocking, NonblockingCode,
    OpenError, OpenSpec, Opened, OptionSpec, Options, Received, Sent, Traits, Visitor, Waits,
};
use model::bend::{Bend, Length};
use sys::ring::{Reader, Shape, Writer, two};

pub struct ShmRing;

/// Bytes of slots a ring aims at; it has at least two and at most [`Waiting::MOST_SLOTS`].
const RING_BYTES: usize = 256 << 10;

impl Mechanism for ShmRing {
    const NAME: &'static str = "shm-ring";
    const ALIASES: &'static [&'static str] = &["shm"];
    const SUMMARY: &'static str = "a ring of messages in shared memory";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);
    const BENDS: &'static [Bend] = &[
        Bend::new(
            "what shares a line with its header",
            Length::Bytes(64 - 8),
            "crates/mechanisms/src/shm_ring.rs: 64 - 8",
        ),
        // A ring of a fixed size has the fewer slots the larger its messages are.
        Bend::new(
            "the last size with {ring_slots} slots",
            Length::LastBefore(Borrowed("ring_slots")),
            "granted: ring_slots at each size",
        ),
        Bend::new(
            "the first size with {ring_slots} slots",
            Length::FirstWithLeast(Borrowed("ring_slots")),
            "granted: ring_slots at each size",
        ),
    ];
    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: "wait",
            summary: "how a worker waits: asleep on a futex or an eventfd, spinning, yielding, or spinning for a while \
                      and then asleep",
            words: &["futex", "spin", "yield", "eventfd", "hybrid"],
            takes_size: false,
        },
        SPIN,
    ];
    const SHOWN: &'static [&'static str] =
        &["wait=futex", "wait=eventfd", "wait=hybrid", "wait=yield", "wait=spin"];
    const MEASURED: &'static [&'static str] = &["wait=futex", "wait=spin"];
    const SERVED: &'static [&'static str] = &["wait=eventfd"];
    const PACED: &'static [&'static str] = &["wait=hybrid"];

    fn summary(options: &Options) -> &'static str {
        match options.get(Self::OPTIONS, "wait") {
            Choice::Word("spin") => "the receiver busy-waits",
            Choice::Word("yield") => "the receiver busy-waits, and lets others run",
            Choice::Word("eventfd") => "the receiver sleeps in a read of an eventfd",
            Choice::Word("hybrid") => "the receiver spins for a while, then sleeps",
            _ => Self::SUMMARY,
        }
    }

    fn waits(options: &Options) -> Waits {
        match options.get(Self::OPTIONS, "wait") {
            Choice::Word("spin") => Waits::Spinning,
            Choice::Word("yield") => Waits::Yielding,
            _ => Waits::Asleep,
        }
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let wait = spec.options.get(Self::OPTIONS, "wait");
        spin_is_of_hybrid(&spec.options, wait)?;
        match wait {
            Choice::Word("hybrid") => Ok(visitor.visit(rings::<Hybrid>(spec)?)),
            Choice::Word("spin") => Ok(visitor.visit(rings::<Spin>(spec)?)),
            Choice::Word("yield") => Ok(visitor.visit(rings::<Yield>(spec)?)),
            Choice::Word("eventfd") => Ok(visitor.visit(rings::<Eventfd>(spec)?)),
            _ => Ok(visitor.visit(rings::<Futex>(spec)?)),
        }
    }
}

/// Both ends of two rings in one mapping.
fn rings<W: Waiting>(spec: &OpenSpec) -> Result<Opened<RingEnd<W>>, OpenError> {
    let failed = OpenError::call("mmap");
    let shape = Shape::new(spec.message_bytes, RING_BYTES, W::MOST_SLOTS)
        .ok_or_else(|| failed(io::ErrorKind::OutOfMemory.into()))?;
    let [there, back] = two(shape, &failed, |word| W::new(word, spec))?;
    let initiator = RingEnd { out: there.0, into: back.1 };
    let responder = RingEnd { out: back.0, into: there.1 };
    let effective_settings = vec![("ring_slots".into(), shape.slots() as u64)];
    Ok(Opened::new(initiator, responder).effective_settings(effective_settings))
}

/// One side of the pair of rings.
pub struct RingEnd<W> {
    out: Writer<W>,
    into: Reader<W>,
}

impl<W: Waiting> Endpoint for RingEnd<W> {
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        self.out.populate()
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.out.send(message);
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        match self.into.recv(message) {
            Ok(()) => Ok(()),
            Err(length) => Err(wrong_length("ring", length, message.len())),
        }
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }
}

/// Only `wait=eventfd` notifies a worker that doesn't wait: of others it polls the memory.
impl<W: Waiting> Nonblocking for RingEnd<W> {
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        self.into.waiting_place().set_nonblocking(on)?;
        self.out.waiting_place().set_nonblocking(on)
    }

    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        Ok(if self.out.try_send(message) { Sent::Whole } else { Sent::WouldBlock })
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        match self.into.try_recv(message) {
            Ok(true) => Ok(Received::Whole),
            Ok(false) => Ok(Received::WouldBlock),
            Err(length) => Err(wrong_length("ring", length, message.len())),
        }
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        self.into.waiting_place().watched(|| self.into.watched().is_some())
    }

    fn room(&self) -> Option<PollFd<'_>> {
        let counter = self.out.waiting_place().watched(|| self.out.watched().is_some())?;
        Some(PollFd::from_borrowed_fd(counter, PollFlags::IN))
    }
}
