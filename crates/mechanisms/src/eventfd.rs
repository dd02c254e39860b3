//! `eventfd`: two counters in the kernel, one each way (eventfd(2)). Carries a wake-up, no
//! bytes; EFD_SEMAPHORE makes each read take one, so that no wake-up is merged with another.

use std::io;

use rustix::event::{EventfdFlags, eventfd};

use super::fd::{TwoFds, read_full, write_all};
use super::{Carries, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, Traits, Visitor};

/// The mechanism's row.
pub struct Eventfd;

/// The counter this end adds to, and the one it takes from.
pub struct End(TwoFds);

impl End {
    /// The descriptors behind this end.
    pub fn fds(&self) -> &TwoFds {
        &self.0
    }
}

impl Mechanism for Eventfd {
    const NAME: &'static str = "eventfd";
    const SUMMARY: &'static str = "two kernel counters";
    const TRAITS: Traits = Traits::host(Carries::Signal, Framing::Message);

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let failed = OpenError::call("eventfd2", "raise the limit on open files (ulimit -n)");
        let counter = || eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE);
        let (there, back) = (counter().map_err(&failed)?, counter().map_err(&failed)?);
        let there_again = there.try_clone().map_err(OpenError::call("dup", "raise ulimit -n"))?;
        let back_again = back.try_clone().map_err(OpenError::call("dup", "raise ulimit -n"))?;
        Ok(visitor.visit(Opened::new(
            End(TwoFds { to: there, from: back }),
            End(TwoFds { to: back_again, from: there_again }),
        )))
    }
}

impl Endpoint for End {
    #[inline(always)]
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        write_all(&self.0.to, &1u64.to_ne_bytes())
    }

    #[inline(always)]
    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        read_full(&self.0.from, &mut [0; 8])
    }
}
