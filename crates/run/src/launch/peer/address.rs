//! By which address one host reaches another: loopback where both are one network stack; else one of the
//! network that was named; else the one at which a command reached it; else one of a network that both are
//! in; else one to which there is a way.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::FarHost;
use model::peer::Address;
use sys::identity::{boot, namespace};
use sys::network::addresses;

/// A network as it is named: `10.1.0.0/16`.
///
/// # Errors
/// What it is instead.
pub fn network(text: &str) -> Result<Address, String> {
    let wrong = || format!("`{text}` is no network: write one as in 10.1.0.0/16");
    let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv6() { 128 } else { 32 };
    let prefix: u8 = prefix.parse().ok().filter(|byte| *byte <= most).ok_or_else(wrong)?;
    Ok(Address { address, prefix })
}

/// The host that looks for a way to another.
struct Near<'a> {
    boot_id: Option<&'a String>,
    /// Its network stack: comparable on one boot only.
    stack: Option<u64>,
    addresses: &'a [Address],
}

impl Near<'_> {
    /// Loopback, where both are one network stack.
    fn loopback(&self, far: &FarHost, ipv6: bool) -> Option<IpAddr> {
        let one_kernel = self.boot_id.is_some() && self.boot_id == far.host.boot_id.as_ref();
        let one_stack = one_kernel && self.stack.is_some() && self.stack == far.network;
        let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        one_stack.then_some(loopback[usize::from(ipv6)])
    }

    /// The addresses of the other host, without those that this one has too.
    fn theirs(&self, far: &FarHost, ipv6: bool) -> Vec<IpAddr> {
        let ours =
            |address: &IpAddr| self.addresses.iter().any(|interface| interface.address == *address);
        let all = far.addresses.iter().map(|address| address.address);
        all.filter(|address| address.is_ipv6() == ipv6 && !ours(address)).collect()
    }

    /// The first of them that is in a network of this host.
    fn beside(&self, theirs: &[IpAddr]) -> Option<IpAddr> {
        let is_beside = |address: &&IpAddr| {
            self.addresses.iter().any(|interface| interface.is_beside(**address))
        };
        theirs.iter().find(is_beside).copied()
    }
}

/// The address at which this host reaches its peer.
///
/// # Errors
/// Why there is none, and the remedy.
pub fn of_peer(far: &FarHost, ipv6: bool) -> Result<IpAddr, String> {
    let boot = boot().ok();
    let stack = namespace("net").ok();
    let mut near = Near { boot_id: boot.as_ref(), stack, addresses: &[] };
    if let Some(address) = near.loopback(far, ipv6) {
        return Ok(address);
    }
    let here = addresses().map_err(|error| format!("getifaddrs: {error}"))?;
    near.addresses = &here;
    chosen(&near, far, ipv6, has_way)
}

fn chosen(
    near: &Near,
    far: &FarHost,
    ipv6: bool,
    has_way: impl Fn(IpAddr) -> bool,
) -> Result<IpAddr, String> {
    let theirs = near.theirs(far, ipv6);
    // What the command reached may be no address of the host's own: somebody translates addresses.
    let reached = far.reached_at.filter(|address| theirs.contains(address));
    let routed = || theirs.iter().copied().find(|address| has_way(*address));
    reached.or_else(|| near.beside(&theirs)).or_else(routed).ok_or_else(|| {
        let family = family(ipv6);
        format!("no {family} address of the peer can be reached: name one with --peer-address")
    })
}

/// The address at which node `near` of a fleet reaches node `far`; in `network`, where one of that family is
/// named.
///
/// # Errors
/// Why there is none, and the remedy; to be read behind the name of the far node.
pub fn between(
    near: &FarHost,
    far: &FarHost,
    network: Option<&Address>,
    ipv6: bool,
) -> Result<IpAddr, String> {
    let near = Near {
        boot_id: near.host.boot_id.as_ref(),
        stack: near.network,
        addresses: &near.addresses,
    };
    if let Some(address) = near.loopback(far, ipv6) {
        return Ok(address);
    }
    let (theirs, family) = (near.theirs(far, ipv6), family(ipv6));
    if let Some(network) = network.filter(|network| network.address.is_ipv6() == ipv6) {
        let named = theirs.iter().copied().find(|address| network.is_beside(*address));
        let Address { address, prefix } = network;
        return named.ok_or_else(|| format!("has no {family} address in {address}/{prefix}"));
    }
    near.beside(&theirs).or(theirs.first().copied()).ok_or_else(|| {
        format!("has no {family} address of its own: name a network that all have with --network")
    })
}

fn family(ipv6: bool) -> &'static str {
    if ipv6 { "IPv6" } else { "IPv4" }
}

/// Whether this host knows a way to `address`. Nothing is sent: connecting a datagram socket only
/// looks the way up.
fn has_way(address: IpAddr) -> bool {
    let own: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let connected =
        UdpSocket::bind((own, 0)).and_then(|socket| socket.connect(SocketAddr::new(address, 9)));
    connected.is_ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use model::host::Host;

    fn host(boot: &str, stack: u64, addresses: &[&str], reached: Option<&str>) -> FarHost {
        let (kind, why) = sys::clock::choose(Path::new("/nonexistent"));
        FarHost {
            host: Host { boot_id: Some(boot.into()), ..Host::default() },
            clock: sys::clock::measure(kind, why).1,
            addresses: addresses.iter().map(|address| network(address).unwrap()).collect(),
            reached_at: reached.map(|address| address.parse().unwrap()),
            network: Some(stack),
            allowed_cpus: vec![0],
        }
    }

    fn near(addresses: &[Address]) -> Near<'_> {
        Near { boot_id: None, stack: None, addresses }
    }

    #[test]
    fn the_nearest_address_is_chosen_and_never_one_of_our_own() {
        let here =
            ["172.17.0.1/16", "10.0.0.1/24", "fd00::1/64"].map(|text| network(text).unwrap());
        let theirs = ["172.17.0.1/16", "203.0.113.7/24", "10.0.0.2/24", "fd00::2/64"];
        let of = |reached, ipv6| {
            let far = host("y", 1, &theirs, reached);
            chosen(&near(&here), &far, ipv6, |_| false).map(|address| address.to_string())
        };
        assert_eq!(of(None, false).unwrap(), "10.0.0.2");
        assert_eq!(of(None, true).unwrap(), "fd00::2");
        assert_eq!(of(Some("203.0.113.7"), false).unwrap(), "203.0.113.7");
        assert_eq!(of(Some("203.0.113.7"), true).unwrap(), "fd00::2");
        assert_eq!(of(Some("198.51.100.1"), false).unwrap(), "10.0.0.2", "translated");
    }

    #[test]
    fn a_way_will_do_and_none_is_refused_with_the_remedy() {
        let here = [network("10.0.0.1/24").unwrap()];
        let far = host("y", 1, &["203.0.113.7/24"], None);
        let of = |ipv6, way: bool| chosen(&near(&here), &far, ipv6, |_| way);
        assert_eq!(of(false, true).unwrap().to_string(), "203.0.113.7");
        let none = of(false, false).unwrap_err();
        assert!(none.contains("IPv4") && none.ends_with("--peer-address"), "{none}");
        assert!(of(true, true).unwrap_err().contains("IPv6"));
    }

    #[test]
    fn between_nodes_the_nearest_is_taken_unless_a_network_is_named() {
        let own = ["172.17.0.1/16", "192.0.2.1/24", "10.1.0.1/16", "fd00::1/64"];
        let theirs = ["172.17.0.1/16", "203.0.113.2/24", "10.1.0.2/16", "fd00::2/64"];
        // By ssh the coordinator reached it, which tells another node nothing.
        let (a, b) = (host("x", 1, &own, None), host("y", 1, &theirs, Some("203.0.113.2")));
        let of = |net: Option<&str>, ipv6| {
            let net = net.map(|net| network(net).unwrap());
            between(&a, &b, net.as_ref(), ipv6).map(|address| address.to_string())
        };
        assert_eq!(of(None, false).unwrap(), "10.1.0.2");
        assert_eq!(of(None, true).unwrap(), "fd00::2");
        assert_eq!(of(Some("203.0.113.0/24"), false).unwrap(), "203.0.113.2");
        assert_eq!(of(Some("203.0.113.0/24"), true).unwrap(), "fd00::2", "another family");
        assert!(of(Some("198.51.100.0/24"), false).unwrap_err().contains("198.51.100.0/24"));
        assert!(of(Some("172.17.0.0/16"), false).is_err(), "it is our own too");
        let alone = host("y", 1, &[], None);
        assert!(between(&a, &alone, None, false).unwrap_err().contains("--network"));
        let same = host("x", 1, &[], None);
        assert_eq!(between(&a, &same, None, false).unwrap(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let beside = host("x", 2, &["10.1.0.9/16"], None);
        assert_eq!(between(&a, &beside, None, false).unwrap().to_string(), "10.1.0.9");
    }

    #[test]
    fn a_network_is_an_address_and_a_length() {
        for wrong in ["10.0.0.0", "10.0.0.0/33", "x/8", "fd00::/129", "/8"] {
            assert!(network(wrong).unwrap_err().contains("10.1.0.0/16"), "{wrong}");
        }
    }
}
