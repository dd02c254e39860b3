//! One fresh execution of a case: new processes, descriptors, mappings. The experimental unit.
//!
//! The coordinator never measures. It starts this program again (`launcher`, `handle`), hands over a spec
//! (`spec`) and reads back a record and the samples (`wire`). The new process is a supervisor:
//! single-threaded, it opens the mechanism, forks the workers (`workers`) and watches them until
//! the end. The workers (`worker`) follow a `protocol`: the initiator commands the responder over a
//! shared page (`page`), and both run the timed loops (`loops`) of a workload of `workload`.
//! There may be several initiators, each with a pair of ends: the first commands them all.
//! An observed launch has `instrumentation` in its workers, and may be traced (`tracing`) by its
//! supervisor. One in `company` has others run beside its workers. A launch between two hosts is made of two
//! halves (`peer`, `supervisor`). Which node gets which frame is
//! decided in one place, here, at a peer and between the nodes of a fleet (`state`), and one driver asks it
//! (`launches`).
//!
//! ```text
//! coordinator ──spec──▶ supervisor ──fork──▶ initiator, responder
//!             ◀─ready──            ◀─ready──      pinned, pages faulted in, asleep
//!             ──go────▶            ──go────▶      first message, verify, warm up, time
//!             ◀─timed──            ◀─report─      asleep again: nothing exits yet
//!             ──end───▶            ──end───▶      exit
//!             ◀─record, samples──
//! ```

pub mod answer;
pub mod arm;
mod company;
mod context;
mod engine;
mod handle;
mod instrumentation;
mod launcher;
pub mod launches;
mod page;
pub mod peer;
mod protocol;
pub mod state;
mod supervised;
mod supervisor;
mod tracing;
mod trial;
mod worker;
mod workers;

pub mod placement;
pub mod plant;
pub mod spec;
pub mod wire;

pub use handle::{Launch, PeerRoute};
pub use launcher::Launcher;
pub(crate) use launcher::unstarted;
pub use machine::interrupt::Interrupt;
pub use page::{Command, Page};
pub use protocol::SETTLED;
pub use spec::{Spec, not_started};
pub use state::{LaunchResult, Stage};
pub use supervisor::serve;
pub use trial::carries_a_message;
pub(crate) use trial::{spec as trial_of, tried};
