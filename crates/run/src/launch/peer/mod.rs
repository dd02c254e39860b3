//! The other host: this program started there behind any command that gives a shell elsewhere
//! (`ssh host`, `ip netns exec b`, `docker exec -i c`), and spoken to over that command's standard
//! streams. Nothing listens for control, so there is nothing of our own to authenticate.
//!
//! ```text
//! coordinator ──hello──────────────▶ agent            (another build is refused by both)
//!             ◀─hello: host, clock, addresses──
//!             ──begin n, spec──────▶ agent ──spec──▶ supervisor n
//!             ◀─relay n: bound, port ──────────────── one port, one address, one cookie
//!             ──relay n: go, end───▶        ◀─relay n: ready, going, timed, record, done──
//!             ──over n─────────────▶ agent            (kills what is left of it)
//! ```

pub mod address;
mod agent;
pub mod connection;
mod deploy;
pub mod keeper;
pub mod link;
mod process;
pub mod simulated;

use model::peer::{FarHost, PeerRecord, PeerRequest};
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use serde::{Deserialize, Serialize};

pub use agent::{Order, serve};

use super::launches::Node;
use super::spec::Spec;
use super::state::FarEnd;
use link::Link;
use machine::interrupt::Interrupt;
use mechanisms::Variant;
use model::host::Host;
use model::launch::Outcome;
use sys::identity::namespace;

/// What each side says first. Its form stays as it is, so that builds can name each other.
#[derive(Serialize, Deserialize)]
struct Build {
    build: String,
}

/// Why there is no peer: a sentence that ends with the remedy.
#[derive(Debug, PartialEq, Eq)]
pub struct NoPeer(pub String);

/// An agent on the other host, and the way to it.
#[derive(Clone)]
pub struct Peer {
    link: Rc<RefCell<Link>>,
    asked: Rc<PeerRequest>,
    far: Rc<FarHost>,
}

impl Peer {
    /// Starts the agent, and learns where it is.
    ///
    /// # Errors
    /// What the command did instead, and the remedy.
    pub fn start(asked: PeerRequest, interrupt: &Interrupt) -> Result<Peer, NoPeer> {
        let (link, far) = Link::start(&asked, interrupt)?;
        Ok(Peer { link: Rc::new(RefCell::new(link)), asked: Rc::new(asked), far: Rc::new(far) })
    }

    pub fn far(&self) -> &FarHost {
        &self.far
    }

    pub fn asked(&self) -> &PeerRequest {
        &self.asked
    }

    /// The one address there that a mechanism over IPv4 or IPv6 uses.
    ///
    /// # Errors
    /// Why there is none, and the remedy.
    pub fn address(&self, ipv6: bool) -> Result<IpAddr, String> {
        let named = self.asked.addresses.iter().find(|address| address.is_ipv6() == ipv6);
        named.map_or_else(|| address::of_peer(&self.far, ipv6), |named| Ok(*named))
    }

    /// The far end of a launch, as node `node` of it; the mechanism in `spec` becomes what it is on that path.
    pub(crate) fn end(&self, node: usize, spec: &mut Spec) -> Result<FarEnd, Outcome> {
        let variant = Variant::parse(&spec.mechanism);
        let ipv6 = variant.as_ref().is_ok_and(Variant::is_ipv6);
        let at = self.address(ipv6).map_err(|reason| Outcome::NotApplicable { reason })?;
        if let Ok(variant) = variant {
            spec.mechanism = on_path(variant, at)?;
        }
        let clock = &self.far.clock;
        Ok(FarEnd { node, at, clock: clock.kind, ns_per_tick: clock.ns_per_tick })
    }

    /// Its host, as a node of launches.
    pub(crate) fn node(&self) -> Node {
        Node::Agent { link: Rc::clone(&self.link), name: None }
    }

    /// What is kept of it with a run of this host.
    pub fn record(&self, here: &Host) -> PeerRecord {
        let one_kernel = self.far.is_on(here);
        PeerRecord {
            command: self.asked.command.clone(),
            program: if self.asked.deployed {
                "a copy, removed once it ran".into()
            } else {
                self.asked.program.clone()
            },
            ipv4: self.address(false).ok(),
            ipv6: self.address(true).ok(),
            one_kernel,
            one_network: one_kernel && self.far.network == namespace("net").ok(),
            host: self.far.host.clone(),
            clock: self.far.clock.clone(),
        }
    }

    /// Why it is gone, if it is.
    pub fn lost(&self) -> Option<String> {
        let why = self.link.borrow().lost.clone();
        why.map(|why| format!("the peer is gone: {why}"))
    }
}

/// The variant that both sides open, as text: what the path decides is decided here.
fn on_path(variant: Variant, to: IpAddr) -> Result<String, Outcome> {
    let options = (variant.entry.for_path)(&variant.options, to).map_err(|error| {
        let reason = format!("no way to {to}: {error}: name an address with --peer-address");
        Outcome::NotApplicable { reason }
    })?;
    Ok(Variant { options, ..variant }.to_string())
}
