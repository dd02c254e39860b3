//! What a side with several connections has in common, whichever workload: its messages by connection, and how it
//! learns which of them something came over.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

use super::{Payload, Side, latency};
use mechanisms::nonblocking::{only_asked, only_waits};
use mechanisms::{Endpoint, Nonblocking};
use sys::failed::{failed, named};

/// Connections that one epoll_wait(2) tells of.
pub(super) const EVENTS: usize = 64;

/// What goes over one connection.
pub(super) struct Messages<'a, P> {
    pub payload: &'a mut P,
    pub out: &'a mut [u8],
    pub into: &'a mut [u8],
}

/// Untimed round trips, one after the other, over each of `sides` in turn from `first` on.
pub(super) fn lead<E: Endpoint, P: Payload>(
    sides: &mut [Side<'_, E, P>],
    first: u64,
    count: u64,
) -> io::Result<()> {
    let untimed = [AtomicU64::new(0)];
    for nth in first..first + count {
        let of = (nth % sides.len() as u64) as usize;
        let Side { end, payload, buffers, clock } = &mut sides[of];
        latency::initiate(*end, payload, buffers, *clock, &untimed, 1)?;
    }
    Ok(())
}

/// Ends, and what goes over each of them.
type Split<'a, P> = (Vec<&'a mut dyn Nonblocking>, Vec<Messages<'a, P>>);

/// The ends of `sides`, to be asked without waiting, and what goes over each of them.
///
/// # Errors
/// They block.
pub(super) fn split<'a, E: Endpoint, P: Payload>(
    sides: &'a mut [Side<'_, E, P>],
) -> io::Result<Split<'a, P>> {
    let one = |Side { end, payload, buffers, .. }: &'a mut Side<'_, E, P>| {
        let (out, into) = buffers.split();
        Ok((asked(&mut **end)?, Messages { payload, out, into }))
    };
    sides.iter_mut().map(one).collect()
}

/// `end`, to be asked without waiting.
///
/// # Errors
/// It blocks.
pub(super) fn asked<E: Endpoint>(end: &mut E) -> io::Result<&mut dyn Nonblocking> {
    end.as_nonblocking().ok_or_else(only_waits)
}

/// How an initiator learns of answers. Its ends stay as ends that are asked without waiting.
pub(super) enum Ready {
    /// All connections are in this epoll(7).
    Epoll(OwnedFd),
    /// Only asking tells.
    Scan,
}

impl Ready {
    /// By the kernel, where all of `ends` have a descriptor that tells.
    ///
    /// # Errors
    /// As fcntl(2) and epoll_ctl(2).
    pub fn of(ends: &mut [&mut dyn Nonblocking]) -> io::Result<Ready> {
        ends.iter_mut().try_for_each(|end| end.set_nonblocking(true))?;
        if ends.iter().all(|end| end.ready().is_some()) {
            Ok(Ready::Epoll(epoll_of(ends)?))
        } else {
            Ok(Ready::Scan)
        }
    }
}

/// An epoll(7) of `ends`, each by its number.
pub(super) fn epoll_of(ends: &[&mut dyn Nonblocking]) -> io::Result<OwnedFd> {
    let all = epoll::create(epoll::CreateFlags::CLOEXEC)
        .map_err(|error| named("epoll_create1", error))?;
    for (end, nth) in ends.iter().zip(0..) {
        let ready = end.ready().ok_or_else(only_asked)?;
        epoll::add(&all, ready, epoll::EventData::new_u64(nth), epoll::EventFlags::IN)
            .map_err(|error| named("epoll_ctl", error))?;
    }
    Ok(all)
}

/// Fills `into` with the numbers of ends that have something; gives up at once where it isn't to `wait`.
pub(super) fn ready_of(all: &OwnedFd, into: &mut Vec<epoll::Event>, wait: bool) -> io::Result<()> {
    let none = Timespec { tv_sec: 0, tv_nsec: 0 };
    into.clear();
    into.reserve(EVENTS);
    match epoll::wait(all, spare_capacity(into), (!wait).then_some(&none)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(failed("epoll_wait", error)),
    }
}
