//! What the kernel grants a fresh object of each kind to this process: settings say what may be
//! asked for, this says what comes without asking. The objects are closed at once; no address
//! is bound.

use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::pipe::{PipeFlags, fcntl_getpipe_size, pipe_with};
use serde::{Deserialize, Serialize};

/// Sizes in bytes that fresh objects have. `None` where one can't be made (no descriptors left,
/// a filter forbids it), and in what was stored before this was recorded.
#[derive(Serialize, Deserialize, Clone, Debug, PartialEq, Default)]
pub struct Granted {
    /// Capacity of a pipe (F_GETPIPE_SZ): 64 KiB, or less for a user who holds many (pipe(7)).
    pub pipe_bytes: Option<u64>,
    /// Buffers of one end of a Unix stream pair.
    pub unix_stream: Option<Buffers>,
    /// Buffers of a TCP socket before it is connected; the kernel grows them later.
    pub tcp: Option<Buffers>,
    /// Buffers of a UDP socket.
    pub udp: Option<Buffers>,
}

/// The buffers of a socket as getsockopt tells them: twice what may be filled (socket(7)).
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub struct Buffers {
    /// SO_SNDBUF.
    pub send_bytes: u64,
    /// SO_RCVBUF.
    pub receive_bytes: u64,
}

impl Granted {
    pub(super) fn to_this_process() -> Granted {
        let close = SocketFlags::CLOEXEC;
        let pipe = pipe_with(PipeFlags::CLOEXEC).and_then(|(end, _)| fcntl_getpipe_size(end));
        let unix =
            rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, close, None).ok();
        let inet = |kind| rustix::net::socket_with(AddressFamily::INET, kind, close, None).ok();
        Granted {
            pipe_bytes: pipe.ok().map(|bytes| bytes as u64),
            unix_stream: unix.and_then(|(end, _)| Buffers::of(end)),
            tcp: inet(SocketType::STREAM).and_then(Buffers::of),
            udp: inet(SocketType::DGRAM).and_then(Buffers::of),
        }
    }
}

impl Buffers {
    fn of(socket: impl std::os::fd::AsFd) -> Option<Buffers> {
        let send_bytes = sockopt::socket_send_buffer_size(&socket).ok()? as u64;
        let receive_bytes = sockopt::socket_recv_buffer_size(&socket).ok()? as u64;
        Some(Buffers { send_bytes, receive_bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_objects_have_room() {
        let granted = Granted::to_this_process();
        assert!(granted.pipe_bytes >= Some(4096), "{granted:?}");
        assert!(granted.unix_stream.is_some_and(|it| it.send_bytes > 0 && it.receive_bytes > 0));
    }
}
