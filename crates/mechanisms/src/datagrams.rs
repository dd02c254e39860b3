//! What an end that sends datagrams counts: what became of them on the way to it. Nothing is
//! counted beside the timed path; the kernel is asked afterwards.

use serde::{Deserialize, Serialize};

/// What became of the datagrams sent to one end, since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Dropped by the kernel, because the socket's receive queue was full (SO_MEMINFO). `None`
    /// where it can't say.
    pub queue_overflows: Option<u64>,
    /// What became of fragments. `None` where a datagram is a message: nothing numbers those.
    pub fragments: Option<FragmentCounts>,
}

/// What became of the fragments of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FragmentCounts {
    /// Put in their places.
    pub received: u64,
    /// Never came, of a message of which others came: they were waited for in vain.
    pub lost: u64,
    /// Came after one that was sent later.
    pub reordered: u64,
    /// Came again.
    pub duplicated: u64,
}
