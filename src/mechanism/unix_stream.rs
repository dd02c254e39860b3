//! `unix-stream`: a connected pair of Unix stream sockets (unix(7)), used with write and read.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::fd::OneFd;
use super::{
    Carries, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec, Reach, Traits, Visitor,
    socket,
};

/// The mechanism's row.
pub struct UnixStream;

impl Mechanism for UnixStream {
    const NAME: &'static str = "unix-stream";
    const SUMMARY: &'static str = "a pair of Unix stream sockets";
    const TRAITS: Traits =
        Traits { carries: Carries::Bytes, framing: Framing::Stream, reach: Reach::Host };
    const OPTIONS: &'static [OptionSpec] = &[socket::BUFFER];

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let (left, right) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .map_err(OpenError::call("socketpair", "raise the limit on open files"))?;
        socket::set_buffers(&left, spec, Self::OPTIONS)?;
        socket::set_buffers(&right, spec, Self::OPTIONS)?;
        let granted = socket::granted(&left);
        Ok(visitor.visit(Opened { initiator: OneFd(left), responder: OneFd(right), granted }))
    }
}
