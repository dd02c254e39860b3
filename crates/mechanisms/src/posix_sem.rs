//! `posix-sem`: two process-shared semaphores in shared memory, one each way
//! (sem_overview(7)). Carries a wake-up, no bytes.

use super::{Carries, Framing, Mechanism, OpenError, OpenSpec, Traits, Visitor, counts};
use sys::posix::Semaphore;

pub struct PosixSem;

impl Mechanism for PosixSem {
    const NAME: &'static str = "posix-sem";
    const SUMMARY: &'static str = "two semaphores in shared memory";
    const TRAITS: Traits = Traits::host(Carries::Signal, Framing::Message);

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        Ok(visitor.visit(counts::pair::<Semaphore>()?))
    }
}
