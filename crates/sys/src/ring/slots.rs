//! The slots of a ring: where the bytes of messages lie.
//!
//! The view proves that index and length stay inside the mapping, so the timed path carries no
//! bounds arithmetic beyond a mask. Who may touch a slot when is `protocol`'s to say.

use std::io;
use std::marker::PhantomData;
use std::ptr::{NonNull, copy_nonoverlapping};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::shared::{LINE, Mapping};

/// A power-of-two number of equal slots in a mapping, each a 64-bit header word followed by
/// room for one message. Cloning gives another view of the same memory.
#[derive(Clone)]
pub(super) struct Slots {
    mapping: Arc<Mapping>,
    first: NonNull<u8>,
    stride: usize,
    room: usize,
    mask: usize,
}

// SAFETY: `first` points into the mapping, which the view keeps alive and which has no thread
// affinity. From it come headers, which are atomics, and copies by `write` and `read`, whose callers
// answer for it that no two threads meet in a slot. (Not `Sync`: nobody needs it.)
unsafe impl Send for Slots {}

impl Slots {
    /// Bytes of the header word before each message.
    const HEADER: usize = 8;
    /// Lines left free between two slots, or one more: processors fetch the other line of a pair and the line after
    /// in advance, and where the next slot lies there either side takes lines from the other before it needs them.
    /// Round trips of 64 bytes took 1.62 of a ping-pong's time where slots followed each other, and take 1.16 to 1.21
    /// (`cargo bench --bench ring -- --quick`, two CPUs beside each other of an EPYC of 2022).
    const FREE_LINES: usize = 3;

    /// Bytes from one slot to the next, for messages of at most `room` bytes: an odd number of lines, some of them
    /// free, or less than a line into which it divides, so that a reader that lags gets several small messages with
    /// one line. None where no number holds them.
    pub(super) fn stride(room: usize) -> Option<usize> {
        let bytes = Self::HEADER.checked_add(room)?;
        if bytes <= LINE / 2 {
            return Some(bytes.next_power_of_two());
        }
        let lines = bytes.div_ceil(LINE).checked_add(Self::FREE_LINES)? | 1;
        lines.checked_mul(LINE)
    }

    /// Bytes that `count` slots take; None where no number holds them.
    pub(super) fn bytes(count: usize, room: usize) -> Option<usize> {
        Self::stride(room)?.checked_mul(count)
    }

    /// `count` slots (a power of two) from byte `offset` of `mapping` on (a whole line).
    ///
    /// # Panics
    /// If `count` or `offset` is off, or the slots don't fit.
    pub(super) fn new(mapping: Arc<Mapping>, offset: usize, count: usize, room: usize) -> Slots {
        let end = Self::bytes(count, room).and_then(|bytes| bytes.checked_add(offset));
        assert!(count.is_power_of_two() && offset.is_multiple_of(LINE), "slots: shape");
        assert!(end.is_some_and(|it| it <= mapping.bytes()), "slots: outside the mapping");
        let stride = Self::stride(room).expect("it was multiplied already");
        let first = mapping.place(offset);
        Slots { mapping, first, stride, room, mask: count - 1 }
    }

    /// How many slots there are.
    pub(super) fn count(&self) -> usize {
        self.mask + 1
    }

    /// Faults in the whole mapping behind the slots.
    pub(super) fn populate(&self) -> io::Result<()> {
        self.mapping.populate(self.mapping.bytes())
    }

    /// Slot `index` (modulo the number of slots).
    #[inline(always)]
    pub(super) fn slot(&self, index: usize) -> Slot<'_> {
        // SAFETY: the masked index is below the number of slots, all of which lie inside the
        // mapping (asserted in `new`).
        let first = unsafe { self.first.add((index & self.mask) * self.stride) };
        Slot { first: first.as_ptr(), room: self.room, _mapping: PhantomData }
    }
}

/// One slot: found once, then used without arithmetic, since whoever polls it does so between two looks.
#[derive(Clone, Copy)]
pub(super) struct Slot<'a> {
    first: *mut u8,
    room: usize,
    _mapping: PhantomData<&'a Mapping>,
}

impl<'a> Slot<'a> {
    /// The header.
    #[inline(always)]
    pub(super) fn header(self) -> &'a AtomicU64 {
        // SAFETY: a slot starts on a line, or a power of two from 8 bytes on behind its start, so the word is aligned;
        // it is inside the mapping, which outlives `'a`.
        unsafe { AtomicU64::from_ptr(self.first.cast()) }
    }

    /// Asks for the line after the first, if the slot has one: a consumer that
    /// polls the first line then has both on their way at once, instead of one after the other.
    #[inline(always)]
    pub(super) fn prefetch(self) {
        if Slots::HEADER + self.room <= LINE {
            return; // What lies there may be another slot, which is the producer's to write.
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch touches nothing but caches, and faults nowhere.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.first.wrapping_add(LINE).cast());
        }
    }

    /// Copies `message` into the slot.
    ///
    /// What lies beyond the first line is written first. The reader polls that line, so it must
    /// not be taken until everything else is in place: else a poll steals it between the
    /// message and the header, and it has to be fetched twice.
    ///
    /// # Safety
    /// The slot is the caller's: the thread that wrote or read its bytes last did so before this call
    /// (by an acquire load that saw their release store), and nobody does during it.
    ///
    /// # Panics
    /// If the message is longer than a slot's room.
    #[inline(always)]
    pub(super) unsafe fn write(self, message: &[u8]) {
        assert!(message.len() <= self.room, "message larger than its slot");
        let (first, rest) = message.split_at(message.len().min(LINE - Slots::HEADER));
        // SAFETY: the length was checked against the slot, and `first` fits the line behind the
        // header. The source is an ordinary slice; it can't overlap the slot, to which no
        // reference is ever made. The bytes are the caller's, as it promised.
        unsafe {
            copy(rest.as_ptr(), self.first.add(LINE), rest.len());
            copy_words(first.as_ptr(), self.first.add(Slots::HEADER), first.len());
        }
    }

    /// Copies the slot out into `message`.
    ///
    /// # Safety
    /// As for [`Slot::write`]; others may read the slot meanwhile. Its bytes were zero or written.
    ///
    /// # Panics
    /// If the message is longer than a slot's room.
    #[inline(always)]
    pub(super) unsafe fn read(self, message: &mut [u8]) {
        assert!(message.len() <= self.room, "message larger than its slot");
        let (first, rest) = message.split_at_mut(message.len().min(LINE - Slots::HEADER));
        // SAFETY: as in `write`.
        unsafe {
            copy_words(self.first.add(Slots::HEADER), first.as_mut_ptr(), first.len());
            copy(self.first.add(LINE), rest.as_mut_ptr(), rest.len());
        }
    }
}

/// Copies bytes in whichever way is quicker.
///
/// # Safety
/// `from` and `to` are valid for `length` bytes and don't overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: as the caller promised.
    unsafe {
        match length {
            0..=LINE => copy_words(from, to, length),
            _ => copy_nonoverlapping(from, to, length),
        }
    }
}

/// Copies a few bytes in words of eight, then bytes: a call to memcpy costs more than
/// such a copy. Volatile stores keep the compiler from turning it back into that call.
///
/// # Safety
/// `from` and `to` are valid for `length` bytes and don't overlap.
#[inline(always)]
unsafe fn copy_words(from: *const u8, to: *mut u8, length: usize) {
    let mut done = 0;
    while done + 8 <= length {
        // SAFETY: eight bytes from `done` on lie within `length`; an unaligned place is read as
        // it is, and written as bytes of an array, whose alignment is one.
        unsafe {
            let word = from.add(done).cast::<[u8; 8]>().read();
            to.add(done).cast::<[u8; 8]>().write_volatile(word);
        }
        done += 8;
    }
    while done < length {
        // SAFETY: `done` lies within `length`.
        unsafe { to.add(done).write_volatile(from.add(done).read()) };
        done += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::PAGE;

    #[test]
    fn sizes_that_no_number_holds_are_none_and_never_small_ones() {
        let packed = [0, 1, 8, 9, 24].map(|room| Slots::stride(room).unwrap());
        assert_eq!(packed, [8, 16, 16, 32, 32]);
        let apart = [25, 56, 57, 120, 121].map(|room| Slots::stride(room).unwrap() / LINE);
        assert_eq!(apart, [5, 5, 5, 5, 7]);
        for room in [usize::MAX, usize::MAX - Slots::HEADER, usize::MAX - Slots::HEADER - LINE + 2]
        {
            assert_eq!(Slots::stride(room), None, "{room}");
        }
        assert_eq!(Slots::bytes(1 << 63, 1), None);
        assert_eq!(Slots::bytes(2, usize::MAX / 2), None);
    }

    /// What wraps round would lie inside again.
    #[test]
    fn no_slot_lies_beyond_the_mapping() {
        let mapping = Arc::new(Mapping::new(PAGE).unwrap());
        let outside =
            |ask: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).is_err();
        for (offset, count, room) in [
            (0, 1, PAGE),
            (LINE, PAGE / Slots::HEADER, 0),
            (0, 1 << 58, 56),
            (usize::MAX - LINE + 1, 1, 0),
            (0, 2, usize::MAX / 2),
        ] {
            let slots = || drop(Slots::new(mapping.clone(), offset, count, room));
            assert!(outside(&slots), "{offset} {count} {room}");
        }
    }
}
