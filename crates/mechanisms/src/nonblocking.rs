//! Endpoints that can be asked without waiting: for workloads that have several messages under way, or wait
//! for one of many partners. What is timed in the other workloads is untouched by it.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::PollFd;

use super::{Endpoint, Opened, Visitor};

/// An endpoint that can be asked without waiting.
///
/// A message that went or came in part is finished by the next calls, which have to be given the same
/// message; the endpoint keeps how far it got. Until then the endpoint stays in this way of asking.
pub trait Nonblocking: Endpoint {
    /// Switches this end, untimed: `try_send` and `try_recv` need it on, `send` and `recv` off, as it is
    /// when opened. Its partner may go the other way.
    ///
    /// # Errors
    /// As those of fcntl(2).
    fn set_nonblocking(&mut self, on: bool) -> io::Result<()>;

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
    fn room(&self) -> Option<PollFd<'_>>;

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

/// Code for ends of one mechanism, whichever it is, if they can be asked without waiting.
pub trait WithNonblocking {
    /// What comes of it.
    type Output;
    /// Called once, with the ends.
    fn run<E: Nonblocking>(self, ends: &mut [&mut E]) -> Self::Output;
}

/// The error for ends that can only wait.
#[cold]
pub fn only_waits() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "it can't be asked without waiting")
}

/// Code that is generic over the endpoints of whichever mechanism was asked for, if those can be asked
/// without waiting.
pub trait NonblockingVisitor {
    /// What the visit yields.
    type Output;
    /// Called once, with both ends, switched off.
    fn visit<E: Nonblocking + 'static>(self, opened: Opened<E>) -> Self::Output;
}

/// A visitor for whom it is enough that the endpoints are endpoints: so that a mechanism opens both in
/// one way.
pub struct Any<V>(pub V);

impl<V: Visitor> NonblockingVisitor for Any<V> {
    type Output = V::Output;

    fn visit<E: Nonblocking + 'static>(self, opened: Opened<E>) -> V::Output {
        self.0.visit(opened)
    }
}

#[cfg(test)]
mod tests;
