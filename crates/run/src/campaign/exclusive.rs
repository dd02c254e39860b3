//! Whose turn it is to measure: two runs at a time on one machine would measure each other.
//!
//! A run that measures listens on an address that the kernel frees with the process (unix(7),
//! abstract addresses), whatever its user or store. Another run that connects to it learns who
//! listens, and notices at once when nobody does any more. Nothing is accepted or read:
//! a process that holds the address without measuring costs others a bounded wait and a warning. When the
//! holder expects to end stands in a second address, which /proc/net/unix lists.
//!
//! Abstract addresses belong to a network namespace: runs in two of them don't notice each other.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use std::{fmt, fs, io};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::launch::Interrupt;
use sys::socket::listening_process;

/// How long a run waits for others at most, whatever they say.
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// How often a run that waits reads when the other expects to end.
const READ_AGAIN: Duration = Duration::from_secs(1);
/// Names another address to meet at: tests, which measure side by side on purpose, have one each.
const ADDRESS: &str = "IPCMARK_TURN";

/// The turn to measure, given back when dropped.
pub struct Turn {
    name: String,
    /// What listens; None of a run that measures beside another one.
    holds: Option<OwnedFd>,
    expected_end: Option<OwnedFd>,
    beside: Option<Other>,
}

/// Another run that measures.
pub struct Other {
    /// Its process; None where that can't be seen from here.
    pid: Option<u32>,
    /// Connected to it until it ends; None where so many wait that none more is taken.
    connection: Option<OwnedFd>,
    name: String,
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "another run (process {pid})"),
            None => f.write_str("another run (of a process that is not visible here)"),
        }
    }
}

impl Turn {
    /// Waits for the turn: until nobody else measures, the other's budget is spent, two minutes have
    /// passed, or a signal comes. With `at_once` it doesn't wait. `tell` hears once whom it waits for.
    pub fn wait(at_once: bool, interrupt: &Interrupt, mut tell: impl FnMut(&Other)) -> Turn {
        let name = std::env::var(ADDRESS).unwrap_or_else(|_| "ipcmark".into());
        let began = Instant::now();
        let mut reported = false;
        loop {
            let other = match claim(&name) {
                Ok(holds) => return Turn { name, holds, expected_end: None, beside: None },
                Err(other) => other,
            };
            let left = other.left().min(LONGEST_WAIT.saturating_sub(began.elapsed()));
            if at_once || left.is_zero() || interrupt.signal().is_some() {
                return Turn { name, holds: None, expected_end: None, beside: Some(other) };
            }
            if !reported {
                tell(&other);
                reported = true;
            }
            other.pause(left.min(READ_AGAIN), interrupt);
        }
    }

    /// Who measures meanwhile all the same.
    pub fn other(&self) -> Option<&Other> {
        self.beside.as_ref()
    }

    /// Says when this run expects to end, for those that wait.
    pub fn ends_within(&mut self, time: Duration) {
        if self.holds.is_none() {
            return;
        }
        self.expected_end = None;
        let end = now_ms().saturating_add(time.as_millis() as u64);
        let name = format!("{}{end}", end_prefix(&self.name, std::process::id()));
        // It only makes the wait of others shorter: no reason to stop.
        self.expected_end = bound(&name).ok();
    }
}

impl Other {
    /// How long it expects to measure; the longest wait where it doesn't say.
    fn left(&self) -> Duration {
        let Some(pid) = self.pid else { return LONGEST_WAIT };
        let prefix = format!("@{}", end_prefix(&self.name, pid));
        // The address is the last field, and it may hold spaces of strangers (proc_net(5)).
        let listed = fs::read("/proc/net/unix").unwrap_or_default();
        let listed = String::from_utf8_lossy(&listed);
        let end = listed.lines().find_map(|line| line.split_once(&prefix)?.1.parse::<u64>().ok());
        end.map_or(LONGEST_WAIT, |end| Duration::from_millis(end.saturating_sub(now_ms())))
    }

    /// Waits for its end, a signal, or `time`.
    fn pause(&self, time: Duration, interrupt: &Interrupt) {
        let signal = interrupt.fd();
        let mut fds = vec![PollFd::new(&signal, PollFlags::IN)];
        if let Some(connection) = &self.connection {
            fds.push(PollFd::new(connection, PollFlags::IN));
        }
        let time = Timespec::try_from(time).ok();
        let _ = poll(&mut fds, time.as_ref());
    }
}

/// Listens on the address `name`, or connects to the listener. Where there are no such addresses
/// no other run can be noticed.
fn claim(name: &str) -> Result<Option<OwnedFd>, Other> {
    for _ in 0..3 {
        let (Ok(at), Ok(socket)) = (SocketAddrUnix::new_abstract_name(name.as_bytes()), stream())
        else {
            return Ok(None);
        };
        match bind(&socket, &at) {
            Ok(()) => return Ok(listen(&socket, 64).is_ok().then_some(socket)),
            Err(Errno::ADDRINUSE) => {}
            Err(_) => return Ok(None),
        }
        match connect(&socket, &at) {
            // The credentials are those of the process that listens, from when it began to.
            Ok(()) => {
                let pid = listening_process(&socket).ok().flatten();
                return Err(Other { pid, connection: Some(socket), name: name.into() });
            }
            Err(Errno::AGAIN) => break,
            // It has just ended, or is about to listen.
            Err(_) => std::thread::yield_now(),
        }
    }
    Err(Other { pid: None, connection: None, name: name.into() })
}

fn stream() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// A socket that does nothing but bear a name.
fn bound(name: &str) -> io::Result<OwnedFd> {
    let socket = stream()?;
    bind(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    Ok(socket)
}

fn end_prefix(name: &str, pid: u32) -> String {
    format!("{name}-until-{pid}-")
}

/// Time since boot, which all processes of a machine share.
fn now_ms() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
