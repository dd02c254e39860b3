//! Mechanisms: ways in which the system moves bytes or wake-ups between two workers.
//!
//! Each is one file and one row of [`MECHANISMS`]. What must hold of every mechanism (the conformance suite in tests/
//! proves it):
//!
//! - What one end sends, the other receives: all of it, in order, unchanged; a message
//!   mechanism keeps the boundaries, a stream delivers exactly as many bytes as were asked.
//! - `send` and `recv` block until done. They never wait with a time-out for a dead partner:
//!   that is the supervisor's business. (`udp` alone bounds its wait, for lost datagrams.)
//! - A size that can't be carried is refused when opening, never clamped.
//! - Nothing stays behind: descriptors close, mappings vanish, names are never made or are
//!   unlinked before `open` returns. What can't be (System V objects) is [`Residue`], removed
//!   by the process that opened it.
//!
//! No mechanism sees a clock, a statistic or the store. What is done over them, timed, is in the crate `workload`.

pub mod connection;
mod connections;
mod contract;
mod counts;
mod endpoint;
pub mod engine;
pub mod nonblocking;
mod opened;
mod options;
mod partner_ids;
mod plugin;
mod residue;
#[cfg(test)]
mod skeleton;
mod socket;
mod table;
#[cfg(test)]
mod tests;
mod unavailable;
mod zero_copy_pipe;

pub mod condvar;
mod eventfd;
pub mod fd;
pub mod fifo;
mod foreign;
mod futex;
pub mod io_uring;
pub mod network;
pub mod null;
pub mod pipe;
pub mod posix_queue;
pub mod posix_sem;
pub mod process_vm;
pub mod pty;
mod reliable;
pub mod seqlock;
pub mod shm_ring;
pub mod signal;
pub mod splice;
pub mod sysv_queue;
pub mod sysv_sem;
pub mod tcp;
pub mod udp;
pub mod unix_dgram;
pub mod unix_seqpacket;
pub mod unix_stream;
pub mod vmsplice;
mod waiting;

pub use connection::Connection;
pub use connections::{held_by_ends, probe_connections, probe_crowd};
pub use contract::{Chooser, Mechanism, OpenSpec, Step, Visitor};
pub use endpoint::{Deadline, Endpoint, Erased, Phase};
// What every mechanism's file says of itself.
use model::mechanism::{Carries, Cause, Framing, Scope, Traits, Unavailable, Waits};
pub use nonblocking::{
    Nonblocking, NonblockingCode, Received, Sent, open_nonblocking, open_nonblocking_of,
};
pub use opened::Opened;
pub use options::{Choice, OptionSpec, Options, Variant, catalogue};
pub use plugin::{load_by, register, registered};
use residue::PrivateNames;
pub use residue::{
    Cleaned, KeptRecord, Residue, clean, clean_up_after_launches, clean_up_after_process,
    keep_record, note_launch,
};
use table::probe_by;
pub use table::{
    Entry, MECHANISMS, check_over_network, choose, connect, listen, open, probe, probe_nonblocking,
};
pub use unavailable::{OpenError, cause_of, dies_with_parent_here, unavailable, unavailable_in};
