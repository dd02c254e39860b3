//! The command that reaches the other host, its streams, and what has come over them of each launch.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

use super::{Asked, Build, FarHost, NoPeer};
use crate::launch::interrupt::Interrupt;
use crate::launch::spec::BUILD;
use crate::launch::wire::{Kind, Missing, Reader, write_frame};

/// How long the other host may take to answer: a password may have to be typed.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);
/// How long a peer may take to end once its standard input is closed.
const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// How long an agent that is asked whether it is there may take to say so.
const PONG_WITHIN: Duration = Duration::from_secs(3);
/// Bytes of what it said elsewhere that are shown.
const SHOWN: usize = 200;

/// A frame of a launch.
pub(super) type Frame = (Kind, Vec<u8>);

/// The command, its streams, and what has come of each launch.
pub(super) struct Link {
    child: Child,
    command: String,
    stdin: Option<ChildStdin>,
    stdout: Reader<ChildStdout>,
    stderr: File,
    pub(super) heard: HashMap<u32, VecDeque<Frame>>,
    pub(super) next: u32,
    /// Whether it has said that it is there, since it was asked.
    answered: bool,
    pub(super) lost: Option<String>,
}

impl Link {
    pub(super) fn start(asked: &Asked) -> Result<Link, NoPeer> {
        let command = asked.command.join(" ");
        let failed = |what: &str, error: io::Error| {
            NoPeer(format!(
                "--peer: {what}: {error}; give a command that runs its arguments elsewhere, as in \
                 'ssh host'"
            ))
        };
        let Some((first, rest)) = asked.command.split_first() else {
            return Err(failed("no command", io::ErrorKind::InvalidInput.into()));
        };
        let name = format!("start `{first}`");
        // What it complains of is kept, not shown: of a run that works nobody wants to know.
        let stderr = memfd_create("peer", MemfdFlags::CLOEXEC)
            .map_err(|error| failed("memfd_create", error.into()))?;
        let stderr = File::from(stderr);
        let theirs = stderr.try_clone().map_err(|error| failed("dup", error))?;
        let mut child = Command::new(first)
            .args(rest)
            .args([asked.program.as_str(), "peer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(theirs)
            .spawn()
            .map_err(|error| failed(&name, error))?;
        let stdin = child.stdin.take();
        let stdout = Reader::new(child.stdout.take().expect("piped"));
        let (heard, next, answered, lost) = (HashMap::new(), 0, true, None);
        Ok(Link { child, command, stdin, stdout, stderr, heard, next, answered, lost })
    }

    /// Each side says who it is; gives who the other one is.
    pub(super) fn greet(&mut self, interrupt: &Interrupt) -> Result<FarHost, NoPeer> {
        let hello = serde_json::to_vec(&Build { build: BUILD.into() }).expect("always JSON");
        self.say(Kind::Hello, &hello);
        let deadline = Some(Instant::now() + ANSWERS_WITHIN);
        let text = match self.stdout.next(deadline, Some(interrupt.fd())) {
            Ok((Kind::Hello, text)) => text,
            Ok((kind, _)) => return Err(self.no_peer(&format!("it said {kind:?} first"))),
            Err(missing) => return Err(self.no_answer(&missing)),
        };
        match serde_json::from_slice::<Build>(&text) {
            Ok(it) if it.build == BUILD => {}
            Ok(it) => {
                return Err(NoPeer(format!(
                    "--peer: `{}` has build {}, and this is build {BUILD}: install the same there, \
                     or let --deploy copy this one",
                    self.command, it.build
                )));
            }
            Err(error) => return Err(self.no_peer(&format!("its hello: {error}"))),
        }
        let far = serde_json::from_slice(&text);
        far.map_err(|error| self.no_peer(&format!("its hello: {error}")))
    }

    fn no_answer(&mut self, missing: &Missing) -> NoPeer {
        match missing {
            Missing::Interrupted => NoPeer("--peer: interrupted before it answered".into()),
            Missing::Late => {
                let text = format!("it didn't answer in {} s", ANSWERS_WITHIN.as_secs());
                self.no_peer(&text)
            }
            Missing::Closed => {
                let how = self.how_it_ended();
                self.no_peer(&how)
            }
            Missing::Broken(error) => {
                let rest = String::from_utf8_lossy(self.stdout.rest()).into_owned();
                let said = rest.lines().next().unwrap_or_default().trim();
                let said: String = said.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
                self.no_peer(&format!("it printed `{said}` where only ipcmark speaks ({error})"))
            }
        }
    }

    fn no_peer(&self, what: &str) -> NoPeer {
        NoPeer(format!(
            "--peer: `{}`: {what}{}; is ipcmark there? name it with --peer-program, or copy it with \
             --deploy",
            self.command,
            self.complaint()
        ))
    }

    /// How the command ended; it has closed its output.
    fn how_it_ended(&mut self) -> String {
        self.stdin = None;
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

    pub(super) fn say(&mut self, kind: Kind, payload: &[u8]) {
        // A closed pipe shows at the next read.
        if let Some(stdin) = &self.stdin {
            let _ = write_frame(stdin, kind, payload);
        }
    }

    /// Says something of one launch.
    pub(super) fn relay(&mut self, number: u32, kind: Kind) {
        let mut payload = number.to_le_bytes().to_vec();
        payload.push(kind as u8);
        self.say(Kind::Relay, &payload);
    }

    /// Forgets a launch, and has the agent end what is left of it.
    pub(super) fn over(&mut self, number: u32) {
        self.heard.remove(&number);
        self.say(Kind::Over, &number.to_le_bytes());
    }

    /// The next frame of a launch, if it has come.
    fn take(&mut self, number: u32) -> Option<Frame> {
        self.heard.get_mut(&number)?.pop_front()
    }

    /// Waits for a frame of a launch until `deadline`, or until one of `wanted` is readable.
    pub(super) fn next(
        &mut self,
        number: u32,
        deadline: Instant,
        wanted: &[BorrowedFd<'_>],
    ) -> Result<Frame, Missing> {
        loop {
            if let Some(frame) = self.take(number) {
                return Ok(frame);
            }
            if self.lost.is_some() {
                return Err(Missing::Closed);
            }
            match self.stdout.next(Some(deadline), wanted.iter().copied()) {
                Ok(frame) => {
                    self.sort(frame);
                    self.sort_held();
                }
                Err(missing @ (Missing::Interrupted | Missing::Late)) => return Err(missing),
                Err(missing) => self.lose(&missing),
            }
        }
    }

    /// Asks whether the agent is still there; one that doesn't even say so is lost.
    pub(super) fn roll_call(&mut self, interrupt: BorrowedFd<'_>) {
        self.answered = false;
        self.say(Kind::Hello, &[]);
        let deadline = Instant::now() + PONG_WITHIN;
        while !self.answered && self.lost.is_none() {
            match self.stdout.next(Some(deadline), [interrupt]) {
                Ok(frame) => {
                    self.sort(frame);
                    self.sort_held();
                }
                Err(Missing::Interrupted) => return,
                Err(missing) => self.lose(&missing),
            }
        }
    }

    /// Takes in what has come, without waiting for more.
    pub(super) fn take_in(&mut self) {
        let filled = self.stdout.fill();
        self.sort_held();
        if let Err(missing) = filled {
            self.lose(&missing);
        }
    }

    /// Every whole frame that has been read: no poll(2) tells of those.
    fn sort_held(&mut self) {
        loop {
            match self.stdout.held() {
                Ok(Some(frame)) => self.sort(frame),
                Ok(None) => return,
                Err(missing) => return self.lose(&missing),
            }
        }
    }

    fn sort(&mut self, (kind, payload): Frame) {
        let number = payload.first_chunk::<4>().map(|it| u32::from_le_bytes(*it));
        match (kind, number) {
            (Kind::Relay, Some(number)) if payload.len() > 4 => {
                let inner = Kind::from_byte(payload[4]);
                // Of a launch that nobody asks for any more nothing is kept.
                if let (Some(inner), Some(heard)) = (inner, self.heard.get_mut(&number)) {
                    heard.push_back((inner, payload[5..].to_vec()));
                }
            }
            (Kind::Over, Some(number)) => {
                if let Some(heard) = self.heard.get_mut(&number) {
                    heard.push_back((Kind::Over, Vec::new()));
                }
            }
            (Kind::Hello, None) => self.answered = true,
            (kind, _) => {
                let error = io::Error::other(format!("{kind:?} out of turn"));
                self.lose(&Missing::Broken(error));
            }
        }
    }

    fn lose(&mut self, missing: &Missing) {
        if self.lost.is_none() {
            let how = match missing {
                Missing::Broken(error) => format!("its stream broke: {error}"),
                Missing::Late => "it says nothing any more".into(),
                _ => self.how_it_ended(),
            };
            let why = format!("the peer is gone: `{}`: {how}{}", self.command, self.complaint());
            self.lost = Some(why);
        }
        self.stdin = None;
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The agent ends with its standard input, and its launches with it.
        self.stdin = None;
        let until = Instant::now() + ENDS_WITHIN;
        while Instant::now() < until {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                _ => return,
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
