//! Floors, which no mechanism of this machine can beat, and yardsticks, which one may beat: how they are measured.
//!
//! What a clock costs and how fine it is, what entering the kernel costs, how fast memory is
//! copied, how long a cache line takes to another CPU and back, how long waking a sleeping
//! thread takes. A result then reads as "1.3 × the wake-up" and needs no folklore.
//!
//! Measured in the process that calls, single-threaded until a part needs a partner, each thread pinned: `run` starts
//! a process of its own for them. What is timed is compiled as the mechanisms' loops are, and nothing else is in this crate.
//!
//! | file | what it measures | in the quick set | in full |
//! | --- | --- | --- | --- |
//! | `clocks.rs` | cost, smallest step, disagreement of clocks | 20 ms | 1.1 s |
//! | `calls.rs` | trivial system calls | 10 ms | 40 ms |
//! | `line.rs` | round trip of a cache line between CPUs | the pairs of the run | all pairs, or 1.5 s of them |
//! | `wake_up.rs` | round trip of two threads that sleep | 0.2 s a relation | 0.5 s a relation |
//! | `copy.rs` | copying inside each cache, and memory | 0.3 s | 0.6 s |
//! | `again.rs` | one bound beside a round of launches | a millisecond each | |

mod again;
mod setting;

pub mod calls;
pub mod clocks;
pub mod copy;
pub mod line;
pub mod wake_up;

use model::alignment::Alignment;
use model::floors::FloorDetail;

use serde::{Deserialize, Serialize};

pub use again::Bench;
pub use setting::{Setting, pin};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    pub extent: FloorDetail,
    /// Quick: the CPU pairs that the run's cases use; a pair may be one CPU twice.
    pub pairs: Vec<(u32, u32)>,
    /// Quick: whether workers may be anywhere, so that each relation between CPUs matters.
    pub anywhere: bool,
    /// Where the buffers of the copies begin.
    pub align: Alignment,
}

impl Order {
    pub fn full() -> Order {
        Order { extent: FloorDetail::Full, anywhere: true, ..Order::quick(Alignment::default()) }
    }

    /// Nothing of a run's cases yet.
    pub fn quick(align: Alignment) -> Order {
        Order { extent: FloorDetail::Quick, pairs: Vec::new(), anywhere: false, align }
    }
}
