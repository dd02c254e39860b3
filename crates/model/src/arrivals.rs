//! How the messages of an open loop arrive: `poisson`, `constant`, `bursts:100@10ms`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration;
use crate::named::as_text;
use crate::rate;

/// A burst of more messages is a transfer.
const LARGEST_BURST: u64 = 100_000;
/// Bursts that are farther apart leave a launch with one.
const LONGEST_NS: u64 = 10_000_000_000;

/// How messages are spread over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Arrivals {
    /// Independently of each other: the times between them are exponential.
    #[default]
    Poisson,
    /// At equal distances. A period that divides the kernel's tick meets the tick each time, or never.
    Constant,
    /// Many at once, and none until the next burst.
    Bursts {
        /// Messages of a burst.
        messages: u64,
        /// From one burst to the next, in ns.
        every_ns: u64,
    },
}

impl Arrivals {
    /// The words that it begins with, the default first.
    pub const WORDS: [&'static str; 3] = ["poisson", "constant", "bursts:"];

    /// Messages a second, in the mean, where that follows from the arrivals; None where it has to be said.
    pub fn per_second(self) -> Option<u64> {
        match self {
            Arrivals::Poisson | Arrivals::Constant => None,
            Arrivals::Bursts { messages, every_ns } => {
                Some((messages as f64 * 1e9 / every_ns as f64).round() as u64)
            }
        }
    }

    /// The least number of messages from `messages` on that leaves no burst in part.
    pub fn whole(self, messages: u64) -> u64 {
        match self {
            Arrivals::Poisson | Arrivals::Constant => messages,
            Arrivals::Bursts { messages: burst, .. } => messages.next_multiple_of(burst),
        }
    }
}

/// As it is written.
impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arrivals::Poisson => f.write_str("poisson"),
            Arrivals::Constant => f.write_str("constant"),
            Arrivals::Bursts { messages, every_ns } => {
                write!(f, "bursts:{messages}@{}", duration::format_ns(*every_ns))
            }
        }
    }
}

impl FromStr for Arrivals {
    type Err = String;

    fn from_str(text: &str) -> Result<Arrivals, String> {
        match text {
            "poisson" => return Ok(Arrivals::Poisson),
            "constant" => return Ok(Arrivals::Constant),
            _ => {}
        }
        let Some((messages, every)) =
            text.strip_prefix("bursts:").and_then(|text| text.split_once('@'))
        else {
            return Err(format!(
                "`{text}`: messages arrive as poisson (independently of each other), constant, or \
                 bursts:100@10ms"
            ));
        };
        let plain = messages.bytes().all(|byte| byte.is_ascii_digit());
        let count =
            messages.parse().ok().filter(|number| plain && (1..=LARGEST_BURST).contains(number));
        let every = humantime::parse_duration(every).ok().map(duration::in_ns);
        let (Some(messages), Some(every_ns)) =
            (count, every.filter(|number| (1..=LONGEST_NS).contains(number)))
        else {
            return Err(format!(
                "`{text}`: write 1 to {LARGEST_BURST} messages and a time up to {}, as in \
                 bursts:100@10ms",
                duration::format_ns(LONGEST_NS)
            ));
        };
        let bursts = Arrivals::Bursts { messages, every_ns };
        let per_second = bursts.per_second().unwrap_or_default();
        match rate::parse(&per_second.to_string()) {
            Ok(_) => Ok(bursts),
            Err(_) => Err(format!(
                "`{text}` comes to {per_second} messages a second: choose bursts that come to {} to {}",
                rate::format(rate::LEAST),
                rate::format(rate::MOST)
            )),
        }
    }
}

as_text!(Arrivals, str::parse);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_read_as_they_are_written() {
        let bursts = Arrivals::Bursts { messages: 100, every_ns: 10_000_000 };
        for (text, arrivals) in [
            ("poisson", Arrivals::Poisson),
            ("constant", Arrivals::Constant),
            ("bursts:100@10ms", bursts),
        ] {
            assert_eq!(text.parse(), Ok(arrivals));
            assert_eq!(serde_json::to_value(arrivals).unwrap(), text);
        }
        assert_eq!(Arrivals::default(), Arrivals::Poisson);
        assert_eq!(bursts.per_second(), Some(10_000));
        let odd = Arrivals::Bursts { messages: 100, every_ns: 3_000_000 };
        assert_eq!(odd.per_second(), Some(33_333), "no whole number");
        assert_eq!((bursts.whole(1), bursts.whole(200), bursts.whole(201)), (100, 200, 300));
        assert_eq!(Arrivals::Constant.whole(7), 7);
    }

    #[test]
    fn what_are_no_arrivals_is_refused_with_the_way_out() {
        for (text, why) in [
            ("periodic", "arrive as poisson"),
            ("bursts", "arrive as poisson"),
            ("bursts:10", "arrive as poisson"),
            ("bursts:0@10ms", "write 1 to 100000 messages"),
            ("bursts:+5@10ms", "write 1 to 100000 messages"),
            ("bursts:100001@1s", "write 1 to 100000 messages"),
            ("bursts:10@", "write 1 to 100000 messages"),
            ("bursts:10@0s", "write 1 to 100000 messages"),
            ("bursts:1000@11s", "a time up to 10s"),
            ("bursts:1@10s", "comes to 0 messages a second"),
            (
                "bursts:100@1us",
                "comes to 100000000 messages a second: choose bursts that come to 10 to 10M",
            ),
        ] {
            let error = text.parse::<Arrivals>().unwrap_err();
            assert!(error.starts_with(&format!("`{text}`")) && error.contains(why), "{error}");
        }
    }
}
