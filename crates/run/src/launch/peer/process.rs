//! The process behind a command that reaches another host, and its three streams.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{MemfdFlags, OFlags, fcntl_setfl, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process};

use super::deploy::{self, Copy};
use super::keeper;
use crate::launch::wire::{FrameKind, Missing, Reader, time_left, write_frame};
use machine::interrupt::Interrupt;
use model::visible::visible;

/// How long a keeper in a hurry may take: it ends all at once, unless the machine is busy.
const HURRIES_WITHIN: Duration = Duration::from_secs(5);
/// How long copying this program may take: a password may have to be typed.
const COPIED_WITHIN: Duration = Duration::from_secs(120);
/// Bytes of it that are sent at once.
const PIECE: usize = 64 << 10;

/// Bytes of what it said elsewhere that are shown.
const SHOWN: usize = 200;

/// An agent behind a command.
pub struct Process {
    child: Child,
    pub command: String,
    stdin: Option<ChildStdin>,
    pub stdout: Reader<ChildStdout>,
    stderr: File,
    /// Whether its end was asked for.
    let_go: bool,
}

impl Process {
    /// Starts `words` with those of the `agent` behind them, under a keeper; in a process group of its own where
    /// a signal from a terminal is this process's to handle first.
    ///
    /// # Errors
    /// Why it couldn't be started.
    pub fn start(words: &[String], agent: &[String], own_group: bool) -> Result<Process, String> {
        let failed = |what: &str, error: io::Error| format!("{what}: {error}");
        // Its standard error is kept, not shown: it matters only when something fails.
        let stderr = memfd_create("agent", MemfdFlags::CLOEXEC)
            .map_err(|error| failed("memfd_create", error.into()))?;
        let stderr = File::from(stderr);
        let theirs = stderr.try_clone().map_err(|error| failed("dup", error))?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("ipcmark").arg(keeper::WORD).args(words).args(agent);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(theirs);
        if own_group {
            command.process_group(0);
        }
        let first = words.first().map_or("", String::as_str);
        let mut child =
            command.spawn().map_err(|error| failed(&format!("start `{first}`"), error))?;
        let stdin = child.stdin.take();
        let stdout = Reader::new(child.stdout.take().expect("piped"));
        Ok(Process { child, command: words.join(" "), stdin, stdout, stderr, let_go: false })
    }

    /// Brings the copy along, and waits until it is there: what is said before might be taken for it.
    ///
    /// # Errors
    /// Why not; a signal too.
    pub fn bring(&mut self, copy: &mut Copy, interrupt: &Interrupt) -> Result<(), Missing> {
        let deadline = Instant::now() + COPIED_WITHIN;
        let stdin = self.stdin.as_ref().ok_or(Missing::Closed)?;
        let broken = |error: rustix::io::Errno| Missing::Broken(error.into());
        // A pipe that says it has room may have less than a piece's.
        fcntl_setfl(stdin, OFlags::NONBLOCK).map_err(broken)?;
        let mut piece = vec![0; PIECE];
        loop {
            let length = deploy::piece(&mut copy.program, &mut piece).map_err(Missing::Broken)?;
            if length == 0 {
                break;
            }
            let mut rest = &piece[..length];
            while !rest.is_empty() {
                match rustix::io::write(stdin, rest) {
                    Ok(taken) => rest = &rest[taken..],
                    Err(Errno::AGAIN) => await_room(stdin, deadline, interrupt)?,
                    Err(Errno::INTR) => {}
                    Err(_) => return Err(Missing::Closed),
                }
            }
        }
        fcntl_setfl(stdin, OFlags::empty()).map_err(broken)?;
        self.stdout.await_any(Some(deadline), Some(interrupt.fd()))
    }

    /// Says something. What can't be said shows at the next read.
    pub fn say(&mut self, kind: FrameKind, payload: &[u8]) {
        if let Some(stdin) = &self.stdin {
            let _ = write_frame(stdin, kind, payload);
        }
    }

    /// Says nothing more: the agent ends with its standard input.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// How the command ended, which has closed its output; nothing is said to it any more.
    pub fn how_it_ended(&mut self, within: Duration) -> String {
        self.hang_up();
        match self.ended(within) {
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("it ended with code {code}"),
                (_, Some(signal)) => format!("it was killed by signal {signal}"),
                _ => "it ended".into(),
            },
            None => "it closed its output".into(),
        }
    }

    fn ended(&mut self, within: Duration) -> Option<std::process::ExitStatus> {
        let until = Instant::now() + within;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                done => return done.ok().flatten(),
            }
        }
        None
    }

    /// Tells the keeper to end it: it closes its input, lets it end, and ends whatever is left.
    pub fn let_go(&mut self) {
        if !std::mem::replace(&mut self.let_go, true) {
            self.hang_up();
            self.ask_for_its_end();
        }
    }

    fn ask_for_its_end(&mut self) {
        if let (Ok(None), Some(pid)) =
            (self.child.try_wait(), Pid::from_raw(self.child.id() as i32))
        {
            // It hasn't been reaped: the number is its own.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    /// Waits for its end until `until`; then the keeper is asked to hurry. Only one that hangs is killed:
    /// what it keeps would outlive it.
    pub fn end(&mut self, until: Instant) {
        self.let_go();
        if self.ended(until.saturating_duration_since(Instant::now())).is_none() {
            self.ask_for_its_end();
            if self.ended(HURRIES_WITHIN).is_none() {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
    }

    /// The first line of what it printed where only frames are expected.
    pub fn printed(&mut self) -> String {
        let rest = String::from_utf8_lossy(self.stdout.rest()).into_owned();
        let said = rest.lines().next().unwrap_or_default().trim();
        visible(said).chars().take(SHOWN).collect()
    }

    /// The last line that it wrote to its standard error, to be put behind what is said of it.
    pub fn complaint(&self) -> String {
        let mut bytes = vec![0; 4096];
        let length = self.stderr.metadata().map_or(0, |metadata| metadata.len());
        let from = length.saturating_sub(bytes.len() as u64);
        let read = self.stderr.read_at(&mut bytes, from).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!(" (`{}`)", visible(line).chars().take(SHOWN).collect::<String>()),
            None => String::new(),
        }
    }
}

/// Waits until `stdin` takes more, a signal comes, or the time is over.
fn await_room(stdin: &ChildStdin, deadline: Instant, interrupt: &Interrupt) -> Result<(), Missing> {
    let own = interrupt.fd();
    let mut fds = [PollFd::new(stdin, PollFlags::OUT), PollFd::new(&own, PollFlags::IN)];
    match poll(&mut fds, time_left(Some(deadline)).as_ref()) {
        Ok(0) => Err(Missing::Late),
        Ok(_) if !fds[1].revents().is_empty() => Err(Missing::Interrupted),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(Missing::Broken(error.into())),
    }
}
