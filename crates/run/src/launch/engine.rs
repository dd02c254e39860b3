//! The sides of an engine as the protocol sees them: a stretch is a line to it, and a line back.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use mechanisms::engine::Engine;
use model::launch::Usage;
use model::mechanism::Stats;
use model::workload::Workload;
use workload::loops::{Channel, Loops, With};

/// What an engine does for a workload.
pub struct EngineLoops<'a> {
    pub engine: &'a mut Engine,
    pub workload: Workload,
    pub ns_per_tick: f64,
}

impl EngineLoops<'_> {
    fn exchange(
        &mut self,
        workload: Workload,
        samples: &[AtomicU64],
        batch: u64,
    ) -> io::Result<()> {
        let taken = self.engine.exchange(workload.name(), samples.len() as u64, batch)?;
        for (sample, ns) in samples.iter().zip(taken) {
            sample.store((ns as f64 / self.ns_per_tick).round() as u64, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Channel for &mut EngineLoops<'_> {
    fn round_trips(&mut self, with: With, samples: &[AtomicU64]) -> io::Result<()> {
        match with {
            With::Nothing => self.exchange(Workload::Latency, samples, 1),
            With::Pattern(seed) | With::Echoed(seed) => {
                self.engine.verify(samples.len() as u64, seed)
            }
        }
    }

    fn answer(&mut self, with: With, count: u64) -> io::Result<()> {
        match with {
            With::Nothing => self.engine.exchange(Workload::Latency.name(), count, 1).map(|_| ()),
            With::Pattern(seed) | With::Echoed(seed) => self.engine.verify(count, seed),
        }
    }

    fn say(&mut self, _message: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn hear(&mut self, _message: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.engine.close()
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}

impl Loops for EngineLoops<'_> {
    fn channel(&mut self) -> Box<dyn Channel + '_> {
        Box::new(self)
    }

    fn lead(&mut self, samples: &[AtomicU64], batch: u64) -> io::Result<Option<u64>> {
        self.exchange(self.workload, samples, batch).map(|()| None)
    }

    fn time(&mut self, samples: &[AtomicU64], batch: u64) -> io::Result<Option<u64>> {
        self.exchange(self.workload, samples, batch).map(|()| None)
    }

    fn follow(&mut self, samples: u64, batch: u64) -> io::Result<()> {
        self.engine.exchange(self.workload.name(), samples, batch).map(|_| ())
    }

    fn is_whole(&self) -> bool {
        true
    }

    fn used(&self) -> Option<Usage> {
        Some(self.engine.usage())
    }

    fn cpu(&self) -> u32 {
        self.engine.cpu()
    }

    fn null(&mut self) -> io::Result<Option<u64>> {
        self.engine.null()
    }
}
