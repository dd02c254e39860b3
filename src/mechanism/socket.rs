//! What the socket mechanisms share: the `buffer` option, what the kernel granted, and one
//! message per system call for sockets that keep boundaries.

use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};

use super::{Choice, OpenError, OpenSpec, OptionSpec};

/// The option `buffer=default|message|SIZE` of every socket mechanism.
pub const BUFFER: OptionSpec = OptionSpec {
    name: "buffer",
    summary: "SO_SNDBUF and SO_RCVBUF: the kernel's default, one message, or a size",
    words: &["default", "message"],
    takes_size: true,
};

/// Applies the `buffer` option to both buffers of `socket`.
///
/// The kernel doubles what is asked, for its bookkeeping (socket(7)); more than
/// net.core.wmem_max or rmem_max is refused here instead of silently cut.
pub fn set_buffers(
    socket: impl AsFd,
    spec: &OpenSpec,
    options: &'static [OptionSpec],
) -> Result<(), OpenError> {
    let bytes = match spec.options.get(options, "buffer") {
        Choice::Word("message") => spec.message_bytes,
        Choice::Size(bytes) => bytes,
        Choice::Word(_) => return Ok(()),
    };
    let failed = |error: Errno| OpenError::NotApplicable(format!("buffer={bytes}: {error}"));
    sockopt::set_socket_send_buffer_size(&socket, bytes).map_err(failed)?;
    sockopt::set_socket_recv_buffer_size(&socket, bytes).map_err(failed)?;
    let sent = sockopt::socket_send_buffer_size(&socket).map_err(failed)?;
    let received = sockopt::socket_recv_buffer_size(&socket).map_err(failed)?;
    if sent.min(received) < bytes {
        return Err(OpenError::NotApplicable(format!(
            "buffer={bytes}: the kernel grants {} (net.core.wmem_max, rmem_max): \
             choose less, or raise them",
            sent.min(received)
        )));
    }
    Ok(())
}

/// What the kernel granted `socket`, in its own accounting (twice what was asked).
pub fn granted(socket: impl AsFd) -> Vec<(String, u64)> {
    let mut granted = Vec::new();
    if let Ok(bytes) = sockopt::socket_send_buffer_size(&socket) {
        granted.push(("send_buffer_bytes".into(), bytes as u64));
    }
    if let Ok(bytes) = sockopt::socket_recv_buffer_size(&socket) {
        granted.push(("receive_buffer_bytes".into(), bytes as u64));
    }
    granted
}

/// Sends `message` as one message (send(2)).
#[inline(always)]
pub fn send_message(socket: impl AsFd, message: &[u8]) -> io::Result<()> {
    loop {
        match send(&socket, message, SendFlags::NOSIGNAL) {
            Ok(taken) if taken == message.len() => return Ok(()),
            Ok(taken) => return Err(wrong_length("send", taken, message.len())),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Receives one message of at most `message.len()` bytes; gives its true length (recv(2),
/// MSG_TRUNC).
#[inline(always)]
pub fn recv_length(socket: impl AsFd, message: &mut [u8]) -> io::Result<usize> {
    loop {
        match recv(&socket, &mut *message, RecvFlags::TRUNC) {
            Ok((_, length)) => return Ok(length),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The error for a message that isn't as long as both sides agreed.
#[cold]
pub fn wrong_length(call: &str, length: usize, expected: usize) -> io::Error {
    let kind = if length == 0 { io::ErrorKind::UnexpectedEof } else { io::ErrorKind::InvalidData };
    io::Error::new(kind, format!("{call}: {length} bytes instead of {expected}"))
}
