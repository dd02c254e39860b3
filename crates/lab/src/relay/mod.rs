//! The line in user space: a process that holds both ends of it as TAP devices and hands frames
//! over, later than they came or not at all, by a seed.
//!
//! It is started for one laboratory and ends with it: when `lab down` ends it, when one of the two
//! namespaces loses its name, and before anything was handed over when the one who builds the
//! laboratory is gone. What it holds back is bounded; what finds no room is counted.

mod line;

use std::fmt::Display;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use super::LabError;
use super::folder::Folder;
use super::space::{Identity, Space};
use line::Line;
use sys::identity::{Liveness, ProcessIdentity};
use sys::network::open_tap;

/// What a relay is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelaySpec {
    /// Both ends.
    pub ends: [RelayEnd; 2],
    /// How much later frames go out, in ns.
    pub delay_ns: u64,
    /// How many of a million frames are lost.
    pub loss: u32,
    /// Seed of the losses; each direction draws its own.
    pub seed: u64,
    /// The laboratory that it is the line of: it writes down there what it did, once a second, and
    /// outlives its parent process while both namespaces bear their names. Else it ends with its
    /// standard input.
    pub counts: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RelayEnd {
    pub namespace: PathBuf,
    pub identity: Identity,
    pub interface: String,
}

/// What a relay did in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Frames that went out.
    pub passed: u64,
    /// Frames that were lost on purpose.
    pub lost: u64,
    /// Frames that found no room: in the device's queue or in the relay's.
    pub overrun: u64,
}

/// Ends the relay that is this process, and waits until it is gone; whether it ran.
///
/// # Errors
/// If it can't be looked at, or doesn't end.
pub fn end(relay: &ProcessIdentity) -> Result<bool, LabError> {
    let failed =
        |error: &dyn Display| LabError::Failed(format!("end relay {}: {error}", relay.pid));
    let handle = i32::try_from(relay.pid).ok().and_then(Pid::from_raw);
    let handle = handle.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    // Looked at now that the id can't go to another process unnoticed.
    let handle = match (relay.liveness(), handle) {
        (Liveness::Dead, _) | (Liveness::Alive, None) => return Ok(false),
        (Liveness::Unknown(why), _) => return Err(failed(&why)),
        (Liveness::Alive, Some(handle)) => handle,
    };
    pidfd_send_signal(&handle, Signal::KILL).map_err(|error| failed(&error))?;
    let mut ended = [PollFd::new(&handle, PollFlags::IN)];
    let wait = Timespec { tv_sec: 30, tv_nsec: 0 };
    loop {
        match poll(&mut ended, Some(&wait)) {
            Ok(1) => return Ok(true),
            Ok(_) => return Err(failed(&"it doesn't")),
            // Further signals change nothing: this is a part of the end that the first one asked for.
            Err(Errno::INTR) => {}
            Err(error) => return Err(failed(&error)),
        }
    }
}

/// A relay that has made its devices.
pub struct Started {
    child: Child,
}

impl Started {
    /// Starts one for the laboratory `name`, and waits until its devices are there.
    pub fn start(name: &str, spec: &RelaySpec) -> Result<Started, LabError> {
        let failed = |error: io::Error| LabError::Failed(format!("start the relay: {error}"));
        let line = serde_json::to_string(spec).map_err(LabError::of("write JSON"))?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("ipcmark").args(["lab", "relay", name]).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut started = Started { child: command.spawn().map_err(failed)? };
        started.say(&line).map_err(failed)?;
        let mut answer = String::new();
        if let Some(out) = started.child.stdout.as_mut() {
            BufReader::new(out).read_line(&mut answer).map_err(failed)?;
        }
        match answer.as_str() {
            "ready\n" => Ok(started),
            _ => {
                let mut said = String::new();
                if let Some(mut err) = started.child.stderr.take() {
                    let _ = io::Read::read_to_string(&mut err, &mut said);
                }
                let said = said.trim().trim_start_matches("ipcmark: ");
                let said = if said.is_empty() { "it ended without a word" } else { said };
                Err(LabError::Failed(format!("start the relay: {said}")))
            }
        }
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        match self.child.stdin.as_mut() {
            Some(pipe) => pipe.write_all(line.as_bytes()).and_then(|()| pipe.write_all(b"\n")),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub fn identity(&self) -> Result<ProcessIdentity, LabError> {
        let identity = ProcessIdentity::of(self.child.id());
        let identity = identity.map_err(LabError::of("look at the relay"))?;
        identity.ok_or_else(|| LabError::Failed("start the relay: it has ended".into()))
    }

    /// Lets it go: from now on it lives as long as its laboratory.
    pub fn let_go(mut self) -> Result<(), LabError> {
        self.say("go").map_err(LabError::of("let the relay go"))?;
        // When it has closed its end it holds nothing of this process any more.
        let mut rest = Vec::new();
        if let Some(mut out) = self.child.stdout.take() {
            let _ = io::Read::read_to_end(&mut out, &mut rest);
        }
        std::mem::forget(self);
        Ok(())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The relay's process: makes the devices, and hands frames over until its time has come.
///
/// # Errors
/// A spec that can't be read, or what the kernel refuses.
pub fn serve() -> Result<(), LabError> {
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    input.read_line(&mut line).map_err(LabError::of("read the relay's orders"))?;
    let spec: RelaySpec = serde_json::from_slice(line.as_bytes())
        .map_err(|_| LabError::Usage("lab relay is started by lab up, not by hand".into()))?;
    // Out of the terminal's process group: what is typed there is not meant for it.
    let _ = rustix::process::setsid();
    // Timers may else be late by 50 us, so as to join them (prctl(2), PR_SET_TIMERSLACK).
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let made = spec.ends.each_ref().map(make);
    let [near, far] = made;
    let mut line = Line::new([near?, far?], &spec);
    println!("ready");
    let Some(counts) = &spec.counts else {
        return hand_over(&mut line, Some(io::stdin().as_fd()), |_| true);
    };
    let mut word = String::new();
    if input.read_line(&mut word).is_err() || word != "go\n" {
        return Ok(());
    }
    leave_standard_streams().map_err(LabError::of("open /dev/null"))?;
    line.begin();
    let mut written = None;
    hand_over(&mut line, None, |line| {
        if written != Some(line.counts()) {
            written = Some(line.counts());
            let _ = write_counts(counts, line.counts());
        }
        spec.ends.iter().all(|end| Identity::at(&end.namespace) == Some(end.identity))
    })
}

/// How often a relay sees whether its laboratory is still there.
const LOOK: Duration = Duration::from_secs(1);

fn hand_over(
    line: &mut Line,
    owner: Option<std::os::fd::BorrowedFd<'_>>,
    mut goes_on: impl FnMut(&mut Line) -> bool,
) -> Result<(), LabError> {
    let mut look = Instant::now();
    loop {
        if Instant::now() >= look {
            if !goes_on(line) {
                return Ok(());
            }
            look = Instant::now() + LOOK;
        }
        if line.wait(look, owner).map_err(LabError::of("poll the relay's devices"))? {
            return Ok(());
        }
        line.hand_over();
    }
}

/// Makes the device of an end, and opens what its namespace counts.
fn make(end: &RelayEnd) -> Result<(fs::File, fs::File), LabError> {
    let made = Space::open(&end.namespace).and_then(|space| {
        space.inside(|| {
            let device = open_tap(&end.interface)?;
            Ok((device, fs::File::open("/proc/thread-self/net/dev")?))
        })
    });
    made.map_err(|error| match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => LabError::Unavailable(format!(
            "open /dev/net/tun: {error}; the relay needs the kernel's TUN (CONFIG_TUN, modprobe tun)"
        )),
        _ => LabError::Failed(format!("make {} of the relay: {error}", end.interface)),
    })
}

fn leave_standard_streams() -> io::Result<()> {
    let nowhere = fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    Ok(rustix::stdio::dup2_stderr(&nowhere)?)
}

/// What the file of a laboratory's relay is called.
pub fn counts_file(laboratory: &str) -> String {
    format!("{laboratory}.counts")
}

fn write_counts(laboratory: &str, counts: [Counts; 2]) -> Result<(), LabError> {
    let text = serde_json::to_string(&counts).map_err(LabError::of("write JSON"))?;
    Folder::existing()?.map_or(Ok(()), |folder| folder.write(&counts_file(laboratory), &text))
}

/// What a relay has written down: at most a second old.
pub fn read_counts(laboratory: &str) -> Option<[Counts; 2]> {
    let text = Folder::existing().ok()??.read(&counts_file(laboratory)).ok()??;
    serde_json::from_slice(&text).ok()
}
