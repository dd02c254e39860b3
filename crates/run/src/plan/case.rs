//! A case that is about to be measured: with its mechanism at hand.

use mechanisms::Variant;
use model::catalogue::{FLIPS, LOSS, NODELAY, RECOVERY};
use model::mechanism::Framing;
use model::route::Route;
use workload::connect;

/// One combination of factor levels, with its mechanism at hand.
pub type Case = model::case::Case<Variant>;

/// What only its mechanism knows of a case.
pub trait WithMechanism: Sized {
    /// Bytes of the largest message that the mechanism is opened for: a request, or its answer.
    fn opened_for(&self) -> usize;

    /// Bytes of a message that is sent, and of its answer unless the load says otherwise; of a set-up, those that
    /// the mechanism is opened for. 1 where messages have no size.
    fn request_bytes(&self) -> usize;

    fn kept(&self) -> model::case::Case;

    /// A case as it was kept; None where its variant is none of this build's.
    fn of_kept(kept: &model::case::Case) -> Option<Self>;
}

impl WithMechanism for Case {
    fn opened_for(&self) -> usize {
        let response = self.load.and_then(|load| load.response).unwrap_or(0);
        self.request_bytes().max(response as usize)
    }

    fn request_bytes(&self) -> usize {
        let sized = self.variant.traits().carries.has_size();
        match self.message_bytes {
            Some(bytes) => bytes as usize,
            None if sized && self.workload.traits().sets_up => connect::OPENED_FOR as usize,
            None => 1,
        }
    }

    fn kept(&self) -> model::case::Case {
        self.with(Variant::to_string)
    }

    fn of_kept(kept: &model::case::Case) -> Option<Case> {
        let variant = Variant::parse(&kept.variant).ok()?;
        Some(kept.with(|_| variant))
    }
}

/// Whether what a mechanism loses on its way is missed, and sent again perhaps: that takes as long as
/// it takes. Plain datagrams that are lost are given up instead.
pub fn are_waited_for(variant: &Variant, route: &Route) -> bool {
    let chosen = variant.options.chosen();
    let line_loses = matches!(route, Route::Lab(chain) if chain.loses());
    let is_stream = variant.traits().framing == Framing::Stream;
    let loses = chosen.contains_key(LOSS) || chosen.contains_key(FLIPS);
    loses || line_loses && (is_stream || chosen.contains_key(RECOVERY))
}

/// Whether the last segment of a transfer may wait for an acknowledgement that its receiver delays, 40 ms on Linux.
pub fn are_held_back(variant: &Variant) -> bool {
    variant.options.chosen().get(NODELAY).is_some_and(|word| word == "off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_waited_for_by_whoever_misses_them() {
        let waited = |mechanism: &str, route: &str| {
            let variant = Variant::parse(mechanism).unwrap();
            are_waited_for(&variant, &Route::parse_list(route).unwrap()[0])
        };
        assert!(waited("udp:loss=5%,reliability=none", "local"));
        assert!(waited("udp:flips=1e-3,reliability=none", "local"));
        assert!(waited("tcp", "lab:loss=5%") && waited("udp:reliability=raptorq", "lab:loss=5%"));
        assert!(!waited("tcp", "lab:delay=1ms") && !waited("udp:reliability=raptorq", "local"));
        assert!(!waited("udp", "lab:loss=5%"), "nobody sends these again");
    }
}
