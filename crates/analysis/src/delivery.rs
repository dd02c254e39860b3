//! What the ends of a mechanism counted themselves: messages lost and recovered, datagrams and bytes on
//! the wire, bits that flipped. Both ends together, of the whole launch but for what was spared; only
//! bandwidth and CPU time are those of the timed part.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CaseResult, OverRounds, energy};
use stats::{Share, binomial_share, clustered_share};
use store::{StoredLaunch, StoredRound};

/// Sums over all launches.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct DeliveryCounters {
    /// Every count of both ends, by name.
    pub counts: BTreeMap<String, u64>,
    /// Messages lost for good, over those that were due; of few launches with the interval of a
    /// binomial share.
    pub residual_loss: Option<Share>,
    /// Bytes on the wire, headers of UDP and IP included, for each byte of payload.
    pub wire_bytes_per_payload_byte: Option<f64>,
    /// Datagrams sent again, for each message sent.
    pub resent_datagrams_per_message: Option<f64>,
}

/// What both ends of a launch counted.
struct LaunchCounters<'a> {
    launch: &'a StoredLaunch,
}

impl LaunchCounters<'_> {
    fn ends(&self) -> [&BTreeMap<String, u64>; 2] {
        [
            &self.launch.record.initiator.delivery_counts,
            &self.launch.record.responder.delivery_counts,
        ]
    }

    fn sum(&self, name: &str) -> u64 {
        self.ends().iter().filter_map(|end| end.get(name)).sum()
    }

    fn both(&self, part: &[&str], all: &str) -> (u64, u64) {
        (part.iter().map(|part| self.sum(part)).sum(), self.sum(all))
    }

    fn over(&self, part: &[&str], all: &str) -> Option<f64> {
        let (part, all) = self.both(part, all);
        ratio(part, all)
    }

    fn knows(&self, parts: &[&str]) -> bool {
        parts.iter().any(|part| self.ends().iter().any(|end| end.contains_key(*part)))
    }
}

fn ratio(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 / all as f64)
}

impl DeliveryCounters {
    /// Over the launches that were measured; None where nothing was counted.
    pub(super) fn of(launches: &[&StoredLaunch]) -> Option<DeliveryCounters> {
        let mut counts = BTreeMap::new();
        for launch in launches {
            for end in (LaunchCounters { launch }).ends() {
                for (name, count) in end {
                    *counts.entry(name.clone()).or_insert(0) += count;
                }
            }
        }
        if counts.is_empty() {
            return None;
        }
        let of = |name: &str| counts.get(name).copied().unwrap_or(0);
        let lost = launches.iter().map(|launch| {
            let counters = LaunchCounters { launch };
            (counters.sum("lost_messages"), counters.sum("due_messages"))
        });
        let lost: Vec<(u64, u64)> = lost.collect();
        Some(DeliveryCounters {
            residual_loss: clustered_share(&lost)
                .or_else(|| binomial_share(of("lost_messages"), of("due_messages"))),
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
    rounds: &[StoredRound],
) -> BTreeMap<String, OverRounds> {
    let mut found = BTreeMap::new();
    let rounds_of = |of: &dyn Fn(&LaunchCounters, usize) -> Option<f64>| {
        let mut rounds = vec![None; case.by_round.len()];
        for launch in launches {
            let at = launch.round as usize - 1;
            rounds[at] = of(&LaunchCounters { launch }, at);
        }
        rounds
    };
    for (name, parts) in [
        ("residual-loss", &["lost_messages"][..]),
        ("recovered", &["recovered_messages"]),
        ("corrected", &["corrected_messages"]),
        ("detected", &["detected_by_code", "detected_by_checksum"]),
        ("silently-wrong", &["silently_wrong_messages"]),
    ] {
        let known: Vec<LaunchCounters> =
            launches.iter().map(|launch| LaunchCounters { launch }).collect();
        let known = known.iter().filter(|counters| counters.knows(parts));
        let counts: Vec<(u64, u64)> =
            known.map(|counters| counters.both(parts, "due_messages")).collect();
        let rounds = rounds_of(&|counters, _| {
            counters.knows(parts).then(|| counters.over(parts, "due_messages"))?
        });
        found.extend(OverRounds::of_share(rounds, &counts).map(|share| (name.to_string(), share)));
    }
    let delivered =
        |counters: &LaunchCounters| Some(1.0 - counters.over(&["lost_messages"], "due_messages")?);
    let mut add = |name: &str, of: &dyn Fn(&LaunchCounters, usize) -> Option<f64>| {
        found.extend(OverRounds::of(rounds_of(of)).map(|rounds| (name.to_string(), rounds)));
    };
    add("resent", &|counters, _| counters.over(&["resent_datagrams"], "sent_messages"));
    add("wire-overhead", &|counters, _| counters.over(&["wire_bytes"], "payload_bytes"));
    let bytes = case.message_bytes.unwrap_or(1) as f64;
    let is_transfer = case.metric.is_transfer();
    if is_transfer {
        let carried = |counters: &LaunchCounters, at: usize| {
            Some(bytes * 1e9 / case.by_round[at]? * delivered(counters).unwrap_or(1.0))
        };
        add("goodput", &carried);
    }
    // A round trip is a message each way, and its responder's time is that of the lead too.
    let messages = case.messages() as f64;
    add("cpu-per-byte", &|counters, _| {
        let [near, far] = [&counters.launch.record.initiator, &counters.launch.record.responder];
        let operations = (near.samples * near.batch) as f64;
        let led = if is_transfer { 0.0 } else { near.lead_operations as f64 };
        let of_timed = operations / (operations + led);
        let [mine, its] =
            [&near.usage, &far.usage].map(|usage| (usage.user_ns + usage.system_ns) as f64);
        let ns = mine + its * of_timed;
        let carried = operations * messages * bytes * delivered(counters).unwrap_or(1.0);
        (carried > 0.0 && ns > 0.0).then(|| ns / carried)
    });
    add("server-cpus", &|counters, _| counters.launch.record.server_cpus());
    add("microjoules", &|counters, _| {
        Some(1e6 * energy::of_launch(counters.launch, rounds, case.group)?)
    });
    found
}
