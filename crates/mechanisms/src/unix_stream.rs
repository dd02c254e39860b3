//! `unix-stream`: a connected pair of Unix stream sockets (unix(7)), used with write and read.
//! `bind=path|abstract` connects them through a name instead, which is gone before any message.
//! `wiring=self` is a control, wrong on purpose: each worker reads back its own messages.

use std::borrow::Cow::Borrowed;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with, socketpair,
};

use super::fd::{OneFd, TwoFds};
use super::nonblocking::Any;
use super::{
    Carries, Choice, Framing, Mechanism, NonblockingVisitor, OpenError, OpenSpec, Opened,
    OptionSpec, Options, PrivateNames, Step, Traits, Visitor, socket,
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

/// The mechanism's row.
pub struct UnixStream;

/// The option `bind=none|path|abstract` of connected Unix sockets.
pub const BIND: OptionSpec = OptionSpec {
    name: "bind",
    summary: "a nameless pair, or connected through a path or an abstract name",
    words: &["none", "path", "abstract"],
    takes_size: false,
};

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
    ];

    fn traits(options: &Options) -> Traits {
        let carries = if to_itself(options) { Carries::Own } else { Carries::Bytes };
        Traits { carries, ..Self::TRAITS }
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        Self::open_nonblocking(spec, Any(visitor))
    }

    fn open_nonblocking<V: NonblockingVisitor>(
        spec: &OpenSpec,
        mut visitor: V,
    ) -> Result<V::Output, OpenError> {
        let (left, right) = connected(SocketType::STREAM, spec, Self::OPTIONS, &mut visitor)?;
        let effective_settings = socket::effective_settings(&left);
        if !to_itself(&spec.options) {
            let opened = Opened::new(OneFd::new(left), OneFd::new(right));
            return Ok(visitor.visit(opened.effective_settings(effective_settings)));
        }
        // The responder has a pair of its own, which nobody uses.
        let (to, from) = connected(SocketType::STREAM, spec, Self::OPTIONS, &mut visitor)?;
        let initiator = TwoFds::new(left, right);
        let opened = Opened::new(initiator, TwoFds::new(to, from));
        Ok(visitor.visit(opened.effective_settings(effective_settings)))
    }
}

fn to_itself(options: &Options) -> bool {
    options.get(UnixStream::OPTIONS, "wiring") == Choice::Word("self")
}

/// Two connected sockets, by whichever `bind` says, with the buffers asked for.
pub fn connected(
    kind: SocketType,
    spec: &OpenSpec,
    specs: &'static [OptionSpec],
    visitor: &mut impl NonblockingVisitor,
) -> Result<(OwnedFd, OwnedFd), OpenError> {
    let (left, right) = match spec.options.get(specs, "bind") {
        Choice::Word("path") => {
            let (names, remedy) = (PrivateNames::new()?, "set TMPDIR to a shorter path");
            let path = names.name()?;
            let name = SocketAddrUnix::new(path.path())
                .map_err(OpenError::call("name the socket", remedy))?;
            through(kind, &name, visitor)?
        }
        Choice::Word("abstract") => {
            let name = super::residue::random_name()
                .map_err(OpenError::call("getrandom", "none known"))?;
            let name = SocketAddrUnix::new_abstract_name(name.as_bytes())
                .map_err(OpenError::call("name the socket", "none known"))?;
            through(kind, &name, visitor)?
        }
        _ => socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
            .map_err(OpenError::call("socketpair", "raise the limit on open files (ulimit -n)"))?,
    };
    socket::set_buffers(&left, spec, specs)?;
    socket::set_buffers(&right, spec, specs)?;
    Ok((left, right))
}

/// Binds, listens, connects and accepts at `name`. The listener is closed on return; only this
/// user could connect to it, and who isn't us is turned away.
fn through(
    kind: SocketType,
    name: &SocketAddrUnix,
    visitor: &mut impl NonblockingVisitor,
) -> Result<(OwnedFd, OwnedFd), OpenError> {
    let failed = |call| {
        OpenError::call::<rustix::io::Errno>(call, "raise the limit on open files (ulimit -n)")
    };
    let socket = || {
        socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).map_err(failed("socket"))
    };
    let listener = socket()?;
    bind(&listener, name).map_err(failed("bind"))?;
    listen(&listener, 1).map_err(failed("listen"))?;
    visitor.passed(Step::Bound);
    let near = socket()?;
    connect(&near, name).map_err(failed("connect"))?;
    visitor.passed(Step::Connected);
    loop {
        let far = accept_with(&listener, SocketFlags::CLOEXEC).map_err(failed("accept"))?;
        let credentials =
            rustix::net::sockopt::socket_peercred(&far).map_err(failed("SO_PEERCRED"))?;
        if credentials.pid == rustix::process::getpid() {
            visitor.passed(Step::Accepted);
            return Ok((near, far));
        }
    }
}
