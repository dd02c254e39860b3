//! `posix-queue`: two POSIX message queues, one each way (mq_overview(7)). The names are
//! unlinked as soon as the queues exist. A receiver must offer room for the queue's largest
//! message, so the queues are made for just the message's size.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::Resource;

use super::residue::{random_name, unlink_queue};
use super::sysv_queue::FIRST_PIECE;
use super::unavailable::limit as limit_in_force;
use super::{
    Carries, Cause, Choice, Endpoint, Framing, Mechanism, OpenError, OpenSpec, Opened, OptionSpec,
    Options, Traits, Unavailable, Visitor, socket::wrong_length,
};
use model::bend::Bend;
use sys::failed::errno_of;
use sys::posix;

pub struct PosixQueue;

pub struct PosixQueueEnd {
    to: OwnedFd,
    from: OwnedFd,
    /// Where a message shorter than the queue's largest arrives.
    room: Vec<u8>,
}

/// Messages that a queue holds by default (mq_overview(7), msg_max).
const DEPTH: i64 = 10;

impl Mechanism for PosixQueue {
    const NAME: &'static str = "posix-queue";
    const ALIASES: &'static [&'static str] = &["mq"];
    const SUMMARY: &'static str = "two POSIX message queues, one each way";
    const TRAITS: Traits = Traits::host(Carries::Bytes, Framing::Message);
    const BENDS: &'static [Bend] = &[FIRST_PIECE];
    const OPTIONS: &'static [OptionSpec] = &[OptionSpec {
        name: "depth",
        summary: "messages that a queue holds (mq_maxmsg)",
        words: &["default"],
        takes_size: true,
    }];

    fn largest(_options: &Options) -> Option<usize> {
        limit("msgsize_max").map(|bytes| bytes as usize)
    }

    fn open<V: Visitor>(spec: &OpenSpec, visitor: V) -> Result<V::Output, OpenError> {
        let depth = match spec.options.get(Self::OPTIONS, "depth") {
            Choice::Size(depth) => depth as i64,
            Choice::Word(_) => DEPTH.min(most_messages().unwrap_or(DEPTH)),
        };
        if let Some(most) = most_messages().filter(|most| *most < depth) {
            return Err(OpenError::NotApplicable(format!(
                "posix-queue: depth={depth}: a queue holds at most {most} messages here \
                 (/proc/sys/fs/mqueue/msg_max): choose less, or raise it"
            )));
        }
        let (there, back) = (queue(depth, spec.message_bytes)?, queue(depth, spec.message_bytes)?);
        let again = |queue: &OwnedFd| queue.try_clone().map_err(OpenError::call("dup"));
        let (there_again, back_again) = (again(&there)?, again(&back)?);
        let end = |to, from| PosixQueueEnd { to, from, room: vec![0; spec.message_bytes] };
        let opened = Opened::new(end(there, back_again), end(back, there_again))
            .effective_settings(vec![("queue_depth_messages".into(), depth as u64)]);
        Ok(visitor.visit(opened))
    }
}

/// The most messages that a queue may hold; read once, because reading takes longer than making
/// a queue, and set-up is timed too.
fn most_messages() -> Option<i64> {
    static MOST: OnceLock<Option<i64>> = OnceLock::new();
    *MOST.get_or_init(|| limit("msg_max"))
}

fn limit(name: &str) -> Option<i64> {
    std::fs::read_to_string(format!("/proc/sys/fs/mqueue/{name}")).ok()?.trim().parse().ok()
}

/// A queue without a name.
fn queue(depth: i64, bytes: usize) -> Result<OwnedFd, OpenError> {
    let made = random_name().and_then(|name| {
        let path = CString::new(format!("/{name}"))?;
        posix::make_queue(&path, depth, bytes as i64).map(|queue| (name, queue))
    });
    let (name, queue) = made.map_err(|error| match errno_of(&error) {
        // Here this error means another limit than that on files (mq_open(3)).
        Some(Errno::MFILE) => OpenError::Unavailable(Unavailable {
            cause: Cause::Limit,
            reason: format!(
                "mq_open: a queue of {depth} messages of {bytes} bytes exceeds the limit of {} \
                 bytes in POSIX queues",
                limit_in_force(Resource::Msgqueue)
            ),
            remedy: "raise it: ulimit -q".into(),
        }),
        _ => OpenError::call("mq_open")(error),
    })?;
    unlink_queue(&name, &queue).map(|()| queue)
}

impl Endpoint for PosixQueueEnd {
    #[inline(always)]
    fn send(&mut self, message: &[u8]) -> io::Result<()> {
        loop {
            match posix::queue_send(self.to.as_fd(), message) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    #[inline(always)]
    fn recv(&mut self, message: &mut [u8]) -> io::Result<()> {
        let whole = message.len() == self.room.len();
        let place = if whole { &mut *message } else { &mut self.room[..] };
        let length = loop {
            match posix::queue_recv(self.from.as_fd(), place) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        if length != message.len() {
            return Err(wrong_length("mq_receive", length, message.len()));
        }
        if !whole {
            message.copy_from_slice(&self.room[..length]);
        }
        Ok(())
    }
}
