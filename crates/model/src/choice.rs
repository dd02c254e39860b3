//! A need that `ipcmark choose` finds a mechanism for: beside the load and its bound, what must hold of a mechanism
//! whatever it measures to. Some of it may be left to the measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mechanism::{Carries, Framing, Traits};

/// The need, without size, load and bound, which any request has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Need {
    /// Messages a second, over all connections.
    pub per_second: u64,
    /// Whether a worker that waits must sleep.
    pub blocking: bool,
    /// What must arrive; None takes either.
    pub bytes: Option<Framing>,
}

/// The error with which a mechanism is said to keep the bound. Of 25 that are 10 % beyond it, and whose launches differ by
/// 30 %, one is picked in 3 % of choices at most, where 2.5 % would make it 7 %.
pub const ERROR: f64 = 0.01;
/// Launches that all keep the bound and make sure of a mechanism with that error.
pub const SURE_LAUNCHES: u64 = 7;

/// Times the rate that is needed that are tried, to find how much more each mechanism can carry. More of them would
/// leave no time for six rounds of all mechanisms in half a minute.
pub const MULTIPLES: [u64; 3] = [1, 2, 4];

impl Need {
    /// The rates that are tried: what is needed, and what is beyond as far as `most`.
    pub fn rates(&self, most: u64) -> Vec<u64> {
        MULTIPLES
            .map(|multiple| multiple * self.per_second)
            .into_iter()
            .filter(|number| *number <= most)
            .collect()
    }

    /// Why a mechanism does not qualify, of which `burns` says whether it busy-waits; None where it may.
    pub fn objection(&self, traits: Traits, burns: bool) -> Option<String> {
        if traits.carries != Carries::Bytes {
            let what = match traits.carries {
                Carries::Signal => "a wake-up alone",
                Carries::Own => "each worker's own message",
                Carries::Nothing | Carries::Bytes => "nothing",
            };
            return Some(format!("carries {what}"));
        }
        if self.blocking && burns {
            return Some("busy-waits, and --blocking was asked".into());
        }
        match self.bytes {
            Some(Framing::Stream) if traits.framing == Framing::Message => {
                Some("carries messages, and --bytes stream was asked".into())
            }
            Some(Framing::Message) if traits.framing == Framing::Stream => {
                Some("carries a stream, and --bytes message was asked".into())
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEED: Need = Need { per_second: 50_000, blocking: false, bytes: None };

    #[test]
    fn only_what_can_qualify_is_measured() {
        let stream = Traits::host(Carries::Bytes, Framing::Stream);
        let message = Traits::host(Carries::Bytes, Framing::Message);
        let signal = Traits::host(Carries::Signal, Framing::Message);
        assert_eq!(NEED.objection(stream, true), None);
        assert!(NEED.objection(signal, false).unwrap().contains("a wake-up"));
        let blocking = Need { blocking: true, ..NEED };
        assert!(blocking.objection(stream, true).unwrap().contains("busy-waits"));
        assert_eq!(blocking.objection(stream, false), None);
        let messages = Need { bytes: Some(Framing::Message), ..NEED };
        assert!(messages.objection(stream, false).unwrap().contains("carries a stream"));
        assert_eq!(messages.objection(message, false), None);
        let streams = Need { bytes: Some(Framing::Stream), ..NEED };
        assert!(streams.objection(message, false).unwrap().contains("carries messages"));
    }

    #[test]
    fn seven_launches_that_agree_are_sure() {
        let sure = |launches: u64| stats::surely_most(launches as usize, launches as usize, ERROR);
        assert!(sure(SURE_LAUNCHES) && !sure(SURE_LAUNCHES - 1));
    }

    #[test]
    fn what_is_needed_is_tried_and_a_few_multiples_of_it() {
        assert_eq!(NEED.rates(10_000_000), [50_000, 100_000, 200_000]);
        assert_eq!(NEED.rates(100_000), [50_000, 100_000]);
    }
}
