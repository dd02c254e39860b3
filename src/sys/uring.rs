//! io_uring (io_uring(7)): one operation at a time, submitted and waited for with one
//! io_uring_enter(2). The caller stays in the call until the kernel is done with its buffers.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::AtomicU32;

use io_uring::squeue::Entry;
use io_uring::{IoUring, Probe, opcode, types};

/// Marks the completion of an operation of this ring's own.
const OWN: u64 = 1;
/// Marks a message from another ring.
const MESSAGE: u64 = 2;
/// futex2 flags: a 32-bit word; of one process only (linux/futex.h).
const FUTEX_U32: u32 = 2;
const FUTEX_PRIVATE: u32 = 128;

/// A ring with its queues mapped.
pub struct Ring {
    ring: IoUring,
    /// Messages that came while another completion was awaited.
    messages: u64,
}

impl Ring {
    /// A small ring (io_uring_setup(2)).
    pub fn new() -> io::Result<Ring> {
        Ok(Ring { ring: IoUring::new(8)?, messages: 0 })
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
        let (place, length) = (message.as_ptr(), message.len() as u32);
        let operation = opcode::Send::new(types::Fd(socket.as_raw_fd()), place, length)
            .flags(libc::MSG_NOSIGNAL);
        // SAFETY: `complete` returns when the kernel is done with `message`, which is borrowed
        // until then.
        unsafe { self.complete(operation.build()) }
    }

    /// Receives bytes from a socket; gives how many came, 0 at the end.
    #[inline(always)]
    pub fn recv(&mut self, socket: BorrowedFd<'_>, message: &mut [u8]) -> io::Result<usize> {
        let (place, length) = (message.as_mut_ptr(), message.len() as u32);
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
    /// It returns only after the completion, or when the kernel took no operation at all.
    #[inline(always)]
    unsafe fn complete(&mut self, operation: Entry) -> io::Result<usize> {
        // SAFETY: the caller vouches for the operation's memory. The queue has room: every
        // operation before was submitted and completed.
        unsafe { self.ring.submission().push(&operation.user_data(OWN)) }
            .map_err(|_| io::Error::other("io_uring: the submission queue is full"))?;
        loop {
            self.enter()?;
            if let Some(result) = self.reap() {
                return match result {
                    code if code < 0 => Err(io::Error::from_raw_os_error(-code)),
                    code => Ok(code as usize),
                };
            }
        }
    }

    #[inline(always)]
    fn enter(&mut self) -> io::Result<()> {
        match self.ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
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
