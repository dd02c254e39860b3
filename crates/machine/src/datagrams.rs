//! What the kernel counts of UDP in a network namespace (/proc/net/snmp and snmp6, see
//! Documentation/networking/snmp_counter.rst): of all its sockets, ours and others'. Read right before
//! and right after the timed part of a launch.

use std::path::Path;

use model::noise::Traffic;

use super::tree;

/// Reads the counters below `root`, of IPv6 or of IPv4. Never fails.
pub fn udp_counters(root: &Path, ipv6: bool) -> Traffic {
    let path = if ipv6 { "proc/net/snmp6" } else { "proc/net/snmp" };
    let text = tree::text(root, path).unwrap_or_default();
    let of = |group: &str, name: &str| {
        if ipv6 { number6(&text, &format!("{group}6{name}")) } else { number4(&text, group, name) }
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

/// IPv4: a line of names and a line of numbers, both under the group's name.
fn number4(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| {
        let (of, rest) = line.split_once(':')?;
        (of == group).then_some(rest)
    });
    let at = lines.next()?.split_whitespace().position(|word| word == name)?;
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
        let four = udp_counters(root.path(), false);
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
        let six = udp_counters(root.path(), true);
        assert_eq!((six.sent, six.received, six.checksum_errors), (Some(6), Some(5), Some(1)));
        assert_eq!((six.pieces_sent, six.no_port), (Some(9), None));
    }

    #[test]
    fn a_difference_of_what_is_unknown_is_unknown() {
        let root = stored::unpack([("proc/net/snmp", FOUR)]);
        let earlier = udp_counters(root.path(), false);
        let later = Traffic { sent: Some(20), received: None, ..earlier };
        let between = later.since(&earlier);
        assert_eq!((between.sent, between.received, between.no_port), (Some(8), None, Some(0)));
        assert_eq!(earlier.since(&later).sent, None, "it can't go backwards");
        assert_eq!(between.plus(&between).sent, Some(16));
        assert_eq!(udp_counters(Path::new("/nonexistent"), false), Traffic::default());
    }

    #[test]
    fn this_kernel_counts_a_datagram() {
        let before = udp_counters(Path::new("/"), false);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        socket.recv(&mut [0]).unwrap();
        let between = udp_counters(Path::new("/"), false).since(&before);
        assert!(between.sent > Some(0) && between.received > Some(0), "{between:?}");
    }
}
