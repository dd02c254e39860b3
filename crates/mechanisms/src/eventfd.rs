//! `eventfd`: two counters in the kernel, one each way (eventfd(2)). Carries a wake-up, no
//! bytes; EFD_SEMAPHORE makes each read take one, so that no wake-up is merged with another.

use std::io::{self, IoSliceMut};
use std::os::fd::BorrowedFd;

use rustix::event::{EventfdFlags, PollFd, eventfd};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

use super::fd::{TwoFds, read_full, write_all};
use super::socket::wrong_length;
use super::{
    Carries, Endpoint, Framing, Mechanism, Nonblocking, NonblockingCode, OpenError, OpenSpec,
    Opened, Received, Sent, Traits, Visitor,
};

use sys::failed::failed;

pub struct Eventfd;

/// What has no positions is read at this one (preadv2(2)).
const AT_HAND: u64 = u64::MAX;

/// The counter this end adds to, and the one it takes from.
pub struct EventfdEnd(TwoFds);

impl Mechanism for Eventfd {
    const NAME: &'static str = "eventfd";
    const SUMMARY: &'static str = "two kernel counters";
    const TRAITS: Traits = Traits::host(Carries::Signal, Framing::Message);

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let failed = OpenError::call("eventfd2");
        let counter = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE);
        let (there, back) = (counter().map_err(&failed)?, counter().map_err(&failed)?);
        let there_again = there.try_clone().map_err(OpenError::call("dup"))?;
        let back_again = back.try_clone().map_err(OpenError::call("dup"))?;
        Ok(visitor.visit(Opened::new(
            EventfdEnd(TwoFds::new(there, back)),
            EventfdEnd(TwoFds::new(back_again, there_again)),
        )))
    }
}

impl Endpoint for EventfdEnd {
    #[inline(always)]
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        write_all(&self.0.to, &1u64.to_ne_bytes())
    }

    #[inline(always)]
    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        read_full(&self.0.from, &mut [0; 8])
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }
}

/// Each counter is one description that both ends hold: O_NONBLOCK would be the partner's too.
impl Nonblocking for EventfdEnd {
    /// Would wait only at 2^64 - 1 wake-ups that nobody took.
    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        self.send(message).map(|()| Sent::Whole)
    }

    #[inline(always)]
    fn try_recv(&mut self, _message: &mut [u8]) -> io::Result<Received> {
        loop {
            let mut count = [0; 8];
            let into = &mut [IoSliceMut::new(&mut count)];
            match preadv2(&self.0.from, into, AT_HAND, ReadWriteFlags::NOWAIT) {
                Ok(8) => return Ok(Received::Whole),
                Ok(length) => return Err(wrong_length("preadv2", length, 8)),
                Err(Errno::AGAIN) => return Ok(Received::WouldBlock),
                Err(Errno::INTR) => {}
                Err(error) => return Err(failed("preadv2", error)),
            }
        }
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        self.0.ready()
    }

    fn room(&self) -> Option<PollFd<'_>> {
        self.0.room()
    }
}
