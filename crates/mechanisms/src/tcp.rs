//! `tcp`: a TCP connection over the loopback interface, used with write and read. The
//! listener lives only while the pair is opened, and takes no stranger's connection. Buffers are set before
//! a socket listens or connects: the window scale is fixed by the handshake (tcp(7)).
//! `mptcp=on` makes it a Multipath TCP connection (RFC 8684), and is content with nothing less. `connect=` goes to a server
//! that already runs (`foreign`).

mod remote;

use std::borrow::Cow::Borrowed;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with, sockopt};

pub use remote::{no_address, unreachable};

use super::connection::{At, Connection};
use super::fd::OneFd;
use super::network::{Call, ConnectVisitor, Cookie, EffectiveSettings, ListenVisitor};
use super::{
    Carries, Cause, Choice, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Options,
    Scope, Traits, Unavailable, Visitor, foreign, socket,
};
use model::bend::{Bend, Length, Only};
use model::catalogue;

/// TCP and IPv4 headers with time stamps.
const HEADERS: u64 = 20 + 20 + 12;

/// What one packet carries.
const SEGMENT: Length = Length::Less(Borrowed(&[
    Length::Least(Borrowed(&[
        Length::First(Borrowed(&[
            Length::Setting(Borrowed("mtu_bytes")),
            Length::Bytes(socket::LOOPBACK_MTU),
        ])),
        Length::Bytes(socket::LARGEST_PACKET),
    ])),
    Length::Bytes(HEADERS),
]));

pub struct Tcp;

/// The option `family=4|6` of the network mechanisms.
pub const FAMILY: OptionSpec = OptionSpec {
    name: "family",
    summary: "IPv4 or IPv6 loopback",
    words: &["4", "6"],
    takes_size: false,
};

/// The loopback address that `family` asks for.
pub fn loopback(options: &Options, specs: &'static [OptionSpec]) -> IpAddr {
    match options.get(specs, "family") {
        Choice::Word("6") => Ipv6Addr::LOCALHOST.into(),
        _ => Ipv4Addr::LOCALHOST.into(),
    }
}

impl Mechanism for Tcp {
    const NAME: &'static str = "tcp";
    const SUMMARY: &'static str = "a TCP connection over loopback";
    const TRAITS: Traits =
        Traits { scope: Scope::Network, ..Traits::host(Carries::Bytes, Framing::Stream) };
    const BENDS: &'static [Bend] = &[
        Bend::new(
            "send buffer, with its accounting",
            Length::setting("send_buffer_bytes"),
            "granted: SO_SNDBUF; tuned later, tcp(7)",
        ),
        socket::HALF_SEND_BUFFER,
        Bend::new(
            "receive buffer, with its accounting",
            Length::setting("receive_buffer_bytes"),
            "granted: SO_RCVBUF; tuned later, tcp(7)",
        ),
        socket::HALF_RECEIVE_BUFFER,
        Bend::new("TCP segment of the MTU", SEGMENT, "MTU less headers, ip(7) and tcp(7)"),
        Bend::only(
            "TCP segment, half the first window",
            Length::Share(Borrowed(&[Length::Setting(Borrowed("receive_buffer_bytes"))]), 4),
            Only::Below(SEGMENT),
            "tcp_bound_to_half_wnd: the first window is half the receive buffer",
        ),
    ];
    const OPTIONS: &'static [OptionSpec] = &[
        OptionSpec {
            name: catalogue::NODELAY,
            summary: "TCP_NODELAY: send at once instead of gathering (Nagle)",
            words: &["on", "off"],
            takes_size: false,
        },
        OptionSpec {
            name: "mptcp",
            summary: "Multipath TCP, with the one path that loopback has",
            words: &["off", "on"],
            takes_size: false,
        },
        FAMILY,
        socket::BUFFER,
        socket::BUSY_POLL,
        socket::MTU,
        foreign::CONNECT_PORT,
        foreign::FRAME,
    ];

    fn traits(options: &Options) -> Traits {
        let foreign_server = foreign::server(options, Self::OPTIONS).is_some();
        Traits { foreign_server, ..Self::TRAITS }
    }

    fn connection(options: &Options) -> Option<Connection> {
        Some(Connection {
            at: At::Loopback(loopback(options, Self::OPTIONS)),
            socket: |spec| stream_socket(loopback(&spec.options, Self::OPTIONS), spec),
            prepare,
        })
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        if let Some(server) = foreign::asked(&spec.options, Self::OPTIONS, &["family", "mtu"])? {
            let to: SocketAddr = server.parse().expect("checked at the door");
            let near = foreign::connected(stream_socket(to.ip(), spec)?, &to, server)?;
            let settings = prepare(near.as_fd(), spec)?;
            return foreign::visit(near, settings, (&spec.options, Self::OPTIONS), visitor);
        }
        let mtu = socket::enter_mtu(spec, Self::OPTIONS)?;
        let connection = Self::connection(&spec.options).expect("every variant connects");
        let (near, far) = connection.both(spec)?;
        let mut effective_settings = prepare(near.as_fd(), spec)?;
        prepare(far.as_fd(), spec)?;
        effective_settings.extend(mtu);
        Ok(visitor.visit(
            Opened::new(OneFd::new(near), OneFd::new(far)).effective_settings(effective_settings),
        ))
    }

    fn listen<V: ListenVisitor>(
        spec: &OpenSpec,
        address: IpAddr,
        cookie: Cookie,
        visitor: V,
    ) -> Result<V::Output, OpenError> {
        Ok(visitor.visit(remote::LaunchListener::open(spec, address, cookie)?))
    }

    fn connect<V: ConnectVisitor>(
        spec: &OpenSpec,
        call: &Call,
        visitor: V,
    ) -> Result<V::Output, OpenError> {
        remote::connect(spec, call, visitor)
    }
}

/// Applies the options of a connected socket; gives what was granted.
fn prepare(socket: BorrowedFd<'_>, spec: &OpenSpec) -> Result<EffectiveSettings, OpenError> {
    let nodelay = spec.options.get(Tcp::OPTIONS, "nodelay") == Choice::Word("on");
    sockopt::set_tcp_nodelay(socket, nodelay).map_err(OpenError::call("setsockopt TCP_NODELAY"))?;
    let mut effective_settings = socket::effective_settings(socket);
    effective_settings.extend(socket::set_busy_poll([socket], spec, Tcp::OPTIONS)?);
    if is_multipath(spec) {
        effective_settings.push(("mptcp_subflows".into(), subflows(socket)?));
    }
    Ok(effective_settings)
}

fn is_multipath(spec: &OpenSpec) -> bool {
    spec.options.get(Tcp::OPTIONS, "mptcp") == Choice::Word("on")
}

/// Subflows of a connection that was asked to be Multipath TCP: a silent fallback to TCP would
/// be measured under the wrong name.
fn subflows(stream: impl AsFd) -> Result<u64, OpenError> {
    let unavailable = |cause, reason: String, remedy: &str| {
        OpenError::Unavailable(Unavailable { cause, reason, remedy: remedy.into() })
    };
    match sys::socket::subflows(stream) {
        Ok(Some(subflows)) => Ok(subflows),
        Ok(None) => Err(unavailable(
            Cause::Other,
            "mptcp=on: the connection fell back to plain TCP".into(),
            "find what removes TCP options on loopback: a firewall rule, a BPF program",
        )),
        // The connection may have fallen back to TCP.
        Err(error) => Err(OpenError::call("getsockopt MPTCP_INFO")(error)),
    }
}

/// A socket of the protocol asked for, with the buffers asked for.
fn stream_socket(address: IpAddr, spec: &OpenSpec) -> Result<OwnedFd, OpenError> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let open = |protocol| socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, protocol);
    let socket = if is_multipath(spec) {
        open(Some(ipproto::MPTCP)).map_err(no_multipath)?
    } else {
        open(None).map_err(OpenError::call(if address.is_ipv4() {
            "socket AF_INET"
        } else {
            "socket AF_INET6"
        }))?
    };
    socket::set_buffers(&socket, spec, Tcp::OPTIONS)?;
    Ok(socket)
}

/// Why there is no Multipath TCP socket: this kernel has none, or a setting forbids it.
fn no_multipath(error: Errno) -> OpenError {
    let call = "socket IPPROTO_MPTCP";
    if error == Errno::NOPROTOOPT && socket::sysctl("net/mptcp/enabled").as_deref() == Some("0") {
        return OpenError::Unavailable(Unavailable {
            cause: Cause::Denied,
            reason: format!("{call}: {error}; net.mptcp.enabled is 0"),
            remedy: "`sysctl -w net.mptcp.enabled=1`".into(),
        });
    }
    OpenError::call(call)(error)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::net::{TcpListener, TcpStream};

    use rustix::net::connect;

    use super::*;

    #[test]
    fn a_fallback_to_plain_tcp_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let Ok(near) = socket_with(
            AddressFamily::INET,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            Some(ipproto::MPTCP),
        ) else {
            let _ = writeln!(io::stderr(), "skipped: no Multipath TCP here");
            return;
        };
        connect(&near, &listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        for stream in [TcpStream::from(near), far] {
            let error = subflows(&stream).unwrap_err().to_string();
            assert!(error.contains("fell back to plain TCP"), "{error}");
        }
    }
}
