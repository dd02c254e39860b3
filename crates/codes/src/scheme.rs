//! The schemes by their names, `hamming-7-4` to `raptorq`, and the shape of their blocks.
//!
//! All are systematic: the first datagrams of a block are the block itself, cut into pieces, and
//! the others repair. Shapes follow from the name alone, so that both ends agree by it.

use std::fmt;

use super::binary::{BinaryCode, GOLAY_24_12, HAMMING_7_4, HAMMING_8_4};

/// The most datagrams in a block: so the number of patterns in which they can be lost fits 128 bits.
pub const LARGEST_BLOCK: usize = 128;

/// RaptorQ makes as many repair datagrams as one likes. Here it has the shape of the Golay code,
/// so that at the same overhead, over the same losses, one is compared with the other. RFC 6330
/// knows blocks of exactly twelve: nothing is padded.
pub(super) const RAPTORQ_DATA: usize = 12;
pub(super) const RAPTORQ_REPAIR: usize = 12;

/// A way to make repair datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// `hamming-7-4`: four data datagrams, three repair.
    Hamming74,
    /// `hamming-8-4`: the same with a parity of all.
    Hamming84,
    /// `golay-24-12`: the extended binary Golay code.
    Golay2412,
    /// `reed-solomon-K-M`: any K of K + M datagrams suffice.
    ReedSolomon {
        /// Data datagrams in a block, K.
        data: usize,
        /// Repair datagrams in a block, M.
        repair: usize,
    },
    /// `raptorq`: RFC 6330, twelve data datagrams and twelve repair.
    RaptorQ,
}

/// What can be asked for, as `list` and errors name it.
const WORDS: [&str; 5] =
    ["hamming-7-4", "hamming-8-4", "golay-24-12", "reed-solomon-K-M", "raptorq"];

impl Scheme {
    /// The words that [`parse`](Scheme::parse) takes; K and M stand for numbers.
    pub fn words() -> &'static [&'static str] {
        &WORDS
    }

    /// Parses a scheme's name. The error says the nearest, or what the numbers may be.
    pub fn parse(text: &str) -> Result<Scheme, String> {
        match text {
            "hamming-7-4" => Ok(Scheme::Hamming74),
            "hamming-8-4" => Ok(Scheme::Hamming84),
            "golay-24-12" => Ok(Scheme::Golay2412),
            "raptorq" => Ok(Scheme::RaptorQ),
            _ => match text.strip_prefix("reed-solomon-") {
                Some(shape) => reed_solomon(text, shape),
                None => Err(unknown(text)),
            },
        }
    }

    /// Datagrams of a block that hold the data themselves.
    pub fn data_shards(self) -> usize {
        match self {
            Scheme::Hamming74 | Scheme::Hamming84 => 4,
            Scheme::Golay2412 => 12,
            Scheme::ReedSolomon { data, .. } => data,
            Scheme::RaptorQ => RAPTORQ_DATA,
        }
    }

    /// All datagrams of a block.
    pub fn total_shards(self) -> usize {
        match self {
            Scheme::Hamming74 => 7,
            Scheme::Hamming84 => 8,
            Scheme::Golay2412 => 24,
            Scheme::ReedSolomon { data, repair } => data + repair,
            Scheme::RaptorQ => RAPTORQ_DATA + RAPTORQ_REPAIR,
        }
    }

    /// Bytes of each datagram of a block of so many: at least one, and even where the code's
    /// symbols have 16 bits. What a block leaves of its last data datagrams is zero.
    pub fn datagram_bytes(self, block_bytes: usize) -> usize {
        let bytes = block_bytes.div_ceil(self.data_shards()).max(1);
        match self {
            Scheme::ReedSolomon { .. } => bytes.next_multiple_of(2),
            _ => bytes,
        }
    }

    /// The largest block whose datagrams have at most so many bytes.
    pub fn block_bytes(self, datagram_bytes: usize) -> usize {
        let bytes = match self {
            Scheme::ReedSolomon { .. } => datagram_bytes & !1,
            _ => datagram_bytes,
        };
        bytes * self.data_shards()
    }

    /// Bytes sent for each byte of data: 1.75 for `hamming-7-4`. Padding and headers come on top.
    pub fn overhead(self) -> f64 {
        self.total_shards() as f64 / self.data_shards() as f64
    }

    /// The code over bits, of those that are one.
    pub(super) fn binary(self) -> Option<&'static BinaryCode> {
        match self {
            Scheme::Hamming74 => Some(&HAMMING_7_4),
            Scheme::Hamming84 => Some(&HAMMING_8_4),
            Scheme::Golay2412 => Some(&GOLAY_24_12),
            Scheme::ReedSolomon { .. } | Scheme::RaptorQ => None,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scheme::Hamming74 => f.write_str("hamming-7-4"),
            Scheme::Hamming84 => f.write_str("hamming-8-4"),
            Scheme::Golay2412 => f.write_str("golay-24-12"),
            Scheme::ReedSolomon { data, repair } => write!(f, "reed-solomon-{data}-{repair}"),
            Scheme::RaptorQ => f.write_str("raptorq"),
        }
    }
}

fn reed_solomon(text: &str, shape: &str) -> Result<Scheme, String> {
    // Digits only, so that `+4` and ` 4` are no numbers, and no zero in front: one name each.
    let number = |text: &str| -> Option<usize> {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        text.parse().ok().filter(|_| plain)
    };
    let numbers = shape.split_once('-').and_then(|(data, repair)| {
        let (data, repair) = (number(data)?, number(repair)?);
        Some((data, repair, data.checked_add(repair)?))
    });
    match numbers {
        None => Err(format!(
            "`{text}`: write reed-solomon-K-M with K data and M repair datagrams, each at least 1, \
             as in reed-solomon-4-3"
        )),
        Some((_, _, total)) if total > LARGEST_BLOCK => Err(format!(
            "`{text}`: a block of {total} datagrams is beyond the largest, {LARGEST_BLOCK}: choose \
             smaller numbers, with the same ratio for the same overhead"
        )),
        Some((data, repair, _)) => Ok(Scheme::ReedSolomon { data, repair }),
    }
}

fn unknown(word: &str) -> String {
    let likeness = |known: &str| strsim::jaro_winkler(word, known);
    let nearest = WORDS.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|known| likeness(known) > 0.7) {
        Some(nearest) => format!("unknown scheme `{word}`: did you mean `{nearest}`?"),
        None => format!("unknown scheme `{word}`: choose one of {}", WORDS.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_written_alike() {
        for name in ["hamming-7-4", "hamming-8-4", "golay-24-12", "reed-solomon-4-3", "raptorq"] {
            assert_eq!(Scheme::parse(name).unwrap().to_string(), name);
        }
        let scheme = Scheme::parse("reed-solomon-4-3").unwrap();
        assert_eq!(scheme, Scheme::ReedSolomon { data: 4, repair: 3 });
        assert_eq!((scheme.data_shards(), scheme.total_shards()), (4, 7));
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_nearest() {
        let error = |text| Scheme::parse(text).unwrap_err();
        assert!(error("hamming-7-5").contains("did you mean `hamming-7-4`?"));
        assert!(error("golay-23-12").contains("did you mean `golay-24-12`?"));
        assert!(error("raptor").contains("did you mean `raptorq`?"));
        assert!(error("reed-solomon").contains("did you mean `reed-solomon-K-M`?"));
        assert!(error("xyz").contains("choose one of hamming-7-4, "));
        assert!(error("").contains("choose one of"));
    }

    #[test]
    fn shapes_that_are_none_are_refused_with_the_remedy() {
        for shape in ["", "4", "4-", "-3", "0-3", "4-0", "4-3-2", "+4-3", "4- 3", "04-3", "K-M"] {
            let error = Scheme::parse(&format!("reed-solomon-{shape}")).unwrap_err();
            assert!(error.contains("as in reed-solomon-4-3"), "{shape}: {error}");
        }
        for shape in ["100-29", "18446744073709551615-1", "9999999999999999999999-1"] {
            let error = Scheme::parse(&format!("reed-solomon-{shape}")).unwrap_err();
            assert!(error.contains("128") || error.contains("as in"), "{shape}: {error}");
        }
        assert!(Scheme::parse("reed-solomon-100-28").is_ok());
    }

    #[test]
    fn blocks_are_cut_into_equal_datagrams() {
        let rs = Scheme::parse("reed-solomon-4-3").unwrap();
        assert_eq!(
            [0, 1, 4, 5, 1400].map(|number| Scheme::Hamming74.datagram_bytes(number)),
            [1, 1, 1, 2, 350]
        );
        assert_eq!([0, 1, 4, 9, 1400].map(|number| rs.datagram_bytes(number)), [2, 2, 2, 4, 350]);
        for scheme in [Scheme::Hamming84, Scheme::Golay2412, rs, Scheme::RaptorQ] {
            for datagram in [2, 3, 1471, 1472] {
                let block = scheme.block_bytes(datagram);
                assert!(scheme.datagram_bytes(block) <= datagram, "{scheme}, {datagram}");
                assert!(scheme.datagram_bytes(block + 1) > datagram, "{scheme}, {datagram}");
            }
        }
        assert_eq!((rs.overhead(), Scheme::Golay2412.overhead()), (1.75, 2.0));
    }
}
