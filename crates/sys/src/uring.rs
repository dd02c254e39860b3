//! io_uring (io_uring(7)): one operation at a time, submitted and waited for with one
//! io_uring_enter(2). The caller stays in the call until the kernel is done with its buffers: also where
//! that call fails after the operation was submitted. It is then cancelled and waited for, and if even
//! that can't be had, the process ends rather than give memory back that the kernel may write to.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

use io_uring::squeue::Entry;
use io_uring::types::CancelBuilder;
use io_uring::{IoUring, Probe, opcode, types};

use super::claim::Claim;
use super::failed::failed_in;

/// Marks the completion of an operation of this ring's own.
const OWN: u64 = 1;
/// Marks a message from another ring.
const MESSAGE: u64 = 2;
/// futex2 flags: a 32-bit word; of one process only (linux/futex.h).
const FUTEX_U32: u32 = 2;
const FUTEX_PRIVATE: u32 = 128;

/// How long a cancelled operation may take to complete.
const CANCELLED_WITHIN: Duration = Duration::from_secs(5);
/// How often it is looked whether it has.
const LOOKED_AT: Duration = Duration::from_millis(1);

/// How a ring is entered: by the kernel's call, or in tests by one that fails.
pub trait Enter {
    /// Submits what is queued and waits for a completion (io_uring_enter(2)).
    fn enter(&mut self, ring: &IoUring) -> io::Result<usize>;
}

pub struct Kernel;

impl Enter for Kernel {
    #[inline(always)]
    fn enter(&mut self, ring: &IoUring) -> io::Result<usize> {
        ring.submit_and_wait(1).map_err(failed_in("io_uring_enter"))
    }
}

/// A ring with its queues mapped. They stay shared over a fork: one process uses them, the first that does; in
/// another every use panics.
pub struct Ring<E: Enter = Kernel> {
    ring: IoUring,
    enter: E,
    /// Messages that came while another completion was awaited.
    messages: u64,
    /// Whether a call failed: what may be queued still must never be submitted, since what it refers
    /// to is gone. A ring that isn't entered submits nothing.
    broken: bool,
    claim: Claim,
}

impl Ring {
    /// A small ring (io_uring_setup(2)).
    pub fn new() -> io::Result<Ring> {
        Ring::entered_by(Kernel)
    }
}

impl<E: Enter> Ring<E> {
    fn entered_by(enter: E) -> io::Result<Ring<E>> {
        let (ring, claim) = (IoUring::new(8)?, Claim::alone()?);
        Ok(Ring { ring, enter, messages: 0, broken: false, claim })
    }

    /// Whether the kernel knows futexes in rings (Linux 6.7).
    pub fn knows_futexes(&self) -> io::Result<bool> {
        let mut probe = Probe::new();
        self.ring.submitter().register_probe(&mut probe)?;
        Ok(probe.is_supported(opcode::FutexWait::CODE))
    }

    /// Another descriptor of this ring, for a partner to keep.
    pub fn try_clone_fd(&self) -> io::Result<OwnedFd> {
        // SAFETY: the ring owns its descriptor and outlives this borrow of it.
        unsafe { BorrowedFd::borrow_raw(self.ring.as_raw_fd()) }.try_clone_to_owned()
    }

    /// Sends bytes over a socket; gives how many were taken.
    #[inline(always)]
    pub fn send(&mut self, socket: BorrowedFd<'_>, message: &[u8]) -> io::Result<usize> {
        let (place, length) = (message.as_ptr(), at_once(message.len()));
        let operation = opcode::Send::new(types::Fd(socket.as_raw_fd()), place, length)
            .flags(libc::MSG_NOSIGNAL);
        // SAFETY: `complete` returns when the kernel is done with `message`, which is borrowed
        // until then.
        unsafe { self.complete(operation.build()) }
    }

    /// Receives bytes from a socket; gives how many came, 0 at the end.
    #[inline(always)]
    pub fn recv(&mut self, socket: BorrowedFd<'_>, message: &mut [u8]) -> io::Result<usize> {
        let (place, length) = (message.as_mut_ptr(), at_once(message.len()));
        let operation = opcode::Recv::new(types::Fd(socket.as_raw_fd()), place, length);
        // SAFETY: as in `send`, and the borrow is a mutable one.
        unsafe { self.complete(operation.build()) }
    }

    /// Posts a message into another ring's completion queue.
    #[inline(always)]
    pub fn message(&mut self, to: RawFd) -> io::Result<()> {
        let operation = opcode::MsgRingData::new(types::Fd(to), 0, MESSAGE, None);
        // SAFETY: the operation refers to no memory.
        unsafe { self.complete(operation.build()) }.map(drop)
    }

    /// Sleeps until a message from another ring is there, and takes it.
    #[inline(always)]
    pub fn await_message(&mut self) -> io::Result<()> {
        self.claim.assert();
        loop {
            self.reap();
            if self.messages > 0 {
                self.messages -= 1;
                return Ok(());
            }
            self.enter()?;
        }
    }

    /// Sleeps on `word` while it holds `value` (may return early: look again).
    #[inline(always)]
    pub fn futex_wait(&mut self, word: &AtomicU32, value: u32, private: bool) -> io::Result<()> {
        let flags = FUTEX_U32 | if private { FUTEX_PRIVATE } else { 0 };
        let all = u64::from(u32::MAX);
        let operation = opcode::FutexWait::new(word.as_ptr(), u64::from(value), all, flags);
        // SAFETY: the word is borrowed until the kernel is done with it.
        match unsafe { self.complete(operation.build()) } {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(()),
            result => result.map(drop),
        }
    }

    /// Wakes one who sleeps on `word`.
    #[inline(always)]
    pub fn futex_wake(&mut self, word: &AtomicU32, private: bool) -> io::Result<()> {
        let flags = FUTEX_U32 | if private { FUTEX_PRIVATE } else { 0 };
        let operation = opcode::FutexWake::new(word.as_ptr(), 1, u64::from(u32::MAX), flags);
        // SAFETY: as in `futex_wait`.
        unsafe { self.complete(operation.build()) }.map(drop)
    }

    /// Submits one operation and stays until it has completed; gives its result.
    ///
    /// # Safety
    /// What the operation refers to must live, and be borrowed as it needs, until this returns.
    /// It returns only after the completion, or when the kernel took no operation and never will.
    #[inline(always)]
    unsafe fn complete(&mut self, operation: Entry) -> io::Result<usize> {
        self.claim.assert();
        if self.broken {
            return Err(broken());
        }
        // SAFETY: the caller vouches for the operation's memory, which is this process's as the call that
        // submits it is. The queue has room: every operation before was submitted and completed.
        unsafe { self.ring.submission().push(&operation.user_data(OWN)) }
            .map_err(|_| io::Error::other("io_uring: the submission queue is full"))?;
        loop {
            if let Err(error) = self.enter() {
                return self.recover(error);
            }
            if let Some(result) = self.reap() {
                return outcome(result);
            }
        }
    }

    /// Enters the ring; a signal is no error, and one that fails breaks it.
    #[inline(always)]
    fn enter(&mut self) -> io::Result<()> {
        if self.broken {
            return Err(broken());
        }
        match self.enter.enter(&self.ring) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.broken = true;
                Err(failed_in("io_uring_enter")(error))
            }
            _ => Ok(()),
        }
    }

    /// What became of the operation during which a call failed with `error`. Returns only when the
    /// kernel has nothing of it in its hands.
    #[cold]
    fn recover(&mut self, error: io::Error) -> io::Result<usize> {
        if !self.ring.submission().is_empty() {
            return Err(error); // It wasn't taken, and a broken ring isn't entered again.
        }
        let until = Instant::now() + CANCELLED_WITHIN;
        loop {
            match self.reap() {
                Some(code) if code == -libc::ECANCELED => return Err(error),
                Some(result) => return outcome(result),
                None if Instant::now() > until => {
                    // To return would be to let the kernel write to memory that is somebody else's
                    // by then. The owner of this process sees its death, and says so.
                    std::process::abort();
                }
                None => {}
            }
            // Waits for the end of what it cancels (Linux 6.0). Where it is unknown, or there is
            // nothing to cancel any more, the completion comes by itself or not at all.
            let cancel = CancelBuilder::user_data(OWN);
            let within = types::Timespec::new().sec(1);
            let _ = self.ring.submitter().register_sync_cancel(Some(within), cancel);
            // Completions may be handed over by a call only (io_uring_enter(2), GETEVENTS).
            let _ = self.ring.submitter().submit();
            std::thread::sleep(LOOKED_AT);
        }
    }

    /// Takes all completions; counts messages, gives the result of the own operation.
    #[inline(always)]
    fn reap(&mut self) -> Option<i32> {
        let mut own = None;
        for completion in self.ring.completion() {
            match completion.user_data() {
                MESSAGE => self.messages += 1,
                _ => own = Some(completion.result()),
            }
        }
        own
    }
}

/// The result of an operation, by its completion.
#[inline(always)]
fn outcome(result: i32) -> io::Result<usize> {
    match result {
        code if code < 0 => Err(io::Error::from_raw_os_error(-code)),
        code => Ok(code as usize),
    }
}

#[cold]
fn broken() -> io::Error {
    io::Error::other("io_uring: the ring is broken: a call before failed")
}

/// The bytes of a message that one operation takes: the callers go on with the rest.
fn at_once(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    use rustix::io::Errno;

    use super::*;
    use crate::failed::errno_of;

    /// Where the call fails: before the kernel takes anything, or after it has taken all.
    enum Fails {
        Before,
        After,
        Never,
    }

    impl Enter for Fails {
        fn enter(&mut self, ring: &IoUring) -> io::Result<usize> {
            match std::mem::replace(self, Fails::Never) {
                Fails::Before => {}
                Fails::After => drop(ring.submit()?),
                Fails::Never => return ring.submit_and_wait(1),
            }
            Err(io::Error::from_raw_os_error(libc::EBADR))
        }
    }

    fn ring(fails: Fails) -> Option<Ring<Fails>> {
        let ring = Ring::entered_by(fails);
        if let Err(error) = &ring {
            let _ = writeln!(io::stderr(), "skipped: no io_uring here: {error}");
        }
        ring.ok()
    }

    /// A receive that waits for bytes: the receiver of the next ones shows where it was pending.
    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn after_an_error_nothing_is_in_flight() {
        for fails in [Fails::Before, Fails::After] {
            let Some(mut ring) = ring(fails) else { return };
            let (near, mut far) = UnixStream::pair().unwrap();
            let mut message = [0; 4];
            let error = ring.recv(near.as_fd(), &mut message).unwrap_err();
            assert_eq!(errno_of(&error), Some(Errno::BADR));
            assert!(error.to_string().starts_with("io_uring_enter: "), "{error}");
            // Whatever is done with the ring, it is entered no more.
            assert!(
                ring.recv(near.as_fd(), &mut [0; 4]).unwrap_err().to_string().contains("broken")
            );
            assert!(ring.await_message().unwrap_err().to_string().contains("broken"));
            // Of a receive that is in flight nothing is left to read: against hanging then.
            near.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            far.write_all(b"mine").unwrap();
            let mut read = [0; 4];
            (&near).read_exact(&mut read).unwrap();
            assert_eq!((&read, &message), (b"mine", &[0; 4]));
        }
    }

    /// What was done before the call failed has been done: the bytes aren't lost.
    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn what_has_completed_counts_whatever_the_call_says() {
        let Some(mut ring) = ring(Fails::After) else { return };
        let (near, mut far) = UnixStream::pair().unwrap();
        far.write_all(b"here").unwrap();
        let mut message = [0; 4];
        assert_eq!(ring.recv(near.as_fd(), &mut message).unwrap(), 4);
        assert_eq!(&message, b"here");
    }

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn a_ring_that_works_is_not_broken() {
        let Some(mut ring) = ring(Fails::Never) else { return };
        let (near, mut far) = UnixStream::pair().unwrap();
        for _ in 0..20 {
            assert_eq!(ring.send(near.as_fd(), b"there").unwrap(), 5);
            let mut read = [0; 5];
            far.read_exact(&mut read).unwrap();
            assert_eq!(&read, b"there");
        }
    }
}
