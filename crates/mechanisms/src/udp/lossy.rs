//! `udp:reliability=…`: what the room [`crate::reliable`] has to know of a UDP socket.

use std::io;
use std::net::UdpSocket;

use super::{Udp, datagram_here, is, path, set_failed, window};
use crate::reliable::{DatagramSocket, Plan};
use crate::{Mechanism, OpenError, Options};

/// What recovers lost datagrams with these options; None where a lost one ends the launch.
///
/// # Errors
/// What doesn't go together, and the remedy.
pub fn plan(options: &Options) -> Result<Option<Plan>, OpenError> {
    let plan = Plan::of::<Udp>(options, datagram_here(options))?;
    match ["gso", "gro"].into_iter().find(|text| is(options, text, "on")) {
        Some(name) if plan.is_some() => Err(OpenError::NotApplicable(format!(
            "udp: {name}=on is for fragments: leave it out beside reliability"
        ))),
        _ => Ok(plan),
    }
}

impl DatagramSocket for UdpSocket {
    const NAME: &'static str = Udp::NAME;

    fn header_bytes(&self) -> io::Result<u64> {
        Ok(path::headers(self.local_addr()?.is_ipv6()) as u64)
    }

    fn mtu(&self) -> Option<u32> {
        path::mtu(self).ok()
    }

    fn window(&self, bytes: usize) -> Result<u32, OpenError> {
        window(self, bytes).map_err(set_failed)
    }

    fn without_checksums(&self) -> Result<(), OpenError> {
        let ipv6 = self.peer_addr().is_ok_and(|address| address.is_ipv6());
        sys::socket::without_checksums(self, ipv6)
            .map_err(OpenError::call("setsockopt SO_NO_CHECK"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_headers_below_are_those_of_the_family() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(socket.header_bytes().unwrap(), 20 + 8);
        if let Ok(socket) = UdpSocket::bind("[::1]:0") {
            assert_eq!(socket.header_bytes().unwrap(), 40 + 8);
        }
    }
}
