//! The path of a socket's datagrams: how large a packet it takes, how large a datagram fits one, and
//! what a message comes to on the wire. The figures are those of packets that nobody has joined:
//! what the kernel hands over at once on a loopback or to a device (`gso`) counts as if it were cut.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

/// Bytes of a UDP header (udp(7)).
const UDP: usize = 8;

/// The header of a packet without options; and what each piece of a packet has that was cut: IPv6 has
/// a header of its own for it (RFC 8200, 4.5).
fn ip_headers(ipv6: bool) -> (usize, usize) {
    if ipv6 { (40, 48) } else { (20, 20) }
}

/// Bytes of all headers of a datagram that goes as one packet.
pub fn headers(ipv6: bool) -> usize {
    ip_headers(ipv6).0 + UDP
}

/// The largest datagram that goes as one packet of at most `mtu` bytes.
pub fn whole(mtu: u32, ipv6: bool) -> usize {
    (mtu as usize).saturating_sub(headers(ipv6))
}

/// The largest packet on the way from a connected socket, as far as the kernel knows.
pub fn mtu(socket: &UdpSocket) -> io::Result<u32> {
    sys::socket::path_mtu(socket, socket.peer_addr()?.is_ipv6())
}

/// The same on the way to `to`. Nothing is sent: connecting a datagram socket only looks the way up.
pub fn mtu_to(to: IpAddr) -> io::Result<u32> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    connect(&socket, &SocketAddr::new(to, 9))?;
    sys::socket::path_mtu(socket, to.is_ipv6())
}

/// How messages lie in datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Laid {
    Bare,
    /// As fragments in datagrams of so many bytes, of which each begins with a `header` of ours.
    Cut {
        datagram: usize,
        header: usize,
    },
}

/// Bytes on the wire of a message of `bytes`: the message, our headers of its fragments, and for each
/// datagram those of UDP and of all the IP packets that it takes. A link's own frames are not in it,
/// nor what goes the other way (credits, acknowledgements).
pub fn wire_bytes(bytes: usize, laid: Laid, mtu: u32, ipv6: bool) -> usize {
    match laid {
        Laid::Bare => packets(bytes, mtu, ipv6),
        Laid::Cut { datagram, header } => {
            let payload = datagram - header;
            let (full, rest) = (bytes / payload, bytes % payload);
            let last = if rest > 0 { packets(rest + header, mtu, ipv6) } else { 0 };
            full * packets(datagram, mtu, ipv6) + last
        }
    }
}

/// Bytes of the packets of one datagram of `bytes`.
fn packets(bytes: usize, mtu: u32, ipv6: bool) -> usize {
    let (header, of_piece) = ip_headers(ipv6);
    let (carried, mtu) = (bytes + UDP, mtu as usize);
    if carried + header <= mtu {
        return carried + header;
    }
    // Pieces are cut at multiples of eight bytes (ip_append_data).
    let piece = (mtu.saturating_sub(of_piece) / 8 * 8).max(8);
    carried + carried.div_ceil(piece) * of_piece
}

/// The effective settings of a path, and of a message on it: none where the kernel doesn't know its MTU.
pub fn effective_settings(
    socket: &UdpSocket,
    message_bytes: usize,
    laid: Laid,
) -> Vec<(String, u64)> {
    let (Ok(mtu), Ok(to)) = (mtu(socket), socket.peer_addr()) else { return Vec::new() };
    let wire = wire_bytes(message_bytes, laid, mtu, to.is_ipv6());
    vec![("path_mtu_bytes".into(), mtu.into()), ("message_wire_bytes".into(), wire as u64)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_ethernet_carries_what_every_book_says() {
        assert_eq!((whole(1500, false), whole(1500, true)), (1472, 1452));
        assert_eq!((whole(65_536, false), whole(65_536, true)), (65_508, 65_488));
        assert_eq!(whole(20, false), 0);
    }

    #[test]
    fn every_header_is_counted_once() {
        let of = |bytes, laid, mtu, ipv6| wire_bytes(bytes, laid, mtu, ipv6);
        let cut = |datagram| Laid::Cut { datagram, header: 8 };
        assert_eq!(of(64, Laid::Bare, 1500, false), 64 + 8 + 20);
        assert_eq!(of(64, Laid::Bare, 1500, true), 64 + 8 + 40);
        // Whole, and one byte more: the kernel makes two packets of it.
        assert_eq!(of(1472, Laid::Bare, 1500, false), 1500);
        assert_eq!(of(1473, Laid::Bare, 1500, false), 1473 + 8 + 2 * 20);
        assert_eq!(of(1453, Laid::Bare, 1500, true), 1453 + 8 + 2 * 48);
        // 65,507 + 8 bytes in packets of 1,480.
        assert_eq!(of(65_507, Laid::Bare, 1500, false), 65_515 + 45 * 20);
        // Ours: two full ones of 1,464 bytes, and one of 72.
        assert_eq!(of(3000, cut(1472), 1500, false), 3000 + 3 * (8 + 8 + 20));
        assert_eq!(of(2928, cut(1472), 1500, false), 2928 + 2 * (8 + 8 + 20));
        // Ours and the kernel's: each of 8,192 bytes is cut into six again.
        assert_eq!(of(8184, cut(8192), 1500, false), 8200 + 6 * 20);
    }

    #[test]
    fn the_way_to_oneself_is_known() {
        let mtu = mtu_to("127.0.0.1".parse().unwrap()).unwrap();
        assert!(mtu >= 1280, "{mtu}");
    }
}
