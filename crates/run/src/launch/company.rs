//! What runs beside the workers of a launch (`--beside`): processes of the supervisor's, asleep until it says go,
//! busy while the workers warm up and are timed, and asleep again until the launch ends; or a quota for the workers.
//!
//! Nothing is taken for granted: each process says that it runs before the workers start, and afterwards how much
//! CPU time it had. The kernel kills it with the supervisor, and the supervisor kills and reaps it with the launch.

use std::collections::BTreeSet;
use std::hint::black_box;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::process::{Signal, WaitIdOptions, getpid, pidfd_send_signal};

use super::spec::{Spec, not_started};
use super::wire::time_left;
use sys::failed::named;

use super::workers::{Process, WorkerGroup, fork_worker};
use machine::cgroup::{Kernel, Quota};
use model::company::Company;
use model::launch::Outcome;
use sys::affinity::{self, Affinity};
use sys::process::thread_usage;

/// How long a process may take to begin, or to stop.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// How much of its work a process does before it looks whether it is to stop: some hundred µs.
const STEPS: u64 = 1 << 17;
/// The buffer of a stream is so many times as large as the largest cache, and at least and at most so large.
const TIMES_CACHE: u64 = 2;
const LEAST_BUFFER: u64 = 64 << 20;
const MOST_BUFFER: u64 = 512 << 20;

/// What a process says: that it is pinned, that it runs.
const READY: &[u8] = b"r";
const RUNNING: &[u8] = b"R";

/// The company of a launch; nobody, where none was asked for.
#[derive(Default)]
pub struct Companions {
    processes: Vec<Companion>,
    quota: Option<Quota<Kernel>>,
}

struct Companion {
    what: Company,
    process: Process,
    link: OwnedFd,
}

/// What one process does, and where.
#[derive(Clone, Copy)]
struct Work {
    what: Company,
    cpu: Option<u32>,
    buffer_bytes: u64,
}

impl Companions {
    /// Starts what `spec` asks for, asleep, or puts the workers into a group with a quota. After the workers, so
    /// that it holds none of what they talk over.
    ///
    /// # Errors
    /// The outcome of the launch: what is in the way.
    pub fn of(spec: &Spec, workers: &WorkerGroup) -> Result<Companions, Outcome> {
        let mut companions = Companions::default();
        let Some(what) = spec.beside else { return Ok(companions) };
        if what == Company::Quota {
            let refused = |why: model::probe::Refusal| Outcome::Failed { reason: why.to_string() };
            let quota = Quota::make(Kernel, Path::new("/"), "launch").map_err(refused)?;
            workers.processes().try_for_each(|process| quota.take(process)).map_err(refused)?;
            companions.quota = Some(quota);
            return Ok(companions);
        }
        let allowed =
            Affinity::here().map_err(|error| not_started("read the CPUs to be used", &error))?;
        for work in works(what, &spec.cpus_here(), &allowed.cpus()) {
            companions.start(work).map_err(|error| not_started("start the company", &error))?;
        }
        companions.hear_each(READY)?;
        Ok(companions)
    }

    fn start(&mut self, work: Work) -> io::Result<()> {
        let (link, its) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(|error| named("socketpair AF_UNIX", error))?;
        let run = |(work, link): (Work, OwnedFd)| accompany(work, &link);
        let process = fork_worker(getpid(), None, &mut vec![(work, its)], run)?;
        self.processes.push(Companion { what: work.what, process, link });
        Ok(())
    }

    /// Lets it run; returns once each process says that it does.
    ///
    /// # Errors
    /// The outcome of the launch, where one doesn't.
    pub fn begin(&self) -> Result<(), Outcome> {
        self.tell();
        self.hear_each(RUNNING).map(drop)
    }

    /// Lets it sleep again; gives the CPU time that its processes had meanwhile, in ns.
    ///
    /// # Errors
    /// The outcome of the launch, where one has died, or had none: the workers were alone.
    pub fn stop(&self) -> Result<Option<u64>, Outcome> {
        self.tell();
        let mut total = None;
        for companion in &self.processes {
            let ran = companion.hear()?;
            let ran = ran.try_into().map(u64::from_le_bytes).unwrap_or(0);
            if ran == 0 {
                return Err(companion.failed("had no CPU time"));
            }
            total = Some(total.unwrap_or(0) + ran);
        }
        Ok(total)
    }

    fn tell(&self) {
        for companion in &self.processes {
            // One that has died is missed where it is heard.
            let _ = send(&companion.link, b"!", SendFlags::NOSIGNAL);
        }
    }

    fn hear_each(&self, expected: &[u8]) -> Result<(), Outcome> {
        for companion in &self.processes {
            let said = companion.hear()?;
            if said != expected {
                return Err(companion.failed(&String::from_utf8_lossy(&said)));
            }
        }
        Ok(())
    }
}

impl Companion {
    fn hear(&self) -> Result<Vec<u8>, Outcome> {
        let until = Some(Instant::now() + ANSWERS_WITHIN);
        loop {
            let mut fds = [PollFd::new(&self.link, PollFlags::IN)];
            match poll(&mut fds, time_left(until).as_ref()) {
                Ok(0) => return Err(self.failed("says nothing")),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(self.failed(&format!("poll: {error}"))),
                Ok(_) => {}
            }
            let mut packet = [0; 256];
            return match recv(&self.link, &mut packet[..], RecvFlags::empty()) {
                Ok((length, _)) if length > 0 => Ok(packet[..length].to_vec()),
                // It has hung up: its end is near.
                _ => {
                    let how = self.process.death(WaitIdOptions::NOWAIT);
                    Err(self.failed(&how.unwrap_or_else(|| "hung up".into())))
                }
            };
        }
    }

    fn failed(&self, how: &str) -> Outcome {
        let process = self.process.pid.as_raw_nonzero();
        Outcome::Failed { reason: format!("the {} beside (process {process}) {how}", self.what) }
    }
}

impl Drop for Companions {
    fn drop(&mut self) {
        for companion in &self.processes {
            let _ = pidfd_send_signal(&companion.process.pidfd, Signal::KILL);
        }
        for companion in &self.processes {
            companion.process.death(WaitIdOptions::empty());
        }
    }
}

/// What the processes of a company do beside workers on the CPUs `taken` (none of workers that are free), of
/// those that are `allowed`.
fn works(what: Company, taken: &BTreeSet<u32>, allowed: &[u32]) -> Vec<Work> {
    let work = |cpu| Work { what, cpu, buffer_bytes: 0 };
    match what {
        Company::Quota => Vec::new(),
        Company::Hog if taken.is_empty() => allowed.iter().map(|cpu| work(Some(*cpu))).collect(),
        Company::Hog => taken.iter().map(|cpu| work(Some(*cpu))).collect(),
        Company::Memory => {
            let free = |number: &&u32| !taken.is_empty() && !taken.contains(number);
            let cpu = allowed.iter().rev().find(free).copied();
            let cache = machine::host::largest_cache_bytes(Path::new("/")).unwrap_or(0);
            let buffer_bytes = (TIMES_CACHE * cache).clamp(LEAST_BUFFER, MOST_BUFFER);
            vec![Work { buffer_bytes, ..work(cpu) }]
        }
    }
}

/// The life of a process: until its supervisor kills it, or is gone.
fn accompany(work: Work, link: &OwnedFd) {
    if let Err(error) = work.cpu.map_or(Ok(()), affinity::pin) {
        tell(link, format!("can't be pinned: {error}").as_bytes());
        return;
    }
    tell(link, READY);
    if !hear(link, RecvFlags::empty()) {
        return;
    }
    let before = cpu_ns();
    let words = work.buffer_bytes as usize / size_of::<u64>();
    let mut buffer = Vec::new();
    if buffer.try_reserve_exact(words).is_err() {
        tell(link, format!("has no memory for its {} bytes", work.buffer_bytes).as_bytes());
        return;
    }
    buffer.resize(words, 1u64);
    let mut at = step(&mut buffer, 0);
    tell(link, RUNNING);
    while !hear(link, RecvFlags::DONTWAIT) {
        at = step(&mut buffer, at);
    }
    drop(buffer);
    tell(link, &(cpu_ns() - before).to_le_bytes());
    // It exits with the launch: an exit now would disturb the next one.
    hear(link, RecvFlags::empty());
}

/// Some of the work: computes, or goes on through the buffer from place `at`; gives the next place.
fn step(buffer: &mut [u64], at: usize) -> usize {
    if buffer.is_empty() {
        let sum = (0..STEPS).fold(0u64, |sum, number| black_box(sum.wrapping_mul(31) ^ number));
        black_box(sum);
        return 0;
    }
    let end = (at + STEPS as usize).min(buffer.len());
    for word in &mut buffer[at..end] {
        *word = word.wrapping_add(1);
    }
    black_box(&buffer[at..end]);
    if end == buffer.len() { 0 } else { end }
}

fn cpu_ns() -> u64 {
    let usage = thread_usage();
    usage.user_ns + usage.system_ns
}

fn tell(link: &OwnedFd, what: &[u8]) {
    let _ = send(link, what, SendFlags::NOSIGNAL);
}

/// Whether a word came, or nobody is left to say one; without waiting only if there is one already.
fn hear(link: &OwnedFd, flags: RecvFlags) -> bool {
    match recv(link, &mut [0u8; 1][..], flags) {
        Ok((length, _)) => length > 0 || flags.contains(RecvFlags::DONTWAIT),
        Err(error) => error != rustix::io::Errno::AGAIN && flags.contains(RecvFlags::DONTWAIT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpus(what: Company, taken: &[u32], allowed: &[u32]) -> Vec<Option<u32>> {
        let works = works(what, &taken.iter().copied().collect(), allowed);
        works.into_iter().map(|work| work.cpu).collect()
    }

    #[test]
    fn a_hog_is_where_the_workers_are_and_a_stream_is_elsewhere_where_it_can() {
        use Company::{Hog, Memory, Quota};
        assert_eq!(cpus(Hog, &[1], &[0, 1, 2]), [Some(1)]);
        assert_eq!(cpus(Hog, &[2, 0], &[0, 1, 2]), [Some(0), Some(2)]);
        assert_eq!(cpus(Hog, &[], &[0, 3]), [Some(0), Some(3)], "free workers may be anywhere");
        assert_eq!(cpus(Memory, &[1], &[0, 1]), [Some(0)]);
        assert_eq!(cpus(Memory, &[0, 1], &[0, 1]), [None], "there is no other");
        assert_eq!(cpus(Memory, &[], &[0, 1]), [None]);
        assert!(cpus(Quota, &[0], &[0, 1]).is_empty());
    }

    #[test]
    fn a_stream_is_longer_than_any_cache_and_comes_round() {
        let stream = works(Company::Memory, &BTreeSet::new(), &[0]);
        assert!(stream[0].buffer_bytes >= LEAST_BUFFER);
        let mut buffer = vec![1u64; STEPS as usize + 3];
        let at = step(&mut buffer, 0);
        assert_eq!((at, step(&mut buffer, at)), (STEPS as usize, 0));
        assert!(buffer.iter().all(|number| *number == 2), "each place once");
    }
}
