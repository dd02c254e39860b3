//! Times as people write them: `100ms`, `30s`, `5m`. Parsed once, at the door; a time beyond what
//! anybody waits for is a slip.

use std::time::Duration;

const LONGEST_BUDGET: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// Longest warm-up of a launch, and most operations of one.
const LONGEST_WARMUP: Duration = Duration::from_secs(60);
const MOST_OPERATIONS: u64 = 100_000_000;

/// What is done before the first sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// So many operations, however long.
    Operations(u64),
    /// So much time, in ns.
    Time(u64),
}

/// A time of any length.
///
/// # Errors
/// It is none.
pub fn parse(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text)
        .map_err(|_| format!("`{text}` is not a time: write 100ms, 30s, 5m"))
}

/// Nanoseconds, of which 64 bits hold 584 years.
pub fn in_ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// The shortest exact way to write a time of `ns`: `1500ns`, `5us`, `10ms`.
pub fn format_ns(ns: u64) -> String {
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    let fits = |pair: &(&str, u64)| ns.is_multiple_of(pair.1);
    let (unit, scale) = units.into_iter().find(fits).unwrap_or(("ns", 1));
    format!("{}{unit}", ns / scale)
}

/// A time for measuring, which isn't zero.
///
/// # Errors
/// What it is instead, and the remedy.
pub fn budget(text: &str) -> Result<Duration, String> {
    match parse(text)? {
        Duration::ZERO => Err("a budget of 0 measures nothing: write 30s, or 5m".into()),
        time if time > LONGEST_BUDGET => {
            Err(format!("`{text}`: a budget is at most 365days: write 30s, or 5m"))
        }
        time => Ok(time),
    }
}

/// A count of operations, or a time.
///
/// # Errors
/// What it is instead, and the remedy.
pub fn warmup(text: &str) -> Result<Warmup, String> {
    let remedy = "write a number of operations up to 100000000, or a time up to 60s, as in 100ms";
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let operations = text.parse().ok().filter(|number| *number <= MOST_OPERATIONS);
        return operations.map(Warmup::Operations).ok_or_else(|| format!("`{text}`: {remedy}"));
    }
    let time = parse(text).ok().filter(|duration| *duration <= LONGEST_WARMUP);
    time.map(|time| Warmup::Time(in_ns(time))).ok_or_else(|| format!("`{text}`: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_taken_up_to_what_anybody_waits_for() {
        assert_eq!(budget("5m"), Ok(Duration::from_secs(300)));
        assert_eq!(budget("365days"), Ok(LONGEST_BUDGET));
        for (text, why) in [
            ("0s", "of 0"),
            ("366days", "at most 365days"),
            ("600y", "at most"),
            ("99999999999999999999999s", "not a time"),
            ("-1s", "not a time"),
            ("5", "not a time"),
            ("", "not a time"),
        ] {
            assert!(budget(text).unwrap_err().contains(why), "{text}");
        }
        assert_eq!(warmup("100"), Ok(Warmup::Operations(100)));
        assert_eq!(warmup("100ms"), Ok(Warmup::Time(100_000_000)));
        for text in ["", "61s", "600y", "100000001", "18446744073709551616", "-1", "+1", "abc"] {
            assert!(warmup(text).unwrap_err().contains("up to 60s"), "{text}");
        }
    }
}
