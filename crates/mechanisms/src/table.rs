//! The table of mechanisms: a row of each, and what is done with one that is named.

use std::io;
use std::net::IpAddr;

use model::bend::Bend;
use model::mechanism::{Cause, Traits, Unavailable, Waits};
use model::plugin::Plugin;

use crate::connection::Connection;
use crate::contract::{Chooser, Mechanism, OpenSpec, Visitor};
use crate::endpoint::Endpoint;
use crate::network::{Call, ConnectVisitor, Cookie, ListenVisitor};
use crate::nonblocking::open_nonblocking;
use crate::opened::Opened;
use crate::options::{OptionSpec, Options, Variant};
use crate::unavailable::OpenError;
use crate::{
    condvar, eventfd, fifo, futex, io_uring, null, pipe, plugin, posix_queue, posix_sem,
    process_vm, pty, seqlock, shm_ring, signal, splice, sysv_queue, sysv_sem, tcp, udp, unix_dgram,
    unix_seqpacket, unix_stream, vmsplice,
};

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

    /// That of a plug-in, whose answers are its own.
    pub(super) fn of_plugin(plugin: &'static Plugin) -> Entry {
        Entry {
            name: &plugin.name,
            summary: &plugin.summary,
            plugin: Some(plugin),
            aliases: &[],
            options: &[],
            shown: &[""],
            measured: &[""],
            served: &[],
            bends: &[],
            leaves_objects: false,
            ..Entry::of::<null::Null>()
        }
    }

    /// What it carries, and how, with these options.
    pub fn traits(&self, options: &Options) -> Traits {
        self.plugin.map_or_else(|| (self.traits_with)(options), Plugin::traits)
    }

    /// What a worker does while it waits.
    pub fn waits(&self, options: &Options) -> Waits {
        match self.plugin {
            Some(plugin) => plugin.waits(options.chosen()),
            None => (self.waits_with)(options),
        }
    }

    /// Bytes of its largest message on this machine; None without a limit.
    pub fn largest(&self, options: &Options) -> Option<usize> {
        match self.plugin {
            Some(plugin) => plugin.with(options.chosen()).largest.map(|bytes| bytes as usize),
            None => (self.largest_with)(options),
        }
    }

    /// One line for `list`.
    pub fn summary(&self, options: &Options) -> &'static str {
        match self.plugin {
            Some(plugin) => &plugin.summary,
            None => (self.summary_with)(options),
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

/// Opens, and closes again.
pub(crate) struct Close;

impl Visitor for Close {
    type Output = ();
    fn visit<E: Endpoint>(self, _opened: Opened<E>) {}
}

pub(super) fn probe_by<T: Default + Send>(
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
