//! A server that already runs and isn't ours, as the partner of `unix-stream` and `tcp`: it sends back what it gets.
//! `connect=` names its socket, and `frame=u32` puts the length before each message, in both directions.
//!
//! Timed: send, whatever the server does, receive. The responder of such a launch has nothing to do: its end is none.
//! Before the timing the initiator waits for answers with a time-out, so that a server that gives none is named; what is
//! timed has none. A server may answer before it has read all of a long message: while there is no room to send,
//! what comes back is taken in, or both sides would wait for each other.

use std::cmp::min;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, readv};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    RecvFlags, SendAncillaryBuffer, SendFlags, connect, getpeername, getsockname, recv, send,
    sendmsg,
};

use sys::failed::failed;

use super::fd::{another, set_nonblocking};
use super::network::EffectiveSettings;
use super::{
    Deadline, Endpoint, Nonblocking, OpenError, Opened, OptionSpec, Options, Phase, Received, Sent,
    Unavailable, Visitor,
};
use crate::unavailable::cause_of;
use model::catalogue::{CONNECT, LOOPBACK, PATH};

/// The option `connect=none|PATH` of Unix sockets.
pub const CONNECT_PATH: OptionSpec = OptionSpec {
    name: CONNECT,
    summary: "to an echo server of your own that already runs, at this socket",
    words: &["none", PATH],
    takes_size: false,
};

/// The option `connect=none|ADDRESS:PORT`.
pub const CONNECT_PORT: OptionSpec = OptionSpec {
    name: CONNECT,
    summary: "to an echo server of your own that already runs, at this loopback address",
    words: &["none", LOOPBACK],
    takes_size: false,
};

/// The option `frame=none|u32`.
pub const FRAME: OptionSpec = OptionSpec {
    name: "frame",
    summary: "of connect=: messages as they are, or each behind its length, 4 bytes, the highest first",
    words: &["none", "u32"],
    takes_size: false,
};

/// How long a server may take to accept a connection.
const ACCEPTS_WITHIN: Duration = Duration::from_secs(2);
/// How long it may take to answer a message before the timing begins.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// How long before its deadline a launch waits for nothing more.
const LAST_WORD: Duration = Duration::from_millis(1_000);
/// The largest message of those that are asked for without waiting: more could fill the buffers of both sides.
const MOST_UNDER_WAY: usize = 64 << 10;
/// What is taken in at once while there is no room to send.
const CHUNK: usize = 64 << 10;

/// The server that `options` name; None where the launch has a responder of its own.
pub fn server<'a>(options: &'a Options, specs: &'static [OptionSpec]) -> Option<&'a str> {
    Some(options.text(specs, CONNECT)).filter(|text| *text != CONNECT_PATH.words[0])
}

/// The same, where the other options can be had with it: none of `others`, which are about a responder of ours.
///
/// # Errors
/// Not applicable: which option to leave out.
pub fn asked<'a>(
    options: &'a Options,
    specs: &'static [OptionSpec],
    others: &[&str],
) -> Result<Option<&'a str>, OpenError> {
    let framed = options.text(specs, FRAME.name) != FRAME.words[0];
    let other = others.iter().find(|other| options.chosen().contains_key(**other));
    match (server(options, specs), other) {
        (Some(_), Some(other)) => Err(OpenError::NotApplicable(format!(
            "connect= goes to a server that already runs: leave out {other}="
        ))),
        (None, _) if framed => Err(OpenError::NotApplicable(
            "frame= is for a server that already runs: add connect=".into(),
        )),
        (server, _) => Ok(server),
    }
}

/// Connects `socket` to the server at `name`, by `call`.
///
/// # Errors
/// Nobody listens there, or the server doesn't accept.
pub fn connected<A: rustix::net::addr::SocketAddrArg>(
    socket: OwnedFd,
    to: &A,
    name: &str,
) -> Result<OwnedFd, OpenError> {
    let failed = |errno| absent(name, errno);
    set_socket_timeout(&socket, Timeout::Send, Some(ACCEPTS_WITHIN)).map_err(failed)?;
    connect(&socket, to).map_err(failed)?;
    set_socket_timeout(&socket, Timeout::Send, None).map_err(failed)?;
    // Where nobody listens at a port of those that are given out, the kernel may give out the same: then the socket has
    // connected to itself.
    if getsockname(&socket).ok() == getpeername(&socket).ok().flatten() {
        return Err(failed(Errno::CONNREFUSED));
    }
    Ok(socket)
}

/// Why there is no connection to the server at `name`.
fn absent(name: &str, errno: Errno) -> OpenError {
    let error = io::Error::from(errno);
    let plainly = format!("connect to {name}: {error}");
    let (reason, remedy) = match errno {
        Errno::NOENT | Errno::CONNREFUSED | Errno::NOTDIR => {
            (plainly, "no server listens there: start it, then run again")
        }
        Errno::AGAIN | Errno::INPROGRESS | Errno::TIMEDOUT => (
            format!("connect to {name}: not accepted within {} s", ACCEPTS_WITHIN.as_secs()),
            "see why the server accepts no connection",
        ),
        Errno::ACCESS | Errno::PERM => (plainly, "run as a user who may write to that socket"),
        Errno::PROTOTYPE => (plainly, "the server's socket must be a stream socket"),
        _ => (plainly, "see whether the server listens there"),
    };
    OpenError::Unavailable(Unavailable { cause: cause_of(&error), reason, remedy: remedy.into() })
}

/// Hands the end of a connected `socket` to `visitor`, and none to the responder.
///
/// # Errors
/// /dev/null can't be opened.
pub fn visit<V: Visitor>(
    socket: OwnedFd,
    effective_settings: EffectiveSettings,
    (options, specs): (&Options, &'static [OptionSpec]),
    visitor: V,
) -> Result<V::Output, OpenError> {
    // An end of the same type: nothing is sent over it.
    let none = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())
        .map_err(OpenError::call("open /dev/null"))?;
    Ok(if options.text(specs, FRAME.name) == "u32" {
        let opened = Opened::new(ServerEnd::<4>::new(socket), ServerEnd::new(none));
        visitor.visit(opened.effective_settings(effective_settings))
    } else {
        let opened = Opened::new(ServerEnd::<0>::new(socket), ServerEnd::new(none));
        visitor.visit(opened.effective_settings(effective_settings))
    })
}

/// The initiator's end of a connection to a server. `HEADER` bytes of length stand before each message.
pub struct ServerEnd<const HEADER: usize> {
    socket: OwnedFd,
    /// Bytes of the messages under way, headers included.
    sent: usize,
    received: usize,
    header: [u8; HEADER],
    /// What came back while there was no room to send.
    early: Vec<u8>,
    deadline: Deadline,
    /// How long answers are waited for; None in what is timed.
    within: Option<Duration>,
}

impl<const HEADER: usize> ServerEnd<HEADER> {
    fn new(socket: OwnedFd) -> ServerEnd<HEADER> {
        ServerEnd {
            socket,
            sent: 0,
            received: 0,
            header: [0; HEADER],
            early: Vec::new(),
            deadline: Deadline::default(),
            within: None,
        }
    }

    /// Sends what there is room for behind the bytes that are sent already.
    #[inline(always)]
    fn give(&self, message: &[u8]) -> rustix::io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        if self.sent >= HEADER {
            return send(&self.socket, &message[self.sent - HEADER..], flags);
        }
        let length = (message.len() as u32).to_be_bytes();
        let both = [IoSlice::new(&length[self.sent..HEADER]), IoSlice::new(message)];
        sendmsg(&self.socket, &both, &mut SendAncillaryBuffer::default(), flags)
    }

    /// Receives what is there behind the bytes that came already.
    #[inline(always)]
    fn take(&mut self, message: &mut [u8]) -> rustix::io::Result<usize> {
        if !self.early.is_empty() {
            return Ok(self.take_early(message));
        }
        if self.received >= HEADER {
            return read(&self.socket, &mut message[self.received - HEADER..]);
        }
        let header = IoSliceMut::new(&mut self.header[self.received..]);
        readv(&self.socket, &mut [header, IoSliceMut::new(message)])
    }

    #[cold]
    fn take_early(&mut self, message: &mut [u8]) -> usize {
        let place = match self.received.checked_sub(HEADER) {
            Some(done) => &mut message[done..],
            None => &mut self.header[self.received..],
        };
        let count = min(place.len(), self.early.len());
        place[..count].copy_from_slice(&self.early[..count]);
        self.early.drain(..count);
        count
    }

    /// Waits until there is room to send, or takes in what comes back.
    #[cold]
    fn make_room(&mut self, message: &[u8]) -> io::Result<()> {
        let time = self.within.and_then(|within| Timespec::try_from(within).ok());
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN | PollFlags::OUT)];
        match poll(&mut fds, time.as_ref()) {
            Ok(0) => return Err(self.silent(message.len())),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed("poll", error)),
        }
        if !fds[0].revents().contains(PollFlags::IN) {
            return Ok(());
        }
        let known = self.early.len();
        self.early.resize(known + CHUNK, 0);
        let came = recv(&self.socket, &mut self.early[known..], RecvFlags::DONTWAIT);
        let (count, _) = match came {
            Ok(counts) => counts,
            Err(Errno::AGAIN | Errno::INTR) => (0, 0),
            Err(error) => return Err(lost("recv", error)),
        };
        self.early.truncate(known + count);
        if count == 0 && came.is_ok() { Err(closed()) } else { Ok(()) }
    }

    /// The error for a server that doesn't answer, of messages of so many bytes.
    #[cold]
    fn silent(&self, bytes: usize) -> io::Error {
        let framed = if HEADER > 0 { ", each behind its length (frame=u32)" } else { "" };
        let came = self.received + self.early.len();
        let text = format!(
            "{came} of {} bytes came back from the server in {} s: it has to echo messages as they are{framed}, over \
             several connections at once",
            HEADER + bytes,
            self.within.unwrap_or_default().as_secs(),
        );
        io::Error::new(io::ErrorKind::TimedOut, text)
    }
}

/// The error for a connection that the server has closed.
#[cold]
fn closed() -> io::Error {
    let text = "the server closed the connection: see why, in its log perhaps";
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}

/// The error `errno` of a call on the connection.
#[cold]
fn lost(call: &'static str, errno: Errno) -> io::Error {
    match errno {
        Errno::PIPE | Errno::CONNRESET => closed(),
        errno => failed(call, errno),
    }
}

impl<const HEADER: usize> Endpoint for ServerEnd<HEADER> {
    fn start(&mut self, deadline: &Deadline) -> io::Result<()> {
        self.deadline = deadline.clone();
        Ok(())
    }

    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        while self.try_send(message)? == Sent::WouldBlock {
            self.make_room(message)?;
        }
        Ok(())
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        match self.try_recv(message)? {
            Received::Whole => Ok(()),
            Received::WouldBlock => Err(self.silent(message.len())),
        }
    }

    fn as_nonblocking(&mut self) -> Option<&mut dyn Nonblocking> {
        Some(self)
    }

    #[inline(always)]
    fn enter(&mut self, phase: Phase) -> io::Result<()> {
        if (phase == Phase::Untimed) == self.within.is_some() {
            return Ok(());
        }
        self.within = (phase == Phase::Untimed).then(|| {
            let left = self.deadline.get().map(|ends| ends - LAST_WORD);
            let left = left.map(|ends| ends.saturating_duration_since(Instant::now()));
            left.unwrap_or(ANSWERS_WITHIN).clamp(Duration::from_millis(100), ANSWERS_WITHIN)
        });
        set_socket_timeout(&self.socket, Timeout::Recv, self.within)
            .map_err(|error| failed("setsockopt SO_RCVTIMEO", error))
    }
}

impl<const HEADER: usize> Nonblocking for ServerEnd<HEADER> {
    fn prepare(&mut self, message_bytes: usize) -> Result<(), OpenError> {
        if message_bytes <= MOST_UNDER_WAY {
            return Ok(());
        }
        Err(OpenError::NotApplicable(format!(
            "a server that already runs: several connections, or messages under way, of at most {MOST_UNDER_WAY} bytes"
        )))
    }

    fn set_nonblocking(&mut self, on: bool) -> io::Result<()> {
        set_nonblocking(&self.socket, on)
    }

    #[inline(always)]
    fn try_send(&mut self, message: &[u8]) -> io::Result<Sent> {
        let whole = HEADER + message.len();
        if self.sent > whole {
            return Err(another("send", message.len(), self.sent));
        }
        while self.sent < whole {
            match self.give(message) {
                Ok(taken) => self.sent += taken,
                Err(Errno::AGAIN) => return Ok(Sent::WouldBlock),
                Err(Errno::INTR) => {}
                Err(error) => return Err(lost("send", error)),
            }
        }
        self.sent = 0;
        Ok(Sent::Whole)
    }

    #[inline(always)]
    fn try_recv(&mut self, message: &mut [u8]) -> io::Result<Received> {
        let whole = HEADER + message.len();
        if self.received > whole {
            return Err(another("recv", message.len(), self.received));
        }
        while self.received < whole {
            match self.take(message) {
                Ok(0) => return Err(closed()),
                Ok(given) => self.received += given,
                Err(Errno::AGAIN) => return Ok(Received::WouldBlock),
                Err(Errno::INTR) => {}
                Err(error) => return Err(lost("read", error)),
            }
            if self.received >= HEADER
                && self.header[..] != (message.len() as u32).to_be_bytes()[..HEADER]
            {
                return Err(of_another_length(&self.header, message.len()));
            }
        }
        self.received = 0;
        Ok(Received::Whole)
    }

    fn ready(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.as_fd())
    }

    fn room(&self) -> Option<PollFd<'_>> {
        Some(PollFd::new(&self.socket, PollFlags::OUT))
    }
}

/// The error for an answer that has another length before it than the message had.
#[cold]
fn of_another_length(header: &[u8], bytes: usize) -> io::Error {
    let length = header.iter().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    let text = format!(
        "the server answered {bytes} bytes with a length of {length}: frame=u32 is 4 bytes, the highest first, and \
         counts the message alone"
    );
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};
    use std::net::{Ipv4Addr, SocketAddr};

    use super::*;

    #[test]
    fn a_socket_that_connects_to_itself_has_no_server() {
        let socket =
            socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .unwrap();
        bind(&socket, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let own: SocketAddr = getsockname(&socket).unwrap().try_into().unwrap();
        let error = connected(socket, &own, "its own port").unwrap_err().to_string();
        assert!(error.contains("refused") && error.contains("start it"), "{error}");
    }
}
