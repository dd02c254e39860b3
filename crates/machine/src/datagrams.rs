//! What the kernel counts of UDP in a network namespace (/proc/net/snmp and snmp6, see
//! Documentation/networking/snmp_counter.rst): of all its sockets, ours and others'. Read right before
//! and right after the timed part of a launch.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::tree;

/// The counters of one family of addresses since the namespace was made; or, as a difference, what
/// happened between two snapshots. `None` where a counter isn't there or couldn't be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Datagrams sent (OutDatagrams).
    pub sent: Option<u64>,
    /// Datagrams that somebody received (InDatagrams): what waits in a queue isn't in it yet.
    pub received: Option<u64>,
    /// Datagrams for a port that nobody had (NoPorts).
    pub no_port: Option<u64>,
    /// Datagrams that were dropped on arrival, for whatever reason (InErrors): the next two are in it.
    pub receive_errors: Option<u64>,
    /// Those whose socket's receive queue was full (RcvbufErrors).
    pub receive_queue_errors: Option<u64>,
    /// Those whose checksum was wrong (InCsumErrors).
    pub checksum_errors: Option<u64>,
    /// Datagrams that found no room to be sent (SndbufErrors).
    pub send_queue_errors: Option<u64>,
    /// Packets into which the kernel cut larger ones (FragCreates), of any protocol.
    pub pieces_sent: Option<u64>,
    /// Packets that couldn't be put together again (ReasmFails), of any protocol.
    pub reassembly_failures: Option<u64>,
}

impl Traffic {
    /// Reads the counters below `root`, of IPv6 or of IPv4. Never fails.
    pub fn read(root: &Path, ipv6: bool) -> Traffic {
        let path = if ipv6 { "proc/net/snmp6" } else { "proc/net/snmp" };
        let text = tree::text(root, path).unwrap_or_default();
        let of = |group: &str, name: &str| match ipv6 {
            true => number6(&text, &format!("{group}6{name}")),
            false => number4(&text, group, name),
        };
        let udp = |name| of("Udp", name);
        Traffic {
            sent: udp("OutDatagrams"),
            received: udp("InDatagrams"),
            no_port: udp("NoPorts"),
            receive_errors: udp("InErrors"),
            receive_queue_errors: udp("RcvbufErrors"),
            checksum_errors: udp("InCsumErrors"),
            send_queue_errors: udp("SndbufErrors"),
            pieces_sent: of("Ip", "FragCreates"),
            reassembly_failures: of("Ip", "ReasmFails"),
        }
    }

    /// What happened since an earlier snapshot.
    pub fn since(&self, earlier: &Traffic) -> Traffic {
        self.with(earlier, |now, then| now.checked_sub(then))
    }

    /// Both together.
    pub fn plus(&self, other: &Traffic) -> Traffic {
        self.with(other, |one, other| one.checked_add(other))
    }

    fn with(&self, other: &Traffic, of: impl Fn(u64, u64) -> Option<u64>) -> Traffic {
        let of = |one: Option<u64>, other: Option<u64>| of(one?, other?);
        Traffic {
            sent: of(self.sent, other.sent),
            received: of(self.received, other.received),
            no_port: of(self.no_port, other.no_port),
            receive_errors: of(self.receive_errors, other.receive_errors),
            receive_queue_errors: of(self.receive_queue_errors, other.receive_queue_errors),
            checksum_errors: of(self.checksum_errors, other.checksum_errors),
            send_queue_errors: of(self.send_queue_errors, other.send_queue_errors),
            pieces_sent: of(self.pieces_sent, other.pieces_sent),
            reassembly_failures: of(self.reassembly_failures, other.reassembly_failures),
        }
    }
}

/// IPv4: a line of names and a line of numbers, both under the group's name.
fn number4(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| {
        let (of, rest) = line.split_once(':')?;
        (of == group).then_some(rest)
    });
    let at = lines.next()?.split_whitespace().position(|it| it == name)?;
    lines.next()?.split_whitespace().nth(at)?.parse().ok()
}

/// IPv6: a name and a number a line.
fn number6(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    let mut line = lines.find_map(|mut line| (line.next() == Some(name)).then_some(line))?;
    line.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored;

    const FOUR: &str = "Ip: Forwarding FragCreates ReasmFails\nIp: 1 45 2\n\
        UdpLite: InDatagrams\nUdpLite: 77\n\
        Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors\n\
        Udp: 10 1 7 12 4 0 3\n";
    const SIX: &str = "Ip6FragCreates                  \t9\nUdp6InDatagrams   \t5\n\
        Udp6OutDatagrams                \t6\nUdp6InCsumErrors   \t1\nUdpLite6OutDatagrams\t99\n";

    #[test]
    fn both_families_are_read_by_name() {
        let root = stored::unpack([("proc/net/snmp", FOUR), ("proc/net/snmp6", SIX)]);
        let four = Traffic::read(root.path(), false);
        let expected = Traffic {
            sent: Some(12),
            received: Some(10),
            no_port: Some(1),
            receive_errors: Some(7),
            receive_queue_errors: Some(4),
            checksum_errors: Some(3),
            send_queue_errors: Some(0),
            pieces_sent: Some(45),
            reassembly_failures: Some(2),
        };
        assert_eq!(four, expected);
        let six = Traffic::read(root.path(), true);
        assert_eq!((six.sent, six.received, six.checksum_errors), (Some(6), Some(5), Some(1)));
        assert_eq!((six.pieces_sent, six.no_port), (Some(9), None));
    }

    #[test]
    fn a_difference_of_what_is_unknown_is_unknown() {
        let root = stored::unpack([("proc/net/snmp", FOUR)]);
        let earlier = Traffic::read(root.path(), false);
        let later = Traffic { sent: Some(20), received: None, ..earlier };
        let between = later.since(&earlier);
        assert_eq!((between.sent, between.received, between.no_port), (Some(8), None, Some(0)));
        assert_eq!(earlier.since(&later).sent, None, "it can't go backwards");
        assert_eq!(between.plus(&between).sent, Some(16));
        assert_eq!(Traffic::read(Path::new("/nonexistent"), false), Traffic::default());
    }

    #[test]
    fn this_kernel_counts_a_datagram() {
        let before = Traffic::read(Path::new("/"), false);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        socket.recv(&mut [0]).unwrap();
        let between = Traffic::read(Path::new("/"), false).since(&before);
        assert!(between.sent > Some(0) && between.received > Some(0), "{between:?}");
    }
}
