//! The load of an open loop: how many messages are due per second, and how many may be under way.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::rate;
use crate::size::parse_list;

/// More messages under way than any queue here holds are a slip.
const DEEPEST: u32 = 4096;

/// What an open loop is asked to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Load {
    /// Messages due per second, in the mean.
    pub per_second: u64,
    /// Messages that may be under way at once; 1 sends none before the answer to the one before it.
    pub depth: u32,
}

impl Load {
    /// What is asked where nothing is said.
    pub const USUAL: Load = Load { per_second: rate::USUAL, depth: 1 };
}

/// As it is written: `10k`, `10k:depth=8`.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&rate::format(self.per_second))?;
        if self.depth == 1 { Ok(()) } else { write!(f, ":depth={}", self.depth) }
    }
}

impl FromStr for Load {
    type Err = String;

    fn from_str(text: &str) -> Result<Load, String> {
        match text.split_once(":depth=") {
            None => Ok(Load { per_second: rate::parse(text)?, depth: 1 }),
            Some((rate, at)) => Ok(Load { per_second: rate::parse(rate)?, depth: depth(at)? }),
        }
    }
}

impl From<Load> for String {
    fn from(load: Load) -> String {
        load.to_string()
    }
}

impl TryFrom<String> for Load {
    type Error = String;

    fn try_from(text: String) -> Result<Load, String> {
        text.parse()
    }
}

/// Messages under way at once.
///
/// # Errors
/// A sentence with the way out.
pub fn depth(text: &str) -> Result<u32, String> {
    let plain = text.bytes().all(|it| it.is_ascii_digit());
    text.parse::<u32>().ok().filter(|it| plain && (1..=DEEPEST).contains(it)).ok_or_else(|| {
        format!("`{text}`: write how many messages may be under way, from 1 to {DEEPEST}")
    })
}

/// A list of rates: `10k`, `1k,5k`, `1k..64k:x2`.
///
/// # Errors
/// A sentence with the way out.
pub fn rates(text: &str) -> Result<Vec<u64>, String> {
    parse_list(text, rate::parse)
}

/// A list of depths: `8`, `1,8,64`, `1..64:x2`.
///
/// # Errors
/// A sentence with the way out.
pub fn depths(text: &str) -> Result<Vec<u32>, String> {
    let one = |text: &str| depth(text).map(u64::from);
    Ok(parse_list(text, one)?.into_iter().map(|it| it as u32).collect())
}

/// Every rate at every depth, rates first.
pub fn product(rates: &[u64], depths: &[u32]) -> Vec<Load> {
    let at = |depth: u32| rates.iter().map(move |it| Load { per_second: *it, depth });
    depths.iter().flat_map(|depth| at(*depth)).collect()
}

/// [`Load::USUAL`], for requests that ask for none.
pub(super) fn usual() -> Vec<Load> {
    vec![Load::USUAL]
}

/// Whether it is what is asked where nothing is said.
pub(super) fn is_usual(loads: &[Load]) -> bool {
    loads == [Load::USUAL]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_they_are_written() {
        for (text, per_second, depth) in [("10k", 10_000, 1), ("1500:depth=64", 1_500, 64)] {
            let load = Load { per_second, depth };
            assert_eq!(text.parse(), Ok(load));
            assert_eq!(load.to_string(), text);
            assert_eq!(serde_json::to_value(load).unwrap(), text);
        }
        for text in ["10k:depth=0", "10k:depth=4097", "10k:depth=+1", "10k:deep=2", "10k:depth="] {
            assert!(text.parse::<Load>().is_err(), "{text}");
        }
    }

    #[test]
    fn lists_and_ranges_are_rates_and_depths() {
        assert_eq!(rates("1k..8k:x2,5k"), Ok(vec![1_000, 2_000, 4_000, 8_000, 5_000]));
        assert_eq!(depths("1..16:x4"), Ok(vec![1, 4, 16]));
        assert!(depths("1..5000").is_err());
        let both = product(&[10, 20], &[1, 2]).iter().map(Load::to_string).collect::<Vec<_>>();
        assert_eq!(both, ["10", "20", "10:depth=2", "20:depth=2"]);
    }
}
