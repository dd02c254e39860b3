//! How a message lies over datagrams: blocks of a code one after the other, or, without one, each
//! datagram a block of its own. Both ends know it from the message's length.

use std::io;
use std::ops::Range;

use codes::Scheme;

/// The largest message of any shape.
const LARGEST: usize = 1 << 20;

#[cold]
fn too_long(length: usize, largest: usize) -> io::Error {
    let text = format!("send: {length} bytes; a message has {largest} at most");
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

/// The shape of all messages of an end.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    scheme: Option<Scheme>,
    /// Most bytes of a message, or of its repair, in one datagram.
    payload: usize,
}

impl Shape {
    /// Of that scheme, in datagrams of at most so many bytes; None where they are too small.
    pub fn new(scheme: Option<Scheme>, payload: usize) -> Option<Shape> {
        let it = Shape { scheme, payload };
        (it.block_bytes() > 0).then_some(it)
    }

    /// Datagrams of a block that hold the data themselves.
    pub fn data(&self) -> usize {
        self.scheme.map_or(1, Scheme::data_shards)
    }

    /// All datagrams of a block.
    pub fn total(&self) -> usize {
        self.scheme.map_or(1, Scheme::total_shards)
    }

    /// The largest message: its datagrams have places of 16 bits, and its parts are kept until all of
    /// it is there.
    pub fn largest(&self) -> usize {
        let blocks = (1 << 16) / self.total();
        (blocks * self.block_bytes()).min(LARGEST)
    }

    /// Refuses a message that is longer: nobody would take its parts.
    pub fn check(&self, length: usize) -> io::Result<()> {
        if length > self.largest() {
            return Err(too_long(length, self.largest()));
        }
        Ok(())
    }

    fn block_bytes(&self) -> usize {
        self.scheme.map_or(self.payload, |scheme| scheme.block_bytes(self.payload))
    }

    /// Blocks of a message of `length` bytes.
    pub fn blocks(&self, length: usize) -> usize {
        length.div_ceil(self.block_bytes()).max(1)
    }

    pub fn datagrams(&self, length: usize) -> usize {
        self.blocks(length) * self.total()
    }

    /// Where block `nth` lies in it.
    pub fn block(&self, length: usize, nth: usize) -> Range<usize> {
        let bytes = self.block_bytes();
        nth * bytes..length.min((nth + 1) * bytes)
    }

    /// The most bytes that a datagram of it has.
    pub fn datagram_bytes(&self, length: usize) -> usize {
        let block = length.min(self.block_bytes());
        self.scheme.map_or(block, |scheme| scheme.datagram_bytes(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_one_after_the_other_and_hold_all_of_a_message() {
        for name in [None, Some("hamming-7-4"), Some("golay-24-12"), Some("reed-solomon-4-3")] {
            let shape = Shape::new(name.map(|name| Scheme::parse(name).unwrap()), 100).unwrap();
            for length in [1, 4, 99, 100, 101, 399, 400, 401, 5000] {
                let blocks: Vec<_> =
                    (0..shape.blocks(length)).map(|nth| shape.block(length, nth)).collect();
                assert_eq!(blocks[0].start, 0);
                assert_eq!(blocks.last().unwrap().end, length);
                assert!(blocks.windows(2).all(|window| window[0].end == window[1].start));
                assert!(blocks.iter().all(|block| !block.is_empty()));
                assert!(shape.datagram_bytes(length) <= 100);
            }
        }
        assert!(Shape::new(None, 0).is_none());
        let pairs = Scheme::parse("reed-solomon-4-3").unwrap();
        assert!(Shape::new(Some(pairs), 1).is_none(), "its symbols have two bytes");
    }
}
