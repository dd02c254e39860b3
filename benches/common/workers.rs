//! Two forked workers, pinned and left alone: what a launch's supervisor does, without its
//! wire. The initiator leads the responder by orders over a shared page; the owner hears that
//! both are ready, says one word at the start, hears one at the end, and sleeps in between.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, getpid, getppid, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, waitid,
};

use sys::parking::{self, Parking};
use sys::process::{exit_now, fork_with_first};
use sys::shared::{LINE, Mapping, PAGE};

/// Which of the two loops is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// What this program does.
    Tool,
    /// What it is compared with.
    Bare,
}

/// The initiator's orders to the responder: which loop, how many round trips. The responder
/// sleeps until one comes; the lead-in of each half keeps that wake-up out of what is timed.
#[derive(Clone)]
pub struct Orders(Arc<Mapping>);

const ISSUED: usize = LINE;
const WORDS: usize = 2 * LINE;

impl Orders {
    /// Nothing ordered yet.
    pub fn new() -> io::Result<Orders> {
        Ok(Orders(Arc::new(Mapping::with_wide_words(PAGE, WORDS)?)))
    }

    fn issued(&self) -> &AtomicU32 {
        self.0.word(ISSUED)
    }

    fn parking(&self) -> Parking<'_> {
        Parking::new(self.0.word(0), parking::flags(false))
    }

    /// Orders `count` round trips. Those ordered before must have been done.
    pub fn issue(&self, which: Loop, count: u64) {
        let words = self.0.words(WORDS);
        words[0].store(u64::from(which == Loop::Tool), Ordering::Relaxed);
        words[1].store(count, Ordering::Relaxed);
        self.issued().fetch_add(1, Ordering::SeqCst);
        self.parking().wake();
    }

    /// Waits for the order after the first `taken`.
    pub fn take(&self, taken: u32) -> (Loop, u64) {
        let ready = || (self.issued().load(Ordering::SeqCst) > taken).then_some(());
        self.parking().wait_for(ready);
        let words = self.0.words(WORDS);
        let which = if words[0].load(Ordering::Relaxed) == 1 { Loop::Tool } else { Loop::Bare };
        (which, words[1].load(Ordering::Relaxed))
    }
}

/// How long the workers may take to get ready.
const READY_WITHIN: Duration = Duration::from_secs(10);

/// Two worker processes. Killed and reaped when dropped.
pub struct Workers {
    workers: [Worker; 2],
    link: UnixStream,
}

impl Workers {
    /// Forks both workers and pins them, and waits until both have said that they are ready;
    /// neither child keeps what the other closure owns.
    pub fn spawn(
        cpus: (u32, u32),
        lead: impl FnOnce(Signals) -> io::Result<()> + 'static,
        follow: impl FnOnce(Signals) -> io::Result<()> + 'static,
    ) -> io::Result<Workers> {
        let (link, theirs) = UnixStream::pair()?;
        let too = theirs.try_clone()?;
        let mut functions: Vec<WorkerFn> =
            vec![Box::new(|| lead(Signals(theirs))), Box::new(|| follow(Signals(too)))];
        let initiator = Worker::spawn("initiator", cpus.0, &mut functions)?;
        let responder = Worker::spawn("responder", cpus.1, &mut functions)?;
        let mut workers = Workers { workers: [initiator, responder], link };
        for _ in 0..workers.workers.len() {
            workers.wait(READY_WITHIN)?;
        }
        Ok(workers)
    }

    /// Gives the word to start.
    pub fn go(&mut self) -> io::Result<()> {
        self.link.write_all(b"!")
    }

    /// Waits for the workers' next word: that one is ready, or that the initiator has finished.
    pub fn wait(&mut self, within: Duration) -> io::Result<()> {
        let until = Instant::now() + within;
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut fds = vec![PollFd::new(&self.link, PollFlags::IN)];
        fds.extend(self.workers.iter().map(|worker| PollFd::new(&worker.pidfd, PollFlags::IN)));
        let ready = poll(&mut fds, Some(&left))?;
        let seen: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        match (ready, self.workers.iter().zip(&seen[1..]).find(|(_, dead)| **dead)) {
            (0, _) => Err(io::Error::other(format!("no word from the workers in {within:?}"))),
            (_, Some((worker, _))) => Err(io::Error::other(format!("the {} died", worker.name))),
            _ => self.link.read_exact(&mut [0]),
        }
    }
}

/// What a worker does until it exits.
type WorkerFn = Box<dyn FnOnce() -> io::Result<()>>;

/// A worker's side of the talk with its owner.
pub struct Signals(UnixStream);

impl Signals {
    /// Tells the owner that this worker has set itself up.
    pub fn ready(&mut self) -> io::Result<()> {
        self.0.write_all(b"!")
    }

    /// The initiator's: sleeps until the owner says go.
    pub fn await_go(&mut self) -> io::Result<()> {
        self.0.read_exact(&mut [0])
    }

    /// Tells the owner that all is done, and sleeps: exiting would disturb the pair that is timed next.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.write_all(b"!")?;
        self.0.read_exact(&mut [0])
    }
}

struct Worker {
    name: &'static str,
    pidfd: OwnedFd,
}

impl Worker {
    /// One that functions the first of `functions`.
    fn spawn(name: &'static str, cpu: u32, functions: &mut Vec<WorkerFn>) -> io::Result<Worker> {
        let owner = getpid();
        let pid = fork_with_first(functions, move |function| {
            match settle_in(owner, cpu).and_then(|()| function()) {
                Ok(()) => 0,
                Err(error) => {
                    eprintln!("{name} on CPU {cpu}: {error}");
                    1
                }
            }
        })?;
        Ok(Worker { name, pidfd: pidfd_open(pid, PidfdFlags::empty())? })
    }
}

/// Dies with its owner, and stays on its CPU.
fn settle_in(owner: Pid, cpu: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(owner) {
        exit_now(0);
    }
    super::pin(cpu)
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = pidfd_send_signal(&self.pidfd, Signal::KILL);
        let _ = waitid(WaitId::PidFd(self.pidfd.as_fd()), WaitIdOptions::EXITED);
    }
}
