//! Whether what a mechanism loses on its way takes time to come.

use mechanisms::Variant;
use model::catalogue::{LOSS, RECOVERY};
use model::mechanism::Framing;
use model::route::Route;

/// Whether what a mechanism loses on its way is missed, and sent again perhaps: that takes as long as
/// it takes. Plain datagrams that are lost are given up instead.
pub fn are_waited_for(variant: &Variant, route: &Route) -> bool {
    let chosen = variant.options.chosen();
    let line_loses = matches!(route, Route::Lab(chain) if chain.loses());
    let is_stream = variant.traits().framing == Framing::Stream;
    chosen.contains_key(LOSS) || line_loses && (is_stream || chosen.contains_key(RECOVERY))
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
        assert!(waited("tcp", "lab:loss=5%") && waited("udp:reliability=raptorq", "lab:loss=5%"));
        assert!(!waited("tcp", "lab:delay=1ms") && !waited("udp:reliability=raptorq", "local"));
        assert!(!waited("udp", "lab:loss=5%"), "nobody sends these again");
    }
}
