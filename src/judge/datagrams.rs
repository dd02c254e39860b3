//! What became of a case's datagrams, launch by launch, and what its messages come to on the wire. Of
//! every launch, the pilot's and failed ones too: those that lost something are the ones to look at.

use serde::Serialize;

use crate::mechanism::{Datagrams, FragmentCounts};
use crate::observe::Traffic;
use crate::store::StoredLaunch;

/// The datagrams of a case.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaunchDatagrams {
    /// Its round; 0 is the pilot.
    pub round: u64,
    /// How it ended.
    pub status: String,
    /// What came to the initiator; null where it ended without a word.
    pub initiator: Option<Datagrams>,
    /// What came to the responder.
    pub responder: Option<Datagrams>,
    /// What the kernel here counted meanwhile.
    pub here: Option<Traffic>,
    /// What the kernel of the other host did.
    pub peer: Option<Traffic>,
}

impl DatagramsSeen {
    /// From all launches of a case; None where none has to do with datagrams.
    pub(super) fn of(launches: &[StoredLaunch], message_bytes: Option<u64>) -> Option<Self> {
        let told = launches.iter().filter(|it| it.record.traffic.is_some());
        let launches: Vec<LaunchDatagrams> = told.clone().map(LaunchDatagrams::of).collect();
        let wire = told.rev().find_map(|it| it.record.granted.get("message_wire_bytes").copied());
        if launches.is_empty() {
            return None;
        }
        let ends = || launches.iter().flat_map(|it| [it.initiator, it.responder]).flatten();
        let traffic = |of: fn(&LaunchDatagrams) -> Option<Traffic>| {
            launches.iter().filter_map(of).reduce(|sum, it| sum.plus(&it))
        };
        let (here, peer) = (traffic(|it| it.here), traffic(|it| it.peer));
        let queue_overflows = ends().filter_map(|it| it.queue_overflows).reduce(|sum, it| sum + it);
        let fragments = ends().filter_map(|it| it.fragments).reduce(plus);
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

fn plus(sum: FragmentCounts, it: FragmentCounts) -> FragmentCounts {
    FragmentCounts {
        received: sum.received + it.received,
        lost: sum.lost + it.lost,
        reordered: sum.reordered + it.reordered,
        duplicated: sum.duplicated + it.duplicated,
    }
}
