//! An open loop with several messages under way over one end. Answers come in the order of the messages.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock::Now;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::thread::sched_yield;

use super::Payload;
use super::many::asked;
use super::schedule::{Adherence, Schedule, Wait};
use mechanisms::{Endpoint, Nonblocking, Received, Sent};
use sys::failed::failed;

/// A stretch of an open loop.
pub(super) struct Pipelined<'a, P> {
    /// What is done to each message.
    pub payload: &'a mut P,
    /// The message that is sent.
    pub out: &'a mut [u8],
    /// Where answers arrive.
    pub into: &'a mut [u8],
    pub clock: model::clock::ClockKind,
    /// When messages are due.
    pub schedule: &'a Schedule,
    /// Whether it is kept.
    pub adherence: &'a mut Adherence,
    /// How many may be under way.
    pub depth: usize,
    /// Which message of the schedule is the first of this stretch.
    pub first: usize,
    /// Of each message the ticks from when it was due to when its answer was in.
    pub samples: &'a [AtomicU64],
    /// Of each message the ticks from when it was due to when it was begun.
    pub lateness: &'a mut [u64],
}

impl<P: Payload> Pipelined<'_, P> {
    /// Sends all messages over `end`, and takes in their answers.
    pub fn over<E: Endpoint>(mut self, end: &mut E) -> io::Result<()> {
        let end = asked(end)?;
        end.set_nonblocking(true)?;
        self.exchange(end)?;
        end.set_nonblocking(false)
    }

    #[inline(never)]
    fn exchange(&mut self, end: &mut dyn Nonblocking) -> io::Result<()> {
        let all = self.samples.len();
        let (mut begun, mut sent, mut answered) = (0, 0, 0);
        while answered < all {
            if begun == sent && sent < all && sent - answered < self.depth {
                let (now, due) = (self.clock.now(), self.due(sent));
                if now >= due {
                    self.lateness[sent] = now - due;
                    self.adherence.begun(due, now);
                    self.payload.fill(self.out);
                    begun += 1;
                }
            }
            // What is due goes before answers are taken in: else a quick partner would keep the depth at one.
            if begun > sent {
                let moved = end.try_send(self.out)?;
                self.adherence.free(self.clock.now());
                if moved == Sent::Whole {
                    sent += 1;
                    continue;
                }
            }
            if answered < sent && end.try_recv(self.into)? == Received::Whole {
                self.payload.look(self.into)?;
                let now = self.clock.now();
                let took = now.saturating_sub(self.due(answered));
                self.samples[answered].store(took, Ordering::Relaxed);
                self.adherence.free(now);
                answered += 1;
            } else {
                let free = begun == sent && sent < all && sent - answered < self.depth;
                let due = free.then(|| self.due(sent));
                self.wait(end, answered < sent, begun > sent, due)?;
            }
        }
        Ok(())
    }

    fn due(&self, nth: usize) -> u64 {
        self.schedule.due(self.first + nth)
    }

    /// Waits until something may be received, or sent, or until shortly before the next message is due.
    fn wait(
        &self,
        end: &dyn Nonblocking,
        receives: bool,
        sends: bool,
        due: Option<u64>,
    ) -> io::Result<()> {
        let readable = end.ready().filter(|_| receives);
        let writable = end.room().filter(|_| sends);
        if (receives && readable.is_none()) || (sends && writable.is_none()) {
            // Only asking again tells.
            if self.schedule.waits() == Wait::Asleep {
                sched_yield();
            }
            return Ok(());
        }
        let asleep = due.map(|due| self.schedule.asleep(due));
        if asleep.is_some_and(|duration| duration.is_zero()) {
            std::hint::spin_loop();
            return Ok(());
        }
        let arrives = readable.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = arrives.into_iter().chain(writable).collect();
        let time = asleep.and_then(|duration| Timespec::try_from(duration).ok());
        match poll(&mut fds, time.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(failed("poll", error)),
        }
    }
}

#[cfg(test)]
mod tests;
