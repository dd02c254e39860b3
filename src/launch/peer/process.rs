//! The process behind a command that reaches another host, and its three streams.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::launch::wire::{Kind, Reader, write_frame};

/// Bytes of what it said elsewhere that are shown.
const SHOWN: usize = 200;

/// An agent behind a command.
pub struct Process {
    child: Child,
    /// The command, as it is shown.
    pub command: String,
    stdin: Option<ChildStdin>,
    /// What it says.
    pub stdout: Reader<ChildStdout>,
    stderr: File,
}

impl Process {
    /// Starts `words` with the agent's behind them; in a process group of its own where a signal from a
    /// terminal is this process's to handle first.
    ///
    /// # Errors
    /// Why it couldn't be started.
    pub fn start(words: &[String], program: &str, own_group: bool) -> Result<Process, String> {
        let failed = |what: &str, error: io::Error| format!("{what}: {error}");
        let (first, rest) = words.split_first().ok_or("no command")?;
        // What it complains of is kept, not shown: of a run that works nobody wants to know.
        let stderr = memfd_create("agent", MemfdFlags::CLOEXEC)
            .map_err(|error| failed("memfd_create", error.into()))?;
        let stderr = File::from(stderr);
        let theirs = stderr.try_clone().map_err(|error| failed("dup", error))?;
        let mut command = Command::new(first);
        command.args(rest).args([program, "peer"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(theirs);
        if own_group {
            command.process_group(0);
        }
        let mut child =
            command.spawn().map_err(|error| failed(&format!("start `{first}`"), error))?;
        let stdin = child.stdin.take();
        let stdout = Reader::new(child.stdout.take().expect("piped"));
        Ok(Process { child, command: words.join(" "), stdin, stdout, stderr })
    }

    /// Says something. What can't be said shows at the next read.
    pub fn say(&mut self, kind: Kind, payload: &[u8]) {
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

    /// Ends it: by itself until `until`, by force then.
    pub fn end(&mut self, until: Instant) {
        self.hang_up();
        if self.ended(until.saturating_duration_since(Instant::now())).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// The first line of what it printed where only frames are expected.
    pub fn printed(&mut self) -> String {
        let rest = String::from_utf8_lossy(self.stdout.rest()).into_owned();
        let said = rest.lines().next().unwrap_or_default().trim();
        said.chars().filter(|c| !c.is_control()).take(SHOWN).collect()
    }

    /// The last line that it wrote to its standard error, to be put behind what is said of it.
    pub fn complaint(&self) -> String {
        let mut bytes = vec![0; 4096];
        let length = self.stderr.metadata().map_or(0, |it| it.len());
        let from = length.saturating_sub(bytes.len() as u64);
        let read = self.stderr.read_at(&mut bytes, from).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!(" (`{}`)", line.chars().take(SHOWN).collect::<String>()),
            None => String::new(),
        }
    }
}
