//! `tcp` between two hosts. The far side listens on one port of one address and reads from several
//! callers at once, so that a silent caller does not block the others.

use crate::cause_of;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::net::{bind, connect as connect_socket, listen};

use super::{OneFd, prepare, stream_socket};
use crate::network::{
    self, Answer, Call, ConnectVisitor, ConnectionKind, Cookie, EffectiveSettings, Hello, MEETING,
    Wait, readable,
};
use crate::{OpenError, OpenSpec, Step};
use model::mechanism::Unavailable;

/// How long a caller may take to show the cookie.
const SHOWS_COOKIE_WITHIN: Duration = Duration::from_secs(2);
/// Most callers that are read from at once; beyond that the oldest are dropped.
const MOST: usize = 64;

/// The listening socket, and the connections that have not shown a cookie yet.
pub struct LaunchListener {
    listener: TcpListener,
    port: u16,
    spec: OpenSpec,
    cookie: Cookie,
    callers: Vec<Caller>,
}

/// A connection that has not shown a cookie yet.
struct Caller {
    stream: TcpStream,
    since: Instant,
    bytes_read: [u8; Hello::BYTES],
    bytes: usize,
}

/// What a caller has sent so far.
enum Said {
    /// Not enough yet.
    Little,
    Cookie(ConnectionKind),
    /// Something else, or it has hung up.
    Nonsense,
}

impl Caller {
    fn read(&mut self, cookie: &Cookie) -> Said {
        match self.stream.read(&mut self.bytes_read[self.bytes..]) {
            Ok(0) => Said::Nonsense,
            Ok(more) => {
                self.bytes += more;
                match Hello::parse(&self.bytes_read[..self.bytes], cookie) {
                    Some(hello) => Said::Cookie(hello.kind),
                    None if self.bytes == Hello::BYTES => Said::Nonsense,
                    None => Said::Little,
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Said::Little,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Said::Little,
            Err(_) => Said::Nonsense,
        }
    }
}

impl LaunchListener {
    /// Binds a port of `address`, and listens. Buffers are set before: the window scale is fixed
    /// by the handshake (tcp(7)).
    pub fn open(
        spec: &OpenSpec,
        address: IpAddr,
        cookie: Cookie,
    ) -> Result<LaunchListener, OpenError> {
        let failed = |call| OpenError::call::<rustix::io::Errno>(call);
        let socket = stream_socket(address, spec)?;
        bind(&socket, &SocketAddr::new(address, 0)).map_err(|error| no_address(address, error))?;
        listen(&socket, 4096).map_err(failed("listen"))?;
        let listener = TcpListener::from(socket);
        let also_failed = |call| OpenError::call::<io::Error>(call);
        listener.set_nonblocking(true).map_err(also_failed("fcntl O_NONBLOCK"))?;
        let port = listener.local_addr().map_err(also_failed("getsockname"))?.port();
        Ok(LaunchListener { listener, port, spec: spec.clone(), cookie, callers: Vec::new() })
    }

    /// Accepts new connections and reads from the waiting ones. Returns the partner's, if it is there.
    fn look(&mut self) -> Option<(TcpStream, ConnectionKind)> {
        for _ in 0..MOST {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    // One that can't be read without blocking isn't read.
                    if stream.set_nonblocking(true).is_ok() {
                        let (since, bytes_read) = (Instant::now(), [0; Hello::BYTES]);
                        self.callers.push(Caller { stream, since, bytes_read, bytes: 0 });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // No descriptor is left for it, or it is gone again.
                Err(_) => {
                    self.callers.drain(..self.callers.len() / 2);
                    break;
                }
            }
        }
        let (mut found, mut at) = (None, 0);
        while at < self.callers.len() && found.is_none() {
            let caller = &mut self.callers[at];
            match caller.read(&self.cookie) {
                Said::Cookie(kind) => found = Some((self.callers.remove(at).stream, kind)),
                Said::Little if caller.since.elapsed() < SHOWS_COOKIE_WITHIN => at += 1,
                Said::Little | Said::Nonsense => drop(self.callers.remove(at)),
            }
        }
        let many = self.callers.len().saturating_sub(MOST);
        self.callers.drain(..many);
        found
    }

    fn fds(&self) -> Vec<std::os::fd::BorrowedFd<'_>> {
        let callers = self.callers.iter().map(|caller| caller.stream.as_fd());
        std::iter::once(self.listener.as_fd()).chain(callers).collect()
    }

    /// When the oldest caller's time is over.
    fn soonest(&self) -> Option<Instant> {
        self.callers.first().map(|caller| caller.since + SHOWS_COOKIE_WITHIN)
    }
}

impl network::Listener for LaunchListener {
    type End = OneFd;

    fn port(&self) -> u16 {
        self.port
    }

    fn accept(mut self, wait: &Wait) -> Result<(OneFd, EffectiveSettings), OpenError> {
        let failed = |call| OpenError::call::<io::Error>(call);
        loop {
            wait.for_any(&self.fds(), self.soonest())?;
            let Some((mut stream, kind)) = self.look() else { continue };
            if kind != ConnectionKind::Persistent {
                continue;
            }
            stream.set_nonblocking(false).map_err(failed("fcntl O_NONBLOCK"))?;
            let effective_settings = prepare(stream.as_fd(), &self.spec)?;
            stream.write_all(&Answer { window: 0 }.to_bytes()).map_err(failed("write"))?;
            return Ok((OneFd::new(stream), effective_settings));
        }
    }

    fn accept_and_close(&mut self) -> io::Result<ConnectionKind> {
        loop {
            readable(self.fds(), self.soonest())?;
            let Some((mut stream, kind)) = self.look() else { continue };
            prepare(stream.as_fd(), &self.spec)
                .map_err(|error| io::Error::other(error.to_string()))?;
            stream.write_all(&Answer { window: 0 }.to_bytes())?;
            return Ok(kind);
        }
    }
}

/// Connects to the far side, shows the cookie, and waits until it is accepted.
pub fn connect<V: ConnectVisitor>(
    spec: &OpenSpec,
    call: &Call,
    mut visitor: V,
) -> Result<V::Output, OpenError> {
    let failed = |call| OpenError::call::<io::Error>(call);
    let mut stream = TcpStream::from(stream_socket(call.to.ip(), spec)?);
    let bounded = call.kind == ConnectionKind::Persistent;
    if bounded {
        // It holds for connecting too (socket(7), SO_SNDTIMEO).
        stream.set_write_timeout(Some(MEETING)).map_err(failed("setsockopt SO_SNDTIMEO"))?;
        stream.set_read_timeout(Some(MEETING)).map_err(failed("setsockopt SO_RCVTIMEO"))?;
    }
    connect_socket(&stream, &call.to).map_err(|error| unreachable(call.to, error.into()))?;
    visitor.passed(Step::Connected);
    let effective_settings = prepare(stream.as_fd(), spec)?;
    let hello = Hello { kind: call.kind, window: 0 };
    stream.write_all(&hello.to_bytes(&call.cookie)).map_err(failed("write the cookie"))?;
    let mut answer = [0; Answer::BYTES];
    stream.read_exact(&mut answer).map_err(failed("read whether the far side lets us in"))?;
    if Answer::parse(&answer).is_none() {
        let error = io::Error::other("it is somebody else");
        return Err(failed("read whether the far side lets us in")(error));
    }
    visitor.passed(Step::Accepted);
    if bounded {
        stream.set_write_timeout(None).map_err(failed("setsockopt SO_SNDTIMEO"))?;
        stream.set_read_timeout(None).map_err(failed("setsockopt SO_RCVTIMEO"))?;
    }
    Ok(visitor.visit(OneFd::new(stream), effective_settings))
}

/// The refusal of an address that isn't this host's.
pub fn no_address(address: IpAddr, error: rustix::io::Errno) -> OpenError {
    let error = io::Error::from(error);
    OpenError::Unavailable(Unavailable {
        cause: cause_of(&error),
        reason: format!("bind to {address}: {error}"),
        remedy: "name an address that the far host has, with --peer-address".into(),
    })
}

/// The error of an address that doesn't answer.
pub fn unreachable(to: SocketAddr, error: io::Error) -> OpenError {
    // What SO_SNDTIMEO makes of a connect that takes too long.
    let late = matches!(error.raw_os_error(), Some(libc::EINPROGRESS | libc::EAGAIN));
    let error = if late { io::Error::from_raw_os_error(libc::ETIMEDOUT) } else { error };
    OpenError::Unavailable(Unavailable {
        cause: cause_of(&error),
        reason: format!("connect to {to}: {error}"),
        remedy: "open the way through firewalls, or name another address with --peer-address"
            .into(),
    })
}
