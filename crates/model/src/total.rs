//! How much one transfer of a throughput carries before it is acknowledged: the factor that tells
//! bandwidth from a round trip in other units.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::size;

/// What one transfer carries. In JSON a word, or a number of bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Total {
    /// So much that the acknowledgement is hidden; the pilot chooses.
    Long,
    /// One message: each is acknowledged.
    Message,
    /// So many bytes, in whole messages.
    #[serde(untagged)]
    Bytes(u64),
}

impl Total {
    /// Reads `long`, `message`, or a size.
    ///
    /// # Errors
    /// What it isn't, and what to write.
    pub fn parse(word: &str) -> Result<Total, String> {
        match word {
            "long" => Ok(Total::Long),
            "message" => Ok(Total::Message),
            _ => size::parse(word).map(Total::Bytes).map_err(|error| {
                format!("{error}; or message for one message, long for what hides the answer")
            }),
        }
    }

    /// Messages of a transfer of messages of `size` bytes: a total that is no whole number of them
    /// is rounded down. None where the pilot chooses.
    pub fn messages(self, size: u64) -> Option<u64> {
        match self {
            Total::Long => None,
            Total::Message => Some(1),
            Total::Bytes(bytes) => Some((bytes / size).max(1)),
        }
    }

    /// As the store keeps it: `long`, `message`, or a number of bytes.
    pub fn stored(self) -> String {
        match self {
            Total::Bytes(bytes) => bytes.to_string(),
            word => word.to_string(),
        }
    }
}

/// As studies write it: `16M`.
impl fmt::Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Total::Long => f.write_str("long"),
            Total::Message => f.write_str("message"),
            Total::Bytes(bytes) => f.write_str(&size::format(*bytes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_or_a_size_comes_back_from_text_store_and_json() {
        for (word, total, json) in [
            ("long", Total::Long, "\"long\""),
            ("message", Total::Message, "\"message\""),
            ("16M", Total::Bytes(16 << 20), "16777216"),
        ] {
            assert_eq!(Total::parse(word), Ok(total));
            assert_eq!(total.to_string(), word);
            assert_eq!(Total::parse(&total.stored()), Ok(total));
            assert_eq!(serde_json::to_string(&total).unwrap(), json);
            assert_eq!(serde_json::from_str::<Total>(json).unwrap(), total);
        }
        let error = Total::parse("mesage").unwrap_err();
        assert!(error.contains("`mesage`") && error.contains("message for one"), "{error}");
    }

    #[test]
    fn transfers_are_whole_messages() {
        assert_eq!(Total::Message.messages(4096), Some(1));
        assert_eq!(Total::Bytes(10_000).messages(4096), Some(2));
        assert_eq!(Total::Long.messages(4096), None);
    }
}
