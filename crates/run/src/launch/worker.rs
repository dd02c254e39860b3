//! One worker: pins itself, faults its pages in, reports that it is ready and waits for go. Then it runs
//! the protocol with its partner, reports, and waits for the command to exit.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::context::{WorkerContext, stopped};
use super::engine::EngineLoops;
use super::instrumentation::Instrumentation;
use super::page::Page;
use super::protocol::WorkerProtocol;
use mechanisms::{Deadline, Endpoint};
use model::launch::{Message, Role, WorkerReport};
use model::mechanism::Carries;
use model::memory::MemoryNodes;
use rustix::process::nice;
use sys::affinity::{self, Affinity};
use sys::numa::{here, nodes_of};
use sys::shared::places;
use workload::loops::{Ends, Loops, Outfit};
use workload::payload::Touched;
use workload::{Buffers, Check, WorkloadSpec};

/// What a worker does with its ends. It returns when the supervisor tells it to exit or hangs up.
pub fn work(mut ends: Box<dyn Ends>, context: WorkerContext) {
    let deadline = Deadline::default();
    // Before it is pinned: whether it has only one CPU is part of it.
    let asked = context.spec.asked();
    if context.spec.plugin.is_some() {
        // Standard output is the supervisor's stream: what a library prints goes where it disturbs nobody.
        let _ = rustix::stdio::dup2_stdout(std::io::stderr());
    }
    let placed = context.pin().and_then(|()| context.be_nice());
    let started =
        placed.and_then(|()| ends.erased().iter_mut().try_for_each(|end| end.start(&deadline)));
    if let Some(instrumentation) = context.stand_ready(started) {
        let report = context.measure(&mut *ends, asked, (instrumentation, &deadline));
        context.report(report);
    }
}

/// Tells the node of each page of some memory.
type NodesOf<'a> = &'a dyn Fn(&[Range<usize>]) -> io::Result<Vec<Option<u32>>>;

/// On which nodes memory lies, by `nodes_of`; on none where that doesn't tell.
fn found_on(
    buffers: &[Range<usize>],
    shared: &[Range<usize>],
    nodes_of: NodesOf<'_>,
) -> MemoryNodes {
    let count = |places: &[Range<usize>]| {
        let mut pages = BTreeMap::new();
        for node in nodes_of(places).unwrap_or_default().into_iter().flatten() {
            *pages.entry(node).or_default() += 1;
        }
        pages
    };
    MemoryNodes { buffers: count(buffers), shared: count(shared) }
}

impl WorkerContext {
    fn pin(&self) -> io::Result<()> {
        if let Some(cpu) = self.spec.cpu_of(self.role) {
            return affinity::pin(cpu);
        }
        let left = self.spec.left_to_generators();
        if self.role != Role::Responder || left.is_empty() {
            return Ok(());
        }
        let beside = left.iter().fold(Affinity::here()?, |set, cpu| set.without(*cpu));
        let named =
            |error| io::Error::other(format!("pin to CPUs beside the generators': {error}"));
        beside.apply().map_err(named)
    }

    /// What a library starts, and generators, begin with the same.
    fn be_nice(&self) -> io::Result<()> {
        match self.spec.nice {
            0 => Ok(()),
            added => Ok(nice(added as i32).map(drop)?),
        }
    }

    /// Faults pages in, opens the instrumentation and waits for go; None if go doesn't come.
    fn stand_ready(&self, started: io::Result<()>) -> Option<Instrumentation> {
        let faulted_in =
            started.and_then(|()| self.pages.iter().try_for_each(|page| page.populate(0)));
        let prepared = faulted_in
            .and_then(|()| Instrumentation::open(&self.spec, self.role, self.marks.as_ref()));
        match prepared {
            Ok(instrumentation) => {
                self.tell(&Message::Ready);
                self.hear().then_some(instrumentation)
            }
            Err(error) => {
                self.give_up(&error);
                None
            }
        }
    }

    fn measure(
        &self,
        ends: &mut dyn Ends,
        asked: Result<WorkloadSpec, String>,
        around: (Instrumentation, &Deadline),
    ) -> WorkerReport {
        let workload = self.spec.workload;
        if let Some(engine) = ends.engine() {
            let ns_per_tick = self.spec.ns_per_tick;
            return self.run(&mut EngineLoops { engine, workload, ns_per_tick }, around);
        }
        let asked = match asked {
            Ok(asked) => asked,
            Err(error) => return WorkerReport { error: Some(error), ..Default::default() },
        };
        let count = ends.erased().len();
        let buffers = match self.buffers_of(count) {
            Ok(buffers) => buffers,
            Err(error) => return stopped(&error),
        };
        let places: Vec<Range<usize>> = buffers.iter().map(Buffers::place).collect();
        let touched = self.touched(count);
        let outfit = Outfit { workload, touched, buffers, clock: self.spec.clock };
        // While the buffers are there: where they lie is asked afterwards.
        let run = |loops: &mut dyn Loops| self.with_memory(self.run(loops, around), &places);
        ends.looped(asked, outfit, Box::new(run))
    }

    /// Asks where memory lies: the message buffers, and what the workers share but for the pages of commands and samples. Where
    /// it isn't where it was asked to be the launch fails.
    fn with_memory(&self, mut report: WorkerReport, buffers: &[Range<usize>]) -> WorkerReport {
        let own: Vec<Range<usize>> = self.pages.iter().map(Page::place).collect();
        let shared: Vec<Range<usize>> =
            places().into_iter().filter(|place| !own.contains(place)).collect();
        let found = found_on(buffers, &shared, &nodes_of);
        if report.error.is_none() {
            report.error = self.spec.memory.check(&found, here()).err();
        }
        report.memory = Some(found);
        report
    }

    /// The buffers of so many ends.
    fn buffers_of(&self, ends: usize) -> io::Result<Vec<Buffers>> {
        let (request, answer) = (self.spec.message_bytes, self.spec.answer_bytes());
        let (out, into) = match self.role {
            Role::Initiator(_) => (request, answer),
            Role::Responder => (answer, request),
        };
        (0..ends).map(|_| Buffers::sized(out, into, self.spec.buffer_offset)).collect()
    }

    /// What is done to the messages of each of so many ends.
    fn touched(&self, ends: usize) -> Vec<Option<Touched>> {
        let first = match self.role {
            Role::Initiator(nth) => nth as u64,
            Role::Responder => 0,
        };
        (first..).take(ends).map(|pair| self.touch(pair)).collect()
    }

    /// What is done to each message; None if nothing is. Checked are the patterns of `pair`, so that a
    /// message of another is found out.
    fn touch(&self, pair: u64) -> Option<Touched> {
        if self.spec.verify && self.traits.carries == Carries::Bytes {
            let check = Check::new(self.spec.seed.wrapping_add(pair));
            return Some(Touched::Check(match self.role {
                Role::Responder => check.answering(),
                Role::Initiator(_) if self.traits.foreign_server => check.echoed(),
                Role::Initiator(_) => check,
            }));
        }
        #[cfg(any(debug_assertions, feature = "plant"))]
        if let Some(plant) = self.spec.plant {
            return Some(Touched::By(Box::new(super::plant::Planted::new(plant))));
        }
        Touched::of(self.spec.payload)
    }

    fn run(&self, loops: &mut dyn Loops, around: (Instrumentation, &Deadline)) -> WorkerReport {
        WorkerProtocol::new(loops, self, around).run(self.role)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::memory::Memory;

    /// Of a machine with two nodes, which this one may not be.
    #[test]
    fn pages_on_another_node_than_asked_are_told() {
        let (buffers, shared) =
            ([0x1000..0x2000, 0x2000..0x4000], [0x9000..0xa000, 0xa000..0xb000]);
        let two = |places: &[Range<usize>]| {
            let pages = places.iter().flat_map(|place| place.clone().step_by(0x1000));
            Ok(pages.map(|page| (page != 0xa000).then_some(u32::from(page >= 0x9000))).collect())
        };
        let found = found_on(&buffers, &shared, &two);
        assert_eq!((found.buffers.get(&0), found.shared.get(&1)), (Some(&3), Some(&1)));
        let error = Memory::Node(0).check(&found, 0).unwrap_err();
        assert_eq!(error, "1 page of its shared memory lies on node 1, not on node 0");
        assert_eq!(Memory::Local.check(&found, 0), Ok(()));
        let none = found_on(&buffers, &shared, &|_| Err(io::ErrorKind::Unsupported.into()));
        assert_eq!(none, MemoryNodes::default());
    }
}
