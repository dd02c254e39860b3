//! Losses as factors: they are options of mechanisms that say how they recover what is lost, and no part of a
//! mechanism's name in a study.

use crate::catalogue::{self, BURST, LOSS};

/// The loss at which nothing is lost.
pub const NONE: &str = "0%";

/// A mechanism without its losses: what a study calls it.
pub fn without(mechanism: &str) -> String {
    let mut options = catalogue::options(mechanism);
    options.retain(|name, _| ![LOSS, BURST].contains(&name.as_str()));
    catalogue::write(catalogue::name(mechanism), &options)
}

/// Whether a mechanism is written with its losses.
pub fn are_in(mechanism: &str) -> bool {
    let options = catalogue::options(mechanism);
    [LOSS, BURST].iter().any(|option| options.contains_key(*option))
}

/// The value of an option of a mechanism, where it is written.
pub fn of(mechanism: &str, option: &str) -> Option<String> {
    catalogue::options(mechanism).remove(option)
}

/// The loss of a mechanism.
pub fn loss(mechanism: &str) -> String {
    of(mechanism, LOSS).unwrap_or_else(|| NONE.into())
}

/// How long its bursts are; None where nothing is lost, which stands for bursts of any length.
pub fn burst(mechanism: &str) -> Option<String> {
    (loss(mechanism) != NONE).then(|| of(mechanism, BURST).unwrap_or_else(|| "1".into()))
}
