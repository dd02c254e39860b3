//! An open loop over several connections, each of a client of its own. A generator sends what is due over whichever of
//! its connections it belongs to, and takes in answers from all of them. Answers come in the order of the messages of
//! their connection, and in any order between connections. With one generator the initiator is it; several are threads
//! of the initiator, each with a part of the connections, a CPU of its own, and the one schedule.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::sched_yield;
use sys::clock::Now;

use super::assignment::Assignment;
use super::many::{EVENTS, Messages, Ready, ready_of, split};
use super::schedule::{Adherence, Schedule, Wait};
use super::threads::{Start, together};
use super::{Payload, Side};
use mechanisms::{Endpoint, Nonblocking, Received, Sent};
use model::launch::Usage;
use sys::affinity::pin;
use sys::failed::failed;

mod outcome;

/// The generators of a launch, and how far each has come; kept from stretch to stretch.
pub(super) struct Generators {
    assignment: Assignment,
    each: Vec<Generator>,
    /// What their threads used; nothing where the initiator is the one generator.
    used: Usage,
}

/// One of them, with its clients; in lines of its own, since each writes there at every message.
#[repr(align(128))]
struct Generator {
    /// Which clients of the assignment they are.
    of: Range<usize>,
    /// Their messages, in the order in which they are due.
    own: Vec<u32>,
    clients: Vec<Client>,
    /// How many of its messages are known to be due.
    next: usize,
    /// The last of these is before this message of the schedule.
    due_before: usize,
    /// Of each message that was begun by how much it was late, in ticks.
    begun: Vec<(u32, u64)>,
    adherence: Adherence,
    /// Messages begun and not answered.
    under_way: usize,
    /// Clients whose last message has not gone whole.
    unsent: Vec<usize>,
    /// Ticks in which it had nothing to do, from when the first message of all was due to when it began its last.
    idle: u64,
    /// How it learns of answers; None before it was first asked.
    ready: Option<Ready>,
}

#[derive(Clone, Default)]
struct Client {
    begun: usize,
    answered: usize,
    unsent: bool,
    /// When one more might be under way again, after none might.
    free_since: u64,
}

impl Generators {
    /// So many generators, at most one to a client, with the clients of `assignment` before the first message; each
    /// keeps the schedule as `adherence` does.
    pub fn new(assignment: Assignment, count: usize, adherence: Adherence) -> Generators {
        let clients = assignment.clients();
        let count = count.clamp(1, clients);
        let part = |nth| clients * nth / count..clients * (nth + 1) / count;
        let one = |nth| Generator::new(&assignment, part(nth), adherence);
        let each = (0..count).map(one).collect();
        Generators { assignment, each, used: Usage::default() }
    }

    pub fn count(&self) -> usize {
        self.each.len()
    }

    /// Sends the next messages of `schedule`, one for each of `samples`, and takes in their answers. Fills
    /// `samples` with the ticks from when each was due to when its answer was in. The schedule begins with the first of
    /// them. Each of several generators takes its place among `cpus`, and all of the schedule is one stretch.
    ///
    /// # Errors
    /// As those of the endpoints, of pthread_create(3) and of sched_setaffinity(2).
    pub fn exchange<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        cpus: &[u32],
        schedule: &mut Schedule,
        depth: usize,
        (first, samples): (usize, &[AtomicU64]),
    ) -> io::Result<()> {
        let (assignment, start) = (&self.assignment, &Start::of(self.each.len()));
        if let [generator] = &mut self.each[..] {
            let stretch = Stretch {
                assignment,
                cpu: None,
                start,
                rest: Vec::new(),
                clock: sides[0].clock,
                generator,
                schedule,
                depth,
                first,
                samples,
            };
            return stretch.over(sides);
        }
        // Threads that were begun again between stretches would be a part of the time.
        debug_assert_eq!(first, 0, "several generators have one stretch");
        let mut left = sides;
        let mut jobs = Vec::with_capacity(self.each.len());
        for (nth, generator) in self.each.iter_mut().enumerate() {
            let (own, others) = left.split_at_mut(generator.of.len());
            left = others;
            let (cpu, mut schedule) = (cpus.get(nth).copied(), schedule.clone());
            jobs.push(move || {
                let stretch = Stretch {
                    assignment,
                    cpu,
                    start,
                    rest: Vec::new(),
                    clock: own[0].clock,
                    generator,
                    schedule: &mut schedule,
                    depth,
                    first,
                    samples,
                };
                stretch.over(own).map(|()| sys::process::thread_usage())
            });
        }
        self.used =
            together("generator", jobs)?.iter().fold(self.used, |sum, usage| sum.with(usage));
        if let Some(began) = start.began.get() {
            schedule.begin_at(*began);
        }
        Ok(())
    }
}

impl Generator {
    fn new(assignment: &Assignment, of: Range<usize>, adherence: Adherence) -> Generator {
        let clients = vec![Client::default(); of.len()];
        let mut own: Vec<u32> =
            of.clone().flat_map(|client| assignment.messages(client)).copied().collect();
        own.sort_unstable();
        // Touched: a fault would be part of a response.
        let mut begun = vec![(u32::MAX, u64::MAX); own.len()];
        begun.clear();
        Generator {
            unsent: Vec::with_capacity(clients.len()),
            begun,
            of,
            own,
            clients,
            next: 0,
            due_before: 0,
            adherence,
            under_way: 0,
            idle: 0,
            ready: None,
        }
    }

    /// The next message that isn't known to be due, if it is before `end`.
    #[inline(always)]
    fn next(&self, end: usize) -> Option<usize> {
        self.own.get(self.next).map(|number| *number as usize).filter(|number| *number < end)
    }

    /// How many of its messages are before `end`.
    fn before(&self, end: usize) -> usize {
        self.own.partition_point(|number| (*number as usize) < end)
    }
}

/// Messages of one generator that are due one after the other.
struct Stretch<'a, 'b, P> {
    assignment: &'a Assignment,
    /// Where it runs, if it is not there already.
    cpu: Option<u32>,
    start: &'a Start,
    /// What goes over each of its connections.
    rest: Vec<Messages<'b, P>>,
    clock: model::clock::ClockKind,
    generator: &'a mut Generator,
    schedule: &'a mut Schedule,
    depth: usize,
    /// Which message of the schedule is the first of all generators' stretches.
    first: usize,
    samples: &'a [AtomicU64],
}

impl<'b, P: Payload> Stretch<'_, 'b, P> {
    /// Goes through it over the connections of its clients.
    fn over<E: Endpoint>(mut self, sides: &'b mut [Side<'_, E, P>]) -> io::Result<()> {
        let (mut ends, rest) = split(sides)?;
        self.rest = rest;
        self.run(&mut ends)
    }
}

impl<P: Payload> Stretch<'_, '_, P> {
    /// The ends stay as ends that are asked without waiting: nothing is sent over them otherwise any more.
    fn run(mut self, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        let kept = self.generator.ready.take();
        let begins = kept.is_none();
        let ready = match (kept, self.cpu) {
            (Some(ready), _) => Ok(ready),
            (None, None) => Ready::of(ends),
            (None, Some(cpu)) => pin(cpu).and_then(|()| Ready::of(ends)),
        };
        // Whoever failed is waited for as well: else nobody would begin.
        self.start.ready.wait();
        let mut ready = ready?;
        if begins {
            let began = self.start.began.get_or_init(|| self.schedule.soon(self.start.settling));
            self.schedule.begin_at(*began);
        }
        self.exchange(&mut ready, ends)?;
        self.generator.ready = Some(ready);
        Ok(())
    }

    #[inline(never)]
    fn exchange(&mut self, ready: &mut Ready, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        let mut events = Vec::with_capacity(EVENTS);
        let end = self.first + self.samples.len();
        let mut left = self.generator.before(end) - self.generator.before(self.first);
        let mut idle_since = None;
        while left > 0 {
            let before = (left, self.generator.begun.len());
            self.send_due(ends)?;
            match ready {
                Ready::Epoll(all) => {
                    ready_of(all, &mut events, false)?;
                    for event in &events {
                        left -= self.take(event.data.u64() as usize, ends)?;
                    }
                }
                Ready::Scan => {
                    for client in 0..ends.len() {
                        let Client { begun, answered, .. } = self.generator.clients[client];
                        if begun > answered {
                            left -= self.take(client, ends)?;
                        }
                    }
                }
            }
            if before == (left, self.generator.begun.len()) {
                // Since its last call returned, or the pass before this one found nothing either.
                let generator = &self.generator;
                let since = idle_since.unwrap_or(generator.adherence.free_since());
                let since = since.max(self.schedule.first());
                self.wait(ready)?;
                let now = self.clock.now();
                if self.generator.begun.len() < self.generator.own.len() {
                    self.generator.idle += now.saturating_sub(since);
                }
                idle_since = Some(now);
            } else {
                idle_since = None;
            }
        }
        Ok(())
    }

    /// Begins what is due, and goes on with what went in part.
    #[inline(always)]
    fn send_due(&mut self, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        let end = self.first + self.samples.len();
        while let Some(nth) = self.generator.next(end)
            && self.schedule.due(nth) <= self.clock.now()
        {
            let client = self.assignment.client(nth) - self.generator.of.start;
            (self.generator.next, self.generator.due_before) = (self.generator.next + 1, nth + 1);
            self.send(client, ends)?;
        }
        for at in (0..self.generator.unsent.len()).rev() {
            let client = self.generator.unsent[at];
            let moved = ends[client].try_send(self.rest[client].out)?;
            self.generator.adherence.free(self.clock.now());
            if moved == Sent::Whole {
                self.generator.unsent.swap_remove(at);
                let state = &mut self.generator.clients[client];
                (state.unsent, state.free_since) = (false, self.clock.now());
                self.send(client, ends)?;
            }
        }
        Ok(())
    }

    /// Sends what a client has due, as far as its connection may have more under way.
    #[inline(always)]
    fn send(&mut self, client: usize, ends: &mut [&mut dyn Nonblocking]) -> io::Result<()> {
        let Generator { of, clients, due_before, under_way, unsent, begun, adherence, .. } =
            &mut *self.generator;
        let (own, state) = (self.assignment.messages(of.start + client), &mut clients[client]);
        let Messages { payload, out, .. } = &mut self.rest[client];
        while !state.unsent && state.begun - state.answered < self.depth {
            let Some(nth) = own
                .get(state.begun)
                .map(|number| *number as usize)
                .filter(|number| number < due_before)
            else {
                break;
            };
            let (due, now) = (self.schedule.due(nth), self.clock.now());
            begun.push((nth as u32, now.saturating_sub(due)));
            adherence.begun_after(state.free_since, due, now);
            payload.fill(out);
            state.begun += 1;
            *under_way += 1;
            let moved = ends[client].try_send(out)?;
            adherence.free(self.clock.now());
            if moved == Sent::WouldBlock {
                state.unsent = true;
                unsent.push(client);
            }
        }
        Ok(())
    }

    /// Takes in an answer to a client, where one is there; how many that was. What is due meanwhile goes first, and
    /// so does what of this client had to wait for the answer.
    #[inline(always)]
    fn take(&mut self, client: usize, ends: &mut [&mut dyn Nonblocking]) -> io::Result<usize> {
        let Messages { payload, into, .. } = &mut self.rest[client];
        if ends[client].try_recv(into)? == Received::WouldBlock {
            return Ok(0);
        }
        payload.look(into)?;
        let state = &mut self.generator.clients[client];
        if state.answered == state.begun {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer to no message"));
        }
        let of_client = self.assignment.messages(self.generator.of.start + client);
        let nth = of_client[state.answered] as usize;
        let now = self.clock.now();
        let took = now.saturating_sub(self.schedule.due(nth));
        self.samples[nth - self.first].store(took, Ordering::Relaxed);
        self.generator.adherence.free(now);
        if state.begun - state.answered == self.depth {
            state.free_since = now;
        }
        state.answered += 1;
        self.generator.under_way -= 1;
        self.send(client, ends)?;
        self.send_due(ends)?;
        Ok(1)
    }

    /// Waits for an answer, or until shortly before the next message is due.
    fn wait(&self, ready: &Ready) -> io::Result<()> {
        let end = self.first + self.samples.len();
        let next = self.generator.next(end);
        let asleep = next.map(|nth| self.schedule.asleep(self.schedule.due(nth)));
        let blind = matches!(ready, Ready::Scan) && self.generator.under_way > 0;
        if blind || !self.generator.unsent.is_empty() {
            if self.schedule.waits() == Wait::Asleep {
                sched_yield();
            }
            return Ok(());
        }
        if asleep.is_some_and(|duration| duration.is_zero()) {
            std::hint::spin_loop();
            return Ok(());
        }
        let time = asleep.and_then(|duration| Timespec::try_from(duration).ok());
        let waited = match ready {
            Ready::Epoll(all) => poll(&mut [PollFd::new(all, PollFlags::IN)], time.as_ref()),
            Ready::Scan => poll(&mut [], time.as_ref()),
        };
        match waited {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(failed("poll", error)),
        }
    }
}
