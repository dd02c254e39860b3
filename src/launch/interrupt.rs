//! A signal that asks a run to end, as something that a wait can notice.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, kill_process};

/// How long what a signal cuts short may still take.
pub(super) const INTERRUPTED_WITHIN: Duration = Duration::from_secs(1);

/// A signal came while waiting.
#[derive(Debug, PartialEq, Eq)]
pub struct Interrupted;

/// SIGINT, SIGTERM and SIGHUP, turned into something that a wait can notice.
pub struct Interrupt {
    signal: Arc<AtomicUsize>,
    wake: UnixStream,
}

impl Interrupt {
    /// Takes over the three signals for this process. A second one ends it at once. A hang-up
    /// that whoever started it wants ignored, as nohup(1) does, stays ignored.
    pub fn install() -> io::Result<Interrupt> {
        let signal = Arc::new(AtomicUsize::new(0));
        let again = Arc::new(AtomicBool::new(false));
        let (wake, write) = UnixStream::pair()?;
        let hang_up = (!ignored(libc::SIGHUP)).then_some(libc::SIGHUP);
        for number in [libc::SIGINT, libc::SIGTERM].into_iter().chain(hang_up) {
            signal_hook::flag::register_conditional_shutdown(number, 128 + number, again.clone())?;
            signal_hook::flag::register(number, again.clone())?;
            signal_hook::flag::register_usize(number, signal.clone(), number as usize)?;
            signal_hook::low_level::pipe::register(number, write.try_clone()?)?;
        }
        Ok(Interrupt { signal, wake })
    }

    /// The same, with a thread that ends launches which were stopped before they had begun; not for
    /// who forks by itself.
    pub fn with_watch(self) -> io::Result<Interrupt> {
        let come = self.wake.try_clone()?;
        std::thread::Builder::new().spawn(move || end_stopped_starts(&come))?;
        Ok(self)
    }

    /// The signal that has come, if any.
    pub fn signal(&self) -> Option<i32> {
        match self.signal.load(Ordering::SeqCst) {
            0 => None,
            number => Some(number as i32),
        }
    }

    /// Readable as soon as a signal has come.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Sleeps for `time`, or until a signal comes.
    pub fn sleep(&self, time: Duration) {
        let mut fds = [PollFd::new(&self.wake, PollFlags::IN)];
        let until = super::wire::time_left(Some(Instant::now() + time));
        let _ = poll(&mut fds, until.as_ref());
    }
}

/// Who starts a program stands still until it has begun (vfork(2)) and hears no signal meanwhile;
/// one that is stopped before it has begun would hold this process for ever. So once a signal has
/// come, this thread kills those that are stopped.
fn end_stopped_starts(come: &UnixStream) {
    while poll(&mut [PollFd::new(come, PollFlags::IN)], None).is_err() {}
    loop {
        std::thread::sleep(INTERRUPTED_WITHIN);
        for child in stopped_children() {
            let _ = kill_process(child, Signal::KILL);
        }
    }
}

/// Children of this process that are stopped (proc_pid_stat(5)). By the time they are killed they are
/// still its own: only this process reaps them, and those it waits for at once are not stopped.
fn stopped_children() -> Vec<Pid> {
    let me = std::process::id().to_string();
    let stopped_child = |entry: fs::DirEntry| {
        let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, parent) = (fields.next()?, fields.next()?);
        let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        (state == "T" && parent == me).then_some(pid)
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(stopped_child).collect()
}

/// Whether a signal is ignored by this process, as it was by the one that started it
/// (proc_pid_status(5)).
fn ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    mask.is_some_and(|it| it & (1 << (signal - 1)) != 0)
}
