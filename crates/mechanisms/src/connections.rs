//! Whether several connections of a mechanism can be had for one server: tried with one, and counted.

use std::fs::{read_dir, read_to_string};

use rustix::process::{Resource, getrlimit};

use super::{
    Cause, Endpoint, OpenError, Opened, Unavailable, Variant, Visitor, Waits, io_uring, open,
    open_nonblocking, probe_by,
};
use crate::nonblocking::SHARED_MOST;
use model::load::Server;
use sys::polls::Polls;

/// Descriptors that a launch has beside those of its connections: its streams, its workers', an epoll.
const BESIDE: u64 = 32;

/// Tries whether so many `connections` of `variant` can be opened here for messages of `message_bytes`, and
/// whether a server that waits like this can serve them.
///
/// # Errors
/// The mechanism blocks, or has no descriptors to wait for; no ring can be had; the limit on open files is too
/// low.
pub fn probe_connections(
    variant: &Variant,
    message_bytes: usize,
    connections: u32,
    server: Server,
) -> Result<(), OpenError> {
    if server == Server::IoUring {
        Polls::new(Vec::new()).map_err(io_uring::refused)?;
    }
    if server == Server::Threads && variant.waits() == Waits::Spinning {
        return Err(OpenError::NotApplicable(format!(
            "{variant} spins while it waits, and --server threads needs a variant that blocks, as with wait=futex"
        )));
    }
    probe_by(variant, message_bytes, |name, spec| {
        let before = descriptors();
        let (each, ready) = open_nonblocking(name, spec, Counted { before })?;
        // Whether an end of a plug-in has one shows once it is open, in its worker.
        let ready = ready || variant.entry.plugin.is_some();
        if !ready && server.needs_descriptors() {
            return Err(OpenError::NotApplicable(format!(
                "{name} has no file descriptor that {} can wait on: use --server scan, which polls",
                server.name()
            )));
        }
        let own = u64::from(server.keeps_descriptors());
        enough((each + own) * u64::from(connections), connections)
    })
}

/// Tries whether so many `members` can share some `connections` of `variant` for messages of some bytes, which must each come in
/// one piece or need not.
///
/// # Errors
/// An end has more to it than descriptors; messages of several senders may mix; the limit on open files is too low.
pub fn probe_crowd(
    variant: &Variant,
    (message_bytes, whole): (usize, bool),
    connections: u32,
    members: u32,
) -> Result<(), OpenError> {
    if whole && message_bytes > SHARED_MOST {
        return Err(OpenError::NotApplicable(format!(
            "messages of several senders may mix from {} bytes on: -s {SHARED_MOST} is the largest",
            SHARED_MOST + 1
        )));
    }
    probe_by(variant, message_bytes, |name, spec| {
        let before = descriptors();
        let Some(each) = open_nonblocking(name, spec, SharedEnds { before })? else {
            let why = "several senders can't share an end of it";
            return Err(OpenError::NotApplicable(why.into()));
        };
        // Of each connection one for the members beside those of its ends; and one of a member, to its worker.
        enough((each + 1) * u64::from(connections) + u64::from(members), connections)
    })
}

/// Bytes of memory that both ends of a connection hold beside the buffers of their workers: found by opening one.
///
/// # Errors
/// It can't be opened.
pub fn held_by_ends(variant: &Variant, message_bytes: usize) -> Result<u64, OpenError> {
    probe_by(variant, message_bytes, |name, spec| {
        let before = mapped_bytes();
        open(name, spec, Held { before })
    })
}

/// How much of the address space both ends take.
struct Held {
    before: u64,
}

impl Visitor for Held {
    type Output = u64;

    fn visit<E: Endpoint>(self, _opened: Opened<E>) -> u64 {
        mapped_bytes().saturating_sub(self.before)
    }
}

/// What is mapped in this process; 0 where /proc can't be read.
fn mapped_bytes() -> u64 {
    let text = read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').next().and_then(|part| part.parse::<u64>().ok());
    pages.unwrap_or(0).saturating_mul(rustix::param::page_size() as u64)
}

/// How many descriptors a connection takes; None where its ends can't be shared.
struct SharedEnds {
    before: u64,
}

impl Visitor for SharedEnds {
    type Output = Option<u64>;

    fn visit<E: Endpoint>(self, mut opened: Opened<E>) -> Option<u64> {
        for end in [&mut opened.initiator, &mut opened.responder] {
            end.as_nonblocking()?.shared()?;
        }
        Some(descriptors().saturating_sub(self.before))
    }
}

/// How many descriptors a connection takes, both ends together, and whether one tells of a request.
struct Counted {
    before: u64,
}

impl Visitor for Counted {
    type Output = (u64, bool);

    fn visit<E: Endpoint>(self, mut opened: Opened<E>) -> (u64, bool) {
        let ready = opened.responder.as_nonblocking().is_some_and(|end| end.ready().is_some());
        (descriptors().saturating_sub(self.before), ready)
    }
}

/// Open descriptors of this process; 0 where /proc can't be read.
fn descriptors() -> u64 {
    read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

/// Whether the limit on open files leaves room for so many.
fn enough(wanted: u64, connections: u32) -> Result<(), OpenError> {
    let wanted = wanted + BESIDE;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < wanted => Err(OpenError::Unavailable(Unavailable {
            cause: Cause::Limit,
            reason: format!(
                "{connections} connections take {wanted} descriptors, the limit on open files is {limit}"
            ),
            remedy: format!("raise it: ulimit -n {wanted}"),
        })),
        _ => Ok(()),
    }
}
