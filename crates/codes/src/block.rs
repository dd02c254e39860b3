//! A block over datagrams: bit i of each codeword travels in datagram i, so that a lost datagram
//! is one erasure in every codeword.
//!
//! The block is cut into as many pieces as a codeword has data bits; piece i, padded with zeros,
//! is datagram i, and bit t of its byte b is bit i of codeword 8b + t. All codewords of a block
//! lose the same bits: what rebuilds them is found once, and done to whole datagrams.

use std::fmt;

use super::Scheme;
use super::binary::{BinaryCode, bits};
use super::raptor::Raptor;
use super::reed_solomon::ReedSolomon;

/// Most bytes of a datagram: what UDP carries over IPv4.
pub const LARGEST_DATAGRAM: usize = 65_507;

/// Too little of a block arrived to rebuild it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEnough {
    /// Datagrams that arrived.
    pub arrived: usize,
    /// Datagrams of the block.
    pub total: usize,
}

impl fmt::Display for NotEnough {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} datagrams don't determine the block", self.arrived, self.total)
    }
}

impl std::error::Error for NotEnough {}

/// Encodes and decodes the blocks of a scheme. Make it before anything is timed: tables are
/// filled then, and buffers are kept from block to block.
pub struct Coder {
    scheme: Scheme,
    code: Code,
}

enum Code {
    Binary(&'static BinaryCode),
    ReedSolomon(Box<ReedSolomon>),
    Raptor(Raptor),
}

impl Coder {
    /// A coder of that scheme.
    pub fn new(scheme: Scheme) -> Coder {
        let code = match (scheme, scheme.binary()) {
            (_, Some(code)) => Code::Binary(code),
            (Scheme::ReedSolomon { data, repair }, _) => {
                Code::ReedSolomon(Box::new(ReedSolomon::new(data, repair)))
            }
            _ => Code::Raptor(Raptor::new()),
        };
        Coder { scheme, code }
    }

    /// The scheme.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Makes the datagrams of a block: data first, then repair. What `out` held is gone; its
    /// capacity is used again.
    ///
    /// # Panics
    /// Where `out` has not as many places as the scheme has datagrams, or these would be larger
    /// than [`LARGEST_DATAGRAM`].
    pub fn encode(&mut self, block: &[u8], out: &mut [Vec<u8>]) {
        assert_eq!(out.len(), self.scheme.total_shards(), "places for datagrams");
        let bytes = self.datagram_bytes(block.len());
        let (data, repair) = out.split_at_mut(self.scheme.data_shards());
        for (nth, datagram) in data.iter_mut().enumerate() {
            datagram.clear();
            datagram.extend_from_slice(&block[piece(block.len(), nth, bytes)]);
            datagram.resize(bytes, 0);
        }
        match &mut self.code {
            Code::Binary(code) => extend(code, data, repair),
            Code::ReedSolomon(code) => code.extend(data, repair, bytes),
            Code::Raptor(code) => code.extend(data, repair, bytes),
        }
    }

    /// Rebuilds a block, whose length the caller knows, from the datagrams that arrived, each at
    /// its place. One of another length is none of this block's, and counts as lost.
    ///
    /// # Errors
    /// Where they don't determine it. Only the pieces that arrived are then in their place.
    ///
    /// # Panics
    /// As [`encode`](Coder::encode) does.
    pub fn decode(
        &mut self,
        received: &[Option<&[u8]>],
        block: &mut [u8],
    ) -> Result<(), NotEnough> {
        assert_eq!(received.len(), self.scheme.total_shards(), "places for datagrams");
        let bytes = self.datagram_bytes(block.len());
        let mut fitting = [None; super::LARGEST_BLOCK];
        let fitting = &mut fitting[..received.len()];
        for (place, datagram) in fitting.iter_mut().zip(received) {
            *place = datagram.filter(|datagram| datagram.len() == bytes);
        }
        let missing = copy_arrived(&fitting[..self.scheme.data_shards()], block, bytes);
        let rebuilt = !missing
            || match &mut self.code {
                Code::Binary(code) => rebuild(code, fitting, block, bytes),
                Code::ReedSolomon(code) => code.rebuild(fitting, block, bytes),
                Code::Raptor(code) => code.rebuild(fitting, block, bytes),
            };
        let arrived = fitting.iter().flatten().count();
        if rebuilt { Ok(()) } else { Err(NotEnough { arrived, total: received.len() }) }
    }

    fn datagram_bytes(&self, block_bytes: usize) -> usize {
        let bytes = self.scheme.datagram_bytes(block_bytes);
        assert!(bytes <= LARGEST_DATAGRAM, "a datagram of {bytes} bytes: make blocks smaller");
        bytes
    }
}

/// Where piece `nth` lies in a block: shorter, or empty, at its end.
pub(super) fn piece(block_bytes: usize, nth: usize, bytes: usize) -> std::ops::Range<usize> {
    (nth * bytes).min(block_bytes)..((nth + 1) * bytes).min(block_bytes)
}

/// Piece `nth` of a block.
pub(super) fn piece_mut(block: &mut [u8], nth: usize, bytes: usize) -> &mut [u8] {
    let at = piece(block.len(), nth, bytes);
    &mut block[at]
}

/// Copies the pieces that arrived; whether one is missing that isn't all padding.
fn copy_arrived(data: &[Option<&[u8]>], block: &mut [u8], bytes: usize) -> bool {
    let mut missing = false;
    for (nth, datagram) in data.iter().enumerate() {
        let to = piece_mut(block, nth, bytes);
        match datagram {
            Some(datagram) => to.copy_from_slice(&datagram[..to.len()]),
            None => missing |= !to.is_empty(),
        }
    }
    missing
}

/// Adds `from` to `to`, bit by bit.
pub(super) fn add(to: &mut [u8], from: &[u8]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to ^= from);
}

fn extend(code: &BinaryCode, data: &[Vec<u8>], repair: &mut [Vec<u8>]) {
    for (mask, datagram) in code.parity.iter().zip(repair) {
        let mut sources = bits(*mask).map(|bit| &data[bit]);
        datagram.clone_from(sources.next().expect("a parity of something"));
        sources.for_each(|source| add(datagram, source));
    }
}

fn rebuild(code: &BinaryCode, received: &[Option<&[u8]>], block: &mut [u8], bytes: usize) -> bool {
    let mut arrived = 0;
    for (nth, datagram) in received.iter().enumerate() {
        arrived |= u32::from(datagram.is_some()) << nth;
    }
    let Some(repairs) = code.repairs(arrived) else { return false };
    for repair in repairs {
        let to = piece_mut(block, repair.bit, bytes);
        to.fill(0);
        for source in bits(repair.sources) {
            add(to, received[source].expect("repairs use what arrived"));
        }
    }
    true
}
