//! An endpoint made of descriptors that carry a byte stream: what `pipe`, `unix-stream` and
//! `tcp` have in common. One message is one write(2) and one read(2) unless the kernel takes
//! or gives less; then the rest follows, and the message is complete when `recv` returns.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, read, write};
use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;

use sys::failed::failed;

use super::{Endpoint, Nonblocking, NonblockingCode, Received, Sent};

/// Writes all of `message`.
#[inline(always)]
pub fn write_all(fd: impl AsFd, mut message: &[u8]) -> io::Result<()> {
    while !message.is_empty() {
        match write(&fd, message) {
            Ok(taken) => message = &message[taken..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("write", error)),
        }
    }
    Ok(())
}

/// Reads until `message` is full.
#[inline(always)]
pub fn read_full(fd: impl AsFd, message: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < message.len() {
        match read(&fd, &mut message[filled..]) {
            Ok(0) => return Err(partner_closed()),
            Ok(given) => filled += given,
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("read", error)),
        }
    }
    Ok(())
}

/// The error for an end that is closed.
#[cold]
pub fn partner_closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the partner closed its end")
}

/// Bytes of the messages under way, where one went or came in part.
#[derive(Default)]
struct Partly {
    sent: usize,
    received: usize,
}

/// Writes what `fd` takes at once of `message`, behind the `sent` bytes that it took before.
fn try_write(fd: impl AsFd, message: &[u8], sent: &mut usize) -> io::Result<Sent> {
    loop {
        let rest = message.get(*sent..).ok_or_else(|| another("send", message.len(), *sent))?;
        if rest.is_empty() {
            *sent = 0;
            return Ok(Sent::Whole);
        }
        match write(&fd, rest) {
            Ok(taken) => *sent += taken,
            Err(Errno::AGAIN) => return Ok(Sent::WouldBlock),
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("write", error)),
        }
    }
}

/// Reads what is there of `message`, behind the `received` bytes that came before.
pub fn try_read(fd: impl AsFd, message: &mut [u8], received: &mut usize) -> io::Result<Received> {
    loop {
        let length = message.len();
        let rest = message.get_mut(*received..);
        let rest = rest.ok_or_else(|| another("recv", length, *received))?;
        if rest.is_empty() {
            *received = 0;
            return Ok(Received::Whole);
        }
        match read(&fd, rest) {
            Ok(0) => return Err(partner_closed()),
            Ok(given) => *received += given,
            Err(Errno::AGAIN) => return Ok(Received::WouldBlock),
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("read", error)),
        }
    }
}

/// The error for a message that can't be the one of which `done` bytes went already.
#[cold]
pub fn another(call: &str, length: usize, done: usize) -> io::Error {
    let text = format!(
        "try_{call}: a message of {length} bytes, but {done} bytes of the previous one are already sent"
    );
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// Sets or clears O_NONBLOCK of what `fd` refers to (fcntl(2)): it has to be this end's alone.
pub(crate) fn set_nonblocking(fd: impl AsFd, on: bool) -> io::Result<()> {
    let changed = fcntl_getfl(&fd).and_then(|mut flags| {
        flags.set(OFlags::NONBLOCK, on);
        fcntl_setfl(&fd, flags)
    });
    changed.map_err(|error| failed("fcntl O_NONBLOCK", error))
}

/// An end of two descriptors, one to write and one to read.
pub struct TwoFds {
    /// Where messages leave.
    pub to: OwnedFd,
    /// Where messages arrive.
    pub from: OwnedFd,
    partly: Partly,
}

impl TwoFds {
    /// An end that writes to one and reads from the other.
    pub fn new(to: OwnedFd, from: OwnedFd) -> TwoFds {
        TwoFds { to, from, partly: Partly::default() }
    }
}

impl Endpoint for TwoFds {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        write_all(&self.to, message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        read_full(&self.from, message)
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }
}

impl Nonblocking for TwoFds {
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        set_nonblocking(&self.to, on)?;
        set_nonblocking(&self.from, on)
    }

    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        try_write(&self.to, message, &mut self.partly.sent)
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        try_read(&self.from, message, &mut self.partly.received)
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        Some(self.from.as_fd())
    }

    fn room(&self) -> Option<PollFd<'_>> {
        Some(PollFd::new(&self.to, PollFlags::OUT))
    }

    fn shared(&self) -> Option<(BorrowedFd<'_>, BorrowedFd<'_>)> {
        Some((self.to.as_fd(), self.from.as_fd()))
    }
}

/// An end of one descriptor that reads and writes.
pub struct OneFd {
    fd: OwnedFd,
    partly: Partly,
}

impl OneFd {
    /// An end that reads and writes it.
    pub fn new(fd: impl Into<OwnedFd>) -> OneFd {
        OneFd { fd: fd.into(), partly: Partly::default() }
    }
}

impl AsFd for OneFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Endpoint for OneFd {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        write_all(&self.fd, message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        read_full(&self.fd, message)
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }
}

impl Nonblocking for OneFd {
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        set_nonblocking(&self.fd, on)
    }

    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        try_write(&self.fd, message, &mut self.partly.sent)
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        try_read(&self.fd, message, &mut self.partly.received)
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        Some(self.fd.as_fd())
    }

    fn room(&self) -> Option<PollFd<'_>> {
        Some(PollFd::new(&self.fd, PollFlags::OUT))
    }

    /// A sender over TCP may have to wait for memory in the middle of a message, and lets others in meanwhile
    /// (tcp_sendmsg_locked); a Unix socket takes it in one piece (unix_stream_sendmsg).
    fn shared(&self) -> Option<(BorrowedFd<'_>, BorrowedFd<'_>)> {
        let unix = socket_domain(&self.fd) == Ok(AddressFamily::UNIX);
        unix.then(|| (self.fd.as_fd(), self.fd.as_fd()))
    }
}
