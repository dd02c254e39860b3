//! Reed–Solomon by the crate reed-solomon-simd: symbols of 16 bits, any K of K + M datagrams
//! suffice.
//!
//! Its decoder is made for thousands of datagrams: where data are missing it transforms a vector of
//! 65,536 elements, whatever the block's size. The alternatives for few datagrams look for an owner
//! (reed-solomon-erasure) or want a newer compiler than this crate does.

use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

use super::block::piece_mut;

/// What is kept from block to block.
pub struct ReedSolomon {
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
    pub fn new(data: usize, repair: usize) -> ReedSolomon {
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
    pub fn extend(&mut self, data: &[Vec<u8>], repair: &mut [Vec<u8>], bytes: usize) {
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
    pub fn rebuild(&mut self, received: &[Option<&[u8]>], block: &mut [u8], bytes: usize) -> bool {
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
