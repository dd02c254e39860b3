//! What `posix-sem` and `condvar` share: two counts of the C library in shared memory, one each
//! way, each on lines of its own.

use std::io;

use super::{Deadline, Endpoint, OpenError, Opened};
use sys::posix::{Count, Counts};

/// One side: the count it raises, and the one it waits for.
pub struct CountEnd<C> {
    posts: C,
    waits: C,
}

/// Both sides.
pub fn pair<C: Count>() -> Result<Opened<CountEnd<C>>, OpenError> {
    let memory = Counts::new().map_err(OpenError::call("mmap"))?;
    let (there, back): (C, C) = memory.pair().map_err(OpenError::call(C::MADE_BY))?;
    let responder = CountEnd { posts: back.clone(), waits: there.clone() };
    Ok(Opened::new(CountEnd { posts: there, waits: back }, responder))
}

impl<C: Count> Endpoint for CountEnd<C> {
    fn start(&mut self, _deadline: &Deadline) -> io::Result<()> {
        self.posts.populate()
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
