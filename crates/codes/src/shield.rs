//! The code inside one datagram, against bits that flip: each codeword lies within it and is
//! corrected by its syndrome. CRC-32C stands outside: it is taken of the payload before coding
//! and checked after decoding, so that it sees what the code put wrong.
//!
//! Bit i of every codeword lies in part i of the datagram, as it would travel in datagram i of a
//! block: neighbours belong to different codewords. What was right or silently wrong only the
//! caller can say, which knows the payload.

use super::Scheme;
use super::binary::{BinaryCode, bits};
use super::block::{add, piece};

/// Bytes of a CRC-32C.
const CRC: usize = 4;

/// Protects payloads one by one.
pub struct Shield {
    scheme: Scheme,
    code: &'static BinaryCode,
    /// By syndrome, the bits that flipped.
    corrections: Vec<Option<u32>>,
}

/// What a datagram was found to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// A payload that fits its checksum.
    Recovered {
        payload: Vec<u8>,
        /// How many bits were turned back, in the whole datagram.
        corrected_bits: u32,
    },
    /// It is known to be wrong.
    Detected(Detected),
}

/// Who noticed that a datagram is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detected {
    /// Its length is not that of such a payload.
    Length,
    /// More bits of a codeword flipped than can be corrected.
    Code,
    /// The code found no error; the checksum did. Without it the error would be undetected.
    Checksum,
}

/// What became of a datagram, by comparison with what was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Outcome {
    /// Nothing needed correction, and the payload is right.
    Intact,
    /// The payload is right after correction.
    Corrected,
    /// The datagram is known to be wrong.
    Detected,
    /// The payload is wrong, and passed for right.
    SilentlyWrong,
}

impl Outcome {
    /// Of what was recovered, where `sent` was sent.
    pub fn of(recovery: &Recovery, sent: &[u8]) -> Outcome {
        match recovery {
            Recovery::Detected(_) => Outcome::Detected,
            Recovery::Recovered { payload, .. } if payload != sent => Outcome::SilentlyWrong,
            Recovery::Recovered { corrected_bits: 0, .. } => Outcome::Intact,
            Recovery::Recovered { .. } => Outcome::Corrected,
        }
    }
}

impl Shield {
    /// A shield of that scheme.
    ///
    /// # Errors
    /// Where the scheme mends no bits.
    pub fn new(scheme: Scheme) -> Result<Shield, String> {
        let code = scheme.binary().ok_or_else(|| {
            let able = Scheme::words()
                .iter()
                .filter(|word| Scheme::parse(word).is_ok_and(|scheme| scheme.binary().is_some()));
            let able: Vec<_> = able.copied().collect();
            format!(
                "{scheme} brings lost datagrams back and mends no bits: choose one of {}",
                able.join(", ")
            )
        })?;
        Ok(Shield { scheme, code, corrections: code.corrections() })
    }

    /// Bytes of the datagram that protects so many bytes of payload.
    pub fn datagram_bytes(&self, payload_bytes: usize) -> usize {
        self.part(payload_bytes) * self.code.total()
    }

    fn part(&self, payload_bytes: usize) -> usize {
        self.scheme.datagram_bytes(payload_bytes + CRC)
    }

    pub fn protect(&self, payload: &[u8]) -> Vec<u8> {
        let part = self.part(payload.len());
        let mut datagram = Vec::with_capacity(self.datagram_bytes(payload.len()));
        datagram.extend_from_slice(payload);
        datagram.extend_from_slice(&crc32c::crc32c(payload).to_le_bytes());
        datagram.resize(part * self.code.data, 0);
        let parities = self.parities(&datagram, part);
        datagram.extend_from_slice(&parities);
        datagram
    }

    /// The payload of so many bytes that a datagram holds, bits turned back where the code can.
    pub fn recover(&self, datagram: &[u8], payload_bytes: usize) -> Recovery {
        let part = self.part(payload_bytes);
        if datagram.len() != self.datagram_bytes(payload_bytes) {
            return Recovery::Detected(Detected::Length);
        }
        let (data, parity) = datagram.split_at(part * self.code.data);
        let mut syndromes = self.parities(data, part);
        add(&mut syndromes, parity);
        let mut data = data.to_vec();
        let Some(corrected_bits) = self.correct(&mut data, &syndromes, part) else {
            return Recovery::Detected(Detected::Code);
        };
        let crc = &data[payload_bytes..payload_bytes + CRC];
        if crc32c::crc32c(&data[..payload_bytes]).to_le_bytes() != *crc {
            return Recovery::Detected(Detected::Checksum);
        }
        data.truncate(payload_bytes);
        Recovery::Recovered { payload: data, corrected_bits }
    }

    fn parities(&self, data: &[u8], part: usize) -> Vec<u8> {
        let mut parities = vec![0; part * self.code.parity.len()];
        for (mask, sum) in self.code.parity.iter().zip(parities.chunks_exact_mut(part)) {
            bits(*mask).for_each(|bit| add(sum, &data[piece(data.len(), bit, part)]));
        }
        parities
    }

    /// Turns back the bits of `data` that the syndromes stand for, and counts all that flipped,
    /// parity bits too; None where a syndrome stands for nothing that can be corrected.
    fn correct(&self, data: &mut [u8], syndromes: &[u8], part: usize) -> Option<u32> {
        let mut corrected = 0;
        for byte in 0..part {
            let column = || syndromes[byte..].iter().step_by(part);
            let wrong = column().fold(0, |any, syndrome| any | syndrome);
            for codeword in bits(u32::from(wrong)) {
                let bit = |(nth, byte): (usize, &u8)| usize::from(byte >> codeword & 1) << nth;
                let flipped = self.corrections[column().enumerate().map(bit).sum::<usize>()]?;
                corrected += flipped.count_ones();
                for at in bits(flipped & self.code.data_mask()) {
                    data[at * part + byte] ^= 1 << codeword;
                }
            }
        }
        Some(corrected)
    }
}

#[cfg(test)]
mod tests {
    use super::super::binary::each_choice;
    use super::*;

    fn shield(name: &str) -> Shield {
        Shield::new(Scheme::parse(name).unwrap()).unwrap()
    }

    fn payload(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at * 37 + at / 7) as u8).collect()
    }

    /// What becomes of a payload where these bits of its codeword `nth` flip.
    fn flipped(shield: &Shield, sent: &[u8], nth: usize, mask: u32) -> Recovery {
        let (mut datagram, part) = (shield.protect(sent), shield.part(sent.len()));
        bits(mask).for_each(|bit| datagram[bit * part + nth / 8] ^= 1 << (nth % 8));
        shield.recover(&datagram, sent.len())
    }

    #[test]
    fn what_is_not_disturbed_comes_back() {
        for name in ["hamming-7-4", "hamming-8-4", "golay-24-12"] {
            let shield = shield(name);
            for bytes in [0, 1, 2, 3, 4, 5, 8, 44, 100, 1000] {
                let sent = payload(bytes);
                let datagram = shield.protect(&sent);
                assert_eq!(datagram.len(), shield.datagram_bytes(bytes), "{name}, {bytes}");
                let recovery = shield.recover(&datagram, bytes);
                assert_eq!(Outcome::of(&recovery, &sent), Outcome::Intact, "{name}, {bytes}");
            }
        }
    }

    #[test]
    fn every_pattern_that_can_be_corrected_is() {
        for name in ["hamming-7-4", "hamming-8-4", "golay-24-12"] {
            let (shield, sent) = (shield(name), payload(44));
            for ones in 1..=shield.code.corrects {
                each_choice(shield.code.total(), ones, |mask| {
                    let nth = mask as usize % (8 * shield.part(sent.len()));
                    let found = flipped(&shield, &sent, nth, mask);
                    let Recovery::Recovered { corrected_bits, .. } = found else {
                        panic!("{name}: {mask:b} was detected");
                    };
                    assert_eq!(corrected_bits, ones);
                    assert_eq!(Outcome::of(&found, &sent), Outcome::Corrected);
                });
            }
        }
    }

    #[test]
    fn one_flip_in_each_codeword_is_corrected_and_counted() {
        for name in ["hamming-7-4", "hamming-8-4", "golay-24-12"] {
            let (shield, sent) = (shield(name), payload(200));
            let (mut datagram, part) = (shield.protect(&sent), shield.part(200));
            // A burst: a whole part, which holds one bit of every codeword.
            datagram[part..2 * part].iter_mut().for_each(|byte| *byte = !*byte);
            let found = shield.recover(&datagram, 200);
            let all = 8 * part as u32;
            assert_eq!(found, Recovery::Recovered { payload: sent, corrected_bits: all }, "{name}");
        }
    }

    #[test]
    fn one_flip_too_many_is_detected_by_the_code_that_can() {
        let sent = payload(44);
        for (name, ones, patterns) in [("hamming-8-4", 2, 28), ("golay-24-12", 4, 10_626)] {
            let (shield, mut seen) = (shield(name), 0);
            each_choice(shield.code.total(), ones, |mask| {
                let found = flipped(&shield, &sent, 5, mask);
                assert_eq!(found, Recovery::Detected(Detected::Code), "{name}: {mask:b}");
                seen += 1;
            });
            assert_eq!(seen, patterns);
        }
    }

    #[test]
    fn what_hamming_puts_wrong_the_checksum_sees() {
        // The code is perfect: it takes every two flips for one elsewhere. Codeword 5 lies in the
        // payload in all four of its data bits.
        let (shield, sent) = (shield("hamming-7-4"), payload(44));
        each_choice(7, 2, |mask| {
            let found = flipped(&shield, &sent, 5, mask);
            assert_eq!(found, Recovery::Detected(Detected::Checksum), "{mask:b}");
            assert_eq!(Outcome::of(&found, &sent), Outcome::Detected);
        });
    }

    #[test]
    fn who_knows_what_was_sent_sees_what_is_silently_wrong() {
        let shield = shield("hamming-7-4");
        let found = shield.recover(&shield.protect(b"there"), 5);
        assert_eq!(Outcome::of(&found, b"three"), Outcome::SilentlyWrong);
    }

    #[test]
    fn a_datagram_of_another_length_is_detected() {
        let shield = shield("golay-24-12");
        let datagram = shield.protect(&payload(44));
        for bytes in [0, 1, datagram.len() - 1] {
            let found = shield.recover(&datagram[..bytes], 44);
            assert_eq!(found, Recovery::Detected(Detected::Length));
        }
    }

    #[test]
    fn a_scheme_that_mends_no_bits_is_refused_with_the_remedy() {
        for name in ["reed-solomon-4-3", "raptorq"] {
            let error = Shield::new(Scheme::parse(name).unwrap()).err().unwrap();
            assert!(
                error.contains("choose one of hamming-7-4, hamming-8-4, golay-24-12"),
                "{error}"
            );
        }
    }

    #[test]
    fn the_checksum_is_that_of_castagnoli() {
        // RFC 3720, B.4: 32 bytes of zeroes, and of ones.
        assert_eq!(crc32c::crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c::crc32c(&[0xff; 32]), 0x62a8_ab43);
    }
}
