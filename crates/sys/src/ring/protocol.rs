//! The protocol of a ring: who may touch a slot when.
//!
//! A slot starts with a word that holds the message's number and length. The producer fills the
//! slot, then publishes it by a release store of that word; the consumer waits for the number it
//! expects. The consumer counts what it has released, with a release store after its copy; the
//! producer reads that count only when the ring looks full.

use std::io;

use super::sync::AtomicU64;
use super::sync::Ordering::{Acquire, Release};
use super::{Claim, Slot, Slots, Word};

/// One side's waiting place.
pub trait Wait {
    /// Waits until `ready` returns a value, and returns it.
    ///
    /// An implementation can return nothing else, since it is for any `T`: a ring's halves
    /// rely on that.
    fn wait<T>(&self, ready: impl FnMut() -> Option<T>) -> T;
    /// Wakes the thread that waits here.
    fn wake(&self);
    /// For a thread that doesn't wait, and is told otherwise: what `ready` returns, or None, after which it is told of the
    /// next [`Wait::wake`]. The same holds of what it can return. Without such means it looks nowhere.
    #[inline(always)]
    fn watch<T>(&self, _ready: impl FnMut() -> Option<T>) -> Option<T> {
        None
    }
}

/// The producer's half. There is one to a ring.
pub struct Writer<W> {
    slots: Slots,
    /// How many messages the consumer has taken out.
    count_released: Word,
    /// Where the consumer waits for a message, and the producer for room.
    consumer: W,
    producer: W,
    /// Messages put in.
    next: u32,
    /// The released count when last read.
    released: u32,
    claim: Claim,
}

/// The consumer's half. There is one to a ring.
pub struct Reader<W> {
    slots: Slots,
    /// How many messages the consumer has taken out.
    count_released: Word,
    /// As in [`Writer`].
    consumer: W,
    producer: W,
    /// Messages taken out.
    next: u32,
    claim: Claim,
}

/// The halves of a new ring.
///
/// # Safety
/// The slots and the released count are zero, and nothing but these halves reaches them. The claims, the
/// producer's first, are of these halves and no others.
pub(super) unsafe fn halves<W: Clone>(
    slots: Slots,
    count_released: Word,
    [of_producer, of_consumer]: [Claim; 2],
    consumer: W,
    producer: W,
) -> (Writer<W>, Reader<W>) {
    let writer = Writer {
        slots: slots.clone(),
        count_released: count_released.clone(),
        consumer: consumer.clone(),
        producer: producer.clone(),
        next: 0,
        released: 0,
        claim: of_producer,
    };
    (writer, Reader { slots, count_released, consumer, producer, next: 0, claim: of_consumer })
}

/// The header of message `number`. A slot that was never filled holds zero, which is none that its
/// reader waits for: it waits for the first `count` messages first, whose headers are not zero.
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

impl<W: Wait> Writer<W> {
    /// Where this side waits for room.
    pub fn waiting_place(&self) -> &W {
        &self.producer
    }

    /// Faults in the memory of both rings.
    pub fn populate(&self) -> io::Result<()> {
        self.slots.populate()
    }

    /// Puts a message in; waits for room.
    ///
    /// # Panics
    /// If the message is longer than the ring has room for; if another process has used this half.
    #[inline(always)]
    pub fn send(&mut self, message: &[u8]) {
        self.claim.assert();
        let full = self.slots.count() as u32;
        if self.next.wrapping_sub(self.released) == full {
            let (next, released) = (self.next, &self.count_released);
            self.released = self.producer.wait(|| {
                let released = released.load(Acquire);
                (next.wrapping_sub(released) < full).then_some(released)
            });
        }
        // SAFETY: `released` is a count that the consumer stored: at first 0, later one that the closure
        // above or `try_send` loaded, for `wait` has no other value to return. Fewer than `full` messages
        // are beyond it: `next` grows by one a call, and never from where it is `full` ahead.
        unsafe { self.put(message) };
    }

    /// Puts a message in if there is room for it; whether there was.
    ///
    /// # Panics
    /// As [`Writer::send`].
    #[inline(always)]
    pub fn try_send(&mut self, message: &[u8]) -> bool {
        self.claim.assert();
        let full = self.slots.count() as u32;
        if self.next.wrapping_sub(self.released) == full {
            self.released = self.count_released.load(Acquire);
            if self.next.wrapping_sub(self.released) == full {
                let Some(released) = self.watched() else { return false };
                self.released = released;
            }
        }
        // SAFETY: as in `send`, with `watched` for `wait`; the count was loaded here, and more than `full` messages are
        // never beyond it.
        unsafe { self.put(message) };
        true
    }

    /// The released count where it leaves room; else who watches is told once it does.
    #[inline(always)]
    pub fn watched(&self) -> Option<u32> {
        let full = self.slots.count() as u32;
        self.producer.watch(|| {
            let released = self.count_released.load(Acquire);
            (self.next.wrapping_sub(released) < full).then_some(released)
        })
    }

    /// Puts a message into the next slot, and publishes it.
    ///
    /// # Safety
    /// `released` is a count that the consumer stored, and that this side loaded with acquire or which
    /// is 0; fewer messages than slots are beyond it. The claim was asserted.
    #[inline(always)]
    unsafe fn put(&mut self, message: &[u8]) {
        self.slots.claim_next_line(self.next as usize);
        let slot = self.slots.slot(self.next as usize);
        // SAFETY: the slot is this side's, as the caller promises: the message before in it, number
        // `next - count`, is released or never was. The consumer's release store of the count comes
        // after its copy, and the acquire load on this side before the write: the two copies are ordered.
        // It looks at the slot's bytes again only after the store of the header below. No other producer
        // exists: `halves` made one writer of these slots, which is not cloned, `self` is borrowed
        // mutably, and of its copies in other processes only the one whose claim this is gets here.
        unsafe { slot.write(message) };
        slot.header().store(header_of(self.next, message.len()), Release);
        self.next = self.next.wrapping_add(1);
        self.consumer.wake();
    }
}

impl<W: Wait> Reader<W> {
    /// Where this side waits for messages.
    pub fn waiting_place(&self) -> &W {
        &self.consumer
    }

    /// Fills `message` with the next message; waits for it.
    ///
    /// # Errors
    /// The next message's length where that isn't `message`'s: it stays in the ring.
    ///
    /// # Panics
    /// If `message` is longer than the ring has room for; if another process has used this half.
    #[inline(always)]
    pub fn recv(&mut self, message: &mut [u8]) -> Result<(), usize> {
        self.claim.assert();
        let (slot, next) = (self.slots.slot(self.next as usize), self.next);
        let length = published(slot.header(), next).unwrap_or_else(|| {
            self.consumer.wait(|| {
                slot.prefetch();
                published(slot.header(), next)
            })
        });
        // SAFETY: `length` comes from one of the two looks above, for `wait` has no other value to return: the
        // acquire load of the header saw message `next` published.
        unsafe { Self::copy(slot, message, length)? };
        self.release();
        Ok(())
    }

    /// Fills `message` with the next message if it is there; whether it was.
    ///
    /// # Errors
    /// As [`Reader::recv`].
    ///
    /// # Panics
    /// As [`Reader::recv`].
    #[inline(always)]
    pub fn try_recv(&mut self, message: &mut [u8]) -> Result<bool, usize> {
        self.claim.assert();
        let slot = self.slots.slot(self.next as usize);
        let length = published(slot.header(), self.next).or_else(|| self.watched());
        let Some(length) = length else { return Ok(false) };
        // SAFETY: `length` comes from one of two looks, since `watch` in `watched` has no other value to return: the acquire
        // load of the header saw message `next` published.
        unsafe { Self::copy(slot, message, length)? };
        self.release();
        // Else who watches would be called once more, for nothing.
        self.watched();
        Ok(true)
    }

    /// The length of the next message where it is there; else who watches is told once it is.
    #[inline(always)]
    pub fn watched(&self) -> Option<usize> {
        let (slot, next) = (self.slots.slot(self.next as usize), self.next);
        self.consumer.watch(|| published(slot.header(), next))
    }

    /// Copies the next message, which has `length` bytes and lies in `slot`, into `message`.
    ///
    /// # Safety
    /// An acquire load of the slot's header saw message `next` published, with that length. The claim was asserted.
    #[inline(always)]
    unsafe fn copy(slot: Slot<'_>, message: &mut [u8], length: usize) -> Result<(), usize> {
        if length != message.len() {
            return Err(length);
        }
        // SAFETY: the slot is this side's, as the caller promises. (A header of the same number, 2^32
        // messages older, was overwritten since: a slot is filled again every `count` messages.) The
        // producer's release store of that header comes after its copy, so the two copies are ordered. It
        // fills the slot again only once it has seen a released count beyond `next`, which `release` stores. No other
        // consumer exists, as in `Writer::put`.
        unsafe { slot.read(message) };
        Ok(())
    }

    /// Gives the slot of the next message, which was copied, back to the producer.
    #[inline(always)]
    fn release(&mut self) {
        self.next = self.next.wrapping_add(1);
        self.count_released.store(self.next, Release);
        self.producer.wake();
    }
}
