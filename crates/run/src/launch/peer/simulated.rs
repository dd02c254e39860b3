//! Nodes of a simulated fleet: this machine under other names, with one field of one node's
//! environment changed, so that the report has something to find.

use std::path::Path;

use super::simulated_agent::{Planted, address};
use model::peer::Address;
use model::peer::FarHost;

/// The name of node `nth` of `many`.
pub fn name(nth: usize, many: usize) -> String {
    let width = many.saturating_sub(1).to_string().len();
    format!("sim{nth:0width$}")
}

/// What every simulated node is.
pub fn host() -> FarHost {
    let root = Path::new("/");
    let (kind, why_not) = sys::clock::choose(root);
    FarHost {
        host: machine::host::read(root),
        clock: sys::clock::measure(kind, why_not).1,
        addresses: Vec::new(),
        reached_at: None,
        network: None,
        allowed_cpus: vec![0, 1],
    }
}

/// Node `nth`, called `name`.
pub fn node(like: &FarHost, nth: usize, name: &str) -> FarHost {
    let mut far = like.clone();
    far.host.hostname = Some(name.into());
    far.host.boot_id = Some(format!("simulated-{nth}"));
    far.addresses = vec![Address { address: address(nth), prefix: 8 }];
    // Whatever the number of nodes, this one is there.
    if nth == Planted::among(3).node {
        far.host.kernel.release = Some("simulated-other".into());
    }
    far
}
