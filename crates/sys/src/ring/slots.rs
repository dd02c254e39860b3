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
        assert!(end.is_some_and(|end| end <= mapping.bytes()), "slots: outside the mapping");
        let stride = Self::stride(room).expect("it was multiplied already");
        let first = mapping.place(offset);
        Slots { mapping, first, stride, room, mask: count - 1 }
    }

    pub(super) fn count(&self) -> usize {
        self.mask + 1
    }

    /// Faults in the whole mapping behind the slots.
    pub(super) fn populate(&self) -> io::Result<()> {
        self.mapping.populate(self.mapping.bytes())
    }

    /// For who fills slots one after the other: asks for the line behind that of slot `index`, to write to it, where
    /// this slot is the first of several in its line. The reader has a copy of that line, from the lap before, which
    /// is taken from it while this line is filled, and not only then.
    #[inline(always)]
    pub(super) fn claim_next_line(&self, index: usize) {
        let at = (index & self.mask) * self.stride;
        if self.stride >= LINE || !at.is_multiple_of(LINE) {
            return;
        }
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        // SAFETY: a prefetch touches nothing but caches, and faults nowhere; where there is none, it does nothing.
        unsafe {
            let next = self.first.as_ptr().wrapping_add(at + LINE);
            std::arch::asm!("prefetchw [{}]", in(reg) next, options(nostack, preserves_flags));
        }
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
        let (to, first) = (self.first.wrapping_add(Slots::HEADER), LINE - Slots::HEADER);
        // SAFETY: the length was checked against the slot, which has room for that many bytes behind its header. The
        // source is an ordinary slice; it can't overlap the slot, to which no reference is ever made. The bytes are the
        // caller's, as it promised.
        unsafe {
            if message.len() <= first {
                return copy(message.as_ptr(), to, message.len());
            }
            copy(message[first..].as_ptr(), to.add(first), message.len() - first);
            copy(message.as_ptr(), to, first);
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
        let (from, first) = (self.first.wrapping_add(Slots::HEADER), LINE - Slots::HEADER);
        // SAFETY: as in `write`.
        unsafe {
            if message.len() <= first {
                return copy(from, message.as_mut_ptr(), message.len());
            }
            copy(from, message.as_mut_ptr(), first);
            copy(from.add(first), message[first..].as_mut_ptr(), message.len() - first);
        }
    }
}

/// Copies bytes; up to a line of them without a call, which costs more than such a copy.
///
/// # Safety
/// `from` and `to` are valid for `length` bytes and don't overlap.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: as the caller promised, for each length that an arm copies: two pieces of a size reach from the first
    // byte to the last and may share some between them.
    unsafe {
        match length {
            0 => {}
            8 => piece::<8>(from, to, 0),
            1 => piece::<1>(from, to, 0),
            2..=3 => ends::<2>(from, to, length),
            4..=7 => ends::<4>(from, to, length),
            9..=16 => ends::<8>(from, to, length),
            17..=32 => ends::<16>(from, to, length),
            33..=LINE => ends::<32>(from, to, length),
            _ => copy_nonoverlapping(from, to, length),
        }
    }
}

/// Copies the first `SIZE` bytes of `length`, and the last.
///
/// # Safety
/// As for [`copy`]; `length` is at least `SIZE`.
#[inline(always)]
unsafe fn ends<const SIZE: usize>(from: *const u8, to: *mut u8, length: usize) {
    // SAFETY: as the caller promised.
    unsafe {
        piece::<SIZE>(from, to, 0);
        piece::<SIZE>(from, to, length - SIZE);
    }
}

/// Copies `SIZE` bytes from byte `at` on, by plain moves since the size is known.
///
/// # Safety
/// As for [`copy`], of the bytes from `at` on.
#[inline(always)]
unsafe fn piece<const SIZE: usize>(from: *const u8, to: *mut u8, at: usize) {
    // SAFETY: as the caller promised; arrays of bytes have no alignment.
    unsafe { to.add(at).cast::<[u8; SIZE]>().write(from.add(at).cast::<[u8; SIZE]>().read()) };
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

    #[test]
    fn a_copy_has_all_bytes_and_writes_no_other() {
        let from: Vec<u8> = (1..=u8::MAX).collect();
        for length in 0..=2 * LINE + 1 {
            let mut to = vec![0; length + 1];
            // SAFETY: both are longer than that, and vectors of their own.
            unsafe { copy(from.as_ptr(), to.as_mut_ptr(), length) };
            assert_eq!(to, [&from[..length], &[0]].concat(), "{length}");
        }
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
