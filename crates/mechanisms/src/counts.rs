//! What `posix-sem` and `condvar` share: two counts of the C library in shared memory, one each
//! way, each on lines of its own.

use std::io;
use std::sync::Arc;

use super::{Endpoint, OpenError, Opened};
use sys::posix::Count;
use sys::shared::{LINE, Mapping};

/// One side: the count it raises, and the one it waits for.
pub struct End<C> {
    mapping: Arc<Mapping>,
    posts: C,
    waits: C,
}

/// Both sides.
pub fn pair<C: Count>() -> Result<Opened<End<C>>, OpenError> {
    // A line between the two: a CPU that fetches lines in pairs fetches nothing of the other.
    let room = C::BYTES.next_multiple_of(LINE) + LINE;
    let mapping = Mapping::new(2 * room).map_err(OpenError::call("mmap", "free memory"))?;
    let mapping = Arc::new(mapping);
    let count = |at| C::new(&mapping, at).map_err(OpenError::call(C::MADE_BY, "none known"));
    let (there, back) = (count(0)?, count(room)?);
    let end = |posts, waits| End { mapping: mapping.clone(), posts, waits };
    let responder = end(back.clone(), there.clone());
    Ok(Opened::new(end(there, back), responder))
}

impl<C: Count> Endpoint for End<C> {
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
