//! Endpoints that can be asked without waiting: for workloads that have several messages under way, or wait
//! for one of many partners. What is timed in the other workloads is untouched by it.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::PollFd;

use super::{Endpoint, Mechanism, OpenError, OpenSpec, Opened, Visitor, open};

/// An endpoint that can be asked without waiting.
///
/// A message that went or came in part is finished by the next calls, which have to be given the same
/// message; the endpoint keeps how far it got. Until then the endpoint stays in this way of asking.
pub trait Nonblocking: Endpoint {
    /// Called once, before anything is sent, with the largest message in bytes.
    ///
    /// # Errors
    /// What such messages need, and isn't there.
    fn prepare(&mut self, _message_bytes: usize) -> Result<(), OpenError> {
        Ok(())
    }

    /// Switches this end, untimed: `try_send` and `try_recv` need it on, `send` and `recv` off, as it is
    /// when opened. Its partner may go the other way. Nothing, where both ways are calls of their own.
    ///
    /// # Errors
    /// As those of fcntl(2).
    fn set_nonblocking(&mut self, _on: bool) -> io::Result<()> {
        Ok(())
    }

    /// Hands over as much of `message` as the mechanism takes at once.
    ///
    /// # Errors
    /// As `send`; `message` is shorter than what of it was sent already.
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent>;

    /// Fills as much of `message` as is there.
    ///
    /// # Errors
    /// As `recv`; `message` is shorter than what of it was filled already.
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received>;

    /// Becomes readable when something is there to receive, for poll(2), epoll(7) and io_uring(7); None
    /// where only asking again tells.
    fn ready(&self) -> Option<BorrowedFd<'_>>;

    /// What poll(2) waits for until there may be room to send: that a descriptor becomes writable, or readable
    /// where the partner's word makes the room. None where only asking again tells.
    fn room(&self) -> Option<PollFd<'_>> {
        None
    }

    /// The descriptors to which write(2) gives, and from which read(2) takes, a whole message of up to
    /// `SHARED_MOST` bytes, whichever of many processes calls it; None where the end has more to it.
    fn shared(&self) -> Option<(BorrowedFd<'_>, BorrowedFd<'_>)> {
        None
    }
}

/// The largest message that several writers of a pipe may write without mixing (pipe(7), PIPE_BUF); Unix sockets take
/// some more in one piece.
pub const SHARED_MOST: usize = 4096;

/// What became of a message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Sent {
    /// The mechanism has taken all of it, or the rest of it.
    Whole,
    /// There is no room for all of it now.
    WouldBlock,
}

/// What became of a message to receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Received {
    /// All of it is there.
    Whole,
    /// Not all of it is there now.
    WouldBlock,
}

/// Code for an end that can be asked without waiting, compiled for its type.
pub trait NonblockingCode<'a> {
    type Output;
    /// Called once.
    fn run<E: Nonblocking>(self, end: &'a mut E) -> Self::Output;
}

/// The end behind a table of calls.
pub(crate) struct Table;

impl<'a> NonblockingCode<'a> for Table {
    type Output = &'a mut dyn Nonblocking;

    fn run<E: Nonblocking>(self, end: &'a mut E) -> &'a mut dyn Nonblocking {
        end
    }
}

/// The error for ends that block.
#[cold]
pub fn only_waits() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "it can't be asked without waiting")
}

/// For an end that nothing tells of, where a descriptor is waited for.
pub fn only_asked() -> io::Error {
    let text = "it has no file descriptor that tells of a message: use --server scan, which polls";
    io::Error::new(io::ErrorKind::Unsupported, text)
}

/// Opens the mechanism called `name` for whoever asks both ends without waiting, and hands them to `visitor`.
///
/// # Errors
/// As [`open`]; not applicable where they block.
pub fn open_nonblocking<V: Visitor>(
    name: &str,
    spec: &OpenSpec,
    visitor: V,
) -> Result<V::Output, OpenError> {
    open(name, spec, Prepared { name, spec, visitor })?
}

/// The same of a mechanism that is in no table.
///
/// # Errors
/// As of [`open_nonblocking`].
pub fn open_nonblocking_of<M: Mechanism, V: Visitor>(
    spec: &OpenSpec,
    visitor: V,
) -> Result<V::Output, OpenError> {
    M::open(spec, Prepared { name: M::NAME, spec, visitor })?
}

/// Hands on ends that can be asked without waiting.
struct Prepared<'a, V> {
    name: &'a str,
    spec: &'a OpenSpec,
    visitor: V,
}

impl<V: Visitor> Visitor for Prepared<'_, V> {
    type Output = Result<V::Output, OpenError>;

    fn visit<E: Endpoint + 'static>(self, mut opened: Opened<E>) -> Self::Output {
        for end in [&mut opened.initiator, &mut opened.responder] {
            let Some(end) = end.as_nonblocking() else {
                return Err(OpenError::NotApplicable(format!(
                    "{} blocks: it has no call that sends or receives without waiting",
                    self.name
                )));
            };
            end.prepare(self.spec.message_bytes)?;
        }
        Ok(self.visitor.visit(opened))
    }
}

#[cfg(test)]
mod tests;
