//! `unix-seqpacket`: a connected pair of Unix sockets that keep message boundaries, reliable
//! and in order (unix(7)). A message must fit the send buffer.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair, sockopt};

use super::{
    Carries, Choice, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec,
    Options, Reach, Traits, Visitor, socket,
};

/// The mechanism's row.
pub struct UnixSeqpacket;

/// One socket.
pub struct End(OwnedFd);

/// What the kernel keeps of the send buffer for itself (unix_dgram_sendmsg: sk_sndbuf - 32).
const RESERVED: usize = 32;
/// The least the kernel gives a send buffer, by its own accounting (SOCK_MIN_SNDBUF).
const SMALLEST_BUFFER: usize = 4608;

impl Mechanism for UnixSeqpacket {
    const NAME: &'static str = "unix-seqpacket";
    const SUMMARY: &'static str = "a pair of Unix sockets that keep message boundaries";
    const TRAITS: Traits =
        Traits { carries: Carries::Bytes, framing: Framing::Message, reach: Reach::Host };
    const OPTIONS: &'static [OptionSpec] = &[socket::BUFFER];

    fn largest(options: &Options) -> Option<usize> {
        match options.get(Self::OPTIONS, "buffer") {
            Choice::Size(bytes) => return Some((2 * bytes).max(SMALLEST_BUFFER) - RESERVED),
            // Whether the kernel grants as much as the message needs shows when opening.
            Choice::Word("message") => return None,
            Choice::Word(_) => {}
        }
        let (left, _right) = pair().ok()?;
        Some(sockopt::socket_send_buffer_size(&left).ok()? - RESERVED)
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let (left, right) =
            pair().map_err(OpenError::call("socketpair", "raise the limit on open files"))?;
        socket::set_buffers(&left, spec, Self::OPTIONS)?;
        socket::set_buffers(&right, spec, Self::OPTIONS)?;
        let granted = socket::granted(&left);
        Ok(visitor.visit(Opened { initiator: End(left), responder: End(right), granted }))
    }
}

fn pair() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

impl Endpoint for End {
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
}
