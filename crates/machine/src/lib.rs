//! What surrounds a measurement: who shares what ([`Topology`]), what the host is ([`host`]),
//! and what else happened meanwhile ([`Counters`]).
//!
//! Everything but those and the quota of `cgroup.rs` is read from /proc and /sys below a root directory (`/` in production, a
//! stored tree in tests), spawns nothing, and changes no setting.
//!
//! | file | what it reads |
//! | --- | --- |
//! | `topology.rs` | CPUs, cores, caches, nodes |
//! | `relation.rs` | how two CPUs stand to each other; a pair for each placement |
//! | `cores.rs` | which kinds of core they are |
//! | `needs.rs` | the calls that every launch needs |
//! | `cpu_list.rs` | `0-3,8` |
//! | `host.rs`, `host/` | the record of the machine |
//! | `cgroup.rs` | where a group with a quota can be made; makes and removes it |
//! | `doctor/` | nothing of its own: what the others read, with advice; marks of rounds |
//! | `counts/` | counters of the kernel and the processor, for the calling thread |
//! | `trace/` | nothing of its own: programs on the kernel's tracepoints tell it |
//! | `ledger.rs` | the files of the noise ledger, as they are at one moment |
//! | `noise.rs` | what they say: interrupts, forks, switches, steal; and gaps of a spin |
//! | `energy.rs` | what the processor packages have used of energy |
//! | `datagrams.rs` | what a network namespace counts of UDP |
//! | `tree.rs` | small reads, absent as `None` |
//! | `program.rs` | where other programs are |
//! | `interrupt.rs` | signals that ask for an end |

pub mod cgroup;
pub mod counts;
pub mod cpu_list;
pub mod datagrams;
pub mod doctor;
pub mod energy;
pub mod host;
pub mod interrupt;
pub mod needs;
pub mod noise;
pub mod program;
pub mod relation;
pub mod topology;
pub mod trace;

mod cores;
mod ledger;
mod tree;

#[cfg(test)]
mod stored;

use model::placement::Relation;
use model::probe::{Instrument, Probe, Refusal};

pub use cpu_list::{CpuListError, format_cpu_list, parse_cpu_list};
pub use datagrams::udp_counters;
pub use host::limits::scheduling;
pub use ledger::Ledger;
pub use noise::{Counters, spin_gaps};
pub use topology::{Cpu, Topology};

/// Whether this process may observe so here.
///
/// # Errors
/// What is in the way.
pub fn available(probe: Probe) -> Result<(), Refusal> {
    match probe.instrument {
        Instrument::Counters(family) => counts::available(family),
        Instrument::Trace(_) => trace::available(),
    }
}
