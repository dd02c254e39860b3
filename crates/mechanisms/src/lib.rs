//! Mechanisms: ways in which the system moves bytes or wake-ups between two workers.
//!
//! Each is one file and one row of the table at the end of this one. What must hold of every
//! mechanism (the conformance suite in tests/ proves it):
//!
//! - What one end sends, the other receives: all of it, in order, unchanged; a message
//!   mechanism keeps the boundaries, a stream delivers exactly as many bytes as were asked.
//! - `send` and `recv` block until done. They never wait with a time-out for a dead partner:
//!   that is the supervisor's business. (`udp` alone bounds its wait, for lost datagrams.)
//! - A size that can't be carried is refused when opening, never clamped.
//! - Nothing stays behind: descriptors close, mappings vanish, names are never made or are
//!   unlinked before `open` returns. What can't be (System V objects) is [`Residue`], removed
//!   by the process that opened it.
//!
//! No mechanism sees a clock, a statistic or the store. What is done over them, timed, is in [`workload`].

mod connection;
mod connections;
mod counts;
mod endpoint;
pub mod engine;
mod nonblocking;
mod opened;
mod options;
mod partner_ids;
mod plugin;
mod residue;
#[cfg(test)]
mod skeleton;
mod socket;
#[cfg(test)]
mod tests;
mod unavailable;
mod zero_copy_pipe;

pub mod condvar;
mod eventfd;
mod fd;
pub mod fifo;
mod foreign;
mod futex;
pub mod io_uring;
pub mod network;
pub mod null;
pub mod pipe;
pub mod posix_queue;
pub mod posix_sem;
pub mod process_vm;
pub mod pty;
mod reliable;
pub mod seqlock;
pub mod shm_ring;
pub mod signal;
pub mod splice;
pub mod sysv_queue;
pub mod sysv_sem;
pub mod tcp;
pub mod udp;
pub mod unix_dgram;
pub mod unix_seqpacket;
pub mod unix_stream;
pub mod vmsplice;
mod waiting;
pub mod workload;

use std::io;
use std::net::IpAddr;

pub use connection::Connection;
pub use connections::{held_by_ends, probe_connections, probe_crowd};
pub use endpoint::{Deadline, Endpoint, Erased, Phase};
use model::bend::Bend;
use model::mechanism::{Carries, Cause, Framing, Scope, Traits, Unavailable, Waits};
use model::plugin::Plugin;
use network::{Call, ConnectVisitor, Cookie, ListenVisitor};
pub use nonblocking::{
    Nonblocking, Received, Sent, WithNonblocking, open_nonblocking, open_nonblocking_of,
};
pub use opened::Opened;
pub use options::{Choice, OptionSpec, Options, Variant, catalogue};
pub use plugin::{load_by, register, registered};
use residue::PrivateNames;
pub use residue::{
    Cleaned, KeptRecord, Residue, clean, clean_up_after_launches, clean_up_after_process,
    keep_record, note_launch,
};
pub use unavailable::{OpenError, cause_of, dies_with_parent_here, unavailable, unavailable_in};

/// Required of every mechanism.
pub trait Mechanism {
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

    /// Whether it could be had between two hosts with what `spec` asks; [`Scope::Network`] only.
    fn over_network(spec: &OpenSpec) -> Result<(), OpenError>
    where
        Self: Sized,
    {
        network::check::<Self>(spec)
    }

    /// The far side of a network: one port on `address`, for the peer that sends `cookie`.
    fn listen<V: ListenVisitor>(
        _spec: &OpenSpec,
        _address: IpAddr,
        _cookie: Cookie,
        _visitor: V,
    ) -> Result<V::Output, OpenError>
    where
        Self: Sized,
    {
        Err(network::no_network::<Self>())
    }

    /// The near side of a network: an end that the far side has let in.
    fn connect<V: ConnectVisitor>(
        _spec: &OpenSpec,
        _call: &Call,
        _visitor: V,
    ) -> Result<V::Output, OpenError>
    where
        Self: Sized,
    {
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

/// A row of the table: what can be said of a mechanism without opening it.
pub struct Entry {
    /// See [`Mechanism::NAME`].
    pub name: &'static str,
    /// See [`Mechanism::ALIASES`].
    pub aliases: &'static [&'static str],
    /// See [`Mechanism::SUMMARY`].
    pub summary: &'static str,
    /// The plug-in that it is; None of what is built in.
    pub plugin: Option<&'static Plugin>,
    summary_with: fn(&Options) -> &'static str,
    traits_with: fn(&Options) -> Traits,
    /// See [`Mechanism::OPTIONS`].
    pub options: &'static [OptionSpec],
    /// See [`Mechanism::SHOWN`].
    pub shown: &'static [&'static str],
    /// See [`Mechanism::MEASURED`].
    pub measured: &'static [&'static str],
    /// See [`Mechanism::SERVED`].
    pub served: &'static [&'static str],
    /// See [`Mechanism::PACED`].
    pub paced: &'static [&'static str],
    /// See [`Mechanism::BENDS`].
    pub bends: &'static [Bend],
    largest_with: fn(&Options) -> Option<usize>,
    waits_with: fn(&Options) -> Waits,
    /// See [`Mechanism::LEAVES_OBJECTS`].
    pub leaves_objects: bool,
    /// See [`Mechanism::wants_namespace`].
    pub wants_namespace: fn(&Options) -> bool,
    /// See [`Mechanism::connection`].
    pub connection: fn(&Options) -> Option<Connection>,
    /// See [`Mechanism::for_path`].
    pub for_path: fn(&Options, IpAddr) -> io::Result<Options>,
}

impl Entry {
    /// The row of a mechanism that is built in.
    const fn of<M: Mechanism>() -> Entry {
        Entry {
            name: M::NAME,
            aliases: M::ALIASES,
            summary: M::SUMMARY,
            plugin: None,
            summary_with: M::summary,
            traits_with: M::traits,
            options: M::OPTIONS,
            shown: M::SHOWN,
            measured: M::MEASURED,
            served: M::SERVED,
            paced: M::PACED,
            bends: M::BENDS,
            largest_with: M::largest,
            waits_with: M::waits,
            leaves_objects: M::LEAVES_OBJECTS,
            wants_namespace: M::wants_namespace,
            connection: M::connection,
            for_path: M::for_path,
        }
    }
}

macro_rules! mechanisms {
    ($($mechanism:ty),+ $(,)?) => {
        /// Every mechanism, in the order in which lists and tables show them.
        pub static MECHANISMS: &[Entry] = &[$(Entry::of::<$mechanism>()),+];

        /// Opens the mechanism called `name` and hands both ends to `visitor`. A size that it
        /// can't carry is refused here, before anything is opened.
        pub fn open<V: Visitor>(
            name: &str,
            spec: &OpenSpec,
            visitor: V,
        ) -> Result<V::Output, OpenError> {
            $(if name == <$mechanism>::NAME {
                check_size(name, spec.message_bytes, <$mechanism>::largest(&spec.options))?;
                return <$mechanism>::open(spec, visitor);
            })+
            if let Some((entry, plugin)) = plugin::of(name) {
                check_size(name, spec.message_bytes, entry.largest(&spec.options))?;
                return plugin::open(plugin, spec, visitor);
            }
            Err(OpenError::NotApplicable(format!("unknown mechanism `{name}`")))
        }

        /// Whether the mechanism called `name` could be had between two hosts; opens nothing.
        pub fn check_over_network(name: &str, spec: &OpenSpec) -> Result<(), OpenError> {
            $(if name == <$mechanism>::NAME {
                <$mechanism>::over_network(spec)?;
                return check_size(name, spec.message_bytes, <$mechanism>::largest(&spec.options));
            })+
            Err(OpenError::NotApplicable(format!("unknown mechanism `{name}`")))
        }

        /// Opens the far side of the mechanism called `name`, and hands it to `visitor`.
        pub fn listen<V: ListenVisitor>(
            name: &str,
            spec: &OpenSpec,
            address: IpAddr,
            cookie: Cookie,
            visitor: V,
        ) -> Result<V::Output, OpenError> {
            check_over_network(name, spec)?;
            $(if name == <$mechanism>::NAME {
                return <$mechanism>::listen(spec, address, cookie, visitor);
            })+
            Err(OpenError::NotApplicable(format!("unknown mechanism `{name}`")))
        }

        /// Opens the near side of the mechanism called `name`, and hands it to `visitor`.
        pub fn connect<V: ConnectVisitor>(
            name: &str,
            spec: &OpenSpec,
            call: &Call,
            visitor: V,
        ) -> Result<V::Output, OpenError> {
            check_over_network(name, spec)?;
            $(if name == <$mechanism>::NAME {
                return <$mechanism>::connect(spec, call, visitor);
            })+
            Err(OpenError::NotApplicable(format!("unknown mechanism `{name}`")))
        }

        /// Hands the mechanism called `name` to `chooser` as a type, so that the chooser can open
        /// it again and again without a look at its name, or at what it could carry.
        pub fn choose<C: Chooser>(name: &str, chooser: C) -> Result<C::Output, OpenError> {
            $(if name == <$mechanism>::NAME {
                return Ok(chooser.chosen::<$mechanism>());
            })+
            Err(OpenError::NotApplicable(format!("unknown mechanism `{name}`")))
        }
    };
}

mechanisms![
    null::Null,
    pipe::Pipe,
    fifo::Fifo,
    unix_stream::UnixStream,
    unix_seqpacket::UnixSeqpacket,
    unix_dgram::UnixDgram,
    tcp::Tcp,
    udp::Udp,
    pty::Pty,
    sysv_queue::SysvQueue,
    posix_queue::PosixQueue,
    vmsplice::Vmsplice,
    splice::Splice,
    process_vm::ProcessVm,
    io_uring::IoUring,
    shm_ring::ShmRing,
    seqlock::Seqlock,
    eventfd::Eventfd,
    futex::Futex,
    condvar::Condvar,
    sysv_sem::SysvSem,
    posix_sem::PosixSem,
    signal::Signal,
];

fn check_size(name: &str, bytes: usize, largest: Option<usize>) -> Result<(), OpenError> {
    let refuse = |reason| Err(OpenError::NotApplicable(reason));
    match largest {
        _ if bytes == 0 => refuse(format!("{name}: a message of 0 bytes carries nothing")),
        _ if bytes as u64 > model::size::LARGEST => {
            refuse(format!("{name}: no message is larger than {} bytes", model::size::LARGEST))
        }
        Some(largest) if bytes > largest => {
            refuse(format!("{name} carries at most {largest} bytes a message here"))
        }
        _ => Ok(()),
    }
}

/// Tries whether `variant` can be opened here for messages of `message_bytes`.
pub fn probe(variant: &Variant, message_bytes: usize) -> Result<(), OpenError> {
    probe_by(variant, message_bytes, |name, spec| open(name, spec, Close))
}

/// The same of ends that can be asked without waiting.
pub fn probe_nonblocking(variant: &Variant, message_bytes: usize) -> Result<(), OpenError> {
    probe_by(variant, message_bytes, |name, spec| open_nonblocking(name, spec, Close))
}

struct Close;

impl Visitor for Close {
    type Output = ();
    fn visit<E: Endpoint>(self, _opened: Opened<E>) {}
}

fn probe_by<T: Default + Send>(
    variant: &Variant,
    message_bytes: usize,
    open: impl Fn(&str, &OpenSpec) -> Result<T, OpenError> + Sync,
) -> Result<T, OpenError> {
    let options = variant.options.clone();
    let spec = OpenSpec { options, message_bytes, same_process: false, seed: 0 };
    let tried = || open(variant.entry.name, &spec);
    if !spec.options.chosen().contains_key("mtu") {
        return tried();
    }
    // It moves to a network of its own, where nobody may follow: all that is launched later would be
    // measured there.
    let found = sys::process::in_a_thread(|| Ok(tried()));
    match found.map_err(OpenError::call("pthread_create"))? {
        // Without privileges only a process of one thread moves (unshare(2)): its launch will tell.
        Err(OpenError::Unavailable(Unavailable { cause: Cause::Other, .. })) => Ok(T::default()),
        found => found,
    }
}
