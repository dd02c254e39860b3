//! Workloads: what is done over a mechanism. Generic over endpoints and mechanisms: none has a
//! loop of its own, and the loop that is measured is the same for all.

pub mod connect;
pub mod latency;
pub mod payload;
pub mod rate;
pub mod schedule;
pub mod throughput;

use model::mechanism::Carries;
use model::metric::{Measured, Metric};
use model::workload::Workload;
pub use payload::{Check, Payload};

/// What a workload yields of a mechanism that carries this.
pub fn metric(workload: Workload, carries: Carries) -> &'static Metric {
    match workload {
        Workload::Latency => &latency::METRIC,
        Workload::Throughput if carries == Carries::Bytes => &throughput::METRIC,
        Workload::Throughput => &throughput::OF_SIGNALS,
        Workload::Connect => &connect::METRIC,
        Workload::Rate => &rate::METRIC,
    }
}

/// What each workload yields.
pub fn metrics() -> Vec<Measured> {
    let of = |workload, carries| metric(workload, carries).clone();
    let both = |workload| Measured {
        workload,
        bytes: of(workload, Carries::Bytes),
        signals: of(workload, Carries::Signal),
    };
    Workload::ALL.into_iter().map(both).collect()
}

/// A worker's message buffers: reused for every message, as the report says.
pub struct Buffers {
    memory: Vec<u8>,
    out: std::ops::Range<usize>,
    into: std::ops::Range<usize>,
}

impl Buffers {
    /// Two buffers of `bytes`, each starting `offset` bytes into a page of its own, and touched.
    pub fn new(bytes: usize, offset: usize) -> Buffers {
        const PAGE: usize = 4096;
        let span = (bytes + offset).next_multiple_of(PAGE);
        let memory = vec![0xA5; 2 * span + PAGE];
        let start = memory.as_ptr().align_offset(PAGE) + offset;
        Buffers { memory, out: start..start + bytes, into: start + span..start + span + bytes }
    }

    /// The message to send, and the place for the message to receive.
    pub fn split(&mut self) -> (&mut [u8], &mut [u8]) {
        let (first, second) = self.memory.split_at_mut(self.into.start);
        (&mut first[self.out.clone()], &mut second[..self.into.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_start_where_they_should_and_do_not_overlap() {
        for (bytes, offset) in [(1, 0), (64, 128), (4096, 64), (5000, 4032)] {
            let mut buffers = Buffers::new(bytes, offset);
            let (out, into) = buffers.split();
            assert_eq!((out.len(), into.len()), (bytes, bytes));
            assert_eq!(out.as_ptr() as usize % 4096, offset);
            assert_eq!(into.as_ptr() as usize % 4096, offset);
        }
    }
}
