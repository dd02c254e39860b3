//! A worker's life: pin, fault in, say ready, wait for go; then the first message, verify, warm
//! up, time; report, wait for the end. The initiator leads, by commands over the page; the
//! responder follows. Set-ups (`connect`) the initiator does alone, and the responder sleeps.

use std::io;
use std::marker::PhantomData;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::thread::{CpuSet, sched_getcpu, sched_setaffinity, sched_yield};
use serde::{Deserialize, Serialize};

use super::page::{Command, Page};
use super::set_up;
use super::spec::{Role, SampleCount, Spec, WorkerReport};
use crate::clock::{self, Clock, MonotonicRaw, Tsc};
use crate::mechanism::{Carries, Endpoint};
use crate::sys::process::Usage;
use crate::workload::payload::{Read, Untouched, Written};
use crate::workload::{Buffers, Check, Payload, Policy, Workload, latency, throughput};

/// What a worker tells its supervisor.
#[derive(Serialize, Deserialize)]
pub enum Message {
    /// Pinned and faulted in; waiting for the word to go.
    Ready,
    /// Finished, or stopped early.
    Report(Box<WorkerReport>),
}

/// Round trips of the check before timing; each direction carries as many messages.
const VERIFIED: u64 = 2;
/// How long the partner gets to fall asleep before the first message, so that what is timed is
/// the message, and not the partner's way out of the wait for a command.
const SETTLED: Duration = Duration::from_micros(100);
/// Untimed operations right before the first sample, so that none is woken from a command.
const LEAD: u64 = 16;
/// What a pilot's transfer should last, in ns.
const PILOT_TRANSFER_NS: f64 = 20e6;
/// Stretches into which the timed part of a free worker is cut, to see where it runs.
const STRETCHES: u64 = 16;

/// Everything a worker needs.
pub struct Worker<E> {
    /// Its side of the exchange.
    pub role: Role,
    /// Its end of the mechanism.
    pub end: E,
    /// The launch.
    pub spec: Arc<Spec>,
    /// What the mechanism carries.
    pub carries: Carries,
    /// Shared with the partner.
    pub page: Arc<Page>,
    /// Packets to and from the supervisor.
    pub link: OwnedFd,
}

impl<E: Endpoint> Worker<E> {
    /// Lives the worker's life. Returns when the supervisor says so, or is gone.
    pub fn live(mut self) {
        if let Err(error) = self.prepare() {
            let report = WorkerReport { error: Some(error.to_string()), ..Default::default() };
            self.tell(&Message::Report(Box::new(report)));
            self.hear();
            return;
        }
        self.tell(&Message::Ready);
        if self.hear() {
            let report = self.measure();
            self.tell(&Message::Report(Box::new(report)));
            self.hear();
        }
    }

    fn prepare(&mut self) -> io::Result<()> {
        let cpu = match self.role {
            Role::Initiator => self.spec.initiator_cpu,
            Role::Responder => self.spec.responder_cpu,
        };
        if let Some(cpu) = cpu {
            if cpu as usize >= CpuSet::MAX_CPU {
                return Err(io::Error::other(format!(
                    "pin to CPU {cpu}: only the first {} can be named here",
                    CpuSet::MAX_CPU
                )));
            }
            let mut set = CpuSet::new();
            set.set(cpu as usize);
            sched_setaffinity(None, &set)
                .map_err(|error| io::Error::other(format!("pin to CPU {cpu}: {error}")))?;
        }
        self.end.start()?;
        self.page.populate(0)
    }

    fn tell(&self, message: &Message) {
        let text = serde_json::to_vec(message).expect("a report is always JSON");
        let _ = send(&self.link, &text, SendFlags::NOSIGNAL);
    }

    /// Waits for a word from the supervisor; false if it is gone.
    fn hear(&self) -> bool {
        matches!(recv(&self.link, &mut [0u8; 1][..], RecvFlags::empty()), Ok((1, _)))
    }

    fn measure(&mut self) -> WorkerReport {
        match self.spec.clock {
            clock::Kind::Tsc => self.measure_by::<Tsc>(),
            clock::Kind::MonotonicRaw => self.measure_by::<MonotonicRaw>(),
        }
    }

    fn measure_by<C: Clock>(&mut self) -> WorkerReport {
        let seed = self.spec.seed;
        if self.spec.verify && self.carries == Carries::Bytes {
            return self.measure_with::<C, Check>(Check::new(seed));
        }
        match self.spec.payload {
            Policy::Untouched => self.measure_with::<C, Untouched>(Untouched),
            Policy::Written => self.measure_with::<C, Written>(Written::default()),
            Policy::Read => self.measure_with::<C, Read>(Read::default()),
        }
    }

    fn measure_with<C: Clock, P: Payload>(&mut self, payload: P) -> WorkerReport {
        let buffers = Buffers::new(self.spec.message_bytes, self.spec.buffer_offset);
        let mut exchange = Exchange::<C, E, P> {
            worker: self,
            payload,
            buffers,
            report: WorkerReport::default(),
            clock: PhantomData,
        };
        let result = match exchange.worker.role {
            Role::Initiator => exchange.lead(),
            Role::Responder => exchange.follow(),
        };
        let mut report = exchange.report;
        report.lost = self.end.lost();
        report.error = result.err().map(|error| error.to_string());
        report
    }
}

/// The conversation of one worker with its partner.
struct Exchange<'a, C, E, P> {
    worker: &'a mut Worker<E>,
    payload: P,
    buffers: Buffers,
    report: WorkerReport,
    clock: PhantomData<C>,
}

impl<C: Clock, E: Endpoint, P: Payload> Exchange<'_, C, E, P> {
    /// The initiator: verify, warm up, time.
    fn lead(&mut self) -> io::Result<()> {
        if self.worker.spec.workload == Workload::Latency {
            self.first()?;
        }
        if self.worker.carries == Carries::Bytes && self.worker.spec.workload.has_size() {
            self.worker.page.issue(Command::Verify(VERIFIED));
            let mut check = Check::new(!self.worker.spec.seed);
            let one = Page::new(VERIFIED as usize)?;
            latency::initiate::<C, E, Check>(
                &mut self.worker.end,
                &mut check,
                &mut self.buffers,
                one.samples(VERIFIED as usize),
                1,
            )?;
        }
        self.warm_up()?;
        self.time()?;
        if self.worker.spec.workload == Workload::Connect && self.report.batch == 1 {
            set_up::dissect::<C>(&self.worker.spec, &mut self.report)?;
        }
        self.worker.page.issue(Command::Stop);
        Ok(())
    }

    /// The first round trip since set-up: cold code, cold memory, a partner that waits.
    fn first(&mut self) -> io::Result<()> {
        let Worker { end, page, spec, .. } = &mut *self.worker;
        page.issue(Command::First);
        // Yielding, not sleeping: a wake-up could move a free worker to its partner's CPU.
        let issued = Instant::now();
        while issued.elapsed() < SETTLED {
            sched_yield();
        }
        let sample = [AtomicU64::new(0)];
        let buffers = &mut self.buffers;
        latency::initiate::<C, E, Untouched>(end, &mut Untouched, buffers, &sample, 1)?;
        self.report.first_ns = Some(sample[0].load(Ordering::Relaxed) as f64 * spec.ns_per_tick);
        Ok(())
    }

    /// Doubles the stretch until operations or time are used up; the last whole stretch gives
    /// the estimate.
    fn warm_up(&mut self) -> io::Result<()> {
        let Spec { warmup, ns_per_tick, .. } = *self.worker.spec;
        let ticks = (warmup.ns as f64 / ns_per_tick) as u64;
        let scratch = Page::new(1)?;
        let started = C::now();
        let (mut stretch, mut done) = (1, 0);
        loop {
            let opened = C::now();
            self.stretch(stretch, scratch.samples(1))?;
            let now = C::now();
            done += stretch;
            self.report.estimate_ns = (now - opened) as f64 * ns_per_tick / stretch as f64;
            if stretch == 1 {
                self.report.ack_ns = self.report.estimate_ns;
            }
            let spent = now - started;
            if done >= warmup.operations || spent >= ticks {
                break;
            }
            let fitting = (ticks - spent) as f64 * ns_per_tick / self.report.estimate_ns;
            stretch = (2 * stretch).min(warmup.operations - done).min(fitting as u64).max(1);
            if stretch < done / 8 {
                break;
            }
        }
        self.report.warmup_operations = done;
        Ok(())
    }

    fn stretch(&mut self, operations: u64, sample: &[AtomicU64]) -> io::Result<()> {
        let Worker { end, page, spec, .. } = &mut *self.worker;
        let (payload, buffers) = (&mut self.payload, &mut self.buffers);
        match spec.workload {
            Workload::Latency => {
                page.issue(Command::Respond(operations));
                latency::initiate::<C, E, P>(end, payload, buffers, sample, operations)
            }
            Workload::Connect => set_up::initiate::<C>(spec, &mut self.report, sample, operations),
            Workload::Throughput => {
                page.issue(Command::Receive { lead: operations, transfers: 0, messages: 0 });
                throughput::initiate::<C, E, P>(end, payload, buffers, sample, operations)
            }
        }
    }

    fn time(&mut self) -> io::Result<()> {
        let (samples, batch) = self.how_many();
        let page = self.worker.page.clone();
        page.populate(samples as usize)?;
        let lead = Page::new(1)?;
        let Worker { end, spec, .. } = &mut *self.worker;
        let (payload, buffers) = (&mut self.payload, &mut self.buffers);
        let stretches = if spec.pinned() { 1 } else { STRETCHES };
        let chunk = (samples.div_ceil(stretches)).max(1) as usize;
        match spec.workload {
            Workload::Latency => {
                page.issue(Command::Respond(LEAD + samples * batch));
                latency::initiate::<C, E, P>(end, payload, buffers, lead.samples(1), LEAD)?;
            }
            Workload::Throughput => {
                let timed = Command::Receive { lead: LEAD, transfers: samples, messages: batch };
                page.issue(timed);
                throughput::initiate::<C, E, P>(end, payload, buffers, lead.samples(1), LEAD)?;
            }
            Workload::Connect => {
                set_up::initiate::<C>(spec, &mut self.report, lead.samples(1), LEAD)?;
            }
        }
        let before = Usage::of_thread();
        for samples in page.samples(samples as usize).chunks(chunk) {
            self.report.cpus.push(sched_getcpu() as u32);
            match spec.workload {
                Workload::Latency => {
                    latency::initiate::<C, E, P>(end, payload, buffers, samples, batch)?;
                }
                Workload::Throughput => {
                    throughput::initiate::<C, E, P>(end, payload, buffers, samples, batch)?;
                }
                Workload::Connect => {
                    set_up::initiate::<C>(spec, &mut self.report, samples, batch)?;
                }
            }
        }
        self.report.usage = Usage::of_thread().since(&before);
        self.report.cpus.push(sched_getcpu() as u32);
        (self.report.samples, self.report.batch) = (samples, batch);
        Ok(())
    }

    /// Samples to take, and operations in each.
    fn how_many(&self) -> (u64, u64) {
        let Spec { samples, batch, workload, .. } = *self.worker.spec;
        let estimate = self.report.estimate_ns.max(1.0);
        let batch = match (batch, workload) {
            (0, Workload::Throughput) => (PILOT_TRANSFER_NS / estimate).ceil() as u64,
            (0, Workload::Latency | Workload::Connect) => 1,
            (batch, _) => batch,
        };
        let samples = match samples {
            SampleCount::Exactly(samples) => samples,
            SampleCount::Lasting(ns) => (ns as f64 / (estimate * batch as f64)).ceil() as u64,
        };
        (samples.clamp(1, self.worker.page.room() as u64), batch.max(1))
    }

    /// The responder: does what it is told, until told to stop.
    fn follow(&mut self) -> io::Result<()> {
        for taken in 0.. {
            let command = self.worker.page.next_command(taken);
            let before = Usage::of_thread();
            match command {
                Command::First if self.worker.carries == Carries::Own => {}
                Command::First => {
                    let end = &mut self.worker.end;
                    latency::respond(end, &mut Untouched, &mut self.buffers, 1)?;
                }
                Command::Verify(count) => {
                    let mut check = Check::new(!self.worker.spec.seed);
                    let end = &mut self.worker.end;
                    latency::respond(end, &mut check, &mut self.buffers, count)?;
                }
                Command::Respond(count) => self.respond(count)?,
                Command::Receive { lead, transfers, messages } => {
                    self.receive(1, lead)?;
                    self.receive(transfers, messages)?;
                }
                Command::Stop => return Ok(()),
            }
            // The last command before Stop is the timed one.
            self.report.usage = Usage::of_thread().since(&before);
        }
        Ok(())
    }

    fn respond(&mut self, count: u64) -> io::Result<()> {
        if self.worker.carries == Carries::Own {
            return Ok(()); // its partner talks to itself
        }
        let stretches = if self.worker.spec.pinned() { 1 } else { STRETCHES.min(count).max(1) };
        self.report.cpus.clear();
        for nth in 0..stretches {
            let part = count * (nth + 1) / stretches - count * nth / stretches;
            let end = &mut self.worker.end;
            latency::respond(end, &mut self.payload, &mut self.buffers, part)?;
            self.report.cpus.push(sched_getcpu() as u32);
        }
        Ok(())
    }

    fn receive(&mut self, transfers: u64, messages: u64) -> io::Result<()> {
        self.report.cpus.clear();
        for _ in 0..transfers {
            let end = &mut self.worker.end;
            throughput::respond(end, &mut self.payload, &mut self.buffers, 1, messages)?;
            if self.report.cpus.len() < STRETCHES as usize {
                self.report.cpus.push(sched_getcpu() as u32);
            }
        }
        Ok(())
    }
}
