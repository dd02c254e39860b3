//! `shm-ring`: two single-producer single-consumer rings in shared memory, one each way.
//!
//! A slot starts with a word that holds the message's number and length, in the same cache
//! line as its first 56 bytes: a small message crosses between CPUs as one line. The producer
//! fills the slot, then publishes it by storing the word; the consumer waits for the number
//! it expects. The consumer counts what it has released in a line of its own, which the
//! producer reads only when the ring looks full. `wait=futex` sleeps, `wait=spin` burns the
//! CPU with the pause instruction.

use std::io;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::thread::futex::Flags;

use super::socket::wrong_length;
use super::{
    Carries, Choice, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec,
    Options, Traits, Visitor, Waits,
};
use crate::sys::parking::{self, Parking};
use crate::sys::shared::{LINE, Mapping, Slots, Word};

/// The mechanism's row.
pub struct ShmRing;

/// Bytes of slots a ring aims at; it has at least two and at most [`Wait::MOST_SLOTS`].
const RING_BYTES: usize = 256 << 10;
/// Lines before the slots: released count, consumer's parking word, producer's parking word.
const HEAD: usize = 3 * LINE;

impl Mechanism for ShmRing {
    const NAME: &'static str = "shm-ring";
    const SUMMARY: &'static str = "a ring of messages in shared memory, one each way";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec {
        name: "wait",
        summary: "how a worker waits: asleep on a futex, or spinning",
        words: &["futex", "spin"],
        takes_size: false,
    }];
    const SHOWN: &'static [&'static str] = &["wait=futex", "wait=spin"];

    fn waits(options: &Options) -> Waits {
        match options.get(Self::OPTIONS, "wait") {
            Choice::Word("spin") => Waits::Spinning,
            _ => Waits::Asleep,
        }
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let failed = || OpenError::call("mmap", "free memory, or choose smaller messages");
        if Self::waits(&spec.options) == Waits::Spinning {
            let pair = RingPair::<Spin>::map(spec).map_err(failed())?;
            Ok(visitor.visit(pair.opened()))
        } else {
            let pair = RingPair::<Sleep>::map(spec).map_err(failed())?;
            Ok(visitor.visit(pair.opened()))
        }
    }
}

/// How a worker waits for the other.
pub trait Wait: Send + 'static {
    /// How far a producer may be ahead, in messages.
    const MOST_SLOTS: usize;
    /// Waits at `word` until `ready`.
    fn wait(word: &AtomicU32, flags: Flags, ready: impl FnMut() -> bool);
    /// Wakes whoever waits at `word`.
    fn wake(word: &AtomicU32, flags: Flags);
}

/// Burns the CPU.
pub struct Spin;

impl Wait for Spin {
    // Both rings stay within the first-level cache.
    const MOST_SLOTS: usize = 64;

    #[inline(always)]
    fn wait(_word: &AtomicU32, _flags: Flags, mut ready: impl FnMut() -> bool) {
        while !ready() {
            std::hint::spin_loop();
        }
    }

    #[inline(always)]
    fn wake(_word: &AtomicU32, _flags: Flags) {}
}

/// Sleeps on a futex.
pub struct Sleep;

impl Wait for Sleep {
    // Every full ring costs a sleep: the more slots, the rarer.
    const MOST_SLOTS: usize = 256;

    #[inline(always)]
    fn wait(word: &AtomicU32, flags: Flags, mut ready: impl FnMut() -> bool) {
        Parking::new(word, flags).wait_for(|| ready().then_some(()));
    }

    #[inline(always)]
    fn wake(word: &AtomicU32, flags: Flags) {
        Parking::new(word, flags).wake();
    }
}

/// Two rings in one mapping.
struct RingPair<W> {
    mapping: Arc<Mapping>,
    slots: usize,
    room: usize,
    flags: Flags,
    wait: PhantomData<W>,
}

impl<W: Wait> RingPair<W> {
    fn map(spec: &OpenSpec) -> io::Result<RingPair<W>> {
        let room = spec.message_bytes;
        let fitting = RING_BYTES / Slots::stride(room);
        let slots = fitting.clamp(2, W::MOST_SLOTS).next_power_of_two();
        let mapping = Arc::new(Mapping::new(2 * Self::ring_bytes(slots, room))?);
        let flags = parking::flags(spec.same_process);
        Ok(RingPair { mapping, slots, room, flags, wait: PhantomData })
    }

    fn ring_bytes(slots: usize, room: usize) -> usize {
        HEAD + slots * Slots::stride(room)
    }

    fn opened(&self) -> Opened<End<W>> {
        let second = Self::ring_bytes(self.slots, self.room);
        Opened::new(self.end(0, second), self.end(second, 0))
            .granted(vec![("ring_slots".into(), self.slots as u64)])
    }

    fn end(&self, out: usize, into: usize) -> End<W> {
        let ring = |at: usize| Ring {
            slots: Slots::new(self.mapping.clone(), at + HEAD, self.slots, self.room),
            count_released: Word::new(&self.mapping, at),
            consumer_parking: Word::new(&self.mapping, at + LINE),
            producer_parking: Word::new(&self.mapping, at + 2 * LINE),
            next: 0,
            released: 0,
        };
        End { out: ring(out), into: ring(into), flags: self.flags, wait: PhantomData }
    }
}

/// One side's view of a ring.
struct Ring {
    slots: Slots,
    /// How many messages the consumer has taken out.
    count_released: Word,
    consumer_parking: Word,
    producer_parking: Word,
    /// Messages this side has put in or taken out.
    next: u32,
    /// Producer: the released count when last read.
    released: u32,
}

impl Ring {
    /// The header of message `number`, which is never zero: slots start out as zero.
    fn header(number: u32, length: usize) -> u64 {
        u64::from(number.wrapping_add(1)) << 32 | length as u64
    }

    fn published(header: &AtomicU64, number: u32) -> Option<usize> {
        let word = header.load(Acquire);
        ((word >> 32) as u32 == number.wrapping_add(1)).then_some(word as u32 as usize)
    }
}

/// One side of the pair of rings.
pub struct End<W> {
    out: Ring,
    into: Ring,
    flags: Flags,
    wait: PhantomData<W>,
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
            W::wait(&ring.producer_parking, self.flags, has_room);
            ring.released = ring.count_released.load(Acquire);
        }
        let slot = ring.next as usize;
        ring.slots.write(slot, message);
        ring.slots.header(slot).store(Ring::header(ring.next, message.len()), Release);
        ring.next = ring.next.wrapping_add(1);
        W::wake(&ring.consumer_parking, self.flags);
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let ring = &mut self.into;
        let slot = ring.next as usize;
        let header = ring.slots.header(slot);
        let mut length = 0;
        W::wait(&ring.consumer_parking, self.flags, || {
            ring.slots.prefetch(slot);
            Ring::published(header, ring.next).inspect(|found| length = *found).is_some()
        });
        if length != message.len() {
            return Err(wrong_length("ring", length, message.len()));
        }
        ring.slots.read(slot, message);
        ring.next = ring.next.wrapping_add(1);
        ring.count_released.store(ring.next, Release);
        W::wake(&ring.producer_parking, self.flags);
        Ok(())
    }
}
