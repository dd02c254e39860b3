//! Polls of many descriptors through one io_uring(7): a one-shot poll (IORING_OP_POLL_ADD) of each is under way, and
//! one io_uring_enter(2) puts those under way again that have told of something, and waits for the next.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{IoUring, opcode, types};

use super::claim::Claim;
use super::failed::failed_in;

/// A ring with a poll per descriptor. Its queues stay shared over a fork: one process uses them, the first that does;
/// in another every use panics.
pub struct Polls {
    ring: IoUring,
    /// Its own: what a poll is of stays open as long as the ring.
    of: Vec<OwnedFd>,
    claim: Claim,
}

impl Polls {
    /// A ring (io_uring_setup(2)) whose polls tell when something can be read from `of`. They begin with the first
    /// [`Polls::wait`].
    ///
    /// # Errors
    /// As io_uring_setup(2).
    pub fn new(of: Vec<OwnedFd>) -> io::Result<Polls> {
        // Room to submit one of each at once; completions have twice that.
        let entries = of.len().max(1).next_power_of_two() as u32;
        let (ring, claim) = (IoUring::new(entries)?, Claim::alone()?);
        let mut polls = Polls { ring, of, claim };
        (0..polls.of.len()).try_for_each(|nth| polls.again(nth))?;
        Ok(polls)
    }

    /// Polls descriptor `nth` again, from the next [`Polls::wait`] on: it tells at once where something can be read
    /// then. To be called once for each time that it was told of.
    ///
    /// # Errors
    /// It was called more often than that.
    #[inline(always)]
    pub fn again(&mut self, nth: usize) -> io::Result<()> {
        self.claim.assert();
        let descriptor = types::Fd(self.of[nth].as_raw_fd());
        let poll = opcode::PollAdd::new(descriptor, libc::POLLIN as u32).build();
        // SAFETY: a poll refers to no memory, and its descriptor stays open as long as the ring.
        unsafe { self.ring.submission().push(&poll.user_data(nth as u64)) }
            .map_err(|_| io::Error::other("io_uring: the submission queue is full"))
    }

    /// Waits until a poll tells of something, and puts the numbers of all that did behind `ready`; may return early,
    /// with none.
    ///
    /// # Errors
    /// As io_uring_enter(2) and as those of a poll.
    #[inline(always)]
    pub fn wait(&mut self, ready: &mut Vec<usize>) -> io::Result<()> {
        self.claim.assert();
        match self.ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                return Err(failed_in("io_uring_enter")(error));
            }
            _ => {}
        }
        for completion in self.ring.completion() {
            if completion.result() < 0 {
                return Err(io::Error::from_raw_os_error(-completion.result()));
            }
            ready.push(completion.user_data() as usize);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn whatever_can_be_read_is_told_of_once_for_each_time_that_is_asked() {
        let (near, mut far): (Vec<_>, Vec<_>) = (0..5).map(|_| UnixStream::pair().unwrap()).unzip();
        let of = near.iter().map(|stream| stream.try_clone().unwrap().into()).collect();
        let mut polls = match Polls::new(of) {
            Ok(polls) => polls,
            Err(error) => {
                let _ = writeln!(io::stderr(), "skipped: no io_uring here: {error}");
                return;
            }
        };
        let mut ready = Vec::new();
        for round in 0..3 {
            for nth in [3, 1] {
                far[nth].write_all(b"ab").unwrap();
            }
            while ready.len() < 2 {
                polls.wait(&mut ready).unwrap();
            }
            ready.sort_unstable();
            assert_eq!(ready, [1, 3], "round {round}");
            // One byte is left to read: that is told of again, and nothing else is.
            (&near[3]).read_exact(&mut [0; 1]).unwrap();
            (&near[1]).read_exact(&mut [0; 2]).unwrap();
            ready.clear();
            polls.again(3).unwrap();
            while ready.is_empty() {
                polls.wait(&mut ready).unwrap();
            }
            assert_eq!(ready, [3], "round {round}");
            (&near[3]).read_exact(&mut [0; 1]).unwrap();
            ready.clear();
            polls.again(1).unwrap();
            polls.again(3).unwrap();
        }
    }

    /// A partner that is gone is something to read: the end of it.
    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn a_closed_partner_is_told_of() {
        let (near, far) = UnixStream::pair().unwrap();
        let Ok(mut polls) = Polls::new(vec![near.into()]) else { return };
        drop(far);
        let mut ready = Vec::new();
        while ready.is_empty() {
            polls.wait(&mut ready).unwrap();
        }
        assert_eq!(ready, [0]);
    }
}
