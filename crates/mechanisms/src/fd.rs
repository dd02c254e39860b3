//! An endpoint made of descriptors that carry a byte stream: what `pipe`, `unix-stream` and
//! `tcp` have in common. One message is one write(2) and one read(2) unless the kernel takes
//! or gives less; then the rest follows, and the message is complete when `recv` returns.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{Errno, read, write};

use super::Endpoint;

/// Writes all of `message`.
#[inline(always)]
pub fn write_all(fd: impl AsFd, mut message: &[u8]) -> io::Result<()> {
    while !message.is_empty() {
        match write(&fd, message) {
            Ok(taken) => message = &message[taken..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
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
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The error for an end that nobody holds any more.
#[cold]
pub fn partner_closed() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the partner closed its end")
}

/// An end of two descriptors, one to write and one to read.
pub struct TwoFds {
    /// Where messages leave.
    pub to: OwnedFd,
    /// Where messages arrive.
    pub from: OwnedFd,
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
}

/// An end of one descriptor that reads and writes.
pub struct OneFd(pub OwnedFd);

impl AsFd for OneFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Endpoint for OneFd {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        write_all(&self.0, message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        read_full(&self.0, message)
    }
}
