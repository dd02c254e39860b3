//! Samples as blobs: zlib of little-endian 64-bit integers, in parts of bounded size.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

/// Samples in one part: bounds what is held in memory while writing and reading.
pub const PART: usize = 256 << 10;

/// Packs one part.
pub fn pack(ticks: &[u64]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::with_capacity(ticks.len() * 2), Compression::fast());
    for chunk in ticks.chunks(4096) {
        let bytes: Vec<u8> = chunk.iter().flat_map(|tick| tick.to_le_bytes()).collect();
        encoder.write_all(&bytes).expect("writing to memory");
    }
    encoder.finish().expect("writing to memory")
}

/// Unpacks one part of `count` samples onto `ticks`; None if the blob holds something else.
pub fn unpack(blob: &[u8], count: usize, ticks: &mut Vec<u64>) -> Option<()> {
    let mut bytes = Vec::with_capacity(count * 8);
    ZlibDecoder::new(blob).take(count as u64 * 8 + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() != count * 8 {
        return None;
    }
    ticks.extend(bytes.as_chunks::<8>().0.iter().map(|tick| u64::from_le_bytes(*tick)));
    Some(())
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
    }
}
