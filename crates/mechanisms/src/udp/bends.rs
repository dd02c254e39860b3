//! Where the cost of a byte is known to change.

use std::borrow::Cow::Borrowed;

use crate::socket;
use model::bend::{Bend, Length, Only};

/// UDP and IPv4 headers.
const HEADERS: u64 = 8 + 20;

/// What one packet of the path carries.
const DATAGRAM: Length = Length::Less(Borrowed(&[
    Length::Least(Borrowed(&[
        Length::First(Borrowed(&[
            Length::Setting(Borrowed("path_mtu_bytes")),
            Length::Setting(Borrowed("mtu_bytes")),
            Length::Bytes(socket::LOOPBACK_MTU),
        ])),
        Length::Bytes(socket::LARGEST_PACKET),
    ])),
    Length::Bytes(HEADERS),
]));

/// See [`crate::Mechanism::BENDS`].
pub const BENDS: &[Bend] = &[
    socket::SEND_BUFFER,
    socket::HALF_SEND_BUFFER,
    Bend::new(
        "receive buffer, with its accounting",
        Length::setting("receive_buffer_bytes"),
        "granted: SO_RCVBUF",
    ),
    socket::HALF_RECEIVE_BUFFER,
    Bend::new("UDP datagram of the MTU", DATAGRAM, "MTU less headers, ip(7) and udp(7)"),
    Bend::only(
        "datagram sent",
        Length::setting("datagram_bytes"),
        Only::Beside(DATAGRAM),
        "granted: datagram_bytes",
    ),
];
