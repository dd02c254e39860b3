//! A process identified uniquely: its id alone is used again, and another PID namespace uses
//! it at the same time (proc_pid_stat(5), pid_namespaces(7)).

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use model::process_stat;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

/// A process by what no other process shares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessIdentity {
    /// Its id in its PID namespace.
    pub pid: u32,
    /// When it was started, in ticks since boot (field 22 of /proc/PID/stat).
    pub started: u64,
    /// Inode of its PID namespace.
    pub pid_namespace: u64,
    /// Inode of its time namespace, which shifts `started`; 0 before Linux 5.6.
    pub time_namespace: u64,
    /// The boot that it runs under (/proc/sys/kernel/random/boot_id).
    pub boot: String,
}

/// Whether a process still runs, as far as this process can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    Alive,
    /// It has ended; it may wait to be reaped.
    Dead,
    /// It can't be looked at from here, and why.
    Unknown(&'static str),
}

impl ProcessIdentity {
    /// That of the calling process.
    ///
    /// # Errors
    /// If /proc can't be read.
    pub fn own() -> io::Result<ProcessIdentity> {
        match look("self")? {
            Seen::Running(started) => ProcessIdentity::here(std::process::id(), started),
            _ => Err(io::Error::other("/proc/self is missing")),
        }
    }

    /// That of process `pid` of the caller's PID namespace; None if it has ended.
    ///
    /// # Errors
    /// If /proc can't be read, or is that of another PID namespace.
    pub fn of(pid: u32) -> io::Result<Option<ProcessIdentity>> {
        if !proc_is_ours() {
            return Err(io::Error::other(ANOTHER_PROC));
        }
        match look(&pid.to_string())? {
            Seen::Running(started) => ProcessIdentity::here(pid, started).map(Some),
            _ => Ok(None),
        }
    }

    fn here(pid: u32, started: u64) -> io::Result<ProcessIdentity> {
        Ok(ProcessIdentity {
            pid,
            started,
            pid_namespace: namespace("pid")?,
            time_namespace: namespace("time").unwrap_or(0),
            boot: boot()?,
        })
    }

    /// Whether it still runs.
    pub fn liveness(&self) -> Liveness {
        let Ok(here) = ProcessIdentity::here(self.pid, self.started) else {
            return Liveness::Unknown("/proc can't be read");
        };
        if self.boot != here.boot {
            return Liveness::Dead;
        }
        if *self != here {
            return Liveness::Unknown("it belongs to another PID namespace");
        }
        if !proc_is_ours() {
            return Liveness::Unknown(ANOTHER_PROC);
        }
        match look(&self.pid.to_string()) {
            Ok(Seen::Running(started)) if started == self.started => Liveness::Alive,
            Ok(Seen::Running(_) | Seen::Zombie) => Liveness::Dead,
            Ok(Seen::Nothing) if is_unused(self.pid) => Liveness::Dead,
            Ok(Seen::Nothing) => Liveness::Unknown("/proc doesn't show it"),
            Err(_) => Liveness::Unknown("/proc can't be read"),
        }
    }
}

const ANOTHER_PROC: &str = "/proc is that of another PID namespace";

/// This boot of this machine.
///
/// # Errors
/// If /proc can't be read.
pub fn boot() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_string())
}

/// The inode of the caller's namespace of `kind`, as /proc/PID/ns calls it.
///
/// # Errors
/// If /proc can't be read.
pub fn namespace(kind: &str) -> io::Result<u64> {
    Ok(fs::metadata(format!("/proc/self/ns/{kind}"))?.ino())
}

/// Whether ids in /proc are those that this process means: /proc may have been mounted outside.
fn proc_is_ours() -> bool {
    let own = fs::read_link("/proc/self").ok();
    own.is_some_and(|name| name.to_str() == Some(std::process::id().to_string().as_str()))
}

/// What /proc shows of a process.
enum Seen {
    /// It runs since so many ticks after boot.
    Running(u64),
    /// It has ended, and waits to be reaped.
    Zombie,
    Nothing,
}

fn look(name: &str) -> io::Result<Seen> {
    let stat = match fs::read_to_string(format!("/proc/{name}/stat")) {
        Ok(stat) => stat,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Seen::Nothing),
        // It ended between the opening and the reading of the file.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(Seen::Nothing),
        Err(error) => return Err(error),
    };
    if matches!(process_stat::field(&stat, 3), Some("Z" | "X")) {
        return Ok(Seen::Zombie);
    }
    let started = process_stat::number(&stat, 22).map(Seen::Running);
    started.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Whether the kernel knows no process of that id: /proc alone may hide those of others (hidepid).
fn is_unused(pid: u32) -> bool {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw);
    id.is_none_or(|id| pidfd_open(id, PidfdFlags::empty()).err() == Some(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "it makes system calls")]
    fn a_process_is_alive_until_it_ends_whatever_takes_its_id() {
        assert_eq!(ProcessIdentity::own().unwrap().liveness(), Liveness::Alive);
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let identity = ProcessIdentity::of(child.id()).unwrap().unwrap();
        assert_eq!(identity.liveness(), Liveness::Alive);
        let earlier = ProcessIdentity { started: identity.started - 1, ..identity.clone() };
        assert_eq!(earlier.liveness(), Liveness::Dead, "its id was given to another process");
        let other_boot = ProcessIdentity { boot: "another".into(), ..identity.clone() };
        assert_eq!(other_boot.liveness(), Liveness::Dead);
        let elsewhere = ProcessIdentity { pid_namespace: 1, ..identity.clone() };
        assert!(matches!(elsewhere.liveness(), Liveness::Unknown(_)));
        child.kill().unwrap();
        // Dead before it is reaped, and after.
        while identity.liveness() == Liveness::Alive {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(identity.liveness(), Liveness::Dead);
        child.wait().unwrap();
        assert_eq!(identity.liveness(), Liveness::Dead);
        assert_eq!(ProcessIdentity::of(child.id()).unwrap(), None);
    }
}
