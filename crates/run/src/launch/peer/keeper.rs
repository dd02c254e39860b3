//! The keeper: stands between the coordinator and a command that reaches another host (`ipcmark keep
//! COMMAND …`), so that nothing of that command outlives its run, and nothing that it complains of fills
//! a terminal or memory.
//!
//! Whatever the command starts and leaves alone becomes the keeper's child (PR_SET_CHILD_SUBREAPER), not
//! init's: so its children are the command's, all of them, and since only the keeper reaps them, no
//! number of one can be somebody else's. A process group of the command's own would tell less (a process that
//! changes its group leaves it) and cost more: out of the terminal's foreground, ssh(1) can't ask for a
//! password. Spared are processes with a session of their own (setsid(2)): that is how a process declares that it
//! is to stay, as ssh's ControlPersist does.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStderr, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, pwrite};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, getppid, kill_process, pidfd_open,
    set_child_subreaper, set_parent_process_death_signal, wait,
};

use crate::launch::wire::time_left;
use model::process_stat;
use sys::process::session;

/// The hidden word that starts a keeper.
pub const WORD: &str = "keep";
/// How long the command may take to end by itself once its input is closed, unless the coordinator is in
/// a hurry: a busy machine takes its time to remove a copy.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// How long what it has left may take to end when asked to; then it is killed.
const LEAVES_WITHIN: Duration = Duration::from_millis(300);
/// How long the killed may take.
const DIES_WITHIN: Duration = Duration::from_secs(2);
/// How often it is looked whether they have ended.
const LOOKED_AT: Duration = Duration::from_millis(5);
/// Bytes of its standard error that are read at once: a pipe's.
const READ_BYTES: usize = 64 << 10;
/// How often in a row.
const MOST_READS: usize = 16;
/// Bytes of them that are kept: the last ones.
const KEPT: usize = 4096;

/// Runs the command of this process's arguments; gives its exit code.
pub fn serve() -> i32 {
    match Keeper::start() {
        Ok(keeper) => keeper.serve(),
        Err(why) => {
            let _ = pwrite(io::stderr(), why.as_bytes(), 0);
            127
        }
    }
}

struct Keeper {
    main: Pid,
    status: Option<ExitStatus>,
    complaints: Option<ChildStderr>,
    /// The last of them.
    tail: Vec<u8>,
    /// Has a byte for each time that the coordinator wanted the end, or was gone.
    end: UnixStream,
    /// How many came: a repeated request means hurry.
    asked: usize,
}

impl Keeper {
    fn start() -> Result<Keeper, String> {
        let failed = |what: &str, error: io::Error| format!("{what}: {error}");
        set_child_subreaper(Some(getpid())).map_err(|error| failed("prctl", error.into()))?;
        let (end, write) = UnixStream::pair().map_err(|error| failed("socketpair", error))?;
        end.set_nonblocking(true).map_err(|error| failed("fcntl", error))?;
        signal_hook::low_level::pipe::register(libc::SIGTERM, write)
            .map_err(|error| failed("sigaction", error))?;
        let owner = getppid();
        set_parent_process_death_signal(Some(Signal::TERM))
            .map_err(|error| failed("prctl", error.into()))?;
        if getppid() != owner {
            return Err("the coordinator is gone".into());
        }
        let mut words = std::env::args_os().skip(2);
        let first = words.next().ok_or("no command")?;
        let mut child = Command::new(&first)
            .args(words)
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&format!("start `{}`", first.display()), error))?;
        // A terminal tells the whole group: the command hears it, and the keeper goes on until that
        // has ended. Only now, so that the command has inherited what its user wanted.
        for number in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
            let _ = signal_hook::flag::register(number, Arc::new(AtomicBool::new(false)));
        }
        // Its input and output are its own: their ends show at the coordinator.
        let null = std::fs::File::options().read(true).write(true).open("/dev/null");
        let null = null.map_err(|error| failed("open /dev/null", error))?;
        rustix::stdio::dup2_stdin(&null).map_err(|error| failed("dup2", error.into()))?;
        rustix::stdio::dup2_stdout(&null).map_err(|error| failed("dup2", error.into()))?;
        let main = Pid::from_raw(child.id() as i32).ok_or("fork gave no id")?;
        let complaints = child.stderr.take();
        Ok(Keeper { main, status: None, complaints, tail: Vec::new(), end, asked: 0 })
    }

    fn serve(mut self) -> i32 {
        while self.await_end() {}
        if self.status.is_none() {
            let until = Instant::now() + ENDS_WITHIN;
            self.until(until, |keeper| keeper.status.is_some() || keeper.asked > 1);
        }
        self.end_all();
        self.hear();
        match self.status.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => code,
            Some((_, Some(number))) => die_of(number),
            _ => 1,
        }
    }

    /// Waits for something to happen; false once the end is wanted, or nobody is left.
    fn await_end(&mut self) -> bool {
        self.reap();
        let left: Vec<_> = children(self.main)
            .into_iter()
            .filter_map(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
            .collect();
        if left.is_empty() {
            return false;
        }
        let mut fds = vec![PollFd::new(&self.end, PollFlags::IN)];
        fds.extend(left.iter().map(|fd| PollFd::new(fd, PollFlags::IN)));
        fds.extend(self.complaints.iter().map(|complaint| PollFd::new(complaint, PollFlags::IN)));
        if poll(&mut fds, None).is_err() {
            return true; // a signal
        }
        let (wanted, complains) = (
            !fds[0].revents().is_empty(),
            self.complaints.is_some() && !fds[fds.len() - 1].revents().is_empty(),
        );
        if complains {
            self.hear();
        }
        !wanted
    }

    /// Waits until `done`, at most so long, and hears what is said meanwhile.
    fn until(&mut self, until: Instant, done: impl Fn(&Keeper) -> bool) {
        loop {
            self.hear();
            self.reap();
            self.asked += self.end.read(&mut [0; 8]).unwrap_or(0);
            if done(self) || Instant::now() >= until {
                return;
            }
            std::thread::sleep(LOOKED_AT);
        }
    }

    /// Ends what the command has left, and itself where it still runs.
    fn end_all(&mut self) {
        let killed_at = Instant::now() + LEAVES_WITHIN;
        let mut asked = BTreeSet::new();
        while Instant::now() < killed_at + DIES_WITHIN {
            self.reap();
            let left = children(self.main);
            if left.is_empty() {
                return;
            }
            for pid in left {
                // It hasn't been reaped, so that the number is its own.
                if Instant::now() >= killed_at {
                    let _ = kill_process(pid, Signal::KILL);
                } else if asked.insert(pid.as_raw_nonzero()) {
                    let _ = kill_process(pid, Signal::TERM);
                }
            }
            self.until(Instant::now(), |_| true);
            std::thread::sleep(LOOKED_AT);
        }
    }

    /// Takes leave of every child that has ended.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == self.main {
                self.status = Some(ExitStatus::from_raw(status.as_raw()));
            }
        }
    }

    /// Takes in what there is of complaints; of endless ones a part, for there is more to do.
    fn hear(&mut self) {
        for _ in 0..MOST_READS {
            let Some(from) = &self.complaints else { return };
            let mut fds = [PollFd::new(from, PollFlags::IN)];
            if !matches!(poll(&mut fds, time_left(Some(Instant::now())).as_ref()), Ok(1)) {
                return;
            }
            self.read();
        }
    }

    /// Keeps the last of what is complained of where the coordinator looks.
    fn read(&mut self) {
        let Some(from) = &mut self.complaints else { return };
        let mut bytes = [0; READ_BYTES];
        match from.read(&mut bytes) {
            Ok(length @ 1..) => {
                self.tail.extend_from_slice(&bytes[..length]);
                self.tail.drain(..self.tail.len().saturating_sub(KEPT));
                let _ = pwrite(io::stderr(), &self.tail, 0);
            }
            Err(error) if Errno::from_io_error(&error) == Some(Errno::INTR) => {}
            _ => self.complaints = None,
        }
    }
}

/// Processes that are this one's children and of its session; and `main`, whatever it is.
fn children(main: Pid) -> Vec<Pid> {
    let me = getpid();
    let own = session(me).ok();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Pid::from_raw)
        .filter(|pid| parent(*pid) == Some(me))
        .filter(|pid| *pid == main || session(*pid).ok() == own)
        .collect()
}

/// The parent of a process, whose name may be no text.
fn parent(pid: Pid) -> Option<Pid> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    Pid::from_raw(process_stat::number(&String::from_utf8_lossy(&stat), 4)?)
}

/// Ends as the command did.
fn die_of(number: i32) -> i32 {
    let _ = signal_hook::low_level::emulate_default_handler(number);
    128 + number
}
