//! A launch's trace, in its supervisor: loaded before the workers are said to be ready, attached at
//! the word to go, detached once they have reported. Its descriptors are the supervisor's alone, so
//! that nothing stays attached, whichever process dies.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::page::Page;
use super::spec::Spec;
use machine::trace::{Marks, Recording, Tracer, decompose};
use model::launch::{Outcome, SampleCount, WorkerReport};
use model::probe::{Probe, Refusal, Scope};
use model::trace::{Marked, Traced};
use sys::bpf::Kernel;

/// Most events that a launch keeps: 4 MiB of them.
const MOST_EVENTS: u64 = 1 << 18;
/// Events of a round trip, generously: four system calls, two sleeps, interrupts.
const EVENTS: u64 = 40;
/// Most samples that are decomposed, the first ones: each costs some 120 bytes, and one in which
/// nothing happens, as of a mechanism that spins, takes none of the events' room.
const MOST_TRIPS: usize = 1 << 18;
/// Round trips before the timed ones that are traced too, with a margin.
const LEAD: u64 = 32;

pub struct Tracing {
    probe: Probe,
    marks: Marks,
    tracer: Option<Tracer>,
}

impl Tracing {
    /// The trace that `spec` asks for, if it does.
    ///
    /// # Errors
    /// No random numbers.
    pub fn of(spec: &Spec) -> Result<Option<Tracing>, String> {
        let Some(probe) = spec.observe.filter(|probe| probe.scope().is_some()) else {
            return Ok(None);
        };
        let marks = Marks::random().map_err(|error| format!("getrandom: {error}"))?;
        Ok(Some(Tracing { probe, marks, tracer: None }))
    }

    /// How its workers announce themselves.
    pub fn marks(&self) -> &Marks {
        &self.marks
    }

    /// Loads the programs.
    ///
    /// # Errors
    /// What is in the way.
    pub fn load(&mut self, spec: &Spec) -> Result<(), Outcome> {
        let room = room(spec, self.probe);
        let tracer = Tracer::load(&Kernel, self.probe, &self.marks, room, Path::new("/"));
        self.tracer = Some(tracer.map_err(refused)?);
        Ok(())
    }

    /// Lets them hear.
    ///
    /// # Errors
    /// What is in the way.
    pub fn attach(&mut self) -> Result<(), Outcome> {
        let attach = |tracer: &mut Tracer| tracer.attach(&Kernel, Path::new("/"));
        self.tracer.as_mut().map_or(Ok(()), attach).map_err(refused)
    }

    /// Lets them hear no more.
    pub fn detach(&mut self) {
        if let Some(tracer) = &mut self.tracer {
            tracer.detach();
        }
    }

    /// What they recorded of workers that reported so.
    ///
    /// # Errors
    /// What bpf(2) says.
    pub fn read(self, reports: [&WorkerReport; 2], page: &Page) -> Result<Traced, Outcome> {
        let failed = |reason: String| Outcome::Failed { reason };
        let tracer = self.tracer.ok_or_else(|| failed("the trace was not loaded".into()))?;
        let operations =
            reports.map(|report| report.marked.as_ref().map_or(0, |marked| marked.operations));
        let recording =
            tracer.read(operations).map_err(|error| failed(format!("trace: {error}")))?;
        if !share_a_clock(&recording, reports[0].marked.as_ref()) {
            return Err(failed("trace: its events and the samples are not of one clock".into()));
        }
        Ok(laid_out(recording, reports, page))
    }
}

/// How near to each other stamps of one clock are, at most.
const NEAR_NS: u64 = 1_000_000_000;

/// Whether some events lie between the marks of the samples, where there are both.
fn share_a_clock(recording: &Recording, marked: Option<&Marked>) -> bool {
    let within = |marked: &Marked| {
        // The marks themselves are events, right before the one and after the other.
        let begun = marked.begun.monotonic_ns.saturating_sub(NEAR_NS);
        let ended = marked.ended.monotonic_ns.saturating_add(NEAR_NS);
        recording.events.iter().any(|event| (begun..=ended).contains(&event.at_ns))
    };
    recording.events.is_empty() || marked.is_none_or(within)
}

/// The one place where events meet samples: these are laid onto what happened meanwhile, and taken
/// apart, to round trips where each holds a batch. The events themselves are not kept.
fn laid_out(recording: Recording, reports: [&WorkerReport; 2], page: &Page) -> Traced {
    let [initiator, _] = reports;
    let samples = page.samples(initiator.samples as usize);
    let starts = match &initiator.marked {
        Some(marked) => starts_ns(marked, samples),
        None => Vec::new(),
    };
    let samples = decompose(&recording.events, &starts);
    let trips = samples.map(|sample| sample.of_each(initiator.batch.max(1) as f64));
    Traced { trips, ..recording.traced }
}

/// Where each sample begins on the clock of the events, and where the last one ends; of the first
/// [`MOST_TRIPS`]. One stamp closes a sample and opens the next.
fn starts_ns(marked: &Marked, samples: &[AtomicU64]) -> Vec<f64> {
    let Marked { begun, ended, closed, .. } = marked;
    let lasted = ended.ticks.saturating_sub(begun.ticks).max(1) as f64;
    let ns_per_tick = ended.monotonic_ns.saturating_sub(begun.monotonic_ns) as f64 / lasted;
    let length = samples.len().div_ceil(closed.len().max(1)).max(1);
    let opened = samples.chunks(length).zip(closed).flat_map(|(stretch, closed)| {
        let ticks = stretch.iter().map(|counter| counter.load(Ordering::Relaxed));
        let mut at = closed.saturating_sub(ticks.clone().sum());
        ticks.map(move |ticks| {
            at += ticks;
            at - ticks
        })
    });
    let stamps = opened.chain(closed.last().copied()).take(MOST_TRIPS + 1);
    let since_begun = stamps.map(|stamp| stamp.saturating_sub(begun.ticks) as f64);
    since_begun.map(|ticks| begun.monotonic_ns as f64 + ticks * ns_per_tick).collect()
}

/// How many events to make room for: only a full trace of what is done back to back keeps them.
fn room(spec: &Spec, probe: Probe) -> u32 {
    if !spec.workload.traits().back_to_back || probe.scope() != Some(Scope::All) {
        return 0;
    }
    let trips = match spec.samples {
        SampleCount::Exactly(samples) => samples.saturating_mul(spec.batch.max(1)),
        SampleCount::Lasting(_) => MOST_EVENTS,
    };
    trips.saturating_add(LEAD).saturating_mul(EVENTS).min(MOST_EVENTS) as u32
}

fn refused(refusal: Refusal) -> Outcome {
    Outcome::Failed { reason: refusal.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::trace::Instant;

    #[test]
    fn of_very_many_samples_the_first_are_laid_where_all_say() {
        let samples = MOST_TRIPS as u64 + 10;
        let ticks: Vec<AtomicU64> = (0..samples).map(|_| AtomicU64::new(3)).collect();
        let at = |ticks| Instant { ticks, monotonic_ns: 2 * ticks };
        let (begun, ended, closed) = (at(0), at(3 * samples + 8), vec![3 * samples + 2]);
        let starts = starts_ns(&Marked { begun, ended, operations: samples, closed }, &ticks);
        assert_eq!(starts.len(), MOST_TRIPS + 1);
        assert_eq!((starts[0], starts[1]), (4.0, 10.0), "the last stamp says where they lie");
    }

    #[test]
    fn each_stretch_lies_where_its_own_last_stamp_says() {
        let ticks: Vec<AtomicU64> = [3, 4, 5, 6, 7].map(AtomicU64::new).into();
        let at = |ticks: u64| Instant { ticks, monotonic_ns: 1_000 + 2 * (ticks - 100) };
        // From 103 to 110, from 120 to 131, from 133 to 140: workers pause in between.
        let closed = vec![110, 131, 140];
        let marked = Marked { begun: at(100), ended: at(200), operations: 5, closed };
        let starts = starts_ns(&marked, &ticks);
        assert_eq!(starts, [1006.0, 1012.0, 1040.0, 1050.0, 1066.0, 1080.0]);
    }
}
