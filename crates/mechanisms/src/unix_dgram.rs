//! `unix-dgram`: a connected pair of Unix datagram sockets (unix(7)): reliable and in order,
//! unlike datagrams over a network. A message must fit the send buffer, and only so many may
//! wait (net.unix.max_dgram_qlen): then the sender sleeps.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::unix_seqpacket::{LINEAR, PacketEnd, largest_packet};
use super::{
    Carries, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Options, Traits, Visitor,
    socket,
};
use model::bend::Bend;

pub struct UnixDgram;

impl Mechanism for UnixDgram {
    const NAME: &'static str = "unix-dgram";
    const SUMMARY: &'static str = "a pair of Unix datagram sockets";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);
    const BENDS: &'static [Bend] = &[socket::SEND_BUFFER, socket::HALF_SEND_BUFFER, LINEAR];
    const OPTIONS: &'static [OptionSpec] = &[socket::BUFFER];

    fn largest(options: &Options) -> Option<usize> {
        largest_packet(SocketType::DGRAM, options, Self::OPTIONS)
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let failed = OpenError::call("socketpair AF_UNIX");
        let (left, right) =
            socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None)
                .map_err(failed)?;
        socket::set_buffers(&left, spec, Self::OPTIONS)?;
        socket::set_buffers(&right, spec, Self::OPTIONS)?;
        let effective_settings = socket::effective_settings(&left);
        Ok(visitor.visit(
            Opened::new(PacketEnd(left), PacketEnd(right)).effective_settings(effective_settings),
        ))
    }
}
