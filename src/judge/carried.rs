//! What the ends of a mechanism counted themselves: messages lost and recovered, datagrams and bytes on
//! the wire, bits that flipped. Both ends together, of the whole launch but for what was spared; only
//! bandwidth and CPU time are those of the timed part.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{CaseResult, OverRounds};
use crate::store::StoredLaunch;

/// Sums over all launches.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Carried {
    /// Every count of both ends, by name.
    pub counts: BTreeMap<String, u64>,
    /// Messages lost for good, over those that were due.
    pub residual_loss: Option<Share>,
    /// Bytes on the wire, headers of UDP and IP included, for each byte of payload.
    pub wire_bytes_per_payload_byte: Option<f64>,
    /// Datagrams sent again, for each message sent.
    pub resent_datagrams_per_message: Option<f64>,
}

/// A share with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share.
    pub share: f64,
    /// Lower end of its 95 % interval (Wilson's, of a binomial share).
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Share {
    /// `part` of `all`, each by itself; None of nothing.
    pub(super) fn of(part: u64, all: u64) -> Option<Share> {
        // 97.5 % of a normal distribution lie below it.
        const Z: f64 = 1.959_963_984_540_054;
        if all == 0 {
            return None;
        }
        let (n, share) = (all as f64, part as f64 / all as f64);
        let center = (share + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let variance = share * (1.0 - share) / n + Z * Z / (4.0 * n * n);
        let half = Z / (1.0 + Z * Z / n) * variance.sqrt();
        let ends = (center - half, center + half);
        // Of none the lower end is none, whatever rounding says.
        let low = if part == 0 { 0.0 } else { ends.0.max(0.0) };
        let high = if part == all { 1.0 } else { ends.1.min(1.0) };
        Some(Share { share, low, high })
    }
}

/// What both ends of a launch counted.
struct Told<'a> {
    launch: &'a StoredLaunch,
}

impl Told<'_> {
    fn ends(&self) -> [&BTreeMap<String, u64>; 2] {
        [&self.launch.record.initiator.tally, &self.launch.record.responder.tally]
    }

    fn sum(&self, name: &str) -> u64 {
        self.ends().iter().filter_map(|it| it.get(name)).sum()
    }

    fn over(&self, part: &[&str], all: &str) -> Option<f64> {
        let (part, all) = (part.iter().map(|it| self.sum(it)).sum(), self.sum(all));
        ratio(part, all)
    }
}

fn ratio(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

impl Carried {
    /// Over the launches that were measured; None where nothing was counted.
    pub(super) fn of(launches: &[&StoredLaunch]) -> Option<Carried> {
        let mut counts = BTreeMap::new();
        for launch in launches {
            for end in (Told { launch }).ends() {
                for (name, count) in end {
                    *counts.entry(name.clone()).or_insert(0) += count;
                }
            }
        }
        if counts.is_empty() {
            return None;
        }
        let of = |name: &str| counts.get(name).copied().unwrap_or(0);
        Some(Carried {
            residual_loss: Share::of(of("lost_messages"), of("due_messages")),
            wire_bytes_per_payload_byte: ratio(of("wire_bytes"), of("payload_bytes")),
            resent_datagrams_per_message: ratio(of("resent_datagrams"), of("sent_messages")),
            counts,
        })
    }
}

/// The counts that studies ask for, by round.
pub(super) fn by_round(
    case: &CaseResult,
    launches: &[&StoredLaunch],
) -> BTreeMap<String, OverRounds> {
    let mut found = BTreeMap::new();
    let mut add = |name: &str, of: &dyn Fn(&Told, usize) -> Option<f64>| {
        let mut rounds = vec![None; case.by_round.len()];
        for launch in launches {
            let at = launch.round as usize - 1;
            rounds[at] = of(&Told { launch }, at);
        }
        found.extend(OverRounds::of(rounds).map(|it| (name.to_string(), it)));
    };
    let delivered = |told: &Told| Some(1.0 - told.over(&["lost_messages"], "due_messages")?);
    for (name, parts) in [
        ("residual-loss", &["lost_messages"][..]),
        ("recovered", &["recovered_messages"]),
        ("corrected", &["corrected_messages"]),
        ("detected", &["detected_by_code", "detected_by_checksum"]),
        ("silently-wrong", &["silently_wrong_messages"]),
    ] {
        let known = |told: &Told| {
            parts.iter().any(|part| told.ends().iter().any(|it| it.contains_key(*part)))
        };
        add(name, &|told, _| known(told).then(|| told.over(parts, "due_messages"))?);
    }
    add("resent", &|told, _| told.over(&["resent_datagrams"], "sent_messages"));
    add("wire-overhead", &|told, _| told.over(&["wire_bytes"], "payload_bytes"));
    let bytes = case.message_bytes.unwrap_or(1) as f64;
    if case.workload == "throughput" {
        let carried = |told: &Told, at: usize| {
            Some(bytes * 1e9 / case.by_round[at]? * delivered(told).unwrap_or(1.0))
        };
        add("goodput", &carried);
    }
    // A round trip is a message each way.
    let messages = if case.workload == "throughput" { 1.0 } else { 2.0 };
    add("cpu-per-byte", &|told, _| {
        let record = &told.launch.record;
        let operations = (record.initiator.samples * record.initiator.batch) as f64;
        let usage = [record.initiator.usage, record.responder.usage];
        let ns: u64 = usage.iter().map(|it| it.user_ns + it.system_ns).sum();
        let carried = operations * messages * bytes * delivered(told).unwrap_or(1.0);
        (carried > 0.0 && ns > 0).then(|| ns as f64 / carried)
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_the_interval_of_wilson() {
        // Newcombe (1998), Table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (part, all, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let share = Share::of(part, all).unwrap();
            assert!(
                (share.low - low).abs() < 5e-5 && (share.high - high).abs() < 5e-5,
                "{share:?}"
            );
        }
        assert_eq!(Share::of(0, 0), None);
        assert_eq!(Share::of(7, 7).unwrap().high, 1.0);
    }
}
