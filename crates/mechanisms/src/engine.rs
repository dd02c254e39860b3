//! Engines: mechanisms behind a process of their own, which makes the timed loops in its own language. A launch tells it in
//! a line what to do next, a whole stretch at a time, and it answers in a line when that is done; the samples come through a
//! memory file.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::{ClockId, clock_gettime};

use super::{Deadline, OpenError};
use model::engine::{Line, PROTOCOL, Pattern, sum};
use model::launch::Usage;
use model::mechanism::{Cause, Unavailable};
use model::plugin::Plugin;
use model::visible::one_line;
use sys::process::{cpu_of, end_group, ends_with_this_thread, has_ended, usage_of};

/// How long before the end of a launch it is given up, that the reason is told.
const LAST_WORD: Duration = Duration::from_millis(700);
/// How long it may take to say who it is, and to open its end.
const OPENS_WITHIN: Duration = Duration::from_secs(9);
/// How long it may take to end once its end is closed.
const ENDS_WITHIN: Duration = Duration::from_millis(500);
/// Empty operations of a stretch; how many stretches there are at least, and for how long they are begun.
const NULL_SAMPLES: u64 = 2_000;
const NULL_STRETCHES: usize = 4;
const NULL_LASTS: Duration = Duration::from_millis(10);
/// Bytes of the longest line that is read.
const LONGEST_LINE: usize = 64 * 1024;
/// Letters of what it says that are quoted.
const QUOTED: usize = 160;
/// What the stamps of its samples may lack of what it says its stretch took: a share, and ns; and by what a clock that it
/// reads in a way of its own may differ.
const UNACCOUNTED: (f64, f64) = (0.01, 20_000.0);

/// Stands in the command of a daemon for the folder of its launch.
const FOLDER: &str = "{folder}";

/// The command that starts an engine, in the folder of its file.
pub fn command(plugin: &Plugin) -> Command {
    command_of(plugin, &plugin.run)
}

fn command_of(plugin: &Plugin, words: &[String]) -> Command {
    let folder = Path::new(&plugin.path).parent().unwrap_or(Path::new("/"));
    let (program, words) = words.split_first().expect("a command has a program");
    let beside = program.contains('/').then(|| folder.join(program));
    let mut command = Command::new(beside.unwrap_or_else(|| program.into()));
    command.args(words).current_dir(folder);
    command
}

/// What an end is opened for.
pub(super) struct Opens<'a> {
    pub is_responder: bool,
    pub message_bytes: u64,
    pub folder: &'a Path,
    pub name: &'a str,
    pub options: &'a [(String, String)],
}

/// What carries messages between the ends of one launch, and ends with it.
struct Daemon {
    child: Child,
    /// Readable from its end on.
    ends: OwnedFd,
    complaints: File,
}

impl Daemon {
    /// Starts it, and doesn't wait until it can be reached: the ends ask until they are answered.
    fn start(plugin: &Plugin, folder: &Path) -> io::Result<Daemon> {
        let folder = folder.display().to_string();
        let words: Vec<String> =
            plugin.daemon.iter().map(|word| word.replace(FOLDER, &folder)).collect();
        let complaints = File::from(memfd_create("complaints", MemfdFlags::CLOEXEC)?);
        let mut command = command_of(plugin, &words);
        command
            .stdin(Stdio::null())
            .stdout(complaints.try_clone()?)
            .stderr(complaints.try_clone()?)
            .process_group(0);
        ends_with_this_thread(&mut command);
        let mut child = command.spawn().map_err(|error| {
            io::Error::other(OpenError::Unavailable(Unavailable {
                cause: Cause::Other,
                reason: format!("{}: start its daemon {}: {error}", plugin.name, words[0]),
                remedy: "install it, or mend `daemon` in the engine's file".into(),
            }))
        })?;
        match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
            Ok(ends) => Ok(Daemon { child, ends, complaints }),
            Err(errno) => {
                end_group(&mut child)?;
                Err(errno.into())
            }
        }
    }

    /// How it ended, where it has.
    fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        Some(format!("its daemon ended with {status}{}", last_line(&self.complaints)))
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if has_ended(&self.child).is_ok() {
            let _ = end_group(&mut self.child);
        }
    }
}

/// `: ` and the last line of a file of what a process has said, as far as it is quoted; else nothing.
fn last_line(said: &File) -> String {
    let mut bytes = vec![0; 4096];
    let length = said.metadata().map_or(0, |file| file.len());
    let from = length.saturating_sub(bytes.len() as u64);
    let read = said.read_at(&mut bytes, from).unwrap_or(0);
    let said = String::from_utf8_lossy(&bytes[..read]).into_owned();
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    last.map_or_else(String::new, |line| {
        let quoted: String = one_line(line).chars().take(QUOTED).collect();
        format!(": {quoted}")
    })
}

/// One end: a process that is told what to do.
pub struct Engine {
    name: String,
    child: Child,
    /// Of the responder's end, where the engine has one.
    daemon: Option<Daemon>,
    to: ChildStdin,
    from: ChildStdout,
    /// What has come of the next line.
    begun: Vec<u8>,
    /// Where its samples are, 64-bit numbers of ns.
    samples: File,
    /// Its standard error.
    complaints: File,
    deadline: Deadline,
    /// Whether it runs its loop without a mechanism, too.
    has_null: bool,
    /// When it must be open.
    opens_by: Instant,
    message_bytes: u64,
    is_responder: bool,
}

impl Engine {
    /// Starts it on this CPU, and opens its end.
    pub(super) fn open(plugin: &Plugin, opens: &Opens, deadline: &Deadline) -> io::Result<Engine> {
        // Its samples' file has no CLOEXEC: the engine finds it under the same number.
        let samples = File::from(memfd_create("samples", MemfdFlags::empty())?);
        let complaints = File::from(memfd_create("complaints", MemfdFlags::CLOEXEC)?);
        let has_daemon = opens.is_responder && !plugin.daemon.is_empty();
        let daemon = has_daemon.then(|| Daemon::start(plugin, opens.folder)).transpose()?;
        let mut command = command(plugin);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(complaints.try_clone()?)
            .process_group(0);
        ends_with_this_thread(&mut command);
        let started = command.spawn();
        let mut child = started.map_err(|error| {
            io::Error::other(format!("{}: start {}: {error}", plugin.name, plugin.run[0]))
        })?;
        let (to, from) = (child.stdin.take(), child.stdout.take());
        let mut engine = Engine {
            name: plugin.name.clone(),
            child,
            daemon,
            to: to.expect("piped"),
            from: from.expect("piped"),
            begun: Vec::new(),
            samples,
            complaints,
            deadline: deadline.clone(),
            has_null: false,
            opens_by: Instant::now() + OPENS_WITHIN,
            message_bytes: opens.message_bytes,
            is_responder: opens.is_responder,
        };
        let hello = engine.hear("hello")?;
        if hello.number("protocol") != Ok(PROTOCOL) || hello.text("version") != plugin.version {
            return Err(engine.failed(&format!("it said {:?} before", plugin.version)));
        }
        engine.has_null = hello.text("null") == "yes";
        let role = if opens.is_responder { "responder" } else { "initiator" };
        let mut line = Line::of("open")
            .with("role", role)
            .with("bytes", opens.message_bytes)
            .with("folder", opens.folder.display())
            .with("name", opens.name)
            .with("samples", format!("/proc/self/fd/{}", engine.samples.as_raw_fd()));
        for (key, value) in opens.options {
            line = line.with(&format!("opt.{key}"), value);
        }
        engine.ask(&line, "opened")?;
        Ok(engine)
    }

    /// Exchanges messages whose bytes are checked: each side's of a seed of its own, which its partner isn't told.
    ///
    /// # Errors
    /// What came isn't what was sent.
    pub fn verify(&mut self, count: u64, seed: u64) -> io::Result<()> {
        let seeds = [seed as u32, (seed >> 32) as u32 ^ 0x5851_F42D];
        let [own, partners] = if self.is_responder { [seeds[1], seeds[0]] } else { seeds };
        let asked = Line::of("verify").with("count", count).with("seed", own);
        let answer = self.ask(&asked, "verified")?;
        let came = answer.number("sum").map_err(|why| self.failed(&why))?;
        let sent = Pattern::of(partners).take((count * self.message_bytes) as usize);
        match u64::from(sum(sent)) == came {
            true => Ok(()),
            false => Err(self.failed("the messages that came differ from what was sent")),
        }
    }

    /// Does `samples` times `batch` operations of a workload; gives what each sample took, in ns.
    ///
    /// # Errors
    /// It did something else, or its times don't add up.
    pub fn exchange(&mut self, workload: &str, samples: u64, batch: u64) -> io::Result<Vec<u64>> {
        let asked = Line::of("exchange").with("workload", workload);
        let asked = asked.with("samples", samples).with("batch", batch);
        let before = monotonic_ns();
        let answer = self.ask(&asked, "exchanged")?;
        let after = monotonic_ns();
        let mut number = |key| answer.number(key).map_err(|why| self.failed(&why));
        let (began, ended) = (number("begun_ns")?, number("ended_ns")?);
        let operations = number("operations")?;
        if operations != samples * batch {
            let wrong = format!("did {operations} operations, and {} were asked", samples * batch);
            return Err(self.failed(&wrong));
        }
        let slack = UNACCOUNTED.1 as u64;
        if began + slack < before || ended < began || ended > after + slack {
            let wrong = "its stamps lie outside of the time in which it was asked and answered";
            return Err(self.failed(wrong));
        }
        if self.is_responder {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; samples as usize * 8];
        let read = self.samples.read_exact_at(&mut bytes, 0);
        read.map_err(|_| self.failed(&format!("wrote fewer samples than the {samples} asked")))?;
        let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight"));
        let samples: Vec<u64> = bytes.chunks_exact(8).map(number).collect();
        let (whole, sum) =
            ((ended - began) as f64, samples.iter().map(|ns| *ns as f64).sum::<f64>());
        match (whole - sum).abs() <= whole * UNACCOUNTED.0 + UNACCOUNTED.1 {
            true => Ok(samples),
            false => {
                let wrong =
                    format!("its samples come to {sum:.0} ns of a stretch of {whole:.0} ns");
                Err(self.failed(&wrong))
            }
        }
    }

    /// What its loop and its clock take, in ns, with an empty operation in place of the mechanism: the least median of
    /// stretches, since languages translate while they run. None of one that doesn't know it.
    ///
    /// # Errors
    /// As of an exchange.
    pub fn null(&mut self) -> io::Result<Option<u64>> {
        if !self.has_null {
            return Ok(None);
        }
        let until = Instant::now() + NULL_LASTS;
        let mut medians = Vec::new();
        while medians.len() < NULL_STRETCHES || Instant::now() < until {
            let mut samples = self.exchange("null", NULL_SAMPLES, 1)?;
            medians.push(*samples.select_nth_unstable(NULL_SAMPLES as usize / 2).1);
        }
        Ok(medians.into_iter().min())
    }

    /// Closes its end; it ends by itself.
    ///
    /// # Errors
    /// It doesn't, or says that it failed.
    pub fn close(&mut self) -> io::Result<()> {
        self.ask(&Line::of("close"), "closed")?;
        let until = Instant::now() + ENDS_WITHIN;
        loop {
            // What it started ends with it, before it is reaped.
            if has_ended(&self.child)? {
                let status = end_group(&mut self.child)?;
                return match status.success() {
                    true => Ok(()),
                    false => Err(self.failed(&format!("ended with {status}"))),
                };
            }
            if Instant::now() >= until {
                return Err(self.failed("runs on after its end was closed"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What it has used, with all its threads; and its daemon, whose threads don't count.
    pub fn usage(&self) -> Usage {
        let own = usage_of(self.child.id()).unwrap_or_default();
        let daemon = self.daemon.as_ref().and_then(|daemon| usage_of(daemon.child.id()));
        daemon.map_or(own, |daemon| own.with(&Usage { threads: 0, ..daemon }))
    }

    /// The CPU that it ran on last.
    pub fn cpu(&self) -> u32 {
        cpu_of(self.child.id()).unwrap_or_default()
    }

    fn ask(&mut self, line: &Line, answer: &str) -> io::Result<Line> {
        // One that is gone says why when it is listened to.
        let _ = self.to.write_all(format!("{line}\n").as_bytes());
        self.hear(answer).map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => self.failed(&format!("no answer to `{line}`")),
            _ => error,
        })
    }

    /// The next line, which must begin with `word`.
    fn hear(&mut self, word: &str) -> io::Result<Line> {
        let text = self.line()?;
        let line = Line::parse(&text).map_err(|why| self.failed(&why))?;
        match line.word.as_str() {
            said if said == word => Ok(line),
            "failed" => Err(self.failed(line.text("reason"))),
            "unavailable" => Err(io::Error::other(OpenError::Unavailable(Unavailable {
                cause: Cause::Other,
                reason: format!("{}: {}", self.name, line.text("reason")),
                remedy: line.text("remedy").into(),
            }))),
            _ => {
                let said = one_line(&text).chars().take(QUOTED).collect::<String>();
                Err(self.failed(&format!("printed `{said}` where `{word} …` was due")))
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let until = self.deadline.get().map(|ends| ends - LAST_WORD);
        let until = until.unwrap_or(self.opens_by);
        loop {
            if let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
                let rest = self.begun.split_off(end + 1);
                let line = std::mem::replace(&mut self.begun, rest);
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            if self.begun.len() > LONGEST_LINE {
                return Err(self.failed("printed a line without an end"));
            }
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).unwrap_or_default();
            let mut waited = vec![PollFd::from_borrowed_fd(self.from.as_fd(), PollFlags::IN)];
            let daemon = self.daemon.as_ref().map(|daemon| daemon.ends.as_fd());
            waited.extend(daemon.map(|ends| PollFd::from_borrowed_fd(ends, PollFlags::IN)));
            match poll(&mut waited, Some(&left)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Ok(_) if waited[0].revents().is_empty() => return Err(self.failed("can't go on")),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(errno) => return Err(errno.into()),
            }
            let mut some = [0; 4096];
            match self.from.read(&mut some)? {
                0 => {
                    let status = self.over_by(until)?;
                    return Err(self.failed(&format!("ended with {status}")));
                }
                read => self.begun.extend_from_slice(&some[..read]),
            }
        }
    }

    /// How it ended, which it soon does that has closed its output; with it ends what it started.
    fn over_by(&mut self, until: Instant) -> io::Result<ExitStatus> {
        while !has_ended(&self.child)? && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        end_group(&mut self.child)
    }

    /// What is wrong, with the last line that it wrote to standard error; and with its daemon, where that is the reason.
    fn failed(&mut self, why: &str) -> io::Error {
        let last = last_line(&self.complaints);
        let side = if self.is_responder { "responder" } else { "initiator" };
        let ended = self.daemon.as_mut().and_then(Daemon::ended);
        let daemon = ended.map_or_else(String::new, |ended| format!("; {ended}"));
        io::Error::other(format!("{}, {side}: {why}{last}{daemon}", self.name))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // One that was reaped has had its group ended, and its number may be another's.
        if has_ended(&self.child).is_ok() {
            let _ = end_group(&mut self.child);
        }
    }
}

fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
