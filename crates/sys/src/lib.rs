//! The system boundary: the only place that may say `unsafe`.
//!
//! Everything here is a thin, owned, safe face of something the kernel or the CPU offers and
//! that no well-kept crate offers safely. What rustix already wraps safely is called directly
//! where it is used.
#![allow(unsafe_code)]

pub mod affinity;
pub mod bpf;
pub mod c_library;
pub mod calls;
mod claim;
pub mod clock;
pub mod cross_memory;
pub mod failed;
pub mod groups;
pub mod identity;
pub mod library;
#[cfg(all(test, not(miri)))]
mod library_calls;
#[cfg(all(test, feature = "models"))]
mod models;
pub mod network;
pub mod numa;
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
pub mod uring;
pub mod zero_copy_pipe;

/// The value of a call that returns -1 for an error in errno.
#[inline(always)]
fn checked(call: &'static str, code: i64) -> std::io::Result<usize> {
    if code < 0 { Err(last_error(call)) } else { Ok(code as usize) }
}

/// The error of `call` in errno.
#[cold]
fn last_error(call: &'static str) -> std::io::Error {
    failed::failed_in(call)(std::io::Error::last_os_error())
}
