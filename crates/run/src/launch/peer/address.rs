//! Which of the other host's addresses to use: loopback where both are one network stack; else the
//! one at which the command reached it; else one of a network that both are in; else one to which
//! there is a way.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::{FarHost, boot_id, network};
use model::peer::Address;
use sys::network::addresses;

/// The address of `far`, or why there is none.
pub fn learned(far: &FarHost, ipv6: bool) -> Result<IpAddr, String> {
    if boot_id().is_some() && far.host.boot_id == boot_id() && far.network == network() {
        return Ok(if ipv6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() });
    }
    let here = addresses().map_err(|error| format!("getifaddrs: {error}"))?;
    chosen(&here, far, ipv6, has_way)
}

/// Whether this host knows a way to `address`. Nothing is sent: connecting a datagram socket only
/// looks the way up.
fn has_way(address: IpAddr) -> bool {
    let own: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let connected =
        UdpSocket::bind((own, 0)).and_then(|it| it.connect(SocketAddr::new(address, 9)));
    connected.is_ok()
}

fn chosen(
    here: &[Address],
    far: &FarHost,
    ipv6: bool,
    has_way: impl Fn(IpAddr) -> bool,
) -> Result<IpAddr, String> {
    let ours = |it: IpAddr| here.iter().any(|own| own.address == it);
    let fits = |it: &IpAddr| it.is_ipv6() == ipv6 && !ours(*it);
    let theirs: Vec<IpAddr> =
        far.addresses.iter().map(|it| it.address).filter(|it| fits(it)).collect();
    let reached = far.reached_at.filter(|it| fits(it) && theirs.contains(it));
    let beside = || theirs.iter().find(|it| here.iter().any(|own| own.is_beside(**it)));
    let routed = || theirs.iter().find(|it| has_way(**it));
    reached.or_else(|| beside().copied()).or_else(|| routed().copied()).ok_or_else(|| {
        let family = if ipv6 { "IPv6" } else { "IPv4" };
        format!("no {family} address of the peer can be reached: name one with --peer-address")
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use model::host::Host;

    fn far(addresses: &[&str], reached: Option<&str>) -> FarHost {
        let (kind, why) = clock::choose(Path::new("/nonexistent"));
        FarHost {
            host: Host::default(),
            clock: clock::measure(kind, why).1,
            addresses: addresses.iter().map(|it| address(it)).collect(),
            reached_at: reached.map(|it| it.parse().unwrap()),
            network: None,
            allowed_cpus: vec![0],
        }
    }

    fn address(text: &str) -> Address {
        let (address, prefix) = text.split_once('/').unwrap();
        Address { address: address.parse().unwrap(), prefix: prefix.parse().unwrap() }
    }

    #[test]
    fn the_nearest_address_is_chosen_and_never_one_of_our_own() {
        let here = [address("172.17.0.1/16"), address("10.0.0.1/24"), address("fd00::1/64")];
        let theirs = ["172.17.0.1/16", "203.0.113.7/24", "10.0.0.2/24", "fd00::2/64"];
        let of = |reached, ipv6| {
            chosen(&here, &far(&theirs, reached), ipv6, |_| false).map(|it| it.to_string())
        };
        assert_eq!(of(None, false).unwrap(), "10.0.0.2");
        assert_eq!(of(None, true).unwrap(), "fd00::2");
        assert_eq!(of(Some("203.0.113.7"), false).unwrap(), "203.0.113.7");
        assert_eq!(of(Some("203.0.113.7"), true).unwrap(), "fd00::2");
        // What the command reached isn't the host's own: somebody translates addresses.
        assert_eq!(of(Some("198.51.100.1"), false).unwrap(), "10.0.0.2");
    }

    #[test]
    fn a_way_will_do_and_none_is_told_with_the_way_out() {
        let here = [address("10.0.0.1/24")];
        let far = far(&["203.0.113.7/24"], None);
        assert_eq!(chosen(&here, &far, false, |_| true).unwrap().to_string(), "203.0.113.7");
        let none = chosen(&here, &far, false, |_| false).unwrap_err();
        assert!(none.contains("IPv4") && none.ends_with("--peer-address"), "{none}");
        assert!(chosen(&here, &far, true, |_| true).unwrap_err().contains("IPv6"));
    }
}
