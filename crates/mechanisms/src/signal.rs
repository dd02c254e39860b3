//! `signal`: queued real-time signals, each sent to the partner's very thread and taken with
//! sigwaitinfo(2). Carries a wake-up, no bytes (a signal's value is not used). A sender that
//! finds the partner's queue full (RLIMIT_SIGPENDING) yields until there is room.

use std::io;

use rustix::process::{Resource, getrlimit};

use super::partner_ids::PartnerIds;
use super::{
    Carries, Cause, Deadline, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, Traits,
    Unavailable, Visitor,
};
use sys::signal::{self, Set, Thread};

pub struct Signal;

/// One side, which meets its partner in `start`.
pub struct SignalEnd {
    ids: PartnerIds,
    partner: Thread,
    set: Option<Set>,
}

impl Mechanism for Signal {
    const NAME: &'static str = "signal";
    const SUMMARY: &'static str = "queued real-time signals";
    const TRAITS: Traits = Traits::host(Carries::Signal, Framing::Message);

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        // Each would wait for the other's queue, which never has room (sigqueue(3)).
        if getrlimit(Resource::Sigpending).current == Some(0) {
            return Err(OpenError::Unavailable(Unavailable {
                cause: Cause::Limit,
                reason: "the limit on pending signals is 0".into(),
                remedy: "raise it: ulimit -i 1024".into(),
            }));
        }
        let (first, second) = PartnerIds::pair()?;
        let end = |ids| SignalEnd { ids, partner: Thread::default(), set: None };
        Ok(visitor.visit(Opened::new(end(first), end(second))))
    }
}

impl Endpoint for SignalEnd {
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        // Blocked before the partner learns whom to signal: an unblocked one would kill.
        self.set = Some(Set::block()?);
        self.partner = self.ids.meet()?;
        Ok(())
    }

    #[inline(always)]
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        loop {
            match signal::queue(self.partner) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    rustix::thread::sched_yield();
                }
                result => return result,
            }
        }
    }

    #[inline(always)]
    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        let set = self.set.as_ref().ok_or_else(not_started)?;
        loop {
            match set.wait() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

#[cold]
fn not_started() -> io::Error {
    io::Error::other("signal: received before the partners have met")
}
