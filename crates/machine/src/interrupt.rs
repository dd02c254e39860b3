//! A signal that asks a run to end, as something that a wait can notice.
//!
//! The first one begins an orderly end; those that follow add nothing, since timeout(1) and terminals
//! send several. An orderly end that hangs is given up after two seconds.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

use sys::process::{is_ignored, note_first_signal};

/// How long what a signal cuts short may still take.
pub const INTERRUPTED_WITHIN: Duration = Duration::from_secs(1);
/// How long the orderly end may take: with what is cut short, the report and the files.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// The same where this process waits for a CPU most of that time: a busy machine is no standstill.
const ENDS_AT_LAST: Duration = Duration::from_secs(10);
/// How often the watch looks.
const WATCHED_AT: Duration = Duration::from_millis(100);

/// A signal came while waiting.
#[derive(Debug, PartialEq, Eq)]
pub struct Interrupted;

/// SIGINT, SIGTERM and SIGHUP, turned into something that a wait can notice.
pub struct Interrupt {
    come: Arc<Come>,
    wake: UnixStream,
}

/// What has come.
#[derive(Default)]
struct Come {
    /// The first signal; 0 for none.
    first: Arc<AtomicI32>,
    /// When it was noticed.
    at: OnceLock<Instant>,
}

impl Come {
    fn first(&self) -> Option<(i32, Instant)> {
        match self.first.load(Ordering::SeqCst) {
            0 => None,
            number => Some((number, *self.at.get_or_init(Instant::now))),
        }
    }
}

impl Interrupt {
    /// Takes over the three signals for this process. One that the parent process wants ignored stays
    /// ignored, as nohup(1) does with a hang-up, and a shell without job control with Ctrl-C for what
    /// it starts in the background.
    pub fn install() -> io::Result<Interrupt> {
        let come = Arc::new(Come::default());
        let (wake, write) = UnixStream::pair()?;
        for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            if !is_ignored(number)? {
                note_first_signal(number, come.first.clone())?;
                signal_hook::low_level::pipe::register(number, write.try_clone()?)?;
            }
        }
        Ok(Interrupt { come, wake })
    }

    /// The same, with a thread that ends launches which were stopped before they had begun, and calls
    /// `overdue` with the signal where the orderly end hangs; not for processes that fork by themselves.
    pub fn with_watch(self, overdue: fn(i32)) -> io::Result<Interrupt> {
        let (come, wake) = (self.come.clone(), self.wake.try_clone()?);
        std::thread::Builder::new().spawn(move || watch(&come, &wake, overdue))?;
        Ok(self)
    }

    /// The first signal that has come, if any.
    pub fn signal(&self) -> Option<i32> {
        self.come.first().map(|(number, _)| number)
    }

    /// When what a signal cuts short must be over, once one has come.
    pub fn patience_ends(&self) -> Option<Instant> {
        self.come.first().map(|(_, at)| at + INTERRUPTED_WITHIN)
    }

    /// Readable as soon as a signal has come.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Sleeps for `time`, or until a signal comes.
    pub fn sleep(&self, time: Duration) {
        let mut fds = [PollFd::new(&self.wake, PollFlags::IN)];
        let until = Timespec::try_from(time).ok();
        let _ = poll(&mut fds, until.as_ref());
    }
}

/// Sees to it that a signal has an end.
///
/// A process that starts a program is blocked until that has begun (vfork(2)) and handles no signal meanwhile; one
/// that is stopped before it has begun would hold this process for ever. So some time after a signal,
/// those that are stopped are killed.
fn watch(come: &Come, wake: &UnixStream, overdue: fn(i32)) {
    while poll(&mut [PollFd::new(wake, PollFlags::IN)], None).is_err() {}
    let starved = waited_for_cpu();
    let Some((signal, at)) = come.first() else { return };
    loop {
        std::thread::sleep(WATCHED_AT);
        let taken = at.elapsed();
        if taken > INTERRUPTED_WITHIN {
            for child in stopped_children() {
                let _ = kill_process(child, Signal::KILL);
            }
        }
        let own = taken.saturating_sub(waited_for_cpu().saturating_sub(starved));
        if own > ENDS_WITHIN || taken > ENDS_AT_LAST {
            overdue(signal);
        }
    }
}

/// How long the main thread has waited for others to leave it a CPU (proc_pid_schedstat in the
/// kernel's sched-stats.rst); nothing where the kernel doesn't count that.
fn waited_for_cpu() -> Duration {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let waited = text.split_whitespace().nth(1).and_then(|it| it.parse().ok());
    Duration::from_nanos(waited.unwrap_or(0))
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
