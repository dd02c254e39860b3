//! Samples as blobs: zlib of little-endian 64-bit integers, in parts of bounded size.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Samples in one part: bounds what is held in memory while writing and reading.
pub const PART: usize = 256 << 10;

// Kept from blob to blob: with half a million launches to go through, windows that come and go between
// small things that stay cost time, and leave holes of 31 KB each in the heap (measured, glibc 2.36).
thread_local! {
    static PACKING: RefCell<Compress> = RefCell::new(Compress::new(Compression::fast(), true));
    static UNPACKING: RefCell<Decompress> = RefCell::new(Decompress::new(true));
}

pub fn pack(ticks: &[u64]) -> Vec<u8> {
    PACKING.with_borrow_mut(|compress| {
        compress.reset();
        let mut packed = Vec::with_capacity(64 + ticks.len() * 2);
        for chunk in ticks.chunks(4096) {
            let bytes: Vec<u8> = chunk.iter().flat_map(|tick| tick.to_le_bytes()).collect();
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                rest = &rest[step(compress, rest, &mut packed, FlushCompress::None).0..];
            }
        }
        while step(compress, &[], &mut packed, FlushCompress::Finish).1 != Status::StreamEnd {}
        packed
    })
}

/// Packs on, into a vector that has room; how many bytes it took in.
fn step(
    compress: &mut Compress,
    bytes: &[u8],
    packed: &mut Vec<u8>,
    flush: FlushCompress,
) -> (usize, Status) {
    packed.reserve(256);
    let before = compress.total_in();
    let status = compress.compress_vec(bytes, packed, flush).expect("packing in memory");
    ((compress.total_in() - before) as usize, status)
}

/// The most samples that so many packed bytes can hold: deflate makes at most 1032 bytes of one
/// (zlib.net/zlib_tech.html).
pub fn most_unpacked(bytes: usize) -> usize {
    bytes.saturating_mul(1032) / 8
}

/// Unpacks one part of `count` samples onto `ticks`; None if the blob holds something else.
pub fn unpack(blob: &[u8], count: usize, ticks: &mut Vec<u64>) -> Option<()> {
    if count > PART.min(most_unpacked(blob.len())) {
        return None;
    }
    UNPACKING.with_borrow_mut(|decompress| {
        decompress.reset(true);
        // A byte more than there should be, to notice what is too long.
        let mut bytes = Vec::with_capacity(count * 8 + 1);
        let status = decompress.decompress_vec(blob, &mut bytes, FlushDecompress::Finish);
        if bytes.len() != count * 8 || status.ok()? != Status::StreamEnd {
            return None;
        }
        ticks.extend(bytes.as_chunks::<8>().0.iter().map(|tick| u64::from_le_bytes(*tick)));
        Some(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        let ticks: Vec<u64> = (0..10_000).map(|nth| nth * 26 % 9973 + (nth << 40)).collect();
        let mut back = Vec::new();
        unpack(&pack(&ticks), ticks.len(), &mut back).unwrap();
        assert_eq!(back, ticks);
    }

    #[test]
    fn a_wrong_count_or_damage_is_noticed() {
        let blob = pack(&[1, 2, 3]);
        assert!(unpack(&blob, 2, &mut Vec::new()).is_none());
        assert!(unpack(&blob, 4, &mut Vec::new()).is_none());
        assert!(unpack(&blob[..blob.len() - 3], 3, &mut Vec::new()).is_none());
        assert!(unpack(&blob, usize::MAX / 8 + 1, &mut Vec::new()).is_none());
    }
}
