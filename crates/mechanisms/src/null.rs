//! `noop`: does nothing. What it measures is the harness: the clock and the loop, and of an open loop its generators.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd};

use super::{
    Carries, Endpoint, Framing, Mechanism, Nonblocking, NonblockingCode, OpenError, OpenSpec,
    Opened, Received, Sent, Traits, Visitor,
};

/// The mechanism's row.
pub struct Null;

/// An end that carries nothing.
pub struct NullEnd {
    /// Answers that were not received yet: who asks is answered at once. Who answers is always asked.
    owed: u64,
    /// A descriptor that is always readable, and writable: who waits for it goes through a wait that is none. None of an
    /// end that nobody asks without waiting.
    always: Option<OwnedFd>,
}

impl Mechanism for Null {
    // Not `null`: to programs that read tables that word is a missing value.
    const NAME: &'static str = "noop";
    const ALIASES: &'static [&'static str] = &["null"];
    const SUMMARY: &'static str = "nothing at all: the harness's own cost";
    const TRAITS: Traits = Traits::host(Carries::Nothing, Framing::Message);

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let end = |owed| NullEnd { owed, always: None };
        Ok(visitor.visit(Opened::new(end(0), end(u64::MAX))))
    }
}

impl Endpoint for NullEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        std::hint::black_box(message);
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        std::hint::black_box(message);
        Ok(())
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }
}

impl Nonblocking for NullEnd {
    fn prepare(&mut self, _message_bytes: usize) -> Result<(), OpenError> {
        let always = eventfd(1, EventfdFlags::CLOEXEC).map_err(OpenError::call("eventfd2"))?;
        self.always = Some(always);
        Ok(())
    }

    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        self.owed = self.owed.saturating_add(1);
        self.send(message).map(|()| Sent::Whole)
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        let Some(owed) = self.owed.checked_sub(1) else { return Ok(Received::WouldBlock) };
        self.owed = owed;
        self.recv(message).map(|()| Received::Whole)
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        self.always.as_ref().map(AsFd::as_fd)
    }

    fn room(&self) -> Option<PollFd<'_>> {
        self.ready().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::OUT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::open_nonblocking;

    #[test]
    fn null_answers_what_it_was_asked_and_asks_always() {
        struct Nothing;
        impl Visitor for Nothing {
            type Output = ();
            fn visit<E: Endpoint + 'static>(self, mut opened: Opened<E>) {
                let near = opened.initiator.as_nonblocking().unwrap();
                let far = opened.responder.as_nonblocking().unwrap();
                let into = &mut [0; 8];
                assert_eq!(near.try_recv(into).unwrap(), Received::WouldBlock, "nothing was asked");
                for asked in [1, 3] {
                    (0..asked)
                        .for_each(|_| assert_eq!(near.try_send(&[1; 8]).unwrap(), Sent::Whole));
                    for _ in 0..asked {
                        assert_eq!(near.try_recv(into).unwrap(), Received::Whole);
                    }
                    assert_eq!(near.try_recv(into).unwrap(), Received::WouldBlock);
                }
                for _ in 0..3 {
                    assert_eq!(far.try_recv(into).unwrap(), Received::Whole, "always asked");
                    assert_eq!(far.try_send(&[2; 8]).unwrap(), Sent::Whole);
                }
                for end in [near, far] {
                    let ready = end.ready().expect("a descriptor");
                    let both = [
                        PollFd::from_borrowed_fd(ready, PollFlags::IN),
                        end.room().expect("a descriptor"),
                    ];
                    assert_eq!(
                        rustix::event::poll(&mut both.clone(), Some(&Default::default())).unwrap(),
                        2
                    );
                }
            }
        }
        let options = crate::Variant::parse("null").unwrap().options;
        let spec = OpenSpec { options, message_bytes: 8, same_process: true, seed: 1 };
        assert!(open_nonblocking(Null::NAME, &spec, Nothing).is_ok());
    }
}
