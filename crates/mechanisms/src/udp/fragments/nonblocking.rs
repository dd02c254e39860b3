//! Fragments by calls that don't wait (O_NONBLOCK). A message that went or came in part is gone on with by the
//! next call; what arrives while the other way is asked is kept for its turn (`early`). Both ends may send at
//! once: each goes by credits alone, as a bare end that is switched.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::{PollFd, PollFlags};

use super::{FragmentsEnd, HEADER};
use crate::fd::another;
use crate::udp::nonblocking::check_room;
use crate::{Nonblocking, OpenError, Received, Sent};

impl<const SEND: usize, const TAKE: usize> Nonblocking for FragmentsEnd<SEND, TAKE> {
    fn prepare(&mut self, _message_bytes: usize) -> Result<(), OpenError> {
        check_room(&self.socket, self.payload + HEADER)
    }

    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        self.takes_turns &= !on;
        self.socket.set_nonblocking(on)
    }

    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        let count = self.fragments(message.len());
        self.check_begun("send", message.len(), self.partly.sent)?;
        while self.partly.sent < count {
            // One look for a credit: a message that comes instead is quicker received to its place.
            if self.is_full() {
                let came = self.take(&mut [], 0)?;
                if came.is_none() {
                    self.ask_for_credits()?;
                }
                if self.is_full() {
                    return Ok(Sent::WouldBlock);
                }
            }
            match self.give_now(message, self.partly.sent) {
                Ok(taken) => self.partly.sent += taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Sent::WouldBlock);
                }
                Err(error) => return Err(error),
            }
        }
        self.partly.sent = 0;
        self.outgoing += 1;
        Ok(Sent::Whole)
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        let count = self.fragments(message.len());
        self.check_begun("recv", message.len(), self.partly.received)?;
        loop {
            if !self.early.is_empty() {
                self.partly.received = self.catch_up(message, self.partly.received)?;
            }
            match self.give_credit() {
                // What the socket has no room for is said by a later call.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                given => given?,
            }
            if self.partly.received == count {
                break;
            }
            match self.take(message, self.partly.received)? {
                Some(taken) => self.partly.received += taken,
                None => return Ok(Received::WouldBlock),
            }
        }
        self.partly.received = 0;
        self.incoming += 1;
        Ok(Received::Whole)
    }

    /// What was kept for its turn makes no socket readable.
    fn ready(&self) -> Option<BorrowedFd<'_>> {
        self.early.is_empty().then(|| self.socket.as_fd())
    }

    fn room(&self) -> Option<PollFd<'_>> {
        let flags = if self.is_full() { PollFlags::IN } else { PollFlags::OUT };
        Some(PollFd::new(&self.socket, flags))
    }
}

impl<const SEND: usize, const TAKE: usize> FragmentsEnd<SEND, TAKE> {
    /// Refuses a message too short to be the one of which `done` fragments went already, and not its last.
    #[inline(always)]
    fn check_begun(&self, call: &str, length: usize, done: u32) -> io::Result<()> {
        if done > 0 && done >= self.fragments(length) {
            return Err(another(call, length, done as usize * self.payload));
        }
        Ok(())
    }
}
