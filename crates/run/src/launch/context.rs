//! What a worker has besides its endpoint, and the words between it and its supervisor.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::{read, write};

use super::page::Page;
use super::spec::Spec;
use machine::trace::Marks;
use mechanisms::unavailable_in;
use model::json::Json;
use model::launch::{Message, Role, WorkerReport};
use model::mechanism::Traits;

/// What a worker needs besides its endpoint.
pub struct WorkerContext {
    pub role: Role,
    pub spec: Arc<Spec>,
    pub traits: Traits,
    /// Shared with the other workers: one page of each initiator.
    pub pages: Arc<[Page]>,
    /// Packets to and from the supervisor.
    pub link: OwnedFd,
    /// By which a trace follows it, if there is one.
    pub marks: Option<Marks>,
}

/// The report of a worker that was stopped by `error` before it began.
pub(super) fn stopped(error: &io::Error) -> WorkerReport {
    WorkerReport {
        unavailable: unavailable_in(error),
        error: Some(error.to_string()),
        ..Default::default()
    }
}

impl WorkerContext {
    /// Reports what keeps it from working.
    pub(super) fn give_up(&self, error: &io::Error) {
        self.report(stopped(error));
    }

    /// Reports to the supervisor, and waits until that needs nothing more.
    pub(super) fn report(&self, report: WorkerReport) {
        self.tell(&Message::Report(Box::new(report)));
        self.hear();
    }

    pub(super) fn tell(&self, message: &Message) {
        // By write(2), not send(2): what a filter denies to a mechanism must not silence who tells of it.
        let _ = write(&self.link, message.to_json().as_bytes());
    }

    /// Waits for a word from the supervisor; false if it is gone.
    pub(super) fn hear(&self) -> bool {
        matches!(read(&self.link, &mut [0u8; 1][..]), Ok(1))
    }

    /// Waits for the next turn of the first initiator.
    pub(super) fn take_turn(&self) -> io::Result<()> {
        self.tell(&Message::Paused);
        match self.hear() {
            true => Ok(()),
            false => Err(io::Error::other("the supervisor is gone")),
        }
    }
}
