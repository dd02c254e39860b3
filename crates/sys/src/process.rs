//! Processes: fork, immediate exit, signal masks, resource use.
//!
//! Forking is safe only while a process has one thread, because the child owns a copy of
//! locks that other threads may hold. [`fork_with_first`] therefore counts the threads first and refuses
//! otherwise; that makes it callable from safe code.

use model::launch::Usage;
use model::process_stat;
use std::fs::{DirEntry, read_dir, read_to_string};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getppid, kill_process_group,
    set_parent_process_death_signal, waitid,
};
use rustix::time::{ClockId, clock_gettime};

use super::claim;
use super::failed::named;

/// Forks a process (fork(2)) that gets the first of `theirs`, runs `child` with it, and exits with what
/// that returns; gives its id. The first is gone from `theirs` then.
///
/// What owns a part of shared memory (a half of a [`crate::ring`]) is so used by one process alone: the child
/// drops the others and never returns to its caller, whose values it can't reach; the caller drops the
/// first. A half that is in both nevertheless, by an `Arc` or a static, is the first one's to use it: the
/// other's use of it panics.
///
/// # Errors
/// When `theirs` is empty, the process has more than one thread or uses a half of what two processes share,
/// or the kernel refuses (EAGAIN: a limit on processes).
pub fn fork_with_first<T: 'static>(
    theirs: &mut Vec<T>,
    child: impl FnOnce(T) -> i32 + 'static,
) -> io::Result<Pid> {
    let halves = claim::in_use();
    if halves != 0 {
        let text = format!("fork: {halves} halves of what two processes share are in use here");
        return Err(io::Error::other(text));
    }
    let threads = threads()?;
    if threads != 1 {
        return Err(io::Error::other(format!("fork: the process has {threads} threads, not one")));
    }
    if theirs.is_empty() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "fork: nothing for the child"));
    }
    // SAFETY: with a single thread no lock can be held by anyone but the caller, so the child may run any
    // code. What the caller itself holds (a lock of a static, a borrowed cell) is held in the child as well, and never
    // given back there: to ask for it waits or panics, which ends the child and breaks no memory; a lock that knows its
    // thread finds the same one, in the midst of no change, since the caller is here. What it reaches (`theirs`, its own captures, statics) it has in a memory of its own, but for shared
    // mappings: of those, atomics are for any process, and all else is behind a claim (`claim`), none of which is
    // taken here: one process of the two takes it. From below here the child doesn't return, nor unwind.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            let _guard = AbortOnUnwind;
            let first = theirs.remove(0);
            theirs.clear();
            exit_now(child(first))
        }
        id => {
            drop(theirs.remove(0));
            Pid::from_raw(id).ok_or_else(|| io::Error::other("fork returned no id"))
        }
    }
}

/// A panic in a forked child must not unwind into its caller's code and drop what that owns.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        std::process::abort();
    }
}

/// Does something in a thread of its own, and waits for its end: what is a thread's (a namespace) stays there.
///
/// # Errors
/// There is no thread for it (EAGAIN: a limit on processes); what `action` gives.
///
/// # Panics
/// As `action`.
pub fn in_a_thread<T: Send>(action: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    std::thread::scope(|scope| {
        let begun = std::thread::Builder::new().spawn_scoped(scope, action);
        let begun = begun.map_err(|error| match Errno::from_io_error(&error) {
            Some(errno) => named("pthread_create", errno),
            None => error,
        })?;
        begun.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The threads of this process.
fn threads() -> io::Result<usize> {
    const TASKS: &str = "/proc/self/task";
    // A directory has a link for itself, one for its name, and one for each directory in it: asking
    // for them takes a tenth of the time that reading them does, and a launch forks twice.
    match std::fs::metadata(TASKS)?.nlink() {
        3 => Ok(1),
        _ => Ok(std::fs::read_dir(TASKS)?.count()),
    }
}

/// Whether this process may signal the one behind a descriptor (pidfd_send_signal(2)); nothing is sent.
///
/// # Errors
/// As that call: ENOSYS before Linux 5.1, EPERM where it is denied.
pub fn may_signal(process: BorrowedFd<'_>) -> rustix::io::Result<()> {
    let (fd, none) = (process.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: signal 0 is none, and with no information about it the call reads no memory.
    let code = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, 0, none, 0) };
    match code {
        0 => Ok(()),
        _ => Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::NOSYS)),
    }
}

/// The first that is denied of the calls which libraries take for some that can't fail: those panic where one does.
pub fn denied_unforeseen() -> Option<(&'static str, Errno)> {
    const CALLS: [(&str, libc::c_long); 6] = [
        ("prlimit64", libc::SYS_prlimit64),
        ("sysinfo", libc::SYS_sysinfo),
        ("clock_nanosleep", libc::SYS_clock_nanosleep),
        ("sched_yield", libc::SYS_sched_yield),
        ("getppid", libc::SYS_getppid),
        ("gettid", libc::SYS_gettid),
    ];
    CALLS.into_iter().find_map(|(name, number)| {
        // SAFETY: with every argument 0 none of them touches memory or changes anything: an address of 0 is none to
        // prlimit64, and EFAULT to sysinfo and clock_nanosleep; the others take nothing.
        let code = unsafe { libc::syscall(number, 0_usize, 0_usize, 0_usize, 0_usize) };
        let error = || Errno::from_io_error(&io::Error::last_os_error());
        let errno = if code == -1 { error() } else { None };
        let is_denied =
            |error: &Errno| matches!(*error, Errno::PERM | Errno::ACCESS | Errno::NOSYS);
        errno.filter(is_denied).map(|errno| (name, errno))
    })
}

/// The process group of this process; 0 where its leader is outside of the PID namespace, which
/// rustix takes for impossible.
pub fn group() -> u32 {
    // SAFETY: getpgrp takes nothing and can't fail.
    unsafe { libc::getpgrp() as u32 }
}

/// The session of a process; 0 where its leader is outside of the PID namespace, which rustix takes
/// for impossible.
pub fn session(of: Pid) -> io::Result<u32> {
    // SAFETY: getsid takes any integer, and touches no memory.
    match unsafe { libc::getsid(of.as_raw_nonzero().get()) } {
        -1 => Err(io::Error::last_os_error()),
        leader => Ok(leader as u32),
    }
}

/// Ends this process at once: no destructors, no buffered output (_exit(2)).
pub fn exit_now(code: i32) -> ! {
    // SAFETY: _exit takes any integer and doesn't return.
    unsafe { libc::_exit(code) }
}

/// Whether a process that this one started has ended. It isn't reaped: until then no other process and no group can have its number.
///
/// # Errors
/// It was reaped.
pub fn has_ended(child: &Child) -> io::Result<bool> {
    let Some(pid) = Pid::from_raw(child.id() as i32) else { return Ok(true) };
    let looks = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    match waitid(WaitId::Pid(pid), looks) {
        Err(Errno::INTR) => Ok(false),
        found => Ok(found?.is_some()),
    }
}

/// Ends what is left of the process group that `child` leads, itself and what it started, and reaps it.
///
/// # Errors
/// It can't be waited for.
pub fn end_group(child: &mut Child) -> io::Result<ExitStatus> {
    if let Some(group) = Pid::from_raw(child.id() as i32) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    child.wait()
}

/// What `command` starts is killed when this thread ends, however it ends.
pub fn ends_with_this_thread(command: &mut Command) {
    let parent = std::process::id();
    let bind = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // It may have ended before that.
        let orphaned = getppid().is_none_or(|pid| pid.as_raw_nonzero().get() as u32 != parent);
        if orphaned { Err(Errno::SRCH.into()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec only what is safe in a signal handler may be called: these are two system calls, and
    // nothing is allocated (an error of a number isn't).
    unsafe { command.pre_exec(bind) };
}

/// Reads the use of another process, of all threads that it has; None where it is gone. Its parts in user and in kernel
/// mode are those of its ticks.
pub fn usage_of(pid: u32) -> Option<Usage> {
    let mut usage = Usage::default();
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten() {
        let of = |name| read_to_string(task.path().join(name)).unwrap_or_default();
        let ran = of("schedstat");
        usage.user_ns += ran.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0);
        let status = of("status");
        let counted = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key));
            line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
        };
        usage.voluntary_switches += counted("voluntary_ctxt_switches:");
        usage.involuntary_switches += counted("nonvoluntary_ctxt_switches:");
        usage.threads += 1;
    }
    let stat = stat_of(pid)?;
    usage.minor_faults = process_stat::number(&stat, 10)?;
    usage.major_faults = process_stat::number(&stat, 12)?;
    let user: u64 = process_stat::number(&stat, 14)?;
    let system: u64 = process_stat::number(&stat, 15)?;
    usage.system_ns = (usage.user_ns as f64 * system as f64 / (user + system).max(1) as f64) as u64;
    usage.user_ns -= usage.system_ns;
    Some(usage)
}

/// The CPU on which another process ran last; None where it is gone.
pub fn cpu_of(pid: u32) -> Option<u32> {
    process_stat::number(&stat_of(pid)?, 39)
}

fn stat_of(pid: u32) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()
}

/// Reads the use of the whole process: of all threads that a library has started in it.
pub fn process_usage() -> Usage {
    let _ = clock_gettime(ClockId::ProcessCPUTime);
    let threads = read_dir("/proc/self/task").map_or(0, |tasks| tasks.count() as u64);
    Usage { threads, ..usage(libc::RUSAGE_SELF) }
}

/// The use of all processes that this one has started, and that those have, as far as they still run.
pub fn descendants_usage() -> Usage {
    let mut left = children_of(std::process::id());
    let mut used = Usage::default();
    while let Some(pid) = left.pop() {
        used = used.with(&usage_of(pid).unwrap_or_default());
        left.extend(children_of(pid));
    }
    // Those are of others.
    Usage { threads: 0, ..used }
}

fn children_of(pid: u32) -> Vec<u32> {
    let tasks = read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children =
        |task: DirEntry| read_to_string(task.path().join("children")).unwrap_or_default();
    let all: String = tasks.map(children).collect();
    all.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Reads the calling thread's use.
pub fn thread_usage() -> Usage {
    // Brings the account up to now: of a thread that spins it is else as old as the last tick.
    let _ = clock_gettime(ClockId::ThreadCPUTime);
    usage(libc::RUSAGE_THREAD)
}

fn usage(of: libc::c_int) -> Usage {
    let mut raw = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `raw` is a valid place for one rusage; all-zero bytes are a valid rusage, so
    // assume_init holds even if the call failed.
    let raw = unsafe {
        libc::getrusage(of, raw.as_mut_ptr());
        raw.assume_init()
    };
    let ns = |t: libc::timeval| t.tv_sec as u64 * 1_000_000_000 + t.tv_usec as u64 * 1_000;
    Usage {
        user_ns: ns(raw.ru_utime),
        system_ns: ns(raw.ru_stime),
        voluntary_switches: raw.ru_nvcsw as u64,
        involuntary_switches: raw.ru_nivcsw as u64,
        minor_faults: raw.ru_minflt as u64,
        major_faults: raw.ru_majflt as u64,
        threads: 0,
    }
}

/// Ignores SIGPIPE, so that a dead partner shows as an error of the write, not as a death.
///
/// The Rust runtime already does this for a program it starts; said here for forked children.
pub fn ignore_broken_pipes() {
    // SAFETY: SIG_IGN is a valid disposition for SIGPIPE.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// Whether a signal is ignored by this process, as it was by the one that started it (sigaction(2)).
pub fn is_ignored(signal: i32) -> io::Result<bool> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action the call only fills `action`, of which all-zero bytes are a value.
    unsafe {
        match libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) {
            0 => Ok(action.assume_init().sa_sigaction == libc::SIG_IGN),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// From now on `signal` is noted in `first`, unless another one stands there already: one that is not 0.
pub fn note_first_signal(signal: i32, first: Arc<AtomicI32>) -> io::Result<()> {
    let note = move || {
        let _ = first.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    };
    // SAFETY: what is done in the handler is one atomic exchange (signal-safety(7)).
    unsafe { signal_hook::low_level::register(signal, note) }.map(drop)
}

/// The limit beyond which a file can't grow, as a message names it.
pub const FILE_SIZE_LIMIT: &str = "the file size limit (ulimit -f)";

/// Set by SIGXFSZ.
static BEYOND_LIMIT: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From now on a write beyond RLIMIT_FSIZE is an error (EFBIG, write(2)), not the death of this process
/// by SIGXFSZ. It is caught, not ignored: programs that are started from here have it as it was.
pub fn survive_file_size_limit() {
    if matches!(is_ignored(libc::SIGXFSZ), Ok(false)) {
        let hit = BEYOND_LIMIT.get_or_init(Arc::default).clone();
        // Where it can't be caught it is what it was.
        let _ = signal_hook::flag::register(libc::SIGXFSZ, hit);
    }
}

/// Whether a write of this process went beyond the limit.
pub fn has_hit_file_size_limit() -> bool {
    BEYOND_LIMIT.get().is_some_and(|hit| hit.load(Ordering::Relaxed))
}

/// Whether standard output was closed when this program began.
static OUTPUT_WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Called before `main`: the runtime then opens /dev/null in the place of a closed descriptor, and what is written there is
/// lost without a word.
#[used]
// SAFETY: the section holds pointers to functions that the C runtime calls with arguments which `look_at_output` ignores.
#[unsafe(link_section = ".init_array")]
static LOOK_AT_OUTPUT: extern "C" fn() = look_at_output;

extern "C" fn look_at_output() {
    // SAFETY: the call takes any number, and touches no memory.
    let found = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    OUTPUT_WAS_CLOSED.store(found == -1, Ordering::Relaxed);
}

/// Whether what this program writes to its standard output is lost: it was closed when the program began, or isn't open for
/// writing, of which the standard library says nothing.
pub fn standard_output_is_lost() -> bool {
    // Whoever links this function links what fills the answer.
    std::hint::black_box(&LOOK_AT_OUTPUT);
    // SAFETY: as in `look_at_output`.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFL) };
    let is_for_reading = flags != -1 && flags & libc::O_ACCMODE == libc::O_RDONLY;
    OUTPUT_WAS_CLOSED.load(Ordering::Relaxed) || is_for_reading
}

/// The time for which the scheduler lets the calling thread run before another one's turn, in ns:
/// what sched_getattr(2) says of an ordinary thread since Linux 6.12. None before that.
pub fn scheduler_slice_ns() -> Option<u64> {
    /// The first version of the kernel's structure, of which later ones are extensions.
    #[repr(C)]
    #[derive(Default)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime: u64,
        deadline: u64,
        period: u64,
    }
    let mut attributes = Attributes::default();
    let size = size_of::<Attributes>() as u32;
    // SAFETY: the kernel writes at most `size` bytes into a structure that is just so large.
    let code = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) };
    let ordinary = code == 0 && attributes.policy == libc::SCHED_OTHER as u32;
    (ordinary && attributes.runtime > 0).then_some(attributes.runtime)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of one that spins: it grows until it is ended.
    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn what_a_process_has_started_is_counted() {
        if read_to_string("/proc/self/schedstat").is_err() {
            eprintln!("skipped: this kernel counts no time of a task (CONFIG_SCHED_INFO)");
            return;
        }
        let mut child = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        while descendants_usage().user_ns < 5_000_000 {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn a_process_with_threads_is_not_forked() {
        let (done, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv());
        assert!(threads().unwrap() > 1);
        assert!(fork_with_first(&mut vec![()], |()| 0).is_err());
        drop(done);
        let _ = other.join();
    }
}
