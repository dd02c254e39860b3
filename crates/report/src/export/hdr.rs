//! HdrHistogram's own encoding (V2, deflated, base64), for readers in any language: counts of
//! whole ns in buckets that are at most 0.1 % wide. Only what the interval log needs; the
//! tests hold it against the `hdrhistogram` crate.

use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Cookies of V2, with the word size that the encoding fixes.
const PLAIN: u32 = 0x1c84_9303 | 0x10;
const DEFLATED: u32 = 0x1c84_9304 | 0x10;
/// Three significant digits need 2,048 sub-buckets: the power of two above 2 × 10³.
const DIGITS: u32 = 3;
const SUB_BUCKET_BITS: u32 = 11;

/// Encodes the counts of `values`; they may be in any order.
pub fn encode(values: impl IntoIterator<Item = u64>) -> String {
    let (mut counts, mut highest) = (Vec::<u64>::new(), 2);
    for value in values {
        let at = index(value);
        counts.resize(counts.len().max(at + 1), 0);
        counts[at] += 1;
        highest = highest.max(value);
    }
    let payload = zigzag_runs(&counts);
    let mut plain = Vec::with_capacity(40 + payload.len());
    for word in [PLAIN, payload.len() as u32, 0, DIGITS] {
        plain.extend(word.to_be_bytes());
    }
    plain.extend(1_u64.to_be_bytes()); // lowest value that is told from 0
    plain.extend(highest.to_be_bytes());
    plain.extend(1_f64.to_be_bytes()); // whole numbers stand for themselves
    plain.extend(payload);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&plain).expect("writing to memory");
    let deflated = encoder.finish().expect("writing to memory");
    let mut bytes = DEFLATED.to_be_bytes().to_vec();
    bytes.extend((deflated.len() as u32).to_be_bytes());
    bytes.extend(deflated);
    base64(&bytes)
}

/// The place of a value among the counts: 2,048 buckets of width 1, then 1,024 for each
/// further doubling.
fn index(value: u64) -> usize {
    let half = 1_usize << (SUB_BUCKET_BITS - 1);
    let bucket = value.checked_ilog2().unwrap_or(0).saturating_sub(SUB_BUCKET_BITS - 1);
    let sub_bucket = (value >> bucket) as usize;
    bucket as usize * half + sub_bucket
}

/// Counts as zigzag LEB128; a run of zeros is its length, negative.
fn zigzag_runs(counts: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = 0;
    while at < counts.len() {
        let zeros = counts[at..].iter().take_while(|count| **count == 0).count();
        let number = if zeros > 0 { -(zeros as i64) } else { counts[at] as i64 };
        let mut rest = ((number << 1) ^ (number >> 63)) as u64;
        while rest >= 0x80 {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
        at += zeros.max(1);
    }
    bytes
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    /// What the crate that everyone uses makes of our encoding.
    fn decoded(values: &[u64]) -> Histogram<u64> {
        let line = format!("0.000,1.000,1.000,{}\n", encode(values.iter().copied()));
        let entry = IntervalLogIterator::new(line.as_bytes()).next().unwrap().unwrap();
        let LogEntry::Interval(interval) = entry else { panic!("no interval: {line}") };
        let bytes = unbase64(interval.encoded_histogram());
        hdrhistogram::serialization::Deserializer::new().deserialize(&mut &bytes[..]).unwrap()
    }

    fn unbase64(text: &str) -> Vec<u8> {
        let value = |c: u8| match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let letters: Vec<u8> = text.bytes().filter(|c| *c != b'=').collect();
        let group = |four: &[u8]| {
            let word = four.iter().fold(0_u32, |word, c| word << 6 | u32::from(value(*c)));
            let word = word << (6 * (4 - four.len()));
            word.to_be_bytes()[1..four.len()].to_vec()
        };
        letters.chunks(4).flat_map(group).collect()
    }

    #[test]
    fn the_reference_reads_every_bucket_as_its_own() {
        let around = (0..63).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for values in [
            vec![],
            vec![0],
            vec![1, 2, 3, 3, 3],
            vec![2047, 2048, 2049, 4095, 4096, 4097],
            around.collect(),
            (0..5000).map(|nth| nth * nth * 37 % 1_000_003).collect(),
        ] {
            let mut expected = Histogram::<u64>::new(3).unwrap();
            values.iter().for_each(|value| expected.record(*value).unwrap());
            let found = decoded(&values);
            let counts = |of: &Histogram<u64>| -> Vec<(u64, u64)> {
                of.iter_recorded().map(|it| (it.value_iterated_to(), it.count_at_value())).collect()
            };
            assert_eq!(counts(&found), counts(&expected));
            assert_eq!((found.len(), found.sigfig()), (values.len() as u64, 3));
        }
    }

    #[test]
    fn base64_is_padded() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (text, expected) in texts.iter().zip(expected) {
            assert_eq!(base64(text.as_bytes()), expected, "RFC 4648, 10");
        }
    }
}
