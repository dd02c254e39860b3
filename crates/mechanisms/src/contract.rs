//! What is required of a mechanism, and who visits one.

use std::io;
use std::net::IpAddr;

use model::bend::Bend;
use model::mechanism::{Traits, Waits};

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::network::{self, Call, ConnectVisitor, Cookie, ListenVisitor};
use crate::opened::Opened;
use crate::options::{OptionSpec, Options};
use crate::unavailable::OpenError;

/// Required of every mechanism.
pub trait Mechanism: Sized {
    /// Name on the command line, in the store, in the report.
    const NAME: &'static str;
    /// Other names that a user may know it by; no two mechanisms share one.
    const ALIASES: &'static [&'static str] = &[];
    /// One line for `list`.
    const SUMMARY: &'static str;
    /// What it carries, and how, with default options.
    const TRAITS: Traits;
    /// The options it knows; the first value of each is the default.
    const OPTIONS: &'static [OptionSpec] = &[];
    /// Option strings whose variants are shown as ways of their own; `""` is all defaults.
    const SHOWN: &'static [&'static str] = &[""];
    /// Those of them that are measured where no mechanism is named.
    const MEASURED: &'static [&'static str] = &[Self::SHOWN[0]];
    /// Those that are measured beside these where a server waits for the descriptors of several clients: of mechanisms whose
    /// usual way has none.
    const SERVED: &'static [&'static str] = &[];
    /// Those that are measured beside these where one client sends by a clock, so that the server waits in between.
    const PACED: &'static [&'static str] = &[];

    /// The sizes at which its cost of a byte is known to change, beside those of any machine (caches, a page).
    const BENDS: &'static [Bend] = &[];

    /// Largest message in bytes with these options on this machine; None without a limit.
    fn largest(_options: &Options) -> Option<usize> {
        None
    }

    /// The same with these options: what differs.
    fn summary(_options: &Options) -> &'static str {
        Self::SUMMARY
    }

    /// What it carries, and how, with these options.
    fn traits(_options: &Options) -> Traits {
        Self::TRAITS
    }

    /// What a worker does while it waits.
    fn waits(_options: &Options) -> Waits {
        Waits::Asleep
    }

    /// Whether it makes objects that only their removal ends (System V).
    const LEAVES_OBJECTS: bool = false;

    /// Whether a launch should open it in an IPC namespace of its own, where that is allowed:
    /// what is made there ends with the launch, however that ends.
    fn wants_namespace(_options: &Options) -> bool {
        false
    }

    /// How its ends are connected with these options; None of what needs no connection.
    fn connection(_options: &Options) -> Option<Connection> {
        None
    }

    /// Opens both ends, untimed, and hands them to `visitor`; an option that changes the code
    /// of the timed path picks a type here, so that the path has no branch for it.
    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError>;

    /// The options with which both sides of the way to `to` are to be opened: what the way decides is
    /// decided once, where it is asked from.
    ///
    /// # Errors
    /// The kernel knows no way.
    fn for_path(options: &Options, _to: IpAddr) -> io::Result<Options> {
        Ok(options.clone())
    }

    /// Whether it could be had between two hosts with what `spec` asks: of what a network carries.
    fn over_network(spec: &OpenSpec) -> Result<(), OpenError> {
        network::check::<Self>(spec)
    }

    /// The far side of a network: one port on `address`, for the peer that sends `cookie`.
    fn listen<V: ListenVisitor>(
        _spec: &OpenSpec,
        _address: IpAddr,
        _cookie: Cookie,
        _visitor: V,
    ) -> Result<V::Output, OpenError> {
        Err(network::no_network::<Self>())
    }

    /// The near side of a network: an end that the far side has let in.
    fn connect<V: ConnectVisitor>(
        _spec: &OpenSpec,
        _call: &Call,
        _visitor: V,
    ) -> Result<V::Output, OpenError> {
        Err(network::no_network::<Self>())
    }
}

/// What to open.
#[derive(Clone, Debug)]
pub struct OpenSpec {
    /// The mechanism's options.
    pub options: Options,
    /// Largest message that will be sent, in bytes; acknowledgements are one byte.
    pub message_bytes: usize,
    /// Whether both workers are threads of one process.
    pub same_process: bool,
    /// What is drawn by chance on the way (losses that are injected) is drawn from it.
    pub seed: u64,
}

/// Code that is generic over the endpoints of whichever mechanism was asked for.
pub trait Visitor {
    /// What the visit yields.
    type Output;
    /// Called once, with both ends.
    fn visit<E: Endpoint + 'static>(self, opened: Opened<E>) -> Self::Output;
}

/// Steps of whoever connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A socket was made, and has connected.
    Connected,
    /// That connection was accepted.
    Accepted,
}

/// Code that is generic over the mechanism itself.
pub trait Chooser {
    /// What comes of it.
    type Output;
    /// Called once, with the mechanism as its type.
    fn chosen<M: Mechanism>(self) -> Self::Output;
}
