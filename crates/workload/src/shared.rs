//! Sharing: writers and readers of one connection, which each message goes through once, whoever reads it; or of several
//! connections beside each other, each with writers and readers of its own.
//!
//! Timed: from before the order to the writers to the arrival of an acknowledgement, which the responder sends when the readers
//! of all connections have all messages. Writers and readers are members of a crowd, as those of `messaging` are. Each connection
//! carries as many messages; of these its writers take the next few as they come to it, and so do its readers, so that who is
//! served less does less. How much that is, is told beside the throughput.

use model::metric::{Better, Metric, Operation, Unit};
use std::borrow::Cow;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock::Now;

use super::crowd::{self, Crowd, Task};
use super::messaging::descriptors;
use super::payload::Touched;
use super::{Found, Payload, Side, Size, Timed, WorkloadSpec};
use mechanisms::Endpoint;
use mechanisms::fd::{read_full, write_all};
use mechanisms::nonblocking::SHARED_MOST;
use model::clock::ClockKind;
use model::launch::{Usage, WorkerReport};
use model::workload::Workload;
use sys::shared::{LINE, Mapping};

/// So many messages a member takes on at once: one at a time, the word that all write would be a part of what is timed.
const TAKEN: u64 = 16;
/// Bytes of a message that hold its number.
const NUMBER: usize = 8;

pub static METRIC: Metric = Metric {
    name: Cow::Borrowed("shared_throughput"),
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    operation: Operation::Message,
    messages: 1,
    paced: false,
    section: Cow::Borrowed("Shared connections"),
    title: Cow::Borrowed("Throughput of shared connections"),
    plural: Cow::Borrowed("Transfers over shared connections"),
    of: Cow::Borrowed(" of {} messages"),
    axis: Cow::Borrowed("throughput of all"),
    qualifier: Cow::Borrowed("shared"),
    definition: Cow::Borrowed(
        "The throughput of shared connections is the bytes that all their readers took, each message counted once, over the \
         time from the word to begin until the last was taken.",
    ),
};

pub struct Shared {
    asked: WorkloadSpec,
    members: Option<Members>,
    /// What they had used before the timed part.
    before: Usage,
}

/// The writers, or the readers, of all connections.
struct Members {
    crowd: Crowd,
    counts: Arc<Counts>,
    /// What each had done before the timed part.
    before: Vec<u64>,
    /// Of readers: ticks that the samples of each connection took, and those of all; and their messages.
    ticks: Vec<u64>,
    ticks_of_all: u64,
    messages: u64,
}

/// What the members of one worker share: for each connection how many messages are taken on and the sum of their numbers, and
/// when the first and the last of a sample came; for each member how many it has done. Each in a line of its own.
struct Counts {
    memory: Mapping,
    connections: usize,
    members: usize,
}

impl Counts {
    fn new(connections: usize, members: usize) -> io::Result<Counts> {
        let bytes = (4 * connections + connections * members) * 2 * LINE;
        Ok(Counts { memory: Mapping::with_wide_words(bytes, 0)?, connections, members })
    }

    fn word(&self, nth: usize) -> &AtomicU64 {
        &self.memory.words(nth * 2 * LINE)[0]
    }

    /// Messages of a connection that its members have taken on.
    fn taken(&self, connection: usize) -> &AtomicU64 {
        self.word(connection)
    }

    /// The sum of the numbers of those that came.
    fn sum(&self, connection: usize) -> &AtomicU64 {
        self.word(self.connections + connection)
    }

    /// When the first message of a sample came, in ticks; and the last.
    fn came(&self, connection: usize) -> [&AtomicU64; 2] {
        [2, 3].map(|of| self.word(of * self.connections + connection))
    }

    /// Messages that a member has done.
    fn done(&self, member: usize) -> &AtomicU64 {
        self.word(4 * self.connections + member)
    }

    fn all_done(&self) -> Vec<u64> {
        let members = 0..self.connections * self.members;
        members.map(|member| self.done(member).load(Ordering::Relaxed)).collect()
    }

    /// The next messages of a connection, of those before `limit`; None where there are no more.
    fn take(&self, connection: usize, limit: u64) -> Option<Range<u64>> {
        let after = |taken: u64| (taken < limit).then(|| (taken + TAKEN).min(limit));
        let (all, order) = (self.taken(connection), Ordering::Relaxed);
        let first = all.fetch_update(order, order, after).ok()?;
        Some(first..(first + TAKEN).min(limit))
    }
}

impl Members {
    fn begin(
        asked: &WorkloadSpec,
        each: usize,
        ends: Vec<OwnedFd>,
        task: impl Fn(usize, usize, Arc<Vec<OwnedFd>>, Arc<Counts>) -> Task,
    ) -> io::Result<Members> {
        let (counts, ends) = (Arc::new(Counts::new(ends.len(), each)?), Arc::new(ends));
        let members = 0..ends.len() * each;
        let tasks = members.map(|member| task(member / each, member, ends.clone(), counts.clone()));
        let crowd = Crowd::begin(tasks.collect(), asked.open.same_process)?;
        let (before, ticks) = (counts.all_done(), vec![0; counts.connections]);
        Ok(Members { crowd, counts, before, ticks, ticks_of_all: 0, messages: 0 })
    }

    /// From here on it is timed.
    fn note(&mut self) {
        self.before = self.counts.all_done();
        self.ticks.fill(0);
        (self.ticks_of_all, self.messages) = (0, 0);
    }

    /// What of several members that share a connection the one that did least has done, as a share of all.
    fn least(&self) -> Option<f64> {
        let done = self.counts.all_done();
        let timed: Vec<u64> = done.iter().zip(&self.before).map(|(now, then)| now - then).collect();
        let (all, least) = (timed.iter().sum::<u64>(), timed.iter().copied().min()?);
        (self.counts.members > 1 && all > 0).then(|| least as f64 / all as f64)
    }

    /// Has readers take `messages` of all connections, and notes how long those of each took.
    fn take(&mut self, messages: u64) -> io::Result<()> {
        let connections = 0..self.counts.connections;
        for connection in connections.clone() {
            let [first, last] = self.counts.came(connection);
            first.store(u64::MAX, Ordering::Relaxed);
            last.store(0, Ordering::Relaxed);
        }
        self.crowd.order(1, messages)?;
        self.crowd.await_all()?;
        let came = connections
            .map(|connection| self.counts.came(connection).map(|at| at.load(Ordering::Relaxed)));
        let came: Vec<[u64; 2]> = came.collect();
        for (ticks, [first, last]) in self.ticks.iter_mut().zip(&came) {
            *ticks += last.saturating_sub(*first);
        }
        let first = came.iter().map(|came| came[0]).min().unwrap_or(0);
        let last = came.iter().map(|came| came[1]).max().unwrap_or(0);
        self.ticks_of_all += last.saturating_sub(first);
        self.messages += messages;
        Ok(())
    }
}

impl Shared {
    /// Has the writers send so many messages over all connections, and waits until all of them have come.
    fn send<E: Endpoint, P>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        messages: u64,
    ) -> io::Result<()> {
        let asked = &self.asked;
        let members = match &mut self.members {
            Some(members) => members,
            None => {
                let ends = descriptors(sides, true)?;
                let task = |connection, member, ends, counts| {
                    asked.writer(connection, member, ends, counts)
                };
                let each = asked.writers as usize;
                self.members.insert(Members::begin(asked, each, ends, task)?)
            }
        };
        members.crowd.order(1, messages)?;
        members.crowd.await_all()?;
        sides[0].end.recv(&mut [0])
    }

    /// Puts what the members used while they were timed into `report`.
    fn account(&self, report: &mut WorkerReport) {
        if let Some(members) = &self.members {
            report.usage = report.usage.with(&members.crowd.used().since(&self.before));
        }
    }

    fn note(&mut self) {
        if let Some(members) = &mut self.members {
            self.before = members.crowd.used();
            members.note();
        }
    }

    /// Bytes a second of so many messages in so many ticks; None in none.
    fn rate(&self, messages: f64, ticks: u64) -> Option<f64> {
        let seconds = ticks as f64 * self.asked.ns_per_tick / 1e9;
        (seconds > 0.0).then(|| messages * self.asked.open.message_bytes as f64 / seconds)
    }
}

impl Timed for Shared {
    const WORKLOAD: Workload = Workload::Shared;
    const METRIC: &'static Metric = &METRIC;
    const LASTS_NS: Option<f64> = Some(crowd::LASTING_NS);
    /// Every transfer ends with its acknowledgement.
    const LEAD_RUNS_ON: bool = false;

    fn new(asked: WorkloadSpec) -> Shared {
        Shared { asked, members: None, before: Usage::default() }
    }

    fn lead_many<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        operations: u64,
    ) -> io::Result<()> {
        self.send(sides, operations)
    }

    fn follow<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        samples: u64,
        batch: u64,
    ) -> io::Result<()> {
        let (asked, clock) = (&self.asked, sides[0].clock);
        let members = match &mut self.members {
            Some(members) => members,
            None => {
                let ends = descriptors(sides, false)?;
                let task = |connection, member, ends, counts| {
                    asked.reader(connection, member, ends, counts, clock)
                };
                let each = asked.readers as usize;
                self.members.insert(Members::begin(asked, each, ends, task)?)
            }
        };
        for _ in 0..samples {
            members.take(batch)?;
            if asked.numbers() {
                all_came_once(&members.counts)?;
            }
            sides[0].end.send(&[0xAC])?;
        }
        Ok(())
    }

    fn prepare(&mut self, _samples: u64) {
        self.note();
    }

    fn prepare_following(&mut self, _lead: u64, _operations: u64) {
        self.note();
    }

    /// Beside the throughput of all: that of the writer that was served least, in bytes a second.
    fn finish(&mut self, samples: &[AtomicU64], report: &mut WorkerReport) -> io::Result<()> {
        self.account(report);
        let ticks = samples.iter().map(|ticks| ticks.load(Ordering::Relaxed)).sum();
        let messages = (report.batch * samples.len() as u64) as f64;
        let least = self.members.as_ref().and_then(Members::least);
        let least = least.and_then(|share| self.rate(share * messages, ticks));
        report.parts = least.map(|rate| ("least_writer".into(), rate)).into_iter().collect();
        Ok(())
    }

    /// That of the reader that was served least, and of the connection that took longest.
    fn finish_following(&self, report: &mut WorkerReport) {
        self.account(report);
        let Some(members) = &self.members else { return };
        let messages = members.messages as f64;
        let least = members.least();
        let least = least.and_then(|share| self.rate(share * messages, members.ticks_of_all));
        let of_one = messages / members.ticks.len() as f64;
        let slowest = members.ticks.iter().max().filter(|_| members.ticks.len() > 1);
        let slowest = slowest.and_then(|ticks| self.rate(of_one, *ticks));
        let parts = [("least_reader", least), ("slowest_connection", slowest)];
        let parts = parts.into_iter().filter_map(|(name, rate)| Some((name.into(), rate?)));
        report.parts = parts.collect();
    }

    fn batch(asked: u64, estimate_ns: f64, connections: u64) -> u64 {
        crowd::batch(asked, estimate_ns, connections)
    }

    fn size(found: &Found) -> Size {
        crowd::size(found, found.connections)
    }
}

/// Whether of each connection every number came that was sent so far, once: their sum tells.
fn all_came_once(counts: &Counts) -> io::Result<()> {
    for connection in 0..counts.connections {
        let sent = counts.taken(connection).load(Ordering::Relaxed);
        let expected = (0..sent).fold(0u64, u64::wrapping_add);
        if counts.sum(connection).load(Ordering::Relaxed) != expected {
            let text =
                format!("connection {}: of its messages some came twice, or never", connection + 1);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
    }
    Ok(())
}

/// Fills what follows the number of a message with bytes that follow from it.
fn fill(message: &mut [u8], number: u64) {
    let word = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for (part, nth) in message[NUMBER..].chunks_mut(8).zip(0u64..) {
        part.copy_from_slice(&word.wrapping_add(nth).to_le_bytes()[..part.len()]);
    }
}

impl WorkloadSpec {
    /// Whether each message comes in one piece, whoever reads it, and holds its number.
    fn numbers(&self) -> bool {
        (NUMBER..=SHARED_MOST).contains(&self.open.message_bytes)
    }

    /// What is done to each message behind its number; None if nothing is.
    fn touch_shared(&self) -> Option<Touched> {
        if self.verify { None } else { Touched::of(self.payload) }
    }

    /// Writes its part of what a connection carries.
    fn writer(
        &self,
        connection: usize,
        member: usize,
        to: Arc<Vec<OwnedFd>>,
        counts: Arc<Counts>,
    ) -> Task {
        let mut message = vec![0xA5; self.open.message_bytes];
        let (numbers, verify) = (self.numbers(), self.verify);
        let (mut touched, connections) = (self.touch_shared(), to.len() as u64);
        let mut limit = 0;
        Box::new(move |messages| {
            limit += messages / connections;
            while let Some(taken) = counts.take(connection, limit) {
                counts.done(member).fetch_add(taken.end - taken.start, Ordering::Relaxed);
                for number in taken {
                    if let Some(touched) = &mut touched {
                        touched.fill(&mut message);
                    }
                    if numbers {
                        message[..NUMBER].copy_from_slice(&number.to_le_bytes());
                        if verify {
                            fill(&mut message, number);
                        }
                    }
                    write_all(&to[connection], &message)?;
                }
            }
            Ok(())
        })
    }

    /// Reads its part of what a connection carries.
    fn reader(
        &self,
        connection: usize,
        member: usize,
        from: Arc<Vec<OwnedFd>>,
        counts: Arc<Counts>,
        clock: ClockKind,
    ) -> Task {
        let mut message = vec![0; self.open.message_bytes];
        let mut expected = message.clone();
        let (numbers, verify) = (self.numbers(), self.verify);
        let (mut touched, connections) =
            (self.touch_shared().map(Touched::answering), from.len() as u64);
        let mut limit = 0;
        Box::new(move |messages| {
            limit += messages / connections;
            let [first, last] = counts.came(connection);
            let mut begun = false;
            while let Some(taken) = counts.take(connection, limit) {
                let count = taken.end - taken.start;
                let mut sum = 0u64;
                for _ in taken {
                    read_full(&from[connection], &mut message)?;
                    if !std::mem::replace(&mut begun, true) {
                        first.fetch_min(clock.now(), Ordering::Relaxed);
                    }
                    if let Some(touched) = &mut touched {
                        touched.look(&message)?;
                    }
                    if !numbers {
                        continue;
                    }
                    let number =
                        message.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
                    sum = sum.wrapping_add(number);
                    if verify {
                        expected[..NUMBER].copy_from_slice(&number.to_le_bytes());
                        fill(&mut expected, number);
                        if message != expected {
                            let text = format!("message {number} isn't what was sent");
                            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                        }
                    }
                }
                counts.sum(connection).fetch_add(sum, Ordering::Relaxed);
                counts.done(member).fetch_add(count, Ordering::Relaxed);
            }
            last.fetch_max(clock.now(), Ordering::Relaxed);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_taken_once_by_whoever_comes() {
        let counts = Arc::new(Counts::new(2, 3).unwrap());
        std::thread::scope(|scope| {
            for member in 0..6 {
                let counts = counts.clone();
                scope.spawn(move || {
                    while let Some(taken) = counts.take(member / 3, 1_000) {
                        let (count, sum) = (taken.end - taken.start, taken.sum());
                        counts.done(member).fetch_add(count, Ordering::Relaxed);
                        counts.sum(member / 3).fetch_add(sum, Ordering::Relaxed);
                    }
                });
            }
        });
        assert_eq!(counts.all_done().iter().sum::<u64>(), 2_000);
        all_came_once(&counts).unwrap();
        counts.sum(1).fetch_sub(1, Ordering::Relaxed);
        let error = all_came_once(&counts).unwrap_err().to_string();
        assert_eq!(error, "connection 2: of its messages some came twice, or never");
    }

    #[test]
    fn a_sample_has_as_many_messages_of_each_connection() {
        let whole = |(messages, connections)| crowd::whole(messages, connections);
        assert_eq!([(1.0, 4), (8.1, 4), (5.0, 1)].map(whole), [4, 12, 5]);
    }
}
