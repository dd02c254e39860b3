//! RaptorQ (RFC 6330) by the crate raptorq: the first twelve repair symbols of a block of twelve.
//!
//! Twelve datagrams that arrive suffice but for few patterns, which the oracle counts. What the
//! code makes of single bytes, its parity matrix, is printed for that.

use raptorq::{
    Decoder, EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockEncoder,
    SourceBlockEncodingPlan,
};

use super::block::piece;
use super::scheme::{RAPTORQ_DATA as DATA, RAPTORQ_REPAIR as REPAIR};

/// What is kept from block to block.
pub struct Raptor {
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
    pub fn new() -> Raptor {
        Raptor { plan: SourceBlockEncodingPlan::generate(DATA as u16), joined: Vec::new() }
    }

    /// Makes the repair datagrams.
    pub fn extend(&mut self, data: &[Vec<u8>], repair: &mut [Vec<u8>], bytes: usize) {
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
    pub fn rebuild(&mut self, received: &[Option<&[u8]>], block: &mut [u8], bytes: usize) -> bool {
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

/// In row r and column d the factor by which data datagram d enters repair datagram r, in the
/// field of RFC 6330.
pub fn parity() -> [[u8; DATA]; REPAIR] {
    let mut raptor = Raptor::new();
    let mut factors = [[0; DATA]; REPAIR];
    for nth in 0..DATA {
        let data: Vec<Vec<u8>> = (0..DATA).map(|at| vec![u8::from(at == nth)]).collect();
        let mut repair = vec![Vec::new(); REPAIR];
        raptor.extend(&data, &mut repair, 1);
        for (row, datagram) in factors.iter_mut().zip(repair) {
            row[nth] = datagram[0];
        }
    }
    factors
}
