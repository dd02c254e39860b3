//! Whether several connections of a mechanism can be had for one server: tried with one, and counted.

use std::fs::read_dir;

use rustix::process::{Resource, getrlimit};

use super::{
    Cause, Nonblocking, NonblockingVisitor, OpenError, Opened, Unavailable, Variant,
    open_nonblocking, probe_by,
};
use model::load::Server;

/// Descriptors that a launch has beside those of its connections: its streams, its workers', an epoll.
const BESIDE: u64 = 32;

/// Tries whether so many `connections` of `variant` can be opened here for messages of `message_bytes`, and
/// whether a server that waits like this can serve them.
///
/// # Errors
/// The mechanism can only wait, or has no descriptors to wait for; the limit on open files is too low.
pub fn probe_connections(
    variant: &Variant,
    message_bytes: usize,
    connections: u32,
    server: Server,
) -> Result<(), OpenError> {
    if !server.is_built() {
        return Err(OpenError::NotApplicable(server.not_built()));
    }
    probe_by(variant, message_bytes, |name, spec| {
        let before = descriptors();
        let (each, ready) = open_nonblocking(name, spec, Counted { before })?;
        if !ready && server.needs_descriptors() {
            return Err(OpenError::NotApplicable(format!(
                "{name} has no descriptor for {} to wait for: --server scan asks it",
                server.name()
            )));
        }
        let polled = u64::from(server == Server::Poll); // a poll's own descriptor of each
        enough((each + polled) * u64::from(connections), connections)
    })
}

/// How many descriptors a connection takes, both ends together, and whether one tells of a request.
struct Counted {
    before: u64,
}

impl NonblockingVisitor for Counted {
    type Output = (u64, bool);

    fn visit<E: Nonblocking + 'static>(self, opened: Opened<E>) -> (u64, bool) {
        (descriptors().saturating_sub(self.before), opened.responder.ready().is_some())
    }
}

/// Open descriptors of this process; 0 where /proc can't be read.
fn descriptors() -> u64 {
    read_dir("/proc/self/fd").map_or(0, |all| all.count() as u64)
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
