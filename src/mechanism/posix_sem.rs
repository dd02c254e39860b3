//! `posix-sem`: two process-shared semaphores in shared memory, one each way
//! (sem_overview(7)). Carries a wake-up, no bytes.

use std::io;
use std::sync::Arc;

use super::{Carries, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, Traits, Visitor};
use crate::sys::posix::Semaphore;
use crate::sys::shared::{LINE, Mapping};

/// The mechanism's row.
pub struct PosixSem;

/// One side: the semaphore it posts, and the one it waits for.
pub struct End {
    mapping: Arc<Mapping>,
    posts: Semaphore,
    waits: Semaphore,
}

impl Mechanism for PosixSem {
    const NAME: &'static str = "posix-sem";
    const SUMMARY: &'static str = "two semaphores in shared memory";
    const TRAITS: Traits = Traits::host(Carries::Signal, Framing::Message);

    fn open<V: Visitor>(_spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let failed = OpenError::call("mmap", "free memory");
        let mapping = Arc::new(Mapping::new(4 * LINE).map_err(failed)?);
        let semaphore =
            |at| Semaphore::new(&mapping, at).map_err(OpenError::call("sem_init", "none known"));
        let (there, back) = (semaphore(0)?, semaphore(2 * LINE)?);
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
        loop {
            match self.waits.wait() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}
