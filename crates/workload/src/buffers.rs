//! Where messages lie before they are sent, and after they came.

use std::io;
use std::ops::Range;

use rustix::io::Errno;

use sys::failed::named;

const PAGE: usize = 4096;

/// A worker's message buffers: reused for every message, as the report says.
pub struct Buffers {
    memory: Vec<u8>,
    out: Range<usize>,
    into: Range<usize>,
}

impl Buffers {
    /// Two buffers of `bytes`, as [`Buffers::sized`].
    ///
    /// # Errors
    /// The same.
    pub fn new(bytes: usize, offset: usize) -> io::Result<Buffers> {
        Buffers::sized(bytes, bytes, offset)
    }

    /// A buffer of `out` bytes and one of `into`, each starting `offset` bytes into a page of its own
    /// ([`model::alignment::Alignment::offset`]), and touched.
    ///
    /// # Errors
    /// There is no memory for them.
    pub fn sized(out: usize, into: usize, offset: usize) -> io::Result<Buffers> {
        let spans = [out, into].map(|bytes| (bytes + offset).next_multiple_of(PAGE));
        let total = spans[0] + spans[1] + PAGE;
        let mut memory = Vec::new();
        memory.try_reserve_exact(total).map_err(|_| named("mmap", Errno::NOMEM))?;
        memory.resize(total, 0xA5);
        let first = memory.as_ptr().align_offset(PAGE) + offset;
        let second = first + spans[0];
        Ok(Buffers { memory, out: first..first + out, into: second..second + into })
    }

    /// Where they are in memory: both buffers, and what lies between.
    pub fn place(&self) -> Range<usize> {
        let start = self.memory.as_ptr() as usize;
        start + self.out.start..start + self.into.end
    }

    /// The message to send, and the place for the message to receive.
    pub fn split(&mut self) -> (&mut [u8], &mut [u8]) {
        let (first, second) = self.memory.split_at_mut(self.into.start);
        (&mut first[self.out.clone()], &mut second[..self.into.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_start_where_they_should_and_do_not_overlap() {
        for (bytes, offset) in [([1, 1], 0), ([64, 5000], 144), ([4096, 1], 80), ([5000, 64], 4048)]
        {
            let mut buffers = Buffers::sized(bytes[0], bytes[1], offset).unwrap();
            let (out, into) = buffers.split();
            assert_eq!([out.len(), into.len()], bytes);
            assert_eq!(out.as_ptr() as usize % 4096, offset);
            assert_eq!(into.as_ptr() as usize % 4096, offset);
        }
    }

    #[test]
    fn no_memory_is_an_error() {
        assert!(Buffers::sized(1 << 62, 1, 0).is_err());
    }
}
