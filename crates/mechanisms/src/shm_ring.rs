//! `shm-ring`: two single-producer single-consumer rings in shared memory, one each way.
//!
//! A slot starts with a word that holds the message's number and length, in the same cache
//! line as its first 56 bytes: a small message crosses between CPUs as one line. The producer
//! fills the slot, then publishes it by storing the word; the consumer waits for the number
//! it expects. The consumer counts what it has released in a line of its own, which the
//! producer reads only when the ring looks full. How a worker waits is in `wait`.

mod wait;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};

use self::wait::{Eventfd, Futex, Spin, Wait, Yield};
use super::socket::wrong_length;
use super::{
    Carries, Choice, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec,
    Options, Traits, Visitor, Waits,
};
use sys::shared::{LINE, Mapping, Slots, Word};

/// The mechanism's row.
pub struct ShmRing;

/// Bytes of slots a ring aims at; it has at least two and at most [`Wait::MOST_SLOTS`].
const RING_BYTES: usize = 256 << 10;
/// Lines before the slots: released count, consumer's parking word, producer's parking word, and
/// one that keeps pairs of lines together, since processors fetch a line's other half with it.
const HEAD: usize = 4 * LINE;

impl Mechanism for ShmRing {
    const NAME: &'static str = "shm-ring";
    const SUMMARY: &'static str = "a ring of messages in shared memory";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec {
        name: "wait",
        summary: "how a worker waits: asleep on a futex or an eventfd, spinning, or yielding",
        words: &["futex", "spin", "yield", "eventfd"],
        takes_size: false,
    }];
    const SHOWN: &'static [&'static str] =
        &["wait=futex", "wait=eventfd", "wait=yield", "wait=spin"];
    const MEASURED: &'static [&'static str] = &["wait=futex", "wait=spin"];

    fn waits(options: &Options) -> Waits {
        match options.get(Self::OPTIONS, "wait") {
            Choice::Word("spin") => Waits::Spinning,
            Choice::Word("yield") => Waits::Yielding,
            _ => Waits::Asleep,
        }
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        match spec.options.get(Self::OPTIONS, "wait") {
            Choice::Word("spin") => Ok(visitor.visit(rings::<Spin>(spec)?)),
            Choice::Word("yield") => Ok(visitor.visit(rings::<Yield>(spec)?)),
            Choice::Word("eventfd") => Ok(visitor.visit(rings::<Eventfd>(spec)?)),
            _ => Ok(visitor.visit(rings::<Futex>(spec)?)),
        }
    }
}

/// Both ends of two rings in one mapping.
fn rings<W: Wait>(spec: &OpenSpec) -> Result<Opened<End<W>>, OpenError> {
    let room = spec.message_bytes;
    let failed = OpenError::call("mmap", "free memory, or choose smaller messages");
    let too_much = || failed(io::ErrorKind::OutOfMemory.into());
    let stride = Slots::stride(room).ok_or_else(too_much)?;
    let slots = (RING_BYTES / stride).clamp(2, W::MOST_SLOTS).next_power_of_two();
    let bytes = Slots::bytes(slots, room).and_then(|it| it.checked_add(HEAD));
    let bytes = bytes.ok_or_else(too_much)?;
    let mapping = Mapping::new(bytes.checked_mul(2)).map_err(&failed)?;
    let mapping = Arc::new(mapping);
    let ring = |at: usize| {
        let parking = |line: usize| W::new(Word::new(&mapping, at + line * LINE), spec);
        Ok::<_, OpenError>(Ring {
            slots: Slots::new(mapping.clone(), at + HEAD, slots, room),
            count_released: Word::new(&mapping, at),
            consumer: parking(1)?,
            producer: parking(2)?,
            next: 0,
            released: 0,
        })
    };
    let (there, back) = (ring(0)?, ring(bytes)?);
    let initiator = End { out: there.clone(), into: back.clone() };
    let responder = End { out: back, into: there };
    let granted = vec![("ring_slots".into(), slots as u64)];
    Ok(Opened::new(initiator, responder).granted(granted))
}

/// One side's view of a ring.
#[derive(Clone)]
struct Ring<W> {
    slots: Slots,
    /// How many messages the consumer has taken out.
    count_released: Word,
    /// Where the consumer waits for a message, and the producer for room.
    consumer: W,
    producer: W,
    /// Messages this side has put in or taken out.
    next: u32,
    /// Producer: the released count when last read.
    released: u32,
}

/// The header of message `number`, which is never zero: slots start out as zero.
#[inline(always)]
fn header_of(number: u32, length: usize) -> u64 {
    u64::from(number.wrapping_add(1)) << 32 | length as u64
}

/// The length of message `number`, once its header says that it is there.
#[inline(always)]
fn published(header: &AtomicU64, number: u32) -> Option<usize> {
    let word = header.load(Acquire);
    ((word >> 32) as u32 == number.wrapping_add(1)).then_some(word as u32 as usize)
}

/// One side of the pair of rings.
pub struct End<W> {
    out: Ring<W>,
    into: Ring<W>,
}

impl<W: Wait> Endpoint for End<W> {
    fn start(&mut self) -> io::Result<()> {
        let mapping = self.out.slots.mapping();
        mapping.populate(mapping.bytes())
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let ring = &mut self.out;
        let full = ring.slots.count() as u32;
        if ring.next.wrapping_sub(ring.released) == full {
            let (next, released) = (ring.next, &ring.count_released);
            let has_room = || next.wrapping_sub(released.load(Acquire)) < full;
            ring.producer.wait(has_room);
            ring.released = ring.count_released.load(Acquire);
        }
        let slot = ring.next as usize;
        ring.slots.write(slot, message);
        ring.slots.header(slot).store(header_of(ring.next, message.len()), Release);
        ring.next = ring.next.wrapping_add(1);
        ring.consumer.wake();
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let ring = &mut self.into;
        let slot = ring.next as usize;
        let header = ring.slots.header(slot);
        let mut length = 0;
        ring.consumer.wait(|| {
            ring.slots.prefetch(slot);
            published(header, ring.next).inspect(|found| length = *found).is_some()
        });
        if length != message.len() {
            return Err(wrong_length("ring", length, message.len()));
        }
        ring.slots.read(slot, message);
        ring.next = ring.next.wrapping_add(1);
        ring.count_released.store(ring.next, Release);
        ring.producer.wake();
        Ok(())
    }
}
