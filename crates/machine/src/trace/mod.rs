//! What the kernel did with two workers while they were timed: programs on its tracepoints
//! (bpf(2)) count system calls, wake-ups and interrupts, and tell their order.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `mark.rs` | how a worker says that its timed part begins and ends |
//! | `points.rs` | where the programs listen |
//! | `object.rs` | the built object of bpf/, parsed |
//! | `tracer.rs` | from loading to reading back, and why it may be refused |
//! | `decode.rs`  | what the programs wrote, read back |
//! | `event.rs` | what happened, one by one, and by which clock |
//! | `path.rs` | where the time of a round trip goes, from these |

mod decode;
mod event;
mod mark;
mod object;
mod path;
mod points;
mod tracer;

#[cfg(test)]
mod tests;

pub use self::object::{BUILT, Object, Program, RelocationTarget};
pub use decode::events;
pub use event::{Event, EventKind, Who, offset_ns};
pub use mark::{Marking, Marks};
pub use path::decompose;
pub use tracer::{Recording, Tracer, available, available_from};
