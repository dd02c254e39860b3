//! Pages that a pipe takes by reference instead of by copy: lent from memory (vmsplice(2)) or
//! spliced from a memory file (splice(2)).
//!
//! A lent page must not change before its reader has taken it. [`Pool`] sees to that: it turns
//! through more pages than the pipe holds, so that a page comes round again only when the pipe
//! has let go of it. Every message starts on a page of its own, and so takes as many of the
//! pipe's buffers as it has pages, whatever its length.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::pipe::{IoSliceRaw, SpliceFlags, fcntl_getpipe_size, splice, vmsplice};

use super::claim::Claim;
use super::failed::{failed, failed_in};
use super::shared::{Mapping, PAGE};

/// How pages reach the pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageTransfer {
    /// Lent from mapped memory (vmsplice); `gift` lets the kernel keep them (SPLICE_F_GIFT). vmsplice(2) forbids to write to
    /// gifted pages again, for the sake of the file that they could become a part of; here every reader copies out of
    /// the pipe, so that they become part of none.
    Lend {
        /// Whether the pages are given away.
        gift: bool,
    },
    /// Spliced from a memory file.
    Splice,
}

/// A turning pool of messages for one pipe.
pub struct Pool {
    mapping: Mapping,
    file: Option<OwnedFd>,
    pipe: OwnedFd,
    transfer: PageTransfer,
    /// SPLICE_F_NONBLOCK of who asks again instead of sleeping.
    flags: SpliceFlags,
    /// Where the next message starts, unless it no longer fits before the end: then at zero.
    next: usize,
    room: usize,
    /// Whether a message went in part: some of its pages are in the pipe, and nothing says for how long.
    is_torn: bool,
    claim: Claim,
}

impl Pool {
    /// A pool of messages of at most `room` bytes, each on pages of its own, for `pipe`, whose
    /// capacity must not grow afterwards. `huge` takes huge pages; who `spins` asks again while the pipe is full.
    pub fn new(
        pipe: OwnedFd,
        room: usize,
        transfer: PageTransfer,
        (huge, spins): (bool, bool),
    ) -> io::Result<Pool> {
        let flags = if spins { SpliceFlags::NONBLOCK } else { SpliceFlags::empty() };
        let page = if huge { huge_page_bytes()? } else { PAGE };
        let capacity = fcntl_getpipe_size(&pipe)?;
        let room = room.max(1).checked_next_multiple_of(PAGE).ok_or(Errno::NOMEM)?;
        let bytes = room.checked_mul(2).and_then(|number| number.checked_add(capacity));
        let bytes =
            bytes.and_then(|bytes| bytes.checked_next_multiple_of(page)).ok_or(Errno::NOMEM)?;
        let file = match transfer {
            PageTransfer::Lend { .. } => None,
            PageTransfer::Splice => {
                let flags = if huge { MemfdFlags::HUGETLB } else { MemfdFlags::empty() };
                let flags = flags | MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
                let file = memfd_create("ipcmark", flags)
                    .map_err(|errno| failed("memfd_create", errno))?;
                ftruncate(&file, bytes as u64)?;
                // A mapping of it reaches to its end for good (memfd_create(2)).
                fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::SEAL)?;
                Some(file)
            }
        };
        let mapping = match &file {
            Some(file) => Mapping::of_file(file.as_fd(), bytes)?,
            None if huge => Mapping::of_huge_pages(bytes)?,
            None => Mapping::new(bytes)?,
        };
        let (next, is_torn, claim) = (0, false, Claim::alone()?);
        Ok(Pool { mapping, file, pipe, transfer, flags, next, room, is_torn, claim })
    }

    /// Faults in all pages, in the caller's address space.
    pub fn populate(&self) -> io::Result<()> {
        self.mapping.populate(self.mapping.bytes())
    }

    /// The place of the next message, `length` bytes long: what is written here is sent by the
    /// next [`Pool::hand_over`]. Holds whatever was sent from here before.
    ///
    /// # Panics
    /// If the message is longer than the pool has room for; if another process has used this pool; after
    /// [`Pool::hand_over`] has failed.
    #[inline(always)]
    pub fn place(&mut self, length: usize) -> &mut [u8] {
        self.claim.assert();
        assert!(!self.is_torn, "a message went in part: its pages are still lent");
        assert!(length <= self.room, "message larger than its place");
        // No sum that wraps: both are at most the mapping's length.
        if self.next + length > self.mapping.bytes() {
            self.next = 0;
        }
        let place = self.mapping.place(self.next);
        // SAFETY: the place and `length` bytes behind it lie inside the mapping, which only this
        // pool refers to, in this process alone. The pipe has let go of these pages: every message before was handed
        // over whole, as was just asserted (see `hand_over`). A reader elsewhere only ever copies out of pages, so no
        // reference of Rust's is violated.
        unsafe { std::slice::from_raw_parts_mut(place.as_ptr(), length) }
    }

    /// Hands the message written at [`Pool::place`] to the pipe; waits while that is full.
    ///
    /// When this returns, the pipe holds at most its capacity in pages, counted back from this
    /// message's last. The pool has two messages' room beyond that: one so that the next
    /// message doesn't reach the oldest page held, one for what is skipped at the end.
    ///
    /// # Panics
    /// As [`Pool::place`].
    #[inline(always)]
    pub fn hand_over(&mut self, length: usize) -> io::Result<()> {
        self.claim.assert();
        assert!(!self.is_torn, "a message went in part: its pages are still lent");
        // No sum that wraps, as in `place`.
        let inside = length <= self.room && self.next + length <= self.mapping.bytes();
        assert!(inside, "message larger than its place");
        let start = self.next;
        let mut done = 0;
        while done < length {
            match self.give(start + done, length - done) {
                Ok(0) => return Err(self.torn(io::ErrorKind::WriteZero.into())),
                Ok(taken) => done += taken,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => std::hint::spin_loop(),
                Err(error) => return Err(self.torn(error.into())),
            }
        }
        self.next = (start + length.next_multiple_of(PAGE)) % self.mapping.bytes();
        Ok(())
    }

    /// From now on nothing is lent: pages of the message that failed may be in the pipe.
    #[cold]
    fn torn(&mut self, error: io::Error) -> io::Error {
        self.is_torn = true;
        let call = if self.transfer == PageTransfer::Splice { "splice" } else { "vmsplice" };
        failed_in(call)(error)
    }

    #[inline(always)]
    fn give(&self, at: usize, length: usize) -> rustix::io::Result<usize> {
        match (self.transfer, &self.file) {
            (PageTransfer::Splice, Some(file)) => {
                let mut from = at as u64;
                splice(file, Some(&mut from), &self.pipe, None, length, self.flags)
            }
            (PageTransfer::Lend { gift: true }, _) => {
                self.lend(at, length, self.flags | SpliceFlags::GIFT)
            }
            _ => self.lend(at, length, self.flags),
        }
    }

    #[inline(always)]
    fn lend(&self, at: usize, length: usize, flags: SpliceFlags) -> rustix::io::Result<usize> {
        // SAFETY: `at` and `length` lie inside the mapping (`hand_over` starts at a place, and
        // messages fit places). The kernel holds the pages, and nobody writes to them until the
        // pool has turned once.
        unsafe {
            let bytes =
                std::slice::from_raw_parts(self.mapping.place(at).as_ptr().cast_const(), length);
            vmsplice(&self.pipe, &[IoSliceRaw::from_slice(bytes)], flags)
        }
    }
}

/// Bytes of a huge page here (/proc/meminfo, Hugepagesize).
fn huge_page_bytes() -> io::Result<usize> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Hugepagesize:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    kib.map(|kib| kib << 10).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::pipe;

    /// Nobody can tell for how long: writing there again would change what a reader has yet to take.
    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn pages_of_a_message_that_failed_are_never_lent_again() {
        for transfer in [PageTransfer::Lend { gift: false }, PageTransfer::Splice] {
            let (reader, writer) = pipe().unwrap();
            let mut pool = Pool::new(writer, PAGE, transfer, (false, false)).unwrap();
            pool.place(3).copy_from_slice(b"one");
            pool.hand_over(3).unwrap();
            drop(reader);
            pool.place(3).copy_from_slice(b"two");
            assert_eq!(pool.hand_over(3).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
            let mut refused = |act: fn(&mut Pool)| {
                let act = std::panic::AssertUnwindSafe(|| act(&mut pool));
                std::panic::catch_unwind(act).is_err()
            };
            assert!(refused(|pool| _ = pool.place(3)), "{transfer:?}");
            assert!(refused(|pool| _ = pool.hand_over(3)), "{transfer:?}");
        }
    }
}
