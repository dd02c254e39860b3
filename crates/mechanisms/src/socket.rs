//! What the socket mechanisms share: the options `buffer` and `busy-poll`, what the kernel
//! granted, and one message per system call for sockets that keep boundaries.

use crate::unavailable::unavailable;
use std::borrow::Cow::Borrowed;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};

use model::bend::{Bend, Length};
use sys::failed::failed;

use super::{Choice, OpenError, OpenSpec, OptionSpec, Sent, Unavailable};

/// The option `buffer=default|message|SIZE` of every socket mechanism.
pub const BUFFER: OptionSpec = OptionSpec {
    name: "buffer",
    summary: "SO_SNDBUF and SO_RCVBUF: the kernel's default, one message, or a size",
    words: &["default", "message"],
    takes_size: true,
};

/// The option `busy-poll=off|MICROSECONDS` of the network mechanisms.
pub const BUSY_POLL: OptionSpec = OptionSpec {
    name: "busy-poll",
    summary: "SO_BUSY_POLL: poll the device so long before sleeping; loopback has none to poll",
    words: &["off", "MICROSECONDS"],
    takes_size: false,
};

/// The option `mtu=default|SIZE` of the network mechanisms.
pub const MTU: OptionSpec = OptionSpec {
    name: "mtu",
    summary: "the largest packet, on a loopback of the launch's own network namespace",
    words: &["default"],
    takes_size: true,
};

/// The MTU of Linux's loopback (drivers/net/loopback.c).
pub const LOOPBACK_MTU: u64 = 65_536;
/// The largest IPv4 packet (ip(7)).
pub const LARGEST_PACKET: u64 = 65_535;

/// The kernel's `struct skb_shared_info`, at the end of a socket buffer's linear part, in whole
/// cache lines (64-bit).
pub const SKB_SHARED_INFO: u64 = 320;

/// The buffer on the sending side, by the kernel's accounting.
pub const SEND_BUFFER: Bend = Bend::new(
    "send buffer, with its accounting",
    Length::setting("send_buffer_bytes"),
    "granted: SO_SNDBUF",
);
pub const HALF_SEND_BUFFER: Bend = Bend::new(
    "half the send buffer",
    Length::Share(Borrowed(&[Length::Setting(Borrowed("send_buffer_bytes"))]), 2),
    "socket(7): the other half is overhead",
);
/// The half of the receiving side's that was asked for.
pub const HALF_RECEIVE_BUFFER: Bend = Bend::new(
    "half the receive buffer",
    Length::Share(Borrowed(&[Length::Setting(Borrowed("receive_buffer_bytes"))]), 2),
    "socket(7): the other half is overhead",
);

/// From the least that IPv6 lives on to what the kernel's own loopback has.
const MTUS: RangeInclusive<usize> = 1280..=65_536;

/// Applies the `mtu` option, before any socket is made; gives what was granted.
pub fn enter_mtu(
    spec: &OpenSpec,
    options: &'static [OptionSpec],
) -> Result<Option<(String, u64)>, OpenError> {
    let Choice::Size(bytes) = spec.options.get(options, "mtu") else { return Ok(None) };
    if !MTUS.contains(&bytes) {
        let (least, most) = (MTUS.start(), MTUS.end());
        let reason = format!("mtu={bytes}: choose from {least} to {most} bytes");
        return Err(OpenError::NotApplicable(reason));
    }
    let effective_settings = sys::network::enter_loopback_of(bytes as u32).map_err(|error| {
        let Unavailable { cause, reason, remedy } = unavailable("unshare", &error);
        let reason = format!("mtu={bytes} needs a network namespace of its own: {reason}");
        OpenError::Unavailable(Unavailable { cause, reason, remedy })
    })?;
    Ok(Some(("mtu_bytes".into(), effective_settings.into())))
}

/// Applies the `buffer` option to both buffers of `socket`.
///
/// The kernel doubles what is asked, for its bookkeeping (socket(7)), and silently cuts it to
/// net.core.wmem_max or rmem_max. What is above them is asked for with CAP_NET_ADMIN's
/// SO_SNDBUFFORCE and SO_RCVBUFFORCE, and refused, not cut, where that isn't permitted.
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
    let least = || {
        let sent = sockopt::socket_send_buffer_size(&socket)?;
        Ok(sent.min(sockopt::socket_recv_buffer_size(&socket)?))
    };
    if least().map_err(failed)? >= 2 * bytes {
        return Ok(());
    }
    let forced = sockopt::set_socket_send_buffer_size_force(&socket, bytes)
        .and_then(|()| sockopt::set_socket_recv_buffer_size_force(&socket, bytes));
    match forced {
        Ok(()) if least().map_err(failed)? >= 2 * bytes => Ok(()),
        // No sysctl goes beyond: the doubled size is an int.
        Ok(()) => Err(OpenError::NotApplicable(format!(
            "buffer={bytes}: the kernel grants at most {}: choose less",
            least().map_err(failed)? / 2
        ))),
        Err(_) => Err(beyond_limits(bytes)),
    }
}

/// The refusal of buffers above the system's limits.
fn beyond_limits(bytes: usize) -> OpenError {
    let found = |name: &str| sysctl(name).unwrap_or_else(|| "an unknown number".into());
    OpenError::NotApplicable(format!(
        "buffer={bytes}: needs {bytes} bytes of net.core.wmem_max and of net.core.rmem_max, \
         found {} and {}: choose less, run with CAP_NET_ADMIN, or \
         `sysctl -w net.core.wmem_max={bytes} net.core.rmem_max={bytes}`",
        found("net/core/wmem_max"),
        found("net/core/rmem_max"),
    ))
}

/// The value of a system setting, by its path below /proc/sys.
pub fn sysctl(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(std::path::Path::new("/proc/sys").join(path)).ok()?;
    Some(text.trim().to_string())
}

/// Applies the `busy-poll` option to each of `sockets`; gives what was granted.
pub fn set_busy_poll(
    sockets: impl IntoIterator<Item = impl AsFd>,
    spec: &OpenSpec,
    options: &'static [OptionSpec],
) -> Result<Option<(String, u64)>, OpenError> {
    let asked = spec.options.number(options, "busy-poll").filter(|asked| *asked > 0);
    let Some(microseconds) = asked else { return Ok(None) };
    for socket in sockets {
        sys::socket::set_busy_poll(socket, microseconds).map_err(|error| {
            let found = sysctl("net/core/busy_read").unwrap_or_else(|| "unknown".into());
            let Unavailable { cause, reason, remedy } =
                unavailable("setsockopt SO_BUSY_POLL", &error);
            OpenError::Unavailable(Unavailable {
                cause,
                reason: format!("{reason}, net.core.busy_read is {found}"),
                remedy: format!("{remedy}, or `sysctl -w net.core.busy_read={microseconds}`"),
            })
        })?;
    }
    Ok(Some(("busy_poll_us".into(), microseconds.into())))
}

/// What the kernel granted `socket`, in its own accounting (twice what was asked).
pub fn effective_settings(socket: impl AsFd) -> Vec<(String, u64)> {
    let mut effective_settings = Vec::new();
    if let Ok(bytes) = sockopt::socket_send_buffer_size(&socket) {
        effective_settings.push(("send_buffer_bytes".into(), bytes as u64));
    }
    if let Ok(bytes) = sockopt::socket_recv_buffer_size(&socket) {
        effective_settings.push(("receive_buffer_bytes".into(), bytes as u64));
    }
    effective_settings
}

/// Sends `message` as one message (send(2)).
#[inline(always)]
pub fn send_message(socket: impl AsFd, message: &[u8]) -> io::Result<()> {
    loop {
        match send(&socket, message, SendFlags::NOSIGNAL) {
            Ok(taken) if taken == message.len() => return Ok(()),
            Ok(taken) => return Err(wrong_length("send", taken, message.len())),
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("sendto", error)),
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
            Err(error) => return Err(failed("recvfrom", error)),
        }
    }
}

/// Sends `message` as one message if there is room for it (send(2), MSG_DONTWAIT).
#[inline(always)]
pub fn try_send_message(socket: impl AsFd, message: &[u8]) -> io::Result<Sent> {
    loop {
        match send(&socket, message, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(taken) if taken == message.len() => return Ok(Sent::Whole),
            Ok(taken) => return Err(wrong_length("send", taken, message.len())),
            Err(Errno::AGAIN) => return Ok(Sent::WouldBlock),
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("sendto", error)),
        }
    }
}

/// As [`recv_length`], if a message is there; None if none is (recv(2), MSG_DONTWAIT).
#[inline(always)]
pub fn try_recv_length(socket: impl AsFd, message: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        match recv(&socket, &mut *message, RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
            Ok((_, length)) => return Ok(Some(length)),
            Err(Errno::AGAIN) => return Ok(None),
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed("recvfrom", error)),
        }
    }
}

/// The error for a message that isn't as long as both sides agreed.
#[cold]
pub fn wrong_length(call: &str, length: usize, expected: usize) -> io::Error {
    let kind = if length == 0 { io::ErrorKind::UnexpectedEof } else { io::ErrorKind::InvalidData };
    io::Error::new(kind, format!("{call}: {length} bytes instead of {expected}"))
}
