//! `unix-stream`: a connected pair of Unix stream sockets (unix(7)), used with write and read.
//! `bind=path|abstract` connects them through a name instead, which is gone before any message.
//! `connect=` goes to a server that already runs (`foreign`).
//! `wiring=self` is a control, wrong on purpose: each worker reads back its own messages.

use std::borrow::Cow::Borrowed;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socketpair};

use super::connection::{At, BIND, Connection, unix_socket};
use super::fd::{OneFd, TwoFds};
use super::network::EffectiveSettings;
use super::{
    Carries, Choice, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Options, Traits,
    Visitor, foreign, socket,
};
use model::bend::{Bend, Length};

/// What the kernel copies of a write at once.
const CHUNK: Length = Length::Least(Borrowed(&[
    Length::Less(Borrowed(&[
        Length::Share(Borrowed(&[Length::Setting(Borrowed("send_buffer_bytes"))]), 2),
        Length::Bytes(64),
    ])),
    Length::Sum(Borrowed(&[
        Length::Less(Borrowed(&[Length::Page, Length::Bytes(socket::SKB_SHARED_INFO)])),
        Length::Most(Borrowed(&[Length::Page, Length::Bytes(32 << 10)])),
    ])),
]));

pub struct UnixStream;

impl Mechanism for UnixStream {
    const NAME: &'static str = "unix-stream";
    const ALIASES: &'static [&'static str] = &["uds", "unix"];
    const SUMMARY: &'static str = "a pair of Unix stream sockets";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Stream);
    const BENDS: &'static [Bend] = &[
        socket::SEND_BUFFER,
        socket::HALF_SEND_BUFFER,
        Bend::new(
            "chunk of a write",
            CHUNK,
            "unix_stream_sendmsg: min(SO_SNDBUF / 2 - 64, SKB_MAX_HEAD(0) + 32 KiB); kernels with \
             SKB_MAX_ALLOC in its place take 48,832",
        ),
    ];
    const OPTIONS: &'static [OptionSpec] = &[
        socket::BUFFER,
        BIND,
        OptionSpec {
            name: "wiring",
            summary: "to the partner, or back to the sender itself (a control)",
            words: &["partner", "self"],
            takes_size: false,
        },
        foreign::CONNECT_PATH,
        foreign::FRAME,
    ];

    fn traits(options: &Options) -> Traits {
        let carries = if to_itself(options) { Carries::Own } else { Carries::Bytes };
        let foreign_server = foreign::server(options, Self::OPTIONS).is_some();
        Traits { carries, foreign_server, ..Self::TRAITS }
    }

    fn connection(options: &Options) -> Option<Connection> {
        Some(Connection {
            at: At::bound(options, Self::OPTIONS)?,
            socket: |_| unix_socket(SocketType::STREAM),
            prepare: prepare::<Self>,
        })
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        if let Some(server) = foreign::asked(&spec.options, Self::OPTIONS, &["bind", "wiring"])? {
            let to = SocketAddrUnix::new(server).map_err(OpenError::call("name the socket"))?;
            let near = foreign::connected(unix_socket(SocketType::STREAM)?, &to, server)?;
            let settings = prepare::<Self>(near.as_fd(), spec)?;
            return foreign::visit(near, settings, (&spec.options, Self::OPTIONS), visitor);
        }
        let (left, right) = connected::<Self>(SocketType::STREAM, spec)?;
        let effective_settings = socket::effective_settings(&left);
        if !to_itself(&spec.options) {
            let opened = Opened::new(OneFd::new(left), OneFd::new(right));
            return Ok(visitor.visit(opened.effective_settings(effective_settings)));
        }
        // The responder has a pair of its own, which nobody uses.
        let (to, from) = connected::<Self>(SocketType::STREAM, spec)?;
        let initiator = TwoFds::new(left, right);
        let opened = Opened::new(initiator, TwoFds::new(to, from));
        Ok(visitor.visit(opened.effective_settings(effective_settings)))
    }
}

fn to_itself(options: &Options) -> bool {
    options.get(UnixStream::OPTIONS, "wiring") == Choice::Word("self")
}

/// Two connected sockets, by whichever `bind` says, with the buffers asked for.
pub fn connected<M: Mechanism>(
    kind: SocketType,
    spec: &OpenSpec,
) -> Result<(OwnedFd, OwnedFd), OpenError> {
    let (left, right) = match M::connection(&spec.options) {
        Some(connection) => connection.both(spec)?,
        None => socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
            .map_err(OpenError::call("socketpair AF_UNIX"))?,
    };
    socket::set_buffers(&left, spec, M::OPTIONS)?;
    socket::set_buffers(&right, spec, M::OPTIONS)?;
    Ok((left, right))
}

/// Sets the buffers asked for of a connected socket; gives what was granted.
pub fn prepare<M: Mechanism>(
    socket: BorrowedFd<'_>,
    spec: &OpenSpec,
) -> Result<EffectiveSettings, OpenError> {
    socket::set_buffers(socket, spec, M::OPTIONS)?;
    Ok(socket::effective_settings(socket))
}
