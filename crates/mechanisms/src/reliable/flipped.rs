//! What tells whether bits flipped: a checksum, as a protocol has it, and the truth, which none has.

use std::hash::{DefaultHasher, Hasher};

/// Bytes in front of what may flip: by these its receiver knows what was sent. They are no part of the
/// experiment, and don't flip.
pub const TRUTH: usize = 8;
const CRC: usize = 4;
/// Bytes that [`guarded`] adds.
pub const GUARD: usize = TRUTH + CRC;

pub fn truth(bytes: &[u8]) -> [u8; TRUTH] {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish().to_le_bytes()
}

/// The truth, `bytes`, and their CRC-32C.
pub fn guarded(bytes: &[u8]) -> Vec<u8> {
    [&truth(bytes)[..], bytes, &crc32c::crc32c(bytes).to_le_bytes()].concat()
}

/// What stands in front of its CRC-32C; None where they don't agree.
pub fn checked(bytes: &[u8]) -> Option<&[u8]> {
    let (payload, crc) = bytes.split_last_chunk::<CRC>()?;
    (crc32c::crc32c(payload).to_le_bytes() == *crc).then_some(payload)
}
