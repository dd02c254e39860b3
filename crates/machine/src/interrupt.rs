//! A signal that asks a run to end, as something that a wait can notice.
//!
//! The first one begins an orderly end; those that follow add nothing, since timeout(1) and terminals
//! send several. An orderly end in which nothing goes on for two seconds is given up.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use sys::failed::{failed_in, named};
use sys::process::{is_ignored, note_first_signal};

/// How long what a signal cuts short may still take.
pub const INTERRUPTED_WITHIN: Duration = Duration::from_secs(1);
/// How long the orderly end may take: with what is cut short, the report and the files. Anew from each
/// [`end_goes_on`].
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// The same where this process waits for a CPU most of that time: a busy machine is no standstill.
const ENDS_AT_LAST: Duration = Duration::from_secs(10);
/// How often the watch looks.
const WATCHED_AT: Duration = Duration::from_millis(100);

/// A signal came while waiting.
#[derive(Debug, PartialEq, Eq)]
pub struct Interrupted;

/// Steps of an orderly end that were done. A signal is of the whole process, and so is its end.
static STEPS: AtomicU64 = AtomicU64::new(0);
/// What this process has made and not removed yet: a name and a number for each.
static NOT_REMOVED: Mutex<Vec<(u64, String)>> = Mutex::new(Vec::new());

/// Tells the watch that the orderly end goes on: something that takes long to remove, as a network namespace does, is
/// gone. From now on the end has its time anew.
pub fn end_goes_on() {
    STEPS.fetch_add(1, Ordering::Relaxed);
}

/// Something that this process makes and will remove. Where the orderly end is given up before this is dropped, it is
/// among what [`not_removed`] tells.
#[must_use]
pub struct Removal(u64);

impl Removal {
    /// To be called before `what` is made.
    pub fn owed(what: impl Into<String>) -> Removal {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        NOT_REMOVED.lock().unwrap_or_else(PoisonError::into_inner).push((number, what.into()));
        Removal(number)
    }
}

impl Drop for Removal {
    fn drop(&mut self) {
        let mut owed = NOT_REMOVED.lock().unwrap_or_else(PoisonError::into_inner);
        owed.retain(|(number, _)| *number != self.0);
    }
}

/// What this process has made, or was about to make, and has not removed.
pub fn not_removed() -> Vec<String> {
    let owed = NOT_REMOVED.lock().unwrap_or_else(PoisonError::into_inner);
    owed.iter().map(|(_, what)| what.clone()).collect()
}

/// SIGINT, SIGTERM and SIGHUP, turned into something that a wait can notice.
pub struct Interrupt {
    come: Arc<Come>,
    wake: UnixStream,
}

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
        let (wake, write) = UnixStream::pair().map_err(failed_in("socketpair AF_UNIX"))?;
        // All waits are polls. Where a filter denies them, that is said before anything is begun.
        let at_once = Timespec::default();
        poll(&mut [PollFd::new(&wake, PollFlags::IN)], Some(&at_once))
            .map_err(|errno| named("poll (ppoll)", errno))?;
        for number in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            if !is_ignored(number)? {
                note_first_signal(number, come.first.clone())?;
                write
                    .try_clone()
                    .and_then(|write| signal_hook::low_level::pipe::register(number, write))
                    .map_err(failed_in("fcntl"))?;
            }
        }
        Ok(Interrupt { come, wake })
    }

    /// The same, with a thread that ends launches which were stopped before they had begun, and calls
    /// `overdue` with the signal where the orderly end hangs; not for processes that fork by themselves.
    pub fn with_watch(self, overdue: fn(i32)) -> io::Result<Interrupt> {
        let (come, wake) = (self.come.clone(), self.wake.try_clone()?);
        let begun = std::thread::Builder::new().spawn(move || watch(&come, &wake, overdue));
        begun.map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => named("pthread_create", errno),
            None => error,
        })?;
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
    let Some((signal, at)) = come.first() else { return };
    let mut step = Step::begun(at);
    loop {
        std::thread::sleep(WATCHED_AT);
        if at.elapsed() > INTERRUPTED_WITHIN {
            for child in stopped_children() {
                let _ = kill_process(child, Signal::KILL);
            }
        }
        if step.nth != STEPS.load(Ordering::Relaxed) {
            step = Step::begun(Instant::now());
        }
        if step.is_overdue() {
            overdue(signal);
        }
    }
}

/// A step of an orderly end, under way.
struct Step {
    nth: u64,
    since: Instant,
    /// How long the main thread had waited for a CPU by then.
    starved: Duration,
}

impl Step {
    fn begun(since: Instant) -> Step {
        Step { nth: STEPS.load(Ordering::Relaxed), since, starved: waited_for_cpu() }
    }

    fn is_overdue(&self) -> bool {
        let taken = self.since.elapsed();
        let own = taken.saturating_sub(waited_for_cpu().saturating_sub(self.starved));
        own > ENDS_WITHIN || taken > ENDS_AT_LAST
    }
}

/// How long the main thread has waited for others to leave it a CPU (proc_pid_schedstat in the
/// kernel's sched-stats.rst); nothing where the kernel doesn't count that.
fn waited_for_cpu() -> Duration {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let waited = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that would be overdue, were it not for another one since.
    #[test]
    fn the_time_of_an_end_begins_anew_with_each_step() {
        let Some(long_ago) = Instant::now().checked_sub(2 * ENDS_AT_LAST) else { return };
        let late = Step { nth: 0, since: long_ago, starved: Duration::ZERO };
        assert!(late.is_overdue());
        let before = STEPS.load(Ordering::Relaxed);
        end_goes_on();
        let step = Step::begun(Instant::now());
        assert!(step.nth > before && !step.is_overdue());
    }

    #[test]
    fn what_is_owed_is_told_until_it_is_removed() {
        let told = |what: &str| not_removed().iter().any(|owed| owed == what);
        let first = Removal::owed("laboratory one");
        let second = Removal::owed("laboratory two");
        assert!(told("laboratory one") && told("laboratory two"));
        drop(first);
        assert!(!told("laboratory one") && told("laboratory two"));
        drop(second);
        assert!(!told("laboratory two"));
    }
}
