//! The system boundary: the only place that may say `unsafe`.
//!
//! Everything here is a thin, owned, safe face of something the kernel or the CPU offers and
//! that no well-kept crate offers safely. What rustix already wraps safely is called directly
//! where it is used.
#![allow(unsafe_code)]

pub mod bpf;
pub mod calls;
mod claim;
pub mod counter;
pub mod cross_memory;
pub mod identity;
// loom switches stacks, which Miri can't follow.
#[cfg(all(test, not(miri)))]
mod models;
pub mod namespace;
pub mod network;
pub mod parking;
pub mod perf;
pub mod polls;
pub mod posix;
pub mod process;
pub mod ring;
pub mod shared;
pub mod signal;
pub mod socket;
mod sync;
pub mod system_v;
pub mod tap;
pub mod uring;
pub mod zero_copy_pipe;

/// The value of a call that returns -1 for an error in errno.
fn checked(code: i64) -> std::io::Result<usize> {
    if code < 0 { Err(std::io::Error::last_os_error()) } else { Ok(code as usize) }
}
