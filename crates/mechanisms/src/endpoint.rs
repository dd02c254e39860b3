//! One side of an open mechanism: what is timed, and what little its launch asks of it beside that.
//! skeleton.rs shows a whole mechanism with every hook.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::engine::Engine;
use super::nonblocking::{Nonblocking, NonblockingCode, Table};
use model::mechanism::Stats;

/// One side of an open mechanism. `send` and `recv` are what is timed.
pub trait Endpoint: Send {
    /// Called once in the worker, after the fork and pinning, before anything is timed: the
    /// place to fault in pages, and to meet a partner whose id is needed. Both sides start
    /// beside each other: one may wait for the other.
    ///
    /// An endpoint with time-outs of its own keeps the deadline and gives up before it, so that its
    /// error is reported instead of the supervisor's.
    ///
    /// # Errors
    /// What can't be had, and why: the launch fails with it.
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        Ok(())
    }

    /// Hands one message over. Returns when the mechanism has taken all of it.
    ///
    /// # Errors
    /// As those of the calls that it makes.
    fn send(&mut self, message: &[u8]) -> io::Result<()>;

    /// Fills `message` with the next message; blocks until it is complete.
    ///
    /// # Errors
    /// As those of the calls that it makes; the partner is gone; the message has another length.
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()>;

    /// Sends a message that `fill` writes. Where the mechanism lends the memory that it will hand
    /// over, the message is written there, in place; elsewhere into `message`, and copied from
    /// there: a copy is neither hidden nor forced.
    ///
    /// # Errors
    /// As `send`.
    #[inline(always)]
    fn send_with(&mut self, message: &mut [u8], fill: impl FnOnce(&mut [u8])) -> io::Result<()>
    where
        Self: Sized,
    {
        fill(message);
        self.send(message)
    }

    /// Receives a message and shows it to `look`: in place where the mechanism lends the memory
    /// it arrived in, elsewhere in `message`.
    ///
    /// # Errors
    /// As `recv`, and those of `look`.
    #[inline(always)]
    fn recv_with(
        &mut self,
        message: &mut [u8],
        look: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<()>
    where
        Self: Sized,
    {
        self.recv(message)?;
        look(message)
    }

    /// The process that makes the timed loops itself, where this end is one.
    fn engine(&mut self) -> Option<&mut Engine> {
        None
    }

    /// Runs `code` with this end in its own type, where it can be asked without waiting: `Some(code.run(self))` of what is
    /// [`Nonblocking`].
    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, _code: C) -> Option<C::Output>
    where
        Self: Sized,
    {
        None
    }

    /// The same behind a table of calls: for loops of which such a call is no part.
    fn as_nonblocking(&mut self) -> Option<&mut dyn Nonblocking>
    where
        Self: Sized,
    {
        self.nonblocking(Table)
    }

    /// Called before a batch of messages with their purpose. Only what loses messages on purpose has to
    /// know: its launch's own words must arrive.
    ///
    /// # Errors
    /// As `send`.
    #[inline(always)]
    fn enter(&mut self, _phase: Phase) -> io::Result<()> {
        Ok(())
    }

    /// Requests may be so far apart, as in an open loop of a low rate. Only what takes silence for a loss has to
    /// know: it bears so much more of it.
    ///
    /// # Errors
    /// As those of the calls that it makes.
    fn bear_pauses(&mut self, _pause: Duration) -> io::Result<()> {
        Ok(())
    }

    /// Sends what is still owed to the partner, after the last message.
    ///
    /// # Errors
    /// As `send`. The partner may be gone already.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// What it has counted since it was opened; `None` where nothing can be lost, and nothing is counted.
    fn stats(&self) -> Option<Stats> {
        None
    }
}

/// Any endpoint, behind a table of calls: what a workload has that is compiled once for all mechanisms.
pub struct Erased<'a>(&'a mut dyn Callable);

impl<'a> Erased<'a> {
    /// `end`, whatever it is.
    pub fn new<E: Endpoint>(end: &'a mut E) -> Erased<'a> {
        Erased(end)
    }
}

/// [`Endpoint`] with calls that fit a table.
trait Callable: Endpoint {
    fn send_by(&mut self, message: &mut [u8], fill: &mut dyn FnMut(&mut [u8])) -> io::Result<()>;
    fn recv_by(
        &mut self,
        message: &mut [u8],
        look: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()>;
    fn nonblocking_by(&mut self) -> Option<&mut dyn Nonblocking>;
}

impl<E: Endpoint> Callable for E {
    fn send_by(&mut self, message: &mut [u8], fill: &mut dyn FnMut(&mut [u8])) -> io::Result<()> {
        self.send_with(message, fill)
    }

    fn recv_by(
        &mut self,
        message: &mut [u8],
        look: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.recv_with(message, look)
    }

    fn nonblocking_by(&mut self) -> Option<&mut dyn Nonblocking> {
        self.as_nonblocking()
    }
}

impl Endpoint for Erased<'_> {
    fn start(&mut self, deadline: &Deadline) -> io::Result<()> {
        self.0.start(deadline)
    }

    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        self.0.send(message)
    }

    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        self.0.recv(message)
    }

    fn send_with(&mut self, message: &mut [u8], fill: impl FnOnce(&mut [u8])) -> io::Result<()> {
        let mut fill = Some(fill);
        self.0.send_by(message, &mut |message| {
            if let Some(fill) = fill.take() {
                fill(message);
            }
        })
    }

    fn recv_with(
        &mut self,
        message: &mut [u8],
        look: impl FnOnce(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut look = Some(look);
        self.0.recv_by(message, &mut |message| look.take().map_or(Ok(()), |look| look(message)))
    }

    fn as_nonblocking(&mut self) -> Option<&mut dyn Nonblocking> {
        self.0.nonblocking_by()
    }

    fn enter(&mut self, phase: Phase) -> io::Result<()> {
        self.0.enter(phase)
    }

    fn bear_pauses(&mut self, pause: Duration) -> io::Result<()> {
        self.0.bear_pauses(pause)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.finish()
    }

    fn stats(&self) -> Option<Stats> {
        self.0.stats()
    }
}

/// What the messages that follow are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The launch's own words and its check before timing: nothing is lost on purpose, nothing counted.
    Untimed,
    /// What was asked for, with the losses that were asked for. An endpoint begins in it.
    Timed,
    /// None for a while, in the middle of what is timed: what is owed to the partner costs nothing now.
    Paused,
}

/// When a launch ends. It is counted from the word to go, which comes after every endpoint has started:
/// before that nobody knows it. A launch that is timed in turns has a later one with each. All clones share it.
#[derive(Clone, Debug, Default)]
pub struct Deadline(Arc<Mutex<Option<Instant>>>);

impl Deadline {
    /// One that is known from the beginning.
    pub fn at(instant: Instant) -> Deadline {
        Deadline(Arc::new(Mutex::new(Some(instant))))
    }

    /// The word to go has come: the launch ends at `instant`. The last call counts.
    pub fn set(&self, instant: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(instant);
    }

    /// When the launch ends, if that is known.
    pub fn get(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
