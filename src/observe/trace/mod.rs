//! What the kernel did with two workers while they were timed: programs on its tracepoints
//! (bpf(2)) count system calls, wake-ups and interrupts, and tell their order.

mod event;
mod traced;

pub use event::{Event, Kind, Who};
pub use traced::{
    Calls, Deeds, Direction, Firings, Interrupts, Marked, SocketBytes, Spread, Traced, Woken,
};
