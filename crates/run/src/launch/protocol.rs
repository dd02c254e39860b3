//! The protocol between the two workers: the first message, verify, warm up, time. The initiator sends
//! commands over the page; the responder executes them. In the workload `connect` the initiator works
//! alone and the responder sleeps.
//!
//! Between two hosts there is no page: commands go over the mechanism itself, between stretches too,
//! and are acknowledged, so that the responder waits for what follows. The responder of a `connect`
//! learns from each connection that it accepts what the next ones are for.

use clock::Now;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{sched_getcpu, sched_yield};

use super::instrumentation::Instrumentation;
use super::loops::{Loops, With};
use super::paced::Paced;
use super::page::{Command, Page};
use super::set_up;
use super::spec::Spec;
use mechanisms::network::ConnectionKind;
use model::launch::{Role, SampleCount, WorkerReport};
use model::mechanism::Carries;
use model::workload::Workload;

/// Round trips of the check before timing; each direction carries as many messages.
const VERIFIED: usize = 2;
/// How long the partner gets to fall asleep before the first message, so that what is timed is
/// the message, and not the partner's way out of the wait for a command.
pub const SETTLED: Duration = Duration::from_micros(100);
/// Untimed operations right before the first sample, so that none is woken from a command; of those
/// that take long, as many as fit this time, in ns, and at least one.
const LEAD: u64 = 16;
const LEAD_NS: f64 = 2e6;
/// What a pilot's transfer should last, in ns.
const PILOT_TRANSFER_NS: f64 = 20e6;
/// How many single messages a pilot begins with that sizes transfers, for so long at most: one alone may
/// be cold, or lost.
const PILOT_SINGLES: u64 = 8;
const PILOT_SINGLES_NS: f64 = 500e6;
/// How long a partner on another host may take to acknowledge a command.
const HEARD: Duration = Duration::from_secs(10);
/// How long before its deadline a launch's workers wait for nothing new: as long as `udp` waits, twice.
const LAST_WORD: Duration = Duration::from_millis(1_000);
/// Stretches into which the timed part of a free worker is cut, to see where it runs.
const STRETCHES: u64 = 16;

/// One worker's side of the protocol with its partner.
pub struct WorkerProtocol<'a> {
    loops: &'a mut dyn Loops,
    spec: &'a Spec,
    carries: Carries,
    page: &'a Page,
    instrumentation: Instrumentation,
    report: WorkerReport,
    /// When it must have said what it found: the launch ends soon after.
    last_word: Instant,
}

impl<'a> WorkerProtocol<'a> {
    /// A protocol over `loops`, with commands over `page`, for a mechanism that `carries` this;
    /// `instrumentation` is active while it is timed.
    pub fn new(
        loops: &'a mut dyn Loops,
        spec: &'a Spec,
        carries: Carries,
        page: &'a Page,
        instrumentation: Instrumentation,
    ) -> WorkerProtocol<'a> {
        let report = WorkerReport::default();
        let last_word = Instant::now() + Duration::from_millis(spec.deadline_ms) - LAST_WORD;
        WorkerProtocol { loops, spec, carries, page, instrumentation, report, last_word }
    }

    /// Runs the protocol in `role`. Returns the report, which holds the error where one ended it early.
    pub fn run(mut self, role: Role) -> WorkerReport {
        let result = match role {
            Role::Initiator => self.lead(),
            Role::Responder => self.follow(),
        };
        if result.is_ok() {
            // The partner may be gone already: then nothing is owed any more.
            let _ = self.loops.flush();
        }
        self.report.lost = self.loops.lost();
        self.report.datagrams = self.loops.datagrams();
        let tally = self.loops.tally().into_iter();
        self.report.tally = tally.map(|(name, count)| (name.to_string(), count)).collect();
        self.report.error = result.err().map(|error| error.to_string());
        self.report
    }

    /// The initiator: verify, warm up, time.
    fn lead(&mut self) -> io::Result<()> {
        let spec = self.spec;
        if spec.workload == Workload::Latency {
            self.first()?;
        }
        if self.carries == Carries::Bytes && spec.workload.has_size() {
            self.issue(Command::Verify(VERIFIED as u64))?;
            let untimed = [const { AtomicU64::new(0) }; VERIFIED];
            self.loops.round_trips(With::Pattern(!spec.seed), &untimed, 1)?;
        }
        self.warm_up()?;
        self.time()?;
        if spec.workload == Workload::Connect && self.report.batch == 1 {
            set_up::dissect(spec, &mut self.report)?;
        }
        self.issue(Command::Stop)
    }

    /// Tells the responder what to do.
    fn issue(&mut self, command: Command) -> io::Result<()> {
        if self.spec.half.is_none() {
            self.page.issue(command);
            return Ok(());
        }
        if self.spec.workload == Workload::Connect {
            return match command {
                Command::Stop => self.announce(ConnectionKind::Last),
                _ => Ok(()),
            };
        }
        self.loops.say(&command.to_bytes())?;
        let since = Instant::now();
        loop {
            match self.loops.hear(&mut [0]) {
                Err(error) if is_silence(&error) && since.elapsed() < HEARD => {}
                heard => return heard,
            }
        }
    }

    /// Tells the far side of a `connect` what the next connections are for.
    fn announce(&mut self, kind: ConnectionKind) -> io::Result<()> {
        match self.spec.half {
            Some(_) if self.spec.workload == Workload::Connect => {
                set_up::announce(self.spec, &mut self.report, kind)
            }
            _ => Ok(()),
        }
    }

    /// What the initiator wants next. That the first message comes first goes without saying: on
    /// another host nothing may be said before it.
    fn next_command(&mut self, taken: u32) -> io::Result<Command> {
        if self.spec.half.is_none() {
            return Ok(self.page.next_command(taken));
        }
        if taken == 0 && self.spec.workload == Workload::Latency {
            return Ok(Command::First);
        }
        let mut bytes = [0; Command::BYTES];
        self.patiently(|loops| loops.hear(&mut bytes))?;
        self.loops.say(&[0xAC])?;
        Ok(Command::from_bytes(&bytes))
    }

    /// Does what waits for a partner that takes its time, again and again: datagrams give up soon. Not
    /// where something is known to be lost, nor when the launch is about to end: then it has its say.
    fn patiently(
        &mut self,
        mut wait: impl FnMut(&mut dyn Loops) -> io::Result<()>,
    ) -> io::Result<()> {
        loop {
            let early = Instant::now() < self.last_word;
            match wait(self.loops) {
                Err(error)
                    if self.spec.half.is_some()
                        && is_silence(&error)
                        && early
                        && self.loops.lost() == 0 => {}
                done => return done,
            }
        }
    }

    /// The first round trip since set-up: cold code, cold memory, a partner that waits.
    fn first(&mut self) -> io::Result<()> {
        if self.spec.half.is_none() {
            self.page.issue(Command::First);
        }
        // Yielding, not sleeping: a wake-up could move a free worker to its partner's CPU.
        let issued = Instant::now();
        while issued.elapsed() < SETTLED {
            sched_yield();
        }
        let sample = [AtomicU64::new(0)];
        self.loops.round_trips(With::Nothing, &sample, 1)?;
        let ticks = sample[0].load(Ordering::Relaxed);
        self.report.first_ns = Some(ticks as f64 * self.spec.ns_per_tick);
        Ok(())
    }

    /// Doubles the stretch until operations or time are used up; the last whole stretch gives
    /// the estimate.
    fn warm_up(&mut self) -> io::Result<()> {
        let Spec { warmup, ns_per_tick, clock, .. } = *self.spec;
        let ticks = (warmup.ns as f64 / ns_per_tick) as u64;
        let untimed = [AtomicU64::new(0)];
        let started = clock.now();
        let (mut stretch, mut done, mut ack_ns) = (1, 0, f64::INFINITY);
        loop {
            self.prepare_stretch(stretch)?;
            let opened = clock.now();
            self.fill(&untimed, stretch)?;
            let now = clock.now();
            done += stretch;
            let elapsed_ns = (now - opened) as f64 * ns_per_tick;
            self.report.estimate_ns = elapsed_ns / stretch as f64;
            ack_ns = elapsed_ns.min(ack_ns);
            let spent = now - started;
            if done < self.singles() && spent as f64 * ns_per_tick < PILOT_SINGLES_NS {
                continue;
            }
            if done >= warmup.operations || spent >= ticks {
                break;
            }
            let fitting = (ticks - spent) as f64 * ns_per_tick / self.report.estimate_ns;
            stretch = (2 * stretch).min(warmup.operations - done).min(fitting as u64).max(1);
            if stretch < done / 8 {
                break;
            }
        }
        (self.report.warmup_operations, self.report.ack_ns) = (done, ack_ns);
        self.report.untimed_ns = (clock.now() - started) as f64 * ns_per_tick;
        Ok(())
    }

    /// How many operations are a stretch of their own before stretches double.
    fn singles(&self) -> u64 {
        match (self.spec.workload, self.spec.samples, self.spec.batch) {
            (Workload::Throughput, SampleCount::Lasting(_), 0) => PILOT_SINGLES,
            _ => 1,
        }
    }

    fn prepare_stretch(&mut self, operations: u64) -> io::Result<()> {
        match self.spec.workload {
            Workload::Latency | Workload::Rate => self.issue(Command::Respond(operations)),
            Workload::Throughput => {
                self.issue(Command::Receive { lead: operations, transfers: 0, messages: 0 })
            }
            Workload::Connect => Ok(()),
        }
    }

    /// Fills `samples` with the ticks of `batch` operations each, one after the other; of round trips,
    /// gives the stamp that closed the last.
    fn fill(&mut self, samples: &[AtomicU64], batch: u64) -> io::Result<Option<u64>> {
        match self.spec.workload {
            Workload::Latency | Workload::Rate => {
                return self.loops.round_trips(With::Asked, samples, batch).map(Some);
            }
            Workload::Throughput => self.loops.transfers(samples, batch)?,
            Workload::Connect => set_up::initiate(self.spec, &mut self.report, samples, batch)?,
        }
        Ok(None)
    }

    fn time(&mut self) -> io::Result<()> {
        let (samples, batch) = self.how_many();
        let page = self.page;
        page.populate(samples as usize)?;
        let lead = self.lead_operations();
        let stretches = if self.spec.pinned() { 1 } else { STRETCHES };
        let chunk = (samples.div_ceil(stretches)).max(1) as usize;
        let open_loop = self.spec.workload == Workload::Rate;
        let mut paced = open_loop.then(|| Paced::new(self.spec, samples));
        match self.spec.workload {
            Workload::Latency | Workload::Rate => {
                self.issue(Command::Respond(lead + samples * batch))?;
            }
            Workload::Throughput => {
                let timed = Command::Receive { lead, transfers: samples, messages: batch };
                self.issue(timed)?;
            }
            Workload::Connect => {}
        }
        let led = Instant::now();
        self.fill(&[AtomicU64::new(0)], lead)?;
        self.report.untimed_ns += led.elapsed().as_nanos() as f64;
        self.report.lead_operations = lead;
        self.announce(ConnectionKind::TimingStarts)?;
        let before = sys::process::thread_usage();
        let mut closed = Vec::new();
        self.instrumentation.start()?;
        for samples in page.samples(samples as usize).chunks(chunk) {
            self.report.cpus.push(sched_getcpu() as u32);
            match &mut paced {
                None => closed.extend(self.fill(samples, batch)?),
                Some(paced) => paced.fill(self.loops, samples)?,
            }
        }
        self.instrumentation.stop(samples * batch, closed, &mut self.report)?;
        self.report.usage = sys::process::thread_usage().since(&before);
        self.report.cpus.push(sched_getcpu() as u32);
        let filled = page.samples(samples as usize);
        self.report.punctuality = paced.and_then(|it| it.end(filled));
        (self.report.samples, self.report.batch) = (samples, batch);
        self.announce(ConnectionKind::TimingEnds)
    }

    /// Untimed operations before the first sample.
    fn lead_operations(&self) -> u64 {
        ((LEAD_NS / self.report.estimate_ns.max(1.0)) as u64).clamp(1, LEAD)
    }

    /// Samples to take, and operations in each.
    fn how_many(&self) -> (u64, u64) {
        let Spec { samples, batch, workload, rate, .. } = *self.spec;
        let period = rate.map_or(0.0, |rate| 1e9 / rate as f64);
        let estimate = self.report.estimate_ns.max(period).max(1.0);
        let batch = match (batch, workload) {
            (0, Workload::Throughput) => (PILOT_TRANSFER_NS / estimate).ceil() as u64,
            (_, Workload::Rate) | (0, Workload::Latency | Workload::Connect) => 1,
            (batch, _) => batch,
        };
        let samples = match samples {
            SampleCount::Exactly(samples) => samples,
            SampleCount::Lasting(ns) => (ns as f64 / (estimate * batch as f64)).ceil() as u64,
        };
        (samples.clamp(1, self.page.room() as u64), batch.max(1))
    }

    /// The responder: does what it is told, until told to stop.
    fn follow(&mut self) -> io::Result<()> {
        if self.spec.half.is_some() && self.spec.workload == Workload::Connect {
            return self.accept_set_ups();
        }
        for taken in 0.. {
            let command = self.next_command(taken)?;
            let mut before = sys::process::thread_usage();
            match command {
                Command::First if self.carries == Carries::Own => {}
                Command::First => self.patiently(|loops| loops.answer(With::Nothing, 1))?,
                Command::Verify(count) => {
                    self.loops.answer(With::Pattern(!self.spec.seed), count)?;
                }
                Command::Respond(count) => {
                    self.instrumentation.start()?;
                    self.respond(count)?;
                    self.instrumentation.stop(count, Vec::new(), &mut self.report)?;
                }
                Command::Receive { lead, transfers, messages } => {
                    self.receive(1, lead)?;
                    before = sys::process::thread_usage();
                    self.instrumentation.start()?;
                    self.receive(transfers, messages)?;
                    self.instrumentation.stop(
                        transfers * messages,
                        Vec::new(),
                        &mut self.report,
                    )?;
                }
                Command::Stop => return Ok(()),
            }
            // The last command before Stop is the timed one.
            self.report.usage = sys::process::thread_usage().since(&before);
        }
        Ok(())
    }

    /// The responder of set-ups from another host: accepts connections up to the last one.
    fn accept_set_ups(&mut self) -> io::Result<()> {
        let mut before = sys::process::thread_usage();
        loop {
            let mut kind = [0];
            self.loops.hear(&mut kind)?;
            match kind[0] {
                it if it == ConnectionKind::TimingStarts as u8 => {
                    self.report.cpus.push(sched_getcpu() as u32);
                    before = sys::process::thread_usage();
                }
                it if it == ConnectionKind::TimingEnds as u8 => {
                    self.report.usage = sys::process::thread_usage().since(&before);
                    self.report.cpus.push(sched_getcpu() as u32);
                }
                it if it == ConnectionKind::Last as u8 => return Ok(()),
                _ => {}
            }
        }
    }

    fn respond(&mut self, count: u64) -> io::Result<()> {
        if self.carries == Carries::Own {
            return Ok(()); // its partner talks to itself
        }
        let stretches = if self.spec.pinned() { 1 } else { STRETCHES.min(count).max(1) };
        self.report.cpus.clear();
        for nth in 0..stretches {
            let part = count * (nth + 1) / stretches - count * nth / stretches;
            self.loops.answer(With::Asked, part)?;
            self.report.cpus.push(sched_getcpu() as u32);
        }
        Ok(())
    }

    fn receive(&mut self, transfers: u64, messages: u64) -> io::Result<()> {
        self.report.cpus.clear();
        for _ in 0..transfers {
            self.loops.take(messages)?;
            if self.report.cpus.len() < STRETCHES as usize {
                self.report.cpus.push(sched_getcpu() as u32);
            }
        }
        Ok(())
    }
}

/// Whether nothing came for as long as the mechanism waits.
fn is_silence(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}
