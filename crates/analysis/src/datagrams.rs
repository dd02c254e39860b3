//! What became of a case's datagrams, launch by launch, and what its messages come to on the wire. Of
//! every launch, the pilot's and failed ones too: those that lost something are the ones to look at.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::OverRounds;
use model::mechanism::{Datagrams, FragmentCounts};
use model::noise::Traffic;
use store::StoredLaunch;
use study::counted::LOST;

/// The datagrams of a case.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct DatagramsSeen {
    /// Bytes on the wire for each byte of payload, in its direction: our headers of fragments, UDP's
    /// and IP's, those of the kernel's own pieces too. Null where no launch opened.
    pub wire_bytes_per_payload_byte: Option<f64>,
    /// Datagrams dropped because the receive queue of their socket was full, at both ends together.
    pub queue_overflows: Option<u64>,
    /// What became of fragments, at both ends together; null where messages went bare.
    pub fragments: Option<FragmentCounts>,
    /// What the kernel here counted of UDP, of all sockets of the network namespace.
    pub here: Option<Traffic>,
    /// The same on the other host.
    pub peer: Option<Traffic>,
    /// Launch by launch.
    pub launches: Vec<LaunchDatagrams>,
}

/// The datagrams of one launch.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct LaunchDatagrams {
    /// Its round; 0 is the pilot.
    pub round: u64,
    /// How it ended.
    pub status: String,
    /// What the initiator received; null where it ended without a report.
    pub initiator: Option<Datagrams>,
    /// What the responder received.
    pub responder: Option<Datagrams>,
    /// What the kernel here counted meanwhile.
    pub here: Option<Traffic>,
    /// What the kernel of the other host did.
    pub peer: Option<Traffic>,
}

impl DatagramsSeen {
    /// From all launches of a case; None where none has to do with datagrams.
    pub(super) fn of(launches: &[StoredLaunch], message_bytes: Option<u64>) -> Option<Self> {
        let counted = launches.iter().filter(|launch| launch.record.traffic.is_some());
        let launches: Vec<LaunchDatagrams> = counted.clone().map(LaunchDatagrams::of).collect();
        let wire = counted
            .rev()
            .find_map(|launch| launch.record.effective_settings.get("message_wire_bytes").copied());
        if launches.is_empty() {
            return None;
        }
        let ends =
            || launches.iter().flat_map(|launch| [launch.initiator, launch.responder]).flatten();
        let traffic = |of: fn(&LaunchDatagrams) -> Option<Traffic>| {
            launches.iter().filter_map(of).reduce(|sum, traffic| sum.plus(&traffic))
        };
        let (here, peer) =
            (traffic(|datagrams| datagrams.here), traffic(|datagrams| datagrams.peer));
        let queue_overflows =
            ends().filter_map(|end| end.queue_overflows).reduce(|sum, number| sum + number);
        let fragments = ends().filter_map(|end| end.fragments).reduce(plus);
        let wire_bytes_per_payload_byte =
            wire.zip(message_bytes).map(|(wire, bytes)| wire as f64 / bytes as f64);
        Some(DatagramsSeen {
            wire_bytes_per_payload_byte,
            queue_overflows,
            fragments,
            here,
            peer,
            launches,
        })
    }
}

impl DatagramsSeen {
    /// How many launches failed, pilots among them.
    pub fn launches_failed(&self) -> u64 {
        self.launches.iter().filter(|launch| launch.status != "ok").count() as u64
    }

    /// The launches of its rounds; of a case that was given up after its pilot, that one.
    fn counting(&self) -> impl Iterator<Item = &LaunchDatagrams> {
        let given_up = self.launches.iter().all(|launch| launch.round == 0);
        self.launches.iter().filter(move |launch| given_up || launch.round > 0)
    }

    /// How many launches failed, of how many.
    pub fn failed(&self) -> (u64, u64) {
        let failed = self.counting().filter(|datagrams| datagrams.status != "ok").count();
        (failed as u64, self.counting().count() as u64)
    }

    /// What studies ask for by the names of [`LOST`].
    pub(super) fn lost(&self) -> BTreeMap<String, OverRounds> {
        let mut found = BTreeMap::new();
        let by_round = |of: &dyn Fn(&LaunchDatagrams) -> Option<f64>| {
            let last = self.launches.iter().map(|launch| launch.round as usize).max().unwrap_or(0);
            let mut rounds = vec![None; last];
            for launch in self.launches.iter().filter(|launch| launch.round > 0) {
                rounds[launch.round as usize - 1] = of(launch);
            }
            rounds
        };
        let (failed, all) = self.failed();
        found.extend(stats::binomial_share(failed, all).map(|binomial_share| {
            let by_round = by_round(&|datagrams| Some(f64::from(datagrams.status != "ok")));
            (
                LOST[0].to_string(),
                OverRounds::share(binomial_share.share, Some(binomial_share), by_round),
            )
        }));
        let share = |datagrams: &LaunchDatagrams| {
            let ends = [datagrams.initiator, datagrams.responder].into_iter().flatten();
            let of = ends.filter_map(|end| end.fragments).reduce(plus)?;
            stats::binomial_share(of.lost, of.lost + of.received)
                .map(|binomial_share| binomial_share.share)
        };
        found.extend(OverRounds::of(by_round(&share)).map(|rounds| (LOST[1].to_string(), rounds)));
        found
    }
}

impl LaunchDatagrams {
    fn of(launch: &StoredLaunch) -> LaunchDatagrams {
        let record = &launch.record;
        LaunchDatagrams {
            round: launch.round,
            status: launch.status.clone(),
            initiator: record.initiator.datagrams,
            responder: record.responder.datagrams,
            here: record.traffic,
            peer: record.far.as_ref().and_then(|far| far.traffic),
        }
    }
}

fn plus(sum: FragmentCounts, counts: FragmentCounts) -> FragmentCounts {
    FragmentCounts {
        received: sum.received + counts.received,
        lost: sum.lost + counts.lost,
        reordered: sum.reordered + counts.reordered,
        duplicated: sum.duplicated + counts.duplicated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(launches: &[(u64, &str, u64)]) -> DatagramsSeen {
        let launch = |(round, status, lost): &(u64, &str, u64)| LaunchDatagrams {
            round: *round,
            status: status.to_string(),
            initiator: None,
            responder: Some(Datagrams {
                queue_overflows: None,
                fragments: Some(FragmentCounts { received: 9, lost: *lost, ..Default::default() }),
            }),
            here: None,
            peer: None,
        };
        DatagramsSeen {
            wire_bytes_per_payload_byte: None,
            queue_overflows: None,
            fragments: None,
            here: None,
            peer: None,
            launches: launches.iter().map(launch).collect(),
        }
    }

    #[test]
    fn what_failed_is_a_share_of_the_launches_of_rounds() {
        let seen = seen(&[(0, "failed", 0), (1, "ok", 0), (2, "failed", 1), (4, "ok", 0)]);
        assert_eq!(seen.failed(), (1, 3), "the pilot is none of them");
        let lost = seen.lost();
        let failed = &lost["failed-launches"];
        assert_eq!(failed.by_round, [Some(0.0), Some(1.0), None, Some(0.0)]);
        assert!((failed.median - 1.0 / 3.0).abs() < 1e-12 && failed.interval.low.unwrap() > 0.0);
        assert_eq!(lost["fragments-lost"].by_round, [Some(0.0), Some(0.1), None, Some(0.0)]);
    }

    #[test]
    fn a_case_given_up_after_its_pilot_failed() {
        let seen = seen(&[(0, "failed", 3)]);
        assert_eq!(seen.failed(), (1, 1));
        assert_eq!(seen.lost()["failed-launches"].median, 1.0);
    }
}
