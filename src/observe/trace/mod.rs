//! What the kernel did with two workers while they were timed: programs on its tracepoints
//! (bpf(2)) count system calls, wake-ups and interrupts, and tell their order.

mod event;
mod path;

pub use event::{Event, Kind, Who};
pub use path::{Part, Share, Trips, take_apart};

use super::Refusal;

/// Whether this process may trace here.
///
/// # Errors
/// What is in the way.
pub fn available() -> Result<(), Refusal> {
    Err(Refusal { reason: "this build has no trace yet".into(), way_out: None })
}
