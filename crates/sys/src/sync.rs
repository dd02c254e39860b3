//! What the protocols between two workers are made of: atomic words, and sleep until one changes.
//!
//! The protocols name these through here, so that the models (`models`) can compile the very same
//! source with atomics and a sleep that are tried in every order.

pub use rustix::thread::futex;
pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
