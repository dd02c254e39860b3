//! The server of several connections that has a thread for each, blocked in its own receive; and threads that begin
//! together, whoever has them.
//!
//! A thread that is blocked can't be told that a stretch of requests is over: a signal is no end of a receive, and a
//! time-out would be part of what is timed. So each knows before how many requests come over its connection, by the
//! same draw that the generator makes of them. All threads are up before the first of them receives.

use std::io;
use std::panic::resume_unwind;
use std::sync::{Barrier, OnceLock, RwLock};
use std::thread::{Builder, scope};
use std::time::Duration;

use rustix::io::Errno;
use sys::failed::named;

use super::assignment::Assignment;
use super::schedule::Offered;
use super::service::{self, Work};
use super::{Payload, Side, WorkloadSpec, latency};
use mechanisms::Endpoint;
use model::launch::{Usage, Worked};

/// The stack of a thread, of which it touches some pages: thousands of them fit an address space.
const STACK: usize = 256 << 10;

/// Within this time whoever waits at a barrier has woken up: several times what a wake-up of an idle CPU takes
/// through a hypervisor.
const WAKING: Duration = Duration::from_millis(1);

/// The threads of a server, as far as they outlast a stretch.
pub(super) struct Threads {
    asked: WorkloadSpec,
    /// Untimed requests before this stretch: they go over the connections in turn.
    led: u64,
    /// Requests of this stretch over each connection.
    shares: Vec<u64>,
    /// What each thread works over requests; empty before the first stretch.
    works: Vec<Option<Work>>,
    /// What the threads of the stretch before used.
    used: Usage,
}

impl Threads {
    /// None yet.
    pub fn new(asked: WorkloadSpec) -> Threads {
        let (shares, works) = (Vec::new(), Vec::new());
        Threads { asked, led: 0, shares, works, used: Usage::default() }
    }

    /// Finds out what each connection has of a stretch of `lead` untimed requests and so many `timed` ones.
    pub fn prepare(&mut self, lead: u64, timed: u64) {
        let WorkloadSpec { load, arrivals, seed, .. } = self.asked;
        let clients = load.connections as usize;
        let offered =
            Offered { arrivals, per_second: load.per_second.max(1), messages: timed, seed };
        let drawn = Assignment::of(clients, &offered);
        self.shares = (0..clients).map(|client| drawn.messages(client).len() as u64).collect();
        for nth in self.led..self.led + lead {
            self.shares[(nth % clients as u64) as usize] += 1;
        }
        self.led += lead;
    }

    /// Answers the `count` requests of the stretch that was prepared.
    ///
    /// # Errors
    /// As those of the endpoints and of pthread_create(3).
    pub fn serve<E: Endpoint, P: Payload>(
        &mut self,
        sides: &mut [Side<'_, E, P>],
        work: Option<&Work>,
        count: u64,
    ) -> io::Result<()> {
        let shares = std::mem::take(&mut self.shares);
        if shares.len() != sides.len() || shares.iter().sum::<u64>() != count {
            let text = format!("{count} requests, and {shares:?} were prepared");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if self.works.is_empty() {
            let own = |nth| work.map(|work| work.of_connection(nth));
            self.works = (0..sides.len() as u64).map(own).collect();
        }
        self.used = Usage::default();
        match (sides, &mut self.works[..]) {
            ([one], [work]) => answer(one, work, shares[0]),
            (sides, works) => {
                self.used = in_threads(sides, works, &shares)?;
                Ok(())
            }
        }
    }

    /// What the threads of the last stretch used; nothing where the worker itself is the one thread.
    pub fn used(&self) -> Usage {
        self.used
    }

    /// What they worked in the mean of all requests so far.
    pub fn worked(&self) -> Option<Worked> {
        Work::worked(self.works.iter().flatten())
    }
}

/// A thread for each of `sides`, which ends with its last request; gives what all of them used.
pub(super) fn in_threads<E: Endpoint, P: Payload>(
    sides: &mut [Side<'_, E, P>],
    works: &mut [Option<Work>],
    shares: &[u64],
) -> io::Result<Usage> {
    let jobs = sides.iter_mut().zip(works).zip(shares).map(|((side, work), share)| {
        move || answer(side, work, *share).map(|()| sys::process::thread_usage())
    });
    let used = together("connection", jobs.collect())?;
    Ok(used.iter().fold(Usage::default(), |sum, usage| sum.with(usage)))
}

/// Does each of `jobs` in a thread of its own, from when all of them are up; gives what each gave. Where there is no
/// thread for one of them none is done.
pub(super) fn together<T: Send>(
    name: &str,
    jobs: Vec<impl FnOnce() -> io::Result<T> + Send>,
) -> io::Result<Vec<T>> {
    let all_up = Barrier::new(jobs.len());
    // Whether there is a thread for each: else those that there are end at once.
    let complete = RwLock::new(false);
    scope(|scope| {
        let mut locked = complete.write().map_err(|_| io::ErrorKind::Other)?;
        let mut threads = Vec::with_capacity(jobs.len());
        for job in jobs {
            let (all_up, complete) = (&all_up, &complete);
            let run = move || {
                if !complete.read().is_ok_and(|text| *text) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                all_up.wait();
                job()
            };
            let named = Builder::new().name(name.into()).stack_size(STACK);
            let begun = named.spawn_scoped(scope, run);
            threads.push(begun.map_err(began("pthread_create"))?);
        }
        *locked = true;
        drop(locked);
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        // All are waited for, whichever of them failed.
        let ended: Vec<io::Result<T>> = ended.collect();
        ended.into_iter().collect()
    })
}

/// For use with `map_err`, where `call` begins a thread or a process: there EAGAIN is a limit, not a wait.
pub(super) fn began(call: &'static str) -> impl Fn(io::Error) -> io::Error {
    move |error| match Errno::from_io_error(&error) {
        Some(errno) => named(call, errno),
        None => error,
    }
}

/// The common beginning of all generators of a stretch.
pub(super) struct Start {
    /// All of them know how they learn of answers, or failed.
    pub ready: Barrier,
    /// When the first message is due, if this is where the schedule begins.
    pub began: OnceLock<u64>,
    /// How long it takes until all of them go on from here.
    pub settling: Duration,
}

impl Start {
    /// That of so many.
    pub fn of(generators: usize) -> Start {
        let settling = if generators > 1 { WAKING } else { Duration::ZERO };
        Start { ready: Barrier::new(generators), began: OnceLock::new(), settling }
    }
}

/// Answers so many requests of one connection.
fn answer<E: Endpoint, P: Payload>(
    side: &mut Side<'_, E, P>,
    work: &mut Option<Work>,
    share: u64,
) -> io::Result<()> {
    let Side { end, payload, buffers, .. } = side;
    match work {
        Some(work) => service::serve(*end, payload, buffers, work, share),
        None => latency::respond(*end, payload, buffers, share),
    }
}
