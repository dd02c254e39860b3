//! A block over datagrams: bit i of each codeword travels in datagram i, so that a lost datagram
//! is one erasure in every codeword.
//!
//! The block is cut into as many pieces as a codeword has data bits; piece i, padded with zeros,
//! is datagram i, and bit t of its byte b is bit i of codeword 8b + t. All codewords of a block
//! lose the same bits: what rebuilds them is found once, and done to whole datagrams.

use std::fmt;

use raptorq::{
    Decoder, EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockEncoder,
    SourceBlockEncodingPlan,
};
use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

use super::Scheme;
use super::binary::{BinaryCode, bits};
use super::scheme::{RAPTORQ_DATA as DATA, RAPTORQ_REPAIR as REPAIR};

/// Most bytes of a datagram: what UDP carries over IPv4.
pub const LARGEST_DATAGRAM: usize = 65_507;

/// Too little of a block arrived to rebuild it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotEnough {
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

/// RaptorQ (RFC 6330) by the crate raptorq: the first twelve repair symbols of a block of twelve. Twelve datagrams
/// that arrive suffice but for few patterns.
struct Raptor {
    plan: SourceBlockEncodingPlan,
    /// The data datagrams one after the other, as the crate takes them.
    joined: Vec<u8>,
}

/// One source block of one sub-block; the symbols are whole datagrams.
fn setting(bytes: usize) -> ObjectTransmissionInformation {
    let symbol = u16::try_from(bytes).expect("no datagram is larger");
    ObjectTransmissionInformation::new((DATA * bytes) as u64, symbol, 1, 1, 1)
}

impl Raptor {
    /// Solves the system of the encoder, which is the same for all blocks.
    fn new() -> Raptor {
        Raptor { plan: SourceBlockEncodingPlan::generate(DATA as u16), joined: Vec::new() }
    }

    /// Makes the repair datagrams.
    fn extend(&mut self, data: &[Vec<u8>], repair: &mut [Vec<u8>], bytes: usize) {
        self.joined.clear();
        data.iter().for_each(|datagram| self.joined.extend_from_slice(datagram));
        let encoder =
            SourceBlockEncoder::with_encoding_plan(0, &setting(bytes), &self.joined, &self.plan);
        let made = encoder.repair_packets(0, REPAIR as u32);
        for (datagram, made) in repair.iter_mut().zip(made) {
            *datagram = made.split().1;
        }
    }

    /// Rebuilds the missing pieces; false where what arrived doesn't determine them.
    fn rebuild(&mut self, received: &[Option<&[u8]>], block: &mut [u8], bytes: usize) -> bool {
        // Takes one datagram after the other, from the twelfth on tries to solve the system, and
        // ends with the first that makes it whole.
        let mut decoder = Decoder::new(setting(bytes));
        let mut packets = received.iter().zip(0..).filter_map(|(datagram, nth)| {
            Some(EncodingPacket::new(PayloadId::new(0, nth), (*datagram)?.to_vec()))
        });
        let Some(rebuilt) = packets.find_map(|packet| decoder.decode(packet)) else {
            return false;
        };
        for nth in (0..DATA).filter(|nth| received[*nth].is_none()) {
            let at = piece(block.len(), nth, bytes);
            block[at.clone()].copy_from_slice(&rebuilt[at]);
        }
        true
    }
}

/// Reed–Solomon by the crate reed-solomon-simd: symbols of 16 bits, any K of K + M datagrams suffice.
///
/// Its decoder is made for thousands of datagrams: where data are missing it transforms a vector of
/// 65,536 elements, whatever the block's size. The alternatives for few datagrams look for an owner
/// (reed-solomon-erasure) or want a newer compiler than this crate does.
struct ReedSolomon {
    data: usize,
    repair: usize,
    /// Datagram size that both are set up for.
    bytes: usize,
    encoder: ReedSolomonEncoder,
    decoder: ReedSolomonDecoder,
}

const CHECKED: &str = "shape and length were checked";

impl ReedSolomon {
    /// For blocks of `data` and `repair` datagrams.
    fn new(data: usize, repair: usize) -> ReedSolomon {
        let bytes = 2;
        let encoder = ReedSolomonEncoder::new(data, repair, bytes).expect(CHECKED);
        let decoder = ReedSolomonDecoder::new(data, repair, bytes).expect(CHECKED);
        ReedSolomon { data, repair, bytes, encoder, decoder }
    }

    fn set_up(&mut self, bytes: usize) {
        if self.bytes != bytes {
            self.encoder.reset(self.data, self.repair, bytes).expect(CHECKED);
            self.decoder.reset(self.data, self.repair, bytes).expect(CHECKED);
            self.bytes = bytes;
        }
    }

    /// Makes the repair datagrams.
    fn extend(&mut self, data: &[Vec<u8>], repair: &mut [Vec<u8>], bytes: usize) {
        self.set_up(bytes);
        for datagram in data {
            self.encoder.add_original_shard(datagram).expect(CHECKED);
        }
        let encoded = self.encoder.encode().expect(CHECKED);
        for (datagram, made) in repair.iter_mut().zip(encoded.recovery_iter()) {
            datagram.clear();
            datagram.extend_from_slice(made);
        }
    }

    /// Rebuilds the missing pieces; false where too few datagrams arrived.
    fn rebuild(&mut self, received: &[Option<&[u8]>], block: &mut [u8], bytes: usize) -> bool {
        // Asked before the decoder is given any: it would keep them for the next block.
        if received.iter().flatten().count() < self.data {
            return false;
        }
        self.set_up(bytes);
        for (nth, datagram) in received.iter().enumerate() {
            let Some(datagram) = datagram else { continue };
            match nth.checked_sub(self.data) {
                None => self.decoder.add_original_shard(nth, datagram),
                Some(nth) => self.decoder.add_recovery_shard(nth, datagram),
            }
            .expect(CHECKED);
        }
        let decoded = self.decoder.decode().expect(CHECKED);
        for (nth, datagram) in decoded.restored_original_iter() {
            let to = piece_mut(block, nth, bytes);
            to.copy_from_slice(&datagram[..to.len()]);
        }
        true
    }
}
