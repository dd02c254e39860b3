//! Queued real-time signals between two threads (signal(7), sigqueue(3)), and a while without any.

use rustix::io::Errno;
use std::io;

use super::failed::named;

use super::{checked, last_error};

/// The signal used: the C library keeps the first ones to itself.
fn number() -> i32 {
    libc::SIGRTMIN() + 3
}

/// A thread, as the kernel addresses it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thread {
    pub process: i32,
    /// Its own id.
    pub thread: i32,
}

impl Thread {
    pub fn current() -> Thread {
        let process = std::process::id() as i32;
        Thread { process, thread: rustix::thread::gettid().as_raw_nonzero().get() }
    }
}

/// The set that holds the signal.
#[derive(Clone, Copy)]
pub struct Set(libc::sigset_t);

impl Set {
    /// Blocks the signal in the calling thread, so that it queues until it is taken.
    pub fn block() -> io::Result<Set> {
        // SAFETY: all-zero bytes are a valid sigset_t, which the calls fill and read.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, number());
            match libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()) {
                0 => Ok(Set(set)),
                error => Err(named("pthread_sigmask", Errno::from_raw_os_error(error))),
            }
        }
    }

    /// Sleeps until a signal of the set is there, and takes it (sigwaitinfo(2)).
    #[inline(always)]
    pub fn wait(&self) -> io::Result<()> {
        // SAFETY: the set lives until the call returns; no information is asked for.
        match unsafe { libc::sigwaitinfo(&self.0, std::ptr::null_mut()) } {
            -1 => Err(last_error("rt_sigtimedwait")),
            _ => Ok(()),
        }
    }
}

/// While it lives, signals to the calling thread wait; but for SIGKILL and SIGSTOP, which can't be blocked. It
/// must be dropped by the thread that made it.
#[must_use]
pub struct Deferred {
    /// What was blocked before.
    before: libc::sigset_t,
    /// Masks belong to threads: not `Send`.
    of_this_thread: std::marker::PhantomData<*const ()>,
}

impl Deferred {
    /// Lets signals wait from now on.
    ///
    /// # Errors
    /// What pthread_sigmask(3) answers.
    pub fn begin() -> io::Result<Deferred> {
        // SAFETY: all-zero bytes are a valid sigset_t; the calls fill `all`, then read it and fill `before`,
        // which both live until they return.
        unsafe {
            let (mut all, mut before): (libc::sigset_t, libc::sigset_t) = std::mem::zeroed();
            libc::sigfillset(&mut all);
            match libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) {
                0 => Ok(Deferred { before, of_this_thread: std::marker::PhantomData }),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }
}

impl Drop for Deferred {
    fn drop(&mut self) {
        // SAFETY: `before` is what the kernel filled; nothing is written back.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// What rt_tgsigqueueinfo(2) reads of a siginfo_t: the kernel's layout on 64-bit machines.
#[repr(C)]
struct Info {
    signal: i32,
    error: i32,
    code: i32,
    padding: i32,
    process: i32,
    user: u32,
    value: u64,
    rest: [u64; 12],
}

const _: () = assert!(size_of::<Info>() == size_of::<libc::siginfo_t>());

/// Queues the signal for `to`; EAGAIN when its queue is full (RLIMIT_SIGPENDING).
#[inline(always)]
pub fn queue(to: Thread) -> io::Result<()> {
    let info = Info {
        signal: number(),
        error: 0,
        code: libc::SI_QUEUE,
        padding: 0,
        process: to.process,
        user: 0,
        value: 1,
        rest: [0; 12],
    };
    // SAFETY: `info` has the size and layout of a siginfo_t and lives until the call returns.
    let code = unsafe {
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, to.process, to.thread, info.signal, &info)
    };
    checked("rt_tgsigqueueinfo", code).map(drop)
}
