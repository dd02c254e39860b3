//! The way to a node: frames to its agent and back. The agent is a process behind the launcher's
//! command, or a stub in this one for simulations; both speak the same bytes.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

use super::stub::Stub;
use crate::launch::wire::{Kind, Missing, Reader, write_frame};

/// A frame.
pub type Frame = (Kind, Vec<u8>);

/// How long an agent that has closed its output may take to say how it ended.
const ENDS_WITHIN: Duration = Duration::from_millis(300);
/// Bytes of what it said elsewhere that are shown.
const SHOWN: usize = 200;

/// The way to a node.
pub enum Line {
    /// An agent behind a command.
    Process(Box<Process>),
    /// A node that only answers.
    Stub(Box<Stub>),
}

/// An agent behind a command.
pub struct Process {
    child: Child,
    command: String,
    stdin: Option<ChildStdin>,
    stdout: Reader<ChildStdout>,
    stderr: File,
}

impl Line {
    /// Starts `words` with the agent's behind them.
    ///
    /// # Errors
    /// Why it couldn't be started.
    pub fn start(words: &[String], program: &str) -> Result<Line, String> {
        let command = words.join(" ");
        let (first, rest) = words.split_first().ok_or("the launcher has no words")?;
        let failed = |what: &str, error: io::Error| format!("{what}: {error}");
        let stderr = memfd_create("node", MemfdFlags::CLOEXEC)
            .map_err(|error| failed("memfd_create", error.into()))?;
        let stderr = File::from(stderr);
        let theirs = stderr.try_clone().map_err(|error| failed("dup", error))?;
        // In a group of its own: a signal from a terminal is the coordinator's to handle first.
        let mut child = Command::new(first)
            .args(rest)
            .args([program, "peer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(theirs)
            .process_group(0)
            .spawn()
            .map_err(|error| failed(&format!("start `{first}`"), error))?;
        let stdin = child.stdin.take();
        let stdout = Reader::new(child.stdout.take().expect("piped"));
        Ok(Line::Process(Box::new(Process { child, command, stdin, stdout, stderr })))
    }

    /// Says something. What can't be said shows at the next read.
    pub fn say(&mut self, kind: Kind, payload: &[u8]) {
        match self {
            Line::Process(it) => {
                if let Some(stdin) = &it.stdin {
                    let _ = write_frame(stdin, kind, payload);
                }
            }
            Line::Stub(it) => it.hear(kind, payload),
        }
    }

    /// The next frame that is here already.
    ///
    /// # Errors
    /// Where the stream is broken.
    pub fn held(&mut self) -> Result<Option<Frame>, Missing> {
        match self {
            Line::Process(it) => it.stdout.held(),
            Line::Stub(it) => it.said(),
        }
    }

    /// Takes in what has come, after poll(2) said that something has.
    ///
    /// # Errors
    /// Where nothing will come any more.
    pub fn fill(&mut self) -> Result<(), Missing> {
        match self {
            Line::Process(it) => it.stdout.fill(),
            Line::Stub(_) => Ok(()),
        }
    }

    /// What becomes readable when the node says something; None of a stub, which answers at once.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Line::Process(it) => Some(it.stdout.as_fd()),
            Line::Stub(_) => None,
        }
    }

    /// How it came to its end, in words; nothing is said to it any more.
    pub fn how_it_ended(&mut self, missing: &Missing) -> String {
        let Line::Process(it) = self else { return "the stub broke".into() };
        it.stdin = None;
        let how = match missing {
            Missing::Broken(error) => {
                let rest = String::from_utf8_lossy(it.stdout.rest()).into_owned();
                let said = rest.lines().next().unwrap_or_default().trim();
                let said: String = said.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
                match said.is_empty() {
                    true => format!("its stream broke: {error}"),
                    false => format!("it printed `{said}` where only ipcmark speaks ({error})"),
                }
            }
            _ => it.end(),
        };
        format!("`{}`: {how}{}", it.command, it.complaint())
    }
}

impl Process {
    /// How the command ended; it has closed its output.
    fn end(&mut self) -> String {
        let until = Instant::now() + ENDS_WITHIN;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(Some(status)) => {
                    return match (status.code(), status.signal()) {
                        (Some(code), _) => format!("it ended with code {code}"),
                        (_, Some(signal)) => format!("it was killed by signal {signal}"),
                        _ => "it ended".into(),
                    };
                }
                Err(_) => break,
            }
        }
        "it closed its output".into()
    }

    /// The last line that it wrote to its standard error.
    fn complaint(&self) -> String {
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

/// Ends the agents of `lines`: each ends with its standard input. All are told before any is
/// waited for; one that doesn't end is killed.
pub fn end_all(lines: Vec<Line>) {
    let mut children: Vec<Child> = Vec::new();
    for line in lines {
        if let Line::Process(process) = line {
            let Process { child, stdin, .. } = *process;
            drop(stdin);
            children.push(child);
        }
    }
    let until = Instant::now() + Duration::from_secs(3);
    for mut child in children {
        loop {
            match child.try_wait() {
                Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break;
                }
                _ => break,
            }
        }
    }
}
