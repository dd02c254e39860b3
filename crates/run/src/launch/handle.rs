//! The coordinator's hold on one launch: start it, let it go, collect what it found. One between two
//! hosts has a half here and a half there (`peer`).
//!
//! A launch that is dropped early is told so by the closing of its standard input; it kills
//! its workers and exits. One that doesn't is killed.

use crate::launch::not_started;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::peer::{Peer, RemoteLaunch};
use super::spec::Spec;
use super::wire::{Kind, Missing, Reader, write_frame};
use machine::interrupt::{Interrupt, Interrupted};
use model::launch::{Outcome, Record};

/// How long a supervisor may take beyond what it was told, before it is taken for hung.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How long the record and the samples may take once asked for.
pub(super) const COLLECTED_WITHIN: Duration = Duration::from_secs(10);
/// How long a supervisor may take to end once it is told, before it is killed.
const ENDS_WITHIN: Duration = Duration::from_millis(500);
/// How long a launch may take to get ready.
pub(super) const READY_WITHIN: Duration = Duration::from_secs(12);

/// Starts launches.
#[derive(Clone)]
pub struct Launcher {
    program: PathBuf,
}

/// Between which hosts a launch is.
#[derive(Clone)]
pub struct Way {
    /// Where its responder is.
    pub peer: Peer,
    /// The network of its initiator; None where that is this process's own.
    pub near: Option<Arc<File>>,
}

/// How far a launch has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Its workers wait for the word to go.
    Ready,
    /// Its workers have finished timing, and still exist.
    Timed,
}

/// The result of a launch: its record, and its samples in ticks.
#[derive(Debug)]
pub struct LaunchResult {
    /// The record that the launch reported.
    pub record: Record,
    /// Every sample, in ticks, in the order they were taken. Empty unless the outcome is `Ok`.
    pub samples: Vec<u64>,
}

impl LaunchResult {
    /// The result of a launch whose process couldn't be started.
    pub fn not_started(error: &io::Error) -> LaunchResult {
        let outcome = not_started("start the launch", error);
        LaunchResult::without_samples(Record::without_samples(outcome))
    }

    pub(super) fn without_samples(record: Record) -> LaunchResult {
        LaunchResult { record, samples: Vec::new() }
    }
}

impl Launcher {
    /// A launcher that starts `program`, which must be this program.
    pub fn new(program: PathBuf) -> Launcher {
        Launcher { program }
    }

    /// Starts a launch on this host. `padding` bytes are added to its environment, which moves its
    /// stack: a set-up detail that must not be the same in every launch.
    pub fn start(&self, spec: &Spec, padding: usize) -> io::Result<Launch> {
        self.start_here(spec, padding).map(|it| Launch::Here(Box::new(it)))
    }

    /// Starts a launch of two halves, one at each end of `way`.
    pub fn start_between(&self, spec: &Spec, padding: usize, way: &Way) -> Launch {
        Launch::Remote(Box::new(RemoteLaunch::begin(self.clone(), way, spec, padding)))
    }

    /// Starts a supervisor here, for all of a launch or for half of it.
    pub(super) fn start_here(&self, spec: &Spec, padding: usize) -> io::Result<Supervised> {
        self.supervised(spec, padding, Command::spawn)
    }

    /// Starts a supervisor that has the network `near`, for half of a launch.
    pub(super) fn start_in(
        &self,
        near: &File,
        spec: &Spec,
        padding: usize,
    ) -> io::Result<Supervised> {
        self.supervised(spec, padding, |command| {
            // A network is a thread's: one of its own leaves this thread where it is.
            std::thread::scope(|scope| {
                let spawned = scope.spawn(|| {
                    move_into_link_name_space(near.as_fd(), Some(LinkNameSpaceType::Network))?;
                    command.spawn()
                });
                spawned.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })
    }

    fn supervised(
        &self,
        spec: &Spec,
        padding: usize,
        spawn: impl FnOnce(&mut Command) -> io::Result<Child>,
    ) -> io::Result<Supervised> {
        let mut command = Command::new(&self.program);
        command
            .arg0("ipcmark")
            .arg("launch")
            .env("IPCMARK_PADDING", "x".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0);
        let mut child = spawn(&mut command)?;
        let stdin = child.stdin.take().expect("piped");
        let stdout = child.stdout.take().expect("piped");
        let text = serde_json::to_vec(spec).expect("a spec is always JSON");
        // If the child died already, the record says so when it is read.
        let _ = write_frame(&stdin, Kind::Spec, &text);
        let time = Duration::from_millis(spec.deadline_ms);
        let (stdin, stdout) = (Some(stdin), Reader::new(stdout));
        Ok(Supervised { child, stdin, stdout, time, over: None, hung_up: None })
    }
}

/// A running launch.
pub enum Launch {
    /// Both workers run on this host.
    Here(Box<Supervised>),
    /// The responder runs on the peer.
    Remote(Box<RemoteLaunch>),
}

impl Launch {
    /// The process id of the supervisor here; 0 where there is none yet.
    pub fn pid(&self) -> u32 {
        match self {
            Launch::Here(it) => it.pid(),
            Launch::Remote(it) => it.pid(),
        }
    }

    /// Waits until the launch is at `stage`, or over. Err only when interrupted.
    pub fn reach(&mut self, stage: Stage, interrupt: &Interrupt) -> Result<(), Interrupted> {
        match self {
            Launch::Here(it) => it.reach(stage, interrupt),
            Launch::Remote(it) => it.reach(stage, interrupt),
        }
    }

    /// Tells a launch that nobody wants any more to end, and doesn't wait for that.
    pub fn hang_up(&mut self) {
        match self {
            Launch::Here(it) => it.hang_up(),
            Launch::Remote(it) => it.hang_up(),
        }
    }

    /// Whether the launch has ended before its time.
    pub fn is_over(&self) -> bool {
        match self {
            Launch::Here(it) => it.is_over(),
            Launch::Remote(it) => it.is_over(),
        }
    }

    /// Lets the workers start.
    pub fn go(&mut self) {
        match self {
            Launch::Here(it) => it.tell(Kind::Go),
            Launch::Remote(it) => it.go(),
        }
    }

    /// Lets the workers exit; the record follows.
    pub fn end(&mut self) {
        match self {
            Launch::Here(it) => it.tell(Kind::End),
            Launch::Remote(it) => it.end(),
        }
    }

    /// Reads the record and the samples, and reaps the supervisor. A signal shortens the
    /// patience with one that doesn't answer.
    pub fn collect(self, interrupt: &Interrupt) -> LaunchResult {
        match self {
            Launch::Here(it) => it.collect(interrupt),
            Launch::Remote(it) => it.collect(interrupt),
        }
    }
}

/// A supervisor on this host, and what it supervises.
pub struct Supervised {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Reader<ChildStdout>,
    time: Duration,
    /// The record, once the launch has ended before its time.
    over: Option<Record>,
    /// When it was told to end.
    hung_up: Option<Instant>,
}

impl Supervised {
    /// The supervisor's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the launch is at `stage`, or over. Err only when interrupted.
    pub fn reach(&mut self, stage: Stage, interrupt: &Interrupt) -> Result<(), Interrupted> {
        let within = match stage {
            Stage::Ready => READY_WITHIN,
            Stage::Timed => self.time + GRACE,
        };
        self.reach_by(stage, Instant::now() + within, &[interrupt.fd()])
    }

    /// The same until `deadline`, or until one of `wanted` is readable.
    pub(super) fn reach_by(
        &mut self,
        stage: Stage,
        deadline: Instant,
        wanted: &[BorrowedFd<'_>],
    ) -> Result<(), Interrupted> {
        if self.over.is_some() {
            return Ok(());
        }
        let kind = match stage {
            Stage::Ready => Kind::Ready,
            Stage::Timed => Kind::Timed,
        };
        match self.stdout.next(Some(deadline), wanted.iter().copied()) {
            Ok((got, _)) if got == kind => {}
            Ok((Kind::Record, text)) => self.over = Some(parse_record(&text)),
            Ok((got, _)) => self.fail(format!("the supervisor said {got:?} out of turn")),
            Err(Missing::Interrupted) => return Err(Interrupted),
            Err(missing) => self.fail(said_nothing(&missing)),
        }
        Ok(())
    }

    /// Whether it says something within `time`.
    pub(super) fn speaks_within(&self, time: Duration) -> bool {
        let mut fds =
            [rustix::event::PollFd::from_borrowed_fd(self.fd(), rustix::event::PollFlags::IN)];
        let until = super::wire::time_left(Some(Instant::now() + time));
        matches!(rustix::event::poll(&mut fds, until.as_ref()), Ok(1..))
    }

    /// Whether the launch has ended before its time.
    pub fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// The record, if it has ended before its time.
    pub(super) fn over(&self) -> Option<&Record> {
        self.over.as_ref()
    }

    /// Its frames, for whoever passes them on.
    pub(super) fn frames(&mut self) -> &mut Reader<ChildStdout> {
        &mut self.stdout
    }

    /// Where its frames come from.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.stdout.as_fd()
    }

    pub(super) fn tell(&mut self, kind: Kind) {
        if let (None, Some(stdin)) = (&self.over, &self.stdin) {
            // A closed pipe shows as a missing frame at the next read.
            let _ = write_frame(stdin, kind, &[]);
        }
    }

    /// Tells it to end, by the closing of its standard input.
    pub(super) fn hang_up(&mut self) {
        self.stdin = None;
        self.hung_up.get_or_insert_with(Instant::now);
    }

    fn fail(&mut self, reason: String) {
        self.over = Some(Record::without_samples(Outcome::Failed { reason }));
    }

    /// Reads the record and the samples, and reaps the supervisor. A signal shortens the
    /// patience with one that doesn't answer.
    pub fn collect(mut self, interrupt: &Interrupt) -> LaunchResult {
        let result = match self.over.take() {
            Some(record) if record.outcome != Outcome::Ok => {
                Ok(LaunchResult::without_samples(record))
            }
            _ => self.read_result(interrupt),
        };
        result.unwrap_or_else(|reason| LaunchResult::without_samples(failure(reason)))
    }

    fn read_result(&mut self, interrupt: &Interrupt) -> Result<LaunchResult, String> {
        let mut deadline = Some(Instant::now() + COLLECTED_WITHIN);
        let mut wanted = Some(interrupt.fd());
        let mut record: Option<Record> = None;
        let mut samples = Vec::new();
        loop {
            match self.stdout.next(deadline, wanted) {
                Err(Missing::Interrupted) => {
                    wanted = None;
                    deadline = deadline.min(interrupt.patience_ends().or(deadline));
                }
                Ok((Kind::Record, text)) => {
                    let parsed = parse_record(&text);
                    let all = parsed.initiators().map(|it| it.samples).sum::<u64>();
                    samples.reserve_exact(all as usize);
                    record = Some(parsed);
                }
                Ok((Kind::Samples, bytes)) => {
                    let ticks = bytes.as_chunks::<8>().0.iter().map(|it| u64::from_le_bytes(*it));
                    samples.extend(ticks);
                }
                Ok((Kind::Done, _)) => break,
                Ok((kind, _)) => return Err(format!("the supervisor said {kind:?} out of turn")),
                Err(missing) => return Err(said_nothing(&missing)),
            }
        }
        let record = record.ok_or("the supervisor sent no record")?;
        if record.outcome != Outcome::Ok {
            return Ok(LaunchResult::without_samples(record));
        }
        if record.samples_of_each(&samples).is_none() {
            let told = record.initiators().map(|it| it.samples).sum::<u64>();
            return Err(format!("{} samples came of {told}", samples.len()));
        }
        Ok(LaunchResult { record, samples })
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.hang_up();
        // A supervisor removes what it made, unless it was killed: then its objects name it.
        if !self.exits() {
            mechanisms::clean_up_after_process(self.pid());
        }
    }
}

impl Supervised {
    /// Reaps the supervisor, killing it if it has to be; whether it exited by itself.
    fn exits(&mut self) -> bool {
        // Of those that were told together, each has had the time that others were waited for.
        let until = self.hung_up.unwrap_or_else(Instant::now) + ENDS_WITHIN;
        loop {
            match self.child.try_wait() {
                Ok(None) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_micros(200));
                }
                Ok(None) => break,
                Ok(Some(status)) => return status.code().is_some(),
                Err(_) => return false,
            }
        }
        // Its workers die with it: they asked the kernel for that.
        let _ = self.child.kill();
        let _ = self.child.wait();
        false
    }
}

pub(super) fn parse_record(text: &[u8]) -> Record {
    serde_json::from_slice(text).unwrap_or_else(|error| failure(format!("its record: {error}")))
}

pub(super) fn failure(reason: String) -> Record {
    Record::without_samples(Outcome::Failed { reason })
}

pub(super) fn said_nothing(missing: &Missing) -> String {
    match missing {
        Missing::Closed => "the supervisor died without a word".into(),
        Missing::Late => "the supervisor missed its deadline".into(),
        Missing::Interrupted => "interrupted".into(),
        Missing::Broken(error) => format!("the supervisor's stream broke: {error}"),
    }
}
