//! Memory shared between two workers: one anonymous mapping, typed views into it.
//!
//! Words are handed out as atomics. Message bytes live in [`Slots`]: the view proves that
//! index and length stay inside the mapping, so the timed path carries no bounds arithmetic
//! beyond a mask.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, copy_nonoverlapping, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

/// Bytes in a cache line: what keeps two words from sharing one. 128 on machines whose
/// prefetcher pulls pairs would be more; the ring's first line is measured with 64.
pub const LINE: usize = 64;

/// Bytes in a page of the smallest size.
pub const PAGE: usize = 4096;

/// An anonymous MAP_SHARED mapping, zeroed, inherited by forks. Unmapped when dropped.
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping is plain memory without thread affinity; every access goes through
// atomics or through `Slots`, whose protocol decides who may touch a slot when.
unsafe impl Send for Mapping {}
// SAFETY: as above: shared references give out only atomics and protocol-guarded copies.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` (rounded up to whole pages), reserving address space but no memory. None is
    /// what a sum gave that no number holds: too much, as for the kernel.
    pub fn new(bytes: impl Into<Option<usize>>) -> io::Result<Mapping> {
        let pages = |bytes: usize| bytes.max(1).checked_next_multiple_of(PAGE);
        let bytes = bytes.into().and_then(pages).ok_or(rustix::io::Errno::NOMEM)?;
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses the place, so no existing mapping is touched.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, prot, flags)? };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave null"))?;
        Ok(Mapping { start, bytes })
    }

    /// Maps the first `bytes` of a memory file, shared.
    pub fn of_file(file: BorrowedFd<'_>, bytes: usize) -> io::Result<Mapping> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place, so no existing mapping is touched.
        let start = unsafe { mmap(null_mut(), bytes, prot, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave null"))?;
        Ok(Mapping { start, bytes })
    }

    /// Maps `bytes`, whole huge pages of the default size, shared; they are reserved at once.
    pub fn of_huge_pages(bytes: usize) -> io::Result<Mapping> {
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::HUGETLB;
        // SAFETY: the kernel chooses the place, so no existing mapping is touched.
        let start = unsafe { mmap_anonymous(null_mut(), bytes, prot, flags)? };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave null"))?;
        Ok(Mapping { start, bytes })
    }

    /// Length in bytes, whole pages.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Faults in and makes writable the first `bytes`, so that no fault falls into timed code
    /// (madvise(2), MADV_POPULATE_WRITE, Linux 5.14).
    pub fn populate(&self, bytes: usize) -> io::Result<()> {
        let bytes = bytes.min(self.bytes);
        // SAFETY: the range lies inside this mapping, and populating changes no contents.
        unsafe { madvise(self.start.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite)? };
        Ok(())
    }

    /// The byte at `offset`, for what lives in a mapping but isn't a word.
    ///
    /// # Panics
    /// If it lies outside.
    pub(super) fn place(&self, offset: usize) -> NonNull<u8> {
        assert!(offset < self.bytes, "place {offset} outside");
        // SAFETY: inside the mapping, as just asserted.
        unsafe { self.start.add(offset) }
    }

    /// The 32-bit word at byte `offset`.
    ///
    /// # Panics
    /// If it is not aligned or lies outside.
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        let fits = offset.checked_add(4).is_some_and(|end| end <= self.bytes);
        assert!(offset.is_multiple_of(4) && fits, "word {offset} outside");
        // SAFETY: inside the mapping, aligned, alive as long as `self`; atomics allow sharing.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    /// The mapping as 64-bit words, from byte `offset` on.
    ///
    /// # Panics
    /// If `offset` is not aligned or lies outside.
    pub fn words(&self, offset: usize) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(8) && offset <= self.bytes, "words {offset} outside");
        // SAFETY: inside the mapping, aligned, alive as long as `self`; AtomicU64 has the
        // layout of u64, and any bytes are a valid value.
        unsafe {
            let first = self.start.as_ptr().add(offset).cast::<AtomicU64>();
            std::slice::from_raw_parts(first, (self.bytes - offset) / 8)
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this object owns the mapping, and no view outlives it (views borrow it or
        // hold an Arc of it).
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// One 32-bit word of a mapping, which it keeps alive: checked when made, free when used.
#[derive(Clone)]
pub struct Word {
    _mapping: Arc<Mapping>,
    place: NonNull<AtomicU32>,
}

// SAFETY: as for `Mapping`, which the word keeps alive.
unsafe impl Send for Word {}

impl Word {
    /// The word at byte `offset` of `mapping`.
    ///
    /// # Panics
    /// If it is not aligned or lies outside.
    pub fn new(mapping: &Arc<Mapping>, offset: usize) -> Word {
        let place = NonNull::from(mapping.word(offset));
        Word { _mapping: mapping.clone(), place }
    }
}

impl std::ops::Deref for Word {
    type Target = AtomicU32;

    #[inline(always)]
    fn deref(&self) -> &AtomicU32 {
        // SAFETY: `place` was checked in `new`, and the mapping lives as long as `self`.
        unsafe { self.place.as_ref() }
    }
}

/// A power-of-two number of equal slots in a mapping, each a 64-bit header word followed by
/// room for one message. Cloning gives another view of the same memory.
#[derive(Clone)]
pub struct Slots {
    mapping: Arc<Mapping>,
    first: NonNull<u8>,
    stride: usize,
    mask: usize,
}

// SAFETY: as for `Mapping`, which the view keeps alive.
unsafe impl Send for Slots {}

impl Slots {
    /// Bytes of the header word before each message.
    pub const HEADER: usize = 8;

    /// Bytes from one slot to the next, for messages of at most `room` bytes: whole lines. None where
    /// no number holds them.
    pub fn stride(room: usize) -> Option<usize> {
        Self::HEADER.checked_add(room)?.checked_next_multiple_of(LINE)
    }

    /// Bytes that `count` slots take; None where no number holds them.
    pub fn bytes(count: usize, room: usize) -> Option<usize> {
        Self::stride(room)?.checked_mul(count)
    }

    /// `count` slots (a power of two) from byte `offset` of `mapping` on (a whole line).
    ///
    /// # Panics
    /// If `count` or `offset` is off, or the slots don't fit.
    pub fn new(mapping: Arc<Mapping>, offset: usize, count: usize, room: usize) -> Slots {
        let end = Self::bytes(count, room).and_then(|bytes| bytes.checked_add(offset));
        assert!(count.is_power_of_two() && offset.is_multiple_of(LINE), "slots: shape");
        assert!(end.is_some_and(|it| it <= mapping.bytes()), "slots: outside the mapping");
        let stride = Self::stride(room).expect("it was multiplied already");
        // SAFETY: `offset` lies inside the mapping, as just asserted.
        let first = unsafe { mapping.start.add(offset) };
        Slots { mapping, first, stride, mask: count - 1 }
    }

    /// How many slots there are.
    pub fn count(&self) -> usize {
        self.mask + 1
    }

    /// The mapping behind the slots.
    pub fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    #[inline(always)]
    fn at(&self, index: usize) -> NonNull<u8> {
        // SAFETY: the masked index is below the number of slots, all of which lie inside the
        // mapping (asserted in `new`).
        unsafe { self.first.add((index & self.mask) * self.stride) }
    }

    /// The header of slot `index` (modulo the number of slots).
    #[inline(always)]
    pub fn header(&self, index: usize) -> &AtomicU64 {
        // SAFETY: a slot starts on a line, so the word is aligned and inside the mapping.
        unsafe { AtomicU64::from_ptr(self.at(index).as_ptr().cast()) }
    }

    /// Asks for the line after the first of slot `index`, if the slot has one: a consumer that
    /// polls the first line then has both on their way at once, instead of one after the other.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        if self.stride == LINE {
            return; // What lies there is the next slot, which is the producer's to write.
        }
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch touches nothing but caches, and faults nowhere.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(self.at(index).as_ptr().wrapping_add(LINE).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = index;
    }

    /// Copies `message` into slot `index`. The caller's protocol must own the slot: written
    /// only while the reader has released it, published by a release store to the header.
    ///
    /// What lies beyond the first line is written first. The reader polls that line, so it must
    /// not be taken until everything else is in place: else a poll steals it between the
    /// message and the header, and it has to be fetched twice.
    ///
    /// # Panics
    /// If the message is longer than a slot's room.
    #[inline(always)]
    pub fn write(&self, index: usize, message: &[u8]) {
        assert!(message.len() <= self.stride - Self::HEADER, "message larger than its slot");
        let (first, rest) = message.split_at(message.len().min(LINE - Self::HEADER));
        // SAFETY: the length was checked against the slot; the source is an ordinary slice that
        // can't overlap a mapping that is only reached through this view; nobody else touches
        // the bytes until the header is published. `first` fits the line behind the header.
        unsafe {
            let to = self.at(index).as_ptr();
            copy(rest.as_ptr(), to.add(LINE), rest.len());
            copy_words(first.as_ptr(), to.add(Self::HEADER), first.len());
        }
    }

    /// Copies slot `index` out into `message`. The caller has seen its header published.
    ///
    /// # Panics
    /// If the message is longer than a slot's room.
    #[inline(always)]
    pub fn read(&self, index: usize, message: &mut [u8]) {
        assert!(message.len() <= self.stride - Self::HEADER, "message larger than its slot");
        let (first, rest) = message.split_at_mut(message.len().min(LINE - Self::HEADER));
        // SAFETY: as in `write`; the acquire load of the header ordered the writer's bytes
        // before this copy, and the writer leaves the slot alone until it is released.
        unsafe {
            let from = self.at(index).as_ptr();
            copy_words(from.add(Self::HEADER), first.as_mut_ptr(), first.len());
            copy(from.add(LINE), rest.as_mut_ptr(), rest.len());
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

    #[test]
    fn sizes_that_no_number_holds_are_errors_and_never_small_ones() {
        for bytes in [usize::MAX, usize::MAX - PAGE + 2, isize::MAX as usize + 1] {
            assert_eq!(
                Mapping::new(bytes).err().map(|it| it.kind()),
                Some(io::ErrorKind::OutOfMemory)
            );
        }
        assert!(Mapping::new(None).is_err());
        assert_eq!(Mapping::new(0).unwrap().bytes(), PAGE);
        assert_eq!(Mapping::new(PAGE + 1).unwrap().bytes(), 2 * PAGE);
        assert_eq!((Slots::stride(0), Slots::stride(56)), (Some(LINE), Some(LINE)));
        assert_eq!(Slots::stride(57), Some(2 * LINE));
        for room in [usize::MAX, usize::MAX - Slots::HEADER, usize::MAX - Slots::HEADER - LINE + 2]
        {
            assert_eq!(Slots::stride(room), None, "{room}");
        }
        assert_eq!(Slots::bytes(1 << 63, 1), None);
        assert_eq!(Slots::bytes(2, usize::MAX / 2), None);
    }

    /// What wraps round would lie inside again.
    #[test]
    fn nothing_is_handed_out_beyond_the_mapping() {
        let mapping = Arc::new(Mapping::new(PAGE).unwrap());
        let outside =
            |ask: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).is_err();
        assert!(outside(&|| _ = mapping.word(PAGE)));
        assert!(outside(&|| _ = mapping.word(usize::MAX - 3)));
        assert!(outside(&|| _ = mapping.words(usize::MAX - 7)));
        assert!(outside(&|| _ = mapping.place(PAGE)));
        for (offset, count, room) in [
            (0, 1, PAGE),
            (LINE, PAGE / LINE, 0),
            (0, 1 << 58, 56),
            (usize::MAX - LINE + 1, 1, 0),
            (0, 2, usize::MAX / 2),
        ] {
            let slots = || drop(Slots::new(mapping.clone(), offset, count, room));
            assert!(outside(&slots), "{offset} {count} {room}");
        }
    }
}
