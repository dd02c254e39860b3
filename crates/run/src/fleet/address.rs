//! By which address one node reaches another: loopback where both are one network stack; else one of
//! the network that was named; else one of a network that both are in; else the first there is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use model::peer::Address;
use model::peer::FarHost;

/// A network as it is named: `10.1.0.0/16`.
///
/// # Errors
/// What it is instead.
pub fn network(text: &str) -> Result<Address, String> {
    let wrong = || format!("`{text}` is no network: write one as in 10.1.0.0/16");
    let (address, prefix) = text.split_once('/').ok_or_else(wrong)?;
    let address: IpAddr = address.parse().map_err(|_| wrong())?;
    let most = if address.is_ipv6() { 128 } else { 32 };
    let prefix: u8 = prefix.parse().ok().filter(|it| *it <= most).ok_or_else(wrong)?;
    Ok(Address { address, prefix })
}

/// The address at which `near` reaches `far`.
///
/// # Errors
/// Why there is none, and the way out.
pub fn between(
    near: &FarHost,
    far: &FarHost,
    network: Option<&Address>,
    ipv6: bool,
) -> Result<IpAddr, String> {
    let one_kernel = near.host.boot_id.is_some() && near.host.boot_id == far.host.boot_id;
    if one_kernel && near.network.is_some() && near.network == far.network {
        return Ok(if ipv6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() });
    }
    let ours = |it: &IpAddr| near.addresses.iter().any(|own| own.address == *it);
    let theirs: Vec<IpAddr> = far
        .addresses
        .iter()
        .map(|it| it.address)
        .filter(|it| it.is_ipv6() == ipv6 && !ours(it))
        .collect();
    let family = if ipv6 { "IPv6" } else { "IPv4" };
    if let Some(network) = network.filter(|it| it.address.is_ipv6() == ipv6) {
        let named = theirs.iter().find(|it| network.is_beside(**it));
        return named.copied().ok_or_else(|| {
            format!("has no {family} address in {}/{}", network.address, network.prefix)
        });
    }
    let beside = theirs.iter().find(|it| near.addresses.iter().any(|own| own.is_beside(**it)));
    beside.or(theirs.first()).copied().ok_or_else(|| {
        format!("has no {family} address of its own: name a network that all have with --network")
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use model::host::Host;

    fn host(boot: &str, stack: u64, addresses: &[&str]) -> FarHost {
        let (kind, why) = clock::choose(Path::new("/nonexistent"));
        let host = Host { boot_id: Some(boot.into()), ..Host::default() };
        FarHost {
            host,
            clock: clock::measure(kind, why).1,
            addresses: addresses.iter().map(|it| network(it).unwrap()).collect(),
            reached_at: None,
            network: Some(stack),
            allowed_cpus: vec![0],
        }
    }

    #[test]
    fn the_nearest_address_is_taken_unless_a_network_is_named() {
        let a = host("x", 1, &["172.17.0.1/16", "192.0.2.1/24", "10.1.0.1/16", "fd00::1/64"]);
        let b = host("y", 1, &["172.17.0.1/16", "203.0.113.2/24", "10.1.0.2/16", "fd00::2/64"]);
        let of = |net: Option<&str>, ipv6| {
            let net = net.map(|it| network(it).unwrap());
            between(&a, &b, net.as_ref(), ipv6).map(|it| it.to_string())
        };
        assert_eq!(of(None, false).unwrap(), "10.1.0.2");
        assert_eq!(of(None, true).unwrap(), "fd00::2");
        assert_eq!(of(Some("203.0.113.0/24"), false).unwrap(), "203.0.113.2");
        assert_eq!(of(Some("203.0.113.0/24"), true).unwrap(), "fd00::2", "another family");
        assert!(of(Some("198.51.100.0/24"), false).unwrap_err().contains("198.51.100.0/24"));
        let alone = host("y", 1, &[]);
        assert!(between(&a, &alone, None, false).unwrap_err().contains("--network"));
        let same = host("x", 1, &[]);
        assert_eq!(between(&a, &same, None, false).unwrap(), IpAddr::V4(Ipv4Addr::LOCALHOST));
        let beside = host("x", 2, &["10.1.0.9/16"]);
        assert_eq!(between(&a, &beside, None, false).unwrap().to_string(), "10.1.0.9");
    }

    #[test]
    fn a_network_is_an_address_and_a_length() {
        for wrong in ["10.0.0.0", "10.0.0.0/33", "x/8", "fd00::/129", "/8"] {
            assert!(network(wrong).unwrap_err().contains("10.1.0.0/16"), "{wrong}");
        }
    }
}
