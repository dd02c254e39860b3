//! An error of the kernel together with the call that gave it, so that whoever reports it later can name both.

use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;

use rustix::io::Errno;
use rustix::thread::futex;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// Its name, as in its manual page.
    pub call: &'static str,
    /// What it gave.
    pub errno: Errno,
}

impl FailedCall {
    /// The call in an error that [`failed`] made.
    pub fn of(error: &io::Error) -> Option<&FailedCall> {
        error.get_ref()?.downcast_ref()
    }
}

impl fmt::Display for FailedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, io::Error::from(self.errno))
    }
}

impl std::error::Error for FailedCall {}

/// The error `errno` of `call`. What only says that a call has to be made again stays as it is: who asks without
/// waiting gets it millions of times.
#[inline(always)]
pub fn failed(call: &'static str, errno: Errno) -> io::Error {
    match errno {
        Errno::AGAIN | Errno::INTR => errno.into(),
        errno => named(call, errno),
    }
}

/// The same of an error that may not be the kernel's; then it stays as it is.
#[inline(always)]
pub fn failed_in(call: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |error| match Errno::from_io_error(&error) {
        Some(errno) => failed(call, errno),
        None => error,
    }
}

/// The same where EAGAIN is an error like any other: of calls that begin something.
#[cold]
pub fn named(call: &'static str, errno: Errno) -> io::Error {
    io::Error::new(io::Error::from(errno).kind(), FailedCall { call, errno })
}

/// The number of an error of the kernel, whether or not its call is named.
pub fn errno_of(error: &io::Error) -> Option<Errno> {
    Errno::from_io_error(error).or_else(|| FailedCall::of(error).map(|call| call.errno))
}

/// Whether futexes work here (futex(2)): where they are denied, what waits on one looks again and again, and
/// nothing says so. Tried on a word that nobody else has, once: set-up is timed, too.
///
/// # Errors
/// The kernel's refusal.
pub fn try_futex() -> io::Result<()> {
    static REFUSAL: OnceLock<Option<Errno>> = OnceLock::new();
    let refusal = REFUSAL.get_or_init(|| {
        let word = AtomicU32::new(0);
        futex::wake(&word, futex::Flags::PRIVATE, 1).err()
    });
    refusal.map_or(Ok(()), |errno| Err(named("futex", errno)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_call_and_keeps_its_kind() {
        let error = failed("vmsplice", Errno::PERM);
        assert_eq!(error.to_string(), "vmsplice: Operation not permitted (os error 1)");
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(errno_of(&error), Some(Errno::PERM));
        assert_eq!(FailedCall::of(&error).map(|call| call.call), Some("vmsplice"));
    }

    #[test]
    fn what_is_only_to_be_done_again_has_no_name() {
        for errno in [Errno::AGAIN, Errno::INTR] {
            let error = failed("read", errno);
            assert_eq!((Errno::from_io_error(&error), FailedCall::of(&error)), (Some(errno), None));
        }
        let other = failed_in("read")(io::Error::other("the partner closed its end"));
        assert_eq!(other.to_string(), "the partner closed its end");
    }
}
