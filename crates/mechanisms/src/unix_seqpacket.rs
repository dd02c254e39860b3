//! `unix-seqpacket`: a connected pair of Unix sockets that keep message boundaries, reliable
//! and in order (unix(7)). A message must fit the send buffer. What it shares with `unix-dgram`
//! is here.

use std::borrow::Cow::Borrowed;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};

use super::connection::{At, BIND, Connection, unix_socket};
use super::unix_stream::{connected, prepare};
use super::{
    Carries, Choice, Endpoint, Framing, Mechanism, Nonblocking, NonblockingCode, OpenError,
    OpenSpec, Opened, OptionSpec, Options, Received, Sent, Traits, Visitor, socket,
};
use model::bend::{Bend, Length};

/// What of a packet lies in one piece.
pub const LINEAR: Bend = Bend::new(
    "one piece of a datagram",
    Length::Less(Borrowed(&[
        Length::Times(Borrowed(&[Length::Page]), 4),
        Length::Bytes(socket::SKB_SHARED_INFO),
    ])),
    "unix_dgram_sendmsg: SKB_MAX_ALLOC",
);

pub struct UnixSeqpacket;

pub struct PacketEnd(pub OwnedFd);

/// What the kernel keeps of the send buffer for itself (unix_dgram_sendmsg: sk_sndbuf - 32).
const RESERVED: usize = 32;
/// The least the kernel gives a send buffer, by its own accounting (SOCK_MIN_SNDBUF).
const SMALLEST_BUFFER: usize = 4608;

impl Mechanism for UnixSeqpacket {
    const NAME: &'static str = "unix-seqpacket";
    const SUMMARY: &'static str = "a pair of Unix sockets that keep boundaries";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);
    const BENDS: &'static [Bend] = &[socket::SEND_BUFFER, socket::HALF_SEND_BUFFER, LINEAR];
    const OPTIONS: &'static [OptionSpec] = &[socket::BUFFER, BIND];

    fn largest(options: &Options) -> Option<usize> {
        largest_packet(SocketType::SEQPACKET, options, Self::OPTIONS)
    }

    fn connection(options: &Options) -> Option<Connection> {
        Some(Connection {
            at: At::bound(options, Self::OPTIONS)?,
            socket: |_| unix_socket(SocketType::SEQPACKET),
            prepare: prepare::<Self>,
        })
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let (left, right) = connected::<Self>(SocketType::SEQPACKET, spec)?;
        let effective_settings = socket::effective_settings(&left);
        Ok(visitor.visit(
            Opened::new(PacketEnd(left), PacketEnd(right)).effective_settings(effective_settings),
        ))
    }
}

/// Largest packet that a Unix socket with these options sends; None where opening tells.
pub fn largest_packet(
    kind: SocketType,
    options: &Options,
    specs: &'static [OptionSpec],
) -> Option<usize> {
    match options.get(specs, "buffer") {
        Choice::Size(bytes) => return Some((2 * bytes).max(SMALLEST_BUFFER) - RESERVED),
        // Whether the kernel grants as much as the message needs shows when opening.
        Choice::Word("message") => return None,
        Choice::Word(_) => {}
    }
    let (left, _right) = pair(kind).ok()?;
    Some(sockopt::socket_send_buffer_size(&left).ok()? - RESERVED)
}

fn pair(kind: SocketType) -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
}

impl Endpoint for PacketEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        socket::send_message(&self.0, message)
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        match socket::recv_length(&self.0, message)? {
            length if length == message.len() => Ok(()),
            length => Err(socket::wrong_length("recv", length, message.len())),
        }
    }

    fn nonblocking<'a, C: NonblockingCode<'a>>(&'a mut self, code: C) -> Option<C::Output> {
        Some(code.run(self))
    }
}

/// Each call says for itself that it doesn't wait (MSG_DONTWAIT).
impl Nonblocking for PacketEnd {
    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        socket::try_send_message(&self.0, message)
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        match socket::try_recv_length(&self.0, message)? {
            None => Ok(Received::WouldBlock),
            Some(length) if length == message.len() => Ok(Received::Whole),
            Some(length) => Err(socket::wrong_length("recv", length, message.len())),
        }
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    fn room(&self) -> Option<PollFd<'_>> {
        Some(PollFd::new(&self.0, PollFlags::OUT))
    }

    fn shared(&self) -> Option<(BorrowedFd<'_>, BorrowedFd<'_>)> {
        Some((self.0.as_fd(), self.0.as_fd()))
    }
}
