//! Over a network: one end here, the other on another host, opened for one launch.
//!
//! The far side binds one port on one address ([`Listener`]) and accepts only a partner that shows the
//! launch's [`Cookie`]. It drops every other caller, silent or not, and none of them delays the
//! partner. All of this happens before anything is timed, except in the workload connect, which times
//! exactly this.

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use sys::failed::failed;

use super::{Cause, Choice, Endpoint, Mechanism, OpenError, OpenSpec, Scope, Step, Unavailable};

/// How long partners may take to find each other.
pub const MEETING: Duration = Duration::from_secs(8);

/// The secret of one launch's two ends: 128 random bits.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cookie([u8; 16]);

impl Cookie {
    /// A new one (getrandom(2)).
    ///
    /// # Errors
    /// As the call's.
    pub fn drawn() -> io::Result<Cookie> {
        let mut bytes = [0; 16];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
        Ok(Cookie(bytes))
    }
}

/// Without its bits: they belong in no log.
impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cookie")
    }
}

/// What a connection is for. The discriminants are part of the wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ConnectionKind {
    /// It stays open and carries messages.
    Persistent,
    /// A persistent connection's reply to the answer (datagrams only: no handshake confirms it).
    Confirm,
    /// It is closed once accepted: a set-up of the workload connect.
    SetUp,
    /// As `SetUp`; the set-ups after it are timed.
    TimingStarts,
    /// As `SetUp`; the set-ups after it are not timed any more.
    TimingEnds,
    /// As `SetUp`; none follows.
    Last,
}

const CONNECTION_KINDS: [ConnectionKind; 6] = {
    use ConnectionKind::*;
    [Persistent, Confirm, SetUp, TimingStarts, TimingEnds, Last]
};

/// The first bytes on a connection: the cookie, the kind and the caller's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    /// What the connection is for.
    pub kind: ConnectionKind,
    /// How many datagrams may be under way to it; 0 where nobody counts them.
    pub window: u32,
}

impl Hello {
    /// Bytes of it.
    pub const BYTES: usize = 21;

    /// With the cookie that proves it.
    pub fn to_bytes(self, cookie: &Cookie) -> [u8; Hello::BYTES] {
        let mut bytes = [0; Hello::BYTES];
        bytes[..16].copy_from_slice(&cookie.0);
        bytes[16] = self.kind as u8;
        bytes[17..].copy_from_slice(&self.window.to_le_bytes());
        bytes
    }

    /// Parses `bytes`; None if they are of another protocol.
    pub fn parse(bytes: &[u8], cookie: &Cookie) -> Option<Hello> {
        let bytes: &[u8; Hello::BYTES] = bytes.try_into().ok()?;
        // As long for a cookie that begins right as for any other.
        let differs = bytes.iter().zip(&cookie.0).fold(0, |sum, (a, b)| sum | (a ^ b));
        let kind = CONNECTION_KINDS
            .into_iter()
            .find(|connection_kind| *connection_kind as u8 == bytes[16])?;
        let window = u32::from_le_bytes([bytes[17], bytes[18], bytes[19], bytes[20]]);
        (differs == 0).then_some(Hello { kind, window })
    }
}

/// What the far side answers to the right cookie: a mark, and its own window.
pub(super) struct Answer {
    /// How many datagrams may be under way to it.
    pub window: u32,
}

impl Answer {
    /// Bytes of it.
    pub const BYTES: usize = 5;
    const MARK: u8 = 0xA5;

    pub fn to_bytes(&self) -> [u8; Answer::BYTES] {
        let [a, b, c, d] = self.window.to_le_bytes();
        [Answer::MARK, a, b, c, d]
    }

    pub fn parse(bytes: &[u8]) -> Option<Answer> {
        match *bytes {
            [Answer::MARK, a, b, c, d] => Some(Answer { window: u32::from_le_bytes([a, b, c, d]) }),
            _ => None,
        }
    }
}

/// What the kernel granted, by name.
pub type EffectiveSettings = Vec<(String, u64)>;

/// The far side's listening socket: one port, open to the holder of one cookie.
pub trait Listener: Send + 'static {
    /// The endpoint of an accepted connection.
    type End: Endpoint + 'static;

    /// The port that it listens on.
    fn port(&self) -> u16;

    /// Accepts the partner's connection and closes the listening socket.
    ///
    /// # Errors
    /// The deadline passed before anyone showed the cookie, or the kernel refused an option.
    fn accept(self, wait: &Wait) -> Result<(Self::End, EffectiveSettings), OpenError>;

    /// Accepts one connection, closes it, and returns its kind. Waits without a deadline.
    ///
    /// # Errors
    /// As accept(2), recv(2) and send(2).
    fn accept_and_close(&mut self) -> io::Result<ConnectionKind>;
}

/// How long to wait, and for whom besides.
pub struct Wait<'a> {
    /// The deadline.
    pub until: Instant,
    /// Readable once the launch is abandoned.
    pub owner: BorrowedFd<'a>,
}

impl Wait<'_> {
    /// Waits until one of `fds` has something to read, or `soonest`.
    ///
    /// # Errors
    /// The deadline passed, or the owner is gone.
    pub(super) fn for_any(
        &self,
        fds: &[BorrowedFd<'_>],
        soonest: Option<Instant>,
    ) -> Result<(), OpenError> {
        let gave_up = |reason: &str, remedy: &str| {
            OpenError::Unavailable(Unavailable {
                cause: Cause::Other,
                reason: reason.into(),
                remedy: remedy.into(),
            })
        };
        if Instant::now() >= self.until {
            let reason = format!("nobody showed the launch's cookie in {} s", MEETING.as_secs());
            return Err(gave_up(&reason, "let the hosts reach each other, or see --peer-address"));
        }
        match readable(Some(self.owner).into_iter().chain(fds.iter().copied()), {
            Some(soonest.map_or(self.until, |moment| moment.min(self.until)))
        }) {
            Ok(Some(0)) => Err(gave_up("the coordinator is gone", "start it again")),
            Ok(_) => Ok(()),
            Err(error) => Err(OpenError::call("poll")(error)),
        }
    }
}

/// Which of `fds` is the first to have something to read before `until`.
pub(super) fn readable<'a>(
    fds: impl IntoIterator<Item = BorrowedFd<'a>>,
    until: Option<Instant>,
) -> io::Result<Option<usize>> {
    let mut fds: Vec<_> =
        fds.into_iter().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
    let time = until.map(|moment| moment.saturating_duration_since(Instant::now()));
    let time = time.map(|time| Timespec {
        tv_sec: time.as_secs() as i64,
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    match poll(&mut fds, time.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(fds.iter().position(|fd| !fd.revents().is_empty())),
        Err(error) => Err(failed("poll", error)),
    }
}

/// Code that is generic over the listener of the mechanism asked for.
pub trait ListenVisitor {
    /// What comes of it.
    type Output;
    /// Called once, with the listener open.
    fn visit<L: Listener>(self, listener: L) -> Self::Output;
}

/// Code that is generic over the near endpoint of the mechanism asked for.
pub trait ConnectVisitor {
    /// What comes of it.
    type Output;
    /// Called after each [`Step`]: connected, then accepted.
    fn passed(&mut self, _step: Step) {}
    /// Called once, with the near endpoint.
    fn visit<E: Endpoint + 'static>(
        self,
        end: E,
        effective_settings: EffectiveSettings,
    ) -> Self::Output;
}

/// How to connect: the far side's address, the launch's cookie, and the kind of connection.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The far side's address and port.
    pub to: SocketAddr,
    /// The launch's cookie.
    pub cookie: Cookie,
    /// What the connection is for.
    pub kind: ConnectionKind,
}

/// Why a mechanism without a network can't be had between hosts.
pub(super) fn no_network<M: Mechanism>() -> OpenError {
    OpenError::NotApplicable(format!(
        "{} reaches no further than one machine: leave --peer out to measure it",
        M::NAME
    ))
}

/// Whether `M` could be opened over a network with what `spec` asks.
pub(super) fn check<M: Mechanism>(spec: &OpenSpec) -> Result<(), OpenError> {
    if M::TRAITS.scope != Scope::Network {
        return Err(no_network::<M>());
    }
    if spec.same_process {
        let reason = "threads of one process are on one machine: choose --workers process";
        return Err(OpenError::NotApplicable(reason.into()));
    }
    if M::traits(&spec.options).foreign_server {
        let reason = "a server that already runs is measured on this host: leave out --peer";
        return Err(OpenError::NotApplicable(reason.into()));
    }
    if let Choice::Size(bytes) = spec.options.get(M::OPTIONS, "mtu") {
        let reason = format!("mtu={bytes} is that of a loopback: between hosts the path has one");
        return Err(OpenError::NotApplicable(reason));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_cookie_opens() {
        let cookie = Cookie::drawn().unwrap();
        assert_ne!(cookie, Cookie::drawn().unwrap());
        let hello = Hello { kind: ConnectionKind::SetUp, window: 77 };
        let bytes = hello.to_bytes(&cookie);
        assert_eq!(Hello::parse(&bytes, &cookie), Some(hello));
        for at in 0..16 {
            let mut other = bytes;
            other[at] ^= 1;
            assert_eq!(Hello::parse(&other, &cookie), None, "byte {at}");
        }
        assert_eq!(Hello::parse(&bytes[..20], &cookie), None);
        assert_eq!(Hello::parse(&[0; 21], &cookie), None);
        assert!(!format!("{cookie:?}").contains(|c: char| c.is_ascii_digit()));
    }

    #[test]
    fn an_answer_is_known_by_its_mark() {
        assert_eq!(Answer::parse(&Answer { window: 9 }.to_bytes()).unwrap().window, 9);
        assert!(Answer::parse(&[0, 1, 2, 3, 4]).is_none() && Answer::parse(&[0xA5]).is_none());
    }
}
