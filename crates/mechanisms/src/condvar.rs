//! `condvar`: a process-shared mutex, condition variable and count in shared memory, one set
//! each way (pthread_cond_wait(3)). Carries a wake-up, no bytes.

use super::{Carries, Framing, Mechanism, OpenError, OpenSpec, Traits, Visitor, counts};
use sys::posix::Condition;

pub struct Condvar;

impl Mechanism for Condvar {
    const NAME: &'static str = "condvar";
    const SUMMARY: &'static str = "process-shared mutex and condition variable";
    const TRAITS: Traits = Traits::host(Carries::Signal, Framing::Message);

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        Ok(visitor.visit(counts::pair::<Condition>()?))
    }
}
