//! The protocol between the workers: the first message, verify, warm up, time. The initiator sends
//! commands over the page; the responder executes them. Of several initiators the first commands: the
//! others do as many operations as it does, and it issues nothing before they are done. Where the
//! workload says that the initiator works alone, and where a server that isn't ours answers, the responder sleeps.
//!
//! Between two hosts there is no page: commands go over the mechanism itself, between stretches too,
//! and are acknowledged, so that the responder waits for what follows. The responder of set-ups
//! learns from each connection that it accepts what the next ones are for.

mod responder;

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use sys::clock::Now;

use rustix::thread::sched_yield;

use super::context::WorkerContext;
use super::instrumentation::Instrumentation;
use super::page::{Command, Page};
use super::spec::Spec;
use mechanisms::network::ConnectionKind;
use mechanisms::{Deadline, unavailable_in};
use model::cycles::{Turns, slices};
use model::launch::{Role, SampleCount, Usage, Warmup, WorkerReport};
use model::load::Load;
use model::mechanism::Carries;
use model::workload::WorkloadTraits;
use workload::loops::{Channel, Loops, With};
use workload::{Row, row};

/// Round trips of the check before timing; each direction carries as many messages.
const VERIFIED: usize = 2;
/// How long the partner gets to fall asleep before the first message, so that what is timed is
/// the message, and not the partner's return from the wait for a command.
pub const SETTLED: Duration = Duration::from_micros(100);
/// Untimed operations right before the first sample, so that none is woken from a command; of those
/// that take long, as many as fit this time, in ns, and at least one.
const LEAD: u64 = 16;
const LEAD_NS: f64 = 2e6;
/// At least so long is led before each of several slices, in ns: caches and the scheduler forget the launches before.
const SLICE_LEAD_NS: f64 = 3e5;
/// Trivial calls that are timed before each.
const TRIVIAL_CALLS: u64 = 200;
/// How long a pilot's single operations may take, in ns.
const PILOT_SINGLES_NS: f64 = 500e6;
/// How long a partner on another host may take to acknowledge a command.
const ACKNOWLEDGED_WITHIN: Duration = Duration::from_secs(10);
/// How long before its deadline a launch's workers wait for nothing new: as long as `udp` waits, twice.
const LAST_WORD: Duration = Duration::from_millis(1_000);
/// An engine is warm once so many stretches in a row were not that much faster than the best before; and after so many at
/// the latest.
const SAME: u32 = 3;
const FASTER: f64 = 0.97;
const MOST_STRETCHES: u32 = 30;
/// Stretches into which the timed part of a free worker is cut, to see where it runs.
const STRETCHES: u64 = 16;

/// How the warm-up of an engine goes.
struct Steady {
    /// Of the fastest stretch, ns an operation.
    best_ns: f64,
    stretches: u32,
    /// In a row that were no faster.
    same: u32,
}

impl Default for Steady {
    fn default() -> Steady {
        Steady { best_ns: f64::INFINITY, stretches: 0, same: 0 }
    }
}

/// One worker's side of the protocol with its partner.
pub struct WorkerProtocol<'a> {
    loops: &'a mut dyn Loops,
    context: &'a WorkerContext,
    spec: &'a Spec,
    traits: WorkloadTraits,
    row: &'static Row,
    carries: Carries,
    /// Whether a server answers that isn't ours: the responder sleeps.
    foreign_server: bool,
    pages: &'a [Page],
    instrumentation: Instrumentation,
    report: WorkerReport,
    /// Responder: whether the stretch before had samples.
    timing: bool,
    deadline: &'a Deadline,
    /// When it must have said what it found: the launch ends soon after.
    last_word: Instant,
}

impl<'a> WorkerProtocol<'a> {
    /// A protocol over `loops`. What is `around` it: the instrumentation, active while it is timed; and the deadline,
    /// by which its endpoints give up.
    pub fn new(
        loops: &'a mut dyn Loops,
        context: &'a WorkerContext,
        (instrumentation, deadline): (Instrumentation, &'a Deadline),
    ) -> WorkerProtocol<'a> {
        let spec = &*context.spec;
        let mut protocol = WorkerProtocol {
            loops,
            context,
            spec,
            traits: spec.workload.traits(),
            row: row(spec.workload),
            carries: context.traits.carries,
            foreign_server: context.traits.foreign_server,
            pages: &context.pages,
            instrumentation,
            report: WorkerReport::default(),
            timing: false,
            deadline,
            last_word: Instant::now(),
        };
        protocol.begin_deadline();
        protocol
    }

    /// The time of the launch begins, or that of its turn. After its deadline the supervisor kills the workers, and their
    /// reports would be lost.
    fn begin_deadline(&mut self) {
        let ends = Instant::now() + Duration::from_millis(self.spec.deadline_ms);
        self.deadline.set(ends);
        self.last_word = ends - LAST_WORD;
    }

    /// Runs the protocol in `role`. Returns the report, which holds the error where one ended it early.
    pub fn run(mut self, role: Role) -> WorkerReport {
        let result = match role {
            Role::Initiator(0) => self.lead(),
            Role::Initiator(nth) => self.accompany(nth),
            Role::Responder => self.follow(),
        };
        let mut channel = self.loops.channel();
        if result.is_ok() {
            // The partner may be gone already: then nothing is owed any more.
            let _ = channel.finish();
        }
        let stats = channel.stats();
        self.report.lost = stats.lost;
        self.report.datagrams = stats.datagrams;
        let counts = stats.counts.into_iter();
        self.report.delivery_counts =
            counts.map(|(name, count)| (name.to_string(), count)).collect();
        if let Err(error) = result {
            self.report.unavailable = unavailable_in(&error);
            self.report.error = Some(error.to_string());
        }
        self.report
    }

    /// The first initiator: verify, warm up, time.
    fn lead(&mut self) -> io::Result<()> {
        if self.traits.back_to_back {
            self.first()?;
        }
        if self.carries == Carries::Bytes && self.traits.has_size {
            self.issue(Command::Verify(VERIFIED as u64))?;
            self.verify(0)?;
        }
        // Whatever a compiler concludes from it, it unlearns while it is warmed up.
        self.report.null_ns = self.loops.null()?;
        self.warm_up()?;
        self.time()?;
        self.issue(Command::Stop)
    }

    /// An initiator beside the first: does what that one does.
    fn accompany(&mut self, nth: usize) -> io::Result<()> {
        let page = &self.pages[nth];
        for taken in 0.. {
            match page.next_command(taken) {
                Command::Verify(_) => self.verify(nth)?,
                Command::Exchange { lead, samples: 0, .. } => {
                    self.loops.lead(&[AtomicU64::new(0)], lead)?;
                    self.report.operations += lead;
                }
                Command::Exchange { lead, samples, batch } => {
                    self.prepare(page, samples)?;
                    self.time_slice(page, 0..samples, (lead, batch))?;
                    self.time_ends(page)?;
                }
                Command::First | Command::Finish => {}
                Command::Stop => return Ok(()),
            }
            page.carried_out();
        }
        Ok(())
    }

    /// Exchanges messages whose bytes are all compared, those of each initiator with a pattern of its own.
    fn verify(&mut self, nth: usize) -> io::Result<()> {
        let untimed = [const { AtomicU64::new(0) }; VERIFIED];
        let seed = (!self.spec.seed).wrapping_add(nth as u64);
        let pattern = if self.foreign_server { With::Echoed(seed) } else { With::Pattern(seed) };
        self.report.operations += VERIFIED as u64;
        self.loops.channel().round_trips(pattern, &untimed)
    }

    /// Tells the responder what to do, and the initiators beside this one, once they are done.
    fn issue(&mut self, command: Command) -> io::Result<()> {
        if command != Command::Stop && self.loops.works_alone() {
            return Ok(());
        }
        if self.spec.half.is_none() {
            self.pages[1..].iter().for_each(Page::wait_until_carried_out);
            let told = if self.has_follower(command) { self.pages } else { &self.pages[1..] };
            told.iter().for_each(|page| page.issue(command));
            return Ok(());
        }
        if self.traits.sets_up {
            return self.loops.announce(ConnectionKind::Last);
        }
        let mut channel = self.loops.channel();
        channel.say(&command.to_bytes())?;
        let since = Instant::now();
        loop {
            match channel.hear(&mut [0]) {
                Err(error) if is_silence(&error) && since.elapsed() < ACKNOWLEDGED_WITHIN => {}
                answer => return answer,
            }
        }
    }

    /// Whether the responder has a part in `command`.
    fn has_follower(&self, command: Command) -> bool {
        !self.foreign_server || command == Command::Stop
    }

    /// What the initiator wants next. That the first message comes first goes without saying: on
    /// another host nothing may be said before it.
    fn next_command(&mut self, taken: u32) -> io::Result<Command> {
        if self.spec.half.is_none() {
            return Ok(self.pages[0].next_command(taken));
        }
        if taken == 0 && self.traits.back_to_back {
            return Ok(Command::First);
        }
        let mut bytes = [0; Command::BYTES];
        self.patiently(|channel| channel.hear(&mut bytes))?;
        self.loops.channel().say(&[0xAC])?;
        let command = Command::from_bytes(&bytes);
        // It comes from another host.
        command.operations().ok_or_else(|| io::Error::other(format!("asked for {command:?}")))?;
        Ok(command)
    }

    /// Does what waits for a partner that takes its time, again and again: datagrams give up soon. Not
    /// where something is known to be lost, nor when the launch is about to end: then it reports.
    fn patiently(
        &mut self,
        mut wait: impl FnMut(&mut dyn Channel) -> io::Result<()>,
    ) -> io::Result<()> {
        loop {
            let early = Instant::now() < self.last_word;
            let mut channel = self.loops.channel();
            match wait(&mut *channel) {
                Err(error)
                    if self.spec.half.is_some()
                        && is_silence(&error)
                        && early
                        && channel.stats().lost == 0 => {}
                done => return done,
            }
        }
    }

    /// The first round trip since set-up: cold code, cold memory, a partner that waits.
    fn first(&mut self) -> io::Result<()> {
        if self.spec.half.is_none() && self.has_follower(Command::First) {
            self.pages[0].issue(Command::First);
        }
        // Yielding, not sleeping: a wake-up could move a free worker to its partner's CPU.
        let issued = Instant::now();
        while issued.elapsed() < SETTLED {
            sched_yield();
        }
        let sample = [AtomicU64::new(0)];
        self.loops.channel().round_trips(With::Nothing, &sample)?;
        self.report.operations += 1;
        let ticks = sample[0].load(Ordering::Relaxed);
        self.report.first_ns = Some(ticks as f64 * self.spec.ns_per_tick);
        Ok(())
    }

    /// Doubles the stretch until operations or time are used up; the last whole stretch gives
    /// the estimate.
    fn warm_up(&mut self) -> io::Result<()> {
        let Spec { mut warmup, ns_per_tick, clock, .. } = *self.spec;
        // A language that translates while it runs says how long that takes.
        let told = self.spec.plugin.as_ref().map_or(0, |plugin| plugin.warmup_ms) * 1_000_000;
        if told > 0 {
            warmup = Warmup { ns: warmup.ns.max(told), operations: u64::MAX };
        }
        let ticks = (warmup.ns as f64 / ns_per_tick) as u64;
        let untimed = [AtomicU64::new(0)];
        let started = clock.now();
        let (mut stretch, mut done, mut ack_ns) = (1, 0, f64::INFINITY);
        let mut steady = Steady::default();
        loop {
            self.issue(Command::Exchange { lead: stretch, samples: 0, batch: 0 })?;
            let opened = clock.now();
            self.loops.lead(&untimed, stretch)?;
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
                if self.still_gets_faster(&mut steady) {
                    continue;
                }
                break;
            }
            let fitting = (ticks - spent) as f64 * ns_per_tick / self.report.estimate_ns;
            stretch = (2 * stretch).min(warmup.operations - done).min(fitting as u64).max(1);
            if stretch < done / 8 {
                break;
            }
        }
        (self.report.warmup_operations, self.report.ack_ns) = (done, ack_ns);
        self.report.operations += done;
        self.report.untimed_ns = (clock.now() - started) as f64 * ns_per_tick;
        Ok(())
    }

    /// Whether an engine's last stretch was faster than those before: compilers of some languages translate while it runs.
    fn still_gets_faster(&self, steady: &mut Steady) -> bool {
        if !self.loops.is_whole() || steady.stretches == MOST_STRETCHES {
            return false;
        }
        let faster = self.report.estimate_ns < steady.best_ns * FASTER;
        steady.best_ns = steady.best_ns.min(self.report.estimate_ns);
        steady.stretches += 1;
        steady.same = if faster { 0 } else { steady.same + 1 };
        steady.same < SAME
    }

    /// How many operations are a stretch of their own before stretches double.
    fn singles(&self) -> u64 {
        match (self.spec.samples, self.spec.batch) {
            (SampleCount::Lasting(_), 0) => self.row.pilot_singles,
            _ => 1,
        }
    }

    /// Times all samples, slice by slice where the launch takes turns.
    fn time(&mut self) -> io::Result<()> {
        let page = &self.pages[0];
        let (samples, batch) = self.how_many();
        self.prepare(page, samples)?;
        let lead = self.lead_operations();
        let mut turns = Turns { cycles: self.spec.cycles, ..Turns::default() };
        for slice in slices(samples, self.spec.cycles).filter(|slice| !slice.is_empty()) {
            self.take_turn(&mut turns)?;
            let samples = slice.end - slice.start;
            self.issue(Command::Exchange { lead, samples, batch })?;
            self.time_slice(page, slice, (lead, batch))?;
        }
        self.take_turn(&mut turns)?;
        if turns.cycles > 0 {
            self.report.turns = Some(turns);
        }
        self.time_ends(page)
    }

    /// Waits for its turn, where the launch takes turns, and times trivial calls.
    fn take_turn(&mut self, turns: &mut Turns) -> io::Result<()> {
        if turns.cycles > 0 {
            self.context.take_turn()?;
            self.begin_deadline();
            turns.call_ns.push(trivial_call_ns(self.spec));
        }
        Ok(())
    }

    /// What does this worker's part has used until now.
    fn used(&self) -> Usage {
        self.loops.used().unwrap_or_else(|| self.spec.used())
    }

    /// Faults in and draws what `samples` need.
    fn prepare(&mut self, page: &Page, samples: u64) -> io::Result<()> {
        page.populate(samples as usize)?;
        self.loops.prepare(samples);
        Ok(())
    }

    /// Does `lead` untimed operations, then fills a slice of the samples of `page`, of `batch` operations each.
    fn time_slice(
        &mut self,
        page: &Page,
        slice: Range<u64>,
        (lead, batch): (u64, u64),
    ) -> io::Result<()> {
        // Between stretches nothing is under way: a schedule with several messages under way would be interrupted, and
        // the threads of several generators begun again.
        let overlap = self
            .spec
            .load
            .is_some_and(|load| load.has_rate() && load.depth.max(load.connections) > 1);
        let whole = self.spec.pinned() || overlap || self.spec.cycles > 0 || self.loops.is_whole();
        let stretches = if whole { 1 } else { STRETCHES };
        let samples = slice.end - slice.start;
        let chunk = (samples.div_ceil(stretches)).max(1) as usize;
        let led = Instant::now();
        self.loops.lead(&[AtomicU64::new(0)], lead)?;
        self.report.untimed_ns += led.elapsed().as_nanos() as f64;
        self.report.lead_operations += lead;
        self.report.operations += lead + samples * batch;
        if slice.start == 0 {
            self.loops.announce(ConnectionKind::TimingStarts)?;
        }
        let before = self.used();
        let mut closed = Vec::new();
        // What is observed is timed whole.
        self.instrumentation.start()?;
        let timed = &page.samples(slice.end as usize)[slice.start as usize..];
        for samples in timed.chunks(chunk) {
            self.report.cpus.push(self.loops.cpu());
            closed.extend(self.loops.time(samples, batch)?);
        }
        self.instrumentation.stop(samples * batch, closed, &mut self.report)?;
        let used = self.used().since(&before);
        self.report.usage = self.report.usage.with(&used);
        self.report.cpus.push(self.loops.cpu());
        (self.report.samples, self.report.batch) = (slice.end, batch);
        Ok(())
    }

    /// What follows the last sample.
    fn time_ends(&mut self, page: &Page) -> io::Result<()> {
        self.loops.announce(ConnectionKind::TimingEnds)?;
        if self.traits.sets_up && self.report.batch == 1 {
            self.issue(Command::Finish)?;
        }
        self.loops.finish(page.samples(self.report.samples as usize), &mut self.report)
    }

    /// Untimed operations before the first sample, or those of each slice.
    fn lead_operations(&self) -> u64 {
        let in_time = |ns: f64| (ns / self.report.estimate_ns.max(1.0)) as u64;
        let least = if self.spec.cycles > 0 { in_time(SLICE_LEAD_NS) } else { 0 };
        in_time(LEAD_NS).clamp(1, LEAD).max(least)
    }

    /// Samples to take, and operations in each.
    fn how_many(&self) -> (u64, u64) {
        let Spec { samples, batch, load, .. } = *self.spec;
        let period = load.filter(Load::has_rate).map_or(0.0, |load| 1e9 / load.per_second as f64);
        let estimate = self.report.estimate_ns.max(period).max(1.0);
        let batch = (self.row.batch)(batch, estimate, self.spec.connections() as u64);
        let samples = match samples {
            SampleCount::Exactly(samples) => samples,
            SampleCount::Lasting(ns) => (ns as f64 / (estimate * batch as f64)).ceil() as u64,
        };
        (samples.clamp(1, self.spec.most_samples()), batch)
    }
}

/// What a trivial system call takes now, in ns.
fn trivial_call_ns(spec: &Spec) -> f64 {
    let began = spec.clock.now();
    for _ in 0..TRIVIAL_CALLS {
        let _ = rustix::process::getppid();
    }
    (spec.clock.now() - began) as f64 * spec.ns_per_tick / TRIVIAL_CALLS as f64
}

/// Whether nothing came for as long as the mechanism waits.
fn is_silence(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::TimedOut
}
