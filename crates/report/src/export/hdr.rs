//! HdrHistogram's own encoding (V2, deflated, base64), for readers in any language: counts of
//! whole ns in buckets that are at most 0.1 % wide.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

/// Three significant digits: buckets of 0.1 %.
const DIGITS: u8 = 3;

/// Encodes the counts of `values`; they may be in any order.
pub fn encode(values: impl IntoIterator<Item = u64>) -> String {
    let mut counts = Histogram::<u64>::new(DIGITS).expect("up to five digits can be kept");
    for value in values {
        counts.record(value).expect("a histogram that grows takes any value");
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&counts, &mut bytes).expect("writing to memory");
    STANDARD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    /// What a reader of logs makes of the encoding.
    fn decoded(values: &[u64]) -> Histogram<u64> {
        let line = format!("0.000,1.000,1.000,{}\n", encode(values.iter().copied()));
        let entry = IntervalLogIterator::new(line.as_bytes()).next().unwrap().unwrap();
        let LogEntry::Interval(interval) = entry else { panic!("no interval: {line}") };
        let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
        hdrhistogram::serialization::Deserializer::new().deserialize(&mut &bytes[..]).unwrap()
    }

    #[test]
    fn a_reader_of_logs_finds_every_value() {
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
                of.iter_recorded()
                    .map(|value| (value.value_iterated_to(), value.count_at_value()))
                    .collect()
            };
            assert_eq!(counts(&found), counts(&expected));
            assert_eq!((found.len(), found.sigfig()), (values.len() as u64, 3));
        }
    }
}
