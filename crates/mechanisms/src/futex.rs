//! `futex`: a counter in shared memory each way; the receiver sleeps on it while it is zero,
//! and the sender wakes it only if it sleeps (futex(2), as glibc's semaphores do). Carries a
//! wake-up, no bytes. Between processes the futex is shared, between threads private.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::thread::futex::Flags;

use super::{
    Carries, Deadline, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, Traits, Visitor,
};
use sys::failed::try_futex;
use sys::parking::{self, Parking};
use sys::shared::{LINE, Mapping, Word};

pub struct Futex;

/// One side: the bell it rings, and the one it hears.
pub struct FutexEnd {
    mapping: Arc<Mapping>,
    rings: Bell,
    hears: Bell,
    flags: Flags,
}

#[derive(Clone)]
struct Bell {
    /// Signals sent and not yet taken.
    tokens: Word,
    /// 1 while the receiver sleeps on it, else 0.
    parked: Word,
}

/// Bytes of a bell: the counter in one line, the parking word in the next.
const BELL: usize = 2 * LINE;

impl Mechanism for Futex {
    const NAME: &'static str = "futex";
    const SUMMARY: &'static str = "a counter in shared memory to sleep on";
    const TRAITS: Traits = Traits::host(Carries::Signal, Framing::Message);

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        try_futex().map_err(OpenError::call("futex"))?;
        let mapping = Mapping::new(2 * BELL).map_err(OpenError::call("mmap"))?;
        let mapping = Arc::new(mapping);
        let flags = parking::flags(spec.same_process);
        let bell =
            |at| Bell { tokens: Word::new(&mapping, at), parked: Word::new(&mapping, at + LINE) };
        let (there, back) = (bell(0), bell(BELL));
        let end = |rings, hears| FutexEnd { mapping: mapping.clone(), rings, hears, flags };
        Ok(visitor.visit(Opened::new(end(there.clone(), back.clone()), end(back, there))))
    }
}

impl Endpoint for FutexEnd {
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        self.mapping.populate(self.mapping.bytes())
    }

    #[inline(always)]
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        self.rings.tokens.fetch_add(1, Ordering::SeqCst);
        Parking::new(&self.rings.parked, self.flags).wake();
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        let tokens = &self.hears.tokens;
        Parking::new(&self.hears.parked, self.flags)
            .wait_for(|| (tokens.load(Ordering::SeqCst) != 0).then_some(()));
        // Only this side takes, so the counter can't have fallen since.
        tokens.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}
