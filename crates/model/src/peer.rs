//! The other host of a run: as it was asked for, as it describes itself, as it is kept.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::clock::Record;
use crate::host::Host;

/// The other host, as it was asked for. Stored with the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct PeerRequest {
    /// The words of the command that gives a shell there.
    pub command: Vec<String>,
    /// Where this program lies there.
    pub program: String,
    /// Addresses to use instead of what is learned, at most one of each family.
    pub addresses: Vec<IpAddr>,
    /// Whether this program is copied there, and removed at the end.
    pub deployed: bool,
}

/// The other host, as it describes itself.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct FarHost {
    /// What it is, with what the doctor found there.
    pub host: Host,
    /// Its clock: it stamps nothing that is measured between hosts.
    pub clock: Record,
    /// Its addresses, but for those of loopback.
    pub addresses: Vec<Address>,
    /// The address at which it was reached, where the command says so (`ssh` does).
    pub reached_at: Option<IpAddr>,
    /// Which network stack it has: comparable on one boot of one kernel only.
    pub network: Option<u64>,
    /// The CPUs that it may use.
    pub allowed_cpus: Vec<u32>,
}

impl FarHost {
    /// Whether it runs on the kernel of `host`: then its CPUs, clock and memory are the same.
    pub fn is_on(&self, host: &Host) -> bool {
        self.host.boot_id.is_some() && self.host.boot_id == host.boot_id
    }
}

/// The other host of a run, as it is kept.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct PeerRecord {
    /// The words of the command that gives a shell there.
    pub command: Vec<String>,
    /// Where this program lies there.
    pub program: String,
    /// The address that is used over IPv4; None where none can be reached.
    pub ipv4: Option<IpAddr>,
    /// The same over IPv6.
    pub ipv6: Option<IpAddr>,
    /// Whether both hosts are one machine under one kernel, with a network stack each or the same.
    pub one_kernel: bool,
    /// Whether they share the network stack too.
    pub one_network: bool,
    /// What the other host is, with what the doctor found there.
    pub host: Host,
    /// Its clock, which stamps nothing that is measured between hosts.
    pub clock: Record,
}

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Address {
    /// The address.
    pub address: IpAddr,
    /// How many of its leading bits name its network.
    pub prefix: u8,
}

impl Address {
    /// Whether `other` is in the same network.
    pub fn is_beside(&self, other: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix)).unwrap_or(0);
        self.address.is_ipv4() == other.is_ipv4() && bits(self.address) & mask == bits(other) & mask
    }
}
