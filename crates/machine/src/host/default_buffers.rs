//! What the kernel grants a fresh object of each kind to this process: settings say what may be
//! asked for, this says what comes without asking. The objects are closed at once; no address
//! is bound.

use model::host::{Buffers, DefaultBuffers};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::pipe::{PipeFlags, fcntl_getpipe_size, pipe_with};

pub(super) fn to_this_process() -> DefaultBuffers {
    let close = SocketFlags::CLOEXEC;
    let pipe = pipe_with(PipeFlags::CLOEXEC).and_then(|(end, _)| fcntl_getpipe_size(end));
    let unix = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, close, None).ok();
    let inet = |kind| rustix::net::socket_with(AddressFamily::INET, kind, close, None).ok();
    DefaultBuffers {
        pipe_bytes: pipe.ok().map(|bytes| bytes as u64),
        unix_stream: unix.and_then(|(end, _)| buffers(end)),
        tcp: inet(SocketType::STREAM).and_then(buffers),
        udp: inet(SocketType::DGRAM).and_then(buffers),
    }
}

fn buffers(socket: impl std::os::fd::AsFd) -> Option<Buffers> {
    let send_bytes = sockopt::socket_send_buffer_size(&socket).ok()? as u64;
    let receive_bytes = sockopt::socket_recv_buffer_size(&socket).ok()? as u64;
    Some(Buffers { send_bytes, receive_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fresh_objects_have_room() {
        let default_buffers = to_this_process();
        assert!(default_buffers.pipe_bytes >= Some(4096), "{default_buffers:?}");
        assert!(
            default_buffers.unix_stream.is_some_and(
                |unix_stream| unix_stream.send_bytes > 0 && unix_stream.receive_bytes > 0
            )
        );
    }
}
