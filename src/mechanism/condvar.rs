//! `condvar`: a process-shared mutex, condition variable and count in shared memory, one set
//! each way (pthread_cond_wait(3)). Carries a wake-up, no bytes.

use std::io;
use std::sync::Arc;

use super::{Carries, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, Traits, Visitor};
use crate::sys::posix::Condition;
use crate::sys::shared::{LINE, Mapping};

/// The mechanism's row.
pub struct Condvar;

/// One side: the count it raises, and the one it waits for.
pub struct End {
    mapping: Arc<Mapping>,
    posts: Condition,
    waits: Condition,
}

impl Mechanism for Condvar {
    const NAME: &'static str = "condvar";
    const SUMMARY: &'static str = "process-shared mutex and condition variable";
    const TRAITS: Traits = Traits::host(Carries::Signal, Framing::Message);

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let room = Condition::BYTES.next_multiple_of(LINE) + LINE;
        let failed = OpenError::call("mmap", "free memory");
        let mapping = Arc::new(Mapping::new(2 * room).map_err(failed)?);
        let condition = |at| {
            Condition::new(&mapping, at).map_err(OpenError::call("pthread_cond_init", "none known"))
        };
        let (there, back) = (condition(0)?, condition(room)?);
        let end = |posts, waits| End { mapping: mapping.clone(), posts, waits };
        let responder = end(back.clone(), there.clone());
        Ok(visitor.visit(Opened::new(end(there, back), responder)))
    }
}

impl Endpoint for End {
    fn start(&mut self) -> io::Result<()> {
        self.mapping.populate(self.mapping.bytes())
    }

    #[inline(always)]
    fn send(&mut self, _message: &[u8]) -> io::Result<()> {
        self.posts.post()
    }

    #[inline(always)]
    fn recv(&mut self, _message: &mut [u8]) -> io::Result<()> {
        self.waits.wait()
    }
}
