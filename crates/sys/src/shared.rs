//! Memory shared between two workers: one anonymous mapping, typed views into it.
//!
//! Words are handed out as atomics, to whoever has the mapping. What isn't an atomic (messages of a
//! ring, objects of the C library) lies in a mapping that its owner made and shows to nobody.

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
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

// SAFETY: the mapping is memory of the process: any thread may use it, and unmap it.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives atomics to everybody. To this crate it also gives places
// (`place`), which are mere pointers: whoever dereferences one argues there that nobody else reaches
// it (`ring`, `posix` and `lent` do so from mappings that they made and keep to themselves).
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

    /// The byte at `offset`, for what lives in a mapping but isn't a word: in one that is shown to
    /// nobody, since [`Mapping::words`] reaches every byte.
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

// SAFETY: a word is a shared reference to an atomic, which is `Sync`, and a share of the mapping
// behind it, which is `Send` and `Sync` and may be unmapped by whichever thread is the last.
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
    }
}
