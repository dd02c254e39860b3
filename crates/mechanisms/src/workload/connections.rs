//! An open loop over several connections, each of a client of its own, by one generator: the initiator sends
//! what is due over whichever connection it belongs to, and takes in answers from all of them. Answers come in the
//! order of the messages of their connection, and in any order between connections.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use clock::Now;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::thread::sched_yield;

use super::assignment::Assignment;
use super::many::{Messages, Ready, ready_of, split};
use super::schedule::{Adherence, Schedule, Wait};
use super::{Payload, Side, latency};
use crate::nonblocking::only_waits;
use crate::{Endpoint, Nonblocking, Received, Sent, WithNonblocking};
use model::clients::Clients;

/// The clients of a launch, and how far each has come; kept from stretch to stretch.
pub(super) struct Generator {
    assignment: Assignment,
    clients: Vec<Client>,
    /// The first message that isn't known to be due.
    next: usize,
    /// Messages begun and not answered.
    under_way: usize,
    /// Clients whose last message has not gone whole.
    unsent: Vec<usize>,
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

/// Untimed round trips, one after the other, over each of `sides` in turn from `first` on.
pub(super) fn lead<E: Endpoint, P: Payload>(
    sides: &mut [Side<'_, E, P>],
    first: u64,
    count: u64,
) -> io::Result<()> {
    let untimed = [AtomicU64::new(0)];
    for nth in first..first + count {
        let of = (nth % sides.len() as u64) as usize;
        let Side { end, payload, buffers, clock } = &mut sides[of];
        latency::initiate(*end, payload, buffers, *clock, &untimed, 1)?;
    }
    Ok(())
}

impl Generator {
    /// The clients of `assignment`, before the first message.
    pub fn new(assignment: Assignment) -> Generator {
        let clients = vec![Client::default(); assignment.clients()];
        let unsent = Vec::with_capacity(clients.len());
        Generator { assignment, clients, next: 0, under_way: 0, unsent, ready: None }
    }

    /// Sends the next messages of `schedule`, one for each of `samples`, and takes in their answers. Fills
    /// `samples` with the ticks from when each was due to when its answer was in, and `lateness` with those to when
    /// it was begun. The schedule begins with the first of them.
    pub fn exchange<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        schedule: &mut Schedule,
        adherence: &mut Adherence,
        depth: usize,
        (samples, lateness): (&[AtomicU64], &mut [u64]),
    ) -> io::Result<()> {
        let clock = sides[0].clock;
        let (mut ends, rest) = split(sides);
        let first = self.next;
        let stretch = Stretch {
            generator: self,
            rest,
            clock,
            schedule,
            adherence,
            depth,
            first,
            samples,
            lateness,
        };
        E::nonblocking(&mut ends, stretch).unwrap_or_else(|| Err(only_waits()))
    }

    /// What became of each client. `due` and `answered` give the ticks of a message since the schedule's first;
    /// the schedule ended at `end`.
    pub fn clients(
        &self,
        (due, answered): (impl Fn(usize) -> u64, impl Fn(usize) -> u64),
        end: u64,
        ns_per_tick: f64,
    ) -> Clients {
        let mut clients = Clients::default();
        for client in 0..self.clients.len() {
            let own = || self.assignment.messages(client).iter().map(|nth| *nth as usize);
            let served = own().filter(|nth| answered(*nth) <= end).count();
            let responses = own().map(|nth| (answered(nth) - due(nth)) as f64 * ns_per_tick);
            clients.push(served as u64, responses.collect());
        }
        clients
    }

    /// The most messages of one client that were under way at once, all of which were `answered` then.
    pub fn deepest(&self, begun: impl Fn(usize) -> u64, answered: impl Fn(usize) -> u64) -> u32 {
        let deepest = |client| {
            let own = self.assignment.messages(client);
            let (mut deepest, mut done) = (0, 0);
            for (place, nth) in own.iter().enumerate() {
                let begun = begun(*nth as usize);
                while done < place && answered(own[done] as usize) <= begun {
                    done += 1;
                }
                deepest = deepest.max(place - done + 1);
            }
            deepest as u32
        };
        (0..self.clients.len()).map(deepest).max().unwrap_or(0)
    }
}

/// Messages that are due one after the other.
struct Stretch<'a, 'b, P> {
    generator: &'a mut Generator,
    rest: Vec<Messages<'b, P>>,
    clock: model::clock::ClockKind,
    schedule: &'a mut Schedule,
    adherence: &'a mut Adherence,
    depth: usize,
    /// Which message of the schedule is the first of these.
    first: usize,
    samples: &'a [AtomicU64],
    lateness: &'a mut [u64],
}

impl<P: Payload> WithNonblocking for Stretch<'_, '_, P> {
    type Output = io::Result<()>;

    /// The ends stay as ends that are asked without waiting: nothing is sent over them otherwise any more.
    fn run<E: Nonblocking>(mut self, ends: &mut [&mut E]) -> io::Result<()> {
        let mut ready = match self.generator.ready.take() {
            Some(ready) => ready,
            None => {
                let ready = Ready::of(ends)?;
                self.schedule.begin();
                ready
            }
        };
        self.exchange(&mut ready, ends)?;
        self.generator.ready = Some(ready);
        Ok(())
    }
}

impl<P: Payload> Stretch<'_, '_, P> {
    #[inline(never)]
    fn exchange<E: Nonblocking>(
        &mut self,
        ready: &mut Ready,
        ends: &mut [&mut E],
    ) -> io::Result<()> {
        let mut left = self.samples.len();
        while left > 0 {
            self.send_due(ends)?;
            let before = left;
            match ready {
                Ready::Epoll(all, events) => {
                    ready_of(all, events, false)?;
                    for event in &*events {
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
            if before == left {
                self.wait(ready)?;
            }
        }
        Ok(())
    }

    /// Begins what is due, and goes on with what went in part.
    #[inline(always)]
    fn send_due<E: Nonblocking>(&mut self, ends: &mut [&mut E]) -> io::Result<()> {
        let end = self.first + self.samples.len();
        while self.generator.next < end
            && self.schedule.due(self.generator.next) <= self.clock.now()
        {
            let client = self.generator.assignment.client(self.generator.next);
            self.generator.next += 1;
            self.send(client, ends)?;
        }
        for at in (0..self.generator.unsent.len()).rev() {
            let client = self.generator.unsent[at];
            let moved = ends[client].try_send(self.rest[client].out)?;
            self.adherence.free(self.clock.now());
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
    fn send<E: Nonblocking>(&mut self, client: usize, ends: &mut [&mut E]) -> io::Result<()> {
        let Generator { assignment, clients, next, under_way, unsent, .. } = &mut *self.generator;
        let (own, state) = (assignment.messages(client), &mut clients[client]);
        let Messages { payload, out, .. } = &mut self.rest[client];
        while !state.unsent && state.begun - state.answered < self.depth {
            let Some(nth) = own.get(state.begun).map(|it| *it as usize).filter(|it| it < next)
            else {
                break;
            };
            let (due, now) = (self.schedule.due(nth), self.clock.now());
            self.lateness[nth - self.first] = now.saturating_sub(due);
            self.adherence.begun_after(state.free_since, due, now);
            payload.fill(out);
            state.begun += 1;
            *under_way += 1;
            let moved = ends[client].try_send(out)?;
            self.adherence.free(self.clock.now());
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
    fn take<E: Nonblocking>(&mut self, client: usize, ends: &mut [&mut E]) -> io::Result<usize> {
        let Messages { payload, into, .. } = &mut self.rest[client];
        if ends[client].try_recv(into)? == Received::WouldBlock {
            return Ok(0);
        }
        payload.look(into)?;
        let state = &mut self.generator.clients[client];
        if state.answered == state.begun {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "an answer to no message"));
        }
        let nth = self.generator.assignment.messages(client)[state.answered] as usize;
        let now = self.clock.now();
        let took = now.saturating_sub(self.schedule.due(nth));
        self.samples[nth - self.first].store(took, Ordering::Relaxed);
        self.adherence.free(now);
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
        let next = self.generator.next;
        let asleep = (next < end).then(|| self.schedule.asleep(self.schedule.due(next)));
        let blind = matches!(ready, Ready::Scan) && self.generator.under_way > 0;
        if blind || !self.generator.unsent.is_empty() {
            if self.schedule.waits() == Wait::Asleep {
                sched_yield();
            }
            return Ok(());
        }
        if asleep.is_some_and(|it| it.is_zero()) {
            std::hint::spin_loop();
            return Ok(());
        }
        let time = asleep.and_then(|it| Timespec::try_from(it).ok());
        let waited = match ready {
            Ready::Epoll(all, _) => poll(&mut [PollFd::new(all, PollFlags::IN)], time.as_ref()),
            Ready::Scan => poll(&mut [], time.as_ref()),
        };
        match waited {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
