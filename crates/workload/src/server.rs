//! The server of several connections: it finds out which of them has a request, and answers that.
//!
//! It reads one request of a connection that has some, and goes on to the next connection, so that none is
//! served twice while others wait. An answer goes whole before the next request is read: a client that reads late
//! holds all of them up, as it does in a server that writes blockingly.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::thread::sched_yield;

use super::many::{EVENTS, Messages, epoll_of, ready_of, split};
use super::service::Work;
use super::{Payload, Side};
use mechanisms::nonblocking::{only_asked, only_waits};
use mechanisms::{Endpoint, Nonblocking, Received, Sent};
use model::load::Server;
use sys::failed::failed;
use sys::polls::Polls;

/// How a server waits, once it knows its connections. They stay as ends that are asked without waiting: a
/// request may have come in part when a stretch ends.
pub(super) enum Waiting {
    /// All connections are in this epoll(7).
    Epoll(OwnedFd),
    /// A descriptor of each, which is the server's own, so that the ends may be asked meanwhile.
    Poll(Vec<OwnedFd>),
    /// A poll of each is under way in this ring.
    IoUring(Box<Polls>),
    /// It asks one after the other.
    Scan,
}

impl Waiting {
    fn of(server: Server, ends: &mut [&mut dyn Nonblocking]) -> io::Result<Waiting> {
        ends.iter_mut().try_for_each(|end| end.set_nonblocking(true))?;
        match server {
            Server::Epoll => epoll_of(ends).map(Waiting::Epoll),
            Server::Poll => own_of(ends).map(Waiting::Poll),
            Server::IoUring => {
                Polls::new(own_of(ends)?).map(|polls| Waiting::IoUring(Box::new(polls)))
            }
            Server::Scan => Ok(Waiting::Scan),
            // Nothing chooses there: `threads` serves.
            Server::Threads => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// A descriptor of each of `ends`, which is the server's own.
fn own_of(ends: &[&mut dyn Nonblocking]) -> io::Result<Vec<OwnedFd>> {
    let own = |end: &&mut dyn Nonblocking| end.ready().ok_or_else(only_asked)?.try_clone_to_owned();
    ends.iter().map(own).collect()
}

/// Answers `count` requests, over whichever of `sides` they come. `waiting` is kept from call to call.
pub(super) fn serve<E: Endpoint, P: Payload>(
    sides: &mut [Side<'_, E, P>],
    (server, waiting): (Server, &mut Option<Waiting>),
    work: &mut Option<Work>,
    one_cpu: bool,
    count: u64,
) -> io::Result<()> {
    let (mut ends, rest) = split(sides)?;
    Serving { server, waiting, rest, work, one_cpu, left: count }.run(&mut ends)
}

/// A stretch of so many requests.
struct Serving<'a, 'b, P> {
    server: Server,
    waiting: &'a mut Option<Waiting>,
    rest: Vec<Messages<'b, P>>,
    work: &'a mut Option<Work>,
    one_cpu: bool,
    left: u64,
}

impl<P: Payload> Serving<'_, '_, P> {
    fn run(mut self, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        if self.waiting.is_none() {
            *self.waiting = Some(Waiting::of(self.server, ends)?);
        }
        match self.waiting.take() {
            Some(mut waiting) => {
                let served = match &mut waiting {
                    Waiting::Epoll(all) => self.by_epoll(all, ends),
                    Waiting::Poll(own) => self.by_poll(own, ends),
                    Waiting::IoUring(polls) => self.by_io_uring(polls, ends),
                    Waiting::Scan => self.by_scan(ends),
                };
                *self.waiting = Some(waiting);
                served
            }
            None => Err(only_waits()),
        }
    }

    #[inline(never)]
    fn by_epoll(&mut self, all: &OwnedFd, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        while self.left > 0 {
            ready_of(all, &mut events, true)?;
            for event in &events {
                self.answer(event.data.u64() as usize, ends)?;
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn by_poll(&mut self, own: &[OwnedFd], ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        let mut fds: Vec<PollFd<'_>> =
            own.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        while self.left > 0 {
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(failed("poll", error)),
            }
            for (nth, fd) in fds.iter().enumerate() {
                if !fd.revents().is_empty() {
                    self.answer(nth, ends)?;
                }
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn by_io_uring(
        &mut self,
        polls: &mut Polls,
        ends: &mut [&mut dyn Nonblocking],
    ) -> io::Result<()> {
        let mut ready = Vec::with_capacity(ends.len());
        while self.left > 0 {
            polls.wait(&mut ready)?;
            // Also what comes too late for this stretch is polled again: the next one must hear of it.
            for nth in ready.drain(..) {
                self.answer(nth, ends)?;
                polls.again(nth)?;
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn by_scan(&mut self, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        while self.left > 0 {
            let before = self.left;
            for nth in 0..ends.len() {
                self.answer(nth, ends)?;
            }
            if before == self.left {
                if self.one_cpu {
                    sched_yield();
                } else {
                    std::hint::spin_loop();
                }
            }
        }
        Ok(())
    }

    /// Answers one request of connection `nth`, if all of it is there and it belongs to this stretch.
    #[inline(always)]
    fn answer(&mut self, nth: usize, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        let (end, messages) = (&mut *ends[nth], &mut self.rest[nth]);
        if self.left == 0 || end.try_recv(messages.into)? == Received::WouldBlock {
            return Ok(());
        }
        messages.payload.look(messages.into)?;
        if let Some(work) = self.work {
            work.spin();
        }
        messages.payload.fill(messages.out);
        while end.try_send(messages.out)? == Sent::WouldBlock {
            await_room(end)?;
        }
        self.left -= 1;
        Ok(())
    }
}

/// Waits until there may be room to send.
#[cold]
pub(super) fn await_room(end: &dyn Nonblocking) -> io::Result<()> {
    let Some(room) = end.room() else {
        sched_yield();
        return Ok(());
    };
    match poll(&mut [room], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(failed("poll", error)),
    }
}
