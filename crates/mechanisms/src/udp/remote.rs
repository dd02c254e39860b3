//! `udp` between two hosts. The far side binds one port of one address and connects that socket to the
//! first caller that shows the cookie. It discards what others sent before; the kernel drops what they
//! send later. Both sides then use the smaller of their two windows.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with};

use super::fragments::{FragmentsEnd, SEGMENTS};
use super::{PATIENCE, UdpEnd, fragmented, lossy, set_failed, set_options, window};
use crate::network::{
    Answer, Call, ConnectVisitor, ConnectionKind, Cookie, EffectiveSettings, Hello, ListenVisitor,
    Listener, MEETING, Wait,
};
use crate::reliable::Half;
use crate::tcp::{no_address, unreachable};
use crate::{Endpoint, OpenError, OpenSpec, Step};
use model::mechanism::{Cause, Unavailable};

/// How long the near side waits for an answer before it sends the cookie again.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a timed set-up sends the cookie; it waits [`PATIENCE`] for each answer.
const TIMED_TRIES: u64 = 4;
/// Most datagrams of strangers that are discarded between two checks of the deadline and the owner.
const STRANGERS: usize = 256;

/// What becomes of a connected socket, by what the spec asks: an end, with no more under way than `window`.
trait Make: Send + 'static {
    type End: Endpoint + 'static;
    fn make(
        &self,
        socket: UdpSocket,
        window: u32,
    ) -> Result<(Self::End, EffectiveSettings), OpenError>;
}

impl<E: Endpoint + 'static, F> Make for F
where
    F: Fn(UdpSocket, u32) -> Result<(E, EffectiveSettings), OpenError> + Send + 'static,
{
    type End = E;

    fn make(&self, socket: UdpSocket, window: u32) -> Result<(E, EffectiveSettings), OpenError> {
        self(socket, window)
    }
}

/// One datagram a message; the largest that goes bare has `largest` bytes.
fn bare(largest: usize, message_bytes: usize) -> impl Make {
    move |socket: UdpSocket, window| {
        let end = UdpEnd::new(socket, message_bytes).map_err(set_failed)?.narrowed(window);
        let effective_settings = end.effective_settings(largest, message_bytes);
        Ok((end, effective_settings))
    }
}

fn in_fragments<const SEND: usize, const TAKE: usize>(
    datagram: usize,
    message_bytes: usize,
) -> impl Make {
    move |socket: UdpSocket, window| {
        let end = FragmentsEnd::<SEND, TAKE>::of(socket, datagram, message_bytes)?.narrowed(window);
        let effective_settings = end.effective_settings(datagram, message_bytes)?;
        Ok((end, effective_settings))
    }
}

/// What is done with whichever way of making ends the spec asks for.
trait With {
    type Output;
    /// `datagram`: bytes of the largest datagram.
    fn with(self, datagram: usize, make: impl Make) -> Self::Output;
}

/// `answers`: of the responder's end.
fn choose<W: With>(spec: &OpenSpec, answers: bool, what: W) -> Result<W::Output, OpenError> {
    const TOGETHER: usize = SEGMENTS + 1;
    let bytes = spec.message_bytes;
    if let Some(plan) = lossy::plan(&spec.options)? {
        let half = Half { plan, message_bytes: bytes, answers, seed: spec.seed };
        let datagram = half.datagram();
        return Ok(if half.plan.is_arq() {
            what.with(datagram, move |socket: UdpSocket, window| half.arq(socket, window))
        } else {
            what.with(datagram, move |socket: UdpSocket, window| half.fec(socket, window))
        });
    }
    // A launch between hosts says what the path decides: both must cut alike.
    Ok(match fragmented(spec, None)? {
        (largest, None) => what.with(bytes, bare(largest, bytes)),
        (cut, Some((false, false))) => what.with(cut, in_fragments::<1, 2>(cut, bytes)),
        (cut, Some((false, true))) => what.with(cut, in_fragments::<1, TOGETHER>(cut, bytes)),
        (cut, Some((true, false))) => what.with(cut, in_fragments::<SEGMENTS, 2>(cut, bytes)),
        (cut, Some((true, true))) => what.with(cut, in_fragments::<SEGMENTS, TOGETHER>(cut, bytes)),
    })
}

/// A socket with the options asked for, bound to nothing yet.
fn open_socket(
    address: IpAddr,
    spec: &OpenSpec,
) -> Result<(UdpSocket, EffectiveSettings), OpenError> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let opened = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None).map_err(
        OpenError::call(if address.is_ipv4() { "socket AF_INET" } else { "socket AF_INET6" }),
    )?;
    let effective_settings = set_options(&opened, spec)?;
    Ok((opened.into(), effective_settings))
}

fn failed(call: &'static str) -> impl Fn(io::Error) -> OpenError {
    OpenError::call(call)
}

// ---- the far side ----------------------------------------------------------------------------

/// Binds one port of `address`.
pub fn listen<V: ListenVisitor>(
    spec: &OpenSpec,
    address: IpAddr,
    cookie: Cookie,
    visitor: V,
) -> Result<V::Output, OpenError> {
    struct Listen<V> {
        socket: UdpSocket,
        effective_settings: EffectiveSettings,
        port: u16,
        cookie: Cookie,
        visitor: V,
    }
    impl<V: ListenVisitor> With for Listen<V> {
        type Output = V::Output;
        fn with(self, datagram: usize, make: impl Make) -> V::Output {
            let Listen { socket, effective_settings, port, cookie, visitor } = self;
            visitor.visit(Bound { socket, effective_settings, port, cookie, datagram, make })
        }
    }
    let (socket, effective_settings) = open_socket(address, spec)?;
    bind(&socket, &SocketAddr::new(address, 0)).map_err(|error| no_address(address, error))?;
    let port = socket.local_addr().map_err(failed("getsockname"))?.port();
    choose(spec, true, Listen { socket, effective_settings, port, cookie, visitor })
}

/// A bound socket that waits for a datagram with the cookie.
struct Bound<M> {
    socket: UdpSocket,
    effective_settings: EffectiveSettings,
    port: u16,
    cookie: Cookie,
    datagram: usize,
    make: M,
}

impl<M: Make> Bound<M> {
    /// The next datagram with the cookie, if it is among the next [`STRANGERS`].
    fn hello(&self) -> Option<(Hello, SocketAddr)> {
        // One byte more shows a datagram that is too long.
        let mut bytes = [0; Hello::BYTES + 1];
        for _ in 0..STRANGERS {
            // Nothing is there; or an answer found no listener, which the kernel reports once.
            let (length, from) = self.socket.recv_from(&mut bytes).ok()?;
            if let Some(hello) = Hello::parse(&bytes[..length], &self.cookie) {
                return Some((hello, from));
            }
        }
        None
    }

    /// Whether the partner sends messages already: it has the answer, and its confirmation was lost. The
    /// socket is connected, so only the partner's datagrams arrive.
    fn has_begun(&self) -> bool {
        let mut bytes = [0; Hello::BYTES + 1];
        let came = self.socket.peek(&mut bytes);
        came.is_ok_and(|length| Hello::parse(&bytes[..length], &self.cookie).is_none())
    }
}

impl<M: Make> Listener for Bound<M> {
    type End = M::End;

    fn port(&self) -> u16 {
        self.port
    }

    fn accept(self, wait: &Wait) -> Result<(M::End, EffectiveSettings), OpenError> {
        let own = window(&self.socket, self.datagram).map_err(set_failed)?;
        self.socket.set_nonblocking(true).map_err(failed("fcntl O_NONBLOCK"))?;
        let theirs = loop {
            wait.for_any(&[self.socket.as_fd()], None)?;
            let Some((Hello { kind: ConnectionKind::Persistent, window }, from)) = self.hello()
            else {
                continue;
            };
            self.socket.connect(from).map_err(failed("connect"))?;
            break window;
        };
        // What came before it was connected: strangers' datagrams, and the partner's repetitions.
        while self.socket.recv(&mut [0]).is_ok() {}
        let answer = Answer { window: own }.to_bytes();
        let mut answered = Instant::now();
        self.socket.send(&answer).map_err(failed("send"))?;
        loop {
            // An end that has the answer asks no more: its confirmation may be lost, and nothing follows
            // until both sides are ready.
            let until = answered + 5 * AGAIN / 2;
            wait.for_any(&[self.socket.as_fd()], Some(until))?;
            if Instant::now() >= until || self.has_begun() {
                break;
            }
            match self.hello().map(|(hello, _)| hello.kind) {
                Some(ConnectionKind::Confirm) => break,
                // The answer was lost on its way.
                Some(ConnectionKind::Persistent) if answered.elapsed() > AGAIN / 2 => {
                    answered = Instant::now();
                    self.socket.send(&answer).map_err(failed("send"))?;
                }
                _ => {}
            }
        }
        self.socket.set_nonblocking(false).map_err(failed("fcntl O_NONBLOCK"))?;
        let (end, more) = self.make.make(self.socket, theirs)?;
        Ok((end, self.effective_settings.into_iter().chain(more).collect()))
    }

    fn accept_and_close(&mut self) -> io::Result<ConnectionKind> {
        self.socket.set_read_timeout(None)?;
        loop {
            if let Some((hello, from)) = self.hello() {
                self.socket.send_to(&Answer { window: 1 }.to_bytes(), from)?;
                return Ok(hello.kind);
            }
        }
    }
}

// ---- the near side ---------------------------------------------------------------------------

/// Sends the cookie until the far side accepts.
pub fn connect<V: ConnectVisitor>(
    spec: &OpenSpec,
    call: &Call,
    mut visitor: V,
) -> Result<V::Output, OpenError> {
    struct Connect<'a, V> {
        call: &'a Call,
        socket: UdpSocket,
        effective_settings: EffectiveSettings,
        visitor: V,
    }
    impl<V: ConnectVisitor> With for Connect<'_, V> {
        type Output = Result<V::Output, OpenError>;
        fn with(self, datagram: usize, make: impl Make) -> Self::Output {
            let Connect { call, socket, effective_settings, mut visitor } = self;
            let theirs = let_in(&socket, call, datagram)?;
            visitor.passed(Step::Accepted);
            let (end, more) = make.make(socket, theirs)?;
            Ok(visitor.visit(end, effective_settings.into_iter().chain(more).collect()))
        }
    }
    let (socket, effective_settings) = open_socket(call.to.ip(), spec)?;
    // It gets a port, and the one address from which the partner is reached.
    socket.connect(call.to).map_err(|error| unreachable(call.to, error))?;
    visitor.passed(Step::Connected);
    choose(spec, false, Connect { call, socket, effective_settings, visitor })?
}

/// Shows the cookie until it is answered. Returns how many datagrams may be under way to the far side.
fn let_in(socket: &UdpSocket, call: &Call, datagram: usize) -> Result<u32, OpenError> {
    let own = window(socket, datagram).map_err(set_failed)?;
    let say = |kind| {
        let bytes = Hello { kind, window: own }.to_bytes(&call.cookie);
        socket.send(&bytes).map(drop).map_err(|error| unreachable(call.to, error))
    };
    let persistent = call.kind == ConnectionKind::Persistent;
    let (patience, tries) =
        if persistent { (AGAIN, MEETING.as_secs()) } else { (PATIENCE, TIMED_TRIES) };
    socket.set_read_timeout(Some(patience)).map_err(failed("setsockopt SO_RCVTIMEO"))?;
    for _ in 0..tries {
        say(call.kind)?;
        let mut bytes = [0; Answer::BYTES + 1];
        match socket.recv(&mut bytes).map(|length| Answer::parse(&bytes[..length])) {
            Ok(Some(answer)) => {
                if persistent {
                    say(ConnectionKind::Confirm)?;
                }
                return Ok(answer.window);
            }
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(unreachable(call.to, error)),
        }
    }
    let reason = format!(
        "udp: none of {tries} datagrams to {} was answered in {} s: all were lost on the way, there \
         or back, or nobody is there",
        call.to,
        (patience * tries as u32).as_secs_f64()
    );
    Err(OpenError::Unavailable(Unavailable {
        cause: Cause::Other,
        reason,
        remedy: "let the hosts reach each other, or see --peer-address".into(),
    }))
}
