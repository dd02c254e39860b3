//! Memory shared between two workers: one anonymous mapping, typed views into it.
//!
//! Words are handed out as atomics, to every owner of a reference to the mapping: of 32 bits up to a byte that is chosen when it
//! is made, of 64 bits from there on. So no byte is part of two words of different sizes, which Rust's memory
//! model has no meaning for (std::sync::atomic). What isn't an atomic (messages of a ring, objects of the C
//! library) lies in a mapping that its owner made and shows to nobody.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{SealFlags, fcntl_get_seals, fstat};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap};

use super::failed::named;
#[cfg(not(miri))]
use rustix::mm::{mmap_anonymous, munmap};

/// Bytes in a cache line: what keeps two words from sharing one. 128 on machines whose
/// prefetcher pulls pairs would be more; the ring's first line is measured with 64.
pub const LINE: usize = 64;

/// Bytes in a page of the smallest size.
pub const PAGE: usize = 4096;

/// Where all mappings lie.
static PLACES: Mutex<Vec<Range<usize>>> = Mutex::new(Vec::new());

fn all_places() -> MutexGuard<'static, Vec<Range<usize>>> {
    PLACES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the memory lies that this process may share: all mappings that there are.
pub fn places() -> Vec<Range<usize>> {
    all_places().clone()
}

/// An anonymous MAP_SHARED mapping, zeroed, inherited by forks. Unmapped when dropped.
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    /// Where words of 64 bits begin; before it they have 32.
    wide: usize,
}

// SAFETY: the mapping is memory of the process: any thread may use it, and unmap it.
unsafe impl Send for Mapping {}
// SAFETY: a shared reference gives atomics to everybody. To this crate it also gives places
// (`place`), which are mere pointers: each dereference argues there that nobody else reaches
// it (`ring`, `posix` and `zero_copy_pipe` do so from mappings that they made and keep to themselves).
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` (rounded up to whole pages), reserving address space but no memory. None is
    /// what a sum gave that no number holds: too much, as for the kernel. Its words have 32 bits.
    pub fn new(bytes: impl Into<Option<usize>>) -> io::Result<Mapping> {
        Self::with_wide_words(bytes, usize::MAX)
    }

    /// As [`Mapping::new`], with words of 64 bits from byte `wide` on (a multiple of 8), and words of 32 bits
    /// before it.
    ///
    /// # Panics
    /// If `wide` is not aligned and lies inside.
    pub fn with_wide_words(bytes: impl Into<Option<usize>>, wide: usize) -> io::Result<Mapping> {
        let pages = |bytes: usize| bytes.max(1).checked_next_multiple_of(PAGE);
        let bytes = bytes.into().and_then(pages).ok_or(rustix::io::Errno::NOMEM)?;
        let wide = wide.min(bytes);
        assert!(wide.is_multiple_of(8), "words of 64 bits from byte {wide}");
        let start = mapped(bytes, MapFlags::SHARED | MapFlags::NORESERVE)?;
        Ok(Mapping::noted(start, bytes, wide))
    }

    /// Maps the first `bytes` of a memory file, shared. The file must be sealed against shrinking (memfd_create(2)): a
    /// place beyond the end of a file that was shortened is no memory (SIGBUS, mmap(2)).
    ///
    /// # Errors
    /// A file that is shorter, or isn't sealed; what mmap(2) says.
    pub fn of_file(file: BorrowedFd<'_>, bytes: usize) -> io::Result<Mapping> {
        let whole = fstat(file)?.st_size as usize >= bytes;
        if !whole || !fcntl_get_seals(file)?.contains(SealFlags::SHRINK) {
            return Err(io::Error::other("a memory file that is shorter, or could become so"));
        }
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses the place, so no existing mapping is touched. Behind all of it is the file, which
        // nobody can shorten.
        let start = unsafe { mmap(null_mut(), bytes, prot, MapFlags::SHARED, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave null"))?;
        Ok(Mapping::noted(start, bytes, bytes))
    }

    /// Maps `bytes`, whole huge pages of the default size, shared; they are reserved at once.
    pub fn of_huge_pages(bytes: usize) -> io::Result<Mapping> {
        let start = mapped(bytes, MapFlags::SHARED | MapFlags::HUGETLB)?;
        Ok(Mapping::noted(start, bytes, bytes))
    }

    fn noted(start: NonNull<u8>, bytes: usize, wide: usize) -> Mapping {
        let mapping = Mapping { start, bytes, wide };
        all_places().push(mapping.place_in_memory());
        mapping
    }

    /// Where it lies in this process.
    pub fn place_in_memory(&self) -> Range<usize> {
        let start = self.start.as_ptr() as usize;
        start..start + self.bytes
    }

    /// Length in bytes, whole pages.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Faults in and makes writable the first `bytes`, so that no fault falls into timed code
    /// (madvise(2), MADV_POPULATE_WRITE; before Linux 5.14, by writing to each page what it holds).
    pub fn populate(&self, bytes: usize) -> io::Result<()> {
        let bytes = bytes.min(self.bytes);
        if cfg!(miri) {
            return Ok(()); // It has no page faults.
        }
        // SAFETY: the range lies inside this mapping, and populating changes no contents.
        let populated =
            unsafe { madvise(self.start.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite) };
        match populated {
            Err(Errno::INVAL | Errno::NOSYS) => {
                self.touch(bytes);
                Ok(())
            }
            other => other.map_err(|errno| named("madvise", errno)),
        }
    }

    /// Writes to each page of the first `bytes` what it holds.
    fn touch(&self, bytes: usize) {
        for offset in (0..bytes).step_by(PAGE) {
            // SAFETY: the byte lies inside the mapping, which is writable and outlives the reference; that it may
            // be written by others meanwhile is what an atomic is for.
            let byte = unsafe { AtomicU8::from_ptr(self.start.as_ptr().add(offset)) };
            byte.fetch_or(0, Ordering::Relaxed);
        }
    }

    /// The byte at `offset`, for what lives in a mapping but isn't a word: in one that is shown to
    /// nobody, since [`Mapping::word`] and [`Mapping::words`] reach every byte.
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
    /// If it is not aligned, or lies outside or among the words of 64 bits.
    pub fn word(&self, offset: usize) -> &AtomicU32 {
        let fits = offset.checked_add(4).is_some_and(|end| end <= self.wide);
        assert!(offset.is_multiple_of(4) && fits, "word {offset} outside");
        // SAFETY: inside the mapping, aligned, alive as long as `self`. Atomics allow sharing, and only
        // those of 32 bits are handed out of the bytes before `wide`.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    /// The mapping's 64-bit words, from byte `offset` on.
    ///
    /// # Panics
    /// If `offset` is not aligned, or lies outside or among the words of 32 bits.
    pub fn words(&self, offset: usize) -> &[AtomicU64] {
        let fits = self.wide <= offset && offset <= self.bytes;
        assert!(offset.is_multiple_of(8) && fits, "words {offset} outside");
        // SAFETY: inside the mapping, aligned, alive as long as `self`; AtomicU64 has the
        // layout of u64, and any bytes are a valid value. Only words of 64 bits are handed out of the
        // bytes from `wide` on.
        unsafe {
            let first = self.start.as_ptr().add(offset).cast::<AtomicU64>();
            std::slice::from_raw_parts(first, (self.bytes - offset) / 8)
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let own = self.place_in_memory();
        all_places().retain(|place| *place != own);
        // SAFETY: this object owns the mapping, and no view outlives it (views borrow it or
        // hold an Arc of it).
        unsafe { unmap(self.start, self.bytes) };
    }
}

/// Maps `bytes`, whole pages, zeroed.
#[cfg(not(miri))]
fn mapped(bytes: usize, flags: MapFlags) -> io::Result<NonNull<u8>> {
    let prot = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses the place, so no existing mapping is touched.
    let start = unsafe { mmap_anonymous(null_mut(), bytes, prot, flags)? };
    NonNull::new(start.cast()).ok_or_else(|| io::Error::other("mmap gave null"))
}

/// Unmaps what `mapped` or mmap(2) gave.
///
/// # Safety
/// Nothing refers to it, and nothing will.
#[cfg(not(miri))]
unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: as the caller promises.
    let _ = unsafe { munmap(start.as_ptr().cast(), bytes) };
}

/// Miri maps no shared memory: its threads have the allocator's.
#[cfg(miri)]
fn mapped(bytes: usize, _flags: MapFlags) -> io::Result<NonNull<u8>> {
    let layout = std::alloc::Layout::from_size_align(bytes, PAGE);
    let layout = layout.map_err(|_| rustix::io::Errno::NOMEM)?;
    // SAFETY: `bytes` is at least a page.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    NonNull::new(start).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// As the one above.
///
/// # Safety
/// `start` and `bytes` are `mapped`'s; nothing refers to the memory, and nothing will.
#[cfg(miri)]
unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: as the caller promises; `mapped` made the same layout.
    unsafe {
        let layout = std::alloc::Layout::from_size_align_unchecked(bytes, PAGE);
        std::alloc::dealloc(start.as_ptr(), layout);
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
                Mapping::new(bytes).err().map(|error| error.kind()),
                Some(io::ErrorKind::OutOfMemory)
            );
        }
        assert!(Mapping::new(None).is_err());
        assert_eq!(Mapping::new(0).unwrap().bytes(), PAGE);
        assert_eq!(Mapping::new(PAGE + 1).unwrap().bytes(), 2 * PAGE);
    }

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn only_a_file_that_stays_as_long_is_mapped() {
        use rustix::fs::{MemfdFlags, fcntl_add_seals, ftruncate, memfd_create};
        use std::os::fd::AsFd;
        let file = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&file, PAGE as u64).unwrap();
        assert!(Mapping::of_file(file.as_fd(), PAGE).is_err(), "it could be shortened");
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
        assert!(Mapping::of_file(file.as_fd(), PAGE).is_ok());
        assert!(Mapping::of_file(file.as_fd(), 2 * PAGE).is_err(), "it is shorter");
    }

    /// What wraps round would lie inside again.
    #[test]
    fn nothing_is_handed_out_beyond_the_mapping() {
        let mapping = Mapping::with_wide_words(PAGE, LINE).unwrap();
        assert!(refused(|| _ = mapping.word(PAGE)));
        assert!(refused(|| _ = mapping.word(usize::MAX - 3)));
        assert!(refused(|| _ = mapping.words(usize::MAX - 7)));
        assert!(refused(|| _ = mapping.place(PAGE)));
    }

    fn refused(ask: impl FnOnce()) -> bool {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).is_err()
    }

    /// On both sides of each boundary, and of one that isn't there.
    #[test]
    fn no_byte_is_part_of_words_of_two_sizes() {
        for wide in [0, 8, LINE, PAGE, usize::MAX] {
            let mapping = Mapping::with_wide_words(PAGE, wide).unwrap();
            for offset in [0, 8, LINE - 8, LINE, PAGE - 8] {
                let narrow =
                    [offset, offset + 4].map(|number| !refused(|| _ = mapping.word(number)));
                let words = !refused(|| _ = mapping.words(offset));
                assert_eq!(
                    (narrow, words),
                    ([offset < wide; 2], offset >= wide),
                    "{wide}: {offset}"
                );
            }
        }
        assert!(refused(|| _ = Mapping::with_wide_words(PAGE, 4)));
    }
}
